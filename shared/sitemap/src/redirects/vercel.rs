//! The `redirects` of `vercel.json`: <https://vercel.com/docs/project-configuration#redirects>.

use serde::Serialize;

use super::address::{Address, moved};
use super::chain::Redirect;
use super::reason::{Lines, Reason};
use super::{Refused, Rendered, Target};

/// The most redirects of the file: "a maximum of 2,048" (Vercel, project configuration).
pub const MAX_RULES: usize = 2_048;
/// Characters that mean something in a source, which is a pattern of `path-to-regexp`.
const SPECIAL: &[char] = &[':', '(', ')', '*', '+', '?', '{', '}', '\\'];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule<'a> {
    source: String,
    destination: &'a str,
    status_code: u16,
}

/// Returns the file. A rule with `permanent` would answer 308, so each has its status.
pub(super) fn render(redirects: &[Redirect]) -> Result<Rendered, Refused> {
    let lines = Lines::of(redirects, |redirect| {
        let Address { path, query } = Address::of(&redirect.normal);
        let target = moved(redirect)?;
        if query.is_some() {
            return Err(Reason::Query);
        }
        let mut source = String::with_capacity(path.len());
        for character in path.chars() {
            if SPECIAL.contains(&character) {
                source.push('\\');
            }
            source.push(character);
        }
        let rule = Rule {
            source,
            destination: &target,
            status_code: 301,
        };
        Ok(serde_json::to_string(&rule).expect("texts and a number"))
    });
    let written = lines.lines.len();
    if written > MAX_RULES {
        return Err(Refused::TooMany {
            target: Target::Vercel,
            count: written,
            limit: MAX_RULES,
        });
    }
    Ok(Rendered {
        text: format!("{{\"redirects\":[\n{}\n]}}\n", lines.lines.join(",\n")),
        written,
        left_out: lines.left_out,
        advice: None,
    })
}
