//! The rows of the scans: `JOB#scan`; `SCAN#sites`, site.
//!
//! A scan reconciles records that have not changed, but that may have to be listed differently.
//!
//! - The scan of all content finds records that no row names: those of a new or dropped sitemap table, or of another mapping. Its
//!   row stays, and says for which tables the scan was done.
//! - A site's scan reconciles all records that the site lists or excludes, and publishes the site: after new settings or another
//!   rendering, and before a new site is released. Its row is deleted at the end.
//! - Both work in slices: each write of their row but the last is the event for the next one.

use serde::{Deserialize, Serialize};
use table::{Action, Condition, Item, Query, Update};

use super::key::{ALONE, JOB, Key, RowKey, escape, key, unescape};
use super::table::{SitemapTable, damaged, item_key};
use crate::error::EngineError;

/// Prefix of the partition of sites' scans.
pub const PREFIX: &str = "SCAN#";
/// The only partition, so that one query finds all of them.
const SITES: &str = "sites";
/// The name of the job for scanning all content.
const CONTENT: &str = "scan";

/// Returns the partition of the sites' scans: `SCAN#sites`.
#[must_use]
pub fn site_scans_partition() -> String {
    format!("{PREFIX}{SITES}")
}

/// Returns the key of a site's scan.
#[must_use]
pub fn site_scan(site: &str) -> Key {
    key(site_scans_partition(), escape(site))
}

/// Returns the key of the scan of all content.
#[must_use]
pub fn content_scan() -> Key {
    key(format!("{JOB}{CONTENT}"), ALONE)
}

/// Returns the site whose scan has this key.
fn host_of(rest: &str, sk: &str) -> Option<String> {
    unescape(sk).filter(|_| rest == SITES)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    host_of(rest, sk).map(RowKey::SiteScan)
}

pub(super) fn parse_content(rest: &str, sk: &str) -> Option<RowKey> {
    (rest == CONTENT && sk == ALONE).then_some(RowKey::ContentScan)
}

/// Rows of sites' scans that are read at a time to see whether any exists.
const SCANS_READ: u32 = 100;

/// Seconds without progress after which a scan no longer blocks anything.
pub(crate) const STUCK_SECONDS: i64 = 3_600;

/// The scan of all content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentScan {
    /// Changes with every write of the progress. It is random and not a counter, because the row is created again after a table
    /// was dropped.
    pub token: String,
    /// Whether another pass begins after the one that is running.
    pub wanted: bool,
    /// The running pass. `None` if there is none.
    pub pass: Option<Pass>,
    /// The revision of the content's tables that the last complete pass has read. `None` before the first.
    pub done: Option<String>,
    /// When the scan was last woken since its last progress, in Unix seconds. 0 if it was not.
    pub woken: i64,
}

/// One pass over all content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The revision of the content's tables that the pass reads. A function with another revision starts a new pass.
    pub revision: String,
    /// The progress.
    pub step: Step,
    /// Records reconciled so far.
    pub records: u64,
    /// The time of the last progress, in Unix seconds.
    pub at: i64,
}

/// The progress of a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The records are being reconciled, in the table's order.
    Content {
        /// The last id of the previous page. `None` at the beginning.
        after: Option<String>,
    },
    /// All records are reconciled, and the waiting scans of sites are being continued.
    Sites {
        /// The last site whose scan was continued. `None` at the beginning.
        after: Option<String>,
    },
}

/// A site's scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteScan {
    /// See [`ContentScan::token`]. This row too is deleted and created again.
    pub token: String,
    /// The progress.
    pub step: SiteStep,
    /// The time of the last progress, in Unix seconds.
    pub at: i64,
    /// See [`ContentScan::woken`].
    pub woken: i64,
}

/// The progress of a site's scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteStep {
    /// The excluded records are being reconciled.
    LeftOut {
        /// The last record. `None` at the beginning.
        after: Option<String>,
    },
    /// The owners of entries are being reconciled, segment by segment.
    Entries {
        /// The last segment. `None` at the beginning.
        after: Option<Segment>,
    },
    /// The excluded records are being reconciled once more. A run with older settings that died may have moved a record from the
    /// entries, which are read second, to the excluded records, which were read first. The scan of a site that never had an entry
    /// begins with this step.
    LeftOutAgain {
        /// The last record. `None` at the beginning.
        after: Option<String>,
    },
    /// The shards are being published, in the order of their objects' paths.
    Publish {
        /// The last path. `None` at the beginning.
        after: Option<String>,
    },
}

/// A place among a site's segments: series, shard, segment.
pub type Segment = (String, u32, u32);

impl SiteStep {
    /// The first step.
    pub const BEGINNING: Self = Self::LeftOut { after: None };
}

impl ContentScan {
    /// Returns whether all records of this revision of the content's tables were reconciled, and no further pass is requested.
    #[must_use]
    pub fn is_complete(&self, revision: &str) -> bool {
        let read = match &self.pass {
            Some(pass) if matches!(pass.step, Step::Sites { .. }) => Some(&pass.revision),
            Some(_) => None,
            None => self.done.as_ref(),
        };
        !self.wanted && read.is_some_and(|read| read == revision)
    }

    /// Returns whether a pass will begin that reads the current records.
    #[must_use]
    pub fn is_to_begin(&self) -> bool {
        self.wanted && self.pass.is_none()
    }

    /// Returns whether a pass is running or requested.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.wanted || self.pass.is_some()
    }

    /// Returns when the row was last written for a slice, in Unix seconds.
    #[must_use]
    pub fn touched(&self) -> i64 {
        self.pass.as_ref().map_or(0, |pass| pass.at).max(self.woken)
    }
}

impl SiteScan {
    /// Returns when the row was last written for a slice, in Unix seconds.
    #[must_use]
    pub fn touched(&self) -> i64 {
        self.at.max(self.woken)
    }
}

/// Returns the row of the scan of all content.
pub(crate) fn read_content_scan(key: &Key, item: &Item) -> Result<ContentScan, EngineError> {
    let token = item.text("token").ok_or_else(|| damaged(key, "token"))?;
    let pass = item.text("pass").map(serde_json::from_str).transpose();
    Ok(ContentScan {
        token: token.to_owned(),
        wanted: item.get("wanted").is_some(),
        pass: pass.map_err(|_| damaged(key, "pass"))?,
        done: item.text("done").map(str::to_owned),
        woken: item.number("woken").unwrap_or_default(),
    })
}

/// Returns the row of a site's scan.
pub(crate) fn read_site_scan(key: &Key, item: &Item) -> Result<SiteScan, EngineError> {
    let token = item.text("token").ok_or_else(|| damaged(key, "token"))?;
    let step = item.text("step");
    let step = step.and_then(|step| serde_json::from_str(step).ok());
    Ok(SiteScan {
        token: token.to_owned(),
        step: step.ok_or_else(|| damaged(key, "step"))?,
        at: item.number("at").ok_or_else(|| damaged(key, "at"))?,
        woken: item.number("woken").unwrap_or_default(),
    })
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns whether any scan is running or requested. A scan whose row cannot be read does not count, because the audit
    /// repairs that.
    pub async fn is_scanning(&self) -> Result<bool, EngineError> {
        let content = match self.content_scan().await {
            Err(EngineError::Damaged { .. }) => None,
            content => content?,
        };
        if content.is_some_and(|scan| scan.is_active()) {
            return Ok(true);
        }
        let mut after = None;
        loop {
            let scans = self.site_scans(after.as_deref(), SCANS_READ).await?;
            if scans.iter().any(|(_, scan)| scan.is_ok()) {
                return Ok(true);
            }
            let Some((last, _)) = scans.last() else {
                return Ok(false);
            };
            after = Some(last.clone());
        }
    }

    /// Returns the scan of all content, or `None` if there never was one.
    pub async fn content_scan(&self) -> Result<Option<ContentScan>, EngineError> {
        let key = self::content_scan();
        let item = self.item(&key).await?;
        item.map(|item| read_content_scan(&key, &item)).transpose()
    }

    /// Returns the action that asks for a pass over all content.
    ///
    /// It may be sent twice, the second time much later. So it does not change the token. If it wrote an old token again, a slice
    /// that had read that token could overwrite the row, and a later request would be lost.
    pub(crate) fn want_content_scan(&self) -> Action {
        let update = Update::new()
            .set_missing("token", self.env.token())
            .set("wanted", true);
        Action::update(&self::content_scan(), update)
    }

    /// Requests a pass over all content if the row is unchanged since it was read, or still missing.
    pub async fn begin_content_scan(
        &self,
        before: Option<&ContentScan>,
    ) -> Result<(), EngineError> {
        let unchanged = match before {
            Some(before) => unchanged(before),
            None => Condition::lacks("pk"),
        };
        let want = self.want_content_scan().when(unchanged);
        self.transact_once(vec![want]).await.map(drop)
    }

    /// Writes the progress of the scan of all content if its row is unchanged since it was read. The write is the event for the
    /// next slice. Returns `false` if the row has changed.
    pub async fn advance_content_scan(
        &self,
        before: &ContentScan,
        next: &ContentScan,
    ) -> Result<bool, EngineError> {
        let mut row = Item::from(&self::content_scan()).with("token", self.env.token());
        if next.wanted {
            row.set("wanted", true);
        }
        if let Some(pass) = &next.pass {
            row.set("pass", json(pass));
        }
        if let Some(done) = &next.done {
            row.set("done", done.as_str());
        }
        if next.woken > 0 {
            row.set("woken", next.woken);
        }
        self.put_if(row, unchanged(before)).await
    }

    /// Returns a site's scan, or `None` if there is none.
    pub async fn site_scan(&self, host: &str) -> Result<Option<SiteScan>, EngineError> {
        let key = self::site_scan(host);
        let item = self.item(&key).await?;
        item.map(|item| read_site_scan(&key, &item)).transpose()
    }

    /// Returns up to `most` sites with a scan, after `after`, in the order of their keys.
    pub async fn site_scans(
        &self,
        after: Option<&str>,
        most: u32,
    ) -> Result<Vec<(String, Result<SiteScan, EngineError>)>, EngineError> {
        let query = Query {
            after: after.map(|host| Item::from(&self::site_scan(host))),
            ..Query::of(site_scans_partition()).limited(most)
        };
        let scan = |item: &Item| {
            let key = item_key(item)?;
            let host = host_of(key.pk.strip_prefix(PREFIX)?, &key.sk)?;
            Some((host, read_site_scan(&key, item)))
        };
        Ok(self.first(query).await?.iter().filter_map(scan).collect())
    }

    /// Returns the action that starts a site's scan at a step, and replaces a running one.
    pub(crate) fn scan_site(&self, host: &str, from: &SiteStep, now: i64) -> Action {
        Action::put(self.site_scan_row(host, from, now))
    }

    /// Starts the scan of a site, unless one is running.
    pub async fn begin_site_scan(&self, host: &str, now: i64) -> Result<(), EngineError> {
        let row = self.site_scan_row(host, &SiteStep::BEGINNING, now);
        self.put_if(row, Condition::lacks("pk")).await.map(drop)
    }

    /// Writes a site's scan again, which is the event for a slice.
    pub async fn wake_site_scan(&self, host: &str, now: i64) -> Result<(), EngineError> {
        let Some(scan) = self.site_scan(host).await? else {
            return Ok(());
        };
        let row = self.site_scan_row(host, &scan.step, scan.at);
        let unchanged = Condition::equals("token", scan.token);
        let woken = self.put_if(row.with("woken", now), unchanged);
        woken.await.map(drop)
    }

    /// Writes the progress of a site's scan, or deletes its row, if the row is unchanged since it was read. The write is the
    /// event for the next slice. Returns `false` if the row has changed.
    pub async fn advance_site_scan(
        &self,
        host: &str,
        before: &SiteScan,
        next: Option<&SiteStep>,
        now: i64,
    ) -> Result<bool, EngineError> {
        let unchanged = Condition::equals("token", before.token.as_str());
        match next {
            Some(step) => {
                let row = self.site_scan_row(host, step, now);
                self.put_if(row, unchanged).await
            }
            None => self.delete_if(&self::site_scan(host), unchanged).await,
        }
    }

    fn site_scan_row(&self, host: &str, step: &SiteStep, at: i64) -> Item {
        Item::from(&self::site_scan(host))
            .with("token", self.env.token())
            .with("step", json(step))
            .with("at", at)
    }
}

/// Returns the condition that the row of the scan of all content is as it was read. If the token is unchanged, at most a pass was
/// requested.
fn unchanged(before: &ContentScan) -> Condition {
    let same_wish = if before.wanted {
        Condition::has("wanted")
    } else {
        Condition::lacks("wanted")
    };
    Condition::equals("token", before.token.as_str()).and(same_wish)
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("progress has text keys alone")
}

#[cfg(test)]
mod tests;
