//! Documents in a bucket, read as what they will be served as.

use std::time::Duration;

use aws::Aws;
use aws_sdk_s3::config::ProvideCredentials as _;
use aws_sdk_s3::error::ProvideErrorMetadata as _;
use check::document::{About, read};
use check::response::Response;
use tokio::time::Instant;

use super::fetch::Fetched;
use super::fetch::body::{self, Deadline, told};

/// A bucket, or what is below a prefix of it.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// How to reach it.
    pub aws: Aws,
    /// Its name.
    pub name: String,
    /// What the keys begin with: nothing, or a text with a slash at its end.
    pub prefix: String,
    /// For one whole object.
    pub timeout: Duration,
}

impl Bucket {
    /// Whether it can be asked for anything.
    ///
    /// # Errors
    ///
    /// What is missing, and where to set it.
    pub async fn is_reachable(&self) -> Result<(), String> {
        let config = self.aws.config().await;
        let name = &self.name;
        if config.region().is_none() {
            return Err(format!(
                "cannot read s3://{name}: no region is set: give --region, or set AWS_REGION, or the region of the profile"
            ));
        }
        let missing = |reason: &str| {
            format!(
                "cannot read s3://{name}: no AWS credentials: {reason}: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY"
            )
        };
        let provider = config.credentials_provider();
        let provider = provider.ok_or_else(|| missing("there is no provider of credentials"))?;
        match provider.provide_credentials().await {
            Ok(_) => Ok(()),
            Err(error) => Err(missing(&told(&error))),
        }
    }

    /// The document of this path, which has no slash at its begin.
    pub async fn document(&self, path: &str, about: About) -> Fetched {
        let deadline = self.deadline();
        let (mut response, body) = match self.open(path).await {
            Ok(opened) => opened,
            Err((status, failure)) => {
                return Fetched {
                    response: status.map(Response::new),
                    failure,
                    document: None,
                };
            }
        };
        let mut about = about;
        about.is_encoded = response.is_gzip_encoded();
        let limit = about.max_bytes;
        let reader = move |body| read(body, &about);
        let read = body::read(body, &mut response, limit, reader, deadline).await;
        let (document, failure) = match read {
            Ok(document) => (Some(document), String::new()),
            Err(failure) => (None, failure),
        };
        Fetched {
            response: Some(response),
            failure,
            document,
        }
    }

    /// A short text, such as robots.txt; `None` if the bucket does not have it.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub async fn text(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, String> {
        let deadline = self.deadline();
        match self.open(path).await {
            Ok((mut response, body)) => {
                let text = body::text(body, &mut response, limit, deadline).await;
                Ok(Some(text))
            }
            // Without the right to list the bucket, S3 answers 403 for an object that does not exist.
            Err((Some(403 | 404), _)) => Ok(None),
            Err((_, failure)) => Err(failure),
        }
    }

    fn deadline(&self) -> Deadline {
        Deadline {
            at: Instant::now() + self.timeout,
            limit: self.timeout,
        }
    }

    /// Opens an object. What is missing is a 404, as S3 says for those who may list the bucket.
    async fn open(
        &self,
        path: &str,
    ) -> Result<(Response, aws_smithy_types::body::SdkBody), (Option<u16>, String)> {
        let key = format!("{}{path}", self.prefix);
        let request = self.aws.s3().await.get_object();
        let output = request.bucket(&self.name).key(&key).send().await;
        let output = output.map_err(|error| {
            let place = format!("s3://{}/{key}", self.name);
            let status = error.raw_response();
            let status = status.map(|response| response.status().as_u16());
            // A bucket that does not exist is no object that does not.
            let status = status.filter(|status| *status != 404 || error.code() == Some("NoSuchKey"));
            let failure = match error.code() {
                Some("NoSuchKey") => format!("{place} does not exist"),
                Some("AccessDenied") => format!(
                    "no permission for s3:GetObject on {place}, or it does not exist and there is none for s3:ListBucket"
                ),
                Some(code) => format!("{place}: {code}: {}", error.message().unwrap_or_default()),
                None => format!("{place}: {}", told(&error)),
            };
            (status, failure)
        })?;
        let response = Response {
            content_type: output.content_type,
            content_encoding: output.content_encoding,
            content_length: output
                .content_length
                .and_then(|bytes| bytes.try_into().ok()),
            ..Response::new(200)
        };
        Ok((response, output.body.into_inner()))
    }
}
