//! CloudFormation's intrinsic functions, as far as the template's rules, conditions and outputs use them.

use std::collections::BTreeMap;

use serde_norway::Value;

/// The values of parameters and pseudo parameters.
pub(super) type Values<'v> = BTreeMap<&'v str, &'v str>;

/// A function and its operands.
fn function(value: &Value) -> Option<(String, &Value)> {
    match value {
        Value::Tagged(tagged) => Some((tagged.tag.to_string(), &tagged.value)),
        _ => None,
    }
}

fn operands(value: &Value) -> &[Value] {
    value.as_sequence().expect("operands")
}

/// Returns the texts of a list.
fn list(value: &Value, values: &Values<'_>) -> Vec<String> {
    match function(value) {
        Some((name, of)) if name == "!Split" => {
            let [by, what] = operands(of) else {
                panic!("{value:?}")
            };
            let (by, what) = (text(by, values), text(what, values));
            what.split(&by).map(str::to_owned).collect()
        }
        Some(other) => panic!("{other:?} is not a list"),
        None => operands(value)
            .iter()
            .map(|one| text(one, values))
            .collect(),
    }
}

/// Returns a text.
pub(super) fn text(value: &Value, values: &Values<'_>) -> String {
    let Some((name, of)) = function(value) else {
        return match value {
            Value::Number(number) => number.to_string(),
            value => value.as_str().expect("a text").to_owned(),
        };
    };
    match (name.as_str(), of) {
        ("!Ref", of) => {
            let name = of.as_str().expect("a name");
            let value = values.get(name);
            (*value.unwrap_or_else(|| panic!("{name} has no value"))).to_owned()
        }
        ("!Sub", of) => {
            let [pattern, names] = operands(of) else {
                panic!("{value:?}")
            };
            let mut text_of = text(pattern, values);
            for (name, value) in names.as_mapping().expect("names") {
                let name = format!("${{{}}}", name.as_str().expect("a name"));
                text_of = text_of.replace(&name, &text(value, values));
            }
            assert!(!text_of.contains("${"), "{text_of}");
            text_of
        }
        ("!Join", of) => {
            let [by, what] = operands(of) else {
                panic!("{value:?}")
            };
            list(what, values).join(&text(by, values))
        }
        ("!Select", of) => {
            let [at, what] = operands(of) else {
                panic!("{value:?}")
            };
            let at = usize::try_from(at.as_u64().expect("a number")).expect("an index");
            list(what, values).swap_remove(at)
        }
        other => panic!("a function that this does not know: {other:?}"),
    }
}

/// Returns whether a condition holds.
pub(super) fn holds(condition: &Value, values: &Values<'_>) -> bool {
    let (name, of) = function(condition).expect("a condition");
    match (name.as_str(), operands(of)) {
        ("!Equals", [one, other]) => text(one, values) == text(other, values),
        ("!Not", [one]) => !holds(one, values),
        ("!And", all) => all.iter().all(|one| holds(one, values)),
        ("!Or", all) => all.iter().any(|one| holds(one, values)),
        ("!Contains", [all, one]) => list(all, values).contains(&text(one, values)),
        other => panic!("a condition that this does not know: {other:?}"),
    }
}
