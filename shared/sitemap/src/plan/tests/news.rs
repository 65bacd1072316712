//! Pages that are news, and those with videos.

use serde_json::json;

use super::super::*;
use super::{NOW, names, planned_on, series_of};
use crate::time::When;

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
