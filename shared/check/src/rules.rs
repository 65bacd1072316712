//! All rules, in one table: id, severity, who asks for it, what it says, why, and how to mend it.
//!
//! Rules of the independent checker in `tests/conformance` have the same names here, where both have them.

use std::fmt;

mod table;

pub use table::Rule;
use table::TABLE;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Note,
    /// Some reader may lose something.
    Warning,
    /// The protocol forbids it, or readers lose pages.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whose demands are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// sitemaps.org, the schemas, and the RFCs of HTTP, gzip and robots.txt.
    Protocol,
    /// Google's search engine.
    Google,
    /// Microsoft's search engine.
    Bing,
    /// Yoast's names of sitemaps, its redirects, and X-Robots-Tag.
    Yoast,
    /// What Waymark promises of its own sitemaps.
    Waymark,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Protocol,
        Self::Google,
        Self::Bing,
        Self::Yoast,
        Self::Waymark,
    ];
    /// Those that are checked unless others are asked for.
    pub const DEFAULT: [Self; 3] = [Self::Protocol, Self::Google, Self::Bing];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Protocol => "protocol",
            Self::Google => "google",
            Self::Bing => "bing",
            Self::Yoast => "yoast",
            Self::Waymark => "waymark",
        }
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

pub(crate) const fn bits(profiles: &[Profile]) -> u8 {
    let (mut bits, mut at) = (0, 0);
    while at < profiles.len() {
        bits |= profiles[at].bit();
        at += 1;
    }
    bits
}

/// Who says so, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// Where it says so.
    pub link: &'static str,
}

const fn source(name: &'static str, link: &'static str) -> Source {
    Source { name, link }
}

/// What a rule says.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name, `group.rule`.
    pub id: &'static str,
    /// How bad it is, unless the user says otherwise.
    pub severity: Severity,
    profiles: u8,
    /// What must be so.
    pub what: &'static str,
    /// What happens if it is not.
    pub why: &'static str,
    /// How to mend it.
    pub remedy: &'static str,
    /// Whose rule it is.
    pub source: Source,
}

impl Info {
    /// Whether one of these profiles asks for it.
    #[must_use]
    pub fn is_in(&self, profiles: &[Profile]) -> bool {
        self.profiles & bits(profiles) != 0
    }

    /// The profiles that ask for it.
    pub fn profiles(&self) -> impl Iterator<Item = Profile> {
        let bits = self.profiles;
        Profile::ALL
            .into_iter()
            .filter(move |profile| bits & profile.bit() != 0)
    }
}

const _: () = assert!(TABLE.len() == Rule::ALL.len());

impl Rule {
    /// What it says.
    #[must_use]
    pub const fn info(self) -> &'static Info {
        const INFOS: &[Info] = &TABLE;
        &INFOS[self as usize]
    }

    /// Its name.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.info().id
    }

    /// The rule of this name.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.id() == id)
    }

    /// The rule of this name, or all whose names begin so: `ext.` or `ext`.
    #[must_use]
    pub fn matching(prefix: &str) -> Vec<Self> {
        match Self::named(prefix) {
            Some(rule) => vec![rule],
            None if prefix.is_empty() => Vec::new(),
            None => Self::ALL
                .iter()
                .copied()
                .filter(|rule| rule.id().starts_with(prefix))
                .collect(),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_say_what_to_do() {
        for rule in Rule::ALL {
            let info = rule.info();
            assert_eq!(Rule::named(info.id), Some(*rule));
            assert!(info.id.contains('.'), "{}", info.id);
            assert!(info.source.link.starts_with("https://"), "{}", info.id);
            assert!(info.remedy.ends_with('.'), "{}", info.id);
            assert!(info.profiles().count() > 0, "{}", info.id);
        }
    }

    #[test]
    fn a_prefix_means_a_group() {
        assert_eq!(Rule::matching("loc.dup"), [Rule::LocDup]);
        assert!(Rule::matching("ext.").len() > 10);
        assert!(Rule::matching("nothing").is_empty());
        assert!(Rule::matching("").is_empty());
    }
}
