//! What was found, where.

use std::sync::Arc;

use crate::rules::Rule;

mod finding;
mod policy;
pub mod suppressions;

pub use finding::{Finding, Position};
pub use policy::Policy;

/// Findings of one rule that are kept. All are counted.
pub const MAX_KEPT: u64 = 10_000;

/// Findings, in order: all are counted, and [`MAX_KEPT`] of each rule are kept.
#[derive(Clone, Debug)]
pub struct Findings {
    policy: Arc<Policy>,
    kept: Vec<Finding>,
    counts: Vec<u64>,
    kept_counts: Vec<u64>,
    known: u64,
}

impl Findings {
    /// None yet. What the policy switches off is not even counted.
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

    /// None, under the same policy.
    pub(crate) fn none(&self) -> Self {
        Self::new(self.policy.clone())
    }

    /// Adds one. `finding` is only called for one that is kept, or that may be known.
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

    /// Adds those of a document.
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

    /// Returns them as findings of another rule, each message with an end.
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
        // Those that were not kept count, unless the rule does not hold.
        let counts: u64 = self.counts.iter().sum();
        if moved.counts[rule as usize] > 0 {
            moved.counts[rule as usize] += counts - self.kept.len() as u64;
        }
        moved
    }

    /// Those that are kept.
    #[must_use]
    pub fn kept(&self) -> &[Finding] {
        &self.kept
    }

    /// How often a rule does not hold.
    #[must_use]
    pub fn count(&self, rule: Rule) -> u64 {
        self.counts[rule as usize]
    }

    /// How many are known, and neither counted nor kept: an allowance or a baseline covers them.
    #[must_use]
    pub fn known(&self) -> u64 {
        self.known
    }

    /// The rules that hold.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}
