//! The lines of robots.txt that a site's settings give ([RFC 9309](https://www.rfc-editor.org/rfc/rfc9309)).
//!
//! A line that cannot be published is dropped. The remaining lines must never allow more than intended:
//!
//! - Without a `Disallow` line, its pages are open. Without a `User-agent` line, rules apply to the wrong crawlers, and the
//!   previous group grows.
//! - Without an `Allow`, a `Sitemap`, a comment or a blank line, crawlers may read the same or less. If such a line was
//!   all that separated two `User-agent` lines, the first of these had no rules, so that joining them opens nothing.
//! - Any other line may restrict crawlers in an unknown way.

use serde_json::Value;

use super::settings::SiteSettings;
use crate::format::robots::{Fault, Judge};
use crate::problem::{Problem, cut};

/// The most bytes of a site's own lines of robots.txt. The settings are one item (DynamoDB: 400 KB). Every reader accepts 500 KiB
/// (RFC 9309).
pub const MAX_ROBOTS_BYTES: usize = 100_000;

/// Fields whose absence allows nothing more.
const HARMLESS: [&str; 2] = ["allow", "sitemap"];
/// The most faults of lines that are reported. Further ones are only counted.
const MAX_FAULTS: usize = 20;
/// The most characters of a line that are quoted in a reason.
const QUOTED_CHARS: usize = 60;

/// A line that was dropped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dropped {
    /// Its position in the list, from 0.
    pub(super) at: usize,
    /// Why it was dropped.
    pub(super) reason: String,
    /// Whether the other lines could allow more than intended.
    pub(super) may_open: bool,
}

/// Returns the lines of a robots.txt that disallows everything.
pub(super) fn disallow_all() -> Vec<String> {
    vec!["User-agent: *".to_owned(), "Disallow: /".to_owned()]
}

/// Returns whether a character may split a line in two. Control characters do, except tabs, which are white space there. Line and
/// paragraph separators do for some readers.
fn breaks(character: char) -> bool {
    (character.is_control() && character != '\t') || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Returns the lines that can be published, and the dropped ones.
pub(super) fn read(values: &[Value]) -> (Vec<String>, Vec<Dropped>) {
    let (mut lines, mut dropped) = (Vec::new(), Vec::new());
    // The bytes of the list in JSON: a bracket, then each line with a comma or the closing bracket.
    let mut bytes = 1;
    for (at, value) in values.iter().enumerate() {
        let reason = match value.as_str() {
            None => format!("{} is not text", cut(&value.to_string())),
            Some(line) => {
                let control = line.chars().find(|c| breaks(*c));
                let stored = value.to_string().len() + 1;
                if let Some(control) = control {
                    let code = u32::from(control);
                    format!("{} has the control character U+{code:04X}", quoted(line))
                } else if bytes + stored > MAX_ROBOTS_BYTES {
                    format!(
                        "{} is beyond {MAX_ROBOTS_BYTES} bytes, as stored, of all lines",
                        quoted(line)
                    )
                } else {
                    bytes += stored;
                    lines.push(line.to_owned());
                    continue;
                }
            }
        };
        let may_open = value.as_str().is_none_or(|line| !is_harmless(line));
        dropped.push(Dropped {
            at,
            reason,
            may_open,
        });
    }
    (lines, dropped)
}

/// Returns whether dropping this text allows crawlers nothing more. Each of its pieces may have been intended as a line.
fn is_harmless(text: &str) -> bool {
    text.split(breaks).all(|line| {
        let line = line.split('#').next().unwrap_or_default().trim();
        let field = line.split(':').next().unwrap_or_default().trim();
        line.is_empty() || HARMLESS.iter().any(|name| field.eq_ignore_ascii_case(name))
    })
}

impl SiteSettings {
    /// Returns the problems of lines that are published as they are, but that crawlers or Lighthouse will not read as intended.
    /// Lines are numbered from 1, as in the published file.
    #[must_use]
    pub fn robots_problems(&self) -> Vec<Problem> {
        let mut judge = Judge::default();
        let lines = (1..).zip(&self.robots);
        let found = lines.flat_map(|(n, line)| {
            let faults = judge.faults(line).into_iter();
            faults.map(move |fault| format!("line {n}, {}: {}", quoted(line), told(&fault)))
        });
        let mut found: Vec<String> = found.collect();
        let more = found.len().saturating_sub(MAX_FAULTS);
        found.truncate(MAX_FAULTS);
        found.extend((more > 0).then(|| format!("{more} more faults of lines")));
        let problem = |reason: &String| Problem::new("robots", reason, false);
        found.iter().map(problem).collect()
    }
}

/// Returns why a fault matters, and its remedy.
fn told(fault: &Fault<'_>) -> String {
    let text = match fault {
        Fault::NoDirective(_) => {
            "not a directive, so crawlers ignore it: write Name: value, or put # before a comment"
        }
        Fault::Unknown(_) => {
            "crawlers and Lighthouse know no such directive, and ignore it: correct the name, or remove the line"
        }
        Fault::OutsideGroup(_) => {
            "no User-agent line is before it, so crawlers ignore it: move it below one"
        }
        Fault::NotEncoded(_) => {
            "the path has characters that are not ASCII, and not all crawlers match it: percent-encode it"
        }
        Fault::Proposal { whose, .. } => {
            return format!(
                "this directive is from {whose}: crawlers that do not follow it ignore the line, and Lighthouse reports it"
            );
        }
        Fault::SignalValue(part) => {
            return format!(
                "{} is not a signal: write a key with yes or no, such as search=yes",
                cut(part)
            );
        }
        Fault::SignalTwice(key) => {
            return format!("the group has {key} twice: keep one of them");
        }
        Fault::UnknownSignal(key) => {
            return format!(
                "contentsignals.org has no signal {}: correct it if it is misspelt",
                cut(key)
            );
        }
        Fault::Split { name, readers } => {
            return format!(
                "the rule is also for the User-agent lines before {name}; {} end the group there: put {name} behind the rules",
                readers.join(", ")
            );
        }
    };
    text.to_owned()
}

fn quoted(line: &str) -> String {
    match line.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{:?}…", &line[..end]),
        None => format!("{line:?}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(lines: Value, kept: &[&str], dropped: &[(usize, bool)]) {
        let (lines, found) = read(lines.as_array().unwrap());
        assert_eq!(lines, kept);
        let found: Vec<_> = found.iter().map(|line| (line.at, line.may_open)).collect();
        assert_eq!(found, dropped);
    }

    #[test]
    fn good_lines_are_kept_as_they_are() {
        let lines = [
            "User-agent:\t*",
            "Disallow: /x\t",
            "# \"ü\"",
            "",
            "Sitemap: /a",
        ];
        check(json!(lines), &lines, &[]);
        check(json!([]), &[], &[]);
    }

    #[test]
    fn a_bad_line_without_which_nothing_opens_is_dropped_alone() {
        check(
            json!([
                "User-agent: *",
                "Allow : /a\u{1}",
                "# c\u{0}",
                "SITEMAP: /\u{7f}",
                "\r",
                "Disallow: /x"
            ]),
            &["User-agent: *", "Disallow: /x"],
            &[(1, false), (2, false), (3, false), (4, false)],
        );
    }

    #[test]
    fn a_bad_line_that_restricts_may_open_the_rest() {
        for bad in [
            json!("Disallow: /x\u{1}"),
            json!("disallow\t: /x\u{1}"),
            json!("User-agent: bot\u{1}"),
            json!("Crawl-delay: 10\u{1}"),
            json!("Dis\u{1}allow: /x"),
            // A reader for which the break ends the line sees a rule.
            json!("Sitemap: /a\nDisallow: /x"),
            json!("# a\rDisallow: /x"),
            json!(7),
            json!(null),
            json!(["Allow: /"]),
        ] {
            let lines = json!(["User-agent: *", bad, "Disallow: /y"]);
            check(lines, &["User-agent: *", "Disallow: /y"], &[(1, true)]);
        }
    }

    #[test]
    fn lines_that_crawlers_misread_are_published_and_told() {
        let robots = json!(["User-agent: *", "", "Disalow: /a", "Disallow: /käse", "all",]);
        let parse = |robots: &Value| {
            SiteSettings::parse("www.example.com", &json!({ "robots": robots })).unwrap()
        };
        let settings = parse(&robots);
        assert_eq!((settings.problems.len(), settings.robots.len()), (0, 5));
        let told = |settings: &SiteSettings| {
            let problems = settings.robots_problems().into_iter();
            problems
                .map(|problem| problem.to_string())
                .collect::<Vec<_>>()
        };
        let told_of = told(&settings);
        let expected = [
            "robots: line 3, \"Disalow: /a\": crawlers and Lighthouse know no such directive, and ignore it: correct the name, or remove the line",
            "robots: line 4, \"Disallow: /käse\": the path has characters that are not ASCII, and not all crawlers match it: percent-encode it",
            "robots: line 5, \"all\": not a directive, so crawlers ignore it: write Name: value, or put # before a comment",
        ];
        assert_eq!(told_of, expected);
        let outside = told(&parse(&json!(["Disallow: /"])));
        assert_eq!(
            outside,
            [
                "robots: line 1, \"Disallow: /\": no User-agent line is before it, so crawlers ignore it: move it below one"
            ]
        );
        let other = told(&parse(&json!([
            "User-agent: *",
            "Schemamap: /s.xml",
            "Content-Signal: search=maybe, ai-use=no",
            "User-agent: bad",
            "Disallow: /",
        ])));
        assert_eq!(
            other,
            [
                "robots: line 2, \"Schemamap: /s.xml\": this directive is from NLWeb: crawlers that do not follow it ignore the line, and Lighthouse reports it",
                "robots: line 3, \"Content-Signal: search=maybe, ai-use=no\": search=maybe is not a signal: write a key with yes or no, such as search=yes",
                "robots: line 3, \"Content-Signal: search=maybe, ai-use=no\": contentsignals.org has no signal ai-use: correct it if it is misspelt",
                "robots: line 5, \"Disallow: /\": the rule is also for the User-agent lines before content-signal; Protego (Scrapy), robots-parser, the crate robotstxt end the group there: put content-signal behind the rules",
            ]
        );
        let many = told(&parse(&json!(vec!["all"; 50])));
        assert_eq!(
            (many.len(), many[20].as_str()),
            (21, "robots: 30 more faults of lines")
        );
        assert_eq!(told(&parse(&json!(null))), [""; 0]);
    }

    #[test]
    fn all_lines_together_have_a_limit_as_stored() {
        let line = |bytes: usize| format!("Disallow: /{}", "x".repeat(bytes - 11));
        let (most, more) = (line(MAX_ROBOTS_BYTES - 4), line(MAX_ROBOTS_BYTES - 3));
        check(json!([most]), &[&most], &[]);
        check(json!([more]), &[], &[(0, true)]);
        let half = line(49_999);
        check(json!([half, half]), &[&half], &[(1, true)]);
        let comment = "#".repeat(MAX_ROBOTS_BYTES);
        check(
            json!(["a: b", comment, "c: d"]),
            &["a: b", "c: d"],
            &[(1, false)],
        );
        let stored = serde_json::to_string(&read(&[json!(most)]).0).unwrap();
        assert_eq!(stored.len(), MAX_ROBOTS_BYTES);
    }
}
