//! Conditions and updates as DynamoDB's expressions.
//!
//! Every name and every value is a placeholder, because many names are reserved words.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use table::{Condition, Name, Query, SortKey, Update, Value};

use super::item::attribute_value;

/// The names and values in the expressions of one request.
#[derive(Debug, Default)]
pub(super) struct Expression {
    names: Vec<String>,
    values: Vec<AttributeValue>,
}

impl Expression {
    /// Returns the placeholders of the names. Returns `None` if there are none, as DynamoDB requires.
    pub(super) fn names(&self) -> Option<HashMap<String, String>> {
        let names = self.names.iter().enumerate();
        let names: HashMap<_, _> = names
            .map(|(at, name)| (format!("#{at}"), name.clone()))
            .collect();
        (!names.is_empty()).then_some(names)
    }

    /// Returns the placeholders of the values. Returns `None` if there are none.
    pub(super) fn values(&self) -> Option<HashMap<String, AttributeValue>> {
        let values = self.values.iter().enumerate();
        let values: HashMap<_, _> = values
            .map(|(at, value)| (format!(":{at}"), value.clone()))
            .collect();
        (!values.is_empty()).then_some(values)
    }

    fn name(&mut self, name: &str) -> String {
        let known = self.names.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        format!("#{at}")
    }

    fn value(&mut self, value: &Value) -> String {
        self.values.push(attribute_value(value.clone()));
        format!(":{}", self.values.len() - 1)
    }

    pub(super) fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Has(name) => format!("attribute_exists({})", self.name(name)),
            Condition::Lacks(name) => format!("attribute_not_exists({})", self.name(name)),
            Condition::Equals(name, value) => {
                format!("{} = {}", self.name(name), self.value(value))
            }
            Condition::Less(name, value) => format!("{} < {}", self.name(name), self.value(value)),
            Condition::And(one, other) => {
                format!("({} AND {})", self.condition(one), self.condition(other))
            }
            Condition::Or(one, other) => {
                format!("({} OR {})", self.condition(one), self.condition(other))
            }
        }
    }

    pub(super) fn update(&mut self, update: &Update) -> String {
        let set = update.set.iter();
        let mut set: Vec<String> = set
            .map(|(name, value)| format!("{} = {}", self.name(name), self.value(value)))
            .collect();
        for (name, value) in &update.set_missing {
            let (name, value) = (self.name(name), self.value(value));
            set.push(format!("{name} = if_not_exists({name}, {value})"));
        }
        let remove = update.remove.iter();
        let remove: Vec<String> = remove.map(|name| self.name(name)).collect();
        let add = update.add.iter();
        let add: Vec<String> = add
            .map(|(name, value)| format!("{} {}", self.name(name), self.value(value)))
            .collect();
        let clauses = [("SET", set), ("REMOVE", remove), ("ADD", add)];
        let clauses = clauses.into_iter().filter(|(_, parts)| !parts.is_empty());
        let clauses = clauses.map(|(verb, parts)| format!("{verb} {}", parts.join(", ")));
        clauses.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn projection(&mut self, names: &[Name]) -> String {
        let names: Vec<String> = names.iter().map(|name| self.name(name)).collect();
        names.join(", ")
    }

    pub(super) fn key_condition(&mut self, partition: &str, sort: &str, query: &Query) -> String {
        let partition = format!(
            "{} = {}",
            self.name(partition),
            self.value(&query.partition)
        );
        match &query.sort {
            SortKey::Any => partition,
            SortKey::BeginsWith(prefix) => {
                let (sort, prefix) = (self.name(sort), self.value(&prefix.as_str().into()));
                format!("{partition} AND begins_with({sort}, {prefix})")
            }
        }
    }
}
