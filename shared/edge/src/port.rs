//! The port.

use std::collections::BTreeMap;
use std::fmt;

use futures::future::BoxFuture;
use sitemap::redirects::{MAX_KEY_BYTES, MAX_VALUE_BYTES};

/// The most keys of one update (CloudFront):
/// <https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html#limits-keyvaluestores>.
pub const MAX_CHANGED_KEYS: usize = 50;
/// The most bytes of one update (the same page).
const MAX_UPDATE_BYTES: usize = 3 * 1_024 * 1_024;
const _: () = assert!(
    MAX_CHANGED_KEYS * (MAX_KEY_BYTES + MAX_VALUE_BYTES) < MAX_UPDATE_BYTES,
    "an update with the most keys is never too long"
);
/// The most keys of a page of a listing:
/// <https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_kvs_ListKeys.html>.
pub const MAX_LISTED_KEYS: usize = 50;

/// The future result of a call.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The state of a store as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The version of its content. An update that changes something gives it another one.
    pub etag: String,
    /// The number of its keys.
    pub items: u64,
    /// The bytes of its keys and values.
    pub bytes: u64,
}

/// The keys that an update changes: to a value, or `None` to delete the key.
pub type Changes = BTreeMap<String, Option<String>>;

/// Keys and their values.
pub type Pairs = Vec<(String, String)>;

/// Why a call of a store failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store no longer has the ETag. Nothing was changed.
    #[error("{operation}: the store was changed meanwhile")]
    Conflict {
        /// The API call, for example `UpdateKeys`.
        operation: &'static str,
    },
    /// The store, or a key that was to be deleted, does not exist. Nothing was changed.
    #[error("{operation}: not found: {message}")]
    Missing {
        /// The API call.
        operation: &'static str,
        /// The service's message.
        message: String,
    },
    /// The store has no room for the update. Nothing was changed.
    #[error("{operation}: the store is full: {message}")]
    Full {
        /// The API call.
        operation: &'static str,
        /// The service's message.
        message: String,
    },
    /// The service will never accept the request. Nothing was changed.
    #[error("{operation} was refused: {message}")]
    Refused {
        /// The API call.
        operation: &'static str,
        /// The service's reason.
        message: String,
    },
    /// There was no answer, or the service failed. The update may have happened.
    #[error("{operation} failed: {message}")]
    Unavailable {
        /// The API call.
        operation: &'static str,
        /// The service's code and message, or the transport's.
        message: String,
    },
}

/// A key value store.
///
/// - An update changes all its keys or none, and happens only if the store has the ETag.
/// - What a listing returns may have changed meanwhile.
pub trait Store: fmt::Debug + Send + Sync {
    /// Returns the state of the store.
    fn describe(&self) -> Reply<'_, Described>;

    /// Changes at most [`MAX_CHANGED_KEYS`] keys, if the store still has this ETag. Returns its new state.
    fn update<'a>(&'a self, etag: &'a str, changes: &'a Changes) -> Reply<'a, Described>;

    /// Returns a page of the pairs, and the token of the next page, or `None` at the end.
    fn list(&self, after: Option<String>) -> Reply<'_, (Pairs, Option<String>)>;
}
