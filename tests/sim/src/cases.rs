//! Runs histories by their numbers: draws them, runs them on all cores, and shortens those that fail.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use objects::ObjectKey;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::audit::check;
use crate::deployment::{Deployment, PARTS, PLAIN, audits, deployment};
use crate::history::{DEFAULT, History, PAGE, Page, Settings, any_history};
use crate::oracle::Oracle;
use crate::run::{Case, Report, happen};
use crate::runtime::{Sim, mix};
use crate::world::{Options, World};

/// The part of the steps, at least, that is loaded before the functions start, if that is done in bulk.
const LOADED_ONE_IN: usize = 3;
/// The most entries of a sitemap (sitemaps.org).
const MOST_ENTRIES: u32 = 50_000;

/// The result of a history.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The counts of the run.
    pub report: Report,
    /// The digest of all calls, their answers and times, and of the final state.
    pub digest: u64,
    /// The first violation. `None` if there was none.
    pub violation: Option<String>,
}

/// Draws a case of a seed.
#[must_use]
pub fn drawn(seed: u64, case: u64) -> Case {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&case.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let cases = (
        proptest::num::u64::ANY,
        deployment(),
        any_history(),
        audits(),
    );
    let tree = cases.new_tree(&mut runner).expect("a case is drawn");
    let (world, deployment, history, audits) = tree.current();
    let source = deployment.source || history.deploys();
    Case {
        world,
        deployment: Deployment {
            source,
            audits,
            ..deployment
        },
        history,
        is_filled: false,
    }
}

/// Draws a case of a seed that begins with a first load in bulk. There is none in a deployment with a table of the user's.
#[must_use]
pub fn drawn_in_bulk(seed: u64, case: u64) -> Case {
    let mut case = drawn(seed, case);
    let steps = case.history.steps.len();
    case.is_filled = !case.deployment.source;
    case.history.loaded = case.history.loaded.max(steps / LOADED_ONE_IN);
    case
}

/// Runs histories in the order of their numbers on all cores, until they have `steps` steps together. `drawn` draws them. With
/// `first`, stops at the first violation. Returns their outcomes by number.
#[must_use]
pub fn run_all(
    drawn: fn(u64, u64) -> Case,
    seed: u64,
    steps: u64,
    first: bool,
) -> BTreeMap<u64, Outcome> {
    // The number of histories depends only on the seed, and so does the digest.
    let (mut count, mut drawn_steps) = (0, 0);
    while drawn_steps < steps {
        drawn_steps += drawn(seed, count).history.done() as u64;
        count += 1;
    }
    let (next, end) = (AtomicU64::new(0), AtomicU64::new(count));
    let outcomes = Mutex::new(BTreeMap::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= end.load(Ordering::Relaxed) {
                        return;
                    }
                    let outcome = run(&drawn(seed, case));
                    if first && outcome.violation.is_some() {
                        end.fetch_min(case + 1, Ordering::Relaxed);
                    }
                    let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
                    outcomes.insert(case, outcome);
                }
            });
        }
    });
    let mut outcomes = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    // Histories after the first violation may have been running.
    outcomes.split_off(&end.into_inner());
    outcomes
}

/// Runs a history.
#[must_use]
pub fn run(case: &Case) -> Outcome {
    let sim = Sim::new(case.world);
    let case = case.clone();
    let inner = sim.clone();
    let happened = catch_unwind(AssertUnwindSafe(|| {
        sim.run(async move { happen(inner, case).await })
    }));
    let (report, left, violation) = happened.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let text = text.unwrap_or_else(|| "a panic".to_owned());
        (Report::default(), 0, Some(format!("a panic: {text}")))
    });
    let (calls, faults) = sim.counts();
    let report = Report {
        histories: 1,
        calls,
        faults,
        seconds: sim.elapsed().as_secs(),
        ..report
    };
    Outcome {
        report,
        digest: mix(sim.digest() ^ left),
        violation,
    }
}

/// Shortens a failing history as far as it still fails.
///
/// It first removes parts of the deployment, then halves of the steps, then single steps. The result is a line for `regressions`.
#[must_use]
pub fn shortened(case: &Case) -> String {
    let mut case = case.clone();
    let mut violation = run(&case).violation.unwrap_or_default();
    for plain in PARTS {
        let mut plainer = case.clone();
        plain(&mut plainer.deployment);
        if plainer.deployment != case.deployment
            && let Some(other) = run(&plainer).violation
        {
            (case, violation) = (plainer, other);
        }
    }
    let mut length = case.history.steps.len().div_ceil(2);
    while length > 0 {
        let mut at = 0;
        while at < case.history.steps.len() {
            let end = (at + length).min(case.history.steps.len());
            let shorter = Case {
                history: case.history.without(at..end),
                ..case.clone()
            };
            match run(&shorter).violation {
                Some(other) => (case, violation) = (shorter, other),
                None => at = end,
            }
        }
        // From 1 to the end.
        length = if length == 1 { 0 } else { length.div_ceil(2) };
    }
    let Case {
        world,
        deployment,
        history: History { loaded, steps },
        is_filled,
    } = case;
    let violation = match is_filled {
        true => format!("{violation}\n(is_filled: loaded in bulk)"),
        false => violation,
    };
    if deployment == PLAIN {
        format!("{violation}\nreplay({world}, {loaded}, &{steps:?});")
    } else {
        format!("{violation}\nreplay_in({deployment:?}, {world}, {loaded}, &{steps:?});")
    }
}

/// Fills a table with `pages` pages of one site before the functions start, and publishes all of them. Returns the number of
/// calls and the virtual seconds.
///
/// # Errors
///
/// If not all of them are published.
pub fn publish_many(seed: u64, pages: usize) -> Result<(u64, u64), String> {
    let sim = Sim::new(seed);
    let inner = sim.clone();
    let published = sim.run(async move {
        let mut world = World::new(&inner, Options::sound(3), PLAIN);
        let oracle = Oracle::new(inner.now());
        let settings = Settings {
            capacity: MOST_ENTRIES,
            ..DEFAULT
        };
        world.put(&Oracle::site_record(0, &settings)).await;
        for path in 0..pages {
            let page = Page { path, ..PAGE };
            world.put(&oracle.record(&format!("p{path}"), &page)).await;
        }
        world.begin();
        world.settle().await?;
        let published = world.published().await;
        let entries = published.iter().map(|(key, (meta, _))| match key {
            ObjectKey::Shard { .. } => meta
                .document
                .as_ref()
                .map_or(0, |document| document.entries),
            _ => 0,
        });
        Ok::<u64, String>(entries.sum())
    })?;
    check("entries", &published, &(pages as u64))?;
    let (calls, _) = sim.counts();
    Ok((calls, sim.elapsed().as_secs()))
}

/// Returns the number in a variable of the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "what is asked for, not what happens"
)]
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Tally;
    use crate::history::{MEMBER, NEWS_PAGE, Step};

    /// The seed of a test run, so that the same code always passes or fails. `WAYMARK_SEED` sets another one.
    const SEED: u64 = 10;
    /// The steps of all histories of a test run, which is not optimised: `.ci/run simulate` has a binary that is, and runs ten times as
    /// many of the same seed. `WAYMARK_STEPS` sets another number.
    const STEPS: u64 = 2_000;
    /// The same, of histories that begin with a first load in bulk.
    const STEPS_IN_BULK: u64 = 500;

    #[test]
    fn a_seed_repeats_to_the_call() {
        let case = drawn(7, 2);
        let (once, again) = (run(&case), run(&case));
        assert_eq!(once.violation, None);
        assert_eq!(once.digest, again.digest);
        assert_eq!(once.report.calls, again.report.calls);
        assert!(once.report.calls > 1_000);
        let world = case.world + 1;
        assert_ne!(run(&Case { world, ..case }).digest, once.digest);
    }

    fn tally_of(deployment: Deployment, steps: Vec<Step>) -> Tally {
        let (world, loaded) = (1, 0);
        let case = Case {
            world,
            deployment,
            history: History { loaded, steps },
            is_filled: false,
        };
        let outcome = run(&case);
        assert_eq!(outcome.violation, None);
        outcome.report.tally
    }

    #[test]
    fn limits_of_news_groups_and_indexes_are_met() {
        let settings = Settings {
            capacity: 2_000,
            publication: Some(0),
            ..DEFAULT
        };
        let large = |count, page| vec![Step::Site(0, Some(settings)), Step::Flood(count, page)];
        assert_eq!(tally_of(PLAIN, large(1_003, NEWS_PAGE)).news, 1_003);
        assert_eq!(tally_of(PLAIN, large(203, MEMBER)).rows["GROUP"], 203);
        let many = Settings {
            capacity: 1,
            ..DEFAULT
        };
        let few_lines = Deployment {
            index_lines: 2,
            ..PLAIN
        };
        let pages = vec![Step::Site(0, Some(many)), Step::Flood(9, PAGE)];
        assert_eq!(tally_of(few_lines, pages).indexes, 4);
    }

    fn check(drawn: fn(u64, u64) -> Case, option: &str, steps: u64) {
        let seed = number("WAYMARK_SEED").unwrap_or(SEED);
        let steps = number("WAYMARK_STEPS").unwrap_or(steps);
        println!("WAYMARK_SEED={seed} WAYMARK_STEPS={steps}");
        let mut total = Report::default();
        for (case, outcome) in run_all(drawn, seed, steps, true) {
            if let Some(violation) = outcome.violation {
                let shortened = shortened(&drawn(seed, case));
                panic!(
                    "waymark-sim --seed {seed} --case {case}{option}: {violation}\nshorter: {shortened}"
                );
            }
            total += &outcome.report;
        }
        println!("{total}");
    }

    #[test]
    fn whatever_happens_the_published_set_is_the_eligible_set() {
        check(drawn, "", STEPS);
    }

    #[test]
    fn it_is_so_after_a_first_load_in_bulk_too() {
        check(drawn_in_bulk, " --bulk", STEPS_IN_BULK);
    }
}
