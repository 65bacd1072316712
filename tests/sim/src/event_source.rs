//! A stream and the function behind it, as Lambda connects them.
//!
//! - Changes of one item come in their order; a stream is several stream shards, each of several lanes. A stream shard may be
//!   split: what came before is read first.
//! - A lane gathers a batch, calls its function, and goes on behind what was handled. What failed comes again, and what came
//!   before it in the batch may, too. A batch whose function ended without an answer is halved; one for which there is no room is tried again.
//! - Runs end anywhere, take longer than they may, and go on when they were thought dead.

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

/// How often is asked whether what came before a stream shard is handled.
const POLL: Duration = Duration::from_secs(1);
/// Seconds after which the next stream shard is closed, at most.
const LONGEST_SHARD: u64 = 600;
/// Stream shards that are open at the same time, and all that there may ever be.
const MAX_OPEN: usize = 5;
const MAX_SHARDS: usize = 200;

/// Calls the function.
pub type Function = Arc<dyn Fn(Vec<StreamRecord>) -> BoxFuture<'static, Handled> + Send + Sync>;

/// A stream. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Stream {
    sim: Sim,
    state: Arc<Mutex<State>>,
    /// What was given up, as the failure bucket has it.
    failures: Arc<Mutex<Vec<StreamRecord>>>,
}

#[derive(Debug)]
struct State {
    shards: Vec<Shard>,
    /// Stream shards that there were at first.
    roots: usize,
    /// Lanes of a stream shard.
    factor: usize,
    /// Sequence numbers given.
    count: u64,
}

/// A part of the stream. Once it is split it takes in nothing more.
#[derive(Debug)]
struct Shard {
    parent: Option<usize>,
    children: Vec<usize>,
    lanes: Vec<Lane>,
}

#[derive(Debug, Default)]
struct Lane {
    /// What is not handled yet, and when it happened in the world's time.
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

    /// Returns the stream shard and the lane that take in what has this hash.
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

    /// Returns whether all that came before a stream shard's records is handled.
    fn is_begun(&self, shard: usize) -> bool {
        self.shards[shard].parent.is_none_or(|parent| {
            let lanes = &self.shards[parent].lanes;
            lanes.iter().all(|lane| lane.records.is_empty()) && self.is_begun(parent)
        })
    }
}

impl Stream {
    /// Returns a stream of `shards` stream shards, each read in as many lanes as the mapping says.
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

    /// Takes in the record of a change. `partition` is the item's partition key.
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

    /// Forgets what is not handled yet: the table was dropped, and its stream with it.
    pub fn clear(&self) {
        for shard in &mut self.lock().shards {
            for lane in &mut shard.lanes {
                lane.records.clear();
            }
        }
    }

    /// Returns the number of records that were given up and not handed over again.
    #[must_use]
    pub fn failures(&self) -> usize {
        let failures = self.failures.lock();
        failures.unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Takes what was given up, to hand it to the function once more.
    #[must_use]
    pub fn take_failures(&self) -> Vec<StreamRecord> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut failures)
    }

    /// Reads the stream for ever. With `splits`, its stream shards are closed and go on in one or two others, now and then.
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
            // As the readers, it runs until the world ends.
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

/// What became of a batch.
enum Tried {
    /// There was none.
    Nothing,
    /// So many of its records were handled.
    Handled(usize),
    /// There was no answer.
    Failed,
    /// The function was not called: too many runs are under way.
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

    /// Closes a stream shard from time to time, and has its children read.
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
            // What came before the stream shard is read first.
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
            // What was handled must go before anything else is taken in.
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

    /// Puts what is too old among the failures.
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

    /// Ends once there are records.
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

/// How many of the runs end somewhere, or stand still, when functions stop at random.
const STOPPED: f64 = 0.1;
/// How many of the runs stand still for a time that their limits allow, where any do. The shortest such time; each of so many,
/// of which one is twice the one before, is as likely.
const STALLED: f64 = 0.5;
const SHORTEST_STALL: Duration = Duration::from_millis(200);
const STALLS: u64 = 8;
/// A run ends or stands still before one of its first so many steps. Where many stand still it is one of the first eight, of twice
/// as many, and so on, each as likely: most runs have few.
const STEPS: u64 = 400;
const FEWEST_STEPS: u64 = 8;
const STEPS_DOUBLED: u64 = 6;

/// Calls functions, so many at a time. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Invoker {
    sim: Sim,
    /// How many of the runs end somewhere, or stand still.
    runs: f64,
    /// When this many do instead.
    stops: Spell,
    /// Whether many stand still for a short time.
    stalls: bool,
    /// Runs at a time; that is the account's limit.
    limit: usize,
    state: Arc<Mutex<Runs>>,
}

/// What runs were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs {
    /// Those under way.
    running: usize,
    /// Calls that were too many.
    pub throttled: u64,
    /// The longest, in hundredths of its time limit.
    pub longest: u64,
    /// The longest: so long did it hold its stream shard.
    pub held: Duration,
    /// How often all were ended.
    ended: u64,
}

/// A run that is under way, as the account's limit counts it.
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

    /// Returns the same invoker with functions of which many stand still for a time that their limits allow.
    pub(crate) fn with_stalls(self, stalls: bool) -> Self {
        Self { stalls, ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns room for a run. Returns `None` if there are as many runs as there may be.
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

    /// Returns what runs were until now. The longest is looked for again from now on.
    #[must_use]
    pub fn runs(&self) -> Runs {
        let mut runs = self.lock();
        let until_now = *runs;
        runs.longest = 0;
        runs.held = Duration::ZERO;
        until_now
    }

    /// Ends all runs, also those that are thought dead.
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
    /// stand still somewhere for a time, after which they go on.
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
                // Lambda ends its process, but for what it has already sent, or finds it again much later.
                if sim.below(2) == 0 {
                    running.stop();
                }
                None
            }
        }
    }
}

/// What becomes of a run.
#[derive(Clone, Copy, Debug)]
enum End {
    Never,
    Dies,
    Freezes(Duration),
}

/// A run that comes to its end after so many steps.
struct Faltering<T> {
    invoker: Invoker,
    /// How often all had been ended when it began.
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
