//! The site's row: its settings, and the state of its publication. `SITE#<site>`.
//!
//! - A new row is on hold, and is written together with a scan ([`scan`](super::scan)). On hold, rows are written and nothing is
//!   published.
//! - The row has the settings, with a version that only rises. Objects made from them have that version in their stamp.
//! - If the part of a document around its entries changes, the site gets a new epoch. Then every object is built whole instead of
//!   spliced.

use std::collections::BTreeMap;

use objects::{Closings, ObjectKey, Objects};
use sitemap::RENDER_VERSION;
use sitemap::site::SiteSettings;
use sitemap::stylesheet;
use table::{Action, Condition, Item, Update};

use super::key::{ALONE, Key, RowKey, escape, key, unescape};
use super::scan::SiteStep;
use super::table::{SitemapTable, damaged, item_key};
use crate::error::EngineError;

/// Prefix of the partitions of sites.
pub const PREFIX: &str = "SITE#";

/// The revision of a deployment without a user's table.
pub const NO_SOURCE: &str = "none";

/// Returns the key of a site's row: `SITE#<site>`.
#[must_use]
pub fn site(site: &str) -> Key {
    key(format!("{}{}", PREFIX, escape(site)), ALONE)
}

/// Returns the host whose row has this key.
fn host_of(rest: &str, sk: &str) -> Option<String> {
    unescape(rest).filter(|_| sk == ALONE)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    host_of(rest, sk).map(RowKey::Site)
}

/// Whether a site is on hold, and which part of it may be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The site's entries are being written for the first time, and nothing is published.
    Loading,
    /// The entries are complete. Shards are published, the index is not.
    Publishing,
    /// There is no hold. Everything is published as it changes.
    Released,
}

/// A site's row.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteRow {
    /// A random number. Objects with another one belong to a dropped table, or to settings with other frames.
    pub epoch: u64,
    /// The hold.
    pub hold: Hold,
    /// The version of the settings. It rises with every change of them.
    pub version: u64,
    /// The [`RENDER_VERSION`] of its entries, or the one to which they are being changed.
    pub render: u32,
    /// The revision of the content's tables from which its entries were or are being made.
    pub source: String,
    /// The settings.
    pub settings: SiteSettings,
    /// The number of indexes that the site needs, and that robots.txt names. At least 1.
    pub indexes: u32,
    /// The number of indexes that may have an object. Never less than [`SiteRow::indexes`]. The objects beyond those are empty.
    pub index_objects: u32,
    /// Whether its llms.txt may have an object, even if the site no longer wants one.
    pub llms_object: bool,
    /// Whether the site may have published departures.
    pub departures: bool,
    /// The times at which the settings closed or reopened the site and its series.
    pub closings: Closings,
}

/// The objects of a site, as far as its row has to count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedCounts {
    /// The highest number of an index.
    pub indexes: u32,
    /// Whether there is an llms.txt.
    pub llms: bool,
    /// Whether there is a file of departures.
    pub departures: bool,
}

impl PublishedCounts {
    /// Counts a site's objects by their keys.
    #[must_use]
    pub fn of(keys: &[ObjectKey]) -> Self {
        let indexes = keys.iter().filter_map(|key| match key {
            ObjectKey::Index { n, .. } => Some(*n),
            _ => None,
        });
        Self {
            indexes: indexes.max().unwrap_or_default(),
            llms: keys.iter().any(|key| matches!(key, ObjectKey::Llms { .. })),
            departures: keys
                .iter()
                .any(|key| matches!(key, ObjectKey::Departures { .. })),
        }
    }
}

fn hold_name(hold: Hold) -> Option<&'static str> {
    match hold {
        Hold::Loading => Some("loading"),
        Hold::Publishing => Some("publishing"),
        Hold::Released => None,
    }
}

/// Returns a site's row.
pub(crate) fn read_site(host: &str, item: &Item) -> Result<SiteRow, EngineError> {
    let damaged = |name| damaged(&self::site(host), name);
    let settings = item.text("settings").ok_or_else(|| damaged("settings"))?;
    let count = |name| match item.get(name) {
        None => Ok(1),
        Some(_) => item.number(name).ok_or_else(|| damaged(name)),
    };
    let indexes = count("indexes")?;
    let closings = item.text("closings");
    let closings = closings.and_then(|json| serde_json::from_str(json).ok());
    let settings: SiteSettings = serde_json::from_str(settings).map_err(|_| damaged("settings"))?;
    Ok(SiteRow {
        epoch: item.number("epoch").ok_or_else(|| damaged("epoch"))?,
        hold: match item.text("hold") {
            None => Hold::Released,
            Some("loading") => Hold::Loading,
            Some("publishing") => Hold::Publishing,
            Some(_) => return Err(damaged("hold")),
        },
        version: item.number("version").ok_or_else(|| damaged("version"))?,
        render: item.number("render").ok_or_else(|| damaged("render"))?,
        source: item.text("source").unwrap_or(NO_SOURCE).to_owned(),
        llms_object: settings.llms.is_some() || item.get("llms_object").is_some(),
        departures: item.get("departures").is_some(),
        settings,
        indexes,
        index_objects: count("index_objects")?.max(indexes),
        // Without them a Last-Modified might become earlier.
        closings: closings.ok_or_else(|| damaged("closings"))?,
    })
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns a site's row, read consistently.
    pub async fn site(&self, host: &str) -> Result<Option<SiteRow>, EngineError> {
        self.item(&self::site(host))
            .await?
            .map(|item| read_site(host, &item))
            .transpose()
    }

    /// Returns the rows of these sites that have one, read consistently.
    pub(crate) async fn sites(
        &self,
        hosts: impl IntoIterator<Item = &String>,
    ) -> Result<BTreeMap<String, Result<SiteRow, EngineError>>, EngineError> {
        let keys: Vec<_> = hosts.into_iter().map(|host| self::site(host)).collect();
        let items = self.items(&keys).await?;
        let row = |item: &Item| {
            let key = item_key(item)?;
            let host = host_of(key.pk.strip_prefix(PREFIX)?, &key.sk)?;
            Some((host.clone(), read_site(&host, item)))
        };
        Ok(items.iter().filter_map(row).collect())
    }

    /// Creates a site's row, on hold, and its scan. The first row of a table also requests the scan of all content. Does nothing
    /// if the row exists. `source` is the content's revision.
    pub async fn create_site(
        &self,
        settings: &SiteSettings,
        source: &str,
        now: i64,
    ) -> Result<(), EngineError> {
        let row = Item::from(&self::site(&settings.host))
            .with("epoch", self.env.random())
            .with("hold", "loading")
            .with("version", 1)
            .with("render", RENDER_VERSION)
            .with("source", source)
            .with("settings", settings_json(settings))
            .with("closings", closings_json(&Closings::made(now)));
        let create = Action::put(row).when(Condition::lacks("pk"));
        self.begin_timers(now).await?;
        // Every new entry is made under this row. Older entries exist only if the row was lost.
        let from = if self.series(&settings.host).await?.is_empty() {
            SiteStep::LeftOutAgain { after: None }
        } else {
            SiteStep::BEGINNING
        };
        let mut actions = vec![create, self.scan_site(&settings.host, &from, now)];
        if self.content_scan().await?.is_none() {
            actions.push(self.want_content_scan());
        }
        self.transact_once(actions).await.map(drop)
    }

    /// Puts a fresh token into a site's row and returns both. Returns `None` if there is no row.
    pub async fn fence_site(&self, host: &str) -> Result<Option<(String, SiteRow)>, EngineError> {
        let key = self::site(host);
        let fenced = self.fence_row(&key, Some(Condition::has("pk")));
        let Some((token, item)) = fenced.await? else {
            return Ok(None);
        };
        let row = read_site(host, &item)?;
        Ok(Some((token, row)))
    }

    /// Writes settings and the content's revision under a fence's token, and starts a scan of the site or, for another revision,
    /// of all content. Other frames give the site a new epoch. `now` is the time at which the settings close or reopen series.
    /// Returns `false` if the token has changed.
    pub async fn change_site(
        &self,
        token: &str,
        settings: &SiteSettings,
        source: &str,
        now: i64,
    ) -> Result<bool, EngineError> {
        // As long as the token is unchanged, the settings read here are current.
        let Some(row) = self.site(&settings.host).await? else {
            return Ok(false);
        };
        let framed =
            row.render == RENDER_VERSION && stylesheet::same_frames(&row.settings, settings);
        let epoch = if framed { row.epoch } else { self.env.random() };
        let closings = row.closings.changed(&row.settings, settings, now);
        let mut update = Update::new()
            .set("settings", settings_json(settings))
            .set("render", RENDER_VERSION)
            .set("source", source)
            .set("epoch", epoch)
            .set("closings", closings_json(&closings))
            // A request may arrive twice, the second time much later. Then it would restart a scan that is complete.
            .remove("token")
            .add("version", 1);
        if row.llms_object {
            update = update.set("llms_object", true);
        }
        let change = Action::update(&self::site(&settings.host), update)
            .when(Condition::equals("token", token));
        let mut actions = vec![change];
        if row.render != RENDER_VERSION || row.settings != *settings {
            actions.push(self.scan_site(&settings.host, &SiteStep::BEGINNING, now));
        }
        if row.source != source {
            actions.push(self.want_content_scan());
        }
        self.transact_once(actions).await
    }

    /// Writes how many indexes a site needs and how many may have an object, and raises its version, if the version is still
    /// `version`.
    pub async fn count_indexes(
        &self,
        host: &str,
        version: u64,
        indexes: u32,
        index_objects: u32,
    ) -> Result<bool, EngineError> {
        let update = Update::new()
            .set("indexes", indexes)
            .set("index_objects", index_objects)
            .add("version", 1);
        let unchanged = Condition::equals("version", version);
        let key = self::site(host);
        let counted = self.update_if(&key, update, unchanged);
        Ok(counted.await?.is_some())
    }

    /// Remembers that a site's llms.txt has an object.
    pub async fn note_llms_object(&self, host: &str) -> Result<(), EngineError> {
        let update = Update::new().set("llms_object", true);
        let is_there = Condition::has("pk");
        let key = self::site(host);
        self.update_if(&key, update, is_there).await.map(drop)
    }

    /// Remembers that a site has published departures, and raises its version, which has the site file published.
    pub async fn note_departures(&self, host: &str) -> Result<(), EngineError> {
        // Each published file asks for it, and a read costs a fifth of a write that fails.
        let row = self.item(&self::site(host)).await?;
        if row.is_some_and(|row| row.get("departures").is_some()) {
            return Ok(());
        }
        let update = Update::new().set("departures", true).add("version", 1);
        let is_new = Condition::has("pk").and(Condition::lacks("departures"));
        let key = self::site(host);
        self.update_if(&key, update, is_new).await.map(drop)
    }

    /// Raises the counts of a site's objects in its row, if they are too low: a dropped table has left objects, or a count was
    /// lost. Then the objects that are not needed are emptied.
    pub async fn count_objects(
        &self,
        host: &str,
        objects: &dyn Objects,
    ) -> Result<(), EngineError> {
        let Some(row) = self.site(host).await? else {
            return Ok(());
        };
        let found = PublishedCounts::of(&objects.list(host).await?);
        if found.llms && !row.llms_object {
            self.note_llms_object(host).await?;
        }
        if found.departures && !row.departures {
            self.note_departures(host).await?;
            // That has raised the version.
            return Box::pin(self.count_objects(host, objects)).await;
        }
        if found.indexes <= row.index_objects
            || self
                .count_indexes(host, row.version, row.indexes, found.indexes)
                .await?
        {
            return Ok(());
        }
        Err(EngineError::Contended {
            what: format!("site {host}"),
            tries: 1,
        })
    }

    /// Raises the version of a site's settings. The event of the write publishes index, robots.txt and site file.
    pub async fn lift_site(&self, host: &str) -> Result<(), EngineError> {
        let (key, update) = (self::site(host), Update::new().add("version", 1));
        let lifted = self.update_if(&key, update, Condition::has("pk"));
        lifted.await.map(drop)
    }

    /// Changes a site's hold from `from` to `to`. Does nothing if the hold is not `from`.
    pub async fn move_hold(&self, host: &str, from: Hold, to: Hold) -> Result<(), EngineError> {
        let update = Update::new().set_or_remove("hold", hold_name(to));
        let is_there = Condition::equals("hold", hold_name(from).unwrap_or_default());
        self.update_if(&self::site(host), update, is_there).await?;
        Ok(())
    }
}

fn settings_json(settings: &SiteSettings) -> String {
    serde_json::to_string(settings).expect("settings have text keys alone")
}

fn closings_json(closings: &Closings) -> String {
    serde_json::to_string(closings).expect("times have text keys alone")
}
