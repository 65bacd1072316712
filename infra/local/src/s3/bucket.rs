//! A bucket: its objects in key order, and S3's preconditions on reading, writing and deleting them.
//!
//! - Every operation takes the bucket's lock once and decides under it. So of concurrent writers with the same precondition one
//!   succeeds, and a read sees every write that was answered before it.
//! - <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html>

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::disk::Folder;
use super::object::Object;

/// A precondition on an ETag: a specific one (its value without quotes), or any (`*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Is(String),
    Any,
}

impl Tag {
    fn matches(&self, object: &Object) -> bool {
        match self {
            Self::Is(etag) => *etag == object.head.etag,
            Self::Any => true,
        }
    }
}

/// The precondition of a put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PutCondition {
    None,
    /// `If-None-Match: *`
    Absent,
    /// `If-Match`
    Is(String),
}

/// The preconditions of a read. Times are in Unix seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadConditions {
    pub(super) if_match: Option<Tag>,
    pub(super) if_none_match: Option<Tag>,
    pub(super) if_modified_since: Option<u64>,
    pub(super) if_unmodified_since: Option<u64>,
}

/// Why an operation was refused.
#[derive(Debug)]
pub(super) enum Refused {
    /// 404
    NoSuchKey,
    /// 412
    Precondition,
    /// 304: the client's copy is current. Contains the object for its headers.
    NotModified(Arc<Object>),
    /// The data folder could not be written. Nothing was changed.
    Disk(std::io::Error),
}

impl ReadConditions {
    /// Checks the conditions on an object. A date is ignored if there is an ETag condition of the same kind (RFC 9110, section
    /// 13.2.2).
    fn check(&self, object: &Arc<Object>) -> Result<(), Refused> {
        let modified = object.head.modified;
        let current = match (&self.if_match, self.if_unmodified_since) {
            (Some(tag), _) => tag.matches(object),
            (None, Some(since)) => modified <= since,
            (None, None) => true,
        };
        if !current {
            return Err(Refused::Precondition);
        }
        let known = match (&self.if_none_match, self.if_modified_since) {
            (Some(tag), _) => tag.matches(object),
            (None, Some(since)) => modified <= since,
            (None, None) => false,
        };
        if known {
            Err(Refused::NotModified(Arc::clone(object)))
        } else {
            Ok(())
        }
    }
}

/// A page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) objects: Vec<Arc<Object>>,
    pub(super) common_prefixes: Vec<String>,
    /// Where the next page begins. `None` at the end.
    pub(super) next: Option<Position>,
}

/// A place in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// After this key.
    After(String),
    /// After all keys with this prefix.
    Past(String),
}

impl Position {
    /// Returns the position as a token for clients: a letter for its kind, then the text in hex, which needs no escaping.
    pub(super) fn token(&self) -> String {
        let (kind, text) = match self {
            Self::After(key) => ("k", key),
            Self::Past(prefix) => ("p", prefix),
        };
        text.bytes().fold(kind.to_owned(), |token, byte| {
            token + &format!("{byte:02x}")
        })
    }

    /// Parses a position that [`Position::token`] wrote. Returns `None` if the token is invalid.
    pub(super) fn from_token(token: &str) -> Option<Self> {
        let (kind, hex) = token.split_at_checked(1)?;
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes = hex
            .as_bytes()
            .chunks(2)
            .map(byte)
            .collect::<Option<Vec<u8>>>()?;
        let text = String::from_utf8(bytes).ok()?;
        match kind {
            "k" => Some(Self::After(text)),
            "p" => Some(Self::Past(text)),
            _ => None,
        }
    }
}

/// The parameters of a listing.
#[derive(Clone, Debug)]
pub(super) struct Listing<'a> {
    pub(super) prefix: &'a str,
    pub(super) delimiter: &'a str,
    pub(super) from: Option<Position>,
    pub(super) max_keys: usize,
}

#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) created: SystemTime,
    objects: Mutex<BTreeMap<String, Arc<Object>>>,
    folder: Option<Folder>,
}

impl Bucket {
    pub(super) fn new(created: SystemTime, folder: Option<Folder>, objects: Vec<Object>) -> Self {
        let objects = objects
            .into_iter()
            .map(|object| (object.head.key.clone(), Arc::new(object)));
        Self {
            created,
            objects: Mutex::new(objects.collect()),
            folder,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Object>>> {
        // No operation leaves the map half changed, so a panic under the lock does not corrupt it.
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an object if the condition is met. The file is written under the lock too, because it must never be older than an
    /// answer.
    pub(super) fn put(&self, object: Object, condition: &PutCondition) -> Result<(), Refused> {
        let mut objects = self.lock();
        match (condition, objects.get(&object.head.key)) {
            (PutCondition::None, _) | (PutCondition::Absent, None) => {}
            (PutCondition::Absent, Some(_)) => return Err(Refused::Precondition),
            (PutCondition::Is(_), None) => return Err(Refused::NoSuchKey),
            (PutCondition::Is(etag), Some(present)) => {
                if *etag != present.head.etag {
                    return Err(Refused::Precondition);
                }
            }
        }
        if let Some(folder) = &self.folder {
            folder.write(&object).map_err(Refused::Disk)?;
        }
        objects.insert(object.head.key.clone(), Arc::new(object));
        Ok(())
    }

    pub(super) fn get(
        &self,
        key: &str,
        conditions: &ReadConditions,
    ) -> Result<Arc<Object>, Refused> {
        let object = self.lock().get(key).cloned().ok_or(Refused::NoSuchKey)?;
        conditions.check(&object)?;
        Ok(object)
    }

    /// Deletes an object. It succeeds if the object does not exist, unless the caller gave an `If-Match`.
    pub(super) fn delete(&self, key: &str, if_match: Option<&Tag>) -> Result<(), Refused> {
        let mut objects = self.lock();
        match (objects.get(key), if_match) {
            (None, None) => return Ok(()),
            (None, Some(_)) => return Err(Refused::NoSuchKey),
            (Some(present), Some(tag)) if !tag.matches(present) => {
                return Err(Refused::Precondition);
            }
            (Some(_), _) => {}
        }
        if let Some(folder) = &self.folder {
            folder.remove(key).map_err(Refused::Disk)?;
        }
        objects.remove(key);
        Ok(())
    }

    /// Lists keys in order. All keys with the same text up to the first delimiter after the prefix count as one common prefix.
    pub(super) fn list(&self, listing: &Listing<'_>) -> Page {
        let objects = self.lock();
        let mut page = Page::default();
        let mut last = None;
        let after = match &listing.from {
            None => Bound::Unbounded,
            // Every key with a prefix sorts after the prefix itself.
            Some(Position::After(key) | Position::Past(key)) => Bound::Excluded(key.as_str()),
        };
        let passed = match &listing.from {
            Some(Position::Past(prefix)) => Some(prefix.clone()),
            _ => None,
        };
        let start = match after {
            Bound::Excluded(key) if key >= listing.prefix => after,
            _ => Bound::Included(listing.prefix),
        };
        for (key, object) in objects.range::<str, _>((start, Bound::Unbounded)) {
            let Some(rest) = key.strip_prefix(listing.prefix) else {
                break;
            };
            if passed
                .as_ref()
                .is_some_and(|passed| key.starts_with(passed.as_str()))
            {
                continue;
            }
            let common = match rest.find(listing.delimiter) {
                Some(at) if !listing.delimiter.is_empty() => {
                    Some(&key[..listing.prefix.len() + at + listing.delimiter.len()])
                }
                _ => None,
            };
            if common.is_some() && common == page.common_prefixes.last().map(String::as_str) {
                continue;
            }
            if page.objects.len() + page.common_prefixes.len() == listing.max_keys {
                page.next = last;
                break;
            }
            if let Some(prefix) = common {
                page.common_prefixes.push(prefix.to_owned());
                last = Some(Position::Past(prefix.to_owned()));
            } else {
                page.objects.push(Arc::clone(object));
                last = Some(Position::After(key.clone()));
            }
        }
        page
    }
}
