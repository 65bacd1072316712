//! Lines of robots.txt that crawlers or Lighthouse do not read as they were meant ([RFC 9309](https://www.rfc-editor.org/rfc/rfc9309)).

/// Directives that Lighthouse accepts; others it reports.
const KNOWN: [&str; 11] = [
    "user-agent",
    "allow",
    "disallow",
    "sitemap",
    "crawl-delay",
    "clean-param",
    "host",
    "request-rate",
    "visit-time",
    "noindex",
    CONTENT_SIGNAL,
];
/// <https://contentsignals.org/>. Lighthouse does not report it.
const CONTENT_SIGNAL: &str = "content-signal";

/// The name and the value of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive<'t> {
    /// In lower case.
    pub name: String,
    /// Without white space around it.
    pub value: &'t str,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault<'t> {
    /// This text has no name and value.
    NoDirective(&'t str),
    /// No directive has this name.
    Unknown(String),
    /// The directive of this name belongs to a group, and no `User-agent` is before it.
    OutsideGroup(String),
    /// This path is not percent-encoded.
    NotEncoded(&'t str),
}

/// Judges the lines of one robots.txt, in their order.
///
/// ```
/// use sitemap::robots::{Fault, Judge};
///
/// let mut judge = Judge::default();
/// assert_eq!(judge.faults("User-agent: *"), []);
/// assert_eq!(judge.faults("Disalow: /search"), [Fault::Unknown("disalow".to_owned())]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// Whether there was a `User-agent`.
    has_group: bool,
}

impl<'t> Directive<'t> {
    /// Returns `None` for a line without a colon. A comment does not count.
    #[must_use]
    pub fn of(line: &'t str) -> Option<Self> {
        let (name, value) = content(line).split_once(':')?;
        Some(Self {
            name: name.trim().to_ascii_lowercase(),
            value: value.trim(),
        })
    }
}

impl Judge {
    /// What is wrong with the next line.
    pub fn faults<'t>(&mut self, line: &'t str) -> Vec<Fault<'t>> {
        let Some(Directive { name, value }) = Directive::of(line) else {
            let text = content(line).trim();
            return match text {
                "" => Vec::new(),
                text => vec![Fault::NoDirective(text)],
            };
        };
        let mut faults = Vec::new();
        self.has_group |= name == "user-agent";
        let is_rule = name == "allow" || name == "disallow";
        if !KNOWN.contains(&name.as_str()) {
            faults.push(Fault::Unknown(name));
        } else if !self.has_group && (is_rule || name == CONTENT_SIGNAL) {
            faults.push(Fault::OutsideGroup(name));
        }
        if is_rule && !value.is_ascii() {
            faults.push(Fault::NotEncoded(value));
        }
        faults
    }
}

/// A line without its comment.
fn content(line: &str) -> &str {
    line.split_once('#').map_or(line, |(content, _)| content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: &[Fault<'_>]) {
        let mut judge = Judge::default();
        let faults = lines.iter().flat_map(|line| judge.faults(line));
        assert_eq!(faults.collect::<Vec<_>>(), expected, "{lines:?}");
    }

    #[test]
    fn good_lines_have_no_fault() {
        check(
            &[
                "# all : of them",
                "",
                "Sitemap: https://www.example.com/a.xml",
                "Host: www.example.com",
                "USER-AGENT : *",
                "Content-Signal: search=yes",
                "Disallow: /k%C3%A4se # käse",
                "Crawl-delay: 1",
            ],
            &[],
        );
    }

    #[test]
    fn each_fault_is_found() {
        let group = "User-agent: *";
        check(&[group, "nonsense # x"], &[Fault::NoDirective("nonsense")]);
        let unknown = |name: &str| Fault::Unknown(name.to_owned());
        check(&[group, "Disalow: /a"], &[unknown("disalow")]);
        check(&[": x"], &[unknown("")]);
        let outside = |name: &str| Fault::OutsideGroup(name.to_owned());
        check(&["Allow: /a", group, "Allow: /a"], &[outside("allow")]);
        check(
            &["Content-signal: search=yes"],
            &[outside("content-signal")],
        );
        check(
            &["Disallow: /käse"],
            &[outside("disallow"), Fault::NotEncoded("/käse")],
        );
    }
}
