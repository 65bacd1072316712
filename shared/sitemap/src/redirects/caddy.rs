//! The lines of a `map` of Caddy: <https://caddyserver.com/docs/caddyfile/directives/map>.
//!
//! The key is `{path}`, which is decoded, or `{path}?{query}`. A key with a character that the Caddyfile has no escape for is a regular
//! expression. In its value a dollar is doubled.

use super::address::{Address, literal, location};
use super::chain::Redirect;
use super::reason::{Lines, Reason};
use super::{GONE, Rendered};
use crate::record::Departure;

/// Characters of a key that cannot be in quotation marks: the end, an escape, a placeholder or a variable of the environment.
const UNQUOTABLE: &[char] = &['"', '\\', '`', '{', '}'];

/// Returns the file.
pub(super) fn render(redirects: &[Redirect]) -> Rendered {
    let lines = Lines::of(redirects, |redirect| {
        let address = Address::of(&redirect.normal);
        let path = address.decoded()?;
        let path = std::str::from_utf8(&path).map_err(|_| Reason::NotUtf8)?;
        let key = address.with(path);
        let value = match &redirect.answer {
            Departure::Gone => GONE.into(),
            Departure::MovedTo(target) => location(target),
        };
        let is_quotable = |c: char| !UNQUOTABLE.contains(&c) && !c.is_control();
        Ok(if key.chars().all(is_quotable) {
            format!("\"{key}\" \"{value}\"")
        } else {
            let pattern = key.split("").map(|one| match one {
                one if one.is_ascii() => literal(one.as_bytes(), |byte| format!("\\x{byte:02X}")),
                one => one.to_owned(),
            });
            let pattern: String = pattern.collect();
            format!("\"~^{pattern}$\" \"{}\"", value.replace('$', "$$"))
        })
    });
    Rendered {
        text: lines.text(),
        written: lines.lines.len(),
        left_out: lines.left_out,
        advice: None,
    }
}
