//! JUnit's XML, as Jenkins and GitLab read it: a test case a rule. A rule fails as the command does, by `--fail-on`. Findings of a rule
//! that does not fail are its output.

use std::fmt::Write as _;

use check::findings::Finding;
use check::rules::Rule;
use sitemap::xml::is_xml_char;

use super::Report;
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
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites name=\"waymark check\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" time=\"{seconds:.1}\">\n\
             <testsuite name=\"waymark check\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"{seconds:.1}\">\n\
             <properties><property name=\"summary\" value=\"{summary}\"/></properties>\n"
        );
        for rule in &rules {
            let findings: Vec<_> = shown.iter().filter(|one| one.rule == *rule).collect();
            self.case(*rule, &findings, fails(&rule), &mut xml);
        }
        xml.push_str("</testsuite>\n</testsuites>\n");
        xml
    }

    fn case(&self, rule: Rule, findings: &[&&Finding], fails: bool, xml: &mut String) {
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
