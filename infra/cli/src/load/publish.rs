//! `waymark load --publish`: writes a site's settings record last, and then waits until the site is published.
//!
//! A site that becomes known is published when all that is in the table has been read. So its records have to be there, and
//! to have been noticed, before its settings are.

use std::collections::VecDeque;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use engine::error::EngineError;
use engine::rows::site::Hold;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use sitemap::site::{SITE_ID_PREFIX, SITE_TYPE, SiteSettings};
use tokio::time::{Instant, sleep};

use crate::content::Item;
use crate::content::attributes::plain;
use crate::deployment::target::Target;
use crate::error::permission;
use crate::terminal::progress::{Progress, Unit};

/// How many of the last records are looked for. DynamoDB's streams keep the order within a partition, and so many ids are spread over
/// all partitions of a new table.
pub const LAST: usize = 1_000;
/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Reads at the same time.
const READS: usize = 16;

/// Why a site was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A table fails.
    #[error(transparent)]
    Store(#[from] EngineError),
    /// The content table fails.
    #[error("failed to write the site's settings: {0}")]
    Table(String),
    /// The host cannot be a site's.
    #[error("{host:?} is not a site's host: {error}")]
    Host {
        /// The host.
        host: String,
        /// Why.
        error: sitemap::loc::LocError,
    },
    /// It takes too long.
    #[error(
        "gave up waiting for {what} after {limit:?} (--timeout): see `waymark status`, and run the same command \
         again to wait longer"
    )]
    Late {
        /// What it waited for.
        what: String,
        /// How long.
        limit: Duration,
    },
}

/// What is kept of a load for its site.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// The id of the site's settings.
    pub(super) id: String,
    /// The settings, if a line had them.
    pub(super) settings: Option<Item>,
    /// The last ids that were written.
    pub(super) last: VecDeque<String>,
}

impl Held {
    /// Keeps back the settings of this site.
    #[must_use]
    pub fn of(host: &str) -> Self {
        Self {
            id: format!("{SITE_ID_PREFIX}{host}"),
            ..Self::default()
        }
    }

    pub(super) fn written(&mut self, id: &str) {
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(id.to_owned());
    }
}

/// Waits until the loaded records are noticed, writes the site's settings, and waits until the site is published as they say.
///
/// # Errors
///
/// If a table fails, or it takes longer than `timeout`.
pub async fn publish(
    target: &Target,
    client: &Client,
    table: &str,
    host: &str,
    held: Held,
    timeout: Duration,
) -> Result<(), PublishError> {
    let deadline = Instant::now() + timeout;
    let late = |what: &str| PublishError::Late {
        what: what.to_owned(),
        limit: timeout,
    };
    noticed(target, &held, deadline, || {
        late("`ingest` to read what was loaded")
    })
    .await?;
    let settings = write(client, table, &held).await?;
    let wanted = SiteSettings::parse(host, &settings).map_err(|error| PublishError::Host {
        host: host.to_owned(),
        error,
    })?;
    let mut progress =
        Progress::begin(&format!("publishing {host}"), Unit::Things("seconds"), None);
    let begun = Instant::now();
    while !is_published(target, host, &wanted).await? {
        if Instant::now() > deadline {
            return Err(late(&format!("{host} to be published")));
        }
        sleep(LOOK_EVERY).await;
        progress.reach(begun.elapsed().as_secs());
    }
    Ok(())
}

/// Waits until the last records that were written have a ledger.
async fn noticed(
    target: &Target,
    held: &Held,
    deadline: Instant,
    late: impl Fn() -> PublishError,
) -> Result<(), PublishError> {
    let total = held.last.len() as u64;
    let mut progress = Progress::begin("waiting for ingest", Unit::Things("records"), Some(total));
    let mut left: Vec<String> = held.last.iter().cloned().collect();
    loop {
        let looks = stream::iter(left).map(async |id| {
            let ledger = target.reconciler.table.ledger(&id).await?;
            Ok::<_, EngineError>(ledger.is_none().then_some(id))
        });
        let unseen: Vec<Option<String>> = looks.buffer_unordered(READS).try_collect().await?;
        left = unseen.into_iter().flatten().collect();
        progress.reach(total - left.len() as u64);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(late());
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Writes the settings that a line had, or else the table, or else none but the site's name; returns them.
async fn write(client: &Client, table: &str, held: &Held) -> Result<Value, PublishError> {
    let id = AttributeValue::S(held.id.clone());
    let item = match &held.settings {
        Some(settings) => settings.clone(),
        None => {
            let get = client.get_item().table_name(table).consistent_read(true);
            let found = get.key("id", id.clone()).send().await;
            let found = found.map_err(|error| {
                PublishError::Table(permission::dynamodb("GetItem", table, &error))
            })?;
            if let Some(item) = found.item {
                return Ok(plain(&item, &mut false));
            }
            let fields = [
                ("id", id),
                ("type", AttributeValue::S(SITE_TYPE.to_owned())),
            ];
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()
        }
    };
    let settings = plain(&item, &mut false);
    let put = client.put_item().table_name(table).set_item(Some(item));
    put.send()
        .await
        .map_err(|error| PublishError::Table(permission::dynamodb("PutItem", table, &error)))?;
    Ok(settings)
}

/// Returns whether all of a site is published by these settings.
async fn is_published(
    target: &Target,
    host: &str,
    wanted: &SiteSettings,
) -> Result<bool, EngineError> {
    let table = &target.reconciler.table;
    let Some(row) = table.site(host).await? else {
        return Ok(false);
    };
    if row.settings != *wanted || row.hold != Hold::Released {
        return Ok(false);
    }
    let content = table.content_scan().await?;
    let is_scanning = content.is_some_and(|scan| scan.is_active());
    Ok(!is_scanning && table.site_scan(host).await?.is_none())
}
