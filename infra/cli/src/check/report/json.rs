//! JSON: `{"findings": [{"rule", "severity", "file", "line"?, "column"?, "message", "invalid"?, "source"}], "counts": {rule: number},
//! "totals": {"sitemaps", "indexes", "urls", "pages", "errors", "warnings", "notes", "known", "requests", "bytes",
//! "seconds"}, "omitted": [{"rule", "file"?, "count"}], "broken": [{"file", "line", "column", "entries", "before", "after"?,
//! "estimate", "cause", "message"}], "limits": [{"place", "limit", "unit", "option"?, "rest", "message"}], "more_unchecked": number,
//! "hints": [text]}`. JSON Lines: each finding as a line of its own, then all the rest.

use std::collections::BTreeMap;

use check::findings::{Broken, Finding, Limited, Unchecked};
use check::rules::{Rule, Severity};
use serde::Serialize;
use serde_json::{Value, json};

use super::left::Shown;
use super::{MAX_OMITTED, Report};
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
        let shown = self.shown(most);
        let findings = shown.findings.iter();
        let findings: Vec<_> = findings.map(|finding| self.line(finding)).collect();
        let mut report = self.rest(&shown);
        report["findings"] = json!(findings);
        json_escaped(&format!("{report:#}\n")).into_owned()
    }

    pub(super) fn jsonl(&self, most: u64) -> String {
        let shown = self.shown(most);
        let findings = shown.findings.iter();
        let lines = findings.map(|finding| json!(self.line(finding)));
        lines
            .chain([self.rest(&shown)])
            .map(|line| format!("{}\n", json_escaped(&line.to_string())))
            .collect()
    }

    /// Returns all but the findings.
    fn rest(&self, shown: &Shown<'_>) -> Value {
        let mut report = json!({
            "counts": self.counts(), "totals": self.totals(), "omitted": [], "broken": [], "limits": [], "hints": self.hints,
        });
        let omitted = self.omitted(shown, MAX_OMITTED);
        let omitted = omitted.iter().map(|one| {
            let mut omitted = json!({"rule": one.rule.id(), "count": one.count});
            if let Some(file) = one.file {
                omitted["file"] = json!(file);
            }
            omitted
        });
        report["omitted"] = omitted.collect();
        let (unchecked, more) = self.all_unchecked();
        report["more_unchecked"] = json!(more);
        let of = |part: &&Unchecked| match part {
            Unchecked::Broken(broken) => Some(broken_json(broken)),
            Unchecked::Limited(_) => None,
        };
        report["broken"] = unchecked.iter().filter_map(of).collect();
        let of = |part: &&Unchecked| match part {
            Unchecked::Limited(limited) => Some(limit_json(limited)),
            Unchecked::Broken(_) => None,
        };
        report["limits"] = unchecked.iter().filter_map(of).collect();
        report
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

fn broken_json(broken: &Broken) -> Value {
    let mut json = json!({
        "file": &*broken.file, "line": broken.at.line, "column": broken.at.column, "entries": broken.entries,
        "before": broken.before, "estimate": broken.is_estimate, "cause": broken.cause, "message": broken.to_string(),
    });
    if let Some(after) = broken.after {
        json["after"] = json!(after);
    }
    json
}

fn limit_json(limited: &Limited) -> Value {
    let mut json = json!({
        "place": &*limited.place, "limit": limited.value, "unit": limited.unit, "rest": limited.rest,
        "message": limited.to_string(),
    });
    if let Some(option) = limited.option {
        json["option"] = json!(option);
    }
    json
}
