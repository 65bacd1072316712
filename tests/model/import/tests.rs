//! The configurations that are explored.

use super::*;
use crate::{holds, refutes};

const REBUILD: Import = Import {
    conditions: ALL,
    order: ORDER,
    rebuild: true,
    edits: 2,
    skips: 0,
    faults: 1,
};
const FIRST_LOAD: Import = Import {
    rebuild: false,
    ..REBUILD
};

/// Without faults.
const QUIET: Import = Import {
    faults: 0,
    ..REBUILD
};
const SKIPS: Import = Import { skips: 1, ..QUIET };

/// The rows are written while the functions have the table.
const IN_USE: &[Phase] = &[
    Phase::Export,
    Phase::Switch,
    Phase::Drop,
    Phase::Import,
    Phase::Compare,
    Phase::Publish,
];

#[test]
fn a_table_is_rebuilt_while_records_change() {
    holds("import, rebuild", REBUILD);
    let waits = Import {
        order: &[
            Phase::Export,
            Phase::Import,
            Phase::Switch,
            Phase::Wait,
            Phase::Compare,
            Phase::Publish,
        ],
        ..REBUILD
    };
    holds("import, rebuild, the old table is kept", waits);
}

#[test]
fn a_first_load_is_imported_while_records_change() {
    holds("import, first load", FIRST_LOAD);
}

/// With bulk writes that is possible. Slots and claims, which the model does not have, are the reason not to do it.
#[test]
fn a_table_is_filled_while_the_functions_have_it() {
    let model = Import {
        order: IN_USE,
        ..QUIET
    };
    holds("import, into a table in use", model);
    let mut ledgers_alone = model;
    ledgers_alone.conditions.entries_compared = false;
    let name = "import into a table in use without a look at entries";
    refutes(name, ledgers_alone, LISTED);
}

#[test]
fn an_import_skips_a_row() {
    holds("import, a row is skipped", SKIPS);
    // The comparison finds that, too.
    let mut uncounted = SKIPS;
    uncounted.conditions.counted = false;
    holds("import, a row is skipped and nobody counts", uncounted);
}

#[test]
fn every_other_order_is_wrong() {
    use Phase::{Compare, Drop, Export, Import, Publish, Switch};
    let wrong = |name: &str, order, property| {
        refutes(
            &format!("import, {name}"),
            super::Import { order, ..QUIET },
            property,
        );
    };
    wrong(
        "without a comparison",
        &[Export, Import, Switch, Drop, Publish],
        LISTED,
    );
    wrong(
        "compared before the switch",
        &[Export, Import, Compare, Switch, Drop, Publish],
        LISTED,
    );
    wrong(
        "compared while runs have the old table",
        &[Export, Import, Switch, Compare, Drop, Publish],
        LISTED,
    );
    wrong(
        "compared before the import",
        &[Export, Switch, Drop, Compare, Import, Publish],
        LISTED,
    );
    wrong(
        "published before the comparison",
        &[Export, Import, Switch, Drop, Publish, Compare],
        KEPT,
    );
}

#[test]
fn every_condition_is_needed() {
    let without = |name: &str, mut model: Import, off: fn(&mut Conditions), property| {
        off(&mut model.conditions);
        refutes(&format!("import without {name}"), model, property);
    };
    without("the hold", QUIET, |c| c.held = false, KEPT);
    let in_use = Import {
        order: IN_USE,
        rebuild: false,
        ..QUIET
    };
    without(
        "the hold, into a table in use",
        in_use,
        |c| c.held = false,
        WHOLE,
    );
    without(
        "the hold's second step",
        QUIET,
        |c| c.second_step = false,
        LISTED,
    );
    let neither = |c: &mut Conditions| {
        c.counted = false;
        c.entries_compared = false;
    };
    without("counts and a look at entries", SKIPS, neither, LISTED);
}
