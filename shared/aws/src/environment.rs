//! The resources of a deployment, as the environment of its functions names them.

use std::env::VarError;
use std::io::Write;
use std::sync::Arc;

use engine::content::{Content, SourceTable};
use engine::metrics::{Metrics, Monitoring, UnknownMonitoring};
use engine::reconcile::{KnownSites, Reconciler};
use engine::{Env, SitemapTable};
use sitemap::mapping::MappingError;
use table::Schema;

use crate::clients::Aws;
use crate::clock::Clock;
use crate::dynamodb::DynamoDbTable;
use crate::failures::FailureBucket;
use crate::s3::S3Objects;

/// The content table's name.
pub const CONTENT_TABLE: &str = "CONTENT_TABLE";
/// The sitemap table's name.
pub const SITEMAP_TABLE: &str = "SITEMAP_TABLE";
/// The bucket's name.
pub const BUCKET_NAME: &str = "BUCKET_NAME";
/// Hosts of sites that need no settings record, separated by commas. `*` means any host.
pub const SITES: &str = "SITES";
/// The name of a user's table whose items are content too. Empty if there is none.
pub const SOURCE_TABLE: &str = "SOURCE_TABLE";
/// The user's table's field mapping, in JSON. Empty if there is no such table.
pub const SOURCE_MAPPING: &str = "SOURCE_MAPPING";
/// The stack's name, the dimension of its metrics. If it is empty or not set, no metrics are written.
pub const STACK_NAME: &str = "STACK_NAME";
/// The level of monitoring ([`Monitoring`]), which decides which metrics are written. If it is not set, all are.
pub const MONITORING: &str = "MONITORING";
/// The failure bucket's name.
pub const FAILURE_BUCKET: &str = "FAILURE_BUCKET";

/// An invalid environment, which `template.yaml` should have prevented.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable is missing. If an operator's command treated it as empty, every page of the user's table would look deleted.
    #[error("environment variable {name}: {cause}")]
    Variable {
        /// Its name.
        name: &'static str,
        /// Why it cannot be read.
        cause: VarError,
    },
    /// The level of monitoring is unknown.
    #[error("{MONITORING}: {0}")]
    Monitoring(#[from] UnknownMonitoring),
    /// The user's table cannot be read with these settings.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Why a user's table cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The table's mapping is missing.
    #[error("{SOURCE_TABLE} is {0}, and {SOURCE_MAPPING} is empty: give both or none")]
    NoMapping(String),
    /// The table's name is missing.
    #[error("{SOURCE_MAPPING} is given, and {SOURCE_TABLE} is empty: give both or none")]
    NoTable,
    /// The table is one of Waymark's own, so Waymark would read what it writes itself.
    #[error("{SOURCE_TABLE}: {0} is one of Waymark's own tables")]
    Own(String),
    /// The mapping is malformed.
    #[error("{SOURCE_MAPPING}: {0}")]
    Mapping(#[from] MappingError),
}

/// Reads an environment variable.
///
/// # Errors
///
/// If it is not set, or not text.
pub fn variable(name: &'static str) -> Result<String, EnvironmentError> {
    std::env::var(name).map_err(|cause| EnvironmentError::Variable { name, cause })
}

/// The environment variables of a function that reconciles.
pub const RECONCILER_VARIABLES: [&str; 7] = [
    CONTENT_TABLE,
    SITEMAP_TABLE,
    SITES,
    SOURCE_TABLE,
    SOURCE_MAPPING,
    STACK_NAME,
    MONITORING,
];

/// Returns the user's table from its name and its mapping. Returns `None` if both are empty. `own` are Waymark's tables.
///
/// # Errors
///
/// If one of them is empty and the other is not, or if the table is one of Waymark's. Also for all problems of the mapping.
pub fn source(
    table: &str,
    mapping: &str,
    own: &[String],
) -> Result<Option<SourceTable>, SourceError> {
    match (table.trim(), mapping.trim()) {
        ("", "") => Ok(None),
        (table, _) if own.iter().any(|own| own == table) => Err(SourceError::Own(table.to_owned())),
        (table, "") => Err(SourceError::NoMapping(table.to_owned())),
        ("", _) => Err(SourceError::NoTable),
        (table, mapping) => Ok(Some(SourceTable::new(table.to_owned(), mapping)?)),
    }
}

/// Returns a reconciler with the tables that the environment names. No client is built yet.
///
/// # Errors
///
/// If a variable is missing, or the settings of the user's table are invalid.
pub fn reconciler(aws: &Aws) -> Result<Reconciler, EnvironmentError> {
    let own = [variable(CONTENT_TABLE)?, variable(SITEMAP_TABLE)?];
    let source = source(&variable(SOURCE_TABLE)?, &variable(SOURCE_MAPPING)?, &own)?;
    let [content_name, sitemap_name] = own;
    let env = Clock::system().env();
    Ok(Reconciler {
        content: content(aws, content_name, source, &env),
        table: sitemap_table(aws, sitemap_name, &env),
        known: KnownSites::parse(&variable(SITES)?),
        env,
        metrics: metrics()?,
    })
}

/// Returns the content in the table of this name, and in the user's table if there is one.
#[must_use]
pub fn content(aws: &Aws, name: String, source: Option<SourceTable>, env: &Env) -> Content {
    let table = |name, schema| Arc::new(DynamoDbTable::new(aws.clone(), name, schema));
    let own = table(name, Schema::of_texts(&["id"]));
    let content = Content::new(own, env.clone());
    match source {
        None => content,
        Some(source) => {
            let schema = Schema::of(source.mapping().key());
            let table = table(source.name().to_owned(), schema);
            content.with_source(source, table)
        }
    }
}

/// Returns the sitemap table of this name.
#[must_use]
pub fn sitemap_table(aws: &Aws, name: String, env: &Env) -> SitemapTable {
    let schema = Schema::of_texts(&["pk", "sk"]);
    let table = DynamoDbTable::new(aws.clone(), name, schema);
    SitemapTable::new(Arc::new(table), env.clone())
}

/// Returns the stack's metrics, which are written to standard output. No metrics are written if the environment names no stack.
///
/// # Errors
///
/// If [`MONITORING`] is set to an unknown level.
pub fn metrics() -> Result<Metrics, EnvironmentError> {
    let stack = std::env::var(STACK_NAME).unwrap_or_default();
    let monitoring = match std::env::var(MONITORING) {
        Ok(name) => name.parse()?,
        Err(_) => Monitoring::default(),
    };
    Ok(Metrics::of(&stack, monitoring, |line| {
        if let Err(error) = writeln!(std::io::stdout().lock(), "{line}") {
            tracing::warn!(%error, "metrics were not written");
        }
    }))
}

/// Returns the bucket that the environment names.
///
/// # Errors
///
/// If its variable is missing.
pub fn objects(aws: &Aws) -> Result<S3Objects, EnvironmentError> {
    Ok(S3Objects::new(aws.clone(), variable(BUCKET_NAME)?))
}

/// Returns the failure bucket that the environment names.
///
/// # Errors
///
/// If its variable is missing.
pub fn failures(aws: &Aws) -> Result<FailureBucket, EnvironmentError> {
    Ok(FailureBucket::new(aws.clone(), variable(FAILURE_BUCKET)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_table_has_a_name_and_a_mapping_that_can_be_read() {
        let good = r#"{"key": [{"id": "S"}], "fields": {"type": "type", "url": "url"}}"#;
        let own = ["content".to_owned(), "sitemap".to_owned()];
        assert!(source("", " \n", &own).unwrap().is_none());
        assert_eq!(
            source("posts", good, &own).unwrap().unwrap().name(),
            "posts"
        );
        let told = |table, mapping| source(table, mapping, &own).unwrap_err().to_string();
        for table in &own {
            assert!(told(table, good).ends_with("is one of Waymark's own tables"));
        }
        assert_eq!(
            told("posts", ""),
            "SOURCE_TABLE is posts, and SOURCE_MAPPING is empty: give both or none"
        );
        assert!(told("", good).starts_with("SOURCE_MAPPING is given, and SOURCE_TABLE is empty"));
        // Every problem is reported.
        let bad = told("posts", r#"{"key": [], "fields": {"ur": "x"}}"#);
        for place in [
            "SOURCE_MAPPING: key: ",
            "; fields.ur: ",
            "; fields.url: ",
            "; fields.type: ",
        ] {
            assert!(bad.contains(place), "{place} in {bad}");
        }
    }
}
