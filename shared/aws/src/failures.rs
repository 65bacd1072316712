//! The failure bucket: stream batches that Lambda has given up, one object for each invocation.

use aws_sdk_s3::operation::list_objects_v2::builders::ListObjectsV2FluentBuilder;
use bytes::Bytes;
use objects::ObjectError;

use crate::clients::Aws;
use crate::s3::{broken, failed, is_missing, within};

/// The prefix of the objects that Lambda's destination writes: `aws/lambda/<event source mapping>/<function>/<date>/…`.
pub const FAILURE_PREFIX: &str = "aws/lambda/";

/// A failure bucket.
#[derive(Clone, Debug)]
pub struct FailureBucket {
    aws: Aws,
    bucket: String,
}

impl FailureBucket {
    /// Returns the failures in `bucket`.
    #[must_use]
    pub fn new(aws: Aws, bucket: String) -> Self {
        Self { aws, bucket }
    }

    async fn listing(&self) -> ListObjectsV2FluentBuilder {
        let request = self.aws.s3().await.list_objects_v2();
        request.bucket(&self.bucket).prefix(FAILURE_PREFIX)
    }

    /// Returns the number of waiting batches. 1,000, a page of S3's listing, means 1,000 or more.
    ///
    /// # Errors
    ///
    /// If S3 fails.
    pub async fn waiting(&self) -> Result<u64, ObjectError> {
        let page = self.listing().await.send().await;
        let page = page.map_err(failed("ListObjectsV2"))?;
        Ok(page.contents().len() as u64)
    }

    /// Returns the keys of the waiting batches.
    ///
    /// # Errors
    ///
    /// If S3 fails.
    pub async fn keys(&self) -> Result<Vec<String>, ObjectError> {
        let mut pages = self.listing().await.into_paginator().send();
        let mut keys = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(failed("ListObjectsV2"))?;
            keys.extend(
                page.contents()
                    .iter()
                    .filter_map(|object| object.key().map(str::to_owned)),
            );
        }
        Ok(keys)
    }

    /// Returns the record of a batch. Returns `None` if the record no longer exists.
    ///
    /// # Errors
    ///
    /// If S3 fails.
    pub async fn read(&self, key: &str) -> Result<Option<Bytes>, ObjectError> {
        within(self.aws.timeouts(), async {
            let request = self.aws.s3().await.get_object();
            let output = match request.bucket(&self.bucket).key(key).send().await {
                Ok(output) => output,
                Err(error) if is_missing(&error) => return Ok(None),
                Err(error) => return Err(failed("GetObject")(error)),
            };
            let body = output.body.collect().await;
            let body = body.map_err(|error| broken(&error))?;
            Ok(Some(body.into_bytes()))
        })
        .await
    }

    /// Deletes a batch that was handled.
    ///
    /// # Errors
    ///
    /// If S3 fails.
    pub async fn delete(&self, key: &str) -> Result<(), ObjectError> {
        let request = self.aws.s3().await.delete_object();
        let deleted = request.bucket(&self.bucket).key(key).send().await;
        deleted.map(drop).map_err(failed("DeleteObject"))
    }
}
