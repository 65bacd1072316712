//! The explored configurations.

use super::*;
use crate::{holds, refutes};

const SMALL: Reconcile = Reconcile {
    conditions: ALL,
    records: 2,
    runs: 2,
    edits: 3,
    faults: 1,
    contents: &[COMMON, COMMON_CHANGED],
};

#[test]
fn two_records_at_one_address_with_runs_thought_dead() {
    holds(
        "reconcile, two runs, two faults",
        Reconcile {
            faults: 2,
            edits: 4,
            ..SMALL
        },
    );
}

#[test]
fn two_records_that_move_between_addresses() {
    holds(
        "reconcile, moves",
        Reconcile {
            contents: &[COMMON, COMMON_CHANGED, OWN],
            edits: 4,
            ..SMALL
        },
    );
}

#[test]
fn two_records_at_one_address_in_three_runs() {
    holds(
        "reconcile, three runs",
        Reconcile {
            runs: 3,
            contents: &[COMMON],
            edits: 4,
            faults: 2,
            ..SMALL
        },
    );
}

#[test]
fn three_records_at_one_address() {
    holds(
        "reconcile, three records",
        Reconcile {
            records: 3,
            edits: 4,
            contents: &[COMMON],
            ..SMALL
        },
    );
}

/// Refutes the protocol without some of its conditions.
fn without(name: &str, off: impl FnOnce(&mut Conditions), property: &'static str) {
    let mut model = SMALL;
    off(&mut model.conditions);
    refutes(&format!("reconcile without {name}"), model, property);
}

#[test]
fn every_condition_is_needed() {
    without(
        "the fence before the read",
        |c| c.fence_first = false,
        LISTED,
    );
    without("a fence that writes", |c| c.fence_writes = false, LISTED);
    without("the token's condition", |c| c.token_checked = false, LISTED);
    without("random tokens", |c| c.token_random = false, LISTED);
    without("the claim's condition", |c| c.claim_checked = false, ONCE);
    without(
        "the waiter's condition",
        |c| c.waiter_checked = false,
        LISTED,
    );
    without("calling the waiters", |c| c.waiters_called = false, LISTED);
    without("one transaction", |c| c.transaction = false, BOOKS);
}

#[test]
fn of_a_slot_s_two_conditions_one_is_needed() {
    let mut model = Reconcile {
        contents: &[COMMON, OWN],
        edits: 4,
        ..SMALL
    };
    model.conditions.entry_checked = false;
    holds("reconcile without the entry's condition", model);
    model.conditions.free_checked = false;
    refutes(
        "reconcile without either condition of a slot",
        model,
        LISTED,
    );
    model.conditions.entry_checked = true;
    holds("reconcile without the free slot's condition", model);
}
