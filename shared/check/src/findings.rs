//! Collects findings: counts them by rule and document, keeps them up to a limit, and drops known ones.

use std::collections::HashMap;
use std::sync::Arc;

use crate::rules::Rule;

mod finding;
mod policy;
pub mod suppressions;
mod unchecked;

pub use finding::{Finding, Position};
pub use policy::Policy;
pub use unchecked::{Broken, Limited, Unchecked};

/// The most findings of one rule that are kept, about 3 MB. All are counted. If there are more, each document has the same share.
pub const MAX_KEPT: u64 = 10_000;

/// The most pairs of a rule and a document that are counted separately, about 10 MB. An index of 50,000 sitemaps has two rules that
/// each of them breaks. Findings of further pairs are counted by their rule alone.
const MAX_TALLIES: usize = 100_000;

/// The most parts that were not checked that are kept, less than 1 MB. All are counted. Nobody reads a longer list.
pub const MAX_UNCHECKED: usize = 1_000;

/// The numbers of findings of a rule in a document.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: u64,
    kept: u64,
}

/// What a rule has altogether.
#[derive(Clone, Copy, Debug)]
struct OfRule {
    count: u64,
    kept: u64,
    /// The most findings that are kept of one document.
    share: u64,
}

/// Findings, in order. All are counted, and up to [`MAX_KEPT`] of each rule are kept. No document takes the place of another: if a
/// rule has more, the share of each document is halved.
#[derive(Clone, Debug)]
pub struct Findings {
    policy: Arc<Policy>,
    kept: Vec<Finding>,
    rules: Vec<OfRule>,
    tallies: HashMap<(Rule, Arc<str>), Tally>,
    known: u64,
    unchecked: Vec<Unchecked>,
    more_unchecked: u64,
}

impl Findings {
    /// Returns an empty list. Findings of rules that the policy switches off are not even counted.
    #[must_use]
    pub fn new(policy: Arc<Policy>) -> Self {
        let none = OfRule {
            count: 0,
            kept: 0,
            share: MAX_KEPT,
        };
        Self {
            policy,
            kept: Vec::new(),
            rules: vec![none; Rule::ALL.len()],
            tallies: HashMap::new(),
            known: 0,
            unchecked: Vec::new(),
            more_unchecked: 0,
        }
    }

    /// Returns an empty list under the same policy.
    pub(crate) fn none(&self) -> Self {
        Self::new(self.policy.clone())
    }

    /// Adds a finding. `finding` is called only if the rule is on.
    pub fn add(&mut self, rule: Rule, finding: impl FnOnce() -> Finding) {
        if self.policy.level(rule).is_some() {
            let finding = finding();
            let file = finding.file.clone();
            self.add_in(&file, rule, || finding);
        }
    }

    /// Adds a finding of this document. `finding` is called only if the finding is kept or may be known.
    pub(crate) fn add_in(
        &mut self,
        file: &Arc<str>,
        rule: Rule,
        finding: impl FnOnce() -> Finding,
    ) {
        if self.policy.level(rule).is_none() {
            return;
        }
        match self.policy.known(rule) {
            Some(known) => {
                let finding = finding();
                if known.covers(&finding) {
                    self.known += 1;
                } else {
                    self.add_count(file, rule, 1);
                    self.keep(file, rule, || finding);
                }
            }
            None => {
                self.add_count(file, rule, 1);
                self.keep(file, rule, finding);
            }
        }
    }

    fn add_count(&mut self, file: &Arc<str>, rule: Rule, count: u64) {
        self.rules[rule as usize].count += count;
        if let Some(tally) = self.tally(file, rule) {
            tally.count += count;
        }
    }

    /// Returns the numbers of a rule in a document. Returns `None` if there is no room for one more pair.
    fn tally(&mut self, file: &Arc<str>, rule: Rule) -> Option<&mut Tally> {
        let key = (rule, file.clone());
        if self.tallies.len() >= MAX_TALLIES && !self.tallies.contains_key(&key) {
            return None;
        }
        Some(self.tallies.entry(key).or_default())
    }

    /// Keeps a finding that is counted, if its document's share has room.
    fn keep(&mut self, file: &Arc<str>, rule: Rule, finding: impl FnOnce() -> Finding) {
        let share = self.rules[rule as usize].share;
        let Some(tally) = self.tally(file, rule).filter(|tally| tally.kept < share) else {
            return;
        };
        tally.kept += 1;
        self.kept.push(finding());
        let of_rule = &mut self.rules[rule as usize];
        of_rule.kept += 1;
        while self.rules[rule as usize].kept > MAX_KEPT {
            self.halve(rule);
        }
    }

    /// Halves what is kept of each document. At a share of one, the last document gives way.
    fn halve(&mut self, rule: Rule) {
        let share = self.rules[rule as usize].share / 2;
        let mut kept: HashMap<Arc<str>, u64> = HashMap::new();
        let mut of_rule = 0;
        self.kept.retain(|finding| {
            if finding.rule != rule {
                return true;
            }
            let of_document = kept.entry(finding.file.clone()).or_default();
            let stays = *of_document < share.max(1) && of_rule < MAX_KEPT;
            *of_document += u64::from(stays);
            of_rule += u64::from(stays);
            stays
        });
        for (file, kept) in kept {
            if let Some(tally) = self.tally(&file, rule) {
                tally.kept = kept;
            }
        }
        // A share of nothing keeps no further document.
        self.rules[rule as usize].share = share;
        self.rules[rule as usize].kept = of_rule;
    }

    /// Adds the findings of a document.
    pub fn append(&mut self, other: Self) {
        for (rule, of_rule) in Rule::ALL.iter().zip(&other.rules) {
            self.rules[*rule as usize].count += of_rule.count;
        }
        for ((rule, file), tally) in &other.tallies {
            if let Some(own) = self.tally(file, *rule) {
                own.count += tally.count;
            }
        }
        self.known += other.known;
        for finding in other.kept {
            let file = finding.file.clone();
            self.keep(&file, finding.rule, || finding);
        }
        self.more_unchecked += other.more_unchecked;
        for unchecked in other.unchecked {
            self.leave(unchecked);
        }
    }

    /// Adds a part that was not checked. The same part counts once.
    pub fn leave(&mut self, unchecked: Unchecked) {
        if self.unchecked.contains(&unchecked) {
            return;
        }
        if self.unchecked.len() < MAX_UNCHECKED {
            self.unchecked.push(unchecked);
        } else {
            self.more_unchecked += 1;
        }
    }

    /// Returns the parts that were not checked, as far as they were kept, and the number of the others.
    #[must_use]
    pub fn unchecked(&self) -> (&[Unchecked], u64) {
        (&self.unchecked, self.more_unchecked)
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
        if moved.count(rule) > 0 {
            for ((_, file), tally) in &self.tallies {
                moved.add_count(file, rule, tally.count - tally.kept);
            }
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
        self.rules[rule as usize].count
    }

    /// Returns the number of findings of each rule in each document. If there are very many pairs, some are missing, so that the
    /// sum for a rule may be less than [`Findings::count`].
    pub fn by_document(&self) -> impl Iterator<Item = (Rule, &Arc<str>, u64)> {
        let tallies = self.tallies.iter();
        tallies.map(|((rule, file), tally)| (*rule, file, tally.count))
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

#[cfg(test)]
mod tests;
