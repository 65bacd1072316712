//! What a report leaves out: findings beyond the caps, and the parts that were not checked.
//!
//! The cap is for a rule in a document, so that neither a rule nor a document hides another. If a rule is broken in very many
//! documents, each has the same share.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use check::findings::{Finding, MAX_UNCHECKED, Unchecked};
use check::rules::Rule;
use indicatif::HumanCount;

use super::Report;

/// Documents of which as many findings of a rule are shown as `--max-findings` says. If more documents break the rule, each has a
/// smaller share of the same number of lines.
const DOCUMENTS_IN_FULL: u64 = 10;

/// The findings that a report shows.
pub(super) struct Shown<'a> {
    pub(super) findings: Vec<&'a Finding>,
    counts: HashMap<(Rule, &'a str), u64>,
    rules: BTreeMap<Rule, u64>,
}

impl Shown<'_> {
    /// Returns how many findings of a rule are shown.
    pub(super) fn of_rule(&self, rule: Rule) -> u64 {
        self.rules.get(&rule).copied().unwrap_or_default()
    }
}

/// Findings that are counted and not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Omitted<'a> {
    pub(super) rule: Rule,
    /// The document; nothing for those of several.
    pub(super) file: Option<&'a str>,
    pub(super) count: u64,
}

impl fmt::Display for Omitted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.file.unwrap_or("other documents");
        let (count, rule) = (HumanCount(self.count), self.rule);
        write!(f, "and {count} more of {rule} in {place}")
    }
}

impl Report {
    /// Returns the kept findings, at most `most` of a rule in a document.
    pub(super) fn shown(&self, most: u64) -> Shown<'_> {
        let budget = most.saturating_mul(DOCUMENTS_IN_FULL);
        let mut kept: HashMap<Rule, HashMap<&str, u64>> = HashMap::new();
        for finding in self.findings.kept() {
            let of_rule = kept.entry(finding.rule).or_default();
            *of_rule.entry(&finding.file).or_default() += 1;
        }
        let share = |documents: HashMap<&str, u64>| {
            let mut share = most;
            let sum = |share: u64| documents.values().map(|kept| share.min(*kept)).sum::<u64>();
            while share > 1 && sum(share) > budget {
                share /= 2;
            }
            share
        };
        let shares = kept.into_iter();
        let shares: HashMap<Rule, u64> = shares
            .map(|(rule, documents)| (rule, share(documents)))
            .collect();
        let mut shown = Shown {
            findings: Vec::new(),
            counts: HashMap::new(),
            rules: BTreeMap::new(),
        };
        for finding in self.findings.kept() {
            let rule = finding.rule;
            let share = shares.get(&rule).copied().unwrap_or_default();
            let of_rule = shown.rules.entry(rule).or_default();
            let of_document = shown.counts.entry((rule, &*finding.file)).or_default();
            if *of_document < share && *of_rule < budget {
                *of_document += 1;
                *of_rule += 1;
                shown.findings.push(finding);
            }
        }
        shown
    }

    /// Returns the rules of which not all findings are shown, each with the numbers of all and of shown findings.
    pub(super) fn cut(&self, shown: &Shown<'_>) -> impl Iterator<Item = (Rule, u64, u64)> {
        Rule::ALL.iter().filter_map(move |rule| {
            let (count, shown) = (self.findings.count(*rule), shown.of_rule(*rule));
            (count > shown).then_some((*rule, count, shown))
        })
    }

    /// Returns what is not shown, the worst first: of `most` pairs of a rule and a document, and of the rest by rule.
    pub(super) fn omitted<'a>(&'a self, shown: &Shown<'a>, most: usize) -> Vec<Omitted<'a>> {
        let pairs = self.findings.by_document();
        let mut omitted: Vec<Omitted<'a>> = pairs
            .filter_map(|(rule, file, count)| {
                let seen = shown.counts.get(&(rule, &**file));
                let count = count - seen.copied().unwrap_or_default();
                (count > 0).then_some(Omitted {
                    rule,
                    file: Some(file),
                    count,
                })
            })
            .collect();
        let key = |one: &Omitted<'a>| {
            let badness = (self.level(one.rule), one.count);
            (Reverse(badness), one.rule, one.file)
        };
        omitted.sort_unstable_by_key(key);
        omitted.truncate(most);
        let mut rest: Vec<Omitted<'a>> = Vec::new();
        for (rule, count, seen) in self.cut(shown) {
            let told = omitted.iter().filter(|one| one.rule == rule);
            let told: u64 = told.map(|one| one.count).sum();
            if count > seen + told {
                rest.push(Omitted {
                    rule,
                    file: None,
                    count: count - seen - told,
                });
            }
        }
        rest.sort_unstable_by_key(key);
        omitted.extend(rest);
        omitted
    }

    /// Returns at most `most` of the parts that were not checked, limits and the largest first, and the number of the others.
    pub(super) fn unchecked(&self, most: usize) -> (Vec<&Unchecked>, u64) {
        let (kept, more) = self.findings.unchecked();
        let mut parts: Vec<_> = kept.iter().collect();
        parts.sort_by_key(|part| match part {
            Unchecked::Limited(_) => Reverse(u64::MAX),
            Unchecked::Broken(broken) => Reverse(broken.after.unwrap_or(u64::MAX - 1)),
        });
        let more = more + parts.len().saturating_sub(most) as u64;
        parts.truncate(most);
        (parts, more)
    }

    /// Returns all parts that were not checked and were kept, and the number of the others.
    pub(super) fn all_unchecked(&self) -> (Vec<&Unchecked>, u64) {
        self.unchecked(MAX_UNCHECKED)
    }
}
