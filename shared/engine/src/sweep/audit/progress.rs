//! How far an audit is: what its row holds.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use table::Item;

use super::checksums::{SumNumber, Sums};
use crate::error::EngineError;
use crate::rows::keys;
use crate::rows::table::SitemapTable;

/// How far the audit is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditProgress {
    /// Unix seconds of its beginning.
    pub began: i64,
    /// What comes next; nothing once it has ended.
    pub step: Option<AuditStep>,
    /// The sites whose rows it has seen.
    pub sites: BTreeSet<String>,
    /// What it has found, and how often.
    pub found: BTreeMap<String, u64>,
    /// How much it has repaired, without what was harmless.
    #[serde(default)]
    pub repaired: u64,
    /// The rows and records that are looked at, by their sums; all of them without.
    #[serde(default)]
    pub suspected: Option<BTreeSet<SumNumber>>,
    /// The sums as far as they are. They have a row of their own.
    #[serde(skip)]
    pub(crate) sums: Option<Sums>,
    /// Rows, records and sitemaps that this process has read.
    #[serde(skip)]
    pub read: u64,
}

/// What an audit reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The sitemap table.
    Rows,
    /// The content table, and the user's.
    Records,
    /// The sites' sitemaps.
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
            AuditStep::Objects { .. } => Reading::Sitemaps,
        })
    }
}

/// A place in an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditStep {
    /// The sums of both tables.
    Sums,
    /// The sitemap table's rows behind this one.
    Rows {
        /// Partition key and sort key; nothing at the beginning.
        after: Option<(String, String)>,
    },
    /// The content table's records behind this id.
    Records {
        /// The last id of the page before; nothing at the beginning.
        after: Option<String>,
    },
    /// The sites' objects behind this one.
    Objects {
        /// The site and the path of the last shard; nothing at the beginning.
        after: Option<(String, String)>,
    },
}

/// Returns an audit that begins now and looks at everything.
#[must_use]
pub fn beginning(now: i64) -> AuditProgress {
    AuditProgress {
        began: now,
        step: Some(AuditStep::Rows { after: None }),
        sites: BTreeSet::new(),
        found: BTreeMap::new(),
        repaired: 0,
        suspected: None,
        sums: None,
        read: 0,
    }
}

/// Returns an audit that begins now and looks at what is suspected (`sums`).
#[must_use]
pub fn daily(now: i64) -> AuditProgress {
    AuditProgress {
        step: Some(AuditStep::Sums),
        ..beginning(now)
    }
}

/// Returns the same, of one process that stores nothing: the clock may have an audit under way. `seed`: a random text.
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
    /// Returns how far the audit is, or `None` if there was none yet, or its row cannot be read.
    pub async fn audit(&self) -> Result<Option<AuditProgress>, EngineError> {
        let item = self.item(&keys::audit()).await?;
        let progress = item.as_ref().and_then(|item| item.text("progress"));
        Ok(progress.and_then(|progress| serde_json::from_str(progress).ok()))
    }

    /// Notes how far it is.
    pub async fn note_audit(&self, progress: &AuditProgress) -> Result<(), EngineError> {
        let progress = serde_json::to_string(progress).expect("progress has text keys alone");
        let item = Item::from(&keys::audit()).with("progress", progress);
        self.put(item).await
    }
}
