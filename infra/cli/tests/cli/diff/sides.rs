//! What a side is read from: encodings and feeds, what is passed over, and what is refused.

use std::fs;

use crate::diff::{ORIGIN, diff, index, urlset};

const PAGES: &[(&str, &str, &str)] = &[("/", "2026-01-01", ""), ("/caf\u{e9}/", "2026-01-02", "")];

#[test]
fn a_side_that_lists_nothing_is_refused_as_either_side() {
    let folder = tempfile::tempdir().unwrap();
    let good = urlset(PAGES);
    fs::write(folder.path().join("good.xml"), &good).unwrap();
    fs::write(folder.path().join("empty.xml"), urlset(&[])).unwrap();
    let atom = |inside: &str| {
        format!("<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title>{inside}</feed>")
    };
    let item = "<item><link>https://www.example.com/</link></item>";
    for (document, told) in [
        (urlset(&[]), "side.xml is a sitemap without entries"),
        (index(ORIGIN, &[]), "side.xml is an index without entries"),
        (
            index(ORIGIN, &["empty.xml"]),
            "empty.xml is a sitemap without entries",
        ),
        (index(ORIGIN, &["side.xml"]), "lists only itself"),
        (good.replace("url>", "URL>"), "has no <url>, but <URL>"),
        (
            good.replace("<url>", "<urlset><url>")
                .replace("</url>", "</url></urlset>"),
            "has no <url>, but <urlset>",
        ),
        (
            good.replace("urlset", "Urlset"),
            "a document of <Urlset>, neither",
        ),
        (atom(""), "side.xml is a feed without entries"),
        (
            atom("<entry><link rel='self' href='/1'/></entry>"),
            "no <entry> with an address, of 1",
        ),
        (
            format!("<rss><channel>{item}</channel></rss>").replace("item>", "ITEM>"),
            "has no <item>, but <ITEM>",
        ),
        (
            format!("<RSS><channel>{item}</channel></RSS>"),
            "a document of <RSS>, neither",
        ),
        (
            format!(
                "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='urn:own'>{item}</rdf:RDF>"
            ),
            "no <item> with an address, of 1",
        ),
        ("<html><body/></html>".to_owned(), "is a web page, neither"),
        (
            "http:\nhttps://\n".to_owned(),
            "side.xml is a list of URLs without entries",
        ),
    ] {
        fs::write(folder.path().join("side.xml"), &document).unwrap();
        for sides in [["side.xml", "good.xml"], ["good.xml", "side.xml"]] {
            let outcome = diff(
                folder.path(),
                &[&sides[..], &["--max-removed", "0"]].concat(),
            );
            assert_eq!(
                (outcome.status, outcome.output.as_str()),
                (2, ""),
                "{sides:?} {document}"
            );
            assert!(
                outcome.errors.contains(told) && outcome.errors.contains("Nothing was compared"),
                "{document}: {}",
                outcome.errors
            );
        }
    }
    // Pages that are not compared are pages.
    let outcome = diff(folder.path(), &["good.xml", "good.xml", "--ignore", "/*"]);
    assert_eq!(outcome.status, 0, "{}", outcome.errors);
}

#[test]
fn a_sitemap_in_another_encoding_lists_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let text = urlset(PAGES);
    fs::write(folder.path().join("a.xml"), &text).unwrap();
    let units = |text: &str| -> Vec<u8> {
        let text = format!("\u{feff}{text}");
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    };
    let latin = text.replace("UTF-8", "iso-8859-1");
    let list: String = ["/", "/caf\u{e9}/"]
        .map(|path| format!("{ORIGIN}{path}\r\n"))
        .concat();
    for body in [
        units(&text.replace("UTF-8", "UTF-16")),
        latin.chars().map(|c| u8::try_from(c).unwrap()).collect(),
        units(&list),
    ] {
        fs::write(folder.path().join("b.xml"), &body).unwrap();
        let outcome = diff(folder.path(), &["a.xml", "b.xml", "--fields", "loc"]);
        assert_eq!(
            (outcome.output.as_str(), outcome.errors.as_str()),
            ("2 the same, 0 gone, 0 new, 0 changed\n", ""),
        );
    }
}

#[test]
fn what_is_passed_over_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let good = urlset(PAGES);
    fs::write(folder.path().join("a.xml"), &good).unwrap();
    for (document, told) in [
        (
            good.replace(
                "</urlset>",
                "<URL><loc>https://www.example.com/b</loc></URL></urlset>",
            ),
            "b.xml: 1 of its elements are not entries, and were skipped",
        ),
        (
            format!("{ORIGIN}/\n{ORIGIN}/caf\u{e9}/\n<!-- end -->\nthat was all\n"),
            "b.xml: 2 of its lines are not URLs, and are not compared",
        ),
    ] {
        fs::write(folder.path().join("b.xml"), &document).unwrap();
        let outcome = diff(folder.path(), &["a.xml", "b.xml", "--fields", "loc"]);
        assert_eq!(outcome.output, "2 the same, 0 gone, 0 new, 0 changed\n");
        assert!(outcome.errors.contains(told), "{}", outcome.errors);
    }
}
