//! JUnit's XML, as Jenkins and GitLab read it: a test case a rule. A rule fails as the command does, by `--fail-on`. Findings of a rule
//! that does not fail are its output.

use std::fmt::Write as _;

use check::findings::Finding;
use check::rules::Rule;
use sitemap::xml::is_xml_char;

use super::{FEW, Report};
use crate::terminal::text::line_escaped;

impl Report {
    pub(super) fn junit(&self, most: u64) -> String {
        let policy = self.findings.policy();
        let rules = Rule::ALL.iter().copied();
        let rules: Vec<Rule> = rules.filter(|rule| policy.level(*rule).is_some()).collect();
        let fails =
            |rule: &&Rule| self.is_failing(self.level(**rule)) && self.findings.count(**rule) > 0;
        let (tests, failures) = (rules.len(), rules.iter().filter(fails).count());
        let (summary, seconds) = (text(&self.summary()), self.work.seconds);
        let shown = self.shown(most);
        let omitted = self.omitted(&shown, FEW);
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites name=\"waymark check\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" time=\"{seconds:.1}\">\n\
             <testsuite name=\"waymark check\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"{seconds:.1}\">\n\
             <properties><property name=\"summary\" value=\"{summary}\"/></properties>\n"
        );
        for rule in &rules {
            let findings = shown.findings.iter();
            let findings: Vec<_> = findings.filter(|one| one.rule == *rule).collect();
            let left = omitted.iter().filter(|one| one.rule == *rule);
            let left: Vec<_> = left.map(ToString::to_string).collect();
            self.case(*rule, &findings, &left, fails(&rule), &mut xml);
        }
        let (unchecked, more) = self.unchecked(FEW);
        let parts = unchecked.iter().map(|part| format!("not checked: {part}"));
        let more = (more > 0).then(|| format!("not checked: {more} more"));
        let hints = self.hints.iter().map(|hint| format!("hint: {hint}"));
        let told: Vec<_> = parts.chain(more).chain(hints).collect();
        if !told.is_empty() {
            xml.push_str("<system-out>\n");
            for line in &told {
                // A string takes whatever is written to it.
                let _ = writeln!(xml, "{}", text(line));
            }
            xml.push_str("</system-out>\n");
        }
        xml.push_str("</testsuite>\n</testsuites>\n");
        xml
    }

    /// Adds the test case of a rule. `left` says where it has findings that are not shown.
    fn case(
        &self,
        rule: Rule,
        findings: &[&&Finding],
        left: &[String],
        fails: bool,
        xml: &mut String,
    ) {
        let count = self.findings.count(rule);
        let group = rule.id().split('.').next().unwrap_or_default();
        // A string takes whatever is written to it.
        let _ = write!(
            xml,
            "<testcase classname=\"{group}\" name=\"{rule}: {}\"",
            text(rule.info().what)
        );
        if count == 0 {
            xml.push_str("/>\n");
            return;
        }
        let mut lines = String::new();
        for finding in findings {
            let _ = writeln!(lines, "{}", text(&self.sentence(finding)));
        }
        if count > findings.len() as u64 {
            let _ = writeln!(
                lines,
                "{count} findings, of which {} are shown",
                findings.len()
            );
        }
        for line in left {
            let _ = writeln!(lines, "{}", text(line));
        }
        let remedy = text(rule.info().remedy);
        let level = self.level(rule);
        let _ = if fails {
            writeln!(
                xml,
                "><failure type=\"{level}\" message=\"{count} findings. {remedy}\">\n{lines}</failure></testcase>"
            )
        } else {
            writeln!(xml, "><system-out>\n{lines}</system-out></testcase>")
        };
    }
}

/// Escapes foreign text for XML.
fn text(text: &str) -> String {
    let mut safe = String::new();
    for character in line_escaped(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            character if is_xml_char(character) => safe.push(character),
            character => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(character));
            }
        }
    }
    safe
}
