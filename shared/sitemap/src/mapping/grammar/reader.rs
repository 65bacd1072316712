//! The reader of a mapping, which collects problems by their places.

use serde_json::{Map, Value};

use super::super::error::MappingProblem;
use super::super::path::shown;

/// A mapping that is being read.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) problems: Vec<MappingProblem>,
    /// Whether the current paths belong to a field of `FILLED`.
    pub(super) filled: bool,
}

impl Reader {
    pub(super) fn problem(&mut self, place: &str, reason: impl Into<String>) {
        self.problems.push(MappingProblem {
            place: place.to_owned(),
            reason: reason.into(),
        });
    }

    pub(super) fn object<'v>(
        &mut self,
        place: &str,
        value: &'v Value,
    ) -> Option<&'v Map<String, Value>> {
        if !value.is_object() {
            self.problem(place, format!("{} is not an object", shown(value)));
        }
        value.as_object()
    }

    pub(super) fn unknown(&mut self, place: &str, object: &Map<String, Value>, known: &[&str]) {
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            let reason = format!("unknown; known are {}", known.join(", "));
            self.problem(&within(place, name), reason);
        }
    }
}

/// Returns the place of a member.
pub(super) fn within(place: &str, name: &str) -> String {
    match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    }
}
