//! All buckets, and the numbers of their requests.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use super::bucket::Bucket;
use super::disk::{Folder, Unread};

/// The numbers of requests answered since the start, by kind. All but puts are counted whether or not they found something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Objects written.
    pub puts: u64,
    /// Puts that were refused because of their precondition.
    pub puts_refused: u64,
    /// `GetObject`.
    pub gets: u64,
    /// `HeadObject`.
    pub heads: u64,
    /// Pages of `ListObjectsV2`.
    pub lists: u64,
    /// Objects named in `DeleteObject` and `DeleteObjects`.
    pub deletes: u64,
}

#[derive(Debug)]
pub(super) struct Store {
    buckets: RwLock<BTreeMap<String, Arc<Bucket>>>,
    folder: Option<PathBuf>,
    counts: Mutex<Counts>,
    unread: Vec<Unread>,
}

impl Store {
    /// Opens the buckets that an earlier run left in `folder`. Without a folder there are none, and no bucket is stored.
    pub(super) fn open(folder: Option<PathBuf>) -> io::Result<Self> {
        let (mut buckets, mut unread) = (BTreeMap::new(), Vec::new());
        if let Some(folder) = &folder {
            std::fs::create_dir_all(folder)?;
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                if !entry.path().is_dir() {
                    let (file, why) = (entry.path(), "it is no bucket's folder".to_owned());
                    unread.push(Unread { file, why });
                    continue;
                }
                let created = entry.metadata()?.modified()?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let (folder, objects) = Folder::open(entry.path(), &mut unread)?;
                buckets.insert(name, Arc::new(Bucket::new(created, Some(folder), objects)));
            }
        }
        Ok(Self {
            buckets: RwLock::new(buckets),
            folder,
            counts: Mutex::default(),
            unread,
        })
    }

    pub(super) fn unread(&self) -> &[Unread] {
        &self.unread
    }

    pub(super) fn bucket(&self, name: &str) -> Option<Arc<Bucket>> {
        self.buckets
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    /// Returns all buckets by name.
    pub(super) fn buckets(&self) -> BTreeMap<String, Arc<Bucket>> {
        self.buckets
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Creates a bucket, and returns whether it is new. An existing bucket stays as it is.
    pub(super) fn create(&self, name: &str) -> io::Result<bool> {
        let mut buckets = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        if buckets.contains_key(name) {
            return Ok(false);
        }
        let folder = match &self.folder {
            Some(folder) => Some(Folder::open(folder.join(name), &mut Vec::new())?.0),
            None => None,
        };
        let bucket = Bucket::new(SystemTime::now(), folder, Vec::new());
        buckets.insert(name.to_owned(), Arc::new(bucket));
        Ok(true)
    }

    pub(super) fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
