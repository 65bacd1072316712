//! The rules, in one table: id, severity, profiles, text, reason, remedy and source.
//!
//! Rules that the independent checker in `tests/conformance` has too have the same names there.

use std::fmt;

mod info;
mod table;

pub(crate) use info::bits;
pub use info::{Info, Profile, Severity, Source};
pub use table::Rule;
use table::TABLE;

const _: () = assert!(TABLE.len() == Rule::ALL.len());

impl Rule {
    /// Returns its row of the table.
    #[must_use]
    pub const fn info(self) -> &'static Info {
        const INFOS: &[Info] = &TABLE;
        &INFOS[self as usize]
    }

    /// Returns its name.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.info().id
    }

    /// Returns the rule of this name.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.id() == id)
    }

    /// Returns the rule with this name, or all rules whose names have this prefix: `ext.` or `ext`.
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
