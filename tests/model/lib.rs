//! Small models of Waymark's protocols, explored state by state.
//!
//! - Each model has the steps of the code between which another run may act, and no others: one request to DynamoDB or S3 is one
//!   action. Any run may crash at any step, and its event is delivered again. Any event may be delivered again while its run
//!   continues, and such a run may end anywhere.
//! - Instead of a random token, a model stores whether the token is still valid, because tokens are only compared.
//! - Every condition is a switch. With all of them on, no state violates a property. With one of them off, some state does. So
//!   the condition is needed, and the property can fail.
//! - `cargo test -p waymark-model -- --nocapture` prints the number of explored states, and the shortest counter-example for each
//!   switch.

#![cfg(test)]

mod import;
mod publish;
mod reconcile;
mod scan;
mod settings;

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

/// Explores every reachable state, and checks that none violates a property.
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

/// Explores states until one violates `property`, and prints the path to it.
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

/// A fault of a run, besides its own next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It ends here, and its event is delivered again.
    Crash,
    /// Its event is delivered again while it continues. From now on nothing waits for it.
    Redeliver,
    /// It ends here, after its event was delivered again.
    Vanish,
}
