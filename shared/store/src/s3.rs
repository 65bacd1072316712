//! The bucket on S3.

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use tokio::time::timeout;

use crate::aws::{Aws, Timeouts};
use crate::error::{StoreError, service};
use crate::object::{
    BodyStream, Document, ObjectKey, ObjectMeta, Objects, PUBLISHED_PREFIX, Precondition, Put,
};

/// The names of a document's facts in an object's metadata.
const DIGEST: &str = "document-digest";
const CHANGED: &str = "document-changed";
const BYTES: &str = "document-bytes";
const ENTRIES: &str = "document-entries";
const STAMP: &str = "document-stamp";

/// The largest sitemap that sitemaps.org allows has 52,428,800 bytes, and no deflated one is larger by more than a few
/// for each segment.
const MAX_OBJECT_BYTES: u64 = 60_000_000;

/// [`Objects`] in a bucket.
#[derive(Clone, Debug)]
pub struct S3Objects {
    aws: Aws,
    bucket: String,
}

impl S3Objects {
    /// The objects of `bucket`.
    #[must_use]
    pub fn new(aws: Aws, bucket: String) -> Self {
        Self { aws, bucket }
    }

    /// The hosts of the sites that have objects.
    ///
    /// # Errors
    ///
    /// If S3 fails.
    pub async fn sites(&self) -> Result<Vec<String>, StoreError> {
        let request = self
            .aws
            .s3()
            .await
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(PUBLISHED_PREFIX)
            .delimiter("/");
        let mut pages = request.into_paginator().send();
        let mut sites = Vec::new();
        while let Some(page) = pages.next().await {
            for prefix in page.map_err(service("ListObjectsV2"))?.common_prefixes() {
                let site = prefix
                    .prefix()
                    .and_then(|prefix| prefix.strip_prefix(PUBLISHED_PREFIX)?.strip_suffix('/'));
                sites.extend(site.map(str::to_owned));
            }
        }
        Ok(sites)
    }

    async fn get_object(&self, key: &ObjectKey) -> Result<Option<GetObjectOutput>, StoreError> {
        match self
            .aws
            .s3()
            .await
            .get_object()
            .bucket(&self.bucket)
            .key(key.path())
            .send()
            .await
        {
            Ok(output) => Ok(Some(output)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(service("GetObject")(error)),
        }
    }
}

/// Reads a whole object within the limit of one operation, which the client applies to the head of the answer alone.
pub(crate) async fn within<T>(
    Timeouts { operation, .. }: Timeouts,
    read: impl Future<Output = Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    let late = |_| Err(StoreError::body(&format!("not whole within {operation:?}")));
    // Boxed: a call of the SDK is large for a thread's stack, and would lie there more than once.
    timeout(operation, Box::pin(read))
        .await
        .unwrap_or_else(late)
}

/// Whether the answer was that there is no such object.
pub(crate) fn is_missing<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> bool {
    matches!(error.code(), Some("NoSuchKey" | "NotFound"))
}

fn meta_of(key: &ObjectKey, output: &GetObjectOutput) -> ObjectMeta {
    let (etag, length) = (output.e_tag(), output.content_length());
    meta(key, etag, length, output.metadata())
}

/// The S3 ETag, the length without the seal and the document's facts of an answer.
fn meta(
    key: &ObjectKey,
    etag: Option<&str>,
    length: Option<i64>,
    metadata: Option<&std::collections::HashMap<String, String>>,
) -> ObjectMeta {
    let document = metadata.and_then(|metadata| {
        Some(Document {
            digest: metadata.get(DIGEST)?.clone(),
            changed: metadata.get(CHANGED)?.parse().ok()?,
            bytes: metadata.get(BYTES)?.parse().ok()?,
            entries: metadata.get(ENTRIES)?.parse().ok()?,
            stamp: metadata.get(STAMP)?.clone(),
        })
    });
    let stored = length
        .and_then(|length| u64::try_from(length).ok())
        .unwrap_or(0);
    // Of any other length it was not written by `put`, or is a text of an earlier version that ends in its own stamp.
    let sealed = document.as_ref().filter(|document| {
        let seal = key.seal(&document.stamp);
        !seal.is_empty() && stored == document.bytes + seal.len() as u64
    });
    let length = sealed.map_or(stored, |document| document.bytes);
    ObjectMeta {
        etag: etag.unwrap_or_default().to_owned(),
        length,
        document,
    }
}

impl Objects for S3Objects {
    async fn head(&self, key: &ObjectKey) -> Result<Option<ObjectMeta>, StoreError> {
        match self
            .aws
            .s3()
            .await
            .head_object()
            .bucket(&self.bucket)
            .key(key.path())
            .send()
            .await
        {
            Ok(output) => Ok(Some(meta(
                key,
                output.e_tag(),
                output.content_length(),
                output.metadata(),
            ))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(service("HeadObject")(error)),
        }
    }

    async fn open(&self, key: &ObjectKey) -> Result<Option<(ObjectMeta, BodyStream)>, StoreError> {
        let Some(output) = self.get_object(key).await? else {
            return Ok(None);
        };
        let meta = meta_of(key, &output);
        let document = usize::try_from(meta.length).unwrap_or(usize::MAX);
        let body = futures::stream::unfold(
            (output.body, document),
            async |(mut body, left): (ByteStream, usize)| {
                // What is left of the body is the seal.
                if left == 0 {
                    return None;
                }
                let chunk = body.next().await?.map(|mut chunk| {
                    chunk.truncate(left);
                    chunk
                });
                let left = left - chunk.as_ref().map_or(0, Bytes::len);
                Some((
                    chunk.map_err(|error| StoreError::body(&error)),
                    (body, left),
                ))
            },
        );
        Ok(Some((meta, Box::pin(body))))
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<(ObjectMeta, Bytes)>, StoreError> {
        within(self.aws.timeouts(), async {
            let Some(output) = self.get_object(key).await? else {
                return Ok(None);
            };
            let meta = meta_of(key, &output);
            if meta.length > MAX_OBJECT_BYTES {
                return Ok(Some((meta, Bytes::new())));
            }
            let body = output.body.collect().await;
            let mut bytes = body.map_err(|error| StoreError::body(&error))?.into_bytes();
            bytes.truncate(usize::try_from(meta.length).unwrap_or(usize::MAX));
            Ok(Some((meta, bytes)))
        })
        .await
    }

    async fn put(
        &self,
        key: &ObjectKey,
        body: Bytes,
        document: &Document,
        precondition: &Precondition,
    ) -> Result<Put, StoreError> {
        let request = self
            .aws
            .s3()
            .await
            .put_object()
            .bucket(&self.bucket)
            .key(key.path());
        let seal = key.seal(&document.stamp);
        let sealed = if seal.is_empty() {
            body
        } else {
            Bytes::from([&body, seal.as_bytes()].concat())
        };
        let request = match precondition {
            Precondition::Absent => request.if_none_match("*"),
            Precondition::Unchanged(etag) => request.if_match(etag),
        };
        let result = request
            .content_type(key.content_type())
            .set_content_encoding(key.content_encoding().map(str::to_owned))
            .cache_control(key.cache_control())
            .metadata(DIGEST, &document.digest)
            .metadata(CHANGED, document.changed.to_string())
            .metadata(BYTES, document.bytes.to_string())
            .metadata(ENTRIES, document.entries.to_string())
            .metadata(STAMP, &document.stamp)
            .body(ByteStream::from(sealed))
            .send()
            .await;
        match result {
            Ok(_) => Ok(Put::Done),
            // A put whose answer was lost and that was sent again also ends here: the next try finds its own bytes.
            Err(error)
                if matches!(
                    error.code(),
                    Some("PreconditionFailed" | "ConditionalRequestConflict")
                ) =>
            {
                Ok(Put::Lost)
            }
            Err(error) if is_missing(&error) => Ok(Put::Lost),
            Err(error) => Err(service("PutObject")(error)),
        }
    }

    async fn list(&self, site: &str) -> Result<Vec<ObjectKey>, StoreError> {
        let prefix = format!("{PUBLISHED_PREFIX}{site}/");
        let mut pages = self
            .aws
            .s3()
            .await
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(prefix)
            .into_paginator()
            .send();
        let mut keys = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(service("ListObjectsV2"))?;
            keys.extend(
                page.contents()
                    .iter()
                    .filter_map(|object| ObjectKey::from_path(object.key()?)),
            );
        }
        Ok(keys)
    }
}
