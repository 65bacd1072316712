//! The explored configurations.

use super::*;
use crate::{holds, refutes};

/// Two rows of one segment.
const SEGMENT: &[(usize, usize)] = &[(0, 0), (0, 0)];
/// Two segments of one shard.
const TWO_SEGMENTS: &[(usize, usize)] = &[(0, 0), (0, 1)];
const TWO_SHARDS: &[(usize, usize)] = &[(0, 0), (1, 0)];
const ONE_ROW: &[(usize, usize)] = &[(0, 0)];

const SMALL: Publish = Publish {
    conditions: ALL,
    rows: ONE_ROW,
    runs: 2,
    writes: 4,
    faults: 1,
    drops: 0,
    outlive: false,
    texts: 1,
};

#[test]
fn one_row_in_three_runs() {
    holds("publish, one row", Publish { runs: 3, ..SMALL });
}

#[test]
fn a_segment_whose_rows_are_not_read_at_once() {
    holds(
        "publish, two rows of a segment",
        Publish {
            rows: SEGMENT,
            writes: 3,
            faults: 2,
            ..SMALL
        },
    );
}

#[test]
fn two_segments_of_which_one_may_be_touched() {
    holds(
        "publish, two segments",
        Publish {
            rows: TWO_SEGMENTS,
            writes: 3,
            faults: 2,
            ..SMALL
        },
    );
}

#[test]
fn two_shards_in_one_index() {
    holds(
        "publish, two shards",
        Publish {
            rows: TWO_SHARDS,
            writes: 3,
            faults: 2,
            ..SMALL
        },
    );
}

/// Refutes publishing without some of its conditions.
fn without(
    name: &str,
    rows: &'static [(usize, usize)],
    off: impl FnOnce(&mut Conditions),
    property: &'static str,
) {
    let mut model = Publish {
        rows,
        runs: 3,
        ..SMALL
    };
    off(&mut model.conditions);
    refutes(&format!("publish without {name}"), model, property);
}

#[test]
fn every_condition_is_needed() {
    without("If-Match", ONE_ROW, |c| c.if_match = false, SHARD);
    without(
        "rows after the object",
        ONE_ROW,
        |c| c.object_first = false,
        SHARD,
    );
    without(
        "reading rows again",
        ONE_ROW,
        |c| c.rows_read_again = false,
        SHARD,
    );
    without("stamps", ONE_ROW, |c| c.stamps = false, SHARD);
    without("stubs", ONE_ROW, |c| c.stubs = false, SHARD);
    without(
        "a summary of what was put before",
        ONE_ROW,
        |c| c.summary_always = false,
        INDEX,
    );
    without(
        "a summary that only rises",
        ONE_ROW,
        |c| c.summary_rises = false,
        INDEX,
    );
    without(
        "the object before the summary",
        ONE_ROW,
        |c| c.object_before_summary = false,
        WHOLE,
    );
}

#[test]
fn every_condition_of_the_index_is_needed() {
    without(
        "the index's stamp",
        ONE_ROW,
        |c| c.index_stamp = false,
        INDEX,
    );
    without(
        "the index's If-Match",
        ONE_ROW,
        |c| c.index_if_match = false,
        INDEX,
    );
    without(
        "summaries after the index",
        ONE_ROW,
        |c| c.index_first = false,
        INDEX,
    );
}

const DROPPED: Publish = Publish {
    drops: 1,
    texts: 2,
    ..SMALL
};

#[test]
fn objects_of_a_dropped_table_are_not_spliced_on() {
    holds("publish, a dropped table", DROPPED);
    let mut model = DROPPED;
    model.conditions.epoch_checked = false;
    refutes("publish without epochs", model, SHARD);
}

/// Tests a property that is not promised. `docs/TESTING.md` explains why.
#[test]
fn no_run_may_outlive_its_table() {
    let outlived = Publish {
        outlive: true,
        ..DROPPED
    };
    refutes("publish, in a run that outlives its table", outlived, INDEX);
}
