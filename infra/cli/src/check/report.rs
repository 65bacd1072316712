//! The report of a check for people, programs and pipelines. Each form has a module.
//!
//! All of it quotes others' text. Each form escapes it, so that it is neither markup nor a command where it is read.

use std::cmp::Reverse;
use std::fmt::Write as _;

use check::findings::{Finding, Findings};
use check::rules::{Rule, Severity};
use check::site::Totals;
use indicatif::HumanCount;
use serde::Serialize;

use crate::terminal::text::{Text, Tone, counted};
use left::Shown;

mod github;
mod json;
mod junit;
mod left;
pub(crate) mod markdown;
mod sarif;

/// A form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line a finding, for people.
    Text,
    /// One document.
    Json,
    /// A document a line.
    Jsonl,
    /// SARIF 2.1.0, for what shows findings beside the code.
    Sarif,
    /// JUnit's XML, for what shows tests.
    Junit,
    /// A list for a comment or a page.
    Markdown,
    /// Annotations of GitHub's workflows.
    Github,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Text,
        Self::Json,
        Self::Jsonl,
        Self::Sarif,
        Self::Junit,
        Self::Markdown,
        Self::Github,
    ];

    /// Returns its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Sarif => "sarif",
            Self::Junit => "junit",
            Self::Markdown => "markdown",
            Self::Github => "github",
        }
    }
}

/// Findings that need no summary by rule.
const AT_A_GLANCE: u64 = 10;
/// Lines for people about what is left out, and about what was not checked: a screen has room for both. Programs get
/// [`MAX_OMITTED`].
const FEW: usize = 20;
/// Pairs of a rule and a document of which a program is told what is left out. The rest is told by rule.
const MAX_OMITTED: usize = 1_000;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Sitemaps that were read.
    pub sitemaps: u64,
    /// Indexes that were read.
    pub indexes: u64,
    /// URLs that they list.
    pub urls: u64,
    /// Pages that were asked for.
    pub pages: u64,
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
    /// The least severity that makes the status 1; nothing if none does.
    pub fails_from: Option<Severity>,
    /// Hints, each once: options to add to the command.
    pub hints: Vec<String>,
}

impl Report {
    /// Counts the findings of a severity, including those that are not kept.
    #[must_use]
    pub fn count(&self, severity: Severity) -> u64 {
        let policy = self.findings.policy();
        let rules = Rule::ALL.iter().copied();
        let of_severity = rules.filter(|rule| policy.level(*rule) == Some(severity));
        of_severity.map(|rule| self.findings.count(rule)).sum()
    }

    /// Returns whether a finding is so bad that the command's status is 1.
    #[must_use]
    pub fn fails(&self) -> bool {
        let severities = [Severity::Note, Severity::Warning, Severity::Error];
        severities
            .into_iter()
            .any(|severity| self.is_failing(severity) && self.count(severity) > 0)
    }

    fn is_failing(&self, severity: Severity) -> bool {
        self.fails_from.is_some_and(|least| severity >= least)
    }

    fn level(&self, rule: Rule) -> Severity {
        let level = self.findings.policy().level(rule);
        level.unwrap_or(rule.info().severity)
    }

    /// Formats the report in this form. It shows at most `most` findings of a rule in a document.
    #[must_use]
    pub fn written(&self, format: Format, most: u64) -> String {
        match format {
            Format::Text => self.text(most).to_string(),
            Format::Json => self.json(most),
            Format::Jsonl => self.jsonl(most),
            Format::Sarif => self.sarif(most),
            Format::Junit => self.junit(most),
            Format::Markdown => self.markdown(most),
            Format::Github => self.github(most),
        }
    }

    /// Formats the report as lines for people.
    #[must_use]
    pub fn text(&self, most: u64) -> Text {
        let mut text = Text::default();
        let shown = self.shown(most);
        for finding in &shown.findings {
            let line = self.sentence(finding);
            match self.level(finding.rule) {
                Severity::Error => text.toned(Tone::Bad, line),
                Severity::Warning => text.toned(Tone::Notable, line),
                Severity::Note => text.line(line),
            }
        }
        for omitted in self.omitted(&shown, FEW) {
            text.line(omitted.to_string());
        }
        self.by_rule(&shown, &mut text);
        let (unchecked, more) = self.unchecked(FEW);
        if !unchecked.is_empty() {
            text.toned(Tone::Notable, "not checked:");
        }
        for part in unchecked {
            text.toned(Tone::Notable, format!("  {part}"));
        }
        if more > 0 {
            text.toned(Tone::Notable, format!("  and {} more", HumanCount(more)));
        }
        for hint in &self.hints {
            text.line(format!("hint: {hint}"));
        }
        text.line(self.summary());
        text
    }

    /// Adds how often each rule is broken, the worst first, and what for, unless all findings are seen at a glance.
    fn by_rule(&self, shown: &Shown<'_>, text: &mut Text) {
        let counts = Rule::ALL
            .iter()
            .map(|rule| (*rule, self.findings.count(*rule)));
        let mut broken: Vec<(Rule, u64)> = counts.filter(|(_, count)| *count > 0).collect();
        let total: u64 = broken.iter().map(|(_, count)| count).sum();
        let is_cut = broken
            .iter()
            .any(|(rule, count)| shown.of_rule(*rule) < *count);
        if !is_cut && (total <= AT_A_GLANCE || broken.len() == 1) {
            return;
        }
        broken.sort_by_key(|(rule, count)| Reverse((self.level(*rule), *count)));
        text.line("by rule, the worst first:");
        for (rule, count) in broken {
            let level = self.level(rule);
            let (found, why) = (counted(count, "finding"), rule.info().why);
            let seen = match shown.of_rule(rule) {
                shown if shown < count => format!(" ({} shown)", HumanCount(shown)),
                _ => String::new(),
            };
            let line = format!("  {level} {rule}: {found}{seen}: {why}");
            match level {
                Severity::Error => text.toned(Tone::Bad, line),
                Severity::Warning => text.toned(Tone::Notable, line),
                Severity::Note => text.line(line),
            }
        }
    }

    /// Formats a finding as a line: `a.xml:3:7: error loc.host: …`
    fn sentence(&self, finding: &Finding) -> String {
        let (place, level) = (place(finding), self.level(finding.rule));
        format!("{place}: {level} {}: {}", finding.rule, finding.message)
    }

    /// Summarizes the check: `31 sitemaps, 28,114 URLs, 4 errors, 2 warnings, 1 note in 3.1 s (9 requests, 1.2 MB)`
    #[must_use]
    pub fn summary(&self) -> String {
        let work = &self.work;
        let mut text = counted(work.sitemaps, "sitemap");
        let mut add = |count: u64, one: &str| {
            // A string takes whatever is written to it.
            let _ = write!(text, ", {}", counted(count, one));
        };
        add(work.urls, "URL");
        if work.pages > 0 {
            add(work.pages, "page");
        }
        add(self.count(Severity::Error), "error");
        add(self.count(Severity::Warning), "warning");
        add(self.count(Severity::Note), "note");
        if self.findings.known() > 0 {
            add(self.findings.known(), "known finding");
        }
        let _ = write!(text, " in {:.1} s", work.seconds);
        if work.requests > 0 {
            let megabytes = work.bytes as f64 / 1e6;
            let _ = write!(
                text,
                " ({}, {megabytes:.1} MB)",
                counted(work.requests, "request")
            );
        }
        text
    }
}

fn place(finding: &Finding) -> String {
    match finding.at {
        Some(at) => format!("{}:{}:{}", finding.file, at.line, at.column),
        None => finding.file.to_string(),
    }
}

#[cfg(test)]
mod tests;
