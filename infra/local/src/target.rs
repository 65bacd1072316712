//! What the operator's commands look at: the local stack, or a deployment.

use store::SitemapTable;
use store::aws::Aws;
use store::clock::Clock;
use store::content::{ContentTable, SourceTable};
use store::deployment::{self, EnvironmentError};
use store::metrics::Metrics;
use store::reconcile::{KnownSites, Reconciler};
use store::s3::S3Objects;

use crate::stack::Stack;
use crate::tables::{BUCKET, CONTENT_TABLE, SITEMAP_TABLE};

/// The tables and the bucket that the operator asks about.
#[derive(Debug)]
pub struct Target {
    /// Both tables.
    pub reconciler: Reconciler<ContentTable, SitemapTable>,
    /// The bucket.
    pub objects: S3Objects,
}

impl Target {
    /// A local stack that runs on these ports, with the table of the user's that it was started with.
    #[must_use]
    pub fn local(dynamodb_port: u16, s3_port: u16, source: Option<SourceTable>) -> Self {
        let endpoint = |port| format!("http://127.0.0.1:{port}");
        let aws = Aws::on_loopback(&endpoint(dynamodb_port), &endpoint(s3_port), Vec::new());
        let reconciler = Reconciler {
            content: ContentTable::new(aws.clone(), CONTENT_TABLE.to_owned()).with_source(source),
            table: SitemapTable::new(aws.clone(), SITEMAP_TABLE.to_owned()),
            known: KnownSites::Any,
            clock: Clock::system(),
            metrics: Metrics::default(),
        };
        let objects = S3Objects::new(aws, BUCKET.to_owned());
        Self {
            reconciler,
            objects,
        }
    }

    /// A stack of this process.
    #[must_use]
    pub fn of(stack: &Stack) -> Self {
        Self {
            reconciler: stack.reconciler.clone(),
            objects: stack.objects.clone(),
        }
    }

    /// The deployment that the environment names, as it does for the functions.
    ///
    /// # Errors
    ///
    /// If a variable is missing, or the user's table cannot be read as they say.
    pub fn from_environment() -> Result<Self, EnvironmentError> {
        let aws = Aws::from_environment();
        Ok(Self {
            // What an operator does is none of the functions' metrics, and their lines are no report.
            reconciler: Reconciler {
                metrics: Metrics::default(),
                ..deployment::reconciler(&aws)?
            },
            objects: deployment::objects(&aws)?,
        })
    }
}
