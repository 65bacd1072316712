//! The limits of a check, and the findings where a limit ended it.

use std::sync::Arc;

use check::document::expected::Expected;
use check::findings::{Finding, Findings, Limited, Policy, Unchecked};
use check::rules::Rule;

use crate::fetch::client::Client;

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

/// Adds that the time was over before all was looked at. `rest` says what was not.
pub(super) fn over(
    name: &str,
    what: &str,
    rest: &'static str,
    client: &Client,
    findings: &mut Findings,
) {
    let rule = Rule::CheckLimits;
    findings.add(rule, || Finding {
        rule,
        file: name.into(),
        at: None,
        message: format!("the time limit (--max-time) passed before all of {what} were checked"),
        invalid: false,
    });
    let seconds = client.max_time().unwrap_or_default().as_secs();
    let limit = Limit(seconds, "seconds for all targets", Some("--max-time"));
    limit.reached(name, rest, findings);
}

/// A limit: its value, its unit, and the option that raises it.
pub(super) struct Limit(
    pub(super) u64,
    pub(super) &'static str,
    pub(super) Option<&'static str>,
);

impl Limit {
    /// Adds that something has more than this limit. `rest` says what was not looked at.
    pub(super) fn reached(&self, place: &str, rest: &'static str, findings: &mut Findings) {
        let Self(value, unit, option) = *self;
        findings.leave(Unchecked::Limited(Limited {
            place: place.into(),
            rest,
            value,
            unit,
            option,
        }));
    }
}
