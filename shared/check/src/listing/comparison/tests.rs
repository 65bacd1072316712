//! Tests of comparisons of two sets of pages.

use super::*;

fn page(loc: &str, lastmod: &str, images: &[u64]) -> Page {
    Page {
        loc: loc.to_owned(),
        lastmod: lastmod.to_owned(),
        parts: [images.to_vec(), vec![], vec![], vec![]],
    }
}

fn compare(a: &[(u32, Page)], b: &[(u32, Page)], fields: &Fields) -> (Counts, Vec<String>) {
    compare_as(false, a, b, fields)
}

fn compare_as(
    is_exact: bool,
    a: &[(u32, Page)],
    b: &[(u32, Page)],
    fields: &Fields,
) -> (Counts, Vec<String>) {
    let mut comparison = Comparison::new(std::env::temp_dir(), is_exact);
    for (side, pages) in [(Side::B, b), (Side::A, a)] {
        for (file, page) in pages.iter().rev() {
            comparison.add(side, *file, page).unwrap();
        }
    }
    let mut changes = Vec::new();
    let counts = comparison.finish(
        fields,
        |a, b| !a.iter().any(|a| b.contains(a)),
        |loc, change| {
            changes.push(format!("{loc} {change:?}"));
            Ok(())
        },
    );
    (counts.unwrap(), changes)
}

#[test]
fn each_difference_is_told_once_in_the_order_of_addresses() {
    let a = [
        (0, page("https://a/", "2026-01-01", &[1, 2])),
        (0, page("https://a/b", "2026-01-01", &[])),
        (1, page("https://a/b", "2025-01-02", &[])), // again, and older
        (1, page("https://a/c", "", &[])),
        (1, page("https://a/gone", "", &[])),
    ];
    let b = [
        (0, page("https://a/", "2026-01-01", &[2, 3, 4])),
        (0, page("https://a/b", "2026-01-01T00:00:00Z", &[])),
        (0, page("https://a/c", "2026-01-01", &[])),
        (1, page("https://a/.new", "", &[])),
    ];
    let (counts, changes) = compare(&a, &b, &Fields::default());
    assert_eq!(
        changes,
        [
            "https://a/ Changed { files: [0, 0], lastmod: None, parts: [(2, 1), (0, 0), (0, 0), (0, 0)] }",
            "https://a/.new New(1)",
            "https://a/c Changed { files: [1, 0], lastmod: Some([\"\", \"2026-01-01\"]), parts: [(0, 0), (0, 0), (0, 0), (0, 0)] }",
            "https://a/gone Gone(1)",
        ]
    );
    let expected = Counts {
        same: 1,
        gone: 1,
        new: 1,
        changed: 2,
        moved: 1,
        again: [1, 0],
        ..Counts::default()
    };
    assert_eq!((counts.of_a(), counts), (4, expected));
}

#[test]
fn an_address_is_one_however_it_is_spelled() {
    // Each pair is one address, except the last three.
    let pairs = [
        (
            "https://a.example/%e6%97%a5/",
            "https://a.example/%E6%97%A5/",
        ),
        ("https://a.example/~joe", "https://a.example/%7Ejoe"),
        ("https://a.example/caf\u{e9}", "https://a.example/caf%c3%a9"),
        ("https://a.example", "https://a.example/"),
        ("HTTPS://A.example:443/x", "https://a.example/x"),
        ("http://a.example:80/x", "http://a.example/x"),
        (
            "https://b\u{fc}cher.example/",
            "https://xn--bcher-kva.example/",
        ),
        ("https://a.example/y/../z", "https://a.example/z"),
        ("https://a.example/same", "https://a.example/same"),
        ("https://a.example/a%2Fb", "https://a.example/a/b"),
        ("https://a.example/?q=a+b", "https://a.example/?q=a%20b"),
        ("https://a.example/?a=1&b=2", "https://a.example/?b=2&a=1"),
    ];
    let side = |at: usize| {
        let locs = pairs.map(|(a, b)| [a, b][at]);
        locs.map(|loc| (at as u32, page(loc, "2026-01-01", &[1])))
            .to_vec()
    };
    let (a, b) = (side(0), side(1));
    let (counts, changes) = compare(&a, &b, &Fields::default());
    let (same, respelled) = (pairs.len() as u64 - 3, pairs.len() as u64 - 4);
    assert_eq!(
        (counts.same, counts.gone, counts.new),
        (same, 3, 3),
        "{changes:#?}"
    );
    assert_eq!(counts.respelled, respelled);
    let first = ["http://a.example:80/x", "http://a.example/x"].map(str::to_owned);
    assert_eq!(
        (counts.spellings.len(), &counts.spellings[0]),
        (EXAMPLES, &first)
    );
    // Differences are named as A spells them, in the order of the compared form.
    let b: Vec<_> = b
        .into_iter()
        .map(|(file, page)| {
            (
                file,
                Page {
                    lastmod: String::new(),
                    ..page
                },
            )
        })
        .collect();
    let (_, changes) = compare(&a[..4], &b[..4], &Fields::default());
    let named: Vec<_> = changes
        .iter()
        .map(|change| change.split(' ').next().unwrap())
        .collect();
    let expected = ["https://a.example", pairs[0].0, pairs[2].0, pairs[1].0];
    assert_eq!(named, expected);
    // Compared as texts, all but one are different.
    let (counts, _) = compare_as(true, &a, &side(1), &Fields::default());
    assert_eq!(
        (counts.same, counts.gone, counts.respelled),
        (1, pairs.len() as u64 - 1, 0)
    );
}

#[test]
fn an_address_may_have_any_character() {
    let side = [
        (0, page("\0", "", &[1])),
        (0, page("https://a.example/\0\u{1}", "", &[1])),
    ];
    for is_exact in [false, true] {
        let (counts, changes) = compare_as(is_exact, &side, &side, &Fields::default());
        assert_eq!((counts.same, counts.respelled), (2, 0), "{changes:?}");
    }
    // Records whose addresses have the same beginning stay together, whatever follows.
    let names = [
        "a",
        "a\0",
        "a\0\0",
        "a\0\u{1}",
        "a\u{1}",
        "a\u{fffd}",
        "ab",
        "\0a",
        "",
    ];
    let side = names.map(|name| (0, page(name, "", &[])));
    for is_exact in [false, true] {
        let (counts, _) = compare_as(is_exact, &side, &side[1..], &Fields::default());
        assert_eq!(
            (counts.same, counts.gone, counts.new, counts.again),
            (8, 1, 0, [0, 0])
        );
    }
}

#[test]
fn two_spellings_of_one_side_are_one_page_that_is_listed_again() {
    let both = [
        (0, page("https://a.example/%c3%a9", "2026-01-01", &[1])),
        (0, page("https://a.example/%C3%A9", "2026-01-02", &[2])),
    ];
    let one = [(0, page("https://a.example/\u{e9}", "2026-01-02", &[1, 2]))];
    let (counts, changes) = compare(&both, &one, &Fields::default());
    assert_eq!(
        (counts.same, counts.again, counts.respelled),
        (1, [1, 0], 1),
        "{changes:?}"
    );
    // One of A's spellings is B's.
    let (counts, _) = compare(&both, &both[1..], &Fields::default());
    assert_eq!((counts.changed, counts.respelled), (1, 0));
}

#[test]
fn a_page_says_what_its_entries_say_in_whatever_order() {
    let pages = [
        (0, page("https://a/", "2026-01-01", &[1, 2])),
        (1, page("https://a/", "", &[])),
        (2, page("https://a/", "2026-01-03", &[2, 3])),
    ];
    let mut others = pages.clone();
    for (file, page) in &mut others {
        *file = 2 - *file;
        page.lastmod = page.lastmod.replace("2026-01-03", "2026-01-03T00:00:00Z");
    }
    let (counts, changes) = compare(&pages, &others, &Fields::default());
    assert_eq!(changes, [""; 0]);
    assert_eq!((counts.same, counts.moved, counts.again), (1, 0, [2, 2]));
    let (counts, changes) = compare(&pages[..2], &[(3, pages[2].1.clone())], &Fields::default());
    assert_eq!((changes.len(), counts.moved), (1, 1));
}

#[test]
fn only_what_is_asked_for_is_compared() {
    let a = [(0, page("https://a/", "2026-01-01T00:00:00Z", &[1]))];
    let b = [(0, page("https://a/", "2026-01-01T00:00:59Z", &[2]))];
    let changed = |fields: Fields| compare(&a, &b, &fields).0.changed;
    assert_eq!(changed(Fields::default()), 1);
    let no_images = Fields {
        parts: [false; 4],
        ..Fields::default()
    };
    assert_eq!(changed(no_images.clone()), 1);
    let within = |within| Fields {
        within,
        ..no_images.clone()
    };
    assert_eq!(changed(within(58)), 1);
    assert_eq!(changed(within(59)), 0);
}

#[test]
fn a_lastmod_that_is_no_time_is_compared_as_text() {
    assert!(is_same_time("soon", "soon", 0));
    assert!(!is_same_time("soon", "2026-01-01", i64::MAX));
    assert!(!is_same_time("", "2026-01-01", i64::MAX));
}

#[test]
fn equal_digests_count_as_often_as_they_are_there() {
    assert_eq!(only(&[1, 1, 2], &[1, 3]), 2);
    assert_eq!(only(&[1, 3], &[1, 1, 2]), 1);
    assert_eq!(only(&[], &[1]), 0);
}
