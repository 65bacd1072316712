//! The fields of a record that an import makes.

use serde_json::{Map, Value};

/// A record on its way.
pub(super) type Fields = Map<String, Value>;
