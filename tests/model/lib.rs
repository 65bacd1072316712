//! The protocols of Waymark, kept tiny and explored state by state.
//!
//! - Each model has the steps of the code between which another run may act, and no others: what is one request to
//!   DynamoDB or S3 is one action. Any run may crash at any of them, and its event come back; any event may be delivered
//!   again while a run that has it goes on, and such a run may end anywhere.
//! - Where the code has a random token, a model knows whether it still stands: tokens are compared and never read.
//! - Every condition is a switch. With all of them on, no state violates a property; with one of them off, some state
//!   does: the condition is needed, and the property can fail.
//! - `cargo test -p waymark-model -- --nocapture` prints the states explored, and the shortest counter-example for each
//!   switch.

#![cfg(test)]

mod publish;
mod reconcile;
mod scan;
mod settings;

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

/// Explores every state that can be reached: no property is violated.
fn holds<M>(name: &str, model: M)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let since = Instant::now();
    let checker = model
        .checker()
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    println!(
        "{name}: {} states, {} steps deep, {:.1?}",
        checker.unique_state_count(),
        checker.max_depth(),
        since.elapsed()
    );
    checker.assert_properties();
}

/// Explores states until one violates `property`, and shows how it was reached.
fn refutes<M>(name: &str, model: M, property: &'static str)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let checker = model
        .checker()
        .finish_when(HasDiscoveries::AnyOf([property].into()))
        .spawn_bfs()
        .join();
    let states = checker.unique_state_count();
    let Some(path) = checker.discovery(property) else {
        panic!("{name}: {states} states, and none against \"{property}\"");
    };
    let last = path.last_state().clone();
    let steps = path.into_actions();
    println!(
        "{name}: \"{property}\" after {} steps ({states} states)",
        steps.len()
    );
    for step in steps {
        println!("    {step:?}");
    }
    println!("    {last:?}");
}

/// What a run does beside its own next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It ends here; its event is delivered again.
    Crash,
    /// Its event is delivered again while it goes on: from now on nobody waits for it.
    Redeliver,
    /// It ends here, after its event was delivered again.
    Vanish,
}
