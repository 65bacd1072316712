//! What a plan wants beside the ledger: the entries, and what is said of the page elsewhere.

use super::change::{FeedItem, LlmsItem, Rendered};
use super::ledger::Address;
use crate::series::Series;

/// What is wanted beyond the ledger's own fields.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) entries: Vec<(Series, Rendered)>,
    /// Who has the address that is waited for.
    pub(super) owner: String,
    /// What the feed says of it, if that is to be written.
    pub(super) feed: Option<FeedItem>,
    /// What llms.txt may say of it.
    pub(super) llms: Option<LlmsItem>,
    /// The address of which search engines are to be notified.
    pub(super) notify: Option<Address>,
}
