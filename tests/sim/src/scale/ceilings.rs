//! Ceilings that a deployment reaches (docs/OPERATIONS.md, "Ceilings"): nothing is lost, changes are late, and alarms go off.
//!
//! In the end the site is compared with the oracle. The alarms are those of `infra/monitoring.yaml`, over the metrics that AWS
//! would have. The figures are how late the last change is, and when which alarm goes off first.

use std::time::Duration;

use engine::metrics::Monitoring;

use super::{Aim, Figure, Outcome};
use crate::alarms::{Alarms, Rung};
use crate::cases::number;
use crate::deployment::PLAIN;
use crate::history::{Changed, PAGE, Page};
use crate::invoker::Callee;
use crate::run::Run;
use crate::runtime::Sim;
use crate::world::{Ceiled, Options};

/// The seed of each world; `WAYMARK_SEED` is another.
const SEED: u64 = 1;
/// The pages of the site: more than a batch has, so that most edits of a batch are of different pages.
const PAGES: usize = 500;
/// The stream shards of each table.
const SHARDS: usize = 4;
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
/// Hours that are shorter than a stream's retention, and hours that are longer.
const SHORT: u32 = 12;
const LONG: u32 = 30;
/// The time limit of a wait, in virtual time.
const PATIENCE: Duration = Duration::from_secs(2 * 86_400);
/// The pause between two checks of a condition.
const GLANCE: Duration = Duration::from_secs(1);
/// The most tries of a write.
const TRIES: usize = 1_000;
const NOTHING: [&str; 0] = [];

/// Runs `then` on a published site, in a deployment whose metrics are noted.
fn with_a_site<T>(then: impl AsyncFnOnce(&mut Run) -> T) -> T {
    let sim = Sim::new(number("WAYMARK_SEED").unwrap_or(SEED));
    let inner = sim.clone();
    sim.run(async move {
        let mut run = Run::new(&inner, Options::sound(SHARDS), PLAIN);
        run.world.measure();
        run.world.begin();
        for n in 0..PAGES {
            edit(&mut run, n).await;
        }
        is_as_the_oracle_says(&mut run).await;
        assert_eq!(names(&rung(&run)), [NOTHING; 2], "before the ceiling");
        then(&mut run).await
    })
}

/// Edits a page, as a user's code does: a throttled write is tried again. Returns how often it was.
async fn edit(run: &mut Run, n: usize) -> usize {
    let day = u32::try_from(n / PAGES % 28).unwrap_or(0) + 1;
    let page = Page {
        path: n % PAGES,
        changed: Changed::Day(day),
        ..PAGE
    };
    for refused in 0..TRIES {
        if run.try_put(page.path, page).await {
            return refused;
        }
    }
    panic!("no write is taken in {TRIES} tries");
}

/// Edits pages for some time, at a rate per second.
async fn edit_for(run: &mut Run, time: Duration, rate: u32) {
    let end = run.world.sim.elapsed() + time;
    for n in PAGES.. {
        if run.world.sim.elapsed() > end {
            return;
        }
        edit(run, n).await;
        run.world.sim.sleep(Duration::from_secs(1) / rate).await;
    }
}

/// Waits until all events are handled. Returns how long that took.
async fn handled(run: &Run) -> Duration {
    let begun = run.world.sim.elapsed();
    while !run.world.is_handled().await {
        let waited = run.world.sim.elapsed() - begun;
        assert!(waited < PATIENCE, "not handled after {waited:?}");
        run.world.sim.sleep(GLANCE).await;
    }
    run.world.sim.elapsed() - begun
}

/// Compares everything with the oracle. No event may be waiting.
async fn is_as_the_oracle_says(run: &mut Run) {
    if let Err(violation) = run.rest().await {
        panic!("{violation}");
    }
}

/// Checks that no event was given up and none was lost.
fn nothing_is_lost(run: &Run) {
    assert_eq!((run.world.given_up(), run.world.lost_events()), (0, 0));
}

/// Returns the alarms that have rung, with `Monitoring=full` and with `Monitoring=basic`, and how long after the beginning each
/// first did.
fn rung(run: &Run) -> [Rung; 2] {
    [Monitoring::Full, Monitoring::Basic].map(|level| run.world.rung(&Alarms::of(level)))
}

fn names(rung: &[Rung; 2]) -> [Vec<&str>; 2] {
    [0, 1].map(|level| rung[level].keys().map(String::as_str).collect())
}

/// Sets a maximum of the sitemap table, and asks for more than three times as much. Changes are late.
pub(super) fn a_sitemap_table_at_its_maximum() -> Outcome {
    with_a_site(async |run| {
        run.world.set_most(Ceiled::Sitemap, Some(20));
        edit_for(run, 15 * MINUTE, 6).await;
        let late = handled(run).await;
        nothing_is_lost(run);
        is_as_the_oracle_says(run).await;
        assert!((10 * MINUTE..HOUR).contains(&late), "{late:?}");
        let rung = rung(run);
        let [full, basic] = names(&rung);
        assert_eq!(full, ["ContentIteratorAge", "TableThrottles"]);
        assert_eq!(basic, ["ContentIteratorAge"]);
        Ok(figures("", Some(late), &rung))
    })
}

/// Has a user write more than the content table takes. The functions read from the same table, and are late by little.
pub(super) fn a_content_table_at_its_maximum() -> Outcome {
    const WRITES: u32 = 2_400;
    const A_SECOND: u32 = 10;
    with_a_site(async |run| {
        run.world.set_most(Ceiled::Content, Some(1));
        let (begun, mut refused) = (run.world.sim.elapsed(), 0);
        for n in 0..WRITES {
            refused += edit(run, PAGES + n as usize).await;
            run.world.sim.sleep(Duration::from_secs(1) / A_SECOND).await;
        }
        let took = run.world.sim.elapsed() - begun;
        assert!(took > 2 * Duration::from_secs((WRITES / A_SECOND).into()));
        assert!(refused > 0);
        let late = handled(run).await;
        nothing_is_lost(run);
        is_as_the_oracle_says(run).await;
        assert!(late < 5 * MINUTE, "{late:?}");
        let rung = rung(run);
        let [full, basic] = names(&rung);
        assert_eq!(full, ["TableThrottles"]);
        assert_eq!(basic, NOTHING, "the user's own code gets the errors");
        let mut all = figures("", Some(late), &rung);
        all.push(seconds(format!("{WRITES} writes of the user"), took));
        Ok(all)
    })
}

/// Reserves one execution for four stream shards. Changes are late by seconds.
pub(super) fn one_execution() -> Outcome {
    with_a_site(async |run| {
        for callee in [Callee::Ingest, Callee::Regenerate] {
            run.world.reserve(callee, Some(1));
        }
        edit_for(run, 16 * MINUTE, 5).await;
        let late = handled(run).await;
        nothing_is_lost(run);
        is_as_the_oracle_says(run).await;
        assert!(late < 2 * MINUTE, "{late:?}");
        let rung = rung(run);
        let [full, basic] = names(&rung);
        assert_eq!(full, ["StreamThrottles"]);
        assert_eq!(basic, NOTHING, "nothing is late by a quarter of an hour");
        Ok(figures("", Some(late), &rung))
    })
}

/// How a function is turned off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Off {
    /// Its reserved executions are 0.
    NoExecutions,
    /// Its event source is disabled.
    NoSource,
}

impl Off {
    fn turn(self, run: &Run, callee: Callee, on: bool) {
        match self {
            Self::NoExecutions => run.world.reserve(callee, if on { None } else { Some(0) }),
            Self::NoSource => run.world.switch(callee, on),
        }
    }
}

/// Edits a page each ten minutes for some hours.
async fn edit_each_ten_minutes(run: &mut Run, hours: u32) {
    for n in 0..6 * hours as usize {
        edit(run, PAGES + n).await;
        run.world.sim.sleep(10 * MINUTE).await;
    }
}

/// Returns the alarms that go off if a function is turned off while there are edits.
fn alarms_of(callee: Callee, off: Off) -> [Vec<&'static str>; 2] {
    let (mut full, basic) = match callee {
        Callee::Ingest => (vec!["ContentUnread"], vec!["ContentUnread"]),
        _ => (vec!["Staleness"], vec!["RowsUnread"]),
    };
    if off == Off::NoExecutions {
        full.push("StreamThrottles");
    }
    [full, basic]
}

/// Turns each of the functions with streams off in each way, one after another. Returns how late the last change is, and when each
/// alarm goes off. `then` checks what else has happened, with the names of the alarms.
fn each_off_for(hours: u32, then: impl AsyncFn(&mut Run, Callee, Off, [Vec<&str>; 2])) -> Outcome {
    let mut all = Vec::new();
    for callee in [Callee::Ingest, Callee::Regenerate] {
        for off in [Off::NoExecutions, Off::NoSource] {
            with_a_site(async |run| {
                off.turn(run, callee, false);
                edit_each_ten_minutes(run, hours).await;
                let rung = rung(run);
                off.turn(run, callee, true);
                let late = handled(run).await;
                assert!(late < 2 * MINUTE, "{callee:?}, {off:?}: {late:?}");
                let of = format!("{callee:?}, {off:?}: ");
                all.extend(figures(&of, Some(late), &rung));
                then(run, callee, off, names(&rung)).await;
                is_as_the_oracle_says(run).await;
            });
        }
    }
    Ok(all)
}

/// Returns how late the last change is, if it was waited for, and when each alarm goes off first.
fn figures(of: &str, late: Option<Duration>, [full, basic]: &[Rung; 2]) -> Vec<Figure> {
    let only_basic = basic.iter().filter(|(name, _)| !full.contains_key(*name));
    let alarms = full.iter().chain(only_basic);
    let alarms = alarms.map(|(name, time)| seconds(format!("{of}{name}"), *time));
    let late = late.map(|late| seconds(format!("{of}late by"), late));
    late.into_iter().chain(alarms).collect()
}

fn seconds(name: String, time: Duration) -> Figure {
    Figure {
        name,
        value: time.as_secs_f64(),
        unit: "s",
        aim: Aim::Counted,
    }
}

/// Turns functions off for less than a day. They go on where they stopped.
pub(super) fn off_for_less_than_a_day() -> Outcome {
    each_off_for(SHORT, async |run, callee, off, rung| {
        assert_eq!(rung, alarms_of(callee, off), "{callee:?}, {off:?}");
        nothing_is_lost(run);
    })
}

/// Turns functions off for longer than a stream keeps its events. The audits of the clock repair what is lost then. Nobody
/// replays the records that were given up.
pub(super) fn off_for_longer() -> Outcome {
    each_off_for(LONG, async |run, callee, off, rung| {
        // The audits began after a day, each ten minutes after the other, because each repairs something.
        let [mut full, mut basic] = alarms_of(callee, off);
        full.push("AuditFindings");
        if off == Off::NoExecutions {
            full.push("FailuresWaiting");
            basic.push("FailuresWaiting");
        }
        full.sort_unstable();
        basic.sort_unstable();
        assert_eq!(rung, [full, basic], "{callee:?}, {off:?}");
        let (given_up, lost) = (run.world.lose_failures(), run.world.lost_events());
        assert!(given_up > 0, "those between 23 and 24 hours");
        assert_eq!(lost > 0, off == Off::NoSource, "{callee:?}: {lost}");
        let found = run.world.audit(false).await.expect("an audit");
        assert_eq!(found, Some(Vec::new()));
    })
}

/// Turns everything off for longer than a day, so that no audit runs either, as in an account without executions. All is repaired
/// within an hour.
pub(super) fn all_off_for_longer() -> Outcome {
    with_a_site(async |run| {
        let streams = [Callee::Ingest, Callee::Regenerate];
        for callee in streams {
            Off::NoSource.turn(run, callee, false);
        }
        Off::NoExecutions.turn(run, Callee::Sweep, false);
        edit_each_ten_minutes(run, LONG).await;
        let rung = rung(run);
        assert_eq!(
            names(&rung),
            [["ContentUnread", "FailuresWaiting", "SweepSilent"]; 2]
        );
        for callee in streams {
            Off::NoSource.turn(run, callee, true);
        }
        Off::NoExecutions.turn(run, Callee::Sweep, true);
        let begun = run.world.sim.elapsed();
        handled(run).await;
        assert!(run.world.lost_events() > 0);
        let _given_up = run.world.lose_failures();
        loop {
            let found = run.world.audit(false).await.expect("an audit");
            let repaired = run.world.sim.elapsed() - begun;
            let left = found.map(|found| found.len());
            if left == Some(0) && run.world.is_handled().await {
                is_as_the_oracle_says(run).await;
                return Ok(vec![seconds("repaired after".to_owned(), repaired)]);
            }
            assert!(repaired < HOUR, "{left:?} are wrong after {repaired:?}");
            run.world.sim.sleep(MINUTE).await;
        }
    })
}

/// Shows a limit of the alarms: they compare two quarter hours, because a single metric may be late. Only the audit finds a lone
/// edit that is not read.
pub(super) fn a_lone_edit_not_read() -> Outcome {
    with_a_site(async |run| {
        Off::NoSource.turn(run, Callee::Ingest, false);
        edit(run, PAGES).await;
        run.world.sim.sleep(LONG * HOUR).await;
        let rung = rung(run);
        let [full, basic] = names(&rung);
        assert_eq!(
            (full.as_slice(), basic.as_slice()),
            (&["AuditFindings"][..], &NOTHING[..])
        );
        // It is late by a day at most, because the audit has reconciled it.
        let found = run.world.audit(false).await.expect("an audit");
        assert_eq!(found, Some(Vec::new()));
        Ok(figures("", None, &rung))
    })
}

/// Turns the clock off for some hours. It catches up.
pub(super) fn no_clock() -> Outcome {
    with_a_site(async |run| {
        let expires = Page {
            path: PAGES,
            until: Some(1),
            ..PAGE
        };
        assert!(run.try_put(PAGES, expires).await);
        handled(run).await;
        Off::NoExecutions.turn(run, Callee::Sweep, false);
        run.world.sim.sleep(3 * HOUR).await;
        let id = format!("r{PAGES}");
        assert!(
            run.world.sitemap_of(&id).await.is_some(),
            "over, and listed"
        );
        let rung = rung(run);
        assert_eq!(names(&rung), [["FailuresWaiting", "SweepSilent"]; 2]);
        Off::NoExecutions.turn(run, Callee::Sweep, true);
        run.world.sim.sleep(3 * MINUTE).await;
        assert_eq!(run.world.sitemap_of(&id).await, None);
        is_as_the_oracle_says(run).await;
        Ok(figures("", None, &rung))
    })
}
