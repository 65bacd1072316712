//! Sends the requests of a probe and records its findings.

use check::findings::{Finding, Findings};
use check::rules::Rule;

use crate::fetch::client::{Answer, Client, Probe};

/// Problems of one rule and one document that are told.
const MAX_TOLD: usize = 3;

/// Asks, and notes what is wrong.
pub(super) struct Asker<'a> {
    pub(super) client: &'a Client,
    pub(super) findings: &'a mut Findings,
}

impl Asker<'_> {
    /// Returns whether a rule of this name, or of this group, applies.
    pub(super) fn wants(&self, prefix: &str) -> bool {
        let policy = self.findings.policy();
        let mut rules = Rule::matching(prefix).into_iter();
        rules.any(|rule| policy.level(rule).is_some())
    }

    /// Sends a request and returns the answer. Its status is 0 if there is no answer.
    pub(super) async fn ask(&self, method: &str, url: &str, headers: &[(&str, &str)]) -> Answer {
        let probe = Probe {
            method,
            url,
            headers,
        };
        self.client
            .probe(&probe)
            .await
            .unwrap_or_else(|failure| Answer {
                status: 0,
                headers: Vec::new(),
                body: failure.into_bytes(),
            })
    }

    pub(super) async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", url, headers).await
    }

    /// Adds a finding if there are problems.
    pub(super) fn found(&mut self, rule: Rule, url: &str, problems: &[String]) {
        // Without an answer in time nothing is known.
        if problems.is_empty() || self.client.is_over() {
            return;
        }
        let mut message = problems[..problems.len().min(MAX_TOLD)].join("; ");
        if problems.len() > MAX_TOLD {
            message = format!("{message}; and {} more", problems.len() - MAX_TOLD);
        }
        self.findings.add(rule, || Finding {
            rule,
            file: url.into(),
            at: None,
            message,
            invalid: false,
        });
    }
}
