//! Checks that docs/SECURITY.md lists exactly the template's grants of each role, and names existing tests.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde_norway::Value;

const ROLES: [&str; 4] = ["IngestRole", "RegenerateRole", "HttpRole", "SweepRole"];

fn read(name: &str) -> String {
    let path = format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a file of the project")
}

/// Returns the text of a value, which may be the argument of a CloudFormation function.
fn text(value: &Value) -> String {
    let value = match value {
        Value::Tagged(tagged) => &tagged.value,
        value => value,
    };
    let text = value.as_str().expect("a text");
    // A table that the stack does not create is named in full.
    text.strip_prefix("arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/")
        .unwrap_or(text)
        .replace("${", "")
        .replace('}', "")
        .replace(".Arn", "")
}

fn texts(value: &Value) -> Vec<String> {
    match value.as_sequence() {
        Some(values) => values.iter().map(text).collect(),
        None => vec![text(value)],
    }
}

/// Collects the grants of a policy: actions by the resource, and by the keys to which they are restricted.
fn allowed(policy: &Value, by_resource: &mut BTreeMap<String, Vec<String>>) {
    for statement in policy["Statement"].as_sequence().expect("statements") {
        assert_eq!(statement["Effect"].as_str(), Some("Allow"));
        let keys = match &statement["Condition"] {
            Value::Null => String::new(),
            // The services that may assume the role.
            condition
                if texts(&statement["Action"])
                    .iter()
                    .all(|action| action.starts_with("kms:")) =>
            {
                let services = texts(&condition["StringEquals"]["kms:ViaService"]);
                let named = services.iter().map(|service| service.split('.').next());
                let named: Option<Vec<_>> = named.collect();
                format!(" by {}", named.expect("services").join(" "))
            }
            condition => {
                let (operator, operands) = condition
                    .as_mapping()
                    .and_then(|fields| fields.iter().next())
                    .expect("an operator");
                assert_eq!(
                    operator.as_str(),
                    Some("ForAllValues:StringLike"),
                    "an operator this test does not know"
                );
                format!(" {}", texts(&operands["dynamodb:LeadingKeys"]).join(" "))
            }
        };
        for resource in texts(&statement["Resource"]) {
            let actions = by_resource.entry(format!("{resource}{keys}")).or_default();
            actions.extend(texts(&statement["Action"]));
            actions.sort();
            actions.dedup();
        }
    }
}

#[test]
fn security_md_lists_what_each_role_may_do() {
    let template: Value = serde_norway::from_str(&read("template.yaml")).expect("YAML");
    let resources = &template["Resources"];
    let roles = resources
        .as_mapping()
        .expect("resources")
        .iter()
        .filter(|(_, resource)| resource["Type"] == "AWS::IAM::Role");
    assert_eq!(
        roles
            .map(|(name, _)| name.as_str().expect("a name"))
            .collect::<Vec<_>>(),
        ROLES
    );
    let mut listed = String::new();
    for role in ROLES {
        let properties = &resources[role]["Properties"];
        let mut by_resource = BTreeMap::new();
        for policy in properties["ManagedPolicyArns"]
            .as_sequence()
            .into_iter()
            .flatten()
        {
            // A policy may depend on a parameter.
            let policy = match policy {
                Value::Tagged(tagged) if tagged.tag == "!If" => &tagged.value[1],
                policy => policy,
            };
            allowed(
                &resources[text(policy).as_str()]["Properties"]["PolicyDocument"],
                &mut by_resource,
            );
        }
        for policy in properties["Policies"].as_sequence().expect("policies") {
            allowed(&policy["PolicyDocument"], &mut by_resource);
        }
        // Policies of their own name their roles.
        for resource in resources.as_mapping().expect("resources").values() {
            let policy = &resource["Properties"];
            let mut attached = policy["Roles"].as_sequence().into_iter().flatten();
            if attached.any(|attached| text(attached) == role) {
                allowed(&policy["PolicyDocument"], &mut by_resource);
            }
        }
        writeln!(listed, "{role}").expect("a text");
        for (resource, actions) in by_resource {
            writeln!(listed, "  {resource}\n      {}", actions.join(" ")).expect("a text");
        }
    }
    let said = read("docs/SECURITY.md");
    assert!(
        said.contains(&format!("```text\n{listed}```\n")),
        "docs/SECURITY.md should list:\n{listed}"
    );
}

/// Collects all code below a folder.
fn code(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            code(&path, text);
        } else if path
            .extension()
            .is_some_and(|name| name == "rs" || name == "py")
        {
            text.push_str(&std::fs::read_to_string(&path).expect("a file"));
        }
    }
}

#[test]
fn every_test_that_security_md_names_is_there() {
    let mut text = String::new();
    for folder in ["functions", "infra", "shared", "tests"] {
        code(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../..")
                .join(folder),
            &mut text,
        );
    }
    let said = read("docs/SECURITY.md");
    let is_test = |name: &&str| {
        name.contains('_')
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let named: Vec<&str> = said.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(named.len() > 10);
    for name in named {
        assert!(
            text.contains(&format!("fn {name}(")) || text.contains(&format!("def {name}(")),
            "there is no test {name}"
        );
    }
}
