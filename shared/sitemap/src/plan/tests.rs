use serde_json::{Value, json};

use super::*;
use crate::eligibility::Newest;
use crate::loc::Loc;
use crate::record::{ContentRecord, Departure};
use crate::site::{Llms, SiteSettings};
use crate::time::When;

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

#[test]
fn a_page_with_a_video_that_is_news_has_three_entries_each_for_its_time() {
    let settings = json!({"news_name": "The Lantern", "language": "en-GB"});
    let fields = json!({"published_at": "2027-01-15T07:00:00Z", "modified_at": null, "title": "Now", "news": {},
        "videos": [{"title": "v", "thumbnail_url": "https://i.example/1.jpg", "content_url": "https://v.example/1.mp4",
        "expires_at": "2027-01-15T09:00:00Z"}]});
    let plan =
        |ledger: &Ledger, now| planned_on(settings.clone(), fields.clone(), ledger, now, |_| {});
    let first = plan(&Ledger::default(), NOW);
    let ledger = first.ledger.unwrap();
    assert_eq!(series_of(&ledger), ["post", "video", "news"]);
    let news = first.changes.iter().find_map(|change| match change {
        Change::Replace(placement, rendered) if placement.series.name == "news" => {
            Some(&rendered.xml)
        }
        _ => None,
    });
    assert!(news.unwrap().contains("<news:language>en</news:language>"));
    assert_eq!(
        ledger.next_check_at,
        Some(NOW + 3_600),
        "the video's end comes first"
    );
    assert!(plan(&ledger, NOW).is_empty());
    let second = plan(&ledger, NOW + 3_600);
    assert_eq!(names(&second), ["+Timer", "-Timer", "Remove"]);
    let ledger = second.ledger.unwrap();
    assert_eq!(series_of(&ledger), ["post", "news"]);
    let end = NOW - 3_600 + crate::eligibility::NEWS_SECONDS;
    assert_eq!((ledger.next_check_at, ledger.notes.len()), (Some(end), 1));
    let third = plan(&ledger, end).ledger.unwrap();
    assert_eq!(
        (series_of(&third), third.next_check_at),
        (vec!["post"], None)
    );
}

#[test]
fn news_that_lack_something_are_left_out_and_the_page_stays() {
    let fields = json!({"published_at": "2027-01-15T07:00:00Z", "title": "Now", "news": {"language": "xx-YYYY"}});
    for (settings, missing) in [
        (json!({"language": "en"}), "news_name or name"),
        (json!({"news_name": "N"}), "language"),
    ] {
        let ledger = planned_on(settings, fields.clone(), &Ledger::default(), NOW, |_| {})
            .ledger
            .unwrap();
        assert_eq!(series_of(&ledger), ["post"]);
        assert!(
            ledger.notes.iter().any(|note| note.contains(missing)),
            "{:?}",
            ledger.notes
        );
    }
}

#[test]
fn the_site_is_the_publication_unless_another_one_is_named() {
    let fields = json!({"published_at": "2027-01-15T07:00:00Z", "title": "Now", "news": {}});
    for (names, expected) in [
        (json!({"name": "The Lantern"}), "The Lantern"),
        (
            json!({"name": "The Lantern", "news_name": "Lantern News"}),
            "Lantern News",
        ),
        // An invalid name counts as absent.
        (
            json!({"name": "The Lantern", "news_name": 7}),
            "The Lantern",
        ),
    ] {
        let mut settings = names.clone();
        settings["language"] = "en".into();
        let plan = planned_on(settings, fields.clone(), &Ledger::default(), NOW, |_| {});
        let xml = format!("{:?}", plan.changes);
        let name = format!("<news:name>{expected}</news:name>");
        assert!(xml.contains(&name), "{names}: {xml}");
    }
}

#[test]
fn a_blank_title_of_news_counts_as_absent() {
    let settings = json!({"news_name": "N", "language": "en"});
    for blank in ["", " \t", "\u{1}"] {
        let fields = json!({"published_at": "2027-01-15T07:00:00Z", "title": "Now", "news": {"title": blank}});
        let plan = planned_on(settings.clone(), fields, &Ledger::default(), NOW, |_| {});
        let xml = format!("{:?}", plan.changes);
        assert!(
            xml.contains("<news:title>Now</news:title>"),
            "{blank:?}: {xml}"
        );
    }
}

#[test]
fn news_that_are_over_say_so_from_the_second_on_in_which_they_leave() {
    let settings = json!({"news_name": "N", "language": "en"});
    let fields = json!({"published_at": "2027-01-15T07:00:00Z", "title": "Now", "news": {}});
    let plan =
        |ledger: &Ledger, now| planned_on(settings.clone(), fields.clone(), ledger, now, |_| {});
    let first = plan(&Ledger::default(), NOW).ledger.unwrap();
    assert_eq!(first.notes, [""; 0]);
    let end = first.next_check_at.unwrap();
    let over = plan(&first, end).ledger.unwrap();
    assert_eq!(
        over.notes,
        ["news: left out, it was published or modified more than 48 hours ago"]
    );
    assert!(plan(&over, end + 1_000_000).is_empty());
}

#[test]
fn why_a_page_is_no_news_changes_only_when_something_is_due() {
    let hours = [None, Some(-100), Some(-47), Some(-1), Some(5)];
    let at = |hours: Option<i64>| hours.map(|hours| When::at(NOW + hours * 3_600).to_string());
    let dates = hours.map(|published| hours.map(|modified| (published, modified)));
    for (published, modified) in dates.into_iter().flatten() {
        let fields = json!({"published_at": at(published), "modified_at": at(modified), "title": "Now", "news": {}});
        for only in [false, true] {
            let settings = json!({"news_name": "N", "language": "en", "news_published_only": only});
            let plan = |ledger: &Ledger, now| {
                planned_on(settings.clone(), fields.clone(), ledger, now, |_| {})
            };
            let mut ledger = plan(&Ledger::default(), NOW).ledger.unwrap();
            for now in (NOW..).step_by(1_800).take(250) {
                let next = plan(&ledger, now);
                let due = ledger.next_check_at.is_some_and(|due| due <= now);
                assert!(due || next.is_empty(), "{fields} at {now}: {next:?}");
                ledger = next.ledger.unwrap();
            }
        }
    }
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
fn a_page_is_in_the_archives_of_its_terms_while_it_is_listed() {
    let fields = |terms: Value| json!({"terms": terms});
    let plan = |fields: Value, ledger: &Ledger| planned_on(json!({}), fields, ledger, NOW, |_| {});
    let first = plan(
        fields(json!({"tag": ["a", "b", "a"], "author": ["jane"]})),
        &Ledger::default(),
    );
    assert_eq!(
        names(&first),
        [
            "+Claim",
            "+TermMember",
            "+TermMember",
            "+TermMember",
            "Replace"
        ]
    );
    let ledger = first.ledger.unwrap();
    let second = plan(fields(json!({"tag": ["b", "c"]})), &ledger);
    assert_eq!(
        names(&second),
        ["+TermMember", "-TermMember", "-TermMember"]
    );
    let newer = plan(
        json!({"terms": {"tag": ["b"]}, "modified_at": "2026-05-05"}),
        &second.ledger.unwrap(),
    );
    assert_eq!(
        names(&newer),
        ["+TermMember", "-TermMember", "-TermMember", "Replace"]
    );
    let gone = plan(
        json!({"terms": {"tag": ["b"]}, "noindex": true}),
        &newer.ledger.unwrap(),
    );
    assert_eq!(
        names(&gone),
        ["+LeftOut", "-Claim", "-TermMember", "Remove"]
    );
}

#[test]
fn an_archive_is_listed_with_its_newest_pages_lastmod_and_is_in_none_itself() {
    let fields = json!({"archive_of": {"taxonomy": "tag", "term": "a"}, "terms": {"tag": ["b"]}});
    let plan = |ledger: &Ledger, newest| {
        planned_on(json!({}), fields.clone(), ledger, NOW, |given| {
            given.newest = newest
        })
    };
    let empty = plan(&Ledger::default(), Newest::Nobody);
    assert_eq!(names(&empty), ["+Archive", "+LeftOut"]);
    let ledger = empty.ledger.unwrap();
    assert_eq!(ledger.refused.as_ref().unwrap().0, "empty_archive");
    let listed = plan(&ledger, Newest::Page(Some(When::at(5))));
    assert_eq!(names(&listed), ["+Claim", "-LeftOut", "Replace"]);
    let xml = listed.changes.iter().find_map(|change| match change {
        Change::Replace(_, rendered) => Some(rendered.xml.clone()),
        _ => None,
    });
    assert!(
        xml.unwrap()
            .contains("<lastmod>1970-01-01T00:00:05+00:00</lastmod>")
    );
    assert_eq!(
        names(&plan(&listed.ledger.unwrap(), Newest::Nobody)),
        ["+LeftOut", "-Claim", "Remove"]
    );
}

fn translation(language: &str, path: &str, x_default: bool) -> Translation {
    let href = Loc::parse_any(&format!("https://www.example.com/{path}")).unwrap();
    Translation {
        language: language.to_owned(),
        href,
        x_default,
    }
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
fn each_member_of_a_group_lists_itself_and_all_others() {
    let fields = json!({"language": "en", "translation_group": "g", "x_default": true});
    let plan = |group: &Translations, ledger: &Ledger| {
        planned_on(json!({}), fields.clone(), ledger, NOW, |given| {
            given.group = group.clone()
        })
    };
    let alone = plan(&Translations::default(), &Ledger::default());
    assert_eq!(
        (names(&alone), links(&alone).len()),
        (
            vec![
                "+Claim".to_owned(),
                "+GroupMember".to_owned(),
                "Replace".to_owned()
            ],
            0
        )
    );
    let mut group = Translations::from([
        ("post/2".to_owned(), translation("de", "de", false)),
        ("post/3".to_owned(), translation("DE", "de-too", false)),
        ("post/4".to_owned(), translation("fr", "fr", true)),
    ]);
    let all = plan(&group, &Ledger::default());
    assert_eq!(links(&all), ["de", "en", "fr", "x-default"]);
    assert_eq!(all.ledger.as_ref().unwrap().notes, [""; 0]);
    let mut marked = group.clone();
    marked.insert("post/0".to_owned(), translation("it", "it", true));
    let second = plan(&marked, &Ledger::default());
    let notes = second.ledger.unwrap().notes;
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].starts_with("x_default: left out, post/0"),
        "{notes:?}"
    );
    // The result is the same whether its own row is among the read ones or not.
    group.insert(
        "post/1".to_owned(),
        translation("en", "an-old-address", false),
    );
    assert_eq!(links(&plan(&group, &Ledger::default())), links(&all));
    // Another page in the same language has the place.
    group.insert("post/0".to_owned(), translation("en", "en", false));
    let second = plan(&group, &Ledger::default());
    assert_eq!(links(&second), Vec::<String>::new());
    assert!(second.ledger.unwrap().notes[0].contains("post/0 is its page in en"));
    let left = planned_on(json!({}), json!({}), &all.ledger.unwrap(), NOW, |_| {});
    assert_eq!(names(&left), ["-GroupMember", "Replace"]);
}

#[test]
fn who_finds_a_group_full_waits() {
    let languages = ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}a{b}")));
    let member = |(i, language): (usize, String)| {
        (
            format!("post/0{i}"),
            translation(&language, &language, false),
        )
    };
    let full: Translations = languages.take(MAX_GROUP).enumerate().map(member).collect();
    let fields = json!({"language": "en", "translation_group": "g"});
    let plan = |ledger: &Ledger, group: &Translations| {
        planned_on(json!({}), fields.clone(), ledger, NOW, |given| {
            given.group = group.clone()
        })
    };
    let waiting = plan(&Ledger::default(), &full);
    assert_eq!(names(&waiting), ["+Claim", "+GroupWaiter", "Replace"]);
    let ledger = waiting.ledger.unwrap();
    let mut room = full.clone();
    room.pop_last();
    assert_eq!(
        names(&plan(&ledger, &room)),
        ["+GroupMember", "-GroupWaiter", "Replace"]
    );
}

#[test]
fn parts_are_pages_of_their_own_and_are_found_until_they_are_cleared() {
    let site = site();
    let three = record(
        json!({"pages": 3, "url": "https://www.example.com/a/", "images": [{"url": "https://i.example/1"}]}),
    );
    let first = planned(Some(&three), &Ledger::default(), Claim::Free);
    assert_eq!(first.ledger.as_ref().unwrap().parts, 3);
    let part = |record: &ContentRecord, part, ledger: &Ledger| {
        let page = assessed(Some(record), part, &site, NOW);
        plan("post/1", &Inputs::of(&page, ledger, &Claim::Free))
    };
    let second = part(&three, 2, &Ledger::default());
    assert_eq!(names(&second), ["+Claim", "Insert"]);
    assert_eq!(
        second
            .ledger
            .as_ref()
            .unwrap()
            .claim
            .as_ref()
            .unwrap()
            .loc
            .as_str(),
        "https://www.example.com/a/2/"
    );
    assert!(!format!("{:?}", second.changes).contains("image"));
    assert_eq!(part(&three, 4, &Ledger::default()).ledger, None);
    let two = record(json!({"pages": 2, "url": "https://www.example.com/a/"}));
    let ledger = Ledger {
        parts: 3,
        ..Ledger::default()
    };
    let shorter = page(Some(&two), &site);
    let inputs = Inputs::of(&shorter, &ledger, &Claim::Free);
    assert_eq!(plan("post/1", &inputs).ledger.unwrap().parts, 2);
    let inputs = Inputs { left: 3, ..inputs };
    assert_eq!(plan("post/1", &inputs).ledger.unwrap().parts, 3);
    let nobody = page(None, &site);
    let gone = Inputs::of(&nobody, &ledger, &Claim::Unread);
    assert_eq!(gone.page.last_part(&ledger), Some(1));
    assert_eq!(plan("post/1", &gone).ledger, None);
    let gone = Inputs { left: 3, ..gone };
    assert_eq!(plan("post/1", &gone).ledger.unwrap().parts, 3);
}

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
