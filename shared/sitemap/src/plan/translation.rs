//! What a page is in a translation group.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::loc::Loc;

/// What a member of a translation group is to the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Translation {
    /// Its language code.
    pub language: String,
    /// Its address, on any site of the deployment.
    pub href: Loc,
    /// Whether it is the page for everybody else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub x_default: bool,
}

/// The members of a translation group by record id.
pub type Translations = BTreeMap<String, Translation>;
