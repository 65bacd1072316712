use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_800_000_000;

fn record(fields: Value) -> ContentRecord {
    let mut item =
        json!({"type": "post", "url": "https://www.example.com/a", "modified_at": "2026-01-01"});
    item.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    ContentRecord::parse("post/1", &item)
}

fn site() -> SiteSettings {
    SiteSettings::default_for("www.example.com").unwrap()
}

fn planned(record: Option<&ContentRecord>, ledger: &Ledger, claim: Claim) -> Plan {
    plan(
        &Inputs {
            record,
            site: Some(&site()),
            ledger,
            claim: &claim,
            evict: None,
        },
        NOW,
    )
}

/// The ledger after a record was first placed in the first slot.
fn placed(record: &ContentRecord) -> Ledger {
    let mut plan = planned(Some(record), &Ledger::default(), Claim::Free);
    assert_eq!(plan.needs_slot().unwrap().name, "post");
    plan.place(Slot { n: 1, i: 0 });
    assert_eq!(plan.needs_slot(), None);
    plan.ledger.unwrap()
}

fn names(plan: &Plan) -> Vec<String> {
    let name = |change: &Change| {
        format!("{change:?}")
            .split('(')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let mut names: Vec<String> = plan.changes.iter().map(name).collect();
    names.sort();
    names
}

#[test]
fn a_new_page_is_inserted_and_claims_its_address() {
    let plan = planned(Some(&record(json!({}))), &Ledger::default(), Claim::Free);
    assert_eq!(names(&plan), ["Claim", "Insert"]);
}

#[test]
fn an_unchanged_page_has_nothing_to_write() {
    let record = record(json!({}));
    let ledger = placed(&record);
    assert_eq!(
        wanted_address(Some(&record), Some(&site()), &ledger, NOW),
        None
    );
    assert!(planned(Some(&record), &ledger, Claim::Unread).is_empty());
}

#[test]
fn a_changed_page_keeps_its_slot() {
    let ledger = placed(&record(json!({})));
    let plan = planned(
        Some(&record(json!({"modified_at": "2026-02-02"}))),
        &ledger,
        Claim::Unread,
    );
    assert_eq!(names(&plan), ["Replace"]);
    assert_eq!(plan.ledger.unwrap().placed[0].slot, ledger.placed[0].slot);
}

#[test]
fn a_page_that_goes_leaves_nothing_and_says_why() {
    let ledger = placed(&record(json!({})));
    let plan = planned(
        Some(&record(json!({"noindex": true}))),
        &ledger,
        Claim::Unread,
    );
    assert_eq!(names(&plan), ["Release", "Remove"]);
    assert_eq!(plan.ledger.unwrap().refused.unwrap().0, "noindex");
    let plan = planned(None, &ledger, Claim::Unread);
    assert_eq!(
        (names(&plan), plan.ledger),
        (vec!["Release".to_owned(), "Remove".to_owned()], None)
    );
}

#[test]
fn a_page_that_moves_changes_its_claim_or_its_series() {
    let ledger = placed(&record(json!({})));
    let moved = record(json!({"url": "https://www.example.com/b"}));
    assert!(wanted_address(Some(&moved), Some(&site()), &ledger, NOW).is_some());
    assert_eq!(
        names(&planned(Some(&moved), &ledger, Claim::Free)),
        ["Claim", "Release", "Replace"]
    );
    let retyped = record(json!({"type": "page"}));
    assert_eq!(
        names(&planned(Some(&retyped), &ledger, Claim::Unread)),
        ["Insert", "Remove"]
    );
}

#[test]
fn a_duplicate_waits_and_takes_over() {
    let record = record(json!({}));
    let plan = planned(
        Some(&record),
        &Ledger::default(),
        Claim::Other("post/0".to_owned()),
    );
    assert_eq!(names(&plan), ["Wait"]);
    let ledger = plan.ledger.unwrap();
    assert_eq!(ledger.refused.as_ref().unwrap().0, "duplicate");
    assert!(planned(Some(&record), &ledger, Claim::Other("post/0".to_owned())).is_empty());
    assert_eq!(
        names(&planned(Some(&record), &ledger, Claim::Free)),
        ["Claim", "Insert", "StopWaiting"]
    );
    assert_eq!(
        names(&planned(None, &ledger, Claim::Unread)),
        ["StopWaiting"]
    );
}

#[test]
fn positions_beyond_the_capacity_and_evicted_ones_move_and_are_not_reused() {
    let record = record(json!({}));
    let mut ledger = placed(&record);
    ledger.placed[0].slot.i = 1_000;
    let plan = planned(Some(&record), &ledger, Claim::Unread);
    assert_eq!(names(&plan), ["Insert", "Remove"]);
    assert!(
        plan.changes
            .iter()
            .any(|change| matches!(change, Change::Remove(_, Reuse::Never)))
    );
    ledger.placed[0].slot.i = 10;
    let evict = ledger.placed[0].clone();
    let inputs = Inputs {
        record: Some(&record),
        site: Some(&site()),
        ledger: &ledger,
        claim: &Claim::Unread,
        evict: Some((&evict.series, evict.slot)),
    };
    assert_eq!(names(&super::plan(&inputs, NOW)), ["Insert", "Remove"]);
}

#[test]
fn time_sets_and_clears_timers() {
    let scheduled = record(json!({"published_at": "2027-02-01"}));
    let plan = planned(Some(&scheduled), &Ledger::default(), Claim::Unread);
    assert_eq!(names(&plan), ["SetTimer"]);
    let ledger = plan.ledger.unwrap();
    let at = ledger.due.unwrap();
    let inputs = Inputs {
        record: Some(&scheduled),
        site: Some(&site()),
        ledger: &ledger,
        claim: &Claim::Free,
        evict: None,
    };
    assert_eq!(
        names(&super::plan(&inputs, at)),
        ["Claim", "ClearTimer", "Insert"]
    );
    let future = record(json!({"modified_at": "2027-02-01"}));
    assert_eq!(
        planned(Some(&future), &Ledger::default(), Claim::Free)
            .ledger
            .unwrap()
            .notes
            .len(),
        1
    );
}

#[test]
fn images_that_make_an_entry_too_large_are_left_out_with_a_note() {
    let images: Vec<Value> = (0..1_000)
        .map(|i| json!({"url": format!("https://a.example/{i}{}", "x".repeat(1_000))}))
        .collect();
    let mut plan = planned(
        Some(&record(json!({"images": images}))),
        &Ledger::default(),
        Claim::Free,
    );
    plan.place(Slot { n: 1, i: 0 });
    let size = plan.changes.iter().find_map(|change| match change {
        Change::Replace(_, rendered) => Some(rendered.xml.len()),
        _ => None,
    });
    assert!((MAX_ENTRY_BYTES - 2_000..=MAX_ENTRY_BYTES).contains(&size.unwrap()));
    assert_eq!(plan.ledger.unwrap().notes.len(), 1);
}

#[test]
fn a_settings_record_is_no_page() {
    let item = json!({"type": "site", "base_url": "https://www.example.com"});
    let settings = ContentRecord::parse("site/www.example.com", &item);
    let plan = planned(Some(&settings), &Ledger::default(), Claim::Unread);
    assert!(plan.is_empty() && plan.ledger.is_none());
}

#[test]
fn settings_that_nobody_can_find_say_so() {
    let settings = ContentRecord::parse("site/WWW.example.com", &json!({"type": "site"}));
    let ledger = planned(Some(&settings), &Ledger::default(), Claim::Unread)
        .ledger
        .unwrap();
    assert_eq!(ledger.refused.unwrap().0, "bad_field");
}

#[test]
fn a_record_that_is_closed_has_no_timer() {
    let item =
        json!({"type": "post", "url": "https://www.example.com/a", "published_at": "2028-01-01"});
    let record = ContentRecord::parse(&"x".repeat(2_000), &item);
    let plan = planned(Some(&record), &Ledger::default(), Claim::Unread);
    assert!(plan.changes.is_empty(), "{:?}", plan.changes);
}
