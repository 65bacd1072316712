//! Calls functions as Lambda does: up to a number at a time, each within its time limit.
//!
//! Runs end anywhere, exceed their time limits, and continue when they were thought dead.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::{BoxFuture, Either, select};

use crate::cloudwatch::CloudWatch;
use crate::faults::Spell;
use crate::runtime::{Sim, Sleep};

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
    state: Arc<Mutex<State>>,
    /// The function that this one calls. `None` for any.
    callee: Option<Callee>,
    cloudwatch: CloudWatch,
}

/// A function that something calls by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// `ingest`, by the streams of content.
    Ingest,
    /// `regenerate`, by the sitemap table's stream.
    Regenerate,
    /// `sweep`, by the clock.
    Sweep,
}

impl Callee {
    /// Returns its name in the template.
    const fn name(self) -> &'static str {
        match self {
            Self::Ingest => "IngestFunction",
            Self::Regenerate => "RegenerateFunction",
            Self::Sweep => "SweepFunction",
        }
    }
}

#[derive(Debug, Default)]
struct State {
    runs: Runs,
    reserved: [Reserved; 3],
}

/// The executions that are reserved for a function, which are also the most that it gets.
#[derive(Clone, Copy, Debug, Default)]
struct Reserved {
    /// `None` if it shares the account's.
    limit: Option<usize>,
    running: usize,
}

/// The counts of runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs {
    /// Running ones, without those of functions that have executions reserved.
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

/// A running function, as a limit counts it.
#[derive(Debug)]
pub struct Place {
    invoker: Invoker,
    /// The function of whose reserved executions it is one. `None` if it is one of the account's.
    reserved: Option<Callee>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.invoker.lock();
        match self.reserved {
            Some(callee) => state.reserved[callee as usize].running -= 1,
            None => state.runs.running -= 1,
        }
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
            callee: None,
            cloudwatch: CloudWatch::default(),
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

    /// Returns the same invoker, whose calls are noted there.
    pub(crate) fn noted_in(self, cloudwatch: CloudWatch) -> Self {
        Self { cloudwatch, ..self }
    }

    /// Returns the same invoker, of one function.
    pub(crate) fn of(self, callee: Callee) -> Self {
        let callee = Some(callee);
        Self { callee, ..self }
    }

    /// Reserves this number of executions for a function. Without a number it shares the account's.
    pub(crate) fn reserve(&self, callee: Callee, limit: Option<usize>) {
        self.lock().reserved[callee as usize].limit = limit;
    }

    /// Notes a metric of the function.
    pub(crate) fn note(&self, metric: &'static str, value: f64) {
        if let Some(callee) = self.callee {
            self.cloudwatch.note(metric, callee.name(), value);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns room for a run. Returns `None` if the function's limit is reached, or the account's.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        let mut state = self.lock();
        let State { runs, reserved } = &mut *state;
        let callee = self.callee;
        let callee = callee.filter(|callee| reserved[*callee as usize].limit.is_some());
        let (running, limit) = match callee {
            Some(callee) => {
                let Reserved { limit, running } = &mut reserved[callee as usize];
                (running, limit.unwrap_or(0))
            }
            None => (&mut runs.running, self.limit),
        };
        if *running >= limit {
            runs.throttled += 1;
            drop(state);
            self.note("Throttles", 1.0);
            return None;
        }
        *running += 1;
        drop(state);
        Some(Place {
            invoker: self.clone(),
            reserved: callee,
        })
    }

    /// Returns the counts of runs so far, and resets the longest.
    #[must_use]
    pub fn runs(&self) -> Runs {
        let mut state = self.lock();
        let until_now = state.runs;
        state.runs.longest = 0;
        state.runs.held = Duration::ZERO;
        until_now
    }

    /// Ends all runs, including those that are thought dead.
    pub fn end_all(&self) {
        self.lock().runs.ended += 1;
    }

    /// Runs a function within its time limit, and notes how long that took.
    pub async fn invoke<T: Send + 'static>(
        &self,
        timeout: Duration,
        run: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let begun = self.sim.elapsed();
        self.note("Invocations", 1.0);
        let runs = match self.stops.is_on(&self.sim) {
            true => STOPPED,
            false => self.runs,
        };
        let answer = self.falter(runs, timeout, run).await;
        let lasted = self.sim.elapsed() - begun;
        let percent = lasted.as_millis() * 100 / timeout.as_millis();
        let errors = u8::from(answer.is_none());
        self.note("Errors", f64::from(errors));
        let mut state = self.lock();
        let runs = &mut state.runs;
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
            since: self.lock().runs.ended,
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
        if self.invoker.lock().runs.ended != self.since {
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
