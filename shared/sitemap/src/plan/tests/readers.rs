//! What readers of the feed and of llms.txt and search engines are told.

use serde_json::{Value, json};

use super::super::*;
use super::{NOW, names, page, placed, planned_on, record, site};
use crate::record::ContentRecord;
use crate::site::{Llms, SiteSettings};

#[test]
fn search_engines_are_notified_that_a_page_has_left_a_site() {
    let mut ledger = placed(&record(json!({})));
    ledger.site = "www.example.com".to_owned();
    let moved = record(json!({"url": "https://b.example/a"}));
    let key = json!({"indexnow_key": "0123456789"});
    let settings = |host: &str, item: &Value| SiteSettings::parse(host, item).unwrap();
    let (new, old) = (
        settings("b.example", &json!({})),
        settings("www.example.com", &key),
    );
    let silent = settings("www.example.com", &json!({}));
    for (former, expected) in [(Some(&old), 1), (Some(&silent), 0), (None, 0)] {
        let page = page(Some(&moved), &new);
        let inputs = Inputs {
            notify: true,
            former,
            ..Inputs::of(&page, &ledger, &Claim::Free)
        };
        let plan = super::plan("post/1", &inputs);
        let address = ledger.claim.clone().unwrap();
        let notice = Change::Notify(address, NOW);
        let count = plan
            .changes
            .iter()
            .filter(|change| **change == notice)
            .count();
        assert_eq!(count, expected, "{former:?}");
        assert_eq!(
            names(&plan).iter().filter(|name| *name == "Notify").count(),
            expected
        );
    }
}

#[test]
fn a_change_that_readers_see_stands_in_the_feed_for_two_days_and_is_told_once() {
    let settings = json!({"indexnow_key": "0123456789"});
    let run = |fields: Value, ledger: &Ledger, now, notify| {
        planned_on(settings.clone(), fields, ledger, now, |given| {
            given.notify = notify
        })
    };
    let quiet = run(json!({}), &Ledger::default(), NOW, false);
    assert_eq!(
        names(&quiet),
        ["+Claim", "Replace"],
        "a first load is no news"
    );
    let ledger = quiet.ledger.unwrap();
    assert!(run(json!({}), &ledger, NOW, true).is_empty());
    // A change before the release is undone after it. A scan sees a change before its own event comes.
    for (first_load, expected) in [(true, &["Feed", "Notify"][..]), (false, &[])] {
        let edit = json!({"title": "Loaded"});
        let edited = planned_on(settings.clone(), edit, &ledger, NOW, |given| {
            given.first_load = first_load
        });
        let edited = edited.ledger.unwrap_or_else(|| ledger.clone());
        let back = run(json!({}), &edited, NOW, true);
        assert_eq!(names(&back), expected, "{first_load}");
    }
    let heard = run(json!({"title": "New"}), &ledger, NOW, true);
    assert_eq!(names(&heard), ["Feed", "Notify"]);
    let ledger = heard.ledger.unwrap();
    let again = run(json!({"title": "Newer"}), &ledger, NOW, true);
    assert_eq!(
        names(&again),
        ["Feed", "Notify"],
        "in the same second, over the same row"
    );
    let later = run(json!({"title": "Newest"}), &ledger, NOW + 10, true);
    assert_eq!(names(&later), ["-Feed", "Feed", "Notify"]);
    // Without a claim, the row may have an address that the page has left.
    let lost = Ledger {
        claim: None,
        ..ledger.clone()
    };
    let elsewhere = json!({"title": "New", "url": "https://www.example.com/b"});
    let repaired = run(elsewhere, &lost, NOW + 10, false);
    assert_eq!(names(&repaired), ["+Claim", "Feed", "Replace"]);
    let feed = |ledger: Option<Ledger>| ledger.and_then(|ledger| ledger.feed);
    assert_eq!(feed(repaired.ledger), ledger.feed);
    // DynamoDB deletes its row.
    let over = NOW + FEED_SECONDS;
    let repaired = run(json!({"title": "New"}), &lost, over, false);
    assert_eq!(names(&repaired), ["+Claim"]);
    assert!(run(json!({"title": "New"}), &ledger, over, true).is_empty());
    let after = run(json!({"title": "Newest"}), &ledger, over, true);
    assert_eq!(names(&after), ["Feed", "Notify"]);
    let moved = run(
        json!({"title": "New", "url": "https://www.example.com/b"}),
        &ledger,
        NOW + 10,
        true,
    );
    assert_eq!(
        names(&moved)
            .iter()
            .filter(|name| *name == "Notify")
            .count(),
        2
    );
    let gone = run(json!({"noindex": true}), &ledger, NOW + 10, true);
    assert_eq!(
        names(&gone),
        ["+LeftOut", "-Claim", "-Feed", "Notify", "Remove"]
    );
}

#[test]
fn a_page_of_a_chosen_type_has_a_row_for_llms_txt() {
    let mut site = site();
    let first = record(json!({"title": "A", "description": "B"}));
    let planned = |record: &ContentRecord, site: &SiteSettings, ledger: &Ledger| {
        plan(
            "post/1",
            &Inputs::of(&page(Some(record), site), ledger, &Claim::Free),
        )
    };
    let nothing = Ledger::default();
    let without = planned(&first, &site, &nothing);
    assert_eq!(names(&without), ["+Claim", "Insert"]);
    site.llms = Some(Llms {
        title: None,
        summary: None,
        types: vec!["post".to_owned()],
    });
    let mut plan = planned(&first, &site, &nothing);
    assert_eq!(names(&plan), ["+Claim", "Insert", "Llms"]);
    let Some(Change::Llms(item)) = plan
        .changes
        .iter()
        .find(|change| matches!(change, Change::Llms(_)))
        .cloned()
    else {
        panic!("no row");
    };
    assert_eq!(item.page.title.as_deref(), Some("A"));
    let series = plan.needs_slots().next().cloned().unwrap();
    plan.place(&series, Slot { n: 1, i: 0 });
    let ledger = plan.ledger.unwrap();
    assert!(planned(&first, &site, &ledger).is_empty());

    // Another title changes the same row. Another lastmod needs another row.
    let retitled = record(json!({"title": "C", "description": "B"}));
    assert_eq!(names(&planned(&retitled, &site, &ledger)), ["Llms"]);
    let modified = record(json!({"title": "A", "description": "B", "modified_at": "2026-01-02"}));
    assert_eq!(
        names(&planned(&modified, &site, &ledger)),
        ["-Llms", "Llms", "Replace"]
    );
    // A lost row is written again, and settings without the type delete it.
    let lost = Ledger {
        llms: None,
        ..ledger.clone()
    };
    assert_eq!(names(&planned(&first, &site, &lost)), ["Llms"]);
    site.llms = None;
    let left = planned(&first, &site, &ledger);
    assert_eq!(names(&left), ["-Llms"]);
    assert_eq!(left.ledger.unwrap().llms, None);
    let none = record(json!({"type": "page", "title": "A"}));
    assert!(
        names(&planned(&none, &site, &nothing))
            .iter()
            .all(|name| name != "Llms")
    );
}
