//! The explored configurations.

use super::*;
use crate::{holds, refutes};

const SMALL: Scan = Scan {
    conditions: ALL,
    start: Start::Empty,
    contents: [1, 1],
    runs: 2,
    edits: 0,
    timers: 0,
    settings: 0,
    mappings: 0,
    faults: 1,
    long_slices: false,
};

const RELEASED: Scan = Scan {
    start: Start::Released,
    settings: 1,
    ..SMALL
};

#[test]
fn a_first_load_while_records_change() {
    holds("scan, edits", Scan { edits: 1, ..SMALL });
    holds(
        "scan, three runs",
        Scan {
            runs: 3,
            edits: 1,
            faults: 0,
            ..SMALL
        },
    );
    let mapping = Scan {
        mappings: 1,
        long_slices: true,
        ..SMALL
    };
    holds("scan, the mapping changes", mapping);
}

#[test]
fn a_first_load_while_settings_change() {
    let model = Scan {
        settings: 1,
        ..SMALL
    };
    holds("scan, settings", model);
    let long = Scan {
        faults: 0,
        long_slices: true,
        ..model
    };
    holds("scan, settings, long slices", long);
}

#[test]
fn settings_of_a_published_site_change() {
    let edits = Scan {
        edits: 1,
        ..RELEASED
    };
    holds("scan, published, edits", edits);
    let twice = Scan {
        settings: 2,
        ..RELEASED
    };
    holds("scan, published, settings change twice", twice);
    let timers = Scan {
        timers: 1,
        ..RELEASED
    };
    holds("scan, published, timers", timers);
    let long = Scan {
        long_slices: true,
        ..RELEASED
    };
    holds("scan, published, long slices", long);
}

#[test]
fn a_site_becomes_known() {
    let model = Scan {
        start: Start::Unknown,
        contents: [2, 2],
        settings: 1,
        long_slices: true,
        ..SMALL
    };
    holds("scan, unknown", model);
    let edits = Scan {
        edits: 1,
        faults: 0,
        ..model
    };
    holds("scan, unknown, edits", edits);
    let waiting = Scan {
        start: Start::Waiting,
        ..model
    };
    holds("scan, unknown, content to be scanned", waiting);
}

#[test]
fn a_row_is_lost() {
    let model = Scan {
        start: Start::Lost,
        settings: 1,
        faults: 0,
        long_slices: true,
        ..SMALL
    };
    holds("scan, a row is lost", model);
}

#[test]
fn every_condition_is_needed() {
    let without = |name: &str, mut model: Scan, off: fn(&mut Conditions), property| {
        off(&mut model.conditions);
        refutes(&format!("scan without {name}"), model, property);
    };
    let edits = Scan { edits: 1, ..SMALL };
    let mapping = Scan {
        mappings: 1,
        ..SMALL
    };
    let left_out = Scan {
        contents: [2, 2],
        ..RELEASED
    };
    let lost = Scan {
        start: Start::Lost,
        settings: 1,
        ..SMALL
    };
    let timers = Scan {
        timers: 1,
        ..RELEASED
    };
    let twice = Scan {
        contents: [2, 0],
        settings: 2,
        ..RELEASED
    };
    without(
        "the hold's second step",
        edits,
        |c| c.second_step = false,
        LISTED,
    );
    without(
        "an end of leaving records",
        edits,
        |c| c.left_while_waiting = false,
        LISTED,
    );
    without(
        "leaving only what is there",
        edits,
        |c| c.left_if_there = false,
        LISTED,
    );
    without(
        "another look at the site",
        RELEASED,
        |c| c.looks_again = false,
        LISTED,
    );
    without(
        "creation in one transaction",
        SMALL,
        |c| c.created_with_scan = false,
        DONE,
    );
    without(
        "what is left out",
        left_out,
        |c| c.left_out_listed = false,
        LISTED,
    );
    without(
        "what is left out, again",
        timers,
        |c| c.left_out_again = false,
        LISTED,
    );
    without(
        "waiting for the content",
        SMALL,
        |c| c.content_first = false,
        WHOLE,
    );
    without(
        "a beginning at the entries",
        lost,
        |c| c.entries_first = false,
        LISTED,
    );
    without(
        "asking for the content",
        lost,
        |c| c.content_wanted = false,
        DONE,
    );
    without("waking the sites", SMALL, |c| c.sites_woken = false, DONE);
    without(
        "the progress's condition",
        twice,
        |c| c.progress_checked = false,
        LISTED,
    );
    without("random tokens", twice, |c| c.token_random = false, LISTED);
    without(
        "the pass's condition",
        mapping,
        |c| c.pass_checked = false,
        LISTED,
    );
    without(
        "a look at who wants a pass",
        mapping,
        |c| c.wanted_checked = false,
        LISTED,
    );
    without(
        "shards before the release",
        SMALL,
        |c| c.shards_first = false,
        WHOLE,
    );
}
