//! robots.txt, as RFC 9309 has it: what is wrong with it, the sitemaps that it names, and what it disallows.

use crate::finding::{Finding, Findings, Position};
use crate::rules::Rule;
use crate::schema::quoted;

use std::sync::Arc;

use sitemap::robots::{Directive, Fault, Judge};

/// What a crawler must read of it (RFC 9309, 2.5).
pub const MAX_ROBOTS_BYTES: usize = 500 * 1024;
/// Whose groups are looked at: that for all, and these crawlers' own.
const AGENTS: [&str; 3] = ["*", "googlebot", "bingbot"];

/// What a robots.txt says.
#[derive(Clone, Debug, Default)]
pub struct Robots {
    /// The sitemaps that it names by absolute URLs, each with its place.
    pub sitemaps: Vec<(String, Position)>,
    /// Scheme and host that it speaks for; nothing if they are not known.
    origin: Option<String>,
    /// The rules of `AGENTS`.
    rules: [Option<Rules>; AGENTS.len()],
}

#[derive(Clone, Debug, Default)]
struct Rules {
    /// By the second byte of their paths, since most paths begin with `/` and a letter; the others are at 0.
    by_byte: Vec<Vec<PathRule>>,
    count: usize,
}

#[derive(Clone, Debug)]
struct PathRule {
    allow: bool,
    pattern: String,
}

impl Rules {
    fn add(&mut self, allow: bool, pattern: String) {
        if self.by_byte.is_empty() {
            self.by_byte = vec![Vec::new(); 256];
        }
        let at = match pattern.as_bytes() {
            [b'/', b'*' | b'$', ..] => 0,
            [b'/', byte, ..] => usize::from(*byte),
            _ => 0,
        };
        self.by_byte[at].push(PathRule { allow, pattern });
        self.count += 1;
    }

    /// The rule that disallows a path: the longest that matches, and of equals the one that allows.
    fn disallows(&self, path: &str) -> Option<&str> {
        if self.count == 0 {
            return None;
        }
        let second = path.as_bytes().get(1).copied().map_or(0, usize::from);
        let others = if second == 0 {
            &[][..]
        } else {
            &self.by_byte[second]
        };
        let longest = self.by_byte[0]
            .iter()
            .chain(others)
            .filter(|rule| matches(&rule.pattern, path))
            .max_by_key(|rule| (rule.pattern.len(), rule.allow))?;
        (!longest.allow).then_some(longest.pattern.as_str())
    }
}

/// Whether a pattern, with `*` for anything and `$` for the end, matches the beginning of a path.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, ends) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(previous) = last.replace(part) {
            let previous: &str = previous;
            match rest.find(previous) {
                Some(at) => rest = &rest[at + previous.len()..],
                None => return false,
            }
        }
    }
    match last {
        None => !ends || rest.is_empty(),
        Some(last) if ends => rest.ends_with(last),
        Some(last) => rest.contains(last),
    }
}

impl Robots {
    /// Reads a robots.txt, of which at most [`MAX_ROBOTS_BYTES`] count. `bytes`: the length of the whole file.
    pub fn read(text: &[u8], file: &Arc<str>, findings: &mut Findings) -> Self {
        let mut reader = Reader {
            file,
            findings,
            robots: Self {
                origin: crate::address::origin_of(file).map(str::to_owned),
                ..Self::default()
            },
            judge: Judge::default(),
            group: None,
            in_rules: false,
        };
        reader.read(text);
        reader.robots
    }

    /// The crawler and the rule that disallow a path, which begins with a slash.
    #[must_use]
    pub fn disallows(&self, path: &str) -> Option<(&str, &str)> {
        let path = if path.is_empty() { "/" } else { path };
        let mut agents = AGENTS.iter().zip(&self.rules);
        agents.find_map(|(agent, rules)| Some((*agent, rules.as_ref()?.disallows(path)?)))
    }

    /// Whether it can disallow anything of a scheme and host.
    pub(crate) fn has_rules_for(&self, origin: &str) -> bool {
        let mut rules = self.rules.iter().flatten();
        self.origin.as_ref().is_none_or(|own| own == origin) && rules.any(|rules| rules.count > 0)
    }
}

struct Reader<'a> {
    file: &'a Arc<str>,
    findings: &'a mut Findings,
    robots: Robots,
    judge: Judge,
    /// Which of `AGENTS` the group is for, if there is one.
    group: Option<[bool; AGENTS.len()]>,
    /// A rule ends the list of agents.
    in_rules: bool,
}

impl Reader<'_> {
    fn found(&mut self, rule: Rule, line: usize, message: String) {
        let file = self.file.clone();
        self.findings.add(rule, || Finding {
            rule,
            file,
            at: u32::try_from(line)
                .ok()
                .filter(|line| *line > 0)
                .map(|line| Position { line, column: 1 }),
            message,
            invalid: false,
        });
    }

    fn read(&mut self, text: &[u8]) {
        let mut text = text;
        if text.len() > MAX_ROBOTS_BYTES {
            self.found(
                Rule::RobotsForm,
                0,
                format!("has more than {MAX_ROBOTS_BYTES} bytes, the rest need not be read"),
            );
            text = &text[..MAX_ROBOTS_BYTES];
        }
        if let Some(rest) = text.strip_prefix(b"\xef\xbb\xbf") {
            self.found(
                Rule::RobotsForm,
                1,
                "begins with a byte order mark".to_owned(),
            );
            text = rest;
        }
        let text = String::from_utf8_lossy(text);
        let mut named = false;
        // Lines may end in two characters: then every second one is empty.
        let per_line = if text.contains("\r\n") { 2 } else { 1 };
        for (at, line) in text.split(['\n', '\r']).enumerate() {
            let number = at / per_line + 1;
            named |= self.line(line, number);
        }
        if !named {
            self.found(Rule::RobotsSitemap, 0, "names no sitemap".to_owned());
        }
    }

    /// Reads a line; whether it names a sitemap.
    fn line(&mut self, line: &str, number: usize) -> bool {
        let faults = self.judge.faults(line);
        let is_known = !matches!(faults[..], [Fault::Unknown(_)]);
        for fault in faults {
            let (rule, message) = told(&fault);
            self.found(rule, number, message);
        }
        let Some(Directive { name, value }) = Directive::of(line) else {
            return false;
        };
        match name.as_str() {
            "sitemap" => {
                if line.contains('#') || value.contains(char::is_whitespace) {
                    self.found(
                        Rule::RobotsForm,
                        number,
                        format!("text follows the sitemap's URL: {}", quoted(line.trim())),
                    );
                }
                let url = value.split_whitespace().next().unwrap_or_default();
                if crate::address::origin_of(url).is_none() {
                    self.found(
                        Rule::RobotsSitemap,
                        number,
                        format!("{} is not an absolute URL", quoted(url)),
                    );
                } else {
                    let line = u32::try_from(number).unwrap_or(u32::MAX);
                    self.robots
                        .sitemaps
                        .push((url.to_owned(), Position { line, column: 1 }));
                }
                return true;
            }
            "user-agent" => {
                if std::mem::take(&mut self.in_rules) {
                    self.group = None;
                }
                let group = self.group.get_or_insert_default();
                let agent = value.split(|c: char| c == '/' || c.is_whitespace());
                let agent = agent.map(str::to_ascii_lowercase).next();
                for (at, known) in AGENTS.iter().enumerate() {
                    if agent.as_deref() == Some(known) {
                        group[at] = true;
                        self.robots.rules[at].get_or_insert_default();
                    }
                }
            }
            "allow" | "disallow" => {
                self.in_rules = true;
                let group = self.group.unwrap_or_default();
                let rules = self.robots.rules.iter_mut().zip(group);
                for (rules, _) in rules.filter(|(_, is_for)| *is_for && !value.is_empty()) {
                    let rules = rules.get_or_insert_default();
                    rules.add(name == "allow", value.to_owned());
                }
            }
            // Of an unknown line nobody knows whether it is a rule.
            _ if is_known => self.in_rules |= self.group.is_some(),
            _ => {}
        }
        false
    }
}

/// The rule that a fault breaks, and what is said of it.
fn told(fault: &Fault<'_>) -> (Rule, String) {
    match fault {
        Fault::NoDirective(text) => (
            Rule::RobotsUnknown,
            format!("{} is not a directive", quoted(text)),
        ),
        Fault::Unknown(name) => (
            Rule::RobotsUnknown,
            format!("{} is not a known directive", quoted(name)),
        ),
        Fault::OutsideGroup(name) => (
            Rule::RobotsGroup,
            format!("{name} is outside any User-agent's group"),
        ),
        Fault::NotEncoded(path) => (
            Rule::RobotsEncoding,
            format!("{} is not percent-encoded", quoted(path)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Policy;

    fn read(text: &str) -> (Robots, Vec<Rule>) {
        let mut findings = Findings::new(Arc::new(Policy::default()));
        let robots = Robots::read(text.as_bytes(), &"/robots.txt".into(), &mut findings);
        let rules = findings.kept().iter().map(|finding| finding.rule).collect();
        (robots, rules)
    }

    #[test]
    fn each_fault_breaks_one_rule() {
        const SITEMAP: &str = "Sitemap: https://www.example.com/sitemap.xml\n";
        for (text, expected) in [
            ("User-agent: *\nDisallow: /a\n", &[][..]),
            (
                "User-agent: *\r\nDisallow:\r\nContent-Signal: ai-train=no\r\n",
                &[],
            ),
            (
                "# hello\n\nUser-agent: a\nUser-agent: b # both\nCrawl-delay: 1\n",
                &[],
            ),
            ("\u{feff}User-agent: *\nDisallow:\n", &[Rule::RobotsForm]),
            ("User-agent: *\nDisalow: /a\n", &[Rule::RobotsUnknown]),
            ("User-agent: *\nschemamap: /a\n", &[Rule::RobotsUnknown]),
            ("nonsense\n", &[Rule::RobotsUnknown]),
            ("Disallow: /a\n", &[Rule::RobotsGroup]),
            ("Content-Signal: ai-train=no\n", &[Rule::RobotsGroup]),
            ("User-agent: *\nDisallow: /käse\n", &[Rule::RobotsEncoding]),
            ("Sitemap: /sitemap.xml\n", &[Rule::RobotsSitemap]),
            (
                "Sitemap: https://www.example.com/a.xml # all\n",
                &[Rule::RobotsForm],
            ),
        ] {
            let (robots, rules) = read(&format!("{text}{SITEMAP}"));
            assert_eq!(rules, expected, "{text}");
            assert!(!robots.sitemaps.is_empty());
        }
        assert_eq!(read("User-agent: *\n").1, [Rule::RobotsSitemap]);
        let long = format!("{SITEMAP}{}", "#\n".repeat(MAX_ROBOTS_BYTES / 2));
        assert_eq!(read(&long).1, [Rule::RobotsForm]);
    }

    #[test]
    fn the_longest_rule_decides() {
        let (robots, _) = read(
            "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.php$\nDisallow: /x*y*z\n\
             User-agent: Googlebot\nDisallow: /g\n",
        );
        for (path, expected) in [
            ("/", None),
            ("", None),
            ("/a", Some(("*", "/a"))),
            ("/a/c", Some(("*", "/a"))),
            ("/a/b/c", None),
            ("/q.php", Some(("*", "/*.php$"))),
            ("/q.php?a", None),
            ("/x1y2z3", Some(("*", "/x*y*z"))),
            ("/x1z2y", None),
            ("/g", Some(("googlebot", "/g"))),
        ] {
            assert_eq!(robots.disallows(path), expected, "{path}");
        }
        assert!(
            read("User-agent: *\nDisallow:\n")
                .0
                .disallows("/a")
                .is_none()
        );
        assert!(
            read("User-agent: *\nDisallow: /\n")
                .0
                .disallows("/")
                .is_some()
        );
    }
}
