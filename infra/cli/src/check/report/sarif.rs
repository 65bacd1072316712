//! SARIF 2.1.0: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use check::findings::suppressions::{Key, steady};
use check::findings::{Finding, Unchecked};
use check::rules::{Rule, Severity};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use super::Report;
use crate::terminal::text::{escaped, json_escaped};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// What no URI has (RFC 3986, 2). A percent sign stays: addresses are encoded already.
const NOT_IN_URIS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A segment with a colon would be read as a scheme, and # or ? would end the path (RFC 3986, 4.2).
const NOT_IN_PATHS: &AsciiSet = &NOT_IN_URIS.add(b'#').add(b'?').add(b':');

impl Report {
    pub(super) fn sarif(&self, most: u64) -> String {
        let policy = self.findings.policy();
        let rules: Vec<Rule> = Rule::ALL
            .iter()
            .copied()
            .filter(|rule| policy.level(*rule).is_some())
            .collect();
        let shown = self.shown(most);
        let results = shown.findings.iter();
        let results: Vec<Value> = results
            .map(|finding| self.result(finding, &rules))
            .collect();
        let note = |text: &str| json!({"level": "note", "message": {"text": message(text)}});
        let cut = self.cut(&shown).map(|(rule, count, shown)| {
            note(&format!(
                "{rule}: {count} findings, of which {shown} are in this file"
            ))
        });
        let (unchecked, more) = self.all_unchecked();
        let more = (more > 0).then(|| note(&format!("{more} more parts were not checked")));
        let told: Vec<Value> = cut
            .chain(unchecked.iter().map(|part| not_checked(part)))
            .chain(more)
            .chain(self.hints.iter().map(|hint| note(hint)))
            .collect();
        let log = json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": "waymark check",
                    "version": env!("CARGO_PKG_VERSION"),
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules.iter().map(|rule| self.rule(*rule)).collect::<Vec<_>>(),
                }},
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": true, "toolExecutionNotifications": told}],
                "results": results,
            }],
        });
        json_escaped(&format!("{log:#}\n")).into_owned()
    }

    fn rule(&self, rule: Rule) -> Value {
        let info = rule.info();
        json!({
            "id": info.id,
            "shortDescription": {"text": info.what},
            "fullDescription": {"text": info.why},
            "help": {"text": info.remedy},
            "helpUri": info.source.link,
            "defaultConfiguration": {"level": level(self.level(rule))},
        })
    }

    fn result(&self, finding: &Finding, rules: &[Rule]) -> Value {
        let mut place = json!({"artifactLocation": {"uri": uri(&finding.file)}});
        if let Some(at) = finding.at {
            place["region"] = json!({"startLine": at.line, "startColumn": at.column});
        }
        let key = Key {
            rule: finding.rule.id(),
            file: &finding.file,
            message: &steady(&finding.message),
        };
        let index = rules.iter().position(|rule| *rule == finding.rule);
        json!({
            "ruleId": finding.rule.id(),
            "ruleIndex": index,
            "level": level(self.level(finding.rule)),
            "message": {"text": message(&finding.message)},
            "locations": [{"physicalLocation": place}],
            "partialFingerprints": {"waymark/v1": format!("{:016x}", key.digest())},
        })
    }
}

/// Returns the notification for a part that was not checked.
fn not_checked(part: &Unchecked) -> Value {
    let place = match part {
        Unchecked::Broken(broken) => json!({
            "artifactLocation": {"uri": uri(&broken.file)},
            "region": {"startLine": broken.at.line, "startColumn": broken.at.column},
        }),
        Unchecked::Limited(limited) => json!({"artifactLocation": {"uri": uri(&limited.place)}}),
    };
    json!({
        "level": "warning",
        "message": {"text": message(&part.to_string())},
        "locations": [{"physicalLocation": place}],
    })
}

fn level(severity: Severity) -> &'static str {
    severity.name()
}

/// Encodes a file's address as a URI. The percent signs of a path are encoded; those of a URL are not.
fn uri(file: &str) -> String {
    let is_url = file.starts_with("http://") || file.starts_with("https://");
    let encoded = utf8_percent_encode(file, NOT_IN_URIS).to_string();
    if is_url {
        return encoded;
    }
    let path = file.replace('%', "%25");
    utf8_percent_encode(&path, NOT_IN_PATHS).to_string()
}

/// Escapes a text so that it has neither placeholders (3.11.5: braces are doubled) nor links (3.11.6).
fn message(text: &str) -> String {
    let mut text = escaped(text).replace('{', "{{").replace('}', "}}");
    if text.contains("](") {
        text = text
            .replace('\\', "\\\\")
            .replace('[', "\\[")
            .replace(']', "\\]");
    }
    text
}
