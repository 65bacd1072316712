//! What a deployment consists of, as its functions see it.

use std::env::VarError;

use crate::SitemapTable;
use crate::aws::Aws;
use crate::clock::Clock;
use crate::content::ContentTable;
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

/// The tables, the bucket and the clock.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Both tables, ready to reconcile.
    pub reconciler: Reconciler<ContentTable, SitemapTable>,
    /// The bucket.
    pub objects: S3Objects,
}

impl Deployment {
    /// The deployment that the environment names. No client is built yet.
    ///
    /// # Errors
    ///
    /// If a variable is missing.
    pub fn from_environment() -> Result<Self, EnvironmentError> {
        let aws = Aws::from_environment();
        let content = ContentTable::new(aws.clone(), variable(CONTENT_TABLE)?);
        let table = SitemapTable::new(aws.clone(), variable(SITEMAP_TABLE)?);
        let known = KnownSites::parse(&variable(SITES)?);
        let objects = S3Objects::new(aws, variable(BUCKET_NAME)?);
        Ok(Self { reconciler: Reconciler { content, table, known, clock: Clock::system() }, objects })
    }
}
