//! JSON: `{"findings": [{"rule", "severity", "file", "line"?, "column"?, "message", "invalid"?, "source"}], "counts": {rule: number},
//! "totals": {"sitemaps", "indexes", "urls", "pages", "errors", "warnings", "notes", "known", "requests", "bytes",
//! "seconds"}}`. JSON Lines: each finding as a line of its own, then the counts and totals.

use std::collections::BTreeMap;

use check::findings::Finding;
use check::rules::{Rule, Severity};
use serde::Serialize;
use serde_json::{Value, json};

use super::Report;
use crate::terminal::text::json_escaped;

#[derive(Serialize)]
struct Line<'a> {
    rule: &'static str,
    severity: &'static str,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    message: &'a str,
    /// Only if it is so: the official schemas, or any XML parser, refuse the document.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    invalid: bool,
    source: &'static str,
}

impl Report {
    pub(super) fn json(&self, most: u64) -> String {
        let findings = self.shown(most);
        let findings: Vec<_> = findings.iter().map(|finding| self.line(finding)).collect();
        let report = json!({
            "findings": findings, "counts": self.counts(), "totals": self.totals(),
        });
        json_escaped(&format!("{report:#}\n")).into_owned()
    }

    pub(super) fn jsonl(&self, most: u64) -> String {
        let findings = self.shown(most);
        let lines = findings.iter().map(|finding| json!(self.line(finding)));
        let totals = json!({"counts": self.counts(), "totals": self.totals()});
        lines
            .chain([totals])
            .map(|line| format!("{}\n", json_escaped(&line.to_string())))
            .collect()
    }

    fn line<'a>(&self, finding: &'a Finding) -> Line<'a> {
        Line {
            rule: finding.rule.id(),
            severity: self.level(finding.rule).name(),
            file: &finding.file,
            line: finding.at.map(|at| at.line),
            column: finding.at.map(|at| at.column),
            message: &finding.message,
            invalid: finding.invalid,
            source: finding.rule.info().source.link,
        }
    }

    fn counts(&self) -> BTreeMap<&'static str, u64> {
        let counts = Rule::ALL
            .iter()
            .map(|rule| (rule.id(), self.findings.count(*rule)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    fn totals(&self) -> Value {
        let mut totals = json!(self.work);
        for (name, count) in [
            ("errors", self.count(Severity::Error)),
            ("warnings", self.count(Severity::Warning)),
            ("notes", self.count(Severity::Note)),
            ("known", self.findings.known()),
        ] {
            totals[name] = json!(count);
        }
        totals
    }
}
