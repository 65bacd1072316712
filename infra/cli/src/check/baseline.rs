//! A baseline: the findings that are there already, in a file, so that only new ones count.
//!
//! `{"version": 1, "findings": [{"rule", "file", "message", "count"}]}`, in order, so that two versions of it can be compared.
//! A finding is known by its rule, its document and its message without numbers and times; lines do not matter.

use std::collections::BTreeMap;

use check::findings::Findings;
use check::findings::suppressions::{Key, Known, steady};
use check::rules::Rule;
use serde::{Deserialize, Serialize};

use crate::terminal::text::json_escaped;

/// The version of the file's form.
const VERSION: u32 = 1;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Baseline {
    version: u32,
    findings: Vec<Entry>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    rule: String,
    file: String,
    message: String,
    count: u32,
}

/// Adds the findings of a baseline to what is known.
///
/// # Errors
///
/// Why the text is not a baseline.
pub fn read(text: &str, known: &mut Known) -> Result<(), String> {
    let baseline: Baseline = serde_json::from_str(text)
        .map_err(|error| format!("is not a baseline: {error}: write it with --write-baseline"))?;
    if baseline.version != VERSION {
        return Err(format!(
            "is a baseline of version {}, and this command reads version {VERSION}: write it again with --write-baseline",
            baseline.version
        ));
    }
    for Entry {
        rule,
        file,
        message,
        count,
    } in &baseline.findings
    {
        known.add(
            &Key {
                rule,
                file,
                message,
            },
            *count,
        );
    }
    Ok(())
}

/// Writes the baseline of these findings.
///
/// # Errors
///
/// If a rule has more findings than are kept: the rest would be new the next time.
pub fn written(findings: &Findings) -> Result<String, String> {
    let mut counts: BTreeMap<(Rule, String, String), u32> = BTreeMap::new();
    let mut kept = vec![0_u64; Rule::ALL.len()];
    for finding in findings.kept() {
        kept[finding.rule as usize] += 1;
        let message = steady(&finding.message);
        *counts
            .entry((finding.rule, finding.file.to_string(), message))
            .or_default() += 1;
    }
    for rule in Rule::ALL {
        let (count, kept) = (findings.count(*rule), kept[*rule as usize]);
        if count > kept {
            return Err(format!(
                "cannot write a baseline: {rule} has {count} findings, and a baseline has room for {kept} per rule: \
                 fix some, or turn the rule off with --rule {rule}=off"
            ));
        }
    }
    let entry = |((rule, file, message), count): ((Rule, String, String), u32)| Entry {
        rule: rule.id().to_owned(),
        file,
        message,
        count,
    };
    let baseline = Baseline {
        version: VERSION,
        findings: counts.into_iter().map(entry).collect(),
    };
    let text = serde_json::to_string_pretty(&baseline).map_err(|error| error.to_string())?;
    Ok(format!("{}\n", json_escaped(&text)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use check::findings::{Finding, Policy};

    use super::*;

    fn found(findings: &mut Findings, file: &str, message: &str) {
        findings.add(Rule::LocHost, || Finding {
            rule: Rule::LocHost,
            file: file.into(),
            at: None,
            message: message.to_owned(),
            invalid: false,
        });
    }

    #[test]
    fn what_a_baseline_has_is_known_and_what_is_new_is_found() {
        let mut findings = Findings::new(Arc::new(Policy::default()));
        found(&mut findings, "a.xml", "\"\u{1b}x\" 1 of 2");
        found(&mut findings, "a.xml", "\"\u{1b}x\" 2 of 2");
        let text = written(&findings).unwrap();
        assert!(text.contains("\"count\": 2") && !text.contains('\u{1b}'));
        let mut known = Known::default();
        read(&text, &mut known).unwrap();
        let mut policy = Policy::default();
        policy.set_known(known);
        let mut findings = Findings::new(Arc::new(policy));
        for _ in 0..3 {
            found(&mut findings, "a.xml", "\"\u{1b}x\" 7 of 9");
        }
        found(&mut findings, "b.xml", "\"\u{1b}x\" 7 of 9");
        assert_eq!((findings.known(), findings.count(Rule::LocHost)), (2, 2));
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        let mut known = Known::default();
        assert!(read("[]", &mut known).is_err());
        assert!(read("{\"version\": 2, \"findings\": []}", &mut known).is_err());
        assert!(read("{\"version\": 1, \"findings\": []}", &mut known).is_ok());
        let mut findings = Findings::new(Arc::new(Policy::default()));
        for _ in 0..=check::findings::MAX_KEPT {
            found(&mut findings, "a.xml", "x");
        }
        assert!(written(&findings).unwrap_err().contains("loc.host"));
    }
}
