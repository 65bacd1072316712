//! Annotations of a GitHub workflow: <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>.

use std::fmt::Write as _;

use check::findings::{Finding, Unchecked};
use check::rules::Severity;

use super::{FEW, Report};
use crate::terminal::text::escaped;

impl Report {
    pub(super) fn github(&self, most: u64) -> String {
        let shown = self.shown(most);
        let findings = shown.findings.iter();
        let mut text: String = findings.map(|finding| self.annotation(finding)).collect();
        for part in self.unchecked(FEW).0 {
            let place = match part {
                Unchecked::Broken(broken) => {
                    let (line, column) = (broken.at.line, broken.at.column);
                    format!("{},line={line},col={column}", property(&broken.file))
                }
                Unchecked::Limited(limited) => property(&limited.place),
            };
            let message = data(&part.to_string());
            // A string takes whatever is written to it.
            let _ = writeln!(text, "::warning file={place},title=not checked::{message}");
        }
        for hint in &self.hints {
            let _ = writeln!(text, "::notice title=hint::{}", data(hint));
        }
        text
    }

    fn annotation(&self, finding: &Finding) -> String {
        let command = match self.level(finding.rule) {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
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

/// Escapes a text as a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Escapes a text as the data of a workflow command.
fn data(text: &str) -> String {
    escaped(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
