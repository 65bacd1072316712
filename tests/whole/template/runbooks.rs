//! Tests that each alarm has a runbook, and each runbook an alarm.

use std::collections::{BTreeMap, BTreeSet};

use super::{file, read};

/// The templates whose alarms wake somebody.
const TEMPLATES: [&str; 4] = [
    "template.yaml",
    "infra/cdn.yaml",
    "infra/monitoring.yaml",
    "infra/us-east-1.yaml",
];

/// What each runbook says, in this order.
const PARTS: [&str; 4] = ["**Meaning.** ", "**Look at.** ", "**Do.** ", "**Over.** "];

fn alarms() -> BTreeSet<String> {
    let mut alarms = BTreeSet::new();
    for template in TEMPLATES {
        for (name, resource) in read(template)["Resources"].as_mapping().unwrap() {
            if resource["Type"] == "AWS::CloudWatch::Alarm" {
                let name = name.as_str().unwrap();
                assert!(alarms.insert(name.to_owned()), "{name} is there twice");
                // The name that is mailed is the one that the runbook has.
                let mailed = resource["Properties"]["AlarmName"].as_str().unwrap();
                assert!(mailed.ends_with(&format!("}}-{name}")), "{mailed}");
            }
        }
    }
    alarms
}

/// Returns the sections of the page, by their headings. Each is a runbook.
fn runbooks(page: &str) -> BTreeMap<&str, &str> {
    let sections = page.split("\n## ").skip(1);
    sections
        .map(|section| section.split_once('\n').unwrap())
        .collect()
}

#[test]
fn each_alarm_has_a_runbook_and_each_runbook_an_alarm() {
    let page = file("docs/RUNBOOKS.md");
    let runbooks = runbooks(&page);
    let written: BTreeSet<String> = runbooks.keys().map(|&name| name.to_owned()).collect();
    assert_eq!(written, alarms());
    for (name, text) in &runbooks {
        let mut rest = *text;
        for part in PARTS {
            let (_, after) = rest
                .split_once(&format!("\n{part}"))
                .unwrap_or_else(|| panic!("{name} lacks {part}, or it is not in order"));
            let said = after.split("\n\n").next().unwrap();
            assert!(said.len() > 20, "{name}: {part}{said}");
            rest = after;
        }
    }
    // The page of operations leads to each of them.
    let guide = file("docs/OPERATIONS.md");
    for name in &written {
        let link = format!("](RUNBOOKS.md#{})", name.to_lowercase());
        assert!(guide.contains(&link), "docs/OPERATIONS.md lacks {link}");
    }
}
