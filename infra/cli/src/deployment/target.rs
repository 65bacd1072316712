//! The tables and the bucket that the operator's commands read: those of the local stack, or of a deployment.

use std::sync::Arc;
use std::time::Duration;

use aws::environment::{self, EnvironmentError, SourceError, content, sitemap_table};
use aws::local_stack::{BUCKET, CONTENT_TABLE, SITEMAP_TABLE};
use aws::{Aws, Clock, S3Objects, Timeouts};
use engine::content::{NO_SOURCE, SourceTable};
use engine::error::EngineError;
use engine::metrics::Metrics;
use engine::reconcile::{KnownSites, Reconciler};
use objects::Objects;

use crate::deployment::stack::Parts;

/// The limits of a command's calls of a deployment: a redrive may put 50 MB over a slow line.
pub const TIMEOUTS: Timeouts = Timeouts {
    attempt: Duration::from_secs(60),
    operation: Duration::from_secs(180),
};

/// About how many items the tables have, for estimates. DynamoDB counts them each six hours
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html>).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The sitemap table's; nothing if that is not known.
    pub rows: Option<u64>,
    /// The content table's, with those of the user's table.
    pub records: Option<u64>,
}

impl Sizes {
    /// Reads the sizes. Without permission there is no estimate.
    pub async fn of(aws: &Aws, target: &Target) -> Self {
        let source = target.reconciler.content.source();
        let (rows, own, source) = futures::join!(
            items(aws, &target.sitemap_table),
            items(aws, &target.content_table),
            async {
                match source {
                    Some(source) => items(aws, source.name()).await,
                    None => Some(0),
                }
            },
        );
        Self {
            rows,
            records: own.zip(source).map(|(own, source)| own + source),
        }
    }
}

async fn items(aws: &Aws, table: &str) -> Option<u64> {
    let request = aws.dynamodb().await.describe_table().table_name(table);
    let table = request.send().await.ok()?.table?;
    table.item_count?.try_into().ok()
}

/// The tables and the bucket that the operator asks about.
#[derive(Debug)]
pub struct Target {
    /// Both tables.
    pub reconciler: Reconciler,
    /// The bucket.
    pub objects: Arc<dyn Objects>,
    /// The name of the content table.
    pub content_table: String,
    /// The name of the sitemap table.
    pub sitemap_table: String,
    /// About how many items the tables have, if that was asked for.
    pub sizes: Sizes,
}

/// This command does not read the content that a site is made from. It would take pages for gone that it only cannot see,
/// and `audit --repair` would remove them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}. {}", self.what(), .difference.remedy())]
pub struct Misread {
    site: String,
    difference: Difference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    /// The site has pages from a table of the user's, and the command has no such table.
    Unknown,
    /// The command has such a table, and the site has no pages from one.
    Unused,
    /// Both have one. Their names or mappings differ.
    Another,
}

impl Misread {
    /// Formats what was found, without what to do about it.
    #[must_use]
    pub fn what(&self) -> String {
        let Self { site, difference } = self;
        let what = difference.what();
        format!("{site}: {what}. Nothing was compared or changed")
    }
}

impl Difference {
    fn what(self) -> &'static str {
        match self {
            Self::Unknown => {
                "its pages also come from a table of your own, which this command was not given"
            }
            Self::Unused => {
                "its pages do not come from the table of your own that this command was given"
            }
            Self::Another => {
                "its pages come from a different table of your own, or by a different mapping, than this command was given"
            }
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Unknown => {
                "Add --source-table and --source-mapping as the stack has them; with --deployment, set SOURCE_TABLE and \
                 SOURCE_MAPPING"
            }
            Self::Unused => {
                "Leave out --source-table and --source-mapping; with --deployment, set SOURCE_TABLE and SOURCE_MAPPING to \
                 nothing. If the stack was given the table just now, try again in a minute"
            }
            Self::Another => {
                "Give --source-table and --source-mapping as the stack has them; with --deployment, set SOURCE_TABLE and \
                 SOURCE_MAPPING. If the stack's were changed just now, try again in a minute"
            }
        }
    }
}

impl Target {
    /// Finds the first of these sites that is made from other content than this reads: from another table of the user's, or by another
    /// mapping. Such a site must not be judged.
    ///
    /// # Errors
    ///
    /// If a table fails.
    pub async fn misread(
        &self,
        sites: impl IntoIterator<Item = &String>,
    ) -> Result<Option<Misread>, EngineError> {
        let Reconciler { content, table, .. } = &self.reconciler;
        let read = content.revision();
        for site in sites {
            let row = match table.site(site).await {
                // One that is lost or damaged is made again by the functions, and so are all its pages.
                Err(EngineError::Damaged { .. }) => None,
                row => row?,
            };
            let Some(row) = row.filter(|row| row.source != read) else {
                continue;
            };
            let difference = match (row.source.as_str(), read) {
                (NO_SOURCE, _) => Difference::Unused,
                (_, NO_SOURCE) => Difference::Unknown,
                _ => Difference::Another,
            };
            return Ok(Some(Misread {
                site: site.clone(),
                difference,
            }));
        }
        Ok(None)
    }

    /// Returns the local stack that runs on these ports, with the table of the user's that it was started with.
    #[must_use]
    pub fn local(dynamodb_port: u16, s3_port: u16, source: Option<SourceTable>) -> Self {
        let endpoint = |port| format!("http://127.0.0.1:{port}");
        let aws = Aws::on_loopback(&endpoint(dynamodb_port), &endpoint(s3_port), Vec::new());
        let env = Clock::system().env();
        let reconciler = Reconciler {
            content: content(&aws, CONTENT_TABLE.to_owned(), source, &env),
            table: sitemap_table(&aws, SITEMAP_TABLE.to_owned(), &env),
            known: KnownSites::Any,
            env,
            metrics: Metrics::default(),
        };
        let objects = Arc::new(S3Objects::new(aws, BUCKET.to_owned()));
        Self {
            reconciler,
            objects,
            content_table: CONTENT_TABLE.to_owned(),
            sitemap_table: SITEMAP_TABLE.to_owned(),
            sizes: Sizes::default(),
        }
    }

    /// Returns the deployment that the environment names, as it does for the functions.
    ///
    /// # Errors
    ///
    /// If a variable is missing, or the user's table cannot be read as they say.
    pub fn from_environment(aws: &Aws) -> Result<Self, EnvironmentError> {
        Ok(Self {
            // What an operator does is none of the functions' metrics, and their lines are no report.
            reconciler: Reconciler {
                metrics: Metrics::default(),
                ..environment::reconciler(aws)?
            },
            objects: Arc::new(environment::objects(aws)?),
            content_table: environment::variable(environment::CONTENT_TABLE)?,
            sitemap_table: environment::variable(environment::SITEMAP_TABLE)?,
            sizes: Sizes::default(),
        })
    }

    /// Returns the deployment that consists of these parts.
    ///
    /// # Errors
    ///
    /// If the user's table cannot be read as its mapping says.
    pub fn of_parts(aws: &Aws, parts: &Parts) -> Result<Self, SourceError> {
        let (content_table, sitemap_table_name) = (&parts.content_table, &parts.sitemap_table);
        let own = [content_table.clone(), sitemap_table_name.clone()];
        let source = environment::source(&parts.source_table, &parts.source_mapping, &own)?;
        let env = Clock::system().env();
        Ok(Self {
            reconciler: Reconciler {
                content: content(aws, content_table.clone(), source, &env),
                table: sitemap_table(aws, sitemap_table_name.clone(), &env),
                known: KnownSites::parse(&parts.sites),
                env,
                metrics: Metrics::default(),
            },
            objects: Arc::new(S3Objects::new(aws.clone(), parts.bucket.clone())),
            content_table: content_table.clone(),
            sitemap_table: sitemap_table_name.clone(),
            sizes: Sizes::default(),
        })
    }
}
