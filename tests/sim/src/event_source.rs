//! A stream and its function, connected as by Lambda.
//!
//! - Changes of one item are delivered in their order. A stream has several stream shards, each with several lanes. A stream
//!   shard may be split, and its earlier records are read first.
//! - A lane gathers a batch, calls its function, and continues after the handled records. Failed records are delivered again, and
//!   so may be earlier ones of the batch. A batch whose function ended without an answer is halved. A batch is retried if there
//!   are too many runs.
//! - A stream keeps a record for a day, whether or not anything reads it. An event source that is off reads nothing.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use engine::stream::{Handled, StreamRecord};
use futures::future::BoxFuture;

use crate::faults::Faults;
use crate::invoker::Invoker;
use crate::runtime::{Sim, mix};
use crate::template::Mapping;

/// The pause between checks whether the earlier records of a stream shard are handled.
const POLL: Duration = Duration::from_secs(1);
/// The age at which a stream drops a record
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html>).
const RETENTION: Duration = Duration::from_secs(24 * 3_600);
/// The most seconds after which the next stream shard is closed.
const LONGEST_SHARD: u64 = 600;
/// The most stream shards that are open at the same time, and that there may ever be.
const MAX_OPEN: usize = 5;
const MAX_SHARDS: usize = 200;

/// A function that a stream calls.
pub type Function = Arc<dyn Fn(Vec<StreamRecord>) -> BoxFuture<'static, Handled> + Send + Sync>;

/// A stream. Clones share it.
#[derive(Clone, Debug)]
pub struct Stream {
    sim: Sim,
    state: Arc<Mutex<State>>,
    /// The records that were given up, as in the failure bucket.
    failures: Arc<Mutex<Vec<StreamRecord>>>,
}

#[derive(Debug)]
struct State {
    shards: Vec<Shard>,
    /// The initial number of stream shards.
    roots: usize,
    /// The number of lanes of a stream shard.
    factor: usize,
    /// The number of assigned sequence numbers.
    count: u64,
    /// Whether the event source is off.
    is_off: bool,
    /// The number of records that the stream dropped before they were read.
    lost: u64,
}

/// A part of the stream. Once it is split it takes no more records.
#[derive(Debug)]
struct Shard {
    parent: Option<usize>,
    children: Vec<usize>,
    lanes: Vec<Lane>,
}

#[derive(Debug, Default)]
struct Lane {
    /// The records that are not handled yet, with the times of their changes in the world's time.
    records: VecDeque<(Duration, StreamRecord)>,
    waker: Option<Waker>,
}

impl State {
    fn add(&mut self, parent: Option<usize>) -> usize {
        self.shards.push(Shard {
            parent,
            children: Vec::new(),
            lanes: (0..self.factor).map(|_| Lane::default()).collect(),
        });
        self.shards.len() - 1
    }

    /// Returns the stream shard and the lane for a partition key with this hash.
    fn place(&self, hash: u64) -> (usize, usize) {
        let below = |hash: u64, limit: usize| usize::try_from(hash % limit as u64).unwrap_or(0);
        let at = below(hash, self.roots * self.factor);
        let (mut shard, mut lane) = (at / self.factor, at % self.factor);
        while !self.shards[shard].children.is_empty() {
            let children = &self.shards[shard].children;
            let hash = mix(hash ^ shard as u64);
            shard = children[below(hash, children.len())];
            lane = below(mix(hash), self.factor);
        }
        (shard, lane)
    }

    /// Returns whether all records before those of a stream shard are handled.
    fn is_begun(&self, shard: usize) -> bool {
        self.shards[shard].parent.is_none_or(|parent| {
            let lanes = &self.shards[parent].lanes;
            lanes.iter().all(|lane| lane.records.is_empty()) && self.is_begun(parent)
        })
    }
}

impl Stream {
    /// Returns a stream of `shards` stream shards, each with as many lanes as the mapping has.
    #[must_use]
    pub fn new(sim: Sim, shards: usize, mapping: &Mapping) -> Self {
        let mut state = State {
            shards: Vec::new(),
            roots: shards,
            factor: mapping.factor,
            count: 0,
            is_off: false,
            lost: 0,
        };
        for _ in 0..shards {
            state.add(None);
        }
        Self {
            sim,
            state: Arc::new(Mutex::new(state)),
            failures: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the record of a change. `partition` is the item's partition key.
    pub fn push(&self, partition: &str, record: StreamRecord) {
        let hash = partition
            .bytes()
            .fold(7, |hash, byte| mix(hash ^ u64::from(byte)));
        let (now, at) = (self.sim.elapsed(), self.sim.now());
        let mut state = self.lock();
        state.count += 1;
        let record = StreamRecord {
            sequence_number: format!("{:020}", state.count),
            at,
            ..record
        };
        let (shard, lane) = state.place(hash);
        let lane = &mut state.shards[shard].lanes[lane];
        lane.records.push_back((now, record));
        let waker = lane.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns the number of records that are not handled yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let state = self.lock();
        let lanes = state.shards.iter().flat_map(|shard| &shard.lanes);
        lanes.map(|lane| lane.records.len()).sum()
    }

    /// Drops the records that are not handled yet, because the table was dropped together with its stream.
    pub fn clear(&self) {
        for shard in &mut self.lock().shards {
            for lane in &mut shard.lanes {
                lane.records.clear();
            }
        }
    }

    /// Returns the number of records that were given up and not replayed.
    #[must_use]
    pub fn failures(&self) -> usize {
        let failures = self.failures.lock();
        failures.unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Takes the records that were given up, to replay them.
    #[must_use]
    pub fn take_failures(&self) -> Vec<StreamRecord> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut failures)
    }

    /// Switches the event source on or off. It continues with the first record that is not handled yet and still there.
    pub fn switch(&self, on: bool) {
        let mut state = self.lock();
        state.is_off = !on;
        let lanes = state.shards.iter_mut().flat_map(|shard| &mut shard.lanes);
        let wakers: Vec<Waker> = lanes.filter_map(|lane| lane.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns the number of records that the stream dropped before they were read.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lock().lost
    }

    /// Reads the stream forever. With `splits`, its stream shards are sometimes closed, and continue in one or two others.
    pub fn connect(
        &self,
        mapping: Mapping,
        faults: &Faults,
        splits: bool,
        invoker: &Invoker,
        function: &Function,
    ) {
        let reader = Reader {
            stream: self.clone(),
            at: (0, 0),
            mapping,
            faults: faults.clone(),
            invoker: invoker.clone(),
            function: Arc::clone(function),
        };
        let roots = self.lock().roots;
        for shard in 0..roots {
            reader.read_shard(shard);
        }
        if splits {
            // Like the readers, it runs until the world ends.
            drop(self.sim.spawn(reader.split()));
        }
    }
}

/// Reads one lane of one stream shard.
#[derive(Clone)]
struct Reader {
    stream: Stream,
    at: (usize, usize),
    mapping: Mapping,
    faults: Faults,
    invoker: Invoker,
    function: Function,
}

/// The outcome of a batch.
enum Tried {
    /// There was no batch.
    Nothing,
    /// This number of its records were handled.
    Handled(usize),
    /// There was no answer.
    Failed,
    /// The function was not called, because too many runs are under way.
    Throttled,
}

impl Reader {
    /// Reads the lanes of a stream shard.
    fn read_shard(&self, shard: usize) {
        for lane in 0..self.mapping.factor {
            let at = (shard, lane);
            let reader = Self { at, ..self.clone() };
            // It runs until the world ends.
            drop(self.stream.sim.spawn(reader.read()));
        }
    }

    /// Closes a stream shard from time to time, and starts to read its children.
    async fn split(self) {
        let sim = self.stream.sim.clone();
        while self.stream.lock().shards.len() < MAX_SHARDS {
            let pause = Duration::from_secs(1 + sim.below(LONGEST_SHARD));
            sim.sleep(pause).await;
            let children = {
                let mut state = self.stream.lock();
                let open =
                    (0..state.shards.len()).filter(|at| state.shards[*at].children.is_empty());
                let open: Vec<usize> = open.collect();
                let closed = open[usize::try_from(sim.below(open.len() as u64)).unwrap_or(0)];
                let count = if open.len() < MAX_OPEN {
                    1 + sim.below(2)
                } else {
                    1
                };
                let children: Vec<usize> = (0..count).map(|_| state.add(Some(closed))).collect();
                state.shards[closed].children.clone_from(&children);
                children
            };
            for child in children {
                self.read_shard(child);
            }
        }
    }

    /// Passes the lane's state to `look`.
    fn with_lane<T>(&self, look: impl FnOnce(&mut Lane) -> T) -> T {
        let (shard, lane) = self.at;
        look(&mut self.stream.lock().shards[shard].lanes[lane])
    }

    async fn read(self) {
        let sim = self.stream.sim.clone();
        let mut is_begun = false;
        loop {
            self.filled().await;
            // The records before those of the stream shard are read first.
            while !is_begun {
                is_begun = self.stream.lock().is_begun(self.at.0);
                if !is_begun {
                    sim.sleep(POLL).await;
                }
            }
            if self.with_lane(|lane| lane.records.len()) < self.mapping.batch {
                sim.sleep(self.mapping.window).await;
            }
            let (mut most, mut tries) = (self.mapping.batch, 0_u32);
            // Handled records are removed before others are added.
            loop {
                if self.stream.lock().is_off {
                    break;
                }
                self.drop_old();
                match self.try_batch(most).await {
                    Tried::Nothing => break,
                    Tried::Handled(count @ 1..) => {
                        self.with_lane(|lane| {
                            let count = count.min(lane.records.len());
                            lane.records.drain(..count);
                        });
                        break;
                    }
                    Tried::Handled(0) | Tried::Throttled => {}
                    Tried::Failed if !self.mapping.bisects => {}
                    Tried::Failed => {
                        let waiting = self.with_lane(|lane| lane.records.len());
                        most = (most.min(waiting) / 2).max(1);
                    }
                }
                tries += 1;
                let pause = Duration::from_millis(500 << tries.min(6));
                sim.sleep(pause + Duration::from_millis(sim.below(500)))
                    .await;
            }
        }
    }

    /// Drops records that the stream no longer has, and moves those that are too old for the event source to the failures.
    fn drop_old(&self) {
        let now = self.stream.sim.elapsed();
        let (shard, lane) = self.at;
        let mut state = self.stream.lock();
        let State { shards, lost, .. } = &mut *state;
        let records = &mut shards[shard].lanes[lane].records;
        while let Some((at, _)) = records.front() {
            let age = now.saturating_sub(*at);
            if age <= self.mapping.record_age {
                break;
            }
            let record = records.pop_front().map(|(_, record)| record);
            if age > RETENTION {
                *lost += 1;
            } else {
                let failures = &self.stream.failures;
                let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                failures.extend(record);
            }
        }
    }

    /// Completes once there are records to read.
    async fn filled(&self) {
        let (shard, lane) = self.at;
        poll_fn(|context| {
            let mut state = self.stream.lock();
            let is_off = state.is_off;
            let lane = &mut state.shards[shard].lanes[lane];
            if is_off || lane.records.is_empty() {
                lane.waker = Some(context.waker().clone());
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
    }

    /// Calls the function with a batch.
    async fn try_batch(&self, most: usize) -> Tried {
        let records: Vec<StreamRecord> = self.with_lane(|lane| {
            let records = lane.records.iter().take(most);
            records.map(|(_, record)| record.clone()).collect()
        });
        if records.is_empty() {
            return Tried::Nothing;
        }
        let newest = self.with_lane(|lane| lane.records.get(records.len() - 1).map(|(at, _)| *at));
        let numbers: Vec<String> = records
            .iter()
            .map(|record| record.sequence_number.clone())
            .collect();
        let Some(place) = self.invoker.place() else {
            return Tried::Throttled;
        };
        let now = self.stream.sim.elapsed();
        let age = now.saturating_sub(newest.unwrap_or(now));
        self.invoker
            .note("IteratorAge", age.as_secs_f64() * 1_000.0);
        let run = (self.function)(records);
        let handled = self.invoker.invoke(self.mapping.timeout, run).await;
        drop(place);
        // The answer may be lost.
        match handled.filter(|_| !self.faults.happens()) {
            None => Tried::Failed,
            Some(Handled::All) => Tried::Handled(numbers.len()),
            Some(Handled::Before(number)) => {
                let position = numbers.iter().position(|other| *other == number);
                Tried::Handled(position.unwrap_or(0))
            }
        }
    }
}
