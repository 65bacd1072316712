//! The next slot of each series of a site. `SERIES#<site>`, series.
//!
//! The counter leaves a shard when it is full: of entries, or of the bytes of those that it has placed there. What is
//! written longer later may still make a shard too large; then publishing moves entries out of it.

use std::collections::BTreeSet;

use objects::{ObjectKey, Objects};
use sitemap::member::SEGMENT_SLOTS;
use sitemap::plan::{Series, Slot};
use sitemap::site::SiteSettings;
use table::{Condition, Item, Update};

use super::key::{Key, RowKey, ShardId, escape, key, unescape};
use super::table::{SitemapTable, damaged};
use crate::error::EngineError;

/// Their partitions.
pub const PREFIX: &str = "SERIES#";

/// Tries to move the counter on.
const COUNTER_TRIES: u32 = 12;
/// The part of a site's byte limit that is filled. The rest is for entries that become longer.
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

/// What a shard has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Positions below this are offered.
    pub positions: u32,
    /// Bytes of the entries that the counter places.
    pub bytes: u64,
}

impl Room {
    /// Returns the room in a shard of a series of this site.
    #[must_use]
    pub fn of(settings: &SiteSettings, series: &str) -> Self {
        Self {
            positions: settings.capacity(series),
            bytes: settings.byte_limit * FULL_PERCENT / 100,
        }
    }
}

/// Where the counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    next: Slot,
    /// Bytes of the entries that it has placed in this shard.
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
    /// Shards 1 to this have been given slots of; 0 if none has.
    pub shards: u32,
    /// No slot was ever given at this position or beyond, in any shard.
    pub positions: u32,
    /// The position that the counter gives next, in the last shard.
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
/// These are the shards that slots were given of, and
/// those that have an object, which may be of a table that was dropped.
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

    /// Returns all segments of a site that may hold entries, in the order of series, shard and segment.
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

    /// Returns how far a series has grown.
    pub async fn extent(&self, series: &Series) -> Result<Extent, EngineError> {
        Ok(self
            .item(&self::series(series))
            .await?
            .as_ref()
            .map(extent)
            .unwrap_or_default())
    }

    /// Raises a series' extent to at least `least`, so that the counter goes on behind all rows, and publishing reads all of them.
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
            // Also if there is a row without a counter.
            None => Condition::lacks("next_n"),
        };
        // Another run has moved the counter on: the next audit looks again.
        self.update_if(&key, update, unmoved).await.map(drop)
    }
}

/// Returns a series' row. Without a counter it has grown by nothing.
pub(crate) fn extent(item: &Item) -> Extent {
    Extent {
        shards: item.number("next_n").unwrap_or(1),
        positions: item.number("positions").unwrap_or(0),
        next: item.number("next_i").unwrap_or(0),
    }
}

/// Reads how far a series has grown, of a row that says all of it.
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

/// Returns the slot that a series' row says is next.
fn counter(key: &Key, item: &Item) -> Result<Counter, EngineError> {
    let number = |name| item.number(name).ok_or_else(|| damaged(key, name));
    Ok(Counter {
        next: Slot {
            n: number("next_n")?,
            i: number("next_i")?,
        },
        // Without it the shard may be filled too far, and publishing moves entries out of it.
        bytes: item.number("bytes").unwrap_or(0),
    })
}

impl SitemapTable {
    /// Moves the counter on by a slot for each entry and returns them.
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
        // A capacity that was lowered under the counter.
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
        // One that is larger than a shard has one for itself.
        assert_eq!(slots, [(1, 0), (1, 1), (2, 0), (3, 0), (4, 0)]);
        assert_eq!(after, counter(4, 1, 2));
    }
}
