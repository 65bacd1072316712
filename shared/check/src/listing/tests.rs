//! Tests of the pages that documents list, by tables of documents.

use super::*;

const BEGIN: &str = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
    xmlns:i='http://www.google.com/schemas/sitemap-image/1.1' xmlns:x='http://www.w3.org/1999/xhtml'>";

fn reading() -> Reading {
    Reading {
        max_bytes: 1_000_000,
        maps: vec![(
            "https://b.example".to_owned(),
            "https://a.example".to_owned(),
        )],
        ..Reading::default()
    }
}

fn pages(body: &str) -> Result<Vec<Page>, PageError> {
    let (reading, mut pages) = (reading(), Vec::new());
    let take = |listed: Listed<'_>| {
        match listed {
            Listed::Page(page) => pages.push(page.clone()),
            Listed::Sitemap(loc) => pages.push(Page {
                loc: format!("sitemap {loc}"),
                ..Page::default()
            }),
        }
        Ok(())
    };
    read(body.as_bytes(), &reading, take).map(|_| pages)
}

fn outline(body: &str) -> Outline {
    read(body.as_bytes(), &reading(), |_| Ok(())).unwrap()
}

fn counts(page: &Page) -> [usize; 4] {
    [0, 1, 2, 3].map(|part| page.parts[part].len())
}

#[test]
fn what_a_page_says_is_the_same_in_any_form() {
    let one = pages(&format!(
        "<?xml version='1.0'?><!-- a -->{BEGIN}<url><loc>https://a.example/?a&amp;b</loc><lastmod>2026-01-02</lastmod>\
         <i:image><i:loc>https://a.example/1.png</i:loc></i:image>\
         <x:link rel='alternate' hreflang='de' href='https://a.example/de'/></url></urlset>"
    ))
    .unwrap();
    let other = pages(
        "<s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'>\n <s:url>\n\
         <s:lastmod>\n2026-01-02</s:lastmod><link xmlns='http://www.w3.org/1999/xhtml' \
         href='https://b.example/de' hreflang='de' rel='alternate'></link>\
         <image xmlns='http://www.google.com/schemas/sitemap-image/1.1'>\n <loc> https://b.example/1.png </loc></image>\
         <s:loc> <![CDATA[https://b.example/?a&b]]> </s:loc></s:url></s:urlset>",
    )
    .unwrap();
    assert_eq!(one, other);
    assert_eq!(one[0].loc, "https://a.example/?a&b");
    assert_eq!(counts(&one[0]), [1, 1, 0, 0]);
}

#[test]
fn an_image_is_another_if_anything_of_it_is() {
    let image = |inside: &str| {
        let body = format!(
            "{BEGIN}<url><loc>https://a.example/</loc><i:image>{inside}</i:image></url></urlset>"
        );
        pages(&body).unwrap().remove(0).parts[0][0]
    };
    let one = image("<i:loc>https://a.example/1</i:loc>");
    for other in [
        "<i:loc>https://a.example/2</i:loc>",
        "<i:loc>https://a.example/1</i:loc><i:title>1</i:title>",
        "<i:loc>https://b.example.evil/1</i:loc>",
    ] {
        assert_ne!(image(other), one, "{other}");
    }
    assert_eq!(image("<i:loc>https://b.example/1</i:loc>"), one);
}

#[test]
fn indexes_lists_and_feeds_list_too() {
    let locs = |body: &str| {
        let pages = pages(body).unwrap().into_iter();
        pages.map(|page| page.loc).collect::<Vec<_>>()
    };
    let index = "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><sitemap><loc>https://c.example/1.xml\
         </loc></sitemap></sitemapindex>";
    assert_eq!(locs(index), ["sitemap https://c.example/1.xml"]);
    assert_eq!(
        locs("https://a.example/1\r\n\nhttps://b.example/2"),
        ["https://a.example/1", "https://a.example/2"]
    );
    let rss = "<rss><channel><link>https://a.example/</link><item><link>https://a.example/1</link></item></channel></rss>";
    assert_eq!(locs(rss), ["https://a.example/1"]);
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link href='https://a.example/'/><entry>\
         <link rel='self' href='https://a.example/x'/><link href='https://a.example/1'/></entry></feed>";
    assert_eq!(locs(atom), ["https://a.example/1"]);
}

#[test]
fn a_feed_lists_the_pages_that_its_entries_are_about() {
    let locs = |body: &str| {
        let reading = Reading {
            address: "https://a.example/blog/feed.xml".to_owned(),
            ..reading()
        };
        let mut locs = Vec::new();
        let take = |listed: Listed<'_>| {
            if let Listed::Page(page) = listed {
                locs.push(
                    format!("{} {}", page.loc, page.lastmod)
                        .trim_end()
                        .to_owned(),
                );
            }
            Ok(())
        };
        read(body.as_bytes(), &reading, take).map(|_| locs)
    };
    let atom = |attributes: &str, inside: &str| {
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' {attributes}><entry {inside}</entry></feed>"
        )
    };
    let page = "https://a.example/blog/1";
    let pdf = "<link type='application/pdf' href='1.pdf'/>";
    let html = "<link type='text/html; charset=utf-8' href='1'/>";
    for (body, expected) in [
        // Relative to the nearest base.
        (atom("", "><link href='1'/>"), page),
        (atom("xml:base='https://a.example/blog/'", "><link href='1'/>"), page),
        (atom("xml:base='/'", "xml:base='blog/'><link href='1'/>"), page),
        (atom("", "><link xml:base='/blog/' href='1'/>"), page),
        (atom("xml:base='https://b.example/blog/'", "><link href='1'/>"), page),
        // Of several links, the page.
        (atom("", &format!(">{pdf}{html}")), page),
        (atom("", &format!(">{html}{pdf}")), page),
        (atom("", &format!(">{html}<link href='2'/>")), page),
        (atom("", &format!(">{pdf}")), "https://a.example/blog/1.pdf"),
        (atom("", "><link rel='self' href='2'/><link rel=' Alternate ' href='1'/>"), page),
        (
            atom("", "><link rel='enclosure' href='2'/><link rel='http://www.iana.org/assignments/relation/alternate' href='1'/>"),
            page,
        ),
        (
            "<feed version='0.3' xmlns='http://purl.org/atom/ns#'><entry><link rel='alternate' type='text/html' href='1'/>\
             <issued>2025-01-02T03:04:05Z</issued><modified>2026-01-02T03:04:05Z</modified></entry></feed>".to_owned(),
            "https://a.example/blog/1 2026-01-02T03:04:05Z",
        ),
        ("<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:entry><a:link href='1'/></a:entry></a:feed>".to_owned(), page),
        // All kinds of RSS.
        ("<rss><channel xml:base='https://a.example/'><item><link>/blog/1</link><guid>https://a.example/2</guid></item></channel></rss>".to_owned(), page),
        ("<rss><channel><item><guid>urn:x</guid><guid>https://a.example/blog/1</guid></item></channel></rss>".to_owned(), page),
        (
            "<rss xmlns:atom='http://www.w3.org/2005/Atom'><channel><item><guid isPermaLink='false'>https://a.example/2</guid>\
             <atom:link href='1'/></item></channel></rss>".to_owned(),
            page,
        ),
        ("<rss xmlns='http://backend.userland.com/rss2'><channel><item><link>1</link></item></channel></rss>".to_owned(), page),
        ("<rss><channel xmlns='http://blogs.law.harvard.edu/tech/rss'><item><link>1</link></item></channel></rss>".to_owned(), page),
        (
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://my.netscape.com/rdf/simple/0.9/'>\
             <channel><link>https://a.example/</link></channel><item><link>1</link></item></rdf:RDF>".to_owned(),
            page,
        ),
        (
            "<Channel xmlns='http://purl.org/net/rss1.1#' xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' rdf:about='x'>\
             <title>T</title><items rdf:parseType='Collection'><item rdf:about='1'><link>1</link></item></items></Channel>".to_owned(),
            page,
        ),
    ] {
        assert_eq!(locs(&body).unwrap(), [expected], "{body}");
    }
    for body in [
        atom("", "><link rel='self' href='1'/>"),
        atom("", "><link href=''/>"),
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='urn:x'><item><link>1</link></item></rdf:RDF>".to_owned(),
    ] {
        let error = locs(&body).unwrap_err().to_string();
        assert!(error.contains("with an address, of 1"), "{body}: {error}");
    }
}

#[test]
fn a_url_is_compared_as_an_address_wherever_it_is() {
    let parts = |is_exact: bool, image: &str, href: &str| {
        let body = format!(
            "{BEGIN}<url><loc>https://a.example/</loc><i:image><i:loc>{image}</i:loc><i:title>%c3</i:title></i:image>\
             <x:link rel='alternate' hreflang='de' href='{href}'/></url></urlset>"
        );
        let (reading, mut parts) = (
            Reading {
                is_exact,
                ..reading()
            },
            Vec::new(),
        );
        let take = |listed: Listed<'_>| {
            if let Listed::Page(page) = listed {
                parts.extend(page.parts.concat());
            }
            Ok(())
        };
        read(body.as_bytes(), &reading, take).unwrap();
        parts
    };
    let (image, href) = ("https://a.example/%c3%a9.png", "https://a.example/~a");
    for (other_image, other_href) in [
        ("https://a.example/\u{e9}.png", "https://a.example/%7Ea"),
        (
            "HTTPS://A.EXAMPLE:443/%C3%A9.png",
            " https://a.example/%7ea ",
        ),
        ("https://B.example/%C3%A9.png", "https://b.example:443/~a"),
    ] {
        let [one, other] = [(image, href), (other_image, other_href)];
        assert_eq!(
            parts(false, one.0, one.1),
            parts(false, other.0, other.1),
            "{other:?}"
        );
        assert_ne!(
            parts(true, one.0, one.1),
            parts(true, other.0, other.1),
            "{other:?}"
        );
    }
    assert_ne!(
        parts(false, image, href),
        parts(false, "https://a.example/%C3%AA.png", href)
    );
}

#[test]
fn a_wrong_namespace_hides_nothing_and_is_told() {
    const ENTRY: &str = "<url><loc>https://a.example/1</loc>\
        <image:image xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'><image:loc>x</image:loc></image:image></url>";
    let prefixed = ENTRY
        .replace("url>", "sm:url>")
        .replace("<loc>", "<sm:loc>")
        .replace("1</loc>", "1</sm:loc>");
    let protocol = "http://www.sitemaps.org/schemas/sitemap/0.9";
    for (body, is_foreign) in [
        (
            format!("<urlset xmlns='{protocol}'>{ENTRY}</urlset>"),
            false,
        ),
        (
            format!("<sm:urlset xmlns:sm='{protocol}'>{prefixed}</sm:urlset>"),
            false,
        ),
        (
            format!("<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'>{ENTRY}</urlset>"),
            false,
        ),
        (format!("<urlset>{ENTRY}</urlset>"), true),
        (
            format!("<urlset xmlns='{protocol}/'>{ENTRY}</urlset>"),
            true,
        ),
        (
            format!(
                "<urlset xmlns='https://www.sitemaps.org/schemas/sitemap/0.9'>{ENTRY}</urlset>"
            ),
            true,
        ),
        (
            format!("<urlset xmlns='http://a.example/own'>{ENTRY}</urlset>"),
            true,
        ),
        (
            format!("<sm:urlset xmlns:sm='http://a.example/own'>{prefixed}</sm:urlset>"),
            true,
        ),
        (format!("<sm:urlset>{prefixed}</sm:urlset>"), true),
    ] {
        let found = pages(&body).unwrap();
        assert_eq!(
            (found[0].loc.as_str(), counts(&found[0])),
            ("https://a.example/1", [1, 0, 0, 0]),
            "{body}"
        );
        assert_eq!(outline(&body).is_foreign, is_foreign, "{body}");
    }
    let index =
        "<sitemapindex><sitemap><loc>https://a.example/1.xml</loc></sitemap></sitemapindex>";
    assert_eq!(
        pages(index).unwrap()[0].loc,
        "sitemap https://a.example/1.xml"
    );
}

#[test]
fn an_address_is_all_of_the_text_in_its_element() {
    for loc in [
        "<loc>https://a.example/?a&amp;b</loc>",
        "<loc> <![CDATA[ https://a.example/?a&b ]]>\n</loc>",
        "<loc>https://a.example/?a&#038;b</loc>",
        "<loc>https://a.example/?a&#x26;b</loc>",
        "<loc>https://a.example/<!-- here -->?a&amp;b</loc>",
        "<loc>https://a.example/<?php here ?>?a<![CDATA[&]]>b</loc>",
        "<loc>\n\t<!-- here -->https://a.example/?a&amp;b\n</loc>",
    ] {
        let found = pages(&format!("{BEGIN}<url>{loc}</url></urlset>")).unwrap();
        assert_eq!(found[0].loc, "https://a.example/?a&b", "{loc}");
    }
    let list = "\u{feff}HTTPS://a.example/1\r\nhttps://a.example/2";
    assert_eq!(pages(list).unwrap().len(), 2);
}

#[test]
fn entries_without_an_address_are_counted() {
    let body = format!(
        "{BEGIN}<url><loc>https://a.example/</loc></url><url/><URL/><url><loc> </loc></url></urlset>"
    );
    let expected = Outline {
        kind: Kind::Sitemap,
        listed: 1,
        without_address: 2,
        passed_over: 1,
        is_foreign: false,
    };
    assert_eq!(outline(&body), expected);
    let list = outline("https://a.example/1\njunk\n\n# no page\nhttps://a.example/2\nhttp://\n");
    assert_eq!((list.listed, list.without_address), (2, 3));
    let rss = "<rss><channel><title/><image/><item><link>https://a.example/1</link></item><ITEM/></channel></rss>";
    assert_eq!((outline(rss).listed, outline(rss).passed_over), (1, 1));
    // Nothing is listed, and nothing was skipped.
    assert_eq!(
        outline("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>").without_address,
        0
    );
}

#[test]
fn entries_alone_are_read_with_the_usual_prefixes() {
    let (reading, mut found) = (reading(), Vec::new());
    let entry = "<url><loc>https://a.example/</loc><image:image><image:loc>https://a.example/1</image:loc></image:image>\
         <video:video><video:title>a</video:title></video:video></url>";
    read_entries(entry, &reading, |listed| {
        if let Listed::Page(page) = listed {
            found.push(counts(page));
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(found, [[1, 0, 1, 0]]);
}

#[test]
fn what_is_not_whole_is_an_error() {
    for (body, expected) in [
        ("", "line 1: has no root element"),
        ("<html><p></p></html>", "is a web page, neither"),
        ("{}", "is a file that begins with \"{}\", neither"),
        (
            "<urlset/><urlset/>",
            "has <urlset> after the end of its root element",
        ),
        ("<urlset><page/></urlset>", "has no <url>, but <page>"),
        (
            "<urlset><url/><url><loc/></url></urlset>",
            "has no <url> with an address, of 2",
        ),
        (
            "<rss><channel><title/><item/></channel></rss>",
            "has no <item> with an address, of 1",
        ),
        (
            &format!("{BEGIN}<url><loc>https://a.example/"),
            "ends before the end of its root element",
        ),
        (
            &format!("{BEGIN}<url><loc>&nbsp;</loc></url></urlset>"),
            "\"nbsp\", which is unknown",
        ),
        (&format!("{BEGIN}<url></loc></url></urlset>"), "line 1: "),
        (
            &format!("{BEGIN}<!--{}--></urlset>", " ".repeat(2_000_000)),
            "has more than 1000000 bytes",
        ),
    ] {
        let error = pages(body).unwrap_err().to_string();
        assert!(error.contains(expected), "{body:.80}: {error}");
    }
}
