//! Random histories: events that are late, repeated, out of order or lost, runs that go on by turns or die, updates that fail or whose
//! answers are lost, and others who change the store. In the end the store is what the rows ask for.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use edge::entry::Place;
use edge::{Keeper, MemoryStore, Store};
use engine::stream::{Handled, StreamRecord};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Fault, Kind, SITE, World};

/// Addresses of a history.
const ADDRESSES: u8 = 2;
/// Runs at the same time.
const RUNS: usize = 3;
/// A run ends after fewer turns, or it never does.
const MAX_TURNS: usize = 100_000;

#[derive(Clone, Debug)]
enum Step {
    /// Writes the row of an address: 0 deletes it, 1 says that it is gone, and others where it moved.
    Row(u8, u8),
    Site(bool),
    /// A run begins with some of the events, of which the last may come a second time.
    Begin(usize, bool),
    /// A run takes some turns.
    Go(usize, usize),
    /// A run dies. Its events come again.
    Die(usize),
    Fault(bool),
    /// Somebody else writes what the store has already, which changes its ETag.
    Touch,
    Reverse,
    /// Somebody else writes a value that no row asks for.
    Spoil(u8),
    Lose,
}

/// Returns histories. In some of them events are lost, which only a repair mends.
fn steps(losses: u32) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..ADDRESSES, 0..4_u8).prop_map(|(at, to)| Step::Row(at, to)),
        1 => any::<bool>().prop_map(Step::Site),
        4 => (1..6_usize, any::<bool>()).prop_map(|(most, again)| Step::Begin(most, again)),
        20 => (0..RUNS, 1..6_usize).prop_map(|(run, turns)| Step::Go(run, turns)),
        1 => (0..RUNS).prop_map(Step::Die),
        1 => any::<bool>().prop_map(Step::Fault),
        1 => Just(Step::Touch),
        1 => Just(Step::Reverse),
        losses => (0..ADDRESSES).prop_map(Step::Spoil),
        losses => Just(Step::Lose),
    ];
    prop::collection::vec(step, 1..120)
}

struct Run {
    events: Vec<StreamRecord>,
    future: Pin<Box<dyn Future<Output = Handled>>>,
}

fn begin(keeper: &Keeper, events: Vec<StreamRecord>) -> Run {
    let (keeper, records) = (keeper.clone(), events.clone());
    let future = Box::pin(async move { keeper.keep(&records).await });
    Run { events, future }
}

/// Lets a run take turns. Returns its events that come again if it has ended.
fn go(run: &mut Run, turns: usize) -> Option<Vec<StreamRecord>> {
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..turns {
        if let Poll::Ready(handled) = run.future.as_mut().poll(&mut context) {
            let Handled::Before(number) = handled else {
                return Some(Vec::new());
            };
            let from = run
                .events
                .iter()
                .position(|one| one.sequence_number == number);
            return Some(run.events.split_off(from.unwrap_or_default()));
        }
    }
    None
}

/// Delivers what is left, and again what failed.
fn deliver(world: &mut World) {
    while !world.events.is_empty() {
        let mut run = begin(&world.keeper, std::mem::take(&mut world.events));
        let again = go(&mut run, MAX_TURNS).expect("a run ends");
        world.events.extend(again);
    }
}

/// Awaits what needs no other task.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..MAX_TURNS {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
    panic!("a call did not end within {MAX_TURNS} turns");
}

/// Writes a pair as somebody else does.
async fn write(store: &MemoryStore, key: String, value: String) {
    let etag = store.describe().await.expect("a store in memory").etag;
    let pair = [(key, Some(value))].into();
    store.update(&etag, &pair).await.expect("a store in memory");
}

fn check(steps: Vec<Step>, store: MemoryStore) -> Result<(), TestCaseError> {
    let mut world = World::new(store);
    let mut runs: [Option<Run>; RUNS] = [const { None }; RUNS];
    let mut is_told_all = true; // and nobody else wrote
    for step in steps {
        match step {
            Step::Row(at, to) => {
                let loc = format!("https://{SITE}/{at}");
                let departure = match to {
                    0 => None,
                    1 => Some(json!("gone")),
                    to => Some(json!({"moved_to": format!("https://{SITE}/new/{to}")})),
                };
                now(world.departs(&loc, departure));
            }
            Step::Site(is_open) => {
                let kind = if is_open { Kind::Open } else { Kind::Private };
                now(world.site(kind, 60));
            }
            Step::Begin(most, again) => {
                if let Some(free) = runs.iter_mut().find(|run| run.is_none()) {
                    let most = most.min(world.events.len());
                    let events: Vec<_> = world.events.drain(..most).collect();
                    if again {
                        world.events.extend(events.last().cloned());
                    }
                    *free = Some(begin(&world.keeper, events));
                }
            }
            Step::Go(at, turns) => {
                if let Some(run) = &mut runs[at]
                    && let Some(again) = go(run, turns)
                {
                    world.events.splice(0..0, again);
                    runs[at] = None;
                }
            }
            Step::Die(at) => {
                if let Some(run) = runs[at].take() {
                    world.events.splice(0..0, run.events);
                }
            }
            Step::Fault(happens) => {
                let fault = if happens { Fault::After } else { Fault::Before };
                world.fault.store(fault as u8, Ordering::Relaxed);
            }
            Step::Touch => {
                if let Some((key, value)) = world.store.pairs().pop_first() {
                    now(write(&world.store, key, value));
                }
            }
            Step::Spoil(at) => {
                let key = Place::of_address(SITE, &format!("https://{SITE}/{at}")).key();
                now(write(
                    &world.store,
                    key,
                    "https://nobody.example/".to_owned(),
                ));
                is_told_all = false;
            }
            Step::Reverse => world.events.reverse(),
            Step::Lose => is_told_all &= world.events.pop().is_none(),
        }
    }
    // The rest is delivered, without further faults.
    world.fault.store(Fault::None as u8, Ordering::Relaxed);
    for run in runs.iter_mut().filter_map(Option::take) {
        let mut run = run;
        let again = go(&mut run, MAX_TURNS).expect("a run ends");
        world.events.extend(again);
    }
    deliver(&mut world);
    if !is_told_all {
        let keeper = world.keeper.clone();
        let objects = now(World::bucket());
        now(keeper.repair(&objects, true)).expect("a store in memory");
    }
    prop_assert_eq!(world.store.pairs(), world.wanted);
    Ok(())
}

/// The turns that a run takes at most if nobody else runs.
const TURNS: usize = 25;

/// Lets a run take `first` turns after a row became `earlier`, and another one `second` turns after it became `later`. Then the slow one
/// goes on to its end, in the middle of the fast one or after it. No further event comes.
fn run_two(world: &mut World, [earlier, later]: [Option<Value>; 2], first: usize, second: usize) {
    let loc = format!("https://{SITE}/a");
    now(world.departs(&loc, earlier));
    let mut slow = begin(&world.keeper, std::mem::take(&mut world.events));
    let ended = go(&mut slow, first);
    now(world.departs(&loc, later));
    let mut fast = begin(&world.keeper, std::mem::take(&mut world.events));
    let mut again = go(&mut fast, second);
    if ended.is_none() {
        let slow = go(&mut slow, MAX_TURNS);
        world.events.extend(slow.expect("a run ends"));
    }
    if again.is_none() {
        again = go(&mut fast, MAX_TURNS);
    }
    world.events.extend(again.expect("a run ends"));
    deliver(world);
}

#[test]
fn what_a_run_read_before_another_one_wrote_is_read_again() {
    let gone = || Some(json!("gone"));
    let moved = || Some(json!({"moved_to": "https://b.example/"}));
    for rows in [[gone(), moved()], [gone(), None], [None, moved()]] {
        for at in 0..2 * TURNS * TURNS {
            let (is_strict, first, second) = (at % 2 == 0, at / 2 / TURNS, at / 2 % TURNS);
            let mut world = World::new(store(is_strict));
            run_two(&mut world, rows.clone(), first, second);
            assert_eq!(
                world.store.pairs(),
                world.wanted,
                "{first} and {second} turns, {rows:?}, strict: {is_strict}"
            );
        }
    }
}

fn store(is_strict: bool) -> MemoryStore {
    if is_strict {
        MemoryStore::default()
    } else {
        MemoryStore::lenient()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_ends_as_the_rows_ask_for(steps in steps(0), is_strict in any::<bool>()) {
        check(steps, store(is_strict))?;
    }

    #[test]
    fn what_was_lost_a_repair_finds(steps in steps(1), is_strict in any::<bool>()) {
        check(steps, store(is_strict))?;
    }
}
