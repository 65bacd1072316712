//! What a check found, for people, programs and pipelines.
//!
//! JSON: `{"findings": [{"rule", "severity", "file", "line"?, "column"?, "message", "source"}], "counts": {rule: number},
//! "totals": {"sitemaps", "indexes", "urls", "errors", "warnings", "notes", "requests", "bytes", "seconds"}}`. JSON Lines:
//! each finding as a line of its own, then the totals.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use check::finding::{Finding, Findings, MAX_KEPT};
use check::rules::{Rule, Severity};
use check::site::Totals;
use serde::Serialize;
use serde_json::{Value, json};

use crate::text::escaped;

/// A form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line a finding, for people.
    Text,
    /// One document.
    Json,
    /// A document a line.
    Jsonl,
    /// A list for a comment or a page.
    Markdown,
    /// Annotations of GitHub's workflows.
    Github,
}

impl Format {
    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "text" => Self::Text,
            "json" => Self::Json,
            "jsonl" => Self::Jsonl,
            "markdown" => Self::Markdown,
            "github" => Self::Github,
            _ => return None,
        })
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Sitemaps that were read.
    pub sitemaps: u64,
    /// Indexes that were read.
    pub indexes: u64,
    /// URLs that they list.
    pub urls: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Seconds that it took, to a tenth.
    pub seconds: f64,
}

impl Work {
    /// Adds what a target has.
    pub fn add(&mut self, totals: Totals) {
        self.sitemaps += totals.sitemaps;
        self.indexes += totals.indexes;
        self.urls += totals.urls;
    }
}

/// Findings of all targets, and what was done for them.
#[derive(Debug)]
pub struct Report {
    /// What was found.
    pub findings: Findings,
    /// What was done.
    pub work: Work,
}

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
    source: &'static str,
}

impl Report {
    /// How many findings there are of a severity, those that are not kept too.
    #[must_use]
    pub fn count(&self, severity: Severity) -> u64 {
        let policy = self.findings.policy();
        let rules = Rule::ALL.iter().copied();
        let of_severity = rules.filter(|rule| policy.level(*rule) == Some(severity));
        of_severity.map(|rule| self.findings.count(rule)).sum()
    }

    fn level(&self, rule: Rule) -> Severity {
        let level = self.findings.policy().level(rule);
        level.unwrap_or(rule.info().severity)
    }

    /// The report in this form. At most `most` findings of a rule are shown.
    #[must_use]
    pub fn written(&self, format: Format, most: u64) -> String {
        let mut shown = BTreeMap::new();
        let findings = self.findings.kept().iter().filter(|finding| {
            let shown: &mut u64 = shown.entry(finding.rule).or_default();
            *shown += 1;
            *shown <= most
        });
        let findings: Vec<&Finding> = findings.collect();
        match format {
            Format::Text => self.text(&findings, most),
            Format::Json => {
                let findings: Vec<_> = findings.iter().map(|finding| self.line(finding)).collect();
                let report = json!({
                    "findings": findings, "counts": self.counts(), "totals": self.totals(),
                });
                format!("{report:#}\n")
            }
            Format::Jsonl => {
                let lines = findings.iter().map(|finding| json!(self.line(finding)));
                let totals = json!({"counts": self.counts(), "totals": self.totals()});
                lines
                    .chain([totals])
                    .map(|line| format!("{line}\n"))
                    .collect()
            }
            Format::Markdown => self.markdown(&findings),
            Format::Github => findings
                .iter()
                .map(|finding| self.github(finding))
                .collect(),
        }
    }

    fn line<'a>(&self, finding: &'a Finding) -> Line<'a> {
        Line {
            rule: finding.rule.id(),
            severity: self.level(finding.rule).name(),
            file: &finding.file,
            line: finding.at.map(|at| at.line),
            column: finding.at.map(|at| at.column),
            message: &finding.message,
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
        for (name, severity) in [
            ("errors", Severity::Error),
            ("warnings", Severity::Warning),
            ("notes", Severity::Note),
        ] {
            totals[name] = json!(self.count(severity));
        }
        totals
    }

    fn place(finding: &Finding) -> String {
        match finding.at {
            Some(at) => format!("{}:{}:{}", finding.file, at.line, at.column),
            None => finding.file.to_string(),
        }
    }

    fn text(&self, findings: &[&Finding], most: u64) -> String {
        let mut text = String::new();
        let mut line = |line: String| {
            text.push_str(&escaped(&line));
            text.push('\n');
        };
        for finding in findings {
            let (place, level) = (Self::place(finding), self.level(finding.rule));
            line(format!(
                "{place}: {level} {}: {}",
                finding.rule, finding.message
            ));
        }
        for rule in Rule::ALL {
            let count = self.findings.count(*rule);
            let shown = count.min(most).min(MAX_KEPT);
            if count > shown {
                line(format!(
                    "{rule}: {count} findings, of which {shown} are shown"
                ));
            }
        }
        line(self.summary());
        text
    }

    /// `31 sitemaps, 28,114 URLs, 4 errors, 2 warnings, 1 note in 3.1 s (9 requests, 1.2 MB)`
    #[must_use]
    pub fn summary(&self) -> String {
        let work = &self.work;
        let many = |count: u64, one: &str| {
            let s = if count == 1 { "" } else { "s" };
            format!("{} {one}{s}", indicatif::HumanCount(count))
        };
        let mut text = many(work.sitemaps, "sitemap");
        let parts = [
            (work.urls, "URL"),
            (self.count(Severity::Error), "error"),
            (self.count(Severity::Warning), "warning"),
            (self.count(Severity::Note), "note"),
        ];
        for (count, one) in parts {
            // A string takes whatever is written to it.
            let _ = write!(text, ", {}", many(count, one));
        }
        let _ = write!(text, " in {:.1} s", work.seconds);
        if work.requests > 0 {
            let megabytes = work.bytes as f64 / 1e6;
            let _ = write!(
                text,
                " ({}, {megabytes:.1} MB)",
                many(work.requests, "request")
            );
        }
        text
    }

    fn markdown(&self, findings: &[&Finding]) -> String {
        let mut text = format!("{}\n", markdown(&self.summary()));
        for finding in findings {
            let info = finding.rule.info();
            let _ = write!(
                text,
                "\n- **{}** [{}]({}) {}: {}",
                self.level(finding.rule),
                finding.rule,
                info.source.link,
                markdown(&Self::place(finding)),
                markdown(&finding.message)
            );
        }
        text.push('\n');
        text
    }

    /// <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>
    fn github(&self, finding: &Finding) -> String {
        let command = match self.level(finding.rule) {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
        let at = finding.at.map_or(String::new(), |at| {
            format!(",line={},col={}", at.line, at.column)
        });
        format!(
            "::{command} file={}{at},title={}::{}\n",
            property(&finding.file),
            finding.rule,
            data(&finding.message)
        )
    }
}

/// The data of a workflow command.
fn data(text: &str) -> String {
    escaped(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Text of others in Markdown: what could be markup is escaped, and no address becomes a link.
pub(crate) fn markdown(text: &str) -> String {
    let mut safe = String::new();
    for character in escaped(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            ':' => safe.push_str("&#58;"),
            '@' => safe.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '!' | '|'
            | '~' | '>' => {
                safe.push('\\');
                safe.push(character);
            }
            character => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use check::finding::Position;
    use check::rules::Policy;

    use super::*;

    fn report() -> Report {
        let mut findings = Findings::new(Arc::new(Policy::default()));
        for (rule, line) in [(Rule::LocHost, 3), (Rule::LocHost, 4), (Rule::FileNear, 0)] {
            findings.add(rule, || Finding {
                rule,
                file: "https://www.example.com/a,b.xml".into(),
                at: (line > 0).then_some(Position { line, column: 7 }),
                message: "\"\u{1b}[2J<b>\n100%\" is\u{202e} @wrong".to_owned(),
                invalid: false,
            });
        }
        let work = Work {
            sitemaps: 1,
            urls: 28_114,
            requests: 9,
            bytes: 1_200_000,
            seconds: 3.12,
            ..Work::default()
        };
        Report { findings, work }
    }

    #[test]
    fn people_see_places_counts_and_no_control_characters() {
        assert_eq!(
            report().written(Format::Text, 1),
            "https://www.example.com/a,b.xml:3:7: error loc.host: \"\\u{1b}[2J<b>\\n100%\" is\\u{202e} @wrong\n\
             https://www.example.com/a,b.xml: note file.near: \"\\u{1b}[2J<b>\\n100%\" is\\u{202e} @wrong\n\
             loc.host: 2 findings, of which 1 are shown\n\
             1 sitemap, 28,114 URLs, 2 errors, 0 warnings, 1 note in 3.1 s (9 requests, 1.2 MB)\n"
        );
    }

    #[test]
    fn json_has_every_finding_and_the_totals() {
        let json: Value = serde_json::from_str(&report().written(Format::Json, 50)).unwrap();
        let finding = &json["findings"][0];
        assert_eq!(finding["rule"], "loc.host");
        assert_eq!(finding["severity"], "error");
        assert_eq!(
            (&finding["line"], &finding["column"]),
            (&json!(3), &json!(7))
        );
        assert_eq!(json["findings"][2].get("line"), None);
        assert_eq!(json["counts"], json!({"loc.host": 2, "file.near": 1}));
        assert_eq!(json["totals"]["errors"], 2);
        let lines = report().written(Format::Jsonl, 50);
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[3]["totals"]["urls"], 28_114);
    }

    #[test]
    fn foreign_text_is_no_markup_and_no_command() {
        let github = report().written(Format::Github, 1);
        assert_eq!(
            github.lines().next().unwrap(),
            "::error file=https%3A//www.example.com/a%2Cb.xml,line=3,col=7,title=loc.host::\
             \"\\u{1b}[2J<b>\\n100%25\" is\\u{202e} @wrong"
        );
        assert_eq!(github.lines().count(), 2);
        let markdown = report().written(Format::Markdown, 1);
        assert!(markdown.contains("&lt;b\\>"), "{markdown}");
        assert!(!markdown.contains("@wrong"), "{markdown}");
    }
}
