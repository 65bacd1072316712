//! A bucket in memory that answers as S3 does.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::stream;

use crate::files::ObjectKey;
use crate::port::{BodyStream, Document, ObjectMeta, Objects, Precondition, Put, Reply};

/// A bucket in memory. Clones share it. Every call completes at once. A wrapper may add delays and failures.
#[derive(Clone, Debug, Default)]
pub struct MemoryObjects(Arc<Mutex<BTreeMap<ObjectKey, Stored>>>);

#[derive(Clone, Debug)]
struct Stored {
    meta: ObjectMeta,
    body: Bytes,
}

impl MemoryObjects {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Stored>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes an object, to simulate a loss. No function deletes one. Returns `false` if it did not exist.
    pub fn lose(&self, key: &ObjectKey) -> bool {
        self.lock().remove(key).is_some()
    }

    /// Replaces an object by one of another origin, to simulate damage. Its metadata are these, or missing.
    pub fn damage(&self, key: &ObjectKey, body: Bytes, document: Option<Document>) {
        let meta = ObjectMeta {
            etag: etag(&body, ""),
            length: body.len() as u64,
            document,
        };
        self.lock().insert(key.clone(), Stored { meta, body });
    }

    /// Replaces all objects with those of another bucket.
    pub fn begin_with(&self, other: &Self) {
        let objects = other.lock().clone();
        *self.lock() = objects;
    }

    fn find(&self, key: &ObjectKey) -> Option<Stored> {
        self.lock().get(key).cloned()
    }

    fn write(
        &self,
        key: &ObjectKey,
        body: Bytes,
        document: &Document,
        precondition: &Precondition,
    ) -> Put {
        let mut objects = self.lock();
        let current = objects.get(key).map(|stored| &stored.meta.etag);
        let holds = match precondition {
            Precondition::Absent => current.is_none(),
            Precondition::Unchanged(etag) => current == Some(etag),
        };
        if !holds {
            return Put::Lost;
        }
        let meta = ObjectMeta {
            etag: etag(&body, &key.seal(&document.stamp)),
            length: body.len() as u64,
            document: Some(document.clone()),
        };
        objects.insert(key.clone(), Stored { meta, body });
        Put::Done
    }
}

/// Returns the ETag, which depends only on the stored bytes.
fn etag(body: &[u8], seal: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(body);
    hasher.write(seal.as_bytes());
    format!("\"{:016x}-{}\"", hasher.finish(), body.len() + seal.len())
}

impl Objects for MemoryObjects {
    fn head<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<ObjectMeta>> {
        Box::pin(async move { Ok(self.find(key).map(|stored| stored.meta)) })
    }

    fn open<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<(ObjectMeta, BodyStream)>> {
        Box::pin(async move {
            Ok(self.find(key).map(|Stored { meta, body }| {
                let body: BodyStream = Box::pin(stream::iter([Ok(body)]));
                (meta, body)
            }))
        })
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<(ObjectMeta, Bytes)>> {
        Box::pin(async move {
            Ok(self.find(key).map(|Stored { meta, body }| {
                let is_ours = meta.length <= crate::MAX_OBJECT_BYTES;
                (meta, if is_ours { body } else { Bytes::new() })
            }))
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a ObjectKey,
        body: Bytes,
        document: &'a Document,
        precondition: &'a Precondition,
    ) -> Reply<'a, Put> {
        Box::pin(async move { Ok(self.write(key, body, document, precondition)) })
    }

    fn list<'a>(&'a self, site: &'a str) -> Reply<'a, Vec<ObjectKey>> {
        Box::pin(async move {
            let objects = self.lock();
            let keys = objects.keys().filter(|key| key.site() == site);
            Ok(keys.cloned().collect())
        })
    }

    fn sites<'a>(&'a self, after: Option<&'a str>, most: usize) -> Reply<'a, Vec<String>> {
        Box::pin(async move {
            let objects = self.lock();
            let folder = |site: &str| format!("{site}/");
            let folders: BTreeSet<String> = objects.keys().map(|key| folder(key.site())).collect();
            let after = after.map(folder);
            let behind = folders
                .iter()
                .filter(|folder| Some(*folder) > after.as_ref());
            let sites = behind
                .take(most)
                .filter_map(|folder| folder.strip_suffix('/'));
            Ok(sites.map(str::to_owned).collect())
        })
    }
}
