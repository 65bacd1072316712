//! What a reconcile needs to know, and how it ends.

use std::collections::BTreeMap;

use sitemap::plan::{Series, Slot};

use crate::content::Content;
use crate::env::{Deadline, Env};
use crate::metrics::Metrics;
use crate::rows::keys::Key;
use crate::rows::table::SitemapTable;

/// Times a record is started again from its fence before its event is left to be delivered again.
pub(super) const TRIES: u32 = 8;

/// Which sites there are beside those that have a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownSites {
    /// Any host is a site.
    Any,
    /// These hosts.
    Only(Vec<String>),
}

impl KnownSites {
    /// Reads a list of hosts separated by commas; `*` means any.
    #[must_use]
    pub fn parse(list: &str) -> Self {
        match list.trim() {
            "*" => Self::Any,
            list => {
                let hosts = list.split(',').map(|host| host.trim().to_ascii_lowercase());
                Self::Only(hosts.filter(|host| !host.is_empty()).collect())
            }
        }
    }

    pub(super) fn include(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Only(hosts) => hosts.iter().any(|known| known == host),
        }
    }
}

/// How a page's reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reconciled {
    /// Nothing was to be done.
    Unchanged,
    /// What was placed for it has changed.
    Changed,
}

/// Both tables, and what a reconcile needs to know beside them.
#[derive(Clone, Debug)]
pub struct Reconciler {
    /// The content.
    pub content: Content,
    /// The sitemap table.
    pub table: SitemapTable,
    /// The sites of the deployment.
    pub known: KnownSites,
    /// The time, pauses and randomness.
    pub env: Env,
    /// Where what was done is counted.
    pub metrics: Metrics,
}

/// How pages are reconciled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReconcileOptions<'a> {
    /// A slot that its owner has to leave, by page, and its series.
    pub(super) evict: Option<(&'a Series, &'a BTreeMap<String, Slot>)>,
    /// Rows that seem to be a page's own: the rows are believed, and not the ledger.
    pub(super) found: Option<&'a BTreeMap<String, Vec<Key>>>,
    /// Whether the ledgers may be wrong: they are compared with the rows.
    pub(super) verify_ledger: bool,
    /// Whether changes are not reported: no row of the feed, no notice.
    pub(super) quiet: bool,
    /// When no more records' parts are begun: a record may have a thousand.
    pub(super) until: Option<&'a Deadline>,
    /// The fence that this run has put on the own ledger of the page whose parts are reconciled.
    pub(super) under: Option<&'a str>,
}

/// How one try for a page ended.
#[derive(Clone)]
pub(super) struct Tried {
    pub(super) outcome: Reconciled,
    /// The highest part that may have anything placed.
    pub(super) parts: u32,
    /// Whether the page's own ledger has to be reconciled again: it remembers a part that the record has no longer, or it
    /// was no longer under this run's fence when a part was to be placed.
    pub(super) again: bool,
    /// The fence's token.
    pub(super) token: String,
}
