//! Answers for pages that moved or are gone.

use objects::ObjectKey;
use sitemap::departures::{Departures, file_of};
use sitemap::record::Departure;

use crate::bucket::stored;
use crate::fixture::*;

/// A part of a site file with departures.
const DEPARTURES: &str = r#""departures":60,"#;

/// Puts the files of these departures.
fn depart(fixture: &Fixture, departures: &[(&str, Departure)]) {
    fixture.bucket.site_file_with(SITE, true, DEPARTURES);
    for (path, departure) in departures {
        let loc = format!("https://{SITE}{path}");
        let file = Departures {
            stamp: "t".to_owned(),
            departures: [(loc.clone(), departure.clone())].into(),
        };
        let site = SITE.to_owned();
        let key = ObjectKey::Departures {
            site,
            file: file_of(&loc),
        };
        let text = file.to_text();
        fixture
            .bucket
            .insert(&key, stored(text.clone().into(), text.len(), 1));
    }
}

fn to(target: &str) -> Departure {
    Departure::MovedTo(target.to_owned())
}

#[tokio::test]
async fn a_move_costs_one_read_for_each_address_on_the_site() {
    let fixture = Fixture::new();
    let here = format!("https://{SITE}/b");
    let moves = [
        ("/a", to("https://elsewhere.example/\u{27}")),
        ("/c", to(&here)),
    ];
    depart(&fixture, &moves);
    fixture.bucket.calls();
    let answer = fixture.get("/a?utm=1", &[]).await;
    assert_eq!(answer.status, 301);
    assert_eq!(
        answer.header("location"),
        Some("https://elsewhere.example/\u{27}")
    );
    assert_eq!(answer.header("x-robots-tag"), None);
    assert_eq!(
        answer.header("content-security-policy"),
        Some("default-src \u{27}none\u{27}")
    );
    assert!(
        answer
            .text()
            .contains("<a href=\"https://elsewhere.example/&#39;\">")
    );
    assert_eq!(
        fixture.bucket.calls(),
        ["open", "open"],
        "the site file and one more"
    );
    assert_eq!(
        fixture.get("/c", &[]).await.header("location"),
        Some(&*here)
    );
    assert_eq!(fixture.bucket.calls(), ["open", "open"]);
    assert_eq!(fixture.head("/a", &[]).await.status, 301);
}

#[tokio::test]
async fn a_site_without_departures_makes_no_further_call() {
    let fixture = Fixture::new();
    for (path, calls) in [
        ("/a", &["open"][..]),
        ("/b", &[]),
        ("/0123-abcd.txt", &["open"]),
    ] {
        assert_eq!(fixture.get(path, &[]).await.status, 404);
        assert_eq!(fixture.bucket.calls(), calls, "{path}");
    }
}

#[tokio::test]
async fn a_closed_site_and_a_damaged_file_say_nothing() {
    let fixture = Fixture::new();
    depart(&fixture, &[("/a", Departure::Gone)]);
    assert_eq!(fixture.get("/a", &[]).await.status, 410);
    let loc = format!("https://{SITE}/a");
    let site = SITE.to_owned();
    let key = ObjectKey::Departures {
        site,
        file: file_of(&loc),
    };
    fixture.bucket.insert(&key, stored("{".into(), 1, 1));
    assert_eq!(
        fixture.get("/a", &[]).await.status,
        503,
        "unknown is not absent"
    );
    fixture.bucket.site_file_with(SITE, false, DEPARTURES);
    fixture.wait(front::SITE_FILE_TTL_SECONDS);
    assert_eq!(fixture.get("/a", &[]).await.status, 404);
}

/// A part of a site file with a page of its own for 404.
const NOT_FOUND: &str = r#""departures":60,"not_found_page":"<h1>Not here</h1>","#;

#[tokio::test]
async fn the_sites_own_404_is_for_paths_of_no_published_file() {
    let fixture = Fixture::new();
    depart(&fixture, &[("/a", Departure::Gone)]);
    for public in [true, false] {
        fixture.bucket.site_file_with(SITE, public, NOT_FOUND);
        fixture.wait(front::SITE_FILE_TTL_SECONDS);
        let navigation = [("sec-fetch-dest", "document")];
        for headers in [&[][..], &navigation] {
            let answer = fixture.get("/nowhere", headers).await;
            assert_eq!(
                (answer.status.as_u16(), answer.text()),
                (404, "<h1>Not here</h1>")
            );
            assert_eq!(
                answer.header("content-type"),
                Some("text/html; charset=utf-8")
            );
            assert_eq!(
                answer.header("cache-control"),
                Some("public, max-age=60, s-maxage=60")
            );
        }
        let head = fixture.head("/nowhere", &[]).await;
        assert_eq!((head.status.as_u16(), head.text()), (404, ""));
        let answer = fixture.get("/none-sitemap.xml", &[]).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text()),
            (404, "Not found\n")
        );
    }
    fixture.bucket.site_file_with(SITE, true, NOT_FOUND);
    fixture.wait(front::SITE_FILE_TTL_SECONDS);
    assert_eq!(fixture.get("/a", &[]).await.status, 410);
}
