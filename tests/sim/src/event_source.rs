//! A stream and its function, connected as by Lambda.
//!
//! - Changes of one item are delivered in their order. A stream has several stream shards, each with several lanes. A stream
//!   shard may be split, and its earlier records are read first.
//! - A lane gathers a batch, calls its function, and continues after the handled records. Failed records are delivered again, and
//!   so may be earlier ones of the batch. A batch whose function ended without an answer is halved. A batch is retried if there
//!   are too many runs.
//! - Runs end anywhere, exceed their time limits, and continue when they were thought dead.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use engine::stream::{Handled, StreamRecord};
use futures::future::{BoxFuture, Either, select};

use crate::faults::{Faults, Spell};
use crate::runtime::{Sim, Sleep, mix};
use crate::template::Mapping;

/// The pause between checks whether the earlier records of a stream shard are handled.
const POLL: Duration = Duration::from_secs(1);
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
                self.give_up();
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

    /// Moves records that are too old to the failures.
    fn give_up(&self) {
        let now = self.stream.sim.elapsed();
        let too_old = |at: &Duration| now.saturating_sub(*at) > self.mapping.record_age;
        self.with_lane(|lane| {
            while lane.records.front().is_some_and(|(at, _)| too_old(at)) {
                let failures = &self.stream.failures;
                let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                failures.extend(lane.records.pop_front().map(|(_, record)| record));
            }
        });
    }

    /// Completes once there are records.
    async fn filled(&self) {
        poll_fn(|context| {
            self.with_lane(|lane| {
                if lane.records.is_empty() {
                    lane.waker = Some(context.waker().clone());
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            })
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
        let numbers: Vec<String> = records
            .iter()
            .map(|record| record.sequence_number.clone())
            .collect();
        let Some(place) = self.invoker.place() else {
            return Tried::Throttled;
        };
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

/// The share of the runs that end or pause somewhere while functions stop at random.
const STOPPED: f64 = 0.1;
/// The share of the runs that pause for a time that their limits allow, if any do. The shortest such time, and the number of
/// times, each twice the previous one and equally likely.
const STALLED: f64 = 0.5;
const SHORTEST_STALL: Duration = Duration::from_millis(200);
const STALLS: u64 = 8;
/// A run ends or pauses before one of its first steps, up to this number. If many pause, it is one of the first eight, of twice
/// as many, and so on, each equally likely, because most runs have few steps.
const STEPS: u64 = 400;
const FEWEST_STEPS: u64 = 8;
const STEPS_DOUBLED: u64 = 6;

/// Calls functions, up to a number at a time. Clones share its state.
#[derive(Clone, Debug)]
pub struct Invoker {
    sim: Sim,
    /// The share of the runs that end or pause somewhere.
    runs: f64,
    /// The time in which the share is `STOPPED` instead.
    stops: Spell,
    /// Whether many runs pause for a short time.
    stalls: bool,
    /// The most concurrent runs, which is the account's limit.
    limit: usize,
    state: Arc<Mutex<Runs>>,
}

/// The counts of runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs {
    /// Running ones.
    running: usize,
    /// Calls that exceeded the limit.
    pub throttled: u64,
    /// The longest run, in hundredths of its time limit.
    pub longest: u64,
    /// The longest run, for whose duration its stream shard was blocked.
    pub held: Duration,
    /// How often all runs were ended.
    ended: u64,
}

/// A running function, as the account's limit counts it.
#[derive(Debug)]
pub struct Place(Invoker);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
    }
}

impl Invoker {
    /// Returns an invoker that runs up to `limit` functions at a time. The share `runs` of the runs end somewhere.
    #[must_use]
    pub fn new(sim: Sim, runs: f64, limit: usize) -> Self {
        Self {
            sim,
            runs,
            stops: Spell::never(),
            stalls: false,
            limit,
            state: Arc::default(),
        }
    }

    /// Returns the same invoker with functions that stop at random during this time.
    pub(crate) fn with_stops(self, stops: Spell) -> Self {
        Self { stops, ..self }
    }

    /// Returns the same invoker, but many functions pause for a time that their limits allow.
    pub(crate) fn with_stalls(self, stalls: bool) -> Self {
        Self { stalls, ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns room for a run. Returns `None` if the limit is reached.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        let mut runs = self.lock();
        if runs.running >= self.limit {
            runs.throttled += 1;
            return None;
        }
        runs.running += 1;
        Some(Place(self.clone()))
    }

    /// Returns the counts of runs so far, and resets the longest.
    #[must_use]
    pub fn runs(&self) -> Runs {
        let mut runs = self.lock();
        let until_now = *runs;
        runs.longest = 0;
        runs.held = Duration::ZERO;
        until_now
    }

    /// Ends all runs, including those that are thought dead.
    pub fn end_all(&self) {
        self.lock().ended += 1;
    }

    /// Runs a function within its time limit, and notes how long that took.
    pub async fn invoke<T: Send + 'static>(
        &self,
        timeout: Duration,
        run: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let begun = self.sim.elapsed();
        let runs = match self.stops.is_on(&self.sim) {
            true => STOPPED,
            false => self.runs,
        };
        let answer = self.falter(runs, timeout, run).await;
        let lasted = self.sim.elapsed() - begun;
        let percent = lasted.as_millis() * 100 / timeout.as_millis();
        let mut runs = self.lock();
        runs.held = runs.held.max(lasted);
        runs.longest = runs.longest.max(u64::try_from(percent).unwrap_or(u64::MAX));
        answer
    }

    /// Runs a function within its time limit. Returns `None` if it gave no answer. The share `rate` of the runs end somewhere, or
    /// pause somewhere for a time, after which they continue.
    async fn falter<T: Send + 'static>(
        &self,
        rate: f64,
        timeout: Duration,
        run: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let sim = &self.sim;
        let falters = sim.happens(rate);
        let stalls = self.stalls && !falters && sim.happens(STALLED);
        if falters || stalls {
            sim.note_fault();
        }
        let end = if stalls {
            End::Freezes(SHORTEST_STALL * (1 << sim.below(STALLS)))
        } else if !falters {
            End::Never
        } else if sim.below(2) == 0 {
            End::Dies
        } else {
            End::Freezes(Duration::from_secs(1 + sim.below(2 * timeout.as_secs())))
        };
        let steps = match self.stalls {
            true => FEWEST_STEPS << sim.below(STEPS_DOUBLED),
            false => STEPS,
        };
        let faltering = Faltering {
            invoker: self.clone(),
            since: self.lock().ended,
            run: Box::pin(run),
            steps: 1 + sim.below(steps),
            end,
            frozen: None,
        };
        let running = sim.spawn(faltering);
        match select(running, sim.sleep(timeout)).await {
            Either::Left((output, _)) => output,
            Either::Right(((), running)) => {
                // Lambda ends its process, except for requests that are on their way, or resumes it much later.
                if sim.below(2) == 0 {
                    running.stop();
                }
                None
            }
        }
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug)]
enum End {
    Never,
    Dies,
    Freezes(Duration),
}

/// A run that ends after this number of steps.
struct Faltering<T> {
    invoker: Invoker,
    /// The count of `Runs::ended` at its beginning.
    since: u64,
    run: BoxFuture<'static, T>,
    steps: u64,
    end: End,
    frozen: Option<Pin<Box<Sleep>>>,
}

impl<T> Future for Faltering<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        if self.invoker.lock().ended != self.since {
            return Poll::Ready(None);
        }
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 {
            match std::mem::replace(&mut self.end, End::Never) {
                End::Never => {}
                End::Dies => return Poll::Ready(None),
                End::Freezes(pause) => self.frozen = Some(Box::pin(self.invoker.sim.sleep(pause))),
            }
        }
        if let Some(frozen) = &mut self.frozen {
            if frozen.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.frozen = None;
        }
        self.run.as_mut().poll(context).map(Some)
    }
}
