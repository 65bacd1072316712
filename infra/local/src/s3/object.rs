//! An object of a bucket.

use std::collections::HashMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// An object with everything that was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) head: Head,
    pub(super) body: Bytes,
}

/// An object without its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) key: String,
    /// The body's MD5 in hex, without quotes.
    pub(super) etag: String,
    /// The time of the put in Unix seconds. HTTP dates, and so preconditions on them, have no fractions.
    pub(super) modified: u64,
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
    pub(super) content_language: Option<String>,
    pub(super) content_disposition: Option<String>,
    pub(super) cache_control: Option<String>,
    pub(super) metadata: HashMap<String, String>,
}
