//! Ledgers, claims and entries: the rows that a reconcile reads, and the one transaction in which it writes them.

use std::collections::BTreeSet;

use sitemap::plan::{Change, Plan};
use table::{Condition, MAX_ACTIONS};

use self::actions::Actions;
pub use self::fenced::Fenced;
use crate::error::EngineError;
pub use crate::rows::holding::rows_of;
use crate::rows::keys::{self, Key};
use crate::rows::ledger::read_ledger;
use crate::rows::slot::Offer;
use crate::rows::table::{SitemapTable, Transacted};

mod actions;
mod fenced;
mod verify;

/// The most rows that one repair adds to those that the ledger names, so that they fit into one transaction. The next audit adds
/// further rows.
const MAX_STRAYS: usize = 10;
/// Tries of a transaction that was throttled or that conflicts with another one. A further try costs less than a new round, which
/// fences and reads again.
const COMMIT_TRIES: u32 = 5;

/// The outcome of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Commit {
    /// Everything was written.
    Done,
    /// Nothing was written, because another run or page took the fence, a slot or the claim. Start again.
    Lost {
        /// The offers whose slots contain another page's entry.
        occupied: Vec<Offer>,
    },
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Puts a fresh token into the page's ledger and returns the ledger. Must precede every other read.
    pub async fn fence(&self, id: &str) -> Result<Fenced, EngineError> {
        let key = keys::ledger(id);
        let (token, item) = self.fence_row(&key, None).await?.unwrap_or_default();
        Ok(Fenced::new(token, read_ledger(&key, &item)?))
    }

    /// Puts a fresh token into the ledger as [`SitemapTable::fence`] does, and then verifies the ledger. Everything that the rows
    /// do not confirm is removed from it. `found` are rows that seem to be the record's. Those that are get added. A ledger that
    /// cannot be read counts as lost.
    pub async fn fence_verified(&self, id: &str, found: &[Key]) -> Result<Fenced, EngineError> {
        let key = keys::ledger(id);
        let (token, item) = self.fence_row(&key, None).await?.unwrap_or_default();
        let mut fenced = match read_ledger(&key, &item) {
            Ok(ledger) => Fenced::new(token, ledger),
            Err(_) => {
                // Conditional on the body that was read: a request that arrives late must not delete a newer ledger.
                let damaged = Condition::equals("body", item.text("body").unwrap_or_default());
                self.delete_if(&key, damaged).await?;
                self.fence(id).await?
            }
        };
        let now = self.env.now();
        let known = rows_of(id, &fenced.ledger, now);
        let found = found
            .iter()
            .filter(|key| !known.contains(key))
            .take(MAX_STRAYS);
        let found: Vec<&Key> = found.collect();
        let wanted: BTreeSet<&Key> = known.iter().chain(found.iter().copied()).collect();
        let rows = self.rows_with(wanted).await?;
        verify::verify(id, &mut fenced, &rows, &found, now);
        Ok(fenced)
    }

    /// Applies a plan in one transaction, if the ledger's token is still the fence's.
    pub async fn commit(
        &self,
        id: &str,
        fenced: &Fenced,
        plan: &Plan,
        offers: &[Offer],
    ) -> Result<Commit, EngineError> {
        let mut actions = Actions::default();
        actions.ledger(id, &fenced.token, plan);
        let mut insertions = Vec::new();
        for change in &plan.changes {
            let offered = offers.iter().find(|offer| {
                matches!(change, Change::Replace(at, _) if at.slot == offer.slot && at.series == offer.series)
            });
            if let Some(offer) = offered {
                insertions.push((actions.len(), offer));
            }
            actions.change(id, change, offered.is_some_and(|offer| !offer.given_back));
        }
        for stray in &fenced.strays {
            actions.delete_stray(id, stray);
        }
        for offer in offers.iter().filter(|offer| offer.given_back) {
            actions.take_free(&keys::free(&offer.series, offer.slot));
        }
        assert!(
            actions.len() <= MAX_ACTIONS,
            "a reconcile is one transaction: {} actions",
            actions.len()
        );
        let actions = actions.into_actions();
        let mut tries = 1;
        let failed = loop {
            match self.transact(actions.clone()).await? {
                Transacted::Done => return Ok(Commit::Done),
                Transacted::Failed(failed) => break failed,
                // The plan is valid as long as the token is, and the transaction checks the token.
                Transacted::Contended if tries < COMMIT_TRIES => {
                    tries += 1;
                    self.env.backoff(tries).await;
                }
                Transacted::Contended => break Vec::new(),
            }
        };
        let occupied = insertions.into_iter();
        let occupied = occupied.filter(|(at, _)| failed.contains(at));
        let occupied = occupied.map(|(_, offer)| offer.clone()).collect();
        Ok(Commit::Lost { occupied })
    }
}
