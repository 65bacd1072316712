//! The next slot of each series of a site. `SERIES#<site>`, series.
//!
//! The counter leaves a shard when it is full of entries, or of the bytes of the entries that it has placed there. If entries
//! become longer later, a shard may still become too large. Then publishing moves entries out of it.

use std::collections::BTreeSet;

use objects::{ObjectKey, Objects};
use sitemap::member::SEGMENT_SLOTS;
use sitemap::plan::{Series, Slot};
use sitemap::site::SiteSettings;
use table::{Condition, Item, Update};

use super::key::{Key, RowKey, ShardId, escape, key, unescape};
use super::table::{SitemapTable, damaged};
use crate::error::EngineError;

/// Prefix of the partitions of series.
pub const PREFIX: &str = "SERIES#";

/// Tries of moving the counter.
const COUNTER_TRIES: u32 = 12;
/// The percentage of a site's byte limit that the counter fills. The rest is for entries that become longer.
pub const FULL_PERCENT: u64 = 90;

/// Returns the key of a series: `SERIES#<site>`, series.
#[must_use]
pub fn series(series: &Series) -> Key {
    key(series_partition(&series.site), &series.name)
}

/// Returns the partition of a site's series.
#[must_use]
pub fn series_partition(site: &str) -> String {
    format!("{}{}", PREFIX, escape(site))
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let (site, name) = (unescape(rest)?, sk.to_owned());
    Some(RowKey::Series(Series { site, name }))
}

/// The capacity of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Only positions below this are offered.
    pub positions: u32,
    /// The most bytes of the entries that the counter places.
    pub bytes: u64,
}

impl Room {
    /// Returns the capacity of a shard of this series of a site.
    #[must_use]
    pub fn of(settings: &SiteSettings, series: &str) -> Self {
        Self {
            positions: settings.capacity(series),
            bytes: settings.byte_limit * FULL_PERCENT / 100,
        }
    }
}

/// The position of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    next: Slot,
    /// Bytes of the entries that it has placed in the current shard.
    bytes: u64,
}

impl Counter {
    /// Where it begins.
    pub(crate) const FIRST: Self = Self {
        next: Slot { n: 1, i: 0 },
        bytes: 0,
    };

    /// Takes the slot of an entry of so many bytes: the next one in the shard, or the first of another one.
    pub(crate) fn take(&mut self, bytes: u64, room: Room, avoid: Option<u32>) -> Slot {
        let Self { next, bytes: taken } = *self;
        let is_full = next.i >= room.positions || taken > 0 && taken + bytes > room.bytes;
        if is_full || Some(next.n) == avoid {
            let beyond = if Some(next.n + 1) == avoid { 2 } else { 1 };
            *self = Self {
                next: Slot {
                    n: next.n + beyond,
                    i: 0,
                },
                bytes: 0,
            };
        }
        let slot = self.next;
        self.next.i += 1;
        self.bytes += bytes;
        slot
    }

    /// Returns the row of a series whose shards have given slots up to this number.
    pub(crate) fn row(&self, series: &Series, positions: u32) -> Item {
        Item::from(&self::series(series))
            .with("next_n", self.next.n)
            .with("next_i", self.next.i)
            .with("positions", positions)
            .with("bytes", self.bytes)
    }
}

/// How far a series has grown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The highest shard of which slots were offered. 0 if there is none.
    pub shards: u32,
    /// No slot was ever offered at this position or a higher one, in any shard.
    pub positions: u32,
    /// The next position that the counter offers, in the last shard.
    pub next: u32,
}

impl Extent {
    /// Returns the smallest extent with this number of segments in a shard.
    #[must_use]
    pub fn of_segments(segments: u32) -> Self {
        let positions = segments.saturating_sub(1) * SEGMENT_SLOTS + u32::from(segments > 0);
        Self {
            positions,
            ..Self::default()
        }
    }

    /// Returns the number of a shard's segments that may have rows.
    #[must_use]
    pub fn segments(&self) -> u32 {
        self.positions.div_ceil(SEGMENT_SLOTS)
    }
}

/// Returns every shard of a site with its object's path, in the order of the paths.
///
/// These are the shards of which slots were offered, and those with an object, which may come from a dropped table.
///
/// # Errors
///
/// If the table or the bucket fails.
pub async fn shards_of(
    table: &SitemapTable,
    objects: &dyn Objects,
    site: &str,
) -> Result<BTreeSet<(String, ShardId)>, EngineError> {
    let mut shards = BTreeSet::new();
    for (series, extent) in table.series(site).await? {
        for n in 1..=extent.shards {
            let shard = ShardId {
                series: series.clone(),
                n,
            };
            shards.insert((shard.object().path(), shard));
        }
    }
    for key in objects.list(site).await? {
        if let ObjectKey::Shard { site, series, n } = &key {
            let series = Series {
                site: site.clone(),
                name: series.clone(),
            };
            shards.insert((key.path(), ShardId { series, n: *n }));
        }
    }
    Ok(shards)
}

/// Takes a slot for each entry from the counter. Sizes are in bytes. Returns the slots, and the counter afterwards.
fn take(
    mut counter: Counter,
    sizes: &[u64],
    room: Room,
    avoid: Option<u32>,
) -> (Vec<Slot>, Counter) {
    let slots = sizes.iter();
    let slots = slots.map(|bytes| counter.take(*bytes, room, avoid));
    (slots.collect(), counter)
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns the series of a site, each with its extent.
    pub async fn series(&self, site: &str) -> Result<Vec<(Series, Extent)>, EngineError> {
        let items = self.partition(&series_partition(site)).await?;
        let series = |item: &Item| {
            let name = item.text("sk")?.to_owned();
            Some((
                Series {
                    site: site.to_owned(),
                    name,
                },
                extent(item),
            ))
        };
        Ok(items.iter().filter_map(series).collect())
    }

    /// Returns all segments of a site that may have entries, in the order of series, shard and segment.
    pub async fn segments_of(&self, site: &str) -> Result<Vec<(ShardId, u32)>, EngineError> {
        let mut segments = Vec::new();
        for (series, extent) in self.series(site).await? {
            for n in 1..=extent.shards {
                let shard = ShardId {
                    series: series.clone(),
                    n,
                };
                segments.extend((0..extent.segments()).map(|segment| (shard.clone(), segment)));
            }
        }
        Ok(segments)
    }

    /// Returns the extent of a series.
    pub async fn extent(&self, series: &Series) -> Result<Extent, EngineError> {
        Ok(self
            .item(&self::series(series))
            .await?
            .as_ref()
            .map(extent)
            .unwrap_or_default())
    }

    /// Raises a series' extent to at least `least`, so that the counter continues after all rows, and publishing reads all of
    /// them.
    pub async fn grow(&self, series: &Series, least: Extent) -> Result<(), EngineError> {
        let key = self::series(series);
        let item = self.item(&key).await?.unwrap_or_default();
        let current: Option<(u32, u32)> = item.number("next_n").zip(item.number("next_i"));
        let now = extent(&item);
        let positions = now.positions.max(least.positions);
        let (n, i) = current.unwrap_or((1, 0)).max((least.shards, least.next));
        if current == Some((n, i)) && positions == now.positions {
            return Ok(());
        }
        let update = Update::new()
            .set("next_n", n)
            .set("next_i", i)
            .set("positions", positions);
        let unmoved = match current {
            Some((n, i)) => Condition::equals("next_n", n).and(Condition::equals("next_i", i)),
            // Also if the row has no counter.
            None => Condition::lacks("next_n"),
        };
        // If another run has moved the counter, the next audit looks again.
        self.update_if(&key, update, unmoved).await.map(drop)
    }
}

/// Returns the extent of a series' row. Without a counter it is empty.
pub(crate) fn extent(item: &Item) -> Extent {
    Extent {
        shards: item.number("next_n").unwrap_or(1),
        positions: item.number("positions").unwrap_or(0),
        next: item.number("next_i").unwrap_or(0),
    }
}

/// Reads the extent from a series' row in which it is complete.
pub(super) fn read_extent(key: &Key, item: &Item) -> Result<Extent, EngineError> {
    let counts = ["next_n", "next_i", "positions"];
    let mut missing = counts
        .into_iter()
        .filter(|name| item.number::<u32>(name).is_none());
    match missing.next() {
        None => Ok(extent(item)),
        Some(name) => Err(damaged(key, name)),
    }
}

/// Returns the counter of a series' row.
fn counter(key: &Key, item: &Item) -> Result<Counter, EngineError> {
    let number = |name| item.number(name).ok_or_else(|| damaged(key, name));
    Ok(Counter {
        next: Slot {
            n: number("next_n")?,
            i: number("next_i")?,
        },
        // A missing value may fill the shard too far. Publishing then moves entries out of it.
        bytes: item.number("bytes").unwrap_or(0),
    })
}

impl SitemapTable {
    /// Takes a slot for each entry from the counter, and returns the slots.
    pub(super) async fn count_on(
        &self,
        series: &Series,
        sizes: &[u64],
        room: Room,
        avoid: Option<u32>,
    ) -> Result<Vec<Slot>, EngineError> {
        let key = self::series(series);
        for round in 0..COUNTER_TRIES {
            self.env.backoff(round).await;
            let item = self.item(&key).await?;
            let counter = item.as_ref().map(|item| counter(&key, item)).transpose()?;
            let (slots, Counter { next, bytes }) =
                take(counter.unwrap_or(Counter::FIRST), sizes, room, avoid);
            let reached = slots.iter().map(|slot| slot.i + 1).max().unwrap_or(0);
            let positions = reached.max(item.as_ref().map(extent).unwrap_or_default().positions);
            let update = Update::new()
                .set("next_n", next.n)
                .set("next_i", next.i)
                .set("positions", positions)
                .set("bytes", bytes);
            let unmoved = match counter {
                Some(Counter { next, .. }) => {
                    Condition::equals("next_n", next.n).and(Condition::equals("next_i", next.i))
                }
                None => Condition::lacks("pk"),
            };
            if self.update_if(&key, update, unmoved).await?.is_some() {
                return Ok(slots);
            }
        }
        Err(EngineError::Contended {
            what: format!("{} {}", key.pk, key.sk),
            tries: COUNTER_TRIES,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_goes_on_to_the_next_shard_when_one_is_full_or_to_be_avoided() {
        let slots = |n, i, count, positions, avoid| {
            let counter = Counter {
                next: Slot { n, i },
                bytes: 0,
            };
            let bytes = u64::MAX;
            let (slots, counter) = take(counter, &vec![1; count], Room { positions, bytes }, avoid);
            let slots: Vec<_> = slots.iter().map(|slot| (slot.n, slot.i)).collect();
            (slots, (counter.next.n, counter.next.i))
        };
        assert_eq!(slots(1, 0, 2, 5, None), (vec![(1, 0), (1, 1)], (1, 2)));
        assert_eq!(slots(1, 4, 2, 5, None), (vec![(1, 4), (2, 0)], (2, 1)));
        assert_eq!(slots(1, 2, 1, 5, Some(1)), (vec![(2, 0)], (2, 1)));
        assert_eq!(slots(1, 5, 1, 5, Some(2)), (vec![(3, 0)], (3, 1)));
        // The capacity was lowered below the counter.
        assert_eq!(slots(3, 800, 1, 500, None), (vec![(4, 0)], (4, 1)));
        assert_eq!(slots(1, 1, 2, 1, None), (vec![(2, 0), (3, 0)], (3, 1)));
    }

    #[test]
    fn the_counter_goes_on_when_a_shard_is_full_of_bytes() {
        let counter = |n, i, bytes| Counter {
            next: Slot { n, i },
            bytes,
        };
        let room = Room {
            positions: 100,
            bytes: 10,
        };
        let (slots, after) = take(counter(1, 0, 0), &[6, 4, 1, 30, 2], room, None);
        let slots: Vec<_> = slots.iter().map(|slot| (slot.n, slot.i)).collect();
        // An entry that is larger than a shard gets a shard of its own.
        assert_eq!(slots, [(1, 0), (1, 1), (2, 0), (3, 0), (4, 0)]);
        assert_eq!(after, counter(4, 1, 2));
    }
}
