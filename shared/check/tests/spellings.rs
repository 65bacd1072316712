//! Tests that all spellings of an address are the same address, wherever addresses are compared.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fmt::Write as _;
use std::sync::Arc;

use check::document::expected::{Details, Expected};
use check::document::{About, read};
use check::findings::Policy;
use check::rules::Profile;
use check::site::Site;

const ORIGIN: &str = "https://www.example.com";

/// Pairs of spellings of one address.
const SPELLINGS: &[[&str; 2]] = &[
    ["/%E6%97%A5/", "/%e6%97%a5/"],
    ["/caf%C3%A9", "/caf%c3%A9"],
    ["/~joe", "/%7Ejoe"],
    ["/~joe", "/%7ejoe"],
    ["/a-b.c_d", "/%61%2db%2Ec%5fd"],
    ["/a/b", "/x/../a/./b"],
    ["?q=1", "/?q=1"],
    ["/?q=%C3%A4&r=1", "/?q=%c3%a4&r=%31"],
    ["", "/"],
];

/// Pairs of addresses that look similar, but differ.
const DIFFERENT: &[[&str; 2]] = &[
    ["/a%2Fb", "/a/b"],
    ["/?q=a+b", "/?q=a%20b"],
    ["/?a=1&b=2", "/?b=2&a=1"],
    ["/a/", "/a//"],
    ["/?", "/?a"],
];

/// Returns a sitemap of entries, each with an address and the text after it.
fn urlset(entries: &[(&str, String)]) -> String {
    let mut xml = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
        xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\" \
        xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n"
        .to_owned();
    for (path, rest) in entries {
        let path = path.replace('&', "&amp;");
        writeln!(
            xml,
            "<url><loc>{ORIGIN}{path}</loc><lastmod>2026-01-02</lastmod>{rest}</url>"
        )
        .unwrap();
    }
    xml + "</urlset>"
}

fn links(links: &[(&str, &str)]) -> String {
    let link = |(language, path): &(&str, &str)| {
        let path = path.replace('&', "&amp;");
        format!("<xhtml:link rel=\"alternate\" hreflang=\"{language}\" href=\"{ORIGIN}{path}\"/>")
    };
    links.iter().map(link).collect()
}

/// Returns the findings of sitemaps, the first of which is `0.xml`.
fn findings(sitemaps: &[String], expected: Option<Expected>) -> Vec<String> {
    let policy = Arc::new(Policy::of(&Profile::DEFAULT));
    let expected = expected.map(Arc::new);
    let mut site = Site::new(policy.clone(), std::env::temp_dir());
    for (at, sitemap) in sitemaps.iter().enumerate() {
        let mut about = About::new(&format!("{at}.xml"), policy.clone(), 1_800_000_000);
        about.expected = expected.clone();
        site.add(read(sitemap.as_bytes(), &about), None).unwrap();
    }
    let (findings, _) = site.finish(&ORIGIN.into(), expected.as_deref()).unwrap();
    findings.kept().iter().map(ToString::to_string).collect()
}

#[test]
fn a_page_is_among_its_alternates_and_linked_back_in_any_spelling() {
    for [one, other] in SPELLINGS {
        let own = |path| links(&[("de", path), ("en", "/en/")]);
        let found = findings(
            &[urlset(&[(one, own(other))]), urlset(&[("/en/", own(one))])],
            None,
        );
        assert_eq!(found, [""; 0], "{one} {other}");
    }
    for [one, other] in DIFFERENT {
        let own = |path| links(&[("de", path), ("en", "/en/")]);
        let found = findings(&[urlset(&[(one, own(other))])], None);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("ext.hreflang_self"), "{found:?}");
    }
}

#[test]
fn an_alternate_that_is_not_encoded_is_that_fault_alone() {
    let set = links(&[("ja", "/日/"), ("en", "/en/")]);
    let found = findings(&[urlset(&[("/%E6%97%A5/", set)])], None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("loc.spelling"), "{found:?}");
}

#[test]
fn an_address_is_listed_twice_in_any_spelling() {
    for [one, other] in SPELLINGS {
        let in_one = findings(
            &[urlset(&[(one, String::new()), (other, String::new())])],
            None,
        );
        let said = format!(
            "0.xml:3:6: loc.dup \"{ORIGIN}{other}\" is listed in line 2 already, spelled differently: \
             \"{ORIGIN}{one}\""
        );
        assert_eq!(in_one, [said]);
        let in_two = findings(
            &[
                urlset(&[(one, String::new())]),
                urlset(&[(other, String::new())]),
            ],
            None,
        );
        let said = format!(
            "1.xml:2:6: loc.dup_across \"{ORIGIN}{other}\" is in 0.xml, too, spelled differently"
        );
        assert_eq!(in_two, [said]);
    }
    let same = urlset(&[("/a", String::new()), ("/a", String::new())]);
    let said = format!("0.xml:3:6: loc.dup \"{ORIGIN}/a\" is listed in line 2 already");
    assert_eq!(findings(&[same], None), [said]);
    for [one, other] in DIFFERENT {
        let both = urlset(&[(one, String::new()), (other, String::new())]);
        let found = findings(&[both], None);
        assert!(
            !found.iter().any(|one| one.contains("loc.dup")),
            "{found:?}"
        );
    }
}

#[test]
fn what_is_expected_may_be_spelled_differently() {
    let check = |[expected, listed]: [&str; 2]| {
        let url = |path: &str| format!("{ORIGIN}{path}");
        let alternates = [("DE", expected), ("en", "/en/")];
        let alternates = alternates.map(|(language, path)| (language.to_owned(), url(path)));
        let mut all = Expected::default();
        all.add(
            url(expected),
            Details {
                lastmod: Some("2026-01-02".to_owned()),
                images: Some(vec![url(expected)]),
                alternates: Some(alternates.to_vec()),
            },
        );
        let image = listed.replace('&', "&amp;");
        let image = format!("<image:image><image:loc>{ORIGIN}{image}</image:loc></image:image>");
        let rest = image + &links(&[("en", "/en/"), ("de", listed)]);
        findings(&[urlset(&[(listed, rest)])], Some(all))
    };
    for spellings in SPELLINGS {
        assert_eq!(check(*spellings), [""; 0], "{spellings:?}");
    }
    for different in DIFFERENT {
        let found = check(*different).join("\n");
        assert!(
            found.contains("set.missing") && found.contains("set.extra"),
            "{found}"
        );
    }
}
