//! Which rules hold, how bad each is, and what is known already.

use std::sync::Arc;

use super::suppressions::Known;
use crate::rules::{Profile, Rule, Severity, bits};

/// Which rules hold, and how bad each is.
#[derive(Clone, Debug)]
pub struct Policy {
    levels: [Option<Severity>; Rule::ALL.len()],
    profiles: u8,
    known: Option<Arc<Known>>,
}

impl Policy {
    /// The rules of these profiles.
    #[must_use]
    pub fn of(profiles: &[Profile]) -> Self {
        let mut levels = [None; Rule::ALL.len()];
        for rule in Rule::ALL {
            if rule.info().is_in(profiles) {
                levels[*rule as usize] = Some(rule.info().severity);
            }
        }
        Self {
            levels,
            profiles: bits(profiles),
            known: None,
        }
    }

    /// Sets what is known already.
    pub fn set_known(&mut self, known: Known) {
        self.known = Some(Arc::new(known));
    }

    /// What is known of a rule, if anything is.
    pub(crate) fn known(&self, rule: Rule) -> Option<&Known> {
        self.known.as_deref().filter(|known| known.knows(rule))
    }

    /// Sets a rule's level, or switches it off.
    pub fn set(&mut self, rule: Rule, level: Option<Severity>) {
        self.levels[rule as usize] = level;
    }

    /// How bad a finding of this rule is; nothing if it is off.
    #[must_use]
    pub fn level(&self, rule: Rule) -> Option<Severity> {
        self.levels[rule as usize]
    }

    /// Whether what Waymark promises beyond the rules' words is asked for: an index's lastmod is exactly its sitemap's.
    pub(crate) fn is_strict(&self) -> bool {
        self.asks(Profile::Waymark)
    }

    /// Returns whether a profile's rules were asked for.
    pub(crate) fn asks(&self, profile: Profile) -> bool {
        self.profiles & profile.bit() != 0
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::of(&Profile::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_decides_which_rules_hold() {
        let usual = Policy::default();
        assert_eq!(usual.level(Rule::LocHost), Some(Severity::Error));
        let google = Policy::of(&[Profile::Google]);
        assert_eq!(google.level(Rule::RobotsUnknown), Some(Severity::Warning));
        assert_eq!(google.level(Rule::LocHost), None);
    }
}
