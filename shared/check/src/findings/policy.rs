//! Decides which rules apply, their severities, and which findings are known.

use std::sync::Arc;

use super::suppressions::Known;
use crate::rules::{Profile, Rule, Severity, bits};

/// The rules that apply, and their severities.
#[derive(Clone, Debug)]
pub struct Policy {
    levels: [Option<Severity>; Rule::ALL.len()],
    profiles: u8,
    known: Option<Arc<Known>>,
}

impl Policy {
    /// Returns the rules of these profiles.
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

    /// Sets the known findings.
    pub fn set_known(&mut self, known: Known) {
        self.known = Some(Arc::new(known));
    }

    /// Returns the known findings, if any of them may be of this rule.
    pub(crate) fn known(&self, rule: Rule) -> Option<&Known> {
        self.known.as_deref().filter(|known| known.knows(rule))
    }

    /// Sets a rule's level, or switches it off.
    pub fn set(&mut self, rule: Rule, level: Option<Severity>) {
        self.levels[rule as usize] = level;
    }

    /// Returns the severity of a rule. Returns `None` if the rule is off.
    #[must_use]
    pub fn level(&self, rule: Rule) -> Option<Severity> {
        self.levels[rule as usize]
    }

    /// Returns whether Waymark's own promises are checked. They go beyond the rules' texts: an index's lastmod equals its
    /// sitemap's.
    pub(crate) fn is_strict(&self) -> bool {
        self.asks(Profile::Waymark)
    }

    /// Returns whether a profile's rules were requested.
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
