//! A text file for `RewriteMap`: <https://httpd.apache.org/docs/2.4/rewrite/rewritemap.html#txt>.
//!
//! A key ends at a blank, so it is the path that `int:escape` makes of `REQUEST_URI`, which is decoded: it encodes other characters
//! than a URL must, with hex digits in lower case.

use super::address::{Address, location};
use super::chain::Redirect;
use super::reason::{Lines, Reason};
use super::{GONE, Rendered};
use crate::record::Departure;

/// The most bytes of a line: `mod_rewrite` reads 1,024 with the line's end and a null (`REWRITE_MAX_TXT_MAP_LINE`).
pub const MAX_LINE: usize = 1_022;
/// What `int:escape` leaves besides letters and digits.
const PLAIN: &[u8] = b"$-_.+!*'(),:;@&=/~";

/// Returns the file.
pub(super) fn render(redirects: &[Redirect]) -> Rendered {
    let lines = Lines::of(redirects, |redirect| {
        let address = Address::of(&redirect.normal);
        let key = address.with(&escaped(&address.decoded()?));
        let line = match &redirect.answer {
            Departure::Gone => format!("{key} {GONE}"),
            Departure::MovedTo(target) => format!("{key} {}", location(target)),
        };
        match line.len() <= MAX_LINE {
            true => Ok(line),
            false => Err(Reason::LongLine),
        }
    });
    Rendered {
        text: lines.text(),
        written: lines.lines.len(),
        left_out: lines.left_out,
        advice: None,
    }
}

fn escaped(path: &[u8]) -> String {
    let mut escaped = String::with_capacity(path.len());
    for &byte in path {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02x}"));
        }
    }
    escaped
}
