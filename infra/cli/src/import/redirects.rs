//! Redirects of other systems: records of pages that moved or are gone.
//!
//! | | columns or lines |
//! |---|---|
//! | Yoast SEO | `Origin,Target,Type,Format`; an origin may lack its slash |
//! | Redirection | `source,target,regex,code,type,hits,title,status`; without a code it is 301 |
//! | Shopify | `Redirect from,Redirect to`; always 301 |
//! | Netlify | the file `_redirects`: from, parameters, to, status, conditions; without a status it is 301 |
//!
//! Only a permanent move of one address, or its end, becomes a record. Any other rule is counted with its reason.

use check::document::input::Input;

use super::fields::Fields;
use super::options::ImportError;
use super::writer::{Id, Sink};

/// The type of the records. Nothing is listed of them.
const TYPE: &str = "redirect";
/// Statuses of a permanent move.
const MOVED: [&str; 2] = ["301", "308"];
const GONE: &str = "410";
/// Statuses of responses: others are shown as they are not.
const STATUS_DIGITS: usize = 3;
/// Characters by which a source of Redirection that does not say so is an expression.
const OF_EXPRESSIONS: &[char] = &['(', ')', '[', ']', '$', '^', '*'];
/// Characters of a line that are shown.
const SHOWN_CHARS: usize = 80;

const RELATIVE: &str = "its address is relative: --site HOST says of which site it is";
const PATTERN: &str = "a rule for a pattern of addresses";
const PARAMETERS: &str = "a rule for parameters";
const CONDITIONS: &str = "a rule with conditions";
const DISABLED: &str = "a rule that is disabled";
const ACTION: &str = "a rule that neither redirects nor ends an address";
const NO_TARGET: &str = "a move without a target";

/// The columns of a table of redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Yoast,
    Redirection,
    Shopify,
}

/// A rule of another system.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule<'r> {
    from: &'r str,
    to: &'r str,
    status: &'r str,
}

impl Table {
    /// Returns whose table has these columns.
    pub(super) fn of(columns: &[String]) -> Option<Self> {
        let has = |name: &str| place(columns, name).is_some();
        let has_all = |names: &[&str]| names.iter().all(|name| has(name));
        if has_all(&["Origin", "Target", "Type", "Format"]) {
            Some(Self::Yoast)
        } else if has_all(&["source", "target"]) && (has("regex") || has("code")) {
            Some(Self::Redirection)
        } else if has_all(&["Redirect from", "Redirect to"]) {
            Some(Self::Shopify)
        } else {
            None
        }
    }

    /// Imports a row.
    pub(super) fn row(
        self,
        columns: &[String],
        cells: &[String],
        line: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), ImportError> {
        let cell = |name: &str| {
            let cell = place(columns, name).and_then(|at| cells.get(at));
            cell.map_or("", |cell| cell.trim())
        };
        match self.rule(cell) {
            Ok(rule) => rule.import(line, sink),
            Err(reason) => {
                sink.skip(reason, || {
                    format!("line {line}: {}", shown(&cells.join(",")))
                });
                Ok(())
            }
        }
    }

    fn rule<'r>(self, cell: impl Fn(&str) -> &'r str) -> Result<Rule<'r>, &'static str> {
        match self {
            Self::Yoast => match cell("Format") {
                "plain" | "" => Ok(Rule {
                    from: cell("Origin"),
                    to: cell("Target"),
                    status: cell("Type"),
                }),
                _ => Err(PATTERN),
            },
            Self::Redirection => {
                let from = cell("source");
                let is_pattern = match cell("regex") {
                    "" => from.contains(OF_EXPRESSIONS),
                    regex => regex == "1",
                };
                if is_pattern {
                    return Err(PATTERN);
                }
                if !matches!(cell("type"), "" | "url" | "error") {
                    return Err(ACTION);
                }
                if matches!(cell("status"), "disabled") {
                    return Err(DISABLED);
                }
                let code = cell("code");
                Ok(Rule {
                    from,
                    to: cell("target"),
                    status: if code.is_empty() { MOVED[0] } else { code },
                })
            }
            Self::Shopify => Ok(Rule {
                from: cell("Redirect from"),
                to: cell("Redirect to"),
                status: MOVED[0],
            }),
        }
    }
}

/// Returns where a column is. The case of its name does not matter.
fn place(columns: &[String], name: &str) -> Option<usize> {
    let is = |column: &String| column.trim().eq_ignore_ascii_case(name);
    columns.iter().position(is)
}

/// Returns whether a text begins as a file `_redirects` does: with a path, and something else in the same line.
pub(super) fn is_rules(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|first| {
        first.starts_with('/')
            && matches!(
                rule_of(first),
                Ok(_) | Err(PARAMETERS | CONDITIONS | PATTERN)
            )
    })
}

/// Reads a file `_redirects`. Returns why it could not be read to its end.
pub(super) fn read(
    mut input: Input<'_>,
    sink: &mut Sink<'_>,
) -> Result<Option<String>, ImportError> {
    let mut bytes = Vec::new();
    loop {
        let number = input.line();
        match input.read_line(&mut bytes) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Ok(Some(format!("line {number}: {error}"))),
        }
        let Ok(line) = std::str::from_utf8(&bytes) else {
            sink.skip("it is not UTF-8", || format!("line {number}"));
            continue;
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match rule_of(line) {
            Ok(rule) => rule.import(number, sink)?,
            Err(reason) => sink.skip(reason, || format!("line {number}: {}", shown(line))),
        }
    }
}

/// Reads a line of a file `_redirects`.
fn rule_of(line: &str) -> Result<Rule<'_>, &'static str> {
    let words = line.split_whitespace();
    let words: Vec<&str> = words.take_while(|word| !word.starts_with('#')).collect();
    let (from, rest) = words.split_first().ok_or(NO_TARGET)?;
    let is_address = |word: &&str| word.starts_with('/') || word.contains("://");
    let at = rest.iter().position(is_address).ok_or(NO_TARGET)?;
    let (parameters, rest) = rest.split_at(at);
    let status = rest
        .get(1)
        .map_or(MOVED[0], |word| word.trim_end_matches('!'));
    let is_status =
        status.len() == STATUS_DIGITS && status.bytes().all(|byte| byte.is_ascii_digit());
    if !is_status || rest.len() > 2 {
        return Err(CONDITIONS);
    }
    let path = from.split_once("://").map_or(*from, |(_, rest)| rest);
    let is_name = |step: &str| step.starts_with(':');
    if path.contains('*') || path.split('/').any(is_name) {
        return Err(PATTERN);
    }
    if !parameters.is_empty() {
        return Err(PARAMETERS);
    }
    Ok(Rule {
        from,
        to: rest[0],
        status,
    })
}

impl Rule<'_> {
    fn import(&self, line: u64, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        let Self { from, to, status } = self;
        let place = || format!("line {line}: {}", shown(&format!("{from} {to}")));
        if !MOVED.contains(status) && *status != GONE {
            let reason = match status.len() == STATUS_DIGITS {
                true => {
                    format!("its status is {status}, which is neither a permanent move nor gone")
                }
                false => format!("its status is not three digits: {}", shown(status)),
            };
            sink.skip(&reason, place);
            return Ok(());
        }
        if from.is_empty() {
            sink.skip("it has no address", place);
            return Ok(());
        }
        let (url, to) = (rooted(from), rooted(to));
        if url.starts_with('/') && sink.options.site.is_none() {
            sink.skip(RELATIVE, place);
            return Ok(());
        }
        let mut fields = Fields::new();
        fields.insert("type".to_owned(), TYPE.into());
        fields.insert("url".to_owned(), url.into());
        if *status == GONE {
            fields.insert("gone".to_owned(), true.into());
        } else if to.is_empty() {
            sink.skip(NO_TARGET, place);
            return Ok(());
        } else {
            fields.insert("moved_to".to_owned(), to.into());
        }
        sink.record(fields, Id::Redirect)
    }
}

/// Returns an address of a rule: a path begins with a slash, which Yoast SEO leaves out.
fn rooted(address: &str) -> String {
    match address.is_empty() || address.starts_with('/') || address.contains(':') {
        true => address.to_owned(),
        false => format!("/{address}"),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(head: &str) -> Vec<String> {
        head.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn a_table_is_known_by_its_columns() {
        for (head, expected) in [
            ("Origin,Target,Type,Format", Some(Table::Yoast)),
            ("origin,target,type,format", Some(Table::Yoast)),
            (
                "source,target,regex,code,type,hits,title,status",
                Some(Table::Redirection),
            ),
            ("Redirect from,Redirect to", Some(Table::Shopify)),
            ("Redirect From,Redirect To", Some(Table::Shopify)),
            ("source,target", None),
            ("url,title", None),
        ] {
            assert_eq!(Table::of(&columns(head)), expected, "{head}");
        }
    }

    #[test]
    fn a_line_of_rules_is_read_as_netlify_reads_it() {
        let read = |line: &'static str| rule_of(line).map(|rule| (rule.from, rule.to, rule.status));
        for (line, expected) in [
            ("/a /b", Ok(("/a", "/b", "301"))),
            ("/a   /b\t301! # why", Ok(("/a", "/b", "301"))),
            (
                "/a https://x.example/b 302",
                Ok(("/a", "https://x.example/b", "302")),
            ),
            (
                "https://old.example/a /b 301",
                Ok(("https://old.example/a", "/b", "301")),
            ),
            ("/a/* /b/:splat", Err(PATTERN)),
            ("/a/:year /b", Err(PATTERN)),
            ("/a id=:id /b/:id 301", Err(PARAMETERS)),
            ("/a /b 302 Country=de", Err(CONDITIONS)),
            ("/a /b Language=de", Err(CONDITIONS)),
            ("/a", Err(NO_TARGET)),
            ("/a 410", Err(NO_TARGET)),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    #[test]
    fn a_file_of_rules_is_recognised() {
        for (text, expected) in [
            ("/a /b 301\n", true),
            ("# old\n\n/a/*  /b/:splat", true),
            ("/a\n/b\n", false),
            ("https://a.example/\n", false),
            ("url,title\n/a /b", false),
            ("", false),
        ] {
            assert_eq!(is_rules(text), expected, "{text}");
        }
    }

    #[test]
    fn an_address_without_a_slash_gets_one() {
        assert_eq!(rooted("old/page"), "/old/page");
        for kept in ["/old", "https://a.example/", "mailto:a", ""] {
            assert_eq!(rooted(kept), kept);
        }
    }
}
