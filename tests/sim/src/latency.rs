//! How long a change of a record takes until the bucket has it.
//!
//! The rows of a segment have versions that only rise, and a published sitemap says their sum for each of its segments: so
//! each published object tells which changes it has, and nothing has to be looked for in its text.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::keys::{RowKey, ShardId};
use objects::{MemoryObjects, ObjectKey, Objects};
use sitemap::member::Member;
use table::{Change, Item};

use crate::runtime::Sim;

/// How often the bucket is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is waited for. Cloning shares it.
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
    /// When each record changed of which no row has yet.
    changed: BTreeMap<String, Duration>,
    /// The stamps from which on an object has a change, and when its record changed.
    written: BTreeMap<ShardId, Vec<(u32, u64, Duration)>>,
    /// How long those took that are published.
    taken: Vec<Duration>,
}

impl Latency {
    /// Returns a latency that measures nothing yet.
    #[must_use]
    pub fn new(sim: Sim) -> Self {
        let state = Arc::default();
        Self { sim, state }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures from now on: before there are any rows. What is published between two looks is seen at the second.
    pub fn begin(&self, objects: MemoryObjects) {
        self.lock().is_on = true;
        let latency = self.clone();
        // As the functions, it runs until the world ends.
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

    /// Begins with rows of which these are the sums.
    pub(crate) fn begin_with(&self, stamps: Stamps) {
        self.lock().stamps = stamps;
    }

    /// Notes that a record changes now: its row will.
    pub fn change(&self, id: &str) {
        let now = self.sim.elapsed();
        self.lock().changed.entry(id.to_owned()).or_insert(now);
    }

    /// Notes that a row has changed.
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

    /// Notes that a sitemap was published.
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

    /// Returns how long the changes took that were published since the last call, the quickest first, and how many wait.
    #[must_use]
    pub fn take(&self) -> (Vec<Duration>, usize) {
        let mut state = self.lock();
        let mut taken = std::mem::take(&mut state.taken);
        taken.sort_unstable();
        let written: usize = state.written.values().map(Vec::len).sum();
        (taken, state.changed.len() + written)
    }
}
