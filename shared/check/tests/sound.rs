//! Tests of valid documents, and of documents that earlier versions could not read: which rules they break, and how much of each
//! is read.
//!
//! A document that the official schemas accept and no search engine refuses has no error. `tests/conformance/verdicts_test.py` checks
//! that for many more documents, where the schemas are available.

use std::sync::Arc;

use check::document::{About, Document, Kind, read};
use check::findings::Policy;
use check::rules::{Profile, Rule, Severity};
use check::url::Scope;

/// 2026-11-24T20:00:00Z
const NOW: i64 = 1_795_550_400;
const SITEMAP: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
const A: &str = "<url><loc>https://www.example.com/a/</loc></url>";

fn document(body: &str) -> Document {
    let url = "https://www.example.com/sitemap.xml";
    let mut about = About::new(url, Arc::new(Policy::of(&Profile::DEFAULT)), NOW);
    about.scope = Scope::of(url);
    read(body.as_bytes(), &about)
}

fn urlset(declared: &str, entries: &str) -> String {
    format!("<urlset xmlns=\"{SITEMAP}\" {declared}>{entries}</urlset>")
}

fn entry(declared: &str, rest: &str) -> String {
    let url = A.replace("</url>", &format!("{rest}</url>"));
    urlset(declared, &url)
}

fn loc(text: &str) -> String {
    urlset("", &format!("<url><loc>{text}</loc></url>").repeat(3))
}

const XHTML: &str = "xmlns:xhtml=\"http://www.w3.org/1999/xhtml\"";
const IMAGE: &str = "<image:image><image:loc>https://i.example/1.jpg</image:loc></image:image>";

#[test]
fn what_the_schema_accepts_and_no_engine_refuses_is_no_error() {
    let link = |attributes: &str| entry(XHTML, &format!("<xhtml:link {attributes}/>"));
    // Documents with a fault in three entries, which is reported once with its count.
    let once = |rule: Rule| vec![(rule, 1)];
    let dup = (Rule::LocDup, 2);
    for (body, expected) in [
        (entry("", ""), vec![]),
        // All in One SEO, and WordPress's esc_url.
        (
            loc("<![CDATA[https://www.example.com/?a=1&b=2]]>"),
            vec![(Rule::LocEscape, 1), dup],
        ),
        (
            loc("https://www.example.com/?a=1&#038;b=2"),
            vec![(Rule::LocEscape, 1), dup],
        ),
        (
            loc("https://www.example.com/?a=1&#x26;b=2"),
            vec![(Rule::LocEscape, 1), dup],
        ),
        (
            loc("\n\t\thttps://www.example.com/\n\t"),
            vec![(Rule::LocEscape, 1), dup],
        ),
        (
            loc("https://www.example.com/<!-- -->a<?b c?>/"),
            vec![(Rule::LocEscape, 2), dup],
        ),
        (format!("\u{feff}{}", entry("", "")), once(Rule::FileBom)),
        (
            format!(
                "<?xml version=\"1.0\" encoding=\"us-ascii\"?>{}",
                entry("", "")
            ),
            vec![],
        ),
        // An IRI, as Sphinx, Pelican and next-sitemap write it, and forms that RFC 3986 considers equal.
        (
            urlset(
                "",
                "<url><loc>https://www.example.com/caf\u{e9}/</loc></url>",
            ),
            once(Rule::LocSpelling),
        ),
        (
            urlset(
                "",
                "<url><loc>HTTPS://WWW.example.com:443/caf%c3%a9/</loc></url>",
            ),
            once(Rule::LocSpelling),
        ),
        (
            urlset("", "<url><loc>https://www.example.com/a/#b</loc></url>"),
            once(Rule::LocSpelling),
        ),
        (urlset("", &A.repeat(2)), once(Rule::LocDup)),
        // Pages of apps, and pages for phones.
        (
            link(
                "rel=\"alternate\" href=\"android-app://com.example.app/https/www.example.com/a/\"",
            ),
            vec![],
        ),
        (
            link("rel=\"alternate\" href=\"ios-app://1234/example/a\""),
            vec![],
        ),
        (
            link(
                "rel=\"alternate\" media=\"only screen and (max-width: 640px)\" href=\"https://m.example.com/a/\"",
            ),
            vec![],
        ),
        (
            link(
                "rel=\"alternate\" type=\"application/rss+xml\" href=\"https://www.example.com/feed/\"",
            ),
            vec![],
        ),
        // Extensions of search engines.
        (
            entry(
                "",
                "<PageMap xmlns=\"http://www.google.com/schemas/sitemap-pagemap/1.0\"><DataObject type=\"document\" id=\"a\">\
                 <Attribute name=\"name\">Tides</Attribute><Attribute name=\"review\" value=\"3.5\"/></DataObject></PageMap>",
            ),
            vec![],
        ),
        (
            entry(
                "xmlns:mobile=\"http://www.google.com/schemas/sitemap-mobile/1.0\"",
                "<mobile:mobile/>",
            ),
            vec![],
        ),
        (
            entry(
                "xmlns:mobile=\"http://www.baidu.com/schemas/sitemap-mobile/1/\"",
                "<mobile:mobile type=\"mobile\"/>",
            ),
            vec![],
        ),
        (
            format!(
                "<s:urlset xmlns:s=\"{SITEMAP}\"><s:url><s:loc>https://www.example.com/a/</s:loc></s:url></s:urlset>"
            ),
            once(Rule::FilePrefix),
        ),
    ] {
        let read = document(&body);
        let found = read.findings.kept();
        let mut counts: Vec<(Rule, u64)> = Vec::new();
        for rule in Rule::ALL {
            let count = read.findings.count(*rule);
            counts.extend((count > 0).then_some((*rule, count)));
            let level = read.findings.policy().level(*rule);
            assert!(
                count == 0 || level < Some(Severity::Error),
                "{body}\n{found:#?}"
            );
        }
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(counts, expected, "{body}\n{found:#?}");
        assert!(found.iter().all(|finding| !finding.invalid), "{found:#?}");
        assert!(read.is_whole && read.entries > 0, "{body}");
    }
}

#[test]
fn a_wrong_namespace_is_told_once_and_the_rest_is_read() {
    let a = |space: &str| {
        format!(
            "<urlset {space}>{}</urlset>",
            A.repeat(2).replacen("/a/", "/b/", 1)
        )
    };
    let bad = "<url><loc>/relative/address</loc></url>";
    let found = |body: &str| {
        let read = document(body);
        let rules: Vec<_> = read.findings.kept().iter().map(|one| one.rule).collect();
        (rules, read)
    };
    for space in [
        "",
        "xmlns=\"\"",
        "xmlns=\"https://www.sitemaps.org/schemas/sitemap/0.9\"",
        "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9/\"",
        "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.84\"",
        "xmlns=\"http://www.google.com/schemas/sitemap/0.84\"",
        "xmlns=\"urn:x\"",
    ] {
        let (rules, read) = found(&a(space));
        assert_eq!(
            rules,
            [Rule::FileSchema],
            "{space}: {:#?}",
            read.findings.kept()
        );
        assert!(read.findings.kept()[0].invalid);
        assert_eq!(
            (read.kind, read.entries, read.is_whole),
            (Kind::Sitemap, 2, true)
        );
        // Other faults are still found.
        let body = a(space).replace("</urlset>", &format!("{bad}</urlset>"));
        let (rules, read) = found(&body);
        assert_eq!(rules, [Rule::LocForm, Rule::FileSchema], "{space}");
        assert_eq!(read.entries, 3);
    }
    // An undeclared prefix.
    let undeclared =
        "<s:urlset><s:url><s:loc>https://www.example.com/a/</s:loc></s:url></s:urlset>";
    let (rules, read) = found(undeclared);
    assert_eq!(rules, [Rule::FileWellformed, Rule::FilePrefix]);
    assert_eq!(read.entries, 1);
    let (rules, _) = found(&undeclared.replace("</s:loc>", "</s:loc><s:width>1</s:width>"));
    assert_eq!(
        rules,
        [Rule::FileSchema, Rule::FileWellformed, Rule::FilePrefix]
    );
    // An entry in another namespace than its root.
    let (rules, read) = found(&urlset(
        "",
        &A.replace("<url>", "<url xmlns=\"\">").repeat(2),
    ));
    assert_eq!(rules, [Rule::FileSchema, Rule::LocDup]);
    assert_eq!(read.entries, 2);
    // An index.
    let index =
        "<sitemapindex><sitemap><loc>https://www.example.com/a.xml</loc></sitemap></sitemapindex>";
    let (rules, read) = found(index);
    assert_eq!((rules, read.kind), (vec![Rule::FileSchema], Kind::Index));
    assert_eq!(read.children.len(), 1);
}

#[test]
fn an_extension_in_a_wrong_namespace_is_told_once_and_checked() {
    let two = |declared: &str, rest: &str| {
        let url = A.replace("</url>", &format!("{rest}</url>"));
        urlset(declared, &(url.replace("/a/", "/b/") + &url))
    };
    let relative = IMAGE.replace("https://i.example/", "");
    let links =
        "<xhtml:link rel=\"alternate\" hreflang=\"en-UK\" href=\"https://www.example.com/a/\"/>";
    for (declared, rule) in [
        (
            "xmlns:image=\"https://www.google.com/schemas/sitemap-image/1.1\"",
            Rule::ExtForeign,
        ),
        (
            "xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.0\"",
            Rule::ExtForeign,
        ),
        ("xmlns:image=\"urn:x\"", Rule::ExtForeign),
        // Undeclared.
        ("", Rule::FileWellformed),
    ] {
        for (image, more) in [(IMAGE, &[][..]), (&relative, &[Rule::ExtImage; 2])] {
            let read = document(&two(declared, image));
            let rules: Vec<_> = read.findings.kept().iter().map(|one| one.rule).collect();
            let expected = [more, &[rule]].concat();
            assert_eq!(rules, expected, "{declared}: {:#?}", read.findings.kept());
            assert_eq!(read.entries, 2);
            let last = read.findings.kept().last().map(|one| one.message.as_str());
            assert!(
                last.is_some_and(|text| text.ends_with("(4 times)")),
                "{last:?}"
            );
        }
    }
    // The address of a page about XHTML, which many documents use as its namespace.
    let read = document(&two(
        "xmlns:xhtml=\"http://www.w3.org/TR/xhtml11/xhtml11_schema.html\"",
        links,
    ));
    assert_eq!(read.findings.count(Rule::ExtHreflangCode), 2);
    assert_eq!(read.findings.count(Rule::ExtForeign), 1);
    // An unknown extension, and an attribute with an undeclared prefix.
    let read = document(&two(
        "xmlns:x=\"urn:x\" xsi:schemaLocation=\"a\"",
        "<x:a b=\"c\"/><x:a/><y:b/>",
    ));
    assert_eq!(read.findings.count(Rule::ExtForeign), 1);
    assert_eq!(read.findings.count(Rule::FileWellformed), 2);
}

#[test]
fn wrong_namespaces_without_end_are_told_in_bounded_memory() {
    let entries: String = (0..2_000)
        .map(|n| {
            format!("<url><loc>https://www.example.com/{n}/</loc><a xmlns=\"urn:{n}\"/></url>")
        })
        .collect();
    let read = document(&urlset("", &entries));
    assert_eq!(read.findings.count(Rule::ExtForeign), 64);
    assert_eq!(read.entries, 2_000);
}

#[test]
fn a_link_is_judged_by_what_it_is_for() {
    let own = "<xhtml:link rel=\"alternate\" hreflang=\"en\" href=\"https://www.example.com/a/\"/>";
    for (attributes, expected) in [
        // Pelican's sitemap.
        (
            "rel=\"alternate\" hreflang=\"de\" ref=\"https://www.example.com/de/\"",
            &[Rule::FileSchema, Rule::ExtLink][..],
        ),
        ("rel=\"alternate\" hreflang=\"de\"", &[Rule::ExtLink]),
        (
            "rel=\"alternate\" hreflang=\"de\" href=\" \"",
            &[Rule::ExtLink],
        ),
        ("rel=\"amphtml\"", &[Rule::ExtLink]),
        (
            "rel=\"alternate\" href=\"https://www.example.com/de/\"",
            &[Rule::ExtHreflangCode],
        ),
        (
            "rel=\"alternate\" hreflang=\"sr-SP\" href=\"https://www.example.com/sr/\"",
            &[Rule::ExtHreflangCode],
        ),
        (
            "rel=\"alternate\" hreflang=\"en-EU\" href=\"https://www.example.com/eu/\"",
            &[Rule::ExtHreflangCode],
        ),
        (
            "rel=\"alternate\" hreflang=\"de\" href=\"/de/\"",
            &[Rule::LocForm],
        ),
        (
            "rel=\"alternate\" hreflang=\"de\" href=\"https://www.example.com/d\u{e9}/\"",
            &[Rule::LocSpelling],
        ),
        (
            "rel=\"alternate\" media=\"handheld\" href=\"/m/\"",
            &[Rule::LocForm],
        ),
        // A malformed attribute is reported, and the rest of the link is not checked.
        (
            "rel=\"alternate\" hreflang=\"de\" href=\"https://www.example.com/?a=1&b=2\"",
            &[Rule::FileWellformed],
        ),
    ] {
        let read = document(&entry(XHTML, &format!("{own}<xhtml:link {attributes}/>")));
        let rules: Vec<_> = read.findings.kept().iter().map(|one| one.rule).collect();
        assert_eq!(rules, expected, "{attributes}: {:#?}", read.findings.kept());
    }
}

#[test]
fn items_of_feeds_have_addresses() {
    let atom = |base: &str, link: &str| {
        format!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\" {base}><entry>{link}<updated>2026-11-20T10:00:00Z</updated></entry></feed>"
        )
    };
    let base = "xml:base=\"https://www.example.com/blog/\"";
    for (body, expected) in [
        (atom(base, "<link href=\"2026/one/\"/>"), &[][..]),
        (atom(base, "<link xml:base=\"a/\" href=\"../b\"/>"), &[]),
        (atom("xml:base=\"/blog/\"", "<link href=\"a\"/>"), &[]),
        (
            atom(base, "<link href=\"https://www.example.com/a\"/>"),
            &[],
        ),
        (
            atom(
                "",
                "<link rel=\"http://www.iana.org/assignments/relation/alternate\" href=\"https://www.example.com/a\"/>",
            ),
            &[],
        ),
        (
            atom("", "<link href=\"/2026/first-one/\"/>"),
            &[],
        ),
        (
            atom("", "<link type=\"application/pdf\" href=\"http://a b/\"/><link href=\"/a\"/>"),
            &[],
        ),
        (
            "<a:feed xmlns:a=\"http://www.w3.org/2005/Atom\"><a:entry><a:link href=\"/a\"/></a:entry></a:feed>".to_owned(),
            &[],
        ),
        (
            "<rss><channel><item><link>/a-longer-one</link></item></channel></rss>".to_owned(),
            &[Rule::LocForm],
        ),
        (
            atom("", "<link rel=\"edit\" href=\"/a\"/>"),
            &[Rule::LocAbsent],
        ),
        (atom("", "<id>urn:x</id>"), &[Rule::LocAbsent]),
    ] {
        let read = document(&body);
        let rules: Vec<_> = read.findings.kept().iter().map(|one| one.rule).collect();
        assert_eq!(rules, expected, "{body}: {:#?}", read.findings.kept());
        assert_eq!(read.entries, 1);
    }
}

#[test]
fn a_quiet_feed_is_no_finding() {
    for body in [
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><updated>2020-01-01T00:00:00Z</updated></feed>",
        "<rss version=\"2.0\"><channel><title>t</title></channel></rss>",
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><link href=\"https://www.example.com/a\"/>\
         <updated>2015-01-01T00:00:00Z</updated></entry></feed>",
    ] {
        let read = document(body);
        assert_eq!(read.findings.kept(), [], "{body}");
    }
}

#[test]
fn the_times_of_both_atoms_are_read() {
    for (namespace, name) in [
        ("http://www.w3.org/2005/Atom", "updated"),
        ("http://purl.org/atom/ns#", "modified"),
    ] {
        let read = document(&format!(
            "<feed xmlns=\"{namespace}\"><modified>2026-01-01</modified><entry><link href=\"/2026/a/\"/>\
             <{name}>2026-11-20T10:00:00Z</{name}></entry></feed>"
        ));
        assert_eq!((read.entries, read.dated), (1, 1), "{name}");
    }
}

#[test]
fn a_document_in_another_encoding_is_told_and_read_on() {
    let name = "caf\u{e9}";
    let xml = |declared: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"{declared}\"?><urlset xmlns=\"{SITEMAP}\">\
             <url><loc>https://www.example.com/{name}/</loc></url></urlset>"
        )
    };
    let url = "https://www.example.com/sitemap.xml";
    let about = About::new(url, Arc::new(Policy::of(&Profile::DEFAULT)), NOW);
    let utf_16 = |text: &str| -> Vec<u8> {
        let units = format!("\u{feff}{text}");
        units.encode_utf16().flat_map(u16::to_le_bytes).collect()
    };
    let latin: Vec<u8> = xml("ISO-8859-1").chars().map(|c| c as u8).collect();
    for (body, kind, message) in [
        (
            latin,
            Kind::Sitemap,
            "is declared as \"ISO-8859-1\", not UTF-8",
        ),
        (
            utf_16(&xml("UTF-16")),
            Kind::Sitemap,
            "is UTF-16, not UTF-8",
        ),
        (
            utf_16(&format!("https://www.example.com/{name}/\n")),
            Kind::Text,
            "is UTF-16, not UTF-8",
        ),
    ] {
        let read = read(body.as_slice(), &about);
        let found: Vec<_> = read.findings.kept().iter().collect();
        let wrong: Vec<_> = found
            .iter()
            .filter(|one| one.rule == Rule::FileWellformed)
            .collect();
        assert_eq!(wrong.len(), 1, "{found:#?}");
        assert_eq!(wrong[0].message, message);
        // It is read with the intended meaning.
        let spelled = found
            .iter()
            .find(|one| one.rule == Rule::LocSpelling)
            .unwrap();
        assert!(spelled.message.contains(name), "{}", spelled.message);
        assert_eq!((read.kind, read.entries, read.is_whole), (kind, 1, true));
    }
    let cut = utf_16(&xml("UTF-16"));
    let read = read(&cut[..cut.len() - 1], &about);
    let found = read.findings.kept();
    let says = "is not the UTF-16LE that it says it is; the rest was not read";
    assert!(found.iter().any(|one| one.message == says), "{found:#?}");
}
