//! Writes and their conditions, as data.

use crate::item::{Item, Name, Value};

/// The condition of a write, which its item must meet. An item that does not exist lacks every attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// It has the attribute. For an attribute of the primary key: it exists.
    Has(Name),
    /// It lacks the attribute. For an attribute of the primary key: it does not exist.
    Lacks(Name),
    /// The attribute has this value.
    Equals(Name, Value),
    /// The attribute has a lower value of the same type.
    Less(Name, Value),
    /// Both conditions hold.
    And(Box<Condition>, Box<Condition>),
    /// At least one of the conditions holds.
    Or(Box<Condition>, Box<Condition>),
}

impl Condition {
    /// Returns [`Condition::Has`] for this attribute.
    #[must_use]
    pub fn has(name: impl Into<Name>) -> Self {
        Self::Has(name.into())
    }

    /// Returns [`Condition::Lacks`] for this attribute.
    #[must_use]
    pub fn lacks(name: impl Into<Name>) -> Self {
        Self::Lacks(name.into())
    }

    /// Returns [`Condition::Equals`] for this attribute and this value.
    #[must_use]
    pub fn equals(name: impl Into<Name>, value: impl Into<Value>) -> Self {
        Self::Equals(name.into(), value.into())
    }

    /// Returns [`Condition::Less`] for this attribute and this value.
    #[must_use]
    pub fn less(name: impl Into<Name>, value: impl Into<Value>) -> Self {
        Self::Less(name.into(), value.into())
    }

    /// Returns [`Condition::And`] of both conditions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::And(Box::new(self), Box::new(other))
    }

    /// Returns [`Condition::Or`] of both conditions.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::Or(Box::new(self), Box::new(other))
    }
}

/// Changes of an item's attributes. Each attribute may be named once, and those of the primary key not at all. An item that does
/// not exist is created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Update {
    /// Attributes that get a value.
    pub set: Vec<(Name, Value)>,
    /// Attributes that get a value if they have none.
    pub set_missing: Vec<(Name, Value)>,
    /// Attributes that are removed.
    pub remove: Vec<Name>,
    /// Numbers that are added to attributes, which are 0 if they have no value.
    pub add: Vec<(Name, Value)>,
    /// Whether the request is sent at most once. A client retries most calls that had no answer, and an abandoned try may arrive
    /// after others have written. Has no effect in a transaction, which has a token of its own.
    pub once: bool,
}

impl Update {
    /// Returns an update that changes nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives an attribute a value.
    #[must_use]
    pub fn set(mut self, name: impl Into<Name>, value: impl Into<Value>) -> Self {
        self.set.push((name.into(), value.into()));
        self
    }

    /// Gives an attribute a value, or removes it.
    #[must_use]
    pub fn set_or_remove(self, name: impl Into<Name>, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self.remove(name),
        }
    }

    /// Gives an attribute a value if it has none.
    #[must_use]
    pub fn set_missing(mut self, name: impl Into<Name>, value: impl Into<Value>) -> Self {
        self.set_missing.push((name.into(), value.into()));
        self
    }

    /// Removes an attribute.
    #[must_use]
    pub fn remove(mut self, name: impl Into<Name>) -> Self {
        self.remove.push(name.into());
        self
    }

    /// Adds a number to an attribute.
    #[must_use]
    pub fn add(mut self, name: impl Into<Name>, number: impl ToString) -> Self {
        self.add.push((name.into(), Value::number(number)));
        self
    }

    /// Sends the request at most once. If the request fails, it may still arrive later.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.once = true;
        self
    }
}

/// An action of a transaction. A transaction may name each item once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Writes an item, and replaces an existing one.
    Put {
        /// The item.
        item: Item,
        /// The condition, which the existing item must meet.
        condition: Option<Condition>,
    },
    /// Changes attributes of an item.
    Update {
        /// The primary key.
        key: Item,
        /// The changes.
        update: Update,
        /// The condition, which the existing item must meet.
        condition: Option<Condition>,
    },
    /// Deletes an item, if it exists.
    Delete {
        /// The primary key.
        key: Item,
        /// The condition, which the existing item must meet.
        condition: Option<Condition>,
    },
    /// Writes nothing.
    Check {
        /// The primary key.
        key: Item,
        /// The condition, which the existing item must meet.
        condition: Condition,
    },
}

impl Action {
    /// Writes an item unconditionally.
    #[must_use]
    pub fn put(item: Item) -> Self {
        let condition = None;
        Self::Put { item, condition }
    }

    /// Changes attributes unconditionally.
    #[must_use]
    pub fn update(key: impl Into<Item>, update: Update) -> Self {
        let (key, condition) = (key.into(), None);
        Self::Update {
            key,
            update,
            condition,
        }
    }

    /// Deletes an item unconditionally.
    #[must_use]
    pub fn delete(key: impl Into<Item>) -> Self {
        let (key, condition) = (key.into(), None);
        Self::Delete { key, condition }
    }

    /// Writes nothing, and fails if the condition does not hold.
    #[must_use]
    pub fn check(key: impl Into<Item>, condition: Condition) -> Self {
        let key = key.into();
        Self::Check { key, condition }
    }

    /// Returns the same action with another condition.
    #[must_use]
    pub fn when(mut self, wanted: Condition) -> Self {
        match &mut self {
            Self::Put { condition, .. }
            | Self::Update { condition, .. }
            | Self::Delete { condition, .. } => *condition = Some(wanted),
            Self::Check { condition, .. } => *condition = wanted,
        }
        self
    }
}
