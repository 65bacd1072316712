//! Annotations of a GitHub workflow: <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>.

use check::findings::Finding;
use check::rules::Severity;

use super::Report;
use crate::terminal::text::escaped;

impl Report {
    pub(super) fn github(&self, most: u64) -> String {
        let findings = self.shown(most).into_iter();
        findings.map(|finding| self.annotation(finding)).collect()
    }

    fn annotation(&self, finding: &Finding) -> String {
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

/// Escapes a text as the data of a workflow command.
fn data(text: &str) -> String {
    escaped(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
