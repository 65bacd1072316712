//! The grants of a template, and their comparison with the required ones.

use std::collections::BTreeSet;
use std::fmt;

use serde_norway::Value;

/// An action on a resource, by its logical id (`SitemapTable`, `SitemapBucket/published/*`). It may be restricted to a pattern of
/// leading keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grant {
    action: String,
    on: String,
    keys: Option<String>,
}

impl Grant {
    pub(super) fn new(action: &str, on: &str, keys: Option<&str>) -> Self {
        Self {
            action: action.to_owned(),
            on: on.to_owned(),
            keys: keys.map(str::to_owned),
        }
    }

    fn allows(&self, asked: &Asked) -> bool {
        let items = match (&self.keys, &asked.key) {
            (None, _) => true,
            (Some(pattern), Some(key)) => matches(pattern, key),
            // A request without leading keys fulfils `ForAllValues`, so a scan would be granted all items.
            (Some(_), None) => false,
        };
        self.action == asked.action && matches(&self.on, &asked.on) && items
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, on, keys } = self;
        write!(
            f,
            "{action} on {on} {}",
            keys.as_deref().unwrap_or_default()
        )
    }
}

/// A request to IAM.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    action: String,
    on: String,
    key: Option<String>,
}

impl Asked {
    pub(super) fn new(action: &str, on: &str, key: Option<&str>) -> Self {
        Self {
            action: action.to_owned(),
            on: on.to_owned(),
            key: key.map(str::to_owned),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, on, key } = self;
        write!(f, "{action} on {on} {}", key.as_deref().unwrap_or_default())
    }
}

/// Returns whether a text matches a pattern, which may end in `*`. The text may be a pattern itself: an equal or a narrower one.
fn matches(pattern: &str, text: &str) -> bool {
    let (prefix, any) = match pattern.strip_suffix('*') {
        Some(prefix) => (prefix, true),
        None => (pattern, false),
    };
    assert!(
        !prefix.contains(['*', '?']),
        "{pattern}: a pattern that this test does not know"
    );
    text == pattern || any && text.starts_with(prefix)
}

/// Returns the requests that are not granted.
pub(super) fn missing<'a>(grants: &[Grant], asked: &'a BTreeSet<Asked>) -> Vec<&'a Asked> {
    let is_missing = |asked: &&Asked| !grants.iter().any(|grant| grant.allows(asked));
    asked.iter().filter(is_missing).collect()
}

/// Returns the grants that no request needs.
pub(super) fn superfluous<'a>(grants: &'a [Grant], asked: &BTreeSet<Asked>) -> Vec<&'a Grant> {
    let allowing = |asked: &Asked| -> Vec<usize> {
        let grants = grants.iter().enumerate();
        let grants = grants.filter(|(_, grant)| grant.allows(asked));
        grants.map(|(at, _)| at).collect()
    };
    let mut needed = BTreeSet::new();
    for asked in asked {
        if let [only] = allowing(asked)[..] {
            needed.insert(only);
        }
    }
    let grants = grants.iter().enumerate();
    let superfluous = grants.filter(|(at, _)| !needed.contains(at));
    superfluous.map(|(_, grant)| grant).collect()
}

/// Returns all grants of a role.
///
/// # Panics
///
/// If a statement has an unknown form.
pub(super) fn granted(template: &Value, name: &str) -> Vec<Grant> {
    statements(template, name).concat()
}

/// Returns whether one of these statements allows an action with all of these leading keys.
pub(super) fn is_in_one_statement(
    statements: &[Vec<Grant>],
    action: &str,
    on: &str,
    keys: &BTreeSet<String>,
) -> bool {
    let asked = |key: &String| Asked::new(action, on, Some(key));
    let holds = |statement: &Vec<Grant>, key: &String| {
        statement.iter().any(|grant| grant.allows(&asked(key)))
    };
    let mut statements = statements.iter();
    statements.any(|statement| keys.iter().all(|key| holds(statement, key)))
}

/// Returns the grants of a role, by statement.
///
/// # Panics
///
/// If a statement has an unknown form.
pub(super) fn statements(template: &Value, name: &str) -> Vec<Vec<Grant>> {
    let resources = &template["Resources"];
    let role = &resources[name]["Properties"];
    let managed = role["ManagedPolicyArns"]
        .as_sequence()
        .into_iter()
        .flatten();
    let managed = managed.map(|policy| &resources[text(attached(policy)).as_str()]["Properties"]);
    let own = role["Policies"].as_sequence().into_iter().flatten();
    // Policies of their own name their roles.
    let others = resources.as_mapping().expect("resources").values();
    let attached = others
        .map(|resource| &resource["Properties"])
        .filter(|policy| {
            let roles = policy["Roles"].as_sequence().into_iter().flatten();
            roles.map(text).any(|attached| attached == name)
        });
    let mut all = Vec::new();
    for policy in managed.chain(own).chain(attached) {
        let statements = policy["PolicyDocument"]["Statement"].as_sequence();
        for statement in statements.expect("statements") {
            let mut grants = Vec::new();
            add(statement, &mut grants);
            all.push(grants);
        }
    }
    assert!(!all.is_empty(), "a role that may do nothing");
    all
}

/// Returns a role's policy, without the condition that may be around it.
fn attached(policy: &Value) -> &Value {
    match policy {
        Value::Tagged(tagged) if tagged.tag == "!If" => {
            let [_, there, otherwise] = tagged.value.as_sequence().expect("operands").as_slice()
            else {
                panic!("{policy:?}: a condition, what is there if it holds, and what is if not");
            };
            assert_eq!(text(otherwise), "AWS::NoValue");
            there
        }
        policy => policy,
    }
}

/// Returns whether a condition allows a key only through tables or buckets.
fn is_through_a_service(condition: &Value) -> bool {
    let services = texts(&condition["StringEquals"]["kms:ViaService"]);
    let known = [
        "dynamodb.AWS::Region.amazonaws.com",
        "s3.AWS::Region.amazonaws.com",
    ];
    services
        .iter()
        .all(|service| known.contains(&service.as_str()))
}

fn add(statement: &Value, grants: &mut Vec<Grant>) {
    assert_eq!(statement["Effect"].as_str(), Some("Allow"));
    let keys = match &statement["Condition"] {
        Value::Null => vec![None],
        condition
            if texts(&statement["Action"])
                .iter()
                .all(|action| action.starts_with("kms:")) =>
        {
            assert!(is_through_a_service(condition), "{condition:?}");
            vec![None]
        }
        condition => {
            let operators = condition.as_mapping().expect("operators");
            let operands = &condition["ForAllValues:StringLike"];
            let names = operands.as_mapping().map_or(0, |names| names.len());
            assert!(
                operators.len() == 1 && names == 1,
                "a condition that this test does not know: {condition:?}"
            );
            let keys = texts(&operands["dynamodb:LeadingKeys"]);
            keys.into_iter().map(Some).collect()
        }
    };
    for action in texts(&statement["Action"]) {
        for on in texts(&statement["Resource"]) {
            for keys in &keys {
                grants.push(Grant::new(&action, &on, keys.as_deref()));
            }
        }
    }
}

/// Returns the texts of a value that is one text or several.
fn texts(value: &Value) -> Vec<String> {
    match value.as_sequence() {
        Some(values) => values.iter().map(text).collect(),
        None => vec![text(value)],
    }
}

/// Returns a text, with logical ids for the resources in it.
fn text(value: &Value) -> String {
    let value = match value {
        Value::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            let known = ["!GetAtt", "!Ref", "!Sub"].contains(&tag.as_str());
            assert!(known, "{tag}: a function that this test does not know");
            &tagged.value
        }
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

#[test]
fn a_missing_and_a_superfluous_grant_are_found() {
    let grant = Grant::new;
    let asked: BTreeSet<Asked> = [
        Asked::new("dynamodb:GetItem", "SitemapTable", Some("SITE#")),
        Asked::new("dynamodb:PutItem", "SitemapTable", Some("LOC#")),
        Asked::new("dynamodb:PutItem", "SitemapTable", Some("TERM#")),
        Asked::new("dynamodb:Scan", "SitemapTable", None),
        Asked::new("s3:GetObject", "SitemapBucket/published/", None),
    ]
    .into();
    let grants = [
        grant("dynamodb:GetItem", "SitemapTable", None),
        grant("dynamodb:PutItem", "SitemapTable", Some("LOC#*")),
        grant("dynamodb:PutItem", "SitemapTable", Some("TERM#*")),
        grant("dynamodb:Scan", "SitemapTable", None),
        grant("s3:GetObject", "SitemapBucket/published/*", None),
    ];
    assert!(missing(&grants, &asked).is_empty() && superfluous(&grants, &asked).is_empty());
    let lacks = |grants: &[Grant]| {
        let missing = missing(grants, &asked).into_iter();
        missing.map(Asked::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        lacks(&grants[1..]),
        ["dynamodb:GetItem on SitemapTable SITE#"]
    );
    let mut narrow = grants.clone();
    narrow[2] = grant("dynamodb:PutItem", "SitemapTable", Some("TERMS#*"));
    narrow[3] = grant("dynamodb:Scan", "SitemapTable", Some("LEDGER#*"));
    narrow[4] = grant("s3:GetObject", "SitemapBucket", None);
    assert_eq!(lacks(&narrow).len(), 3, "{:?}", lacks(&narrow));
    for more in [
        grant("dynamodb:PutItem", "SitemapTable", Some("SITE#*")),
        grant("dynamodb:DeleteItem", "SitemapTable", Some("LOC#*")),
        grant("dynamodb:PutItem", "ContentTable", None),
        grant("s3:PutObject", "SitemapBucket/published/*", None),
    ] {
        let with_more = [grants.to_vec(), vec![more.clone()]].concat();
        assert_eq!(superfluous(&with_more, &asked), [&more]);
    }
    // Of two equal grants, one is superfluous.
    let twice = [grants.to_vec(), vec![grants[0].clone()]].concat();
    assert_eq!(superfluous(&twice, &asked), [&grants[0], &grants[0]]);
}

#[test]
fn keys_of_two_statements_are_not_in_one() {
    let put = |keys: &str| Grant::new("dynamodb:PutItem", "SitemapTable", Some(keys));
    let statements = [vec![put("LOC#*"), put("TERM#*")], vec![put("JOB#*")]];
    let holds = |action: &str, keys: &[&str]| {
        let keys = keys.iter().map(|&key| key.to_owned()).collect();
        is_in_one_statement(&statements, action, "SitemapTable", &keys)
    };
    assert!(holds("dynamodb:PutItem", &["LOC#", "TERM#"]));
    assert!(holds("dynamodb:PutItem", &["JOB#"]));
    assert!(!holds("dynamodb:PutItem", &["JOB#", "LOC#"]));
    assert!(!holds("dynamodb:DeleteItem", &["LOC#", "TERM#"]));
}
