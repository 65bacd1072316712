//! What a deployment consists of, as its functions find it in their environment.

use std::env::VarError;

use crate::SitemapTable;
use crate::aws::Aws;
use crate::clock::Clock;
use crate::content::ContentTable;
use crate::failures::FailureBucket;
use crate::metrics::Metrics;
use crate::reconcile::{KnownSites, Reconciler};
use crate::s3::S3Objects;

/// The content table's name.
pub const CONTENT_TABLE: &str = "CONTENT_TABLE";
/// The sitemap table's name.
pub const SITEMAP_TABLE: &str = "SITEMAP_TABLE";
/// The bucket's name.
pub const BUCKET_NAME: &str = "BUCKET_NAME";
/// Hosts of sites that need no settings record, separated by commas; `*` for any.
pub const SITES: &str = "SITES";
/// The stack's name, the dimension of its metrics. Empty or not set, no metrics are written.
pub const STACK_NAME: &str = "STACK_NAME";
/// The failure bucket's name.
pub const FAILURE_BUCKET: &str = "FAILURE_BUCKET";

/// An environment variable that `template.yaml` should have set.
#[derive(Debug, thiserror::Error)]
#[error("environment variable {name}: {cause}")]
pub struct EnvironmentError {
    name: &'static str,
    cause: VarError,
}

/// Reads an environment variable.
///
/// # Errors
///
/// If it is not set, or not text.
pub fn variable(name: &'static str) -> Result<String, EnvironmentError> {
    std::env::var(name).map_err(|cause| EnvironmentError { name, cause })
}

/// What a function that reconciles reads from its environment.
pub const RECONCILER_VARIABLES: [&str; 4] = [CONTENT_TABLE, SITEMAP_TABLE, SITES, STACK_NAME];

/// Both tables as the environment names them. No client is built yet.
///
/// # Errors
///
/// If a variable is missing.
pub fn reconciler(aws: &Aws) -> Result<Reconciler<ContentTable, SitemapTable>, EnvironmentError> {
    Ok(Reconciler {
        content: ContentTable::new(aws.clone(), variable(CONTENT_TABLE)?),
        table: SitemapTable::new(aws.clone(), variable(SITEMAP_TABLE)?),
        known: KnownSites::parse(&variable(SITES)?),
        clock: Clock::system(),
        metrics: Metrics::on_stdout(&std::env::var(STACK_NAME).unwrap_or_default()),
    })
}

/// The bucket as the environment names it.
///
/// # Errors
///
/// If its variable is missing.
pub fn objects(aws: &Aws) -> Result<S3Objects, EnvironmentError> {
    Ok(S3Objects::new(aws.clone(), variable(BUCKET_NAME)?))
}

/// The failure bucket as the environment names it.
///
/// # Errors
///
/// If its variable is missing.
pub fn failures(aws: &Aws) -> Result<FailureBucket, EnvironmentError> {
    Ok(FailureBucket::new(aws.clone(), variable(FAILURE_BUCKET)?))
}
