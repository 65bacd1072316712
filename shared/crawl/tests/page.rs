//! The page says what the report says, and nothing that a text of others wants it to.

#[path = "../examples/page/sample.rs"]
mod sample;

use crawl::page::html;
use crawl::report::{Failure, Report, Row};

fn page(name: &str) -> String {
    html(&sample::named(name).expect("a sample"))
}

/// The text of a page, without its elements, style and data.
fn text(page: &str) -> String {
    let body = page.split_once("<body>").expect("a body").1;
    let body = body.split_once("<script type=").expect("the data").0;
    let mut text = String::new();
    let mut is_inside = false;
    for char in body.chars() {
        match char {
            '<' => is_inside = true,
            '>' => {
                is_inside = false;
                text.push(' ');
            }
            _ if !is_inside => text.push(char),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn data(page: &str) -> serde_json::Value {
    let json = page
        .split_once("id=\"data\">")
        .expect("the data")
        .1
        .split_once("</script>")
        .expect("its end")
        .0;
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn headline_has_the_longest_window_up_to_a_week() {
    for (name, expected) in [
        (
            "site",
            "11,907 of 48,210 listed pages were fetched in the last 7 days",
        ),
        ("short", "5 of 25 listed pages were fetched in the last day"),
        ("empty", "No page is listed"),
    ] {
        assert!(
            page(name).contains(&format!("<h1>{expected}</h1>")),
            "{name}"
        );
    }
    let one = Report {
        total: Row {
            listed: 1,
            ever: 1,
            ..Row::default()
        },
        ..Report::default()
    };
    assert!(html(&one).contains("<h1>1 of 1 listed page was fetched in this log</h1>"));
}

#[test]
fn tables_have_the_numbers_of_the_report() {
    let text = text(&page("site"));
    for expected in [
        "product-sitemap4.xml 1% 6% 24% 40% 40% 4,357 7,310",
        "news-sitemap.xml few 86% 100% 100% 100% 100% 0 22",
        "within 1 day 2,197 33%",
        "not yet 743",
        "404 214 3,210 https://www.example.com/p/heron-lamp-brass",
        "no answer 59 62 https://www.example.com/p/ash-table-180",
        "noindex 1,208 9,220 https://www.example.com/search",
        "Googlebot 188 61 × 200, 127 × 304",
        "https://www.example.com/video-sitemap.xml 0 no bot",
        "The most are in product-sitemap4.xml : 4,357 of 7,310.",
        "YandexBot Yandex search",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn what_the_log_cannot_say_is_no_number() {
    let text = text(&page("short"));
    for expected in [
        "Last 7 days the log is too short Last 30 days the log is too short Last 90 days the log is too short",
        "For 7 days, 30 days, 90 days the log is too short.",
        "No listed page changed within this log, so it is too short to tell.",
        "Half within 6 hours; fewer than nine of ten so far few",
        "Sitemap 1 day Ever Never Listed",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains("Last 7 days 0%"));
}

#[test]
fn texts_of_others_stay_texts() {
    let (hostile, site) = (page("hostile"), page("site"));
    for tag in ["<script", "</script", "<img", "<!--", "onerror=taken()>\""] {
        assert_eq!(
            hostile.matches(tag).count(),
            site.matches(tag).count(),
            "{tag}"
        );
    }
    assert!(
        hostile
            .matches("&lt;/script&gt;&lt;!--&lt;script&gt;taken()")
            .count()
            > 40
    );
    assert!(
        !hostile.contains('\u{7}'),
        "a control character is not one of HTML's"
    );
    assert_eq!(
        data(&hostile)["listing"]["name"],
        sample::HOSTILE,
        "in the data it is as it was"
    );
}

#[test]
fn data_are_the_report() {
    for name in sample::NAMES {
        let report = sample::named(name).expect("a sample");
        assert_eq!(
            data(&page(name)),
            serde_json::to_value(&report).expect("JSON"),
            "{name}"
        );
    }
}

#[test]
fn advice_names_what_is_wrong_and_nothing_else() {
    let advised = |report: &Report| {
        let text = text(&html(report));
        let advice = text
            .split_once("What to do ")
            .expect("advice")
            .1
            .split_once(" Coverage")
            .expect("its end")
            .0;
        advice.to_owned()
    };
    assert_eq!(
        advised(&Report::default()),
        "Nothing is listed. Look whether the sitemaps that were named are the right ones."
    );
    let mut report = Report {
        total: Row {
            listed: 2,
            ever: 2,
            ..Row::default()
        },
        ..Report::default()
    };
    assert_eq!(
        advised(&report),
        "No bot came. Look whether the log is of this site, and whether it has the agents of who asked."
    );
    report.logs.requests = 5;
    assert_eq!(
        advised(&report),
        "Nothing. All listed pages were fetched and answered."
    );
    report.failures = vec![Failure {
        status: 410,
        requests: 2,
        pages: 1,
        examples: Vec::new(),
    }];
    assert_eq!(
        advised(&report),
        "Listed pages were not answered with 200: 410 for 1 page. Repair them, or take them out of the sitemaps. Examples"
    );
}

#[test]
fn parts_of_a_bar_are_those_of_the_row() {
    let report = sample::named("site").expect("a sample");
    let page = html(&report);
    let bars = page
        .split_once("aria-label=\"By sitemap\"")
        .expect("the table")
        .1;
    for (bar, row) in bars.split("<svg").skip(1).zip(&report.by_sitemap) {
        let bar = bar.split_once("</svg>").expect("its end").0;
        let number = |rect: &str, name: &str| -> f64 {
            let value = rect.split_once(&format!(" {name}=\"")).expect(name).1;
            value.split_once('"').expect(name).0.parse().expect(name)
        };
        let mut end = 0.0;
        for rect in bar.split("<rect").skip(1) {
            assert!(
                (number(rect, "x") - end).abs() < 2.1,
                "{}: {rect} begins at {end}",
                row.name
            );
            end = number(rect, "x") + number(rect, "width");
        }
        assert!(
            (end - row.ever as f64 * 1000.0 / row.listed as f64).abs() < 2.1,
            "{}: {end}",
            row.name
        );
    }
}
