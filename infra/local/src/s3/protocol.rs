//! Implements S3's operations on the store.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use http::header::{CACHE_CONTROL, ETAG, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::crypto::{Checksum, Md5};
use s3s::dto::{
    self, CreateBucketInput, CreateBucketOutput, DeleteObjectInput, DeleteObjectOutput,
    DeleteObjectsInput, DeleteObjectsOutput, ETagCondition, GetObjectInput, GetObjectOutput,
    HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput, ListBucketsInput,
    ListBucketsOutput, ListObjectsV2Input, ListObjectsV2Output, PutObjectInput, PutObjectOutput,
    StreamingBlob, Timestamp,
};
use s3s::{S3Error, S3Request, S3Response, S3Result, s3_error};

use super::bucket::{Bucket, Listing, Position, PutCondition, ReadConditions, Refused, Tag};
use super::object::{Head, Object};
use super::store::Store;

/// The most keys on a page of a listing.
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html>
const MAX_KEYS: i32 = 1000;

/// The characters that `encoding-type=url` encodes.
const LISTED_KEY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

fn refused(refused: Refused) -> S3Error {
    match refused {
        Refused::NoSuchKey => s3_error!(NoSuchKey, "The specified key does not exist."),
        Refused::Precondition => {
            s3_error!(
                PreconditionFailed,
                "At least one of the pre-conditions you specified did not hold"
            )
        }
        Refused::NotModified(object) => {
            let mut error = s3_error!(NotModified);
            error.set_headers(validators(&object.head));
            error
        }
        Refused::Disk(error) => S3Error::internal_error(error),
    }
}

/// Returns the headers of a 304 (RFC 9110, section 15.4.5).
fn validators(head: &Head) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut date = Vec::new();
    let dated = timestamp(head.modified).format(dto::TimestampFormat::HttpDate, &mut date);
    let values = [
        (
            ETAG,
            HeaderValue::try_from(format!("\"{}\"", head.etag)).ok(),
        ),
        (
            LAST_MODIFIED,
            dated.ok().and_then(|()| HeaderValue::try_from(date).ok()),
        ),
        (
            CACHE_CONTROL,
            head.cache_control
                .as_ref()
                .and_then(|value| HeaderValue::try_from(value).ok()),
        ),
    ];
    for (name, value) in values {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
    headers
}

fn timestamp(seconds: u64) -> Timestamp {
    Timestamp::from(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

fn seconds(timestamp: Timestamp) -> u64 {
    let mut text = Vec::new();
    let formatted = timestamp.format(dto::TimestampFormat::EpochSeconds, &mut text);
    let text = formatted
        .ok()
        .and_then(|()| String::from_utf8(text).ok())
        .unwrap_or_default();
    text.split('.')
        .next()
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or_default()
}

fn tag(condition: ETagCondition) -> Tag {
    match condition {
        ETagCondition::ETag(etag) => Tag::Is(etag.into_value()),
        ETagCondition::Any => Tag::Any,
    }
}

/// Returns the condition of a put. S3 supports `If-None-Match: *` and `If-Match: <ETag>`, and no other preconditions of a put.
fn put_condition(
    if_match: Option<ETagCondition>,
    if_none_match: Option<ETagCondition>,
) -> S3Result<PutCondition> {
    match (if_match, if_none_match) {
        (None, None) => Ok(PutCondition::None),
        (None, Some(ETagCondition::Any)) => Ok(PutCondition::Absent),
        (Some(ETagCondition::ETag(etag)), None) => Ok(PutCondition::Is(etag.into_value())),
        _ => Err(s3_error!(
            NotImplemented,
            "A header you provided implies functionality that is not implemented"
        )),
    }
}

async fn collected(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let Some(body) = body else {
        return Ok(Bytes::new());
    };
    let joined = body.try_fold(BytesMut::new(), |mut joined, chunk| async move {
        joined.extend_from_slice(&chunk);
        Ok(joined)
    });
    match joined.await {
        Ok(joined) => Ok(joined.freeze()),
        Err(error) => Err(s3_error!(IncompleteBody, "{}", error)),
    }
}

fn md5_hex(body: &[u8]) -> String {
    Md5::checksum(body)
        .iter()
        .fold(String::with_capacity(32), |hex, byte| {
            hex + &format!("{byte:02x}")
        })
}

fn length(object: &Object) -> u64 {
    object.body.len() as u64
}

/// Wraps the store, because `s3s` needs a value that it can own.
#[derive(Clone, Debug)]
pub(super) struct Protocol(pub(super) Arc<Store>);

impl Protocol {
    fn bucket(&self, name: &str) -> S3Result<Arc<Bucket>> {
        let bucket = self.0.bucket(name);
        bucket.ok_or_else(|| s3_error!(NoSuchBucket, "The specified bucket does not exist"))
    }

    /// Returns an object, and the range of it that was requested.
    fn read(
        &self,
        bucket: &str,
        key: &str,
        range: Option<dto::Range>,
        conditions: &ReadConditions,
    ) -> S3Result<(Arc<Object>, Option<std::ops::Range<u64>>)> {
        let object = self.bucket(bucket)?.get(key, conditions).map_err(refused)?;
        let range = range
            .map(|range| range.check(length(&object)))
            .transpose()?;
        Ok((object, range))
    }
}

#[async_trait::async_trait]
impl s3s::S3 for Protocol {
    async fn create_bucket(
        &self,
        request: S3Request<CreateBucketInput>,
    ) -> S3Result<S3Response<CreateBucketOutput>> {
        let name = request.input.bucket;
        if !self.0.create(&name).map_err(S3Error::internal_error)? {
            return Err(s3_error!(BucketAlreadyOwnedByYou));
        }
        Ok(S3Response::new(CreateBucketOutput {
            location: Some(format!("/{name}")),
        }))
    }

    async fn head_bucket(
        &self,
        request: S3Request<HeadBucketInput>,
    ) -> S3Result<S3Response<HeadBucketOutput>> {
        self.bucket(&request.input.bucket)?;
        Ok(S3Response::new(HeadBucketOutput::default()))
    }

    async fn list_buckets(
        &self,
        _request: S3Request<ListBucketsInput>,
    ) -> S3Result<S3Response<ListBucketsOutput>> {
        let buckets = self.0.buckets();
        let buckets = buckets.iter().map(|(name, bucket)| dto::Bucket {
            name: Some(name.clone()),
            creation_date: Some(Timestamp::from(bucket.created)),
            ..Default::default()
        });
        Ok(S3Response::new(ListBucketsOutput {
            buckets: Some(buckets.collect()),
            ..Default::default()
        }))
    }

    async fn put_object(
        &self,
        request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        let input = request.input;
        let bucket = self.bucket(&input.bucket)?;
        let condition = put_condition(input.if_match, input.if_none_match)?;
        let body = collected(input.body).await?;
        let etag = md5_hex(&body);
        let modified = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let head = Head {
            key: input.key,
            etag: etag.clone(),
            modified,
            content_type: input.content_type,
            content_encoding: input.content_encoding,
            content_language: input.content_language,
            content_disposition: input.content_disposition,
            cache_control: input.cache_control,
            metadata: input.metadata.unwrap_or_default(),
        };
        let put = bucket.put(Object { head, body }, &condition);
        self.0.count(|counts| match put {
            Ok(()) => counts.puts += 1,
            Err(_) => counts.puts_refused += 1,
        });
        put.map_err(refused)?;
        Ok(S3Response::new(PutObjectOutput {
            e_tag: Some(dto::ETag::Strong(etag)),
            ..Default::default()
        }))
    }

    async fn get_object(
        &self,
        request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        self.0.count(|counts| counts.gets += 1);
        let input = request.input;
        let conditions = ReadConditions {
            if_match: input.if_match.map(tag),
            if_none_match: input.if_none_match.map(tag),
            if_modified_since: input.if_modified_since.map(seconds),
            if_unmodified_since: input.if_unmodified_since.map(seconds),
        };
        let (object, range) = self.read(&input.bucket, &input.key, input.range, &conditions)?;
        let total = length(&object);
        let content_range = range
            .as_ref()
            .map(|range| format!("bytes {}-{}/{total}", range.start, range.end - 1));
        let body = match range {
            // The range was checked against the body's length, which is a usize.
            Some(range) => object.body.slice(range.start as usize..range.end as usize),
            None => object.body.clone(),
        };
        let head = object.head.clone();
        Ok(S3Response::new(GetObjectOutput {
            content_length: Some(body.len() as i64),
            body: Some(StreamingBlob::from(s3s::Body::from(body))),
            content_range,
            accept_ranges: Some("bytes".to_owned()),
            e_tag: Some(dto::ETag::Strong(head.etag)),
            last_modified: Some(timestamp(head.modified)),
            content_type: head.content_type,
            content_encoding: head.content_encoding,
            content_language: head.content_language,
            content_disposition: head.content_disposition,
            cache_control: head.cache_control,
            metadata: Some(head.metadata),
            ..Default::default()
        }))
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        self.0.count(|counts| counts.heads += 1);
        let input = request.input;
        let conditions = ReadConditions {
            if_match: input.if_match.map(tag),
            if_none_match: input.if_none_match.map(tag),
            if_modified_since: input.if_modified_since.map(seconds),
            if_unmodified_since: input.if_unmodified_since.map(seconds),
        };
        let (object, range) = self.read(&input.bucket, &input.key, input.range, &conditions)?;
        let total = length(&object);
        let sent = range
            .as_ref()
            .map_or(total, |range| range.end - range.start);
        let head = object.head.clone();
        Ok(S3Response::new(HeadObjectOutput {
            content_length: i64::try_from(sent).ok(),
            content_range: range
                .map(|range| format!("bytes {}-{}/{total}", range.start, range.end - 1)),
            accept_ranges: Some("bytes".to_owned()),
            e_tag: Some(dto::ETag::Strong(head.etag)),
            last_modified: Some(timestamp(head.modified)),
            content_type: head.content_type,
            content_encoding: head.content_encoding,
            content_language: head.content_language,
            content_disposition: head.content_disposition,
            cache_control: head.cache_control,
            metadata: Some(head.metadata),
            ..Default::default()
        }))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        self.0.count(|counts| counts.lists += 1);
        let input = request.input;
        let bucket = self.bucket(&input.bucket)?;
        let max_keys = input.max_keys.unwrap_or(MAX_KEYS);
        // A token continues where its page ended, whatever start-after says.
        let from = match (&input.continuation_token, &input.start_after) {
            (Some(token), _) => Some(Position::from_token(token).ok_or_else(|| {
                s3_error!(
                    InvalidArgument,
                    "The continuation token provided is incorrect"
                )
            })?),
            (None, Some(key)) => Some(Position::After(key.clone())),
            (None, None) => None,
        };
        let page = bucket.list(&Listing {
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: input.delimiter.as_deref().unwrap_or_default(),
            from,
            max_keys: usize::try_from(max_keys.min(MAX_KEYS))
                .map_err(|_| s3_error!(InvalidArgument, "max-keys is negative"))?,
        });
        let encoded = input
            .encoding_type
            .as_ref()
            .is_some_and(|kind| kind.as_str() == dto::EncodingType::URL);
        let written = |text: &str| {
            if encoded {
                utf8_percent_encode(text, LISTED_KEY).to_string()
            } else {
                text.to_owned()
            }
        };
        let contents: Vec<dto::Object> = page
            .objects
            .iter()
            .map(|object| dto::Object {
                key: Some(written(&object.head.key)),
                e_tag: Some(dto::ETag::Strong(object.head.etag.clone())),
                last_modified: Some(timestamp(object.head.modified)),
                size: i64::try_from(object.body.len()).ok(),
                ..Default::default()
            })
            .collect();
        let common_prefixes: Vec<dto::CommonPrefix> = page
            .common_prefixes
            .iter()
            .map(|prefix| dto::CommonPrefix {
                prefix: Some(written(prefix)),
            })
            .collect();
        Ok(S3Response::new(ListObjectsV2Output {
            key_count: i32::try_from(contents.len() + common_prefixes.len()).ok(),
            contents: Some(contents),
            common_prefixes: Some(common_prefixes),
            is_truncated: Some(page.next.is_some()),
            next_continuation_token: page.next.as_ref().map(Position::token),
            name: Some(input.bucket),
            prefix: Some(written(input.prefix.as_deref().unwrap_or_default())),
            delimiter: input.delimiter.as_deref().map(written),
            start_after: input.start_after.as_deref().map(written),
            max_keys: Some(max_keys),
            continuation_token: input.continuation_token,
            encoding_type: input.encoding_type,
            ..Default::default()
        }))
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        self.0.count(|counts| counts.deletes += 1);
        let input = request.input;
        let if_match = input.if_match.map(tag);
        self.bucket(&input.bucket)?
            .delete(&input.key, if_match.as_ref())
            .map_err(refused)?;
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let input = request.input;
        let bucket = self.bucket(&input.bucket)?;
        let mut deleted = Vec::new();
        let mut errors = Vec::new();
        for object in input.delete.objects {
            self.0.count(|counts| counts.deletes += 1);
            let if_match = object.e_tag.map(|etag| Tag::Is(etag.into_value()));
            match bucket
                .delete(&object.key, if_match.as_ref())
                .map_err(refused)
            {
                Ok(()) => deleted.push(dto::DeletedObject {
                    key: Some(object.key),
                    ..Default::default()
                }),
                Err(error) => errors.push(dto::Error {
                    key: Some(object.key),
                    code: Some(error.code().as_str().to_owned()),
                    message: error.message().map(str::to_owned),
                    version_id: None,
                }),
            }
        }
        if input.delete.quiet == Some(true) {
            deleted.clear();
        }
        Ok(S3Response::new(DeleteObjectsOutput {
            deleted: Some(deleted),
            errors: Some(errors),
            ..Default::default()
        }))
    }
}
