//! A ledger under a fence.

use sitemap::plan::Ledger;

use crate::rows::keys::Key;

/// A ledger under a fence. Only the run with the fence can commit, until another run fences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fenced {
    /// The fence's token. It is random and not a counter, because a ledger may be deleted and created again.
    pub token: String,
    /// The ledger's body. It is the default if there was none, and a plan that has no ledger deletes the row again. After
    /// [`fence_verified`](crate::SitemapTable::fence_verified) it contains only what the rows confirm.
    pub ledger: Ledger,
    /// Whether the ledger did not exist.
    pub new: bool,
    /// Whether the verification changed the ledger.
    pub untrue: bool,
    /// Whether the feed row that the ledger names is lost. The ledger keeps its time, so that the row can be restored under the
    /// same time.
    pub feed_lost: bool,
    /// Rows that should not exist: rows of the record that its ledger does not name, and free slots into which it is about to
    /// write. A commit deletes those that it does not write.
    pub strays: Vec<Key>,
}

impl Fenced {
    pub(super) fn new(token: String, ledger: Option<Ledger>) -> Self {
        Self {
            token,
            new: ledger.is_none(),
            ledger: ledger.unwrap_or_default(),
            untrue: false,
            feed_lost: false,
            strays: Vec::new(),
        }
    }
}
