//! Documents in a bucket. They are read as the type that they will be served as.

use std::io::Read;
use std::time::Duration;

use aws::{Account, Aws, chain};
use aws_sdk_s3::config::ProvideCredentials as _;
use aws_sdk_s3::error::ProvideErrorMetadata as _;
use check::document::{About, Transfer, read};
use check::page::response::{End, Response};
use tokio::time::Instant;

use super::body::{self, Deadline};
use super::client::Fetched;
use crate::deployment::target::TIMEOUTS;

/// What a bucket's address begins with.
pub const SCHEME: &str = "s3://";

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
    /// Parses `s3://bucket/prefix`, and returns the document if it names one.
    ///
    /// # Errors
    ///
    /// If it names no bucket.
    pub fn parse(
        url: &str,
        account: Account,
        timeout: Duration,
    ) -> Result<(Self, Option<String>), String> {
        let place = url.strip_prefix(SCHEME).unwrap_or(url);
        let (name, path) = place.split_once('/').unwrap_or((place, ""));
        if name.is_empty() {
            return Err(format!("{url}: has no bucket: write s3://bucket/prefix"));
        }
        // A document ends in the name of one; everything else is a folder.
        let is_document = [".xml", ".xml.gz", ".txt", ".rss"]
            .iter()
            .any(|end| path.ends_with(end));
        let (prefix, file) = match path.rsplit_once('/') {
            _ if !is_document => (path.trim_end_matches('/'), None),
            Some((prefix, file)) => (prefix, Some(file.to_owned())),
            None => ("", Some(path.to_owned())),
        };
        let slash = if prefix.is_empty() { "" } else { "/" };
        let bucket = Self {
            aws: Aws::of_operator(account, TIMEOUTS),
            name: name.to_owned(),
            prefix: format!("{prefix}{slash}"),
            timeout,
        };
        Ok((bucket, file))
    }

    /// Returns the name that messages use for an object of this path.
    #[must_use]
    pub fn shown(&self, path: &str) -> String {
        format!("{SCHEME}{}/{}{path}", self.name, self.prefix)
    }

    /// Checks that there are a region and credentials for requests.
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
        let provider = provider.ok_or_else(|| missing("no credentials are configured"))?;
        match provider.provide_credentials().await {
            Ok(_) => Ok(()),
            Err(error) => Err(missing(&chain(&error))),
        }
    }

    /// Reads the document of this path, which does not begin with a slash.
    pub async fn document(&self, path: &str, about: About) -> Fetched {
        let limit = about.max_bytes;
        let judged = move |body: Box<dyn Read + Send>, transfer: Transfer| {
            let about = About { transfer, ..about };
            read(body, &about)
        };
        Fetched::of(self.read(path, limit, judged).await)
    }

    /// Reads the document of this path, as [`Client::read`](super::client::Client::read) does.
    pub async fn read<T: Send + 'static>(
        &self,
        path: &str,
        limit: u64,
        reader: impl FnOnce(Box<dyn Read + Send>, Transfer) -> T + Send + 'static,
    ) -> (Option<Response>, Result<T, String>) {
        let deadline = self.deadline();
        let (mut response, body) = match self.open(path).await {
            Ok(opened) => opened,
            Err((status, failure)) => return (status.map(Response::new), Err(failure)),
        };
        let transfer = Transfer {
            is_encoded: response.is_gzip_encoded(),
            is_foreign: false,
        };
        let reader = move |body| reader(body, transfer);
        let read = body::read(body, &mut response, limit, reader, deadline).await;
        (Some(response), read)
    }

    /// Reads a short text, such as robots.txt. Returns `None` if the bucket does not have it.
    ///
    /// # Errors
    ///
    /// Why it cannot be read, with the status of the answer if there is one.
    pub async fn text(
        &self,
        path: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, (Option<u16>, String)> {
        let deadline = self.deadline();
        match self.open(path).await {
            Ok((mut response, body)) => {
                let text = body::text(body, &mut response, limit, deadline).await;
                match response.end {
                    End::Cut(how) => {
                        Err((None, format!("{} ended early: {how}", self.shown(path))))
                    }
                    End::Whole | End::Enough => Ok(Some(text)),
                }
            }
            Err((Some(404), _)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn deadline(&self) -> Deadline {
        Deadline {
            at: Instant::now() + self.timeout,
            limit: self.timeout,
        }
    }

    /// Opens an object. A missing object is a 404, as S3 says for those who may list the bucket.
    async fn open(
        &self,
        path: &str,
    ) -> Result<(Response, aws_smithy_types::body::SdkBody), (Option<u16>, String)> {
        let key = format!("{}{path}", self.prefix);
        let place = self.shown(path);
        let request = self.aws.s3().await.get_object();
        let output = request.bucket(&self.name).key(&key).send().await;
        let output = output.map_err(|error| {
            let status = error.raw_response();
            let status = status.map(|response| response.status().as_u16());
            // A bucket that does not exist is no object that does not.
            let status = status.filter(|status| *status != 404 || error.code() == Some("NoSuchKey"));
            let failure = match error.code() {
                Some("NoSuchKey") => format!("{place} does not exist"),
                Some("AccessDenied") => format!(
                    "no permission for s3:GetObject on {place} (or it does not exist, which only s3:ListBucket would \
                     show)"
                ),
                Some(code) => format!("{place}: {code}: {}", error.message().unwrap_or_default()),
                None => format!("{place}: {}", chain(&error)),
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
