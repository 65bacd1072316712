//! Dates: zeros, and those that are not in GMT.

use serde_json::{Value, json};

use super::{HOME, POST, Post, ZEROS, export, read};
use crate::import::{counts, expected, find, import, write};

#[test]
fn zeros_are_no_date_and_local_dates_have_a_zone() {
    let old = Post {
        id: 8,
        dates: ("2009-05-06 07:08:09", ZEROS),
        ..POST
    };
    let winter = Post {
        id: 9,
        dates: ("2009-03-06 07:08:09", ZEROS),
        ..POST
    };
    let none = Post {
        id: 10,
        dates: (ZEROS, ZEROS),
        ..POST
    };
    let draft = Post {
        id: 11,
        status: "draft",
        dates: ("2026-03-06 07:08:09", ZEROS),
        ..POST
    };
    let summer = Post {
        id: 12,
        dates: ("2026-07-03 10:00:00", "2026-07-03 08:00:00"),
        ..POST
    };
    let date = |records: &[Value], id: u32| {
        let record = find(records, &format!("www.example.org/post/{id}"));
        assert_eq!(record["published_at"], record["modified_at"]);
        record["published_at"].as_str().map(str::to_owned)
    };
    let made = "dates in GMT (made with the offset of other dates)";
    let unknown = "dates in GMT (--zone makes them of local ones)";
    // No other date.
    let (records, report) = read("", &[HOME_WITHOUT_DATES, old], &[]);
    assert_eq!(date(&records, 8), None);
    assert_eq!(
        counts(&report["notes"]),
        expected([(unknown, 1), ("a date", 1)])
    );
    // All others are an hour from GMT.
    let (records, report) = read("", &[HOME, old, winter, none, draft], &[]);
    assert_eq!(
        date(&records, 8).as_deref(),
        Some("2009-05-06T06:08:09+00:00")
    );
    assert_eq!((date(&records, 10), date(&records, 11)), (None, None));
    assert_eq!(
        counts(&report["notes"]),
        expected([(made, 2), ("a date", 1)])
    );
    // The clock is turned, but not in March, as far as can be seen.
    let (records, report) = read("", &[HOME, summer, old, winter], &[]);
    assert_eq!(date(&records, 8), None);
    assert_eq!(
        date(&records, 9).as_deref(),
        Some("2009-03-06T06:08:09+00:00")
    );
    assert_eq!(
        counts(&report["notes"]),
        expected([(made, 1), (unknown, 1)])
    );
    let (records, report) = read(
        "",
        &[HOME, summer, old, winter],
        &["--zone", "Europe/Berlin"],
    );
    assert_eq!(
        date(&records, 8).as_deref(),
        Some("2009-05-06T05:08:09+00:00")
    );
    assert_eq!(
        date(&records, 9).as_deref(),
        Some("2009-03-06T06:08:09+00:00")
    );
    assert_eq!(counts(&report["notes"]), expected([]));
    // Other exporters write pubDate alone; old WordPress made 1999 of zeros there.
    for (pub_date, expected) in [
        (
            "Tue, 03 Mar 2026 10:00:00 +0100",
            json!("2026-03-03T09:00:00+00:00"),
        ),
        ("Tue, 30 Nov 1999 00:00:00 +0000", Value::Null),
        ("Mon, 30 Nov -0001 00:00:00 +0000", Value::Null),
    ] {
        let text = export(
            "",
            &[Post {
                dates: ("", ""),
                ..POST
            }],
        );
        let text = text.replace("Mon, 30 Nov -0001 00:00:00 +0000", pub_date);
        let folder = tempfile::tempdir().unwrap();
        let (records, _, _) = import(&[&write(&folder, "export.xml", &text)]);
        assert_eq!(records[0]["published_at"], expected, "{pub_date}");
    }
}

const HOME_WITHOUT_DATES: Post<'_> = Post {
    dates: (ZEROS, ZEROS),
    ..HOME
};
