//! The configurations that are explored.

use super::*;
use crate::{holds, refutes};

const SMALL: Scan = Scan {
    conditions: ALL,
    runs: 2,
    edits: 1,
    settings: 0,
    faults: 1,
    contents: 1,
};

#[test]
fn a_first_load_while_records_change() {
    holds("scan, three runs", Scan { runs: 3, ..SMALL });
    holds(
        "scan, edits",
        Scan {
            edits: 2,
            faults: 2,
            ..SMALL
        },
    );
}

#[test]
fn a_first_load_while_settings_change() {
    holds(
        "scan, settings",
        Scan {
            settings: 1,
            ..SMALL
        },
    );
}

#[test]
fn every_condition_is_needed() {
    let without = |name: &str, settings, edits, off: fn(&mut Conditions), property| {
        let mut model = Scan {
            settings,
            edits,
            ..SMALL
        };
        off(&mut model.conditions);
        refutes(&format!("scan without {name}"), model, property);
    };
    without(
        "the hold's second step",
        0,
        1,
        |c| c.second_step = false,
        LISTED,
    );
    without(
        "a begun pass",
        0,
        1,
        |c| c.left_while_waiting = false,
        LISTED,
    );
    without(
        "looking for the record",
        0,
        2,
        |c| c.left_if_there = false,
        LISTED,
    );
    without(
        "creation in one transaction",
        0,
        0,
        |c| c.created_waiting = false,
        DONE,
    );
    without(
        "the progress's condition",
        1,
        0,
        |c| c.progress_checked = false,
        LISTED,
    );
    without("random tokens", 1, 0, |c| c.token_random = false, LISTED);
    without(
        "shards before the release",
        0,
        0,
        |c| c.shards_first = false,
        WHOLE,
    );
}
