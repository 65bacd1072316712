//! Lines of robots.txt that crawlers or Lighthouse do not read as they were intended ([RFC
//! 9309](https://www.rfc-editor.org/rfc/rfc9309)).

/// Directives that Lighthouse accepts. It reports all others.
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
/// <https://contentsignals.org/>. Lighthouse accepts it.
const CONTENT_SIGNAL: &str = "content-signal";
/// The keys of `Content-Signal`.
const SIGNALS: [&str; 3] = ["search", "ai-input", "ai-train"];
/// Proposed directives that crawlers may or may not follow, and who proposes each. Lighthouse reports them.
const PROPOSALS: [(&str, &str); 4] = [
    ("content-usage", "the IETF's AI preferences (aipref)"),
    ("license", "RSL (Really Simple Licensing)"),
    ("schemamap", "NLWeb"),
    ("agentmap", "ARD"),
];
/// By directive, the readers for which it ends a group if it is between two `User-agent` lines. They were tried in November 2026:
/// Protego 0.7.0 (Scrapy), robots-parser 3.0.1 (Crawlee), Python 3.11's urllib.robotparser, robotexclusionrulesparser 1.7.1 and
/// the crate robotstxt 0.3.0. RFC 9309 (2.2.4) and Google's parser do not end it.
const SPLITTERS: [(&str, &[&str]); 5] = [
    (
        "crawl-delay",
        &[
            "Protego (Scrapy)",
            "robots-parser",
            "Python's urllib.robotparser",
            "robotexclusionrulesparser",
        ],
    ),
    (
        "request-rate",
        &[
            "Protego (Scrapy)",
            "robots-parser",
            "Python's urllib.robotparser",
        ],
    ),
    (
        CONTENT_SIGNAL,
        &["Protego (Scrapy)", "robots-parser", "the crate robotstxt"],
    ),
    (
        "sitemap",
        &[
            "robots-parser",
            "robotexclusionrulesparser",
            "the crate robotstxt",
        ],
    ),
    ("host", &["robots-parser"]),
];
/// The readers for which any other directive ends a group.
const OTHER_SPLITTERS: &[&str] = &["Protego (Scrapy)", "robots-parser"];

/// The name and the value of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive<'t> {
    /// The name, in lower case.
    pub name: String,
    /// The value, without white space around it.
    pub value: &'t str,
}

/// A problem of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault<'t> {
    /// This text is not a name and a value.
    NoDirective(&'t str),
    /// No directive has this name.
    Unknown(String),
    /// The directive with this name belongs to a group, but no `User-agent` precedes it.
    OutsideGroup(String),
    /// This path is not percent-encoded.
    NotEncoded(&'t str),
    /// The directive with this name is only proposed.
    Proposal {
        /// The name, in lower case.
        name: String,
        /// Who proposes it.
        whose: &'static str,
    },
    /// This part of a `Content-Signal` is not a key with `yes` or `no`.
    SignalValue(&'t str),
    /// The group has this key of `Content-Signal` twice.
    SignalTwice(String),
    /// `Content-Signal` has no such key.
    UnknownSignal(String),
    /// The rule also applies to agents that are named before another directive. Some readers end the group there.
    Split {
        /// The directive between the `User-agent` lines, in lower case.
        name: String,
        /// The readers that end the group there.
        readers: &'static [&'static str],
    },
}

/// Checks the lines of one robots.txt, in their order.
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
    /// Whether the group has a rule. If so, the next `User-agent` begins another group.
    has_rule: bool,
    /// The directive after the group's last `User-agent` that ends the group for the most readers.
    behind: Option<String>,
    /// Such a directive between two `User-agent` lines of the group, until a rule shows that it matters.
    between: Option<String>,
    /// The keys of `Content-Signal` in the group so far.
    signals: Vec<String>,
}

/// Returns the readers for which this directive ends a group.
fn splitters(name: &str) -> &'static [&'static str] {
    let known = SPLITTERS.iter().find(|(known, _)| *known == name);
    known.map_or(OTHER_SPLITTERS, |(_, readers)| *readers)
}

impl<'t> Directive<'t> {
    /// Parses a line without its comment. Returns `None` if it has no colon.
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
    /// Returns the problems of the next line.
    pub fn faults<'t>(&mut self, line: &'t str) -> Vec<Fault<'t>> {
        let Some(Directive { name, value }) = Directive::of(line) else {
            let text = content(line).trim();
            return match text {
                "" => Vec::new(),
                text => vec![Fault::NoDirective(text)],
            };
        };
        let mut faults = Vec::new();
        let is_rule = name == "allow" || name == "disallow";
        let proposal = PROPOSALS.iter().find(|(known, _)| *known == name);
        if let Some((_, whose)) = proposal {
            let name = name.clone();
            faults.push(Fault::Proposal { name, whose });
        } else if !KNOWN.contains(&name.as_str()) {
            faults.push(Fault::Unknown(name.clone()));
        } else if !self.has_group && (is_rule || name == CONTENT_SIGNAL) {
            faults.push(Fault::OutsideGroup(name.clone()));
        }
        if is_rule && !value.is_ascii() {
            faults.push(Fault::NotEncoded(value));
        }
        if name == CONTENT_SIGNAL {
            self.signals(value, &mut faults);
        }
        self.group(&name, value, &mut faults);
        faults
    }

    /// Checks the parts of a `Content-Signal`, such as `search=yes, ai-train=no`.
    fn signals<'t>(&mut self, value: &'t str, faults: &mut Vec<Fault<'t>>) {
        let mut parts = value
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        if value.trim_matches([',', ' ', '\t']).is_empty() {
            faults.push(Fault::SignalValue(value));
        }
        for part in &mut parts {
            let (key, said) = part.split_once('=').unwrap_or((part, ""));
            let (key, said) = (key.trim().to_ascii_lowercase(), said.trim());
            if !["yes", "no"]
                .iter()
                .any(|known| said.eq_ignore_ascii_case(known))
            {
                faults.push(Fault::SignalValue(part));
            } else if !SIGNALS.contains(&key.as_str()) {
                faults.push(Fault::UnknownSignal(key));
            } else if self.signals.contains(&key) {
                faults.push(Fault::SignalTwice(key));
            } else {
                self.signals.push(key);
            }
        }
    }

    /// Tracks the beginnings and ends of groups.
    fn group<'t>(&mut self, name: &str, value: &str, faults: &mut Vec<Fault<'t>>) {
        match name {
            "user-agent" => {
                if std::mem::take(&mut self.has_rule) || !self.has_group {
                    self.behind = None;
                    self.between = None;
                    self.signals.clear();
                }
                self.has_group = true;
                self.between = self.between.take().or(self.behind.take());
            }
            "allow" | "disallow" if self.has_group => {
                self.has_rule = true;
                // An empty rule has no effect.
                if !value.is_empty()
                    && let Some(name) = self.between.take()
                {
                    let readers = splitters(&name);
                    faults.push(Fault::Split { name, readers });
                }
            }
            _ if self.has_group && !self.has_rule && !name.is_empty() => {
                let before = self
                    .behind
                    .as_deref()
                    .map_or(0, |name| splitters(name).len());
                if splitters(name).len() > before {
                    self.behind = Some(name.to_owned());
                }
            }
            _ => {}
        }
    }
}

/// Returns a line without its comment.
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
    fn proposals_and_signals_are_named() {
        let group = "User-agent: *";
        for (name, whose) in PROPOSALS {
            let name = name.to_owned();
            let line = format!("{}: x", name.to_ascii_uppercase());
            check(&[group, &line], &[Fault::Proposal { name, whose }]);
        }
        for good in [
            "search=yes",
            "search = no,ai-input=YES , AI-train=no",
            "search=yes,",
        ] {
            check(&[group, &format!("Content-Signal: {good}")], &[]);
        }
        for bad in ["", ",", "search", "search=maybe", "search=yes ai-train=no"] {
            let line = format!("Content-Signal: {bad}");
            check(&[group, &line], &[Fault::SignalValue(bad)]);
        }
        check(
            &[group, "Content-Signal: search=yes, ai_train=no"],
            &[Fault::UnknownSignal("ai_train".to_owned())],
        );
        let twice = Fault::SignalTwice("search".to_owned());
        check(
            &[group, "Content-Signal: search=yes, Search=no"],
            std::slice::from_ref(&twice),
        );
        let lines = [
            "Content-Signal: search=yes",
            "Allow: /",
            "Content-Signal: search=no",
        ];
        check(&[&[group], &lines[..]].concat(), &[twice]);
        // Two groups.
        check(&[group, lines[0], lines[1], "User-agent: a", lines[2]], &[]);
    }

    #[test]
    fn a_directive_between_two_agents_is_told_where_a_rule_shows_it() {
        let split = |name: &str| {
            let (name, readers) = (name.to_owned(), splitters(name));
            Fault::Split { name, readers }
        };
        let (one, two, all) = ("User-agent: *", "User-agent: bad", "Disallow: /");
        for (line, name) in [
            ("Crawl-delay: 10", "crawl-delay"),
            ("Content-Signal: search=yes", "content-signal"),
            ("Sitemap: https://www.example.com/a.xml", "sitemap"),
            ("Host: www.example.com", "host"),
            ("Clean-param: a", "clean-param"),
            ("Noindex: /a", "noindex"),
            ("Request-rate: 1/5", "request-rate"),
        ] {
            check(&[one, line, "", two, all], &[split(name)]);
            // An empty rule has no effect, and no directive is between.
            check(&[one, line, two, "Disallow:"], &[]);
            check(&[one, line, all, two, all], &[]);
            check(&[one, two, line, all], &[]);
            check(
                &[
                    line.replace("Content-Signal", "Host").as_str(),
                    one,
                    two,
                    all,
                ],
                &[],
            );
        }
        assert!(splitters("crawl-delay").len() > splitters("host").len());
        let lines = [
            one,
            "Host: a",
            "Crawl-delay: 1",
            "Host: b",
            two,
            all,
            "Allow: /a",
        ];
        check(&lines, &[split("crawl-delay")]);
        check(
            &[one, two, all, two, "Crawl-delay: 1", one, all],
            &[split("crawl-delay")],
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
