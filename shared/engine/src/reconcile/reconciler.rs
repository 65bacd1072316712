//! The inputs and outcomes of a reconcile.

use std::collections::BTreeMap;

use sitemap::plan::{Series, Slot};

use crate::content::Content;
use crate::env::{Deadline, Env};
use crate::metrics::Metrics;
use crate::rows::keys::Key;
use crate::rows::table::SitemapTable;

/// Rounds of a record in one run. After these the stream delivers its event again.
pub(super) const TRIES: u32 = 8;

/// Which sites exist in addition to those with a settings record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownSites {
    /// Every host is a site.
    Any,
    /// Only these hosts.
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

/// The outcome of a page's reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reconciled {
    /// Nothing had to be done.
    Unchanged,
    /// The page's rows have changed.
    Changed,
}

/// Both tables, and the other inputs of a reconcile.
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
    /// The metrics of reconciles.
    pub metrics: Metrics,
}

/// Options of a reconcile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReconcileOptions<'a> {
    /// The series and, by page, the slot that the page has to leave. `None` if no page has to move.
    pub(super) evict: Option<(&'a Series, &'a BTreeMap<String, Slot>)>,
    /// By page, rows that seem to be the page's own. If set, the rows are trusted, and not the ledger.
    pub(super) found: Option<&'a BTreeMap<String, Vec<Key>>>,
    /// Whether the ledgers may be wrong, so that they are compared with the rows.
    pub(super) verify_ledger: bool,
    /// Whether changes are not reported: no feed row and no notice.
    pub(super) quiet: bool,
    /// When no parts of further records are begun. A record may have a thousand parts. `None` for no limit.
    pub(super) until: Option<&'a Deadline>,
    /// The token that this run has put into the page's own ledger. Set while the page's parts are reconciled.
    pub(super) under: Option<&'a str>,
}

/// The outcome of one try of a page.
#[derive(Clone)]
pub(super) struct Tried {
    pub(super) outcome: Reconciled,
    /// The highest part that may have anything placed.
    pub(super) parts: u32,
    /// Whether the page's own ledger has to be reconciled again. Either it names a part that the record no longer has, or it was
    /// no longer under this run's fence when a part was to be placed.
    pub(super) again: bool,
    /// The fence's token.
    pub(super) token: String,
}
