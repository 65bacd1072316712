//! Measures the time from a record's change until it is in the bucket.
//!
//! The rows of a segment have versions that only rise, and a published sitemap contains their sum for each of its segments. So
//! the sums show which changes an object contains, and its text need not be searched.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::keys::{RowKey, ShardId};
use objects::{MemoryObjects, ObjectKey, Objects};
use sitemap::member::Member;
use table::{Change, Item};

use crate::runtime::Sim;

/// The pause between two looks at the bucket.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The changes that are waited for. Clones share them.
#[derive(Clone, Debug)]
pub struct Latency {
    sim: Sim,
    state: Arc<Mutex<State>>,
}

/// A segment of a sitemap.
type Place = (ShardId, u32);
/// The sum of the versions of each segment's rows.
pub(crate) type Stamps = BTreeMap<Place, u64>;

#[derive(Debug, Default)]
struct State {
    is_on: bool,
    stamps: Stamps,
    /// The times of changes of records whose rows have not changed yet.
    changed: BTreeMap<String, Duration>,
    /// The stamps from which on an object contains a change, and the time of its record's change.
    written: BTreeMap<ShardId, Vec<(u32, u64, Duration)>>,
    /// The latencies of published changes.
    taken: Vec<Duration>,
}

impl Latency {
    /// Returns a measurement that has not begun.
    #[must_use]
    pub fn new(sim: Sim) -> Self {
        let state = Arc::default();
        Self { sim, state }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to measure, before there are any rows. An object that is published between two looks is seen at the second one.
    pub fn begin(&self, objects: MemoryObjects) {
        self.lock().is_on = true;
        let latency = self.clone();
        // Like the functions, it runs until the world ends.
        drop(self.sim.spawn(async move {
            let mut seen: BTreeMap<ObjectKey, String> = BTreeMap::new();
            loop {
                latency.sim.sleep(LOOK_EVERY).await;
                let waited: Vec<ShardId> = latency.lock().written.keys().cloned().collect();
                for shard in waited {
                    let key = shard.object();
                    let meta = objects.head(&key).await.expect("memory");
                    let etag = meta.map(|meta| meta.etag).unwrap_or_default();
                    if seen.insert(key.clone(), etag.clone()).as_ref() == Some(&etag) {
                        continue;
                    }
                    if let Some((_, bytes)) = objects.get(&key).await.expect("memory") {
                        latency.look(&shard, &bytes);
                    }
                }
            }
        }));
    }

    /// Returns the sums of the versions of each segment's rows.
    pub(crate) fn stamps(&self) -> Stamps {
        self.lock().stamps.clone()
    }

    /// Begins with rows that have these sums.
    pub(crate) fn begin_with(&self, stamps: Stamps) {
        self.lock().stamps = stamps;
    }

    /// Notes that a record changes now, and that its row will.
    pub fn change(&self, id: &str) {
        let now = self.sim.elapsed();
        self.lock().changed.entry(id.to_owned()).or_insert(now);
    }

    /// Notes the change of a row.
    pub(crate) fn note(&self, change: &Change<'_>) {
        if !self.lock().is_on {
            return;
        }
        let key = |name| change.key.text(name).unwrap_or_default();
        let Some(RowKey::Entry(series, slot)) = RowKey::parse(key("pk"), key("sk")) else {
            return;
        };
        let version = |item: Option<&Item>| -> u64 {
            item.and_then(|item| item.number("version")).unwrap_or(0)
        };
        let (shard, segment) = (ShardId { series, n: slot.n }, slot.segment());
        let mut state = self.lock();
        let stamp = state.stamps.entry((shard.clone(), segment)).or_default();
        *stamp = (*stamp + version(change.new)).saturating_sub(version(change.old));
        let stamp = *stamp;
        for item in [change.old, change.new].into_iter().flatten() {
            let since = item.text("owner").and_then(|id| state.changed.remove(id));
            if let Some(since) = since {
                let written = state.written.entry(shard.clone()).or_default();
                written.push((segment, stamp, since));
            }
        }
    }

    /// Notes the publication of a sitemap.
    fn look(&self, shard: &ShardId, bytes: &[u8]) {
        let member = Member::parse(bytes).expect("a member of ours");
        let now = self.sim.elapsed();
        let mut state = self.lock();
        let State { written, taken, .. } = &mut *state;
        let Some(waiting) = written.get_mut(shard) else {
            return;
        };
        waiting.retain(|(segment, stamp, since)| {
            let published = member.directory().segments.get(*segment as usize);
            let has_it = published.is_some_and(|published| published.stamp >= *stamp);
            if has_it {
                taken.push(now.saturating_sub(*since));
            }
            !has_it
        });
        if waiting.is_empty() {
            written.remove(shard);
        }
    }

    /// Returns the latencies of changes that were published since the last call, the shortest first, and the number of waiting
    /// ones.
    #[must_use]
    pub fn take(&self) -> (Vec<Duration>, usize) {
        let mut state = self.lock();
        let mut taken = std::mem::take(&mut state.taken);
        taken.sort_unstable();
        let written: usize = state.written.values().map(Vec::len).sum();
        (taken, state.changed.len() + written)
    }
}
