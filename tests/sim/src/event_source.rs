//! A stream and the function behind it, as Lambda connects them.
//!
//! - Changes of one item come in their order; a stream is several stream shards, each of several lanes.
//! - A lane gathers a batch, calls its function, and goes on behind what was handled. What failed comes again, and what came
//!   before it in the batch may, too. A batch whose function ended without an answer is halved.
//! - Runs end anywhere, take longer than they may, and go on when they were thought dead.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use engine::stream::{Handled, StreamRecord};
use futures::future::{BoxFuture, Either, select};

use crate::faults::Faults;
use crate::runtime::{Sim, Sleep, mix};
use crate::template::Mapping;

/// Calls the function.
pub type Function = Arc<dyn Fn(Vec<StreamRecord>) -> BoxFuture<'static, Handled> + Send + Sync>;

/// A stream.
#[derive(Clone, Debug)]
pub struct Stream {
    sim: Sim,
    lanes: Arc<Vec<Mutex<Lane>>>,
    /// Sequence numbers given.
    count: Arc<Mutex<u64>>,
    /// What was given up, as the failure bucket has it.
    failures: Arc<Mutex<Vec<StreamRecord>>>,
}

#[derive(Debug, Default)]
struct Lane {
    /// What is not handled yet, and when it happened in the world's time.
    records: VecDeque<(Duration, StreamRecord)>,
    waker: Option<Waker>,
}

impl Stream {
    /// A stream of so many stream shards, each read in as many lanes as the mapping says.
    #[must_use]
    pub fn new(sim: Sim, shards: usize, mapping: &Mapping) -> Self {
        let lanes = (0..shards * mapping.factor)
            .map(|_| Mutex::default())
            .collect();
        Self {
            sim,
            lanes: Arc::new(lanes),
            count: Arc::default(),
            failures: Arc::default(),
        }
    }

    fn lane(&self, at: usize) -> MutexGuard<'_, Lane> {
        self.lanes[at]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in the record of a change. `partition` is the item's partition key.
    pub fn push(&self, partition: &str, record: StreamRecord) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        let record = StreamRecord {
            sequence_number: format!("{count:020}"),
            at: self.sim.now(),
            ..record
        };
        drop(count);
        let hash = partition
            .bytes()
            .fold(7, |hash, byte| mix(hash ^ u64::from(byte)));
        let at = usize::try_from(hash % self.lanes.len() as u64).unwrap_or(0);
        let mut lane = self.lane(at);
        lane.records.push_back((self.sim.elapsed(), record));
        let waker = lane.waker.take();
        drop(lane);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Records that are not handled yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        (0..self.lanes.len())
            .map(|at| self.lane(at).records.len())
            .sum()
    }

    /// Forgets what is not handled yet: the table was dropped, and its stream with it.
    pub fn clear(&self) {
        for at in 0..self.lanes.len() {
            self.lane(at).records.clear();
        }
    }

    /// Takes what was given up, to hand it to the function once more.
    #[must_use]
    pub fn take_failures(&self) -> Vec<StreamRecord> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut failures)
    }

    /// Reads the stream for ever. So many of the function's `runs` end somewhere.
    pub fn connect(&self, mapping: Mapping, faults: &Faults, runs: f64, function: &Function) {
        for at in 0..self.lanes.len() {
            let reader = Reader {
                stream: self.clone(),
                at,
                mapping,
                faults: faults.clone(),
                runs,
                function: Arc::clone(function),
            };
            // It runs until the world ends.
            drop(self.sim.spawn(reader.read()));
        }
    }
}

/// Reads one lane.
struct Reader {
    stream: Stream,
    at: usize,
    mapping: Mapping,
    faults: Faults,
    runs: f64,
    function: Function,
}

impl Reader {
    async fn read(self) {
        let sim = self.stream.sim.clone();
        loop {
            self.filled().await;
            if self.stream.lane(self.at).records.len() < self.mapping.batch {
                sim.sleep(self.mapping.window).await;
            }
            let (mut most, mut tries) = (self.mapping.batch, 0_u32);
            // What was handled must go before anything else is taken in.
            loop {
                self.give_up();
                let Some(handled) = self.try_batch(most).await else {
                    break;
                };
                match handled {
                    Some(count @ 1..) => {
                        let mut lane = self.stream.lane(self.at);
                        let count = count.min(lane.records.len());
                        lane.records.drain(..count);
                        break;
                    }
                    Some(0) => {}
                    None if !self.mapping.bisects => {}
                    None => most = (most.min(self.stream.lane(self.at).records.len()) / 2).max(1),
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
        let mut lane = self.stream.lane(self.at);
        let too_old = |at: &Duration| now.saturating_sub(*at) > self.mapping.record_age;
        while lane.records.front().is_some_and(|(at, _)| too_old(at)) {
            let failures = &self.stream.failures;
            let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
            failures.extend(lane.records.pop_front().map(|(_, record)| record));
        }
    }

    /// Ends once there are records.
    async fn filled(&self) {
        poll_fn(|context| {
            let mut lane = self.stream.lane(self.at);
            if lane.records.is_empty() {
                lane.waker = Some(context.waker().clone());
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
    }

    /// Calls the function with a batch, and says how many of its records were handled: `Some(None)` if there was no answer.
    /// `None` if there is nothing to call it with.
    async fn try_batch(&self, most: usize) -> Option<Option<usize>> {
        let records: Vec<StreamRecord> = {
            let lane = self.stream.lane(self.at);
            let records = lane.records.iter().take(most);
            records.map(|(_, record)| record.clone()).collect()
        };
        if records.is_empty() {
            return None;
        }
        let numbers: Vec<String> = records
            .iter()
            .map(|record| record.sequence_number.clone())
            .collect();
        let run = (self.function)(records);
        let handled = invoke(&self.stream.sim, self.runs, self.mapping.timeout, run).await;
        // The answer may be lost.
        let handled = handled.filter(|_| !self.faults.happens());
        Some(handled.map(|handled| {
            match handled {
                Handled::All => numbers.len(),
                Handled::Before(number) => numbers
                    .iter()
                    .position(|other| *other == number)
                    .unwrap_or(0),
            }
        }))
    }
}

/// Runs a function within its time limit; `None` if it gave no answer. So many of the runs end somewhere, or stand still
/// somewhere for a time, after which they go on.
pub async fn invoke<T: Send + 'static>(
    sim: &Sim,
    rate: f64,
    timeout: Duration,
    run: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let falters = sim.happens(rate);
    if falters {
        sim.note_fault();
    }
    let end = if !falters {
        End::Never
    } else if sim.below(2) == 0 {
        End::Dies
    } else {
        End::Freezes(Duration::from_secs(1 + sim.below(2 * timeout.as_secs())))
    };
    let faltering = Faltering {
        sim: sim.clone(),
        run: Box::pin(run),
        polls: 1 + sim.below(400),
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

/// What becomes of a run.
#[derive(Clone, Copy, Debug)]
enum End {
    Never,
    Dies,
    Freezes(Duration),
}

/// A run that comes to its end after so many steps.
struct Faltering<T> {
    sim: Sim,
    run: BoxFuture<'static, T>,
    polls: u64,
    end: End,
    frozen: Option<Pin<Box<Sleep>>>,
}

impl<T> Future for Faltering<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.polls = self.polls.saturating_sub(1);
        if self.polls == 0 {
            match std::mem::replace(&mut self.end, End::Never) {
                End::Never => {}
                End::Dies => return Poll::Ready(None),
                End::Freezes(pause) => self.frozen = Some(Box::pin(self.sim.sleep(pause))),
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
