mod addresses;
mod news;
mod readers;
mod relations;

use serde_json::{Value, json};

use super::*;
use crate::eligibility::Newest;
use crate::record::ContentRecord;
use crate::site::SiteSettings;

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

fn assessed<'a>(
    record: Option<&'a ContentRecord>,
    part: u32,
    site: &'a SiteSettings,
    now: i64,
) -> Assessed<'a> {
    let site = Some(site);
    Page { record, part, site }.assess(now)
}

fn page<'a>(record: Option<&'a ContentRecord>, site: &'a SiteSettings) -> Assessed<'a> {
    assessed(record, 1, site, NOW)
}

fn planned(record: Option<&ContentRecord>, ledger: &Ledger, claim: Claim) -> Plan {
    let site = site();
    plan("post/1", &Inputs::of(&page(record, &site), ledger, &claim))
}

/// Returns the ledger after a record was first placed in the first slot.
fn placed(record: &ContentRecord) -> Ledger {
    let mut plan = planned(Some(record), &Ledger::default(), Claim::Free);
    let series: Vec<Series> = plan.needs_slots().cloned().collect();
    for series in &series {
        plan.place(series, Slot { n: 1, i: 0 });
    }
    assert_eq!(
        (series[0].name.as_str(), plan.needs_slots().count()),
        ("post", 0)
    );
    plan.ledger.unwrap()
}

/// Returns the names of the changes, sorted: `+Claim` for a row that is written, `-Claim` for one that is deleted.
fn names(plan: &Plan) -> Vec<String> {
    let name = |change: &Change| {
        let name = format!("{change:?}");
        let mut words = name.split('(');
        let change = words.next().unwrap_or_default();
        match change {
            "Hold" => format!("+{}", words.next().unwrap_or_default()),
            "Release" => format!("-{}", words.next().unwrap_or_default()),
            _ => change.to_owned(),
        }
    };
    let mut names: Vec<String> = plan.changes.iter().map(name).collect();
    names.sort();
    names
}

fn links(plan: &Plan) -> Vec<String> {
    let xml = plan.changes.iter().find_map(|change| match change {
        Change::Replace(_, rendered) => Some(&rendered.xml),
        _ => None,
    });
    let links = xml.unwrap().split("hreflang=\"").skip(1);
    links
        .map(|link| link.split('"').next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_new_page_is_inserted_and_claims_its_address() {
    let plan = planned(Some(&record(json!({}))), &Ledger::default(), Claim::Free);
    assert_eq!(names(&plan), ["+Claim", "Insert"]);
}

#[test]
fn an_unchanged_page_has_nothing_to_write() {
    let record = record(json!({}));
    let ledger = placed(&record);
    assert_eq!(
        page(Some(&record), &site()).wanted_address(Newest::Unread, &ledger),
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
    assert_eq!(names(&plan), ["+LeftOut", "-Claim", "Remove"]);
    assert_eq!(plan.ledger.unwrap().refused.unwrap().0, "noindex");
    let plan = planned(None, &ledger, Claim::Unread);
    assert_eq!(
        (names(&plan), plan.ledger),
        (vec!["-Claim".to_owned(), "Remove".to_owned()], None)
    );
}

#[test]
fn what_new_settings_may_list_is_among_what_its_site_leaves_out() {
    let site = site();
    let left_out = |fields: Value, part, site: Option<&SiteSettings>| {
        let record = record(fields);
        let record = Some(&record);
        let page = Page { record, part, site }.assess(NOW);
        let ledger = Ledger::default();
        let inputs = Inputs::of(&page, &ledger, &Claim::Free);
        super::plan("post/1", &inputs).ledger.unwrap().left_out
    };
    for (fields, part, site, expected) in [
        (json!({"noindex": true}), 1, Some(&site), true),
        (json!({}), 1, None, true),
        (json!({"noindex": true, "pages": 2}), 2, Some(&site), false),
        (json!({"status": "what"}), 1, Some(&site), false),
        (json!({"url": "nothing"}), 1, None, false),
        (json!({}), 1, Some(&site), false),
    ] {
        let text = fields.to_string();
        assert_eq!(left_out(fields, part, site), expected, "{text} {part}");
    }
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
    let site = site();
    let page = page(Some(&record), &site);
    let inputs = Inputs {
        evict: Some((&evict.series, evict.slot)),
        ..Inputs::of(&page, &ledger, &Claim::Unread)
    };
    assert_eq!(names(&super::plan("post/1", &inputs)), ["Insert", "Remove"]);
}

#[test]
fn what_no_time_changes_has_no_timer() {
    for (fields, name) in [
        (json!({"status": "draft"}), "not_published"),
        (json!({"noindex": true}), "noindex"),
    ] {
        let mut item = json!({"published_at": "2027-02-01", "expires_at": "2027-03-01"});
        let fields = fields.as_object().unwrap().clone();
        item.as_object_mut().unwrap().extend(fields);
        let plan = planned(Some(&record(item)), &Ledger::default(), Claim::Unread);
        let ledger = plan.ledger.unwrap();
        assert_eq!(ledger.refused.unwrap().0, name);
        assert_eq!(ledger.next_check_at, None, "{name}");
    }
}

#[test]
fn time_sets_and_clears_timers() {
    let scheduled = record(json!({"published_at": "2027-02-01"}));
    let plan = planned(Some(&scheduled), &Ledger::default(), Claim::Unread);
    assert_eq!(names(&plan), ["+LeftOut", "+Timer"]);
    let ledger = plan.ledger.unwrap();
    let at = ledger.next_check_at.unwrap();
    let site = site();
    let page = assessed(Some(&scheduled), 1, &site, at);
    let inputs = Inputs::of(&page, &ledger, &Claim::Free);
    assert_eq!(
        names(&super::plan("post/1", &inputs)),
        ["+Claim", "-LeftOut", "-Timer", "Insert"]
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
    let series = plan.needs_slots().next().unwrap().clone();
    plan.place(&series, Slot { n: 1, i: 0 });
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

/// The inputs of a plan besides its record, site and ledger.
struct Given {
    newest: Newest,
    group: Translations,
    notify: bool,
    first_load: bool,
}

/// Returns the plan of a record on a site with these settings. The ledger's entries were placed with the same settings.
fn planned_on(
    settings: Value,
    fields: Value,
    ledger: &Ledger,
    now: i64,
    change: impl FnOnce(&mut Given),
) -> Plan {
    let site = SiteSettings::parse("www.example.com", &settings).unwrap();
    let record = record(fields);
    let claim = if ledger.claim.is_some() {
        Claim::Unread
    } else {
        Claim::Free
    };
    let mut given = Given {
        newest: Newest::Unread,
        group: Translations::new(),
        notify: false,
        first_load: false,
    };
    change(&mut given);
    let page = assessed(Some(&record), 1, &site, now);
    let inputs = Inputs {
        newest: given.newest,
        group: &given.group,
        notify: given.notify,
        first_load: given.first_load,
        ..Inputs::of(&page, ledger, &claim)
    };
    let mut plan = plan("post/1", &inputs);
    let series: Vec<Series> = plan.needs_slots().cloned().collect();
    for (i, series) in series.iter().enumerate() {
        plan.place(series, Slot { n: 1, i: i as u32 });
    }
    plan
}

fn series_of(ledger: &Ledger) -> Vec<&str> {
    ledger
        .placed
        .iter()
        .map(|placement| placement.series.name.as_str())
        .collect()
}
