//! The columns of the table of rules.

use std::fmt;

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
    /// Returns `note`, `warning` or `error`.
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

    /// Returns its name on the command line.
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

pub(super) const fn source(name: &'static str, link: &'static str) -> Source {
    Source { name, link }
}

/// What a rule says.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name, `group.rule`.
    pub id: &'static str,
    /// How bad it is, unless the user says otherwise.
    pub severity: Severity,
    pub(super) profiles: u8,
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
    /// Returns whether one of these profiles asks for it.
    #[must_use]
    pub fn is_in(&self, profiles: &[Profile]) -> bool {
        self.profiles & bits(profiles) != 0
    }

    /// Returns the profiles that ask for it.
    pub fn profiles(&self) -> impl Iterator<Item = Profile> {
        let bits = self.profiles;
        Profile::ALL
            .into_iter()
            .filter(move |profile| bits & profile.bit() != 0)
    }
}
