//! A store in memory, for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sitemap::redirects::{MAX_KEY_BYTES, MAX_STORE_BYTES, MAX_VALUE_BYTES};

use crate::port::{
    Changes, Described, MAX_CHANGED_KEYS, MAX_LISTED_KEYS, Pairs, Reply, Store, StoreError,
};

/// A [`Store`] in memory. Clones share it.
///
/// CloudFront's documentation does not say whether a key that does not exist can be deleted, nor whether an update that changes nothing
/// changes the ETag. So a strict store refuses the former and has a new ETag after the latter, and a lenient one does neither.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    inner: Arc<Mutex<Inner>>,
    max_bytes: usize,
    is_strict: bool,
}

#[derive(Debug, Default)]
struct Inner {
    pairs: BTreeMap<String, String>,
    version: u64,
    calls: u64,
}

impl Inner {
    fn bytes(&self) -> usize {
        let pairs = self.pairs.iter();
        pairs.map(|(key, value)| key.len() + value.len()).sum()
    }

    fn described(&self) -> Described {
        Described {
            etag: format!("E{}", self.version),
            items: self.pairs.len() as u64,
            bytes: self.bytes() as u64,
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            inner: Arc::default(),
            max_bytes: MAX_STORE_BYTES,
            is_strict: true,
        }
    }
}

impl MemoryStore {
    /// Returns an empty store of this size.
    #[must_use]
    pub fn of_bytes(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            ..Self::default()
        }
    }

    /// Returns an empty lenient store.
    #[must_use]
    pub fn lenient() -> Self {
        Self {
            is_strict: false,
            ..Self::default()
        }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all pairs.
    #[must_use]
    pub fn pairs(&self) -> BTreeMap<String, String> {
        self.inner().pairs.clone()
    }

    /// Returns how many calls there were.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.inner().calls
    }

    fn try_update(&self, etag: &str, changes: &Changes) -> Result<Described, StoreError> {
        const OPERATION: &str = "UpdateKeys";
        let mut inner = self.inner();
        inner.calls += 1;
        let refused = |message: String| StoreError::Refused {
            operation: OPERATION,
            message,
        };
        if changes.is_empty() || changes.len() > MAX_CHANGED_KEYS {
            return Err(refused(format!("{} keys", changes.len())));
        }
        for (key, value) in changes {
            let value = value.as_ref().map_or(0, String::len);
            if key.is_empty() || key.len() > MAX_KEY_BYTES || value > MAX_VALUE_BYTES {
                return Err(refused(format!("a key or value of {key} is too long")));
            }
        }
        if inner.described().etag != etag {
            return Err(StoreError::Conflict {
                operation: OPERATION,
            });
        }
        let mut pairs = inner.pairs.clone();
        for (key, value) in changes {
            match value {
                Some(value) => drop(pairs.insert(key.clone(), value.clone())),
                None if pairs.remove(key).is_none() && self.is_strict => {
                    return Err(StoreError::Missing {
                        operation: OPERATION,
                        message: key.clone(),
                    });
                }
                None => {}
            }
        }
        let before = std::mem::replace(&mut inner.pairs, pairs);
        if inner.bytes() > self.max_bytes {
            inner.pairs = before;
            return Err(StoreError::Full {
                operation: OPERATION,
                message: format!("{} bytes", self.max_bytes),
            });
        }
        if self.is_strict || inner.pairs != before {
            inner.version += 1;
        }
        Ok(inner.described())
    }
}

impl Store for MemoryStore {
    fn describe(&self) -> Reply<'_, Described> {
        Box::pin(async {
            let mut inner = self.inner();
            inner.calls += 1;
            Ok(inner.described())
        })
    }

    fn update<'a>(&'a self, etag: &'a str, changes: &'a Changes) -> Reply<'a, Described> {
        Box::pin(async move { self.try_update(etag, changes) })
    }

    fn list(&self, after: Option<String>) -> Reply<'_, (Pairs, Option<String>)> {
        Box::pin(async move {
            let mut inner = self.inner();
            inner.calls += 1;
            let after = after.unwrap_or_default();
            let pairs = inner.pairs.iter().filter(|(key, _)| **key > after);
            let page: Pairs = pairs
                .take(MAX_LISTED_KEYS)
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            let last = page.last().map(|(key, _)| key.clone());
            let is_last = inner.pairs.keys().next_back() == last.as_ref();
            Ok((page, last.filter(|_| !is_last)))
        })
    }
}
