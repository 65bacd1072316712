//! The wanted rows besides the ledger: entries, and the rows of other files.

use super::change::{FeedItem, LlmsItem, Rendered};
use super::ledger::Address;
use crate::series::Series;

/// The wanted rows and values beyond the ledger's own fields.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) entries: Vec<(Series, Rendered)>,
    /// The owner of the address for which the page waits.
    pub(super) owner: String,
    /// The record from which the page takes the claim of its address.
    pub(super) ousted: Option<String>,
    /// The feed's row, if it is to be written.
    pub(super) feed: Option<FeedItem>,
    /// The row for llms.txt, if the page may be listed there.
    pub(super) llms: Option<LlmsItem>,
    /// The address to notify search engines of. `None` if they are not notified.
    pub(super) notify: Option<Address>,
}
