//! A bucket in memory, and the members in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use flate2::{Compress, Compression, Crc, FlushCompress};
use futures::{StreamExt, stream};
use objects::{
    BodyStream, Document, ObjectError, ObjectKey, ObjectMeta, Objects, Precondition, Put, Reply,
};
use sitemap::member::PLAIN_HEADER;

use crate::fixture::{CHANGED, DIGEST, GRACE_SECONDS, SITE};

/// A bucket in memory that counts its calls, and fails on demand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket(pub(crate) Arc<State>);

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) objects: Mutex<BTreeMap<String, Stored>>,
    pub(crate) calls: Mutex<Vec<&'static str>>,
    /// The keys of its calls.
    pub(crate) keys: Mutex<BTreeSet<String>>,
    pub(crate) fails: AtomicBool,
    pub(crate) chunks_read: AtomicUsize,
}

#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) meta: ObjectMeta,
    pub(crate) body: Bytes,
    /// The number of body bytes that arrive before the connection fails.
    pub(crate) arrives: usize,
    pub(crate) chunk_bytes: usize,
}

impl Stored {
    /// Returns this object with a change.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut stored = self.clone();
        change(&mut stored);
        stored
    }

    /// Returns this object with one bit of its body flipped.
    pub(crate) fn flipped(&self, at: usize) -> Self {
        let mut body = self.body.to_vec();
        body[at] ^= 1;
        self.with(|stored| stored.body = body.into())
    }

    /// Returns this object with another body, all of which arrives.
    pub(crate) fn resized(&self, body: &[u8]) -> Self {
        self.with(|stored| {
            stored.arrives = body.len();
            stored.body = body.to_vec().into();
        })
    }
}

impl Bucket {
    pub(crate) fn insert(&self, key: &ObjectKey, stored: Stored) {
        self.0.objects.lock().unwrap().insert(key.path(), stored);
    }

    pub(crate) fn site_file(&self, site: &str, public: bool) {
        self.site_file_with(site, public, "");
    }

    /// Adds a site file that also has these members: `"name":value,` each.
    pub(crate) fn site_file_with(&self, site: &str, public: bool, more: &str) {
        let key = ObjectKey::SiteFile {
            site: site.to_owned(),
        };
        let json = format!(
            r#"{{"site":"{site}","origin":"https://{site}","stamp":"0-1",{more}"public":{public},"emptied_grace_seconds":{GRACE_SECONDS}}}"#
        );
        self.insert(&key, stored(json.into(), 0, 0));
    }

    pub(crate) fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.calls.lock().unwrap())
    }

    pub(crate) fn look_up(
        &self,
        call: &'static str,
        key: &ObjectKey,
    ) -> Result<Option<Stored>, ObjectError> {
        self.0.calls.lock().unwrap().push(call);
        self.0.keys.lock().unwrap().insert(key.path());
        if self.0.fails.load(Ordering::Relaxed) {
            return Err(ObjectError::Unavailable {
                operation: "GetObject",
                message: "SlowDown: secret".to_owned(),
            });
        }
        Ok(self.0.objects.lock().unwrap().get(&key.path()).cloned())
    }
}

impl Objects for Bucket {
    fn head<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<ObjectMeta>> {
        Box::pin(async move { Ok(self.look_up("head", key)?.map(|stored| stored.meta)) })
    }

    fn open<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<(ObjectMeta, BodyStream)>> {
        Box::pin(async move {
            let Some(Stored {
                meta,
                body,
                arrives,
                chunk_bytes,
            }) = self.look_up("open", key)?
            else {
                return Ok(None);
            };
            let breaks = arrives < body.len();
            let starts: Vec<usize> = (0..arrives).step_by(chunk_bytes).collect();
            let state = Arc::clone(&self.0);
            let chunks = stream::iter(starts).map(move |start| {
                state.chunks_read.fetch_add(1, Ordering::Relaxed);
                Ok(body.slice(start..arrives.min(start + chunk_bytes)))
            });
            let end = breaks.then(|| {
                Err(ObjectError::Unavailable {
                    operation: "GetObject",
                    message: "connection reset: secret".to_owned(),
                })
            });
            let body: BodyStream = Box::pin(chunks.chain(stream::iter(end)));
            Ok(Some((meta, body)))
        })
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<(ObjectMeta, Bytes)>> {
        Box::pin(async move {
            Ok(self.look_up("get", key)?.map(|stored| {
                let chunks = stored.body.len().div_ceil(stored.chunk_bytes);
                self.0.chunks_read.fetch_add(chunks, Ordering::Relaxed);
                (stored.meta, stored.body)
            }))
        })
    }

    fn put<'a>(
        &'a self,
        _: &'a ObjectKey,
        _: Bytes,
        _: &'a Document,
        _: &'a Precondition,
    ) -> Reply<'a, Put> {
        panic!("the front writes nothing")
    }

    fn list<'a>(&'a self, _: &'a str) -> Reply<'a, Vec<ObjectKey>> {
        panic!("the front lists nothing")
    }

    fn sites<'a>(&'a self, _: Option<&'a str>, _: usize) -> Reply<'a, Vec<String>> {
        panic!("the front lists nothing")
    }
}

pub(crate) fn stored(body: Bytes, document_bytes: usize, entries: u64) -> Stored {
    Stored {
        meta: ObjectMeta {
            etag: "\"s3\"".to_owned(),
            length: body.len() as u64,
            document: Some(Document {
                digest: DIGEST.to_owned(),
                changed: CHANGED,
                bytes: document_bytes as u64,
                entries,
                stamp: String::new(),
            }),
        },
        arrives: body.len(),
        body,
        chunk_bytes: 7,
    }
}

/// Returns a gzip member with a directory in FEXTRA. Each piece is deflated on its own.
pub(crate) fn member<'a>(
    directory_bytes: u16,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Bytes {
    member_at(7, directory_bytes, pieces)
}

/// Returns such a member, deflated at this level. At level 0 it is as long as the document.
pub(crate) fn member_at<'a>(
    level: u32,
    directory_bytes: u16,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Bytes {
    let mut bytes = vec![
        0x1f,
        0x8b,
        8,
        4,
        0,
        0,
        0,
        0,
        PLAIN_HEADER[8],
        PLAIN_HEADER[9],
    ];
    bytes.extend(directory_bytes.to_le_bytes());
    bytes.extend((0..directory_bytes).map(|i| i as u8));
    let (mut crc, mut deflate) = (Crc::new(), Compress::new(Compression::new(level), false));
    let mut run = |input: &[u8], flush| {
        let before = deflate.total_in();
        bytes.reserve(input.len() + input.len() / 100 + 1_024);
        deflate.compress_vec(input, &mut bytes, flush).unwrap();
        assert_eq!(deflate.total_in() - before, input.len() as u64);
    };
    for piece in pieces {
        crc.update(piece);
        run(piece, FlushCompress::Full);
    }
    run(&[], FlushCompress::Finish);
    bytes.extend(crc.sum().to_le_bytes());
    bytes.extend(crc.amount().to_le_bytes());
    bytes.into()
}

pub(crate) fn document(xml: &str, entries: u64) -> Stored {
    let (start, end) = xml.as_bytes().split_at(xml.len() / 2);
    stored(member(300, [start, end]), xml.len(), entries)
}

pub(crate) fn index(n: u32) -> ObjectKey {
    ObjectKey::Index {
        site: SITE.to_owned(),
        n,
    }
}

pub(crate) fn shard(series: &str, n: u32) -> ObjectKey {
    ObjectKey::Shard {
        site: SITE.to_owned(),
        series: series.to_owned(),
        n,
    }
}
