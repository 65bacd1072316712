//! Addresses: who has one, who waits for it, and how it is spelled.

use serde_json::{Value, json};

use super::super::*;
use super::{NOW, links, names, page, placed, planned, planned_on, record, site};
use crate::eligibility::Newest;
use crate::record::{ContentRecord, Departure};
use crate::site::SiteSettings;

#[test]
fn a_page_that_moves_changes_its_claim_or_its_series() {
    let ledger = placed(&record(json!({})));
    let moved = record(json!({"url": "https://www.example.com/b"}));
    assert!(
        page(Some(&moved), &site())
            .wanted_address(Newest::Unread, &ledger)
            .is_some()
    );
    assert_eq!(
        names(&planned(Some(&moved), &ledger, Claim::Free)),
        ["+Claim", "-Claim", "Replace"]
    );
    let retyped = record(json!({"type": "page"}));
    assert_eq!(
        names(&planned(Some(&retyped), &ledger, Claim::Unread)),
        ["Insert", "Remove"]
    );
}

#[test]
fn a_page_that_departed_keeps_its_address_until_a_listed_page_takes_it() {
    let (page, moved) = (record(json!({})), record(json!({"moved_to": "/b"})));
    let fresh = planned(Some(&moved), &Ledger::default(), Claim::Free);
    assert_eq!(names(&fresh), ["+Departed", "+LeftOut", "+YieldingClaim"]);
    let ledger = fresh.ledger.unwrap();
    let target = "https://www.example.com/b".to_owned();
    assert_eq!(ledger.departed, Some(Departure::MovedTo(target)));
    assert_eq!(ledger.refused.as_ref().unwrap().0, "moved");
    assert!(planned(Some(&moved), &ledger, Claim::Unread).is_empty());
    assert_eq!(
        names(&planned(Some(&page), &ledger, Claim::Unread)),
        ["+Claim", "-Departed", "-LeftOut", "Insert"]
    );
    assert_eq!(
        names(&planned(Some(&moved), &placed(&page), Claim::Unread)),
        ["+Departed", "+LeftOut", "+YieldingClaim", "Remove"]
    );
    let gone = record(json!({"gone": true}));
    assert_eq!(
        names(&planned(Some(&gone), &ledger, Claim::Unread)),
        ["+Departed", "+YieldingClaim"]
    );
    let departed = || Claim::Departed("post/0".to_owned());
    assert_eq!(
        names(&planned(Some(&page), &Ledger::default(), departed())),
        ["Insert", "Take"]
    );
    let second = planned(Some(&moved), &Ledger::default(), departed());
    assert_eq!(names(&second), ["+LeftOut", "+Waiter", "Require"]);
    assert_eq!(second.ledger.unwrap().refused.unwrap().0, "duplicate");
}

/// Tests that search engines are notified of an address from which a listed page departs, once.
#[test]
fn a_departure_is_told_once() {
    let site = SiteSettings {
        indexnow_key: Some("0123456789abcdef".to_owned()),
        ..site()
    };
    let told = |record: &ContentRecord, ledger: &Ledger| {
        let page = page(Some(record), &site);
        let inputs = Inputs {
            notify: true,
            ..Inputs::of(&page, ledger, &Claim::Unread)
        };
        let plan = plan("post/1", &inputs);
        let told = plan.changes.iter();
        let told = told.filter(|change| matches!(change, Change::Notify(..)));
        (told.count(), plan.ledger.unwrap())
    };
    let (moved, gone) = (
        record(json!({"moved_to": "https://other.example/x"})),
        record(json!({"gone": true})),
    );
    let (count, ledger) = told(&moved, &placed(&record(json!({}))));
    assert_eq!(count, 1);
    assert_eq!(told(&gone, &ledger).0, 0);
    assert_eq!(told(&record(json!({})), &ledger).0, 1);
}

#[test]
fn a_departure_from_an_address_with_a_query_is_noted() {
    let url = "https://www.example.com/?p=1";
    let fields = json!({"url": url, "moved_to": "/b#part"});
    let plan = planned(Some(&record(fields)), &Ledger::default(), Claim::Free);
    let ledger = plan.ledger.unwrap();
    assert_eq!(ledger.notes, [QUERY_IS_NOT_SEEN]);
    let target = "https://www.example.com/b#part".to_owned();
    assert_eq!(ledger.departed, Some(Departure::MovedTo(target)));
}

#[test]
fn a_duplicate_waits_and_takes_over() {
    let record = record(json!({}));
    let plan = planned(
        Some(&record),
        &Ledger::default(),
        Claim::Other("post/0".to_owned()),
    );
    assert_eq!(names(&plan), ["+LeftOut", "+Waiter", "Require"]);
    let ledger = plan.ledger.unwrap();
    assert_eq!(ledger.refused.as_ref().unwrap().0, "duplicate");
    assert!(planned(Some(&record), &ledger, Claim::Other("post/0".to_owned())).is_empty());
    assert_eq!(
        names(&planned(Some(&record), &ledger, Claim::Free)),
        ["+Claim", "-LeftOut", "-Waiter", "Insert"]
    );
    let gone = planned(None, &ledger, Claim::Unread);
    assert_eq!(names(&gone), ["-LeftOut", "-Waiter"]);
}

/// Spellings of one address, as a site and its plugins may use them.
const SPELLINGS: [&str; 4] = [
    "https://www.example.com/%E6%97%A5/~joe/",
    "https://www.example.com/%e6%97%a5/~joe/",
    "https://www.example.com/日/~joe/",
    "https://WWW.example.com/./%E6%97%a5/%7ejoe/",
];

#[test]
fn a_page_is_canonical_however_its_address_is_spelled() {
    for url in SPELLINGS {
        for canonical in SPELLINGS {
            let fields = json!({"url": url, "canonical_url": canonical});
            let plan = planned(Some(&record(fields)), &Ledger::default(), Claim::Free);
            assert_eq!(names(&plan), ["+Claim", "Insert"], "{url} {canonical}");
        }
        let fields = json!({"url": url, "canonical_url": "https://www.example.com/%E6%97%A5/~joe"});
        let plan = planned(Some(&record(fields)), &Ledger::default(), Claim::Free);
        let refused = plan.ledger.unwrap().refused.unwrap();
        assert_eq!(refused.0, "canonical_elsewhere");
    }
}

#[test]
fn a_page_whose_address_is_spelled_anew_keeps_it() {
    let feed_and_key = |site: &mut SiteSettings| {
        site.feed = true;
        site.indexnow_key = Some("0123456789abcdef".to_owned());
    };
    let plan_of = |url: &str, ledger: &Ledger, claim: Claim, notify: bool| {
        let mut site = site();
        feed_and_key(&mut site);
        let record = record(json!({"url": url}));
        let page = page(Some(&record), &site);
        let inputs = Inputs {
            notify,
            ..Inputs::of(&page, ledger, &claim)
        };
        let mut plan = super::plan("post/1", &inputs);
        for series in plan.needs_slots().cloned().collect::<Vec<_>>() {
            plan.place(&series, Slot { n: 1, i: 0 });
        }
        plan
    };
    let [before, after, ..] = SPELLINGS;
    let ledger = plan_of(before, &Ledger::default(), Claim::Free, true)
        .ledger
        .unwrap();
    let respelled = record(json!({"url": after}));
    let wanted = page(Some(&respelled), &site())
        .wanted_address(Newest::Unread, &ledger)
        .cloned();
    assert_eq!(wanted, None, "it is the page's own");

    // One put of the claim, one replaced entry, one notice with the new text. The feed's row is a new one, as after any change.
    let plan = plan_of(after, &ledger, Claim::Unread, true);
    assert_eq!(names(&plan), ["+Claim", "Feed", "Notify", "Replace"]);
    let notified = plan.changes.iter().find_map(|change| match change {
        Change::Notify(address, _) => Some(address.loc.as_str()),
        _ => None,
    });
    assert_eq!(notified, Some(after));
    assert_eq!(plan.ledger.unwrap().claim.unwrap().loc.as_str(), after);

    // A scan notifies nobody: the feed's row keeps its time and gets the new text.
    let plan = plan_of(after, &ledger, Claim::Unread, false);
    assert_eq!(names(&plan), ["+Claim", "Feed", "Replace"]);
    let ledger = plan.ledger.unwrap();
    assert_eq!(
        (
            ledger.feed,
            names(&plan_of(after, &ledger, Claim::Unread, false)).len()
        ),
        (Some(NOW), 0)
    );

    // A waiting page keeps waiting.
    let owner = || Claim::Other("post/0".to_owned());
    let waiting = plan_of(before, &Ledger::default(), owner(), true)
        .ledger
        .unwrap();
    let plan = plan_of(after, &waiting, owner(), true);
    assert_eq!(names(&plan), ["+Waiter", "Require"]);
}

#[test]
fn a_page_is_among_its_alternates_however_they_spell_it() {
    let [own, as_linked, ..] = SPELLINGS;
    let link = |code: &str, url: &str| json!({"hreflang": code, "url": url});
    let note_of = |alternates: Value| {
        let fields = json!({"url": own, "alternates": alternates});
        let plan = planned(Some(&record(fields)), &Ledger::default(), Claim::Free);
        plan.ledger.unwrap().notes
    };
    let both = [
        link("ja", as_linked),
        link("en", "https://www.example.com/b"),
    ];
    assert_eq!(note_of(json!(both)), [""; 0]);
    let alone = note_of(json!([link("ja", as_linked)]));
    assert!(alone[0].contains("no page but this one"), "{alone:?}");
}

#[test]
fn alternates_that_name_the_page_alone_are_not_written() {
    let link = |code: &str, path: &str| json!({"hreflang": code, "url": format!("https://www.example.com/{path}")});
    let plan = |alternates: Value| {
        let fields = json!({"alternates": alternates});
        planned_on(json!({}), fields, &Ledger::default(), NOW, |_| {})
    };
    let alone = plan(json!([link("en", "a"), link("x-default", "a")]));
    assert_eq!(links(&alone), [""; 0]);
    assert!(alone.ledger.unwrap().notes[0].contains("no page but this one"));
    let two = plan(json!([link("en", "a"), link("de", "b")]));
    assert_eq!(links(&two), ["en", "de"]);
}
