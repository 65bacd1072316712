//! Known findings, which are covered by an allowance until a day, or by a baseline.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use super::finding::Finding;
use crate::rules::Rule;
use crate::url;

/// Findings that a user has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The rules to which it applies.
    pub rules: Vec<Rule>,
    /// A text that a finding's position and message must contain, with `*` for anything. An empty text matches everything.
    pub pattern: String,
    /// The last second at which it applies, in Unix seconds. `None` if it does not expire.
    pub until: Option<i64>,
}

impl Allowance {
    /// Returns whether it has expired.
    #[must_use]
    pub fn is_over(&self, now: i64) -> bool {
        self.until.is_some_and(|until| until < now)
    }

    fn covers(&self, finding: &Finding) -> bool {
        self.rules.contains(&finding.rule)
            && has(
                &self.pattern,
                &format!("{}: {}", finding.file, finding.message),
            )
    }
}

/// Returns whether a text contains the parts of a pattern between its stars, one after the other.
fn has(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    pattern.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// The known findings. They are counted separately.
#[derive(Debug, Default)]
pub struct Known {
    allowances: Vec<Allowance>,
    /// The number of findings that are left for each key.
    baseline: HashMap<u64, AtomicU32>,
}

impl Known {
    /// Creates the known findings from the allowances that apply at this time.
    #[must_use]
    pub fn new(allowances: impl IntoIterator<Item = Allowance>, now: i64) -> Self {
        let mut allowances: Vec<_> = allowances.into_iter().collect();
        allowances.retain(|allowance| !allowance.is_over(now));
        Self {
            allowances,
            baseline: HashMap::new(),
        }
    }

    /// Adds `count` findings of a baseline with this key.
    pub fn add(&mut self, key: &Key<'_>, count: u32) {
        let count_of = self.baseline.entry(key.digest()).or_default();
        *count_of.get_mut() = count_of.get_mut().saturating_add(count);
    }

    /// Returns whether a finding of a rule may be known.
    pub(crate) fn knows(&self, rule: Rule) -> bool {
        let mut allowances = self.allowances.iter();
        !self.baseline.is_empty() || allowances.any(|allowance| allowance.rules.contains(&rule))
    }

    /// Returns whether a finding is known. A baseline covers a finding as often as it contains it.
    pub(crate) fn covers(&self, finding: &Finding) -> bool {
        if self.allowances.iter().any(|one| one.covers(finding)) {
            return true;
        }
        let (file, message) = (&*finding.file, &steady(&finding.message));
        let key = Key {
            rule: finding.rule.id(),
            file,
            message,
        };
        let Some(left) = self.baseline.get(&key.digest()) else {
            return false;
        };
        let take = |left: u32| left.checked_sub(1);
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }
}

/// The properties by which findings of two runs are matched. Lines and counts change with every page that is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key<'a> {
    /// The rule's name.
    pub rule: &'a str,
    /// The document.
    pub file: &'a str,
    /// The message, as [`steady`] returns it.
    pub message: &'a str,
}

impl Key<'_> {
    /// Returns a digest that is the same in every run.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let Self {
            rule,
            file,
            message,
        } = self;
        url::digest(format!("{rule}\n{file}\n{message}").as_bytes())
    }
}

/// Returns a message without its numbers and times: separate ones become `#`. URLs keep theirs.
#[must_use]
pub fn steady(message: &str) -> String {
    let is_number = |word: &str| {
        let mut bytes = word.bytes();
        word.starts_with(|c: char| c.is_ascii_digit())
            && bytes.all(|byte| byte.is_ascii_digit() || b",.:-+TZ".contains(&byte))
    };
    let words = message
        .split(' ')
        .map(|word| if is_number(word) { "#" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: Rule, message: &str) -> Finding {
        Finding {
            rule,
            file: "https://www.example.com/a.xml".into(),
            at: None,
            message: message.to_owned(),
            invalid: false,
        }
    }

    #[test]
    fn an_allowance_covers_its_rules_places_and_messages() {
        let covers = |pattern: &str| {
            let allowance = Allowance {
                rules: vec![Rule::LocHost],
                pattern: pattern.to_owned(),
                until: None,
            };
            allowance.covers(&finding(
                Rule::LocHost,
                "\"http://b.example/7\" is not on it",
            ))
        };
        for pattern in ["", "a.xml", "b.example", "/a.xml: *b.example*not", "*"] {
            assert!(covers(pattern), "{pattern}");
        }
        for pattern in ["b.xml", "not*b.example", "b.example*b.example"] {
            assert!(!covers(pattern), "{pattern}");
        }
        let other = Allowance {
            rules: vec![Rule::LocForm],
            pattern: String::new(),
            until: None,
        };
        assert!(!other.covers(&finding(Rule::LocHost, "")));
    }

    #[test]
    fn an_allowance_ends_behind_its_day() {
        let allowance = Allowance {
            rules: vec![Rule::LocHost],
            pattern: String::new(),
            until: Some(99),
        };
        let finding = finding(Rule::LocHost, "x");
        assert!(Known::new([allowance.clone()], 99).covers(&finding));
        assert!(!Known::new([allowance], 100).covers(&finding));
    }

    #[test]
    fn a_baseline_covers_as_many_as_it_has() {
        let message = steady("\"https://www.example.com/2026/1\" is listed in line 7 already");
        assert_eq!(
            message,
            "\"https://www.example.com/2026/1\" is listed in line # already"
        );
        assert_eq!(
            steady("50 of 52 lastmods are 2026-11-20T10:00:00Z"),
            "# of # lastmods are #"
        );
        let mut known = Known::default();
        let key = Key {
            rule: "loc.dup",
            file: "https://www.example.com/a.xml",
            message: &message,
        };
        known.add(&key, 1);
        let again = finding(
            Rule::LocDup,
            "\"https://www.example.com/2026/1\" is listed in line 99 already",
        );
        assert!(known.covers(&again));
        assert!(!known.covers(&again));
        let other = finding(
            Rule::LocDup,
            "\"https://www.example.com/2026/2\" is listed in line 7 already",
        );
        assert!(!known.covers(&other));
    }
}
