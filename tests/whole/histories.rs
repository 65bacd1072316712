//! Runs generated histories with faults, and compares the published set with the eligible set of an oracle.
//!
//! - A history has a hundred and more edits of a few records of three sites, so that they collide. In between are changed
//!   settings, floods, leaps of time and dropped tables (`sim::history`). The oracle knows which pages must be listed
//!   (`sim::oracle`).
//! - Meanwhile event sources duplicate, delay, split, reorder, lose answers and stop functions anywhere, calls fail before and
//!   after they took effect (`run`), and a crawler reads (`sim::reader`).
//! - At each rest and at the end, every page, row and object is compared (`audit`).
//!
//! `WAYMARK_CASES` sets the number of histories, `WAYMARK_SEED` the seed. The faults come from the same seed, but their moments
//! depend on the machine. `WAYMARK_FIRST` skips the histories before a number. A soak:
//!
//! ```sh
//! WAYMARK_CASES=2000 cargo test --test whole histories::whatever -- --nocapture
//! ```
//!
//! A history that fails is printed. It can then be run in the simulated world, which shortens it
//! (`tests/sim/src/regressions.rs`).

mod audit;
mod run;

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::task::JoinError;

use run::{Report, run};
use sim::history::{History, history};

/// The histories of one run, unless `WAYMARK_CASES` is set: about 1,200 steps, some minutes. A soak runs 64 and more of a
/// seed.
const CASES: u32 = 8;
/// Concurrent histories. Each waits for its event sources much of the time.
const AT_ONCE: u32 = 4;
/// The time limit for the rest of a history to end. A failed history is not waited for.
const ENDS: Duration = Duration::from_secs(10);
/// The most characters of a reason that are printed, because it may quote a document.
const TOLD: usize = 2_000;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap())
}

/// Returns the history of a case, and the seed of its faults.
fn drawn(seed: u64, case: u32) -> (u64, History) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..12].copy_from_slice(&case.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let tree = (proptest::num::u64::ANY, history()).new_tree(&mut runner);
    tree.unwrap().current()
}

/// Runs a history in a task and a runtime of its own. So a panic is a failure of the history, and everything that a panic leaves
/// running ends with the runtime.
fn attempt(seed: u64, history: &History) -> Result<Report, String> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let history = history.clone();
    let task = runtime.spawn(async move { run(seed, &history).await });
    let ended = runtime.block_on(task);
    runtime.shutdown_timeout(ENDS);
    ended
        .unwrap_or_else(|panic| Err(text_of::<()>(Err(panic))))
        .map_err(|reason| reason.chars().take(TOLD).collect())
}

/// Returns the message of a task that should not have ended.
fn text_of<T>(ended: Result<T, JoinError>) -> String {
    let Err(error) = ended else {
        return "it ended".to_owned();
    };
    let Ok(panic) = error.try_into_panic() else {
        return "it was stopped".to_owned();
    };
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_default()
}

#[test]
fn whatever_happens_the_published_set_is_the_eligible_set() {
    let seed = number("WAYMARK_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    let cases = number("WAYMARK_CASES").map_or(CASES, |cases| u32::try_from(cases).unwrap());
    let first = number("WAYMARK_FIRST").map_or(0, |first| u32::try_from(first).unwrap());
    println!("WAYMARK_SEED={seed} WAYMARK_FIRST={first} WAYMARK_CASES={cases}");
    let (begun, next) = (Instant::now(), AtomicU32::new(first));
    let (report, failure) = (Mutex::new(Report::default()), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(cases.saturating_sub(first)) {
            scope.spawn(|| {
                while failure.lock().unwrap().is_none() {
                    let case = next.fetch_add(1, Ordering::SeqCst);
                    if case >= cases {
                        return;
                    }
                    let (faults, history) = drawn(seed, case);
                    match attempt(faults, &history) {
                        Ok(done) => report.lock().unwrap().add(&done),
                        Err(reason) => {
                            println!("case {case} fails: {reason}");
                            let mut failure = failure.lock().unwrap();
                            failure.get_or_insert((case, faults, history, reason));
                        }
                    }
                }
            });
        }
    });
    let seconds = begun.elapsed().as_secs();
    println!("in {seconds} s: {}", report.into_inner().unwrap());
    if let Some((case, faults, history, reason)) = failure.into_inner().unwrap() {
        let History { loaded, steps } = history;
        panic!(
            "case {case} of WAYMARK_SEED={seed}: {reason}\nreplay({faults}, {loaded}, &{steps:?})"
        );
    }
}
