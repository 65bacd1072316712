//! The site file: what `http` must know of a site, published beside its sitemaps.

use serde::{Deserialize, Serialize};

/// The JSON of [`ObjectKey::SiteFile`](crate::object::ObjectKey::SiteFile).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteFile {
    /// The site's host, as in the object keys.
    pub site: String,
    /// Scheme and host of its public address, without a trailing slash: `https://www.example.com`.
    pub origin: String,
    /// The epoch and the version of the settings that it was made from: in the bytes, so that no two have one S3 ETag.
    pub stamp: String,
    /// Whether it is public. Of a site that is not, no shard is served.
    pub public: bool,
    /// The series of types that are not public: none of their shards is served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// The IndexNow key, whose file is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexnow_key: Option<String>,
    /// Seconds for which an emptied shard is still served, longer than any cached index lives.
    pub emptied_grace_seconds: i64,
}
