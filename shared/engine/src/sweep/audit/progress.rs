//! The progress of an audit, as its row stores it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use table::Item;

use super::checksums::{SumNumber, Sums};
use crate::error::EngineError;
use crate::rows::keys;
use crate::rows::table::SitemapTable;

/// The progress of an audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditProgress {
    /// The time of its beginning, in Unix seconds.
    pub began: i64,
    /// The next step. `None` once it has ended.
    pub step: Option<AuditStep>,
    /// The sites whose rows it has read.
    pub sites: BTreeSet<String>,
    /// The sites of which it has read a departure.
    #[serde(default)]
    pub departing: BTreeSet<String>,
    /// The number of findings by kind.
    pub found: BTreeMap<String, u64>,
    /// The number of repairs, without harmless ones.
    #[serde(default)]
    pub repaired: u64,
    /// The numbers of the sums whose rows and records are looked at. `None` for all.
    #[serde(default)]
    pub suspected: Option<BTreeSet<SumNumber>>,
    /// The sums so far. They have a row of their own.
    #[serde(skip)]
    pub(crate) sums: Option<Sums>,
    /// The number of rows, records and sitemaps that this process has read.
    #[serde(skip)]
    pub read: u64,
}

/// What an audit is reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The rows of the sitemap table.
    Rows,
    /// The records of the content table and the user's table.
    Records,
    /// The sitemaps of the sites.
    Sitemaps,
}

impl AuditProgress {
    /// Returns what the audit reads next. Returns `None` once the audit has ended.
    #[must_use]
    pub fn reading(&self) -> Option<Reading> {
        Some(match self.step.as_ref()? {
            AuditStep::Sums if self.sums.as_ref().is_some_and(Sums::is_at_records) => {
                Reading::Records
            }
            AuditStep::Sums | AuditStep::Rows { .. } => Reading::Rows,
            AuditStep::Records { .. } => Reading::Records,
            AuditStep::Objects { .. } | AuditStep::Departures { .. } => Reading::Sitemaps,
        })
    }
}

/// A step of an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditStep {
    /// The sums of both tables.
    Sums,
    /// The rows of the sitemap table after this one.
    Rows {
        /// Partition key and sort key. `None` at the beginning.
        after: Option<(String, String)>,
    },
    /// The records of the content after this id.
    Records {
        /// The last id of the previous page. `None` at the beginning.
        after: Option<String>,
    },
    /// The objects of the sites after this one.
    Objects {
        /// The site and the path of the last shard. `None` at the beginning.
        after: Option<(String, String)>,
    },
    /// The files of a site's departures after this one.
    Departures {
        /// The site.
        site: String,
        /// The last file. `None` at the beginning.
        after: Option<u32>,
    },
}

/// Returns an audit that begins now and looks at everything.
#[must_use]
pub fn beginning(now: i64) -> AuditProgress {
    AuditProgress {
        began: now,
        step: Some(AuditStep::Rows { after: None }),
        sites: BTreeSet::new(),
        departing: BTreeSet::new(),
        found: BTreeMap::new(),
        repaired: 0,
        suspected: None,
        sums: None,
        read: 0,
    }
}

/// Returns an audit that begins now and looks only at suspected rows and records (`sums`).
#[must_use]
pub fn daily(now: i64) -> AuditProgress {
    AuditProgress {
        step: Some(AuditStep::Sums),
        ..beginning(now)
    }
}

/// Returns an audit as [`daily`] does, but of a process that stores nothing, because the clock may have an audit running. `seed`
/// is a random text.
#[must_use]
pub fn sifting(now: i64, seed: String) -> AuditProgress {
    AuditProgress {
        sums: Some(Sums::unstored(now, seed)),
        ..daily(now)
    }
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns the progress of the audit, or `None` if there was none yet, or if its row cannot be read.
    pub async fn audit(&self) -> Result<Option<AuditProgress>, EngineError> {
        let item = self.item(&keys::audit()).await?;
        let progress = item.as_ref().and_then(|item| item.text("progress"));
        Ok(progress.and_then(|progress| serde_json::from_str(progress).ok()))
    }

    /// Stores the progress of an audit.
    pub async fn note_audit(&self, progress: &AuditProgress) -> Result<(), EngineError> {
        let progress = serde_json::to_string(progress).expect("progress has text keys alone");
        let item = Item::from(&keys::audit()).with("progress", progress);
        self.put(item).await
    }
}
