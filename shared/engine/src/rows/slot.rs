//! Slots for new entries, and slots that were given back. `FREE#<site>#<series>`, shard and position.
//!
//! - A slot that was given back is offered first, then the next ones of the series' counter, taken once for a batch.
//! - An offer reserves nothing: the condition of the entry's write decides. Holes are harmless.

use std::collections::BTreeSet;

use sitemap::plan::{Series, Slot};
use table::{Action, Condition, Item, Query, Update};

use super::entry;
use super::key::{Key, RowKey, ShardId, escape, key, read_series};
pub use super::series::{Room, shards_of};
use super::table::SitemapTable;
use crate::error::EngineError;

/// Prefix of the partitions of free slots.
pub const PREFIX: &str = "FREE#";

/// The most free slots that are read. Random ones of them are offered, so that concurrent batches seldom offer the same.
const FREE_SLOTS_READ: u32 = 100;

/// Returns the partition of a series' free slots: `FREE#<site>#<series>`.
#[must_use]
pub fn free_partition(series: &Series) -> String {
    format!(
        "{}{}#{}",
        PREFIX,
        escape(&series.site),
        escape(&series.name)
    )
}

/// Returns the key of a slot that was given back.
#[must_use]
pub fn free(series: &Series, slot: Slot) -> Key {
    key(
        free_partition(series),
        format!("{}{:05}", free_prefix(slot.n), slot.i),
    )
}

/// Returns the prefix of the sort keys of a shard's free slots.
#[must_use]
pub fn free_prefix(n: u32) -> String {
    format!("{n:010}#")
}

/// Returns the slot from a sort key that [`free`] made.
#[must_use]
pub fn free_slot(sk: &str) -> Option<Slot> {
    let (n, i) = sk.split_once('#')?;
    Some(Slot {
        n: n.parse().ok()?,
        i: i.parse().ok()?,
    })
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let (site, name) = rest.split_once('#')?;
    Some(RowKey::Free(read_series(site, name)?, free_slot(sk)?))
}

/// A slot for a new entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The series.
    pub series: Series,
    /// The slot.
    pub slot: Slot,
    /// Whether the slot was given back. Then its row is deleted with the insertion.
    pub given_back: bool,
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Offers a slot for each entry. `sizes` are in bytes. No slot is in the shard `avoid`.
    pub async fn offer(
        &self,
        series: &Series,
        sizes: &[u64],
        room: Room,
        avoid: Option<u32>,
    ) -> Result<Vec<Offer>, EngineError> {
        let offer = |slot, given_back| Offer {
            series: series.clone(),
            slot,
            given_back,
        };
        let free = async || -> Result<Vec<Slot>, EngineError> {
            let query = Query::of(free_partition(series)).limited(FREE_SLOTS_READ);
            let items = self.first(query).await?;
            Ok(items
                .iter()
                .filter_map(|item| free_slot(item.text("sk")?))
                .collect())
        };
        let mut free_slots = free().await?;
        // Free slots beyond a lowered capacity are dropped. Otherwise they would hide the following ones forever.
        let beyond: Vec<Slot> = free_slots
            .iter()
            .copied()
            .filter(|slot| slot.i >= room.positions)
            .collect();
        if !beyond.is_empty() {
            for slot in &beyond {
                self.delete(&self::free(series, *slot)).await?;
            }
            free_slots = free().await?;
        }
        let mut free: Vec<Slot> = free_slots
            .into_iter()
            .filter(|slot| slot.i < room.positions && Some(slot.n) != avoid)
            .collect();
        self.env.shuffle(&mut free);
        let mut offers: Vec<Offer> = free
            .into_iter()
            .take(sizes.len())
            .map(|slot| offer(slot, true))
            .collect();
        let missing = &sizes[offers.len()..];
        if !missing.is_empty() {
            let slots = self.count_on(series, missing, room, avoid).await?;
            offers.extend(slots.into_iter().map(|slot| offer(slot, false)));
        }
        Ok(offers)
    }

    /// Deletes the row of a free slot that turned out to be occupied.
    pub async fn forget_free(&self, offer: &Offer) -> Result<(), EngineError> {
        self.delete(&free(&offer.series, offer.slot)).await
    }

    /// Returns the positions of a shard that were given back.
    pub async fn free_positions(&self, shard: &ShardId) -> Result<BTreeSet<u32>, EngineError> {
        let query = Query::of(free_partition(&shard.series));
        let items = self.all(query.beginning_with(free_prefix(shard.n)));
        let items = items.await?;
        let slots = items.iter().filter_map(|item| free_slot(item.text("sk")?));
        Ok(slots.map(|slot| slot.i).collect())
    }

    /// Gives back a slot that was offered and never used. Returns `false` if it is in use now.
    pub async fn give_back(&self, series: &Series, slot: Slot) -> Result<bool, EngineError> {
        // The row's version rises, or the row is created. A run that was offered the slot by the counter writes into it only if
        // it has no row.
        let raise = Update::new().add("version", 1);
        let stub =
            Action::update(&entry::entry(series, slot), raise).when(Condition::lacks("owner"));
        let free = Action::put(Item::from(&free(series, slot)));
        self.transact_once(vec![stub, free]).await
    }
}
