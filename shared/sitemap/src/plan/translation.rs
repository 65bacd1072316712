//! Members of a translation group.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::loc::Loc;

/// A member of a translation group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Translation {
    /// Its language code.
    pub language: String,
    /// Its address, on any site of the deployment.
    pub href: Loc,
    /// Whether it is the page for all other languages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub x_default: bool,
}

/// The members of a translation group by record id.
pub type Translations = BTreeMap<String, Translation>;
