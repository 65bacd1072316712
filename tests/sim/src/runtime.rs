//! Tasks on one thread, in virtual time.
//!
//! - The seed decides which ready task runs next. If none is ready, time advances to the next end of a pause.
//! - All randomness comes from one generator, so that everything repeats.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::future::poll_fn;
use std::hash::{Hash, Hasher};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use engine::{Env, Environment};
use futures::future::BoxFuture;

/// A runtime. Clones share it.
#[derive(Clone)]
pub struct Sim(Arc<Mutex<State>>);

struct State {
    /// Microseconds since the beginning.
    now: u64,
    /// Seconds that are added to the clock by leaps.
    ahead: i64,
    /// Whether the clock moves only by leaps.
    #[cfg(test)]
    stands_still: bool,
    random: u64,
    /// The digest of everything that was noted.
    digest: u64,
    /// The number of calls.
    calls: u64,
    /// The number of faults.
    faults: u64,
    tasks: Vec<Option<Task>>,
    /// The unused places in `tasks`.
    free: Vec<usize>,
    ready: Vec<Arc<Waking>>,
    pauses: BinaryHeap<Reverse<Pause>>,
    /// The number of pauses.
    paused: u64,
}

struct Task {
    future: Option<BoxFuture<'static, ()>>,
    waking: Arc<Waking>,
}

/// Wakes one task.
struct Waking {
    sim: Sim,
    task: usize,
    queued: Mutex<bool>,
}

struct Pause {
    until: u64,
    /// The number in the order in which they began.
    number: u64,
    waker: Waker,
}

impl PartialEq for Pause {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Pause {}

impl PartialOrd for Pause {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pause {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.until, self.number).cmp(&(other.until, other.number))
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim")
            .field("now", &self.elapsed())
            .finish_non_exhaustive()
    }
}

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *queued, true) {
            let waking = Arc::clone(&self);
            self.sim.lock().ready.push(waking);
        }
    }
}

impl Sim {
    /// Returns a runtime whose randomness comes from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            now: 0,
            ahead: 0,
            #[cfg(test)]
            stands_still: false,
            random: seed,
            digest: seed,
            calls: 0,
            faults: 0,
            tasks: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            pauses: BinaryHeap::new(),
            paused: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a task and those that it spawns, until it ends.
    ///
    /// # Panics
    ///
    /// If every task waits for another.
    pub fn run<T>(&self, main: impl Future<Output = T>) -> T {
        let mut main = pin!(main);
        // Represents the task among the others, which unlike it can be sent to another thread.
        let turn: Arc<Mutex<Option<Waker>>> = Arc::default();
        let waits = Arc::clone(&turn);
        drop(self.spawn(poll_fn(move |context| -> Poll<()> {
            *waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
            Poll::Pending
        })));
        loop {
            self.step();
            let waker = turn.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(waker) = waker else { continue };
            let poll = main.as_mut().poll(&mut Context::from_waker(&waker));
            if let Poll::Ready(output) = poll {
                // The remaining tasks end with the runtime. They own it and it owns them, and dropping one may wake others.
                let tasks = std::mem::take(&mut self.lock().tasks);
                drop(tasks);
                let mut state = self.lock();
                let left = (
                    std::mem::take(&mut state.ready),
                    std::mem::take(&mut state.pauses),
                );
                drop(state);
                drop(left);
                return output;
            }
        }
    }

    fn step(&self) {
        let waking = {
            let mut state = self.lock();
            if state.ready.is_empty() {
                let Some(Reverse(pause)) = state.pauses.pop() else {
                    panic!("every task waits for another");
                };
                state.now = state.now.max(pause.until);
                drop(state);
                pause.waker.wake();
                return;
            }
            let count = state.ready.len() as u64;
            let at = if count == 1 { 0 } else { state.below(count) };
            state.ready.swap_remove(usize::try_from(at).unwrap_or(0))
        };
        *waking.queued.lock().unwrap_or_else(PoisonError::into_inner) = false;
        let future = match self.lock().tasks.get_mut(waking.task) {
            Some(Some(task)) if Arc::ptr_eq(&task.waking, &waking) => task.future.take(),
            _ => None,
        };
        let Some(mut future) = future else { return };
        let waker = Waker::from(Arc::clone(&waking));
        let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
        let mut state = self.lock();
        match state.tasks.get_mut(waking.task) {
            Some(slot)
                if slot
                    .as_ref()
                    .is_some_and(|task| Arc::ptr_eq(&task.waking, &waking)) =>
            {
                if poll.is_pending() {
                    if let Some(task) = slot {
                        task.future = Some(future);
                    }
                } else {
                    *slot = None;
                    state.free.push(waking.task);
                    drop(state);
                    drop(future);
                }
            }
            // It was stopped by itself.
            _ => drop(state),
        }
    }

    /// Begins a task.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Running<T> {
        let ended: Arc<Mutex<Ended<T>>> = Arc::default();
        let end = Arc::clone(&ended);
        let future: BoxFuture<'static, ()> = Box::pin(async move {
            let output = future.await;
            let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
            end.output = Some(output);
            if let Some(waker) = end.waker.take() {
                waker.wake();
            }
        });
        let mut state = self.lock();
        let task = state.free.pop().unwrap_or_else(|| {
            state.tasks.push(None);
            state.tasks.len() - 1
        });
        let waking = Arc::new(Waking {
            sim: self.clone(),
            task,
            queued: Mutex::new(true),
        });
        state.tasks[task] = Some(Task {
            future: Some(future),
            waking: Arc::clone(&waking),
        });
        state.ready.push(Arc::clone(&waking));
        Running {
            sim: self.clone(),
            waking,
            ended,
        }
    }

    /// Returns the time since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_micros(self.lock().now)
    }

    /// Returns the time in Unix seconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        let state = self.lock();
        let passed = i64::try_from(state.now / 1_000_000).unwrap_or(i64::MAX);
        #[cfg(test)]
        let passed = if state.stands_still { 0 } else { passed };
        BEGINNING + passed + state.ahead
    }

    /// Stops the clock at the world's beginning, except for its leaps.
    #[cfg(test)]
    pub(crate) fn stop_clock(&self) {
        self.lock().stands_still = true;
    }

    /// Moves the clock forward at once, so that all tasks find that much time has passed.
    pub fn leap(&self, seconds: i64) {
        self.lock().ahead += seconds;
    }

    /// Continues at the time of another world.
    pub(crate) fn go_on_at(&self, elapsed: Duration) {
        self.lock().now = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    }

    /// Completes after this time.
    pub fn sleep(&self, pause: Duration) -> Sleep {
        let pause = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        let until = self.lock().now.saturating_add(pause);
        Sleep {
            sim: self.clone(),
            until,
            begun: false,
        }
    }

    /// Returns a random number.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.lock().next_random()
    }

    /// Returns a random number below `limit`, which must not be 0.
    #[must_use]
    pub fn below(&self, limit: u64) -> u64 {
        self.lock().below(limit)
    }

    /// Returns whether an event with this probability happens.
    #[must_use]
    pub fn happens(&self, probability: f64) -> bool {
        if probability <= 0.0 {
            return false;
        }
        let unit = (self.random() >> 11) as f64 / (1_u64 << 53) as f64;
        unit < probability
    }

    /// Counts a call, and adds its digest to the world's.
    pub fn note_call(&self, request: u64) {
        self.lock().calls += 1;
        self.note(request);
    }

    /// Adds the digest of an event, with the time, to the world's.
    pub fn note(&self, digest: u64) {
        let mut state = self.lock();
        state.digest = mix(state.digest ^ mix(digest).wrapping_add(state.now));
    }

    /// Counts a fault.
    pub fn note_fault(&self) {
        self.lock().faults += 1;
    }

    /// Returns the digest of everything that was noted.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.lock().digest
    }

    /// Returns the numbers of calls and of faults.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let state = self.lock();
        (state.calls, state.faults)
    }

    /// Returns the engine's environment in this world.
    #[must_use]
    pub fn env(&self) -> Env {
        Env::new(self.clone())
    }
}

/// The beginning of the world, in Unix seconds.
pub(crate) const BEGINNING: i64 = 1_800_000_000;

impl Environment for Sim {
    fn now(&self) -> i64 {
        Self::now(self)
    }

    fn elapsed(&self) -> Duration {
        Self::elapsed(self)
    }

    fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()> {
        Box::pin(Self::sleep(self, pause))
    }

    fn random(&self) -> u64 {
        Self::random(self)
    }
}

impl State {
    /// Returns the next number of SplitMix64 (<https://doi.org/10.1145/2714064.2660195>).
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }

    fn below(&mut self, limit: u64) -> u64 {
        let product = u128::from(self.next_random()) * u128::from(limit);
        u64::try_from(product >> 64).unwrap_or(0)
    }
}

/// Returns a digest of a value. It is the same in each process, which the standard hasher's is not.
#[must_use]
pub fn digest_of(value: &impl Hash) -> u64 {
    let mut digest = Digest(0);
    value.hash(&mut digest);
    digest.finish()
}

struct Digest(u64);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        mix(self.0)
    }
}

/// Spreads the bits of a number.
#[must_use]
pub fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A pause.
pub struct Sleep {
    sim: Sim,
    until: u64,
    begun: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let sim = self.sim.clone();
        let mut state = sim.lock();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        if !self.begun {
            self.begun = true;
            state.paused += 1;
            let pause = Pause {
                until: self.until,
                number: state.paused,
                waker: context.waker().clone(),
            };
            state.pauses.push(Reverse(pause));
        }
        Poll::Pending
    }
}

struct Ended<T> {
    output: Option<T>,
    waker: Option<Waker>,
}

impl<T> Default for Ended<T> {
    fn default() -> Self {
        let (output, waker) = (None, None);
        Self { output, waker }
    }
}

/// A running task. It continues if this is dropped.
pub struct Running<T> {
    sim: Sim,
    waking: Arc<Waking>,
    ended: Arc<Mutex<Ended<T>>>,
}

impl<T> Running<T> {
    /// Stops the task where it is.
    pub fn stop(&self) {
        let mut state = self.sim.lock();
        let slot = state.tasks.get_mut(self.waking.task);
        let stopped = match slot {
            Some(slot)
                if slot
                    .as_ref()
                    .is_some_and(|task| Arc::ptr_eq(&task.waking, &self.waking)) =>
            {
                slot.take()
            }
            _ => None,
        };
        if stopped.is_some() {
            state.free.push(self.waking.task);
        }
        drop(state);
        // Dropping its state may wake others.
        drop(stopped);
    }
}

impl<T> Future for Running<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match ended.output.take() {
            Some(output) => Poll::Ready(output),
            None => {
                ended.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(seed: u64) -> (Vec<(u64, u64)>, u64) {
        let sim = Sim::new(seed);
        let log: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
        let (world, seen) = (sim.clone(), Arc::clone(&log));
        sim.run(async move {
            let tasks = (0..5).map(|task| {
                let (sim, seen) = (world.clone(), Arc::clone(&seen));
                world.spawn(async move {
                    for _ in 0..5 {
                        sim.sleep(Duration::from_micros(sim.below(50))).await;
                        sim.note(task);
                        let now = u64::try_from(sim.elapsed().as_micros()).unwrap();
                        seen.lock().unwrap().push((task, now));
                    }
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                task.await;
            }
        });
        let log = log.lock().unwrap().clone();
        (log, sim.digest())
    }

    #[test]
    fn a_seed_repeats_and_another_gives_another_order() {
        let (log, digest) = ran(1);
        assert_eq!(log.len(), 25);
        assert!(log.is_sorted_by_key(|(_, now)| *now));
        assert_eq!(ran(1), (log.clone(), digest));
        assert_ne!(ran(2).1, digest);
    }

    #[test]
    fn a_task_that_is_stopped_goes_no_further() {
        let sim = Sim::new(1);
        let world = sim.clone();
        let reached: Arc<Mutex<bool>> = Arc::default();
        let seen = Arc::clone(&reached);
        sim.run(async move {
            let inner = world.clone();
            let task = world.spawn(async move {
                inner.sleep(Duration::from_secs(2)).await;
                *seen.lock().unwrap() = true;
            });
            world.sleep(Duration::from_secs(1)).await;
            task.stop();
            world.sleep(Duration::from_secs(5)).await;
            assert_eq!(world.elapsed(), Duration::from_secs(6));
        });
        assert!(!*reached.lock().unwrap());
    }

    #[test]
    #[should_panic(expected = "every task waits for another")]
    fn a_task_that_nothing_wakes_is_told() {
        Sim::new(1).run(std::future::pending::<()>());
    }
}
