//! The bucket: which objects are published, under which keys, and with what headers.
//!
//! - Every object is written by [`Objects::put`] under a precondition, in one step; none is ever deleted.
//! - S3's ETag follows the bytes alone, so objects with different stamps have different bytes: `If-Match` can tell an
//!   object from a later one with the same document. Where the document has no room for the stamp, it is stored behind the
//!   document, and readers of the bucket get the document without it.
//! - The document's own digest, length and time of change travel in the object's metadata, since S3's ETag and
//!   Last-Modified change whenever a stamp does (DESIGN, section 6): `http` answers from the former.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures::Stream;

use crate::error::StoreError;

/// All that is published lies under this prefix, and `http` may read nothing else.
pub const PUBLISHED_PREFIX: &str = "published/";

/// A published object. Its S3 key, content type, content encoding and cache lifetime follow from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKey {
    /// `published/<site>/<series>-sitemap<n>.xml`, a gzip member of segments; the first has no number.
    Shard {
        /// The site's host.
        site: String,
        /// The series' name.
        series: String,
        /// The shard's number, from 1.
        n: u32,
    },
    /// `published/<site>/sitemap_index<n>.xml`, a gzip member of one segment; the first has no number.
    Index {
        /// The site's host.
        site: String,
        /// The index's number, from 1.
        n: u32,
    },
    /// `published/<site>/feed.atom`: what has changed of late.
    Feed {
        /// The site's host.
        site: String,
    },
    /// `published/<site>/robots.txt`.
    Robots {
        /// The site's host.
        site: String,
    },
    /// `published/<site>/site.json`: what `http` must know of a site. Not served.
    SiteFile {
        /// The site's host.
        site: String,
    },
}

impl ObjectKey {
    /// The site whose object this is.
    #[must_use]
    pub fn site(&self) -> &str {
        match self {
            Self::Shard { site, .. }
            | Self::Index { site, .. }
            | Self::Feed { site }
            | Self::Robots { site }
            | Self::SiteFile { site } => site,
        }
    }

    /// The last part of the key, which is also the last part of the public path.
    #[must_use]
    pub fn file_name(&self) -> String {
        match self {
            Self::Shard { series, n: 1, .. } => format!("{series}-sitemap.xml"),
            Self::Shard { series, n, .. } => format!("{series}-sitemap{n}.xml"),
            Self::Index { n: 1, .. } => "sitemap_index.xml".to_owned(),
            Self::Index { n, .. } => format!("sitemap_index{n}.xml"),
            Self::Feed { .. } => "feed.atom".to_owned(),
            Self::Robots { .. } => "robots.txt".to_owned(),
            Self::SiteFile { .. } => "site.json".to_owned(),
        }
    }

    /// The S3 key.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{PUBLISHED_PREFIX}{}/{}", self.site(), self.file_name())
    }

    /// The key that [`ObjectKey::path`] wrote, or nothing for a path that is none of ours.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let (site, file) = path.strip_prefix(PUBLISHED_PREFIX)?.split_once('/')?;
        let site = site.to_owned();
        let key = match file {
            "feed.atom" => Self::Feed { site },
            "robots.txt" => Self::Robots { site },
            "site.json" => Self::SiteFile { site },
            _ => {
                let stem = file.strip_suffix(".xml")?;
                let number = |n: &str| {
                    if n.is_empty() {
                        Some(1)
                    } else {
                        n.parse().ok()
                    }
                };
                if let Some(n) = stem.strip_prefix("sitemap_index") {
                    let n = number(n)?;
                    Self::Index { site, n }
                } else {
                    let (series, n) = stem.rsplit_once("-sitemap")?;
                    let (series, n) = (series.to_owned(), number(n)?);
                    Self::Shard { site, series, n }
                }
            }
        };
        // `post-sitemap1.xml` and `post-sitemap02.xml` parse, but no object has those keys.
        (key.path() == path).then_some(key)
    }

    /// The Content-Type.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Shard { .. } | Self::Index { .. } => "application/xml; charset=utf-8",
            Self::Feed { .. } => "application/atom+xml; charset=utf-8",
            Self::Robots { .. } => "text/plain; charset=utf-8",
            Self::SiteFile { .. } => "application/json",
        }
    }

    /// What is stored behind the document so that objects with different stamps differ: in the format's own comments.
    /// Empty where the document holds its stamp.
    #[must_use]
    pub fn seal(&self, stamp: &str) -> String {
        match self {
            Self::Shard { .. } | Self::Index { .. } | Self::SiteFile { .. } => String::new(),
            Self::Feed { .. } => format!("<!-- {stamp} -->\n"),
            Self::Robots { .. } => format!("\n# {stamp}\n"),
        }
    }

    /// The Content-Encoding of the stored bytes.
    #[must_use]
    pub fn content_encoding(&self) -> Option<&'static str> {
        match self {
            Self::Shard { .. } | Self::Index { .. } => Some("gzip"),
            Self::Feed { .. } | Self::Robots { .. } | Self::SiteFile { .. } => None,
        }
    }

    /// The Cache-Control: a minute in shared caches, which then revalidate behind the reader's back; a day's grace
    /// while the origin is down.
    #[must_use]
    pub fn cache_control(&self) -> &'static str {
        match self {
            Self::Shard { .. } | Self::Index { .. } | Self::Feed { .. } | Self::Robots { .. } => {
                "public, max-age=60, s-maxage=60, stale-while-revalidate=60, stale-if-error=86400"
            }
            Self::SiteFile { .. } => "private, no-store",
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

/// What an object's metadata says of the document in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// A digest of the document, lower-case hex: equal for equal documents, whatever their stamps. The public ETag is
    /// made from it.
    pub digest: String,
    /// When the document last changed, in Unix seconds: the public Last-Modified.
    pub changed: i64,
    /// The document's length in bytes, unencoded.
    pub bytes: u64,
    /// `<url>` or `<sitemap>` elements; 0 for what has none.
    pub entries: u64,
    /// The site's epoch and the sum of the versions of the rows it was made from. Equal stamps mean equal rows; equal
    /// documents do not, so it is the stamp that decides whether to write.
    pub stamp: String,
}

/// An epoch and a generation as one text.
#[must_use]
pub fn stamp(epoch: u64, generation: u64) -> String {
    format!("{epoch:016x}-{generation}")
}

/// An object without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// S3's ETag, for `If-Match` alone.
    pub etag: String,
    /// The stored length in bytes, without the [seal](ObjectKey::seal).
    pub length: u64,
    /// What its metadata says; nothing if it was not written by [`Objects::put`].
    pub document: Option<Document>,
}

/// A body as it arrives.
pub type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, StoreError>> + Send>>;

/// What must hold for a put to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// There is no such object (`If-None-Match: *`).
    Absent,
    /// It is still the one with this S3 ETag (`If-Match`).
    Unchanged(String),
}

/// How a put ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Put {
    /// Written.
    Done,
    /// The precondition did not hold (412, 409, 404): read again, then decide again.
    Lost,
}

/// The bucket.
///
/// - Reads are strongly consistent.
/// - Of concurrent puts with the same precondition one wins.
/// - Puts with different stamps have different ETags.
pub trait Objects: Send + Sync {
    /// The object without its body, or nothing if there is none.
    fn head(
        &self,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<Option<ObjectMeta>, StoreError>> + Send;

    /// The object, its body as a stream.
    fn open(
        &self,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<Option<(ObjectMeta, BodyStream)>, StoreError>> + Send;

    /// The object with its whole body, which is empty if it is larger than any that was published: it is another's.
    fn get(
        &self,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<Option<(ObjectMeta, Bytes)>, StoreError>> + Send;

    /// Writes the object if the precondition holds: the body, with its seal behind it.
    fn put(
        &self,
        key: &ObjectKey,
        body: Bytes,
        document: &Document,
        precondition: &Precondition,
    ) -> impl Future<Output = Result<Put, StoreError>> + Send;

    /// The keys of a site's objects, in no particular order.
    fn list(&self, site: &str) -> impl Future<Output = Result<Vec<ObjectKey>, StoreError>> + Send;
}
