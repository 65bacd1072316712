//! The columns of the table of rules.

use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information only.
    Note,
    /// Some reader may lose data.
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

/// A set of rules, by the authority that demands them.
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
    /// Waymark's promises about its own sitemaps.
    Waymark,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 5] = [
        Self::Protocol,
        Self::Google,
        Self::Bing,
        Self::Yoast,
        Self::Waymark,
    ];
    /// The profiles that are checked by default.
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

/// The source of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// The address of its text.
    pub link: &'static str,
}

pub(super) const fn source(name: &'static str, link: &'static str) -> Source {
    Source { name, link }
}

/// The row of a rule.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name, `group.rule`.
    pub id: &'static str,
    /// Its default severity.
    pub severity: Severity,
    pub(super) profiles: u8,
    /// What the rule demands.
    pub what: &'static str,
    /// The consequences of breaking it.
    pub why: &'static str,
    /// The remedy.
    pub remedy: &'static str,
    /// The source of the rule.
    pub source: Source,
}

impl Info {
    /// Returns whether one of these profiles includes it.
    #[must_use]
    pub fn is_in(&self, profiles: &[Profile]) -> bool {
        self.profiles & bits(profiles) != 0
    }

    /// Returns the profiles that include it.
    pub fn profiles(&self) -> impl Iterator<Item = Profile> {
        let bits = self.profiles;
        Profile::ALL
            .into_iter()
            .filter(move |profile| bits & profile.bit() != 0)
    }
}
