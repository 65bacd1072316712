//! The bucket on S3.

use std::error::Error;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::Object;
use bytes::Bytes;
use objects::{
    BodyStream, Document, MAX_OBJECT_BYTES, ObjectError, ObjectKey, ObjectMeta, Objects,
    PUBLISHED_PREFIX, Precondition, Put, Reply,
};
use tokio::time::timeout;

use crate::clients::{Aws, Timeouts};
use crate::error::message;

/// The most keys of one listing (S3).
const MAX_KEYS: usize = 1_000;
const DIGEST: &str = "document-digest";
const CHANGED: &str = "document-changed";
const BYTES: &str = "document-bytes";
const ENTRIES: &str = "document-entries";
const STAMP: &str = "document-stamp";

/// [`Objects`] in a bucket.
#[derive(Clone, Debug)]
pub struct S3Objects {
    aws: Aws,
    bucket: String,
}

impl S3Objects {
    /// Returns the objects of `bucket`.
    #[must_use]
    pub fn new(aws: Aws, bucket: String) -> Self {
        Self { aws, bucket }
    }

    async fn get_object(&self, key: &ObjectKey) -> Result<Option<GetObjectOutput>, ObjectError> {
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
            Err(error) => Err(failed("GetObject")(error)),
        }
    }
}

/// Reads a whole object within the limit of one operation. The client itself applies that limit only to the answer's head.
pub(crate) async fn within<T>(
    Timeouts { operation, .. }: Timeouts,
    read: impl Future<Output = Result<T, ObjectError>> + Send,
) -> Result<T, ObjectError> {
    let late = |_| Err(broken(&format!("not whole within {operation:?}")));
    // Boxed, because a call of the SDK is large, and would otherwise be on the thread's stack more than once.
    timeout(operation, Box::pin(read))
        .await
        .unwrap_or_else(late)
}

/// Returns a function that converts the error of an API call.
pub(crate) fn failed<E, R>(operation: &'static str) -> impl FnOnce(SdkError<E, R>) -> ObjectError
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    move |error| {
        let message = message(&error);
        ObjectError::Unavailable { operation, message }
    }
}

/// Returns the error of an incomplete body.
pub(crate) fn broken(error: &impl std::fmt::Display) -> ObjectError {
    ObjectError::Unavailable {
        operation: "GetObject",
        message: error.to_string(),
    }
}

/// Returns whether the object does not exist, according to the answer.
pub(crate) fn is_missing<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> bool {
    matches!(error.code(), Some("NoSuchKey" | "NotFound"))
}

fn meta_of(key: &ObjectKey, output: &GetObjectOutput) -> ObjectMeta {
    let (etag, length) = (output.e_tag(), output.content_length());
    meta(key, etag, length, output.metadata())
}

/// Returns the S3 ETag, the length without the seal, and the document's metadata of an answer.
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
    // With another length it was not written by `put`, or it is a text of an earlier version that ends in its own stamp.
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

impl S3Objects {
    /// Calls a closure with every object of a site's folder.
    async fn each_object(
        &self,
        site: &str,
        mut each: impl FnMut(&Object),
    ) -> Result<(), ObjectError> {
        let prefix = format!("{PUBLISHED_PREFIX}{site}/");
        let request = self.aws.s3().await.list_objects_v2();
        let request = request.bucket(&self.bucket).prefix(prefix);
        let mut pages = request.into_paginator().send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(failed("ListObjectsV2"))?;
            page.contents().iter().for_each(&mut each);
        }
        Ok(())
    }
}

impl Objects for S3Objects {
    fn head<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<ObjectMeta>> {
        Box::pin(async move {
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
                Err(error) => Err(failed("HeadObject")(error)),
            }
        })
    }

    fn open<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<(ObjectMeta, BodyStream)>> {
        Box::pin(async move {
            let Some(output) = self.get_object(key).await? else {
                return Ok(None);
            };
            let meta = meta_of(key, &output);
            let document = usize::try_from(meta.length).unwrap_or(usize::MAX);
            let body = futures::stream::unfold(
                (output.body, document),
                async |(mut body, left): (ByteStream, usize)| {
                    // The rest of the body is the seal.
                    if left == 0 {
                        return None;
                    }
                    let chunk = body.next().await?.map(|mut chunk| {
                        chunk.truncate(left);
                        chunk
                    });
                    let left = left - chunk.as_ref().map_or(0, Bytes::len);
                    Some((chunk.map_err(|error| broken(&error)), (body, left)))
                },
            );
            let body: BodyStream = Box::pin(body);
            Ok(Some((meta, body)))
        })
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<(ObjectMeta, Bytes)>> {
        Box::pin(async move {
            within(self.aws.timeouts(), async {
                let Some(output) = self.get_object(key).await? else {
                    return Ok(None);
                };
                let meta = meta_of(key, &output);
                if meta.length > MAX_OBJECT_BYTES {
                    return Ok(Some((meta, Bytes::new())));
                }
                let body = output.body.collect().await;
                let mut bytes = body.map_err(|error| broken(&error))?.into_bytes();
                bytes.truncate(usize::try_from(meta.length).unwrap_or(usize::MAX));
                Ok(Some((meta, bytes)))
            })
            .await
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a ObjectKey,
        body: Bytes,
        document: &'a Document,
        precondition: &'a Precondition,
    ) -> Reply<'a, Put> {
        Box::pin(async move {
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
                // A put that was sent again because its answer was lost ends here too. The next try finds its own bytes.
                Err(error)
                    if matches!(
                        error.code(),
                        Some("PreconditionFailed" | "ConditionalRequestConflict")
                    ) =>
                {
                    Ok(Put::Lost)
                }
                Err(error) if is_missing(&error) => Ok(Put::Lost),
                Err(error) => Err(failed("PutObject")(error)),
            }
        })
    }

    fn list<'a>(&'a self, site: &'a str) -> Reply<'a, Vec<ObjectKey>> {
        Box::pin(async move {
            let mut keys = Vec::new();
            self.each_object(site, |object| {
                keys.extend(object.key().and_then(ObjectKey::from_path));
            })
            .await?;
            Ok(keys)
        })
    }

    fn last_put<'a>(&'a self, site: &'a str) -> Reply<'a, Option<i64>> {
        Box::pin(async move {
            let mut last = None;
            self.each_object(site, |object| {
                last = last.max(object.last_modified().map(|at| at.secs()));
            })
            .await?;
            Ok(last)
        })
    }

    fn sites<'a>(&'a self, after: Option<&'a str>, most: usize) -> Reply<'a, Vec<String>> {
        Box::pin(async move {
            // After everything in the site's folder.
            let after = after.map(|site| format!("{PUBLISHED_PREFIX}{site}/{}", char::MAX));
            let keys = i32::try_from(most.min(MAX_KEYS)).unwrap_or(i32::MAX);
            let request = self
                .aws
                .s3()
                .await
                .list_objects_v2()
                .bucket(&self.bucket)
                .prefix(PUBLISHED_PREFIX)
                .delimiter("/")
                .max_keys(keys)
                .set_start_after(after);
            let mut pages = request.into_paginator().send();
            let mut sites = Vec::new();
            while let Some(page) = pages.next().await {
                for prefix in page.map_err(failed("ListObjectsV2"))?.common_prefixes() {
                    let site = prefix.prefix().and_then(|prefix| {
                        prefix.strip_prefix(PUBLISHED_PREFIX)?.strip_suffix('/')
                    });
                    sites.extend(site.map(str::to_owned));
                }
                if sites.len() >= most {
                    break;
                }
            }
            sites.truncate(most);
            Ok(sites)
        })
    }
}
