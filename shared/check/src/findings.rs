//! Collects findings: counts them by rule, keeps them up to a limit, and drops known ones.

use std::sync::Arc;

use crate::rules::Rule;

mod finding;
mod policy;
pub mod suppressions;

pub use finding::{Finding, Position};
pub use policy::Policy;

/// The most findings of one rule that are kept. All are counted.
pub const MAX_KEPT: u64 = 10_000;

/// Findings, in order. All are counted, and [`MAX_KEPT`] of each rule are kept.
#[derive(Clone, Debug)]
pub struct Findings {
    policy: Arc<Policy>,
    kept: Vec<Finding>,
    counts: Vec<u64>,
    kept_counts: Vec<u64>,
    known: u64,
}

impl Findings {
    /// Returns an empty list. Findings of rules that the policy switches off are not even counted.
    #[must_use]
    pub fn new(policy: Arc<Policy>) -> Self {
        Self {
            policy,
            kept: Vec::new(),
            counts: vec![0; Rule::ALL.len()],
            kept_counts: vec![0; Rule::ALL.len()],
            known: 0,
        }
    }

    /// Returns an empty list under the same policy.
    pub(crate) fn none(&self) -> Self {
        Self::new(self.policy.clone())
    }

    /// Adds a finding. `finding` is called only if the finding is kept or may be known.
    pub fn add(&mut self, rule: Rule, finding: impl FnOnce() -> Finding) {
        if self.policy.level(rule).is_none() {
            return;
        }
        match self.policy.known(rule) {
            Some(known) => {
                let finding = finding();
                if known.covers(&finding) {
                    self.known += 1;
                } else {
                    self.count_and_keep(rule, || finding);
                }
            }
            None => self.count_and_keep(rule, finding),
        }
    }

    fn count_and_keep(&mut self, rule: Rule, finding: impl FnOnce() -> Finding) {
        self.counts[rule as usize] += 1;
        let kept = &mut self.kept_counts[rule as usize];
        if *kept < MAX_KEPT {
            *kept += 1;
            self.kept.push(finding());
        }
    }

    /// Adds the findings of a document.
    pub fn append(&mut self, other: Self) {
        for (count, added) in self.counts.iter_mut().zip(other.counts) {
            *count += added;
        }
        self.known += other.known;
        for finding in other.kept {
            let kept = &mut self.kept_counts[finding.rule as usize];
            if *kept < MAX_KEPT {
                *kept += 1;
                self.kept.push(finding);
            }
        }
    }

    /// Returns these findings as findings of another rule, with `end` appended to each message.
    #[must_use]
    pub fn moved_to(&self, rule: Rule, end: &str) -> Self {
        let mut moved = self.none();
        for finding in &self.kept {
            moved.add(rule, || Finding {
                rule,
                message: format!("{}{end}", finding.message),
                ..finding.clone()
            });
        }
        // Findings that were not kept count too, unless the rule is off.
        let counts: u64 = self.counts.iter().sum();
        if moved.counts[rule as usize] > 0 {
            moved.counts[rule as usize] += counts - self.kept.len() as u64;
        }
        moved
    }

    /// Returns the findings that were kept.
    #[must_use]
    pub fn kept(&self) -> &[Finding] {
        &self.kept
    }

    /// Returns the number of findings of a rule.
    #[must_use]
    pub fn count(&self, rule: Rule) -> u64 {
        self.counts[rule as usize]
    }

    /// Returns the number of known findings: an allowance or a baseline covers them, so they are neither counted nor kept.
    #[must_use]
    pub fn known(&self) -> u64 {
        self.known
    }

    /// Returns the rules that apply.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}
