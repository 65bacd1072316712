//! The site's row and the background scan's row: what a site's objects belong to, and what is still to be done for it.
//!
//! - A site that has no row gets one on hold, together with a place in the scan. On hold, rows are written and nothing
//!   is published.
//! - The settings stand in the row, under a version that only rises: what is made from them can be stamped.
//! - The epoch is another one whenever what stands around entries changes: then no object is spliced on, and each is
//!   built whole.
//! - There is one scan for all sites. A pass serves every site that waits when it begins.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, Put, ReturnValue, TransactWriteItem, Update,
};
use serde::{Deserialize, Serialize};
use sitemap::member::FORMAT_VERSION;
use sitemap::site::SiteSettings;
use sitemap::stylesheet;

use crate::content::NO_SOURCE;
use crate::error::{StoreError, service};
use crate::keys::{self, Key};
use crate::site_file::Closings;
use crate::table::{
    Item, SitemapTable, damaged, get_number, get_text, key_item, number, send, text,
};

/// What rendered entries look like, and what stands around them. A higher one than a site's makes the scan render every
/// entry of it again and build every object.
pub const RENDER_VERSION: u32 = 2;
const _: () = assert!(
    FORMAT_VERSION == 1,
    "a new file format needs a new epoch for every site, which a new RENDER_VERSION gives it: raise both"
);

/// Whether a site may be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Its entries are being written for the first time: nothing is published.
    Loading,
    /// They are complete: shards are published, the index is not.
    Publishing,
    /// None: everything is published as it changes.
    Released,
}

/// A site's row.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteRow {
    /// Random: objects that have another one belong to a table that was dropped, or to settings with other frames.
    pub epoch: u64,
    /// Whether it may be published.
    pub hold: Hold,
    /// Rises with every change of the settings.
    pub version: u64,
    /// The [`RENDER_VERSION`] that its entries were or are being rendered with.
    pub render: u32,
    /// The revision of the content's tables that its entries were or are being made from.
    pub source: String,
    /// The settings.
    pub settings: SiteSettings,
    /// Indexes that the site needs, and that robots.txt names: 1 or more.
    pub indexes: u32,
    /// Indexes that may have an object, never fewer than [`SiteRow::indexes`]: what is beyond those is empty.
    pub index_objects: u32,
    /// When the settings closed and reopened what they did.
    pub closings: Closings,
}

/// The background scan of the content table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Changes with every change of the row. Random, never a counter: the row goes and comes back.
    pub token: String,
    /// Sites that the next pass will serve.
    pub waiting: BTreeSet<String>,
    /// The pass under way.
    pub pass: Option<Pass>,
}

/// One pass of the scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The sites that it serves.
    pub sites: BTreeSet<String>,
    /// How far it is.
    pub step: Step,
    /// Records reconciled so far.
    pub records: u64,
    /// Unix seconds of the last progress.
    pub at: i64,
}

/// How far a pass is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Reconciling the records from this id on, in the table's order.
    Scan {
        /// The last id of the page before; nothing at the beginning.
        after: Option<String>,
    },
    /// Publishing the shards of the sites on hold from this place on.
    Publish {
        /// The site and the path of the last shard published; nothing at the beginning.
        after: Option<(String, String)>,
    },
}

/// Sites and the scan.
pub trait Sites: Send + Sync {
    /// A site's row, read consistently.
    fn site(&self, host: &str) -> impl Future<Output = Result<Option<SiteRow>, StoreError>> + Send;

    /// Creates a site's row, on hold and waiting for the scan. Nothing happens if there is one. `source` is the content's
    /// revision.
    fn create_site(
        &self,
        settings: &SiteSettings,
        source: &str,
        now: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Puts a fresh token into a site's row and returns both; nothing if there is no row.
    fn fence_site(
        &self,
        host: &str,
    ) -> impl Future<Output = Result<Option<(String, SiteRow)>, StoreError>> + Send;

    /// Writes settings and the content's revision under a fence's token and lets the site wait for the scan; the epoch is
    /// a new one if the frames are, and what the settings close or reopen, they do `now`. False if the token is another's.
    fn change_site(
        &self,
        token: &str,
        settings: &SiteSettings,
        source: &str,
        now: i64,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Writes how many indexes a site needs and how many may have an object, and raises its version, if that is still
    /// `version`.
    fn count_indexes(
        &self,
        host: &str,
        version: u64,
        indexes: u32,
        index_objects: u32,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Moves a site's hold on. Nothing happens if it is not `from`.
    fn move_hold(
        &self,
        host: &str,
        from: Hold,
        to: Hold,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Lets a site wait for the scan.
    fn enqueue_site(&self, host: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The scan, if there is anything to do.
    fn job(&self) -> impl Future<Output = Result<Option<Job>, StoreError>> + Send;

    /// Writes what is left to do if the scan's token is still `token`; deletes the row if that is nothing. The write is
    /// the event for the next slice.
    fn advance_job(
        &self,
        token: &str,
        job: Option<&Job>,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

fn hold_name(hold: Hold) -> Option<&'static str> {
    match hold {
        Hold::Loading => Some("loading"),
        Hold::Publishing => Some("publishing"),
        Hold::Released => None,
    }
}

/// A site's row.
pub(crate) fn read_site(host: &str, item: &Item) -> Result<SiteRow, StoreError> {
    let damaged = |name| damaged(&keys::site(host), name);
    let settings = get_text(item, "settings").ok_or_else(|| damaged("settings"))?;
    let count = |name| match item.get(name) {
        None => Ok(1),
        Some(_) => get_number(item, name).ok_or_else(|| damaged(name)),
    };
    let indexes = count("indexes")?;
    // A row of an earlier version has none.
    let closings = match item.get("closings") {
        None => Closings::default(),
        Some(_) => get_text(item, "closings")
            .and_then(|json| serde_json::from_str(json).ok())
            .ok_or_else(|| damaged("closings"))?,
    };
    Ok(SiteRow {
        epoch: get_number(item, "epoch").ok_or_else(|| damaged("epoch"))?,
        hold: match get_text(item, "hold") {
            None => Hold::Released,
            Some("loading") => Hold::Loading,
            Some("publishing") => Hold::Publishing,
            Some(_) => return Err(damaged("hold")),
        },
        version: get_number(item, "version").ok_or_else(|| damaged("version"))?,
        render: get_number(item, "render").ok_or_else(|| damaged("render"))?,
        source: get_text(item, "source").unwrap_or(NO_SOURCE).to_owned(),
        settings: serde_json::from_str(settings).map_err(|_| damaged("settings"))?,
        indexes,
        index_objects: count("index_objects")?.max(indexes),
        closings,
    })
}

/// The scan's row.
pub(crate) fn read_job(key: &Key, item: &Item) -> Result<Job, StoreError> {
    let pass = get_text(item, "pass")
        .map(serde_json::from_str)
        .transpose()
        .map_err(|_| damaged(key, "pass"))?;
    let waiting = item.get("waiting").and_then(|waiting| waiting.as_ss().ok());
    Ok(Job {
        token: get_text(item, "token")
            .ok_or_else(|| damaged(key, "token"))?
            .to_owned(),
        waiting: waiting.into_iter().flatten().cloned().collect(),
        pass,
    })
}

impl SitemapTable {
    /// The action that lets a site wait for the scan.
    fn enqueue(&self, host: &str) -> TransactWriteItem {
        let update = Update::builder()
            .table_name(&self.name)
            .set_key(Some(key_item(&keys::job())))
            .update_expression("SET #token = :token ADD waiting :site")
            .expression_attribute_names("#token", "token")
            .expression_attribute_values(":site", AttributeValue::Ss(vec![host.to_owned()]))
            .expression_attribute_values(":token", text(fresh_token()))
            .build();
        TransactWriteItem::builder()
            .update(update.expect("a complete action"))
            .build()
    }

    /// True if the transaction was done, false if a condition did not hold.
    pub(crate) async fn transact(
        &self,
        actions: Vec<TransactWriteItem>,
    ) -> Result<bool, StoreError> {
        let request = self
            .aws
            .dynamodb()
            .await
            .transact_write_items()
            .set_transact_items(Some(actions));
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(cancelled))
                    if cancelled
                        .cancellation_reasons()
                        .iter()
                        .any(|reason| reason.code() == Some("ConditionalCheckFailed")) =>
                {
                    Ok(false)
                }
                _ => Err(service("TransactWriteItems")(error)),
            },
        }
    }
}

impl Sites for SitemapTable {
    async fn site(&self, host: &str) -> Result<Option<SiteRow>, StoreError> {
        self.item(&keys::site(host))
            .await?
            .map(|item| read_site(host, &item))
            .transpose()
    }

    async fn create_site(
        &self,
        settings: &SiteSettings,
        source: &str,
        now: i64,
    ) -> Result<(), StoreError> {
        let mut row = key_item(&keys::site(&settings.host));
        row.extend([
            ("epoch".to_owned(), number(fastrand::u64(..))),
            ("hold".to_owned(), text("loading")),
            ("version".to_owned(), number(1)),
            ("render".to_owned(), number(RENDER_VERSION)),
            ("source".to_owned(), text(source)),
            ("settings".to_owned(), text(settings_json(settings))),
            (
                "closings".to_owned(),
                text(closings_json(&Closings::made(now))),
            ),
        ]);
        let put = Put::builder()
            .table_name(&self.name)
            .set_item(Some(row))
            .condition_expression("attribute_not_exists(pk)");
        let put = TransactWriteItem::builder()
            .put(put.build().expect("a complete action"))
            .build();
        self.begin_timers(now).await?;
        self.transact(vec![put, self.enqueue(&settings.host)])
            .await?;
        Ok(())
    }

    async fn fence_site(&self, host: &str) -> Result<Option<(String, SiteRow)>, StoreError> {
        let token = fresh_token();
        let update = self
            .update(&keys::site(host))
            .await
            .update_expression("SET #token = :token")
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_names("#token", "token")
            .expression_attribute_values(":token", text(&token))
            .return_values(ReturnValue::AllNew);
        let Some(output) = send(update).await? else {
            return Ok(None);
        };
        let row = read_site(host, &output.attributes.unwrap_or_default())?;
        Ok(Some((token, row)))
    }

    async fn change_site(
        &self,
        token: &str,
        settings: &SiteSettings,
        source: &str,
        now: i64,
    ) -> Result<bool, StoreError> {
        // While the token stands, so do the settings that this reads.
        let Some(row) = self.site(&settings.host).await? else {
            return Ok(false);
        };
        let framed =
            row.render == RENDER_VERSION && stylesheet::same_frames(&row.settings, settings);
        let epoch = if framed { row.epoch } else { fastrand::u64(..) };
        let closings = row.closings.changed(&row.settings, settings, now);
        let update = Update::builder()
            .table_name(&self.name)
            .set_key(Some(key_item(&keys::site(&settings.host))))
            .update_expression(
                "SET settings = :settings, render = :render, #source = :source, epoch = :epoch, closings = :closings ADD #version :one",
            )
            .condition_expression("#token = :token")
            .expression_attribute_values(":epoch", number(epoch))
            .expression_attribute_values(":closings", text(closings_json(&closings)))
            .expression_attribute_names("#token", "token")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":settings", text(settings_json(settings)))
            .expression_attribute_values(":render", number(RENDER_VERSION))
            .expression_attribute_names("#source", "source")
            .expression_attribute_values(":source", text(source))
            .expression_attribute_values(":token", text(token))
            .expression_attribute_values(":one", number(1))
            .build();
        let update = TransactWriteItem::builder()
            .update(update.expect("a complete action"))
            .build();
        self.transact(vec![update, self.enqueue(&settings.host)])
            .await
    }

    async fn count_indexes(
        &self,
        host: &str,
        version: u64,
        indexes: u32,
        index_objects: u32,
    ) -> Result<bool, StoreError> {
        let update = self
            .update(&keys::site(host))
            .await
            .update_expression(
                "SET #indexes = :indexes, index_objects = :objects ADD #version :one",
            )
            .condition_expression("#version = :version")
            .expression_attribute_names("#version", "version")
            .expression_attribute_names("#indexes", "indexes")
            .expression_attribute_values(":indexes", number(indexes))
            .expression_attribute_values(":objects", number(index_objects))
            .expression_attribute_values(":version", number(version))
            .expression_attribute_values(":one", number(1));
        Ok(send(update).await?.is_some())
    }

    async fn move_hold(&self, host: &str, from: Hold, to: Hold) -> Result<(), StoreError> {
        let update = self
            .update(&keys::site(host))
            .await
            .expression_attribute_names("#hold", "hold")
            .condition_expression("#hold = :from")
            .expression_attribute_values(":from", text(hold_name(from).unwrap_or_default()));
        let update = match hold_name(to) {
            Some(to) => update
                .update_expression("SET #hold = :to")
                .expression_attribute_values(":to", text(to)),
            None => update.update_expression("REMOVE #hold"),
        };
        send(update).await?;
        Ok(())
    }

    async fn enqueue_site(&self, host: &str) -> Result<(), StoreError> {
        self.transact(vec![self.enqueue(host)]).await?;
        Ok(())
    }

    async fn job(&self) -> Result<Option<Job>, StoreError> {
        let key = keys::job();
        let Some(item) = self.item(&key).await? else {
            return Ok(None);
        };
        read_job(&key, &item).map(Some)
    }

    async fn advance_job(&self, token: &str, job: Option<&Job>) -> Result<bool, StoreError> {
        let key = keys::job();
        let action = match job {
            None => {
                let delete = Delete::builder()
                    .table_name(&self.name)
                    .set_key(Some(key_item(&key)))
                    .condition_expression("#token = :token")
                    .expression_attribute_names("#token", "token")
                    .expression_attribute_values(":token", text(token));
                TransactWriteItem::builder()
                    .delete(delete.build().expect("a complete action"))
                    .build()
            }
            Some(job) => {
                let mut item = key_item(&key);
                item.insert("token".to_owned(), text(fresh_token()));
                if !job.waiting.is_empty() {
                    item.insert(
                        "waiting".to_owned(),
                        AttributeValue::Ss(job.waiting.iter().cloned().collect()),
                    );
                }
                if let Some(pass) = &job.pass {
                    let pass = serde_json::to_string(pass).expect("a pass has text keys alone");
                    item.insert("pass".to_owned(), text(pass));
                }
                let put = Put::builder()
                    .table_name(&self.name)
                    .set_item(Some(item))
                    .condition_expression("#token = :token")
                    .expression_attribute_names("#token", "token")
                    .expression_attribute_values(":token", text(token));
                TransactWriteItem::builder()
                    .put(put.build().expect("a complete action"))
                    .build()
            }
        };
        self.transact(vec![action]).await
    }
}

/// A token that no other run has.
#[must_use]
pub fn fresh_token() -> String {
    format!("{:032x}", fastrand::u128(..))
}

fn settings_json(settings: &SiteSettings) -> String {
    serde_json::to_string(settings).expect("settings have text keys alone")
}

fn closings_json(closings: &Closings) -> String {
    serde_json::to_string(closings).expect("times have text keys alone")
}
