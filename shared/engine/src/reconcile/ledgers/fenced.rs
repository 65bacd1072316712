//! A ledger under a fence.

use sitemap::plan::Ledger;

use crate::rows::keys::Key;

/// A ledger under a fence: until another fence, its owner alone can commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fenced {
    /// The fence's token: random, never a counter, since a ledger may be deleted and come back.
    pub token: String,
    /// What it holds; the default if there was none, which a plan without a ledger deletes again. After
    /// [`fence_verified`](crate::SitemapTable::fence_verified), what of it is true.
    pub ledger: Ledger,
    /// Whether there was none.
    pub new: bool,
    /// Whether some of what it held was untrue.
    pub untrue: bool,
    /// Whether the row of the feed that it names is lost. The ledger keeps its time: the row comes back under that.
    pub feed_lost: bool,
    /// Rows that should not be: the record's that its ledger does not know, and free slots that it is about to write into. A
    /// commit deletes those that it does not write.
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
