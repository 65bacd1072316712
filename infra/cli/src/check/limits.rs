//! The limits of a check, and the findings where a limit ended it.

use std::sync::Arc;

use check::document::expected::Expected;
use check::findings::{Finding, Findings, Policy};
use check::rules::Rule;

/// Limits and rules of a check.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Documents that are looked at together.
    pub jobs: usize,
    /// Documents of a target.
    pub max_sitemaps: u64,
    /// URLs of a target.
    pub max_urls: u64,
    /// Bytes of a document.
    pub max_bytes: u64,
    /// The time, in Unix seconds.
    pub now: i64,
    /// The rules that hold.
    pub policy: Arc<Policy>,
    /// What should be listed.
    pub expected: Option<Arc<Expected>>,
    /// Pages that are asked for.
    pub pages: usize,
}

/// Adds that the time was over before all was looked at.
pub(super) fn over(name: &str, what: &str, findings: &mut Findings) {
    let rule = Rule::CheckLimits;
    findings.add(rule, || Finding {
        rule,
        file: name.into(),
        at: None,
        message: format!("the time limit (--max-time) passed before all of {what} were checked"),
        invalid: false,
    });
}
