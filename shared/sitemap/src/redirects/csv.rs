//! A table (RFC 4180) that loses nothing: addresses as the records spell them, each record's own target, and the answer.

use super::Rendered;
use super::chain::Redirect;
use super::reason::Lines;
use crate::record::Departure;

/// The columns.
const COLUMNS: &str = "from,to,status,moved_to,hops,record";

/// Returns the file.
pub(super) fn render(redirects: &[Redirect]) -> Rendered {
    let lines = Lines::of(redirects, |redirect| {
        let (to, status) = match &redirect.answer {
            Departure::MovedTo(target) => (target.as_str(), "301"),
            Departure::Gone => ("", "410"),
        };
        let moved_to = redirect.moved_to.as_deref().unwrap_or_default();
        let hops = redirect.hops.to_string();
        let cells = [
            &redirect.from,
            to,
            status,
            moved_to,
            &hops,
            &redirect.record,
        ];
        Ok(cells.map(cell).join(","))
    });
    Rendered {
        text: format!("{COLUMNS}\n{}", lines.text()),
        written: lines.lines.len(),
        left_out: lines.left_out,
        advice: None,
    }
}

fn cell(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
