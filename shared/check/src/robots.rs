//! Reads robots.txt as RFC 9309 specifies: its problems, the sitemaps that it names, and its disallowed paths.

use std::sync::Arc;

use sitemap::loc::normalized;
use sitemap::robots::{Directive, Fault, Judge};

use crate::findings::{Finding, Findings, Policy, Position};
use crate::rules::{Profile, Rule};
use crate::text::quoted;
use crate::url::{origin_of, path_of};

use path::{Pattern, compared_path};

mod path;

/// The bytes that a crawler must at least read (RFC 9309, 2.5).
pub const MAX_ROBOTS_BYTES: usize = 500 * 1024;

/// The product token of a group for all crawlers without a group of their own.
const ANYBODY: &str = "*";

/// A crawler whose group is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crawler {
    /// Google's crawler.
    Googlebot,
    /// Microsoft's crawler.
    Bingbot,
    /// This command, which requests pages.
    Waymark,
}

impl Crawler {
    /// The crawlers of search engines.
    pub const ENGINES: [Self; 2] = [Self::Googlebot, Self::Bingbot];
    const ALL: [Self; 3] = [Self::Googlebot, Self::Bingbot, Self::Waymark];

    /// Returns its product token, in lower case.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Googlebot => "googlebot",
            Self::Bingbot => "bingbot",
            Self::Waymark => "waymark",
        }
    }
}

impl Policy {
    /// Returns the crawlers that must be allowed: those of the profiles, or of both engines if no profile is an engine's.
    #[must_use]
    pub fn crawlers(&self) -> &'static [Crawler] {
        match [Profile::Google, Profile::Bing].map(|engine| self.asks(engine)) {
            [true, false] => &[Crawler::Googlebot],
            [false, true] => &[Crawler::Bingbot],
            _ => &Crawler::ENGINES,
        }
    }
}

/// The number of groups that are kept: that for all, and each crawler's own.
const GROUPS: usize = 1 + Crawler::ALL.len();

/// The contents of a robots.txt.
#[derive(Clone, Debug, Default)]
pub struct Robots {
    /// The sitemaps that it names by absolute URLs, each with its position.
    pub sitemaps: Vec<(String, Position)>,
    /// The scheme and host to which it applies. `None` if they are not known.
    origin: Option<String>,
    /// The rules for `*`, and those of each crawler of `Crawler::ALL` with a group of its own.
    groups: [Option<Rules>; GROUPS],
}

#[derive(Clone, Debug, Default)]
struct Rules {
    /// The rules by the second byte of their paths, because most paths begin with `/` and a letter. The others are at 0.
    by_byte: Vec<Vec<PathRule>>,
    count: usize,
}

#[derive(Clone, Debug)]
struct PathRule {
    allow: bool,
    pattern: Pattern,
}

impl Rules {
    fn add(&mut self, allow: bool, pattern: Pattern) {
        if self.by_byte.is_empty() {
            self.by_byte = vec![Vec::new(); 256];
        }
        let at = pattern.second_byte().map_or(0, usize::from);
        self.by_byte[at].push(PathRule { allow, pattern });
        self.count += 1;
    }

    /// Returns the rule that disallows a path in its compared form. The longest matching rule counts, and of equal ones the one
    /// that allows.
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
            .filter(|rule| rule.pattern.matches(path))
            .max_by_key(|rule| (rule.pattern.length(), rule.allow))?;
        (!longest.allow).then_some(longest.pattern.written.as_str())
    }
}

impl Robots {
    /// Reads a robots.txt, up to [`MAX_ROBOTS_BYTES`]. `file` is its address, to whose scheme and host it applies.
    pub fn read(text: &[u8], file: &Arc<str>, findings: &mut Findings) -> Self {
        let mut reader = Reader {
            file,
            findings,
            robots: Self {
                origin: origin_of(&normalized(file)).map(str::to_owned),
                ..Self::default()
            },
            judge: Judge::default(),
            group: None,
            in_rules: false,
        };
        reader.read(text);
        reader.robots
    }

    /// Returns the group and the rule that disallow an address for one of these crawlers. Each has its own group, or else that
    /// for `*`. Addresses on other hosts are never disallowed.
    #[must_use]
    pub fn shuts_out(&self, url: &str, crawlers: &[Crawler]) -> Option<(&'static str, &str)> {
        if self.groups.iter().flatten().all(|rules| rules.count == 0) {
            return None;
        }
        let url = normalized(url);
        let origin = origin_of(&url)?;
        if self.origin.as_ref().is_some_and(|own| own != origin) {
            return None;
        }
        let path = compared_path(path_of(&url)?);
        // Crawlers must read it to know the rules (2.2.2).
        if path == "/robots.txt" {
            return None;
        }
        crawlers.iter().find_map(|crawler| {
            let own = self.groups.get(1 + *crawler as usize)?.as_ref();
            let (token, rules) = match own {
                Some(rules) => (crawler.token(), rules),
                None => (ANYBODY, self.groups[0].as_ref()?),
            };
            Some((token, rules.disallows(&path)?))
        })
    }

    /// Returns whether it names a sitemap, in any spelling of its address.
    #[must_use]
    pub fn names(&self, sitemap: &str) -> bool {
        let sitemap = normalized(sitemap);
        self.sitemaps
            .iter()
            .any(|(url, _)| normalized(url) == sitemap)
    }
}

/// Returns the product token of a `User-agent` line in lower case: the letters at its beginning (2.2.1), so that `Googlebot/2.1`
/// means Googlebot.
fn product_token(value: &str) -> String {
    match value.strip_prefix('*') {
        Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => {
            ANYBODY.to_owned()
        }
        _ => {
            let in_tokens = |c: &char| c.is_ascii_alphabetic() || matches!(c, '_' | '-');
            let token = value.chars().take_while(in_tokens);
            token.map(|c| c.to_ascii_lowercase()).collect()
        }
    }
}

struct Reader<'a> {
    file: &'a Arc<str>,
    findings: &'a mut Findings,
    robots: Robots,
    judge: Judge,
    /// The groups to which the lines belong. `None` before the first `User-agent`.
    group: Option<[bool; GROUPS]>,
    /// Whether a rule has ended the list of agents. Nothing else ends it (2.2.4).
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
            // An incomplete line could have another meaning.
            let end = memchr::memrchr2(b'\n', b'\r', &text[..=MAX_ROBOTS_BYTES]);
            text = &text[..end.unwrap_or(0)];
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
        // If lines end in two characters, every second line is empty.
        let per_line = if text.contains("\r\n") { 2 } else { 1 };
        for (at, line) in text.split(['\n', '\r']).enumerate() {
            let number = at / per_line + 1;
            named |= self.line(line, number);
        }
        if !named {
            self.found(Rule::RobotsSitemap, 0, "names no sitemap".to_owned());
        }
    }

    /// Reads a line. Returns whether it names a sitemap.
    fn line(&mut self, line: &str, number: usize) -> bool {
        for fault in self.judge.faults(line) {
            let (rule, message) = described(&fault);
            self.found(rule, number, message);
        }
        let Some(Directive { name, value }) = Directive::of(line) else {
            return false;
        };
        match name.as_str() {
            "sitemap" => {
                self.sitemap(line, value, number);
                return true;
            }
            "user-agent" => {
                if std::mem::take(&mut self.in_rules) {
                    self.group = None;
                }
                let group = self.group.get_or_insert_default();
                let token = product_token(value);
                let known = Crawler::ALL.iter().map(|crawler| crawler.token());
                for (at, known) in std::iter::once(ANYBODY).chain(known).enumerate() {
                    if token == known {
                        group[at] = true;
                        self.robots.groups[at].get_or_insert_default();
                    }
                }
            }
            "allow" | "disallow" => {
                self.in_rules = true;
                let group = self.group.unwrap_or_default();
                let groups = self.robots.groups.iter_mut().zip(group);
                for (rules, _) in groups.filter(|(_, is_for)| *is_for && !value.is_empty()) {
                    let rules = rules.get_or_insert_default();
                    rules.add(name == "allow", Pattern::of(value));
                }
            }
            _ => {}
        }
        false
    }

    fn sitemap(&mut self, line: &str, value: &str, number: usize) {
        if line.contains('#') || value.contains(char::is_whitespace) {
            self.found(
                Rule::RobotsForm,
                number,
                format!("text follows the sitemap's URL: {}", quoted(line.trim())),
            );
        }
        let url = value.split_whitespace().next().unwrap_or_default();
        if origin_of(url).is_none() {
            let message = format!("{} is not an absolute URL", quoted(url));
            self.found(Rule::RobotsSitemap, number, message);
        } else {
            let line = u32::try_from(number).unwrap_or(u32::MAX);
            let at = Position { line, column: 1 };
            self.robots.sitemaps.push((url.to_owned(), at));
        }
    }
}

/// Returns the rule and the message for a fault.
fn described(fault: &Fault<'_>) -> (Rule, String) {
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
            format!(
                "{} is not percent-encoded: Google's matcher reads it, temoto/robotstxt (Go), which Colly uses, does not",
                quoted(path)
            ),
        ),
        Fault::Proposal { name, whose } => (
            Rule::RobotsProposal,
            format!(
                "{name} is from {whose}: crawlers that do not follow it ignore it, and Lighthouse reports it"
            ),
        ),
        Fault::SignalValue(part) => (
            Rule::RobotsSignal,
            format!("{} is not a key with yes or no", quoted(part)),
        ),
        Fault::SignalTwice(key) => (
            Rule::RobotsSignal,
            format!("the group has the signal {key} twice"),
        ),
        Fault::UnknownSignal(key) => (
            Rule::RobotsProposal,
            format!("contentsignals.org has no signal {}", quoted(key)),
        ),
        Fault::Split { name, readers } => (
            Rule::RobotsSplit,
            format!(
                "the rule is also for the User-agent lines before {}, where {} end the group",
                quoted(name),
                readers.join(", ")
            ),
        ),
    }
}

#[cfg(test)]
mod tests;
