//! Feeds: whose page an entry is, what it is called, and where feeds are found.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use crate::import::{NAMESPACES, counts, expected, find, import, urlset, write};
use crate::loopback::{Loopback, respond};

const ATOM: &str = "xmlns='http://www.w3.org/2005/Atom'";
const RDF: &str = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'";

#[test]
fn an_entry_has_the_address_and_the_title_that_it_means() {
    let folder = tempfile::tempdir().unwrap();
    let atom = |attributes: &str, entry: &str| {
        format!("<feed {ATOM} {attributes}><title>T</title><entry>{entry}</entry></feed>")
    };
    let titled = |title: &str| {
        atom(
            "",
            &format!("{title}<link href='https://www.example.com/a/b'/>"),
        )
    };
    let rss =
        |item: &str| format!("<rss version='2.0'><channel><item>{item}</item></channel></rss>");
    let page = "https://www.example.com/a/b";
    let pdf = "<link type='application/pdf' href='https://www.example.com/c.pdf'/>";
    for (document, title) in [
        // Relative links, by what is nearest.
        (atom("xml:base='https://www.example.com/a/'", "<title>x</title><link href='b'/>"), "x"),
        (atom("xml:base='https://www.example.com/'", "<title>x</title><link xml:base='a/' href='b'/>"), "x"),
        (
            "<rss><channel xml:base='https://www.example.com/c/'><item><title>x</title><link>../a/b</link></item></channel></rss>"
                .to_owned(),
            "x",
        ),
        // The alternate that is a page.
        (titled(&format!("<title>x</title>{pdf}")), "x"),
        (titled("<title>x</title><link rel='self' href='https://www.example.com/c'/>"), "x"),
        (
            atom("", "<title>x</title><link href='https://www.example.com/a/b' rel='http://www.iana.org/assignments/relation/alternate'/>"),
            "x",
        ),
        // Titles in each of their forms.
        (titled("<title>A &amp;amp; <![CDATA[<b>]]> c</title>"), "A &amp; <b> c"),
        (titled("<title type='text'>A &lt; b</title>"), "A < b"),
        (titled("<title type='html'><![CDATA[Q&#038;A &#8211; <em>new</em>]]></title>"), "Q&A \u{2013} new"),
        (titled("<title type='html'>Caf&amp;eacute; &amp;lt;x&amp;gt;</title>"), "Caf\u{e9} <x>"),
        (
            titled("<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>Less <b>is</b>\n more</div></title>"),
            "Less is more",
        ),
        (titled(""), ""),
        // Atom 0.3.
        (
            "<feed version='0.3' xmlns='http://purl.org/atom/ns#'><entry><title mode='escaped' type='text/html'>A &amp;amp; b</title>\
             <link rel='alternate' type='text/html' href='https://www.example.com/a/b'/></entry></feed>".to_owned(),
            "A & b",
        ),
        (
            "<feed version='0.3' xmlns='http://purl.org/atom/ns#'><entry><title>A &amp; b</title>\
             <link rel='alternate' type='text/html' href='https://www.example.com/a/b'/></entry></feed>".to_owned(),
            "A & b",
        ),
        // RSS, whatever its namespace is.
        (rss(&format!("<title>A &amp; b</title><link>{page}</link>")), "A & b"),
        (rss(&format!("<title>x</title><guid>{page}</guid>")), "x"),
        (
            rss(&format!("<title>x</title><link>{page}</link>")).replace("version='2.0'", "xmlns='http://backend.userland.com/rss2'"),
            "x",
        ),
        (
            format!("<rdf:RDF {RDF} xmlns='http://my.netscape.com/rdf/simple/0.9/'><item><title>x</title><link>{page}</link></item></rdf:RDF>"),
            "x",
        ),
        (
            format!("<Channel {RDF} xmlns='http://purl.org/net/rss1.1#'><items><item><title>x</title><link>{page}</link></item></items></Channel>"),
            "x",
        ),
    ] {
        let (records, report, status) = import(&[&write(&folder, "feed.xml", &document)]);
        assert_eq!((records.len(), status), (1, 0), "{document}: {report:#}");
        let title = (!title.is_empty()).then_some(title);
        assert_eq!(records[0]["url"], page, "{document}");
        assert_eq!(records[0]["title"].as_str(), title, "{document}");
    }
    let times = "<feed version='0.3' xmlns='http://purl.org/atom/ns#'><entry><link rel='alternate' href='https://www.example.com/a'/>\
        <issued>2026-01-02T03:04:05Z</issued><modified>2026-02-03T04:05:06Z</modified></entry></feed>";
    let (records, _, _) = import(&[&write(&folder, "feed.xml", times)]);
    assert_eq!(records[0]["published_at"], "2026-01-02T03:04:05Z");
    assert_eq!(records[0]["modified_at"], "2026-02-03T04:05:06Z");
}

#[test]
fn a_relative_address_is_told_if_nothing_says_to_what() {
    let folder = tempfile::tempdir().unwrap();
    let feed =
        format!("<feed {ATOM}><entry><title>x</title><link href='2026/one/'/></entry></feed>");
    let file = write(&folder, "feed.xml", &feed);
    let (records, report, status) = import(&[&file]);
    assert_eq!((records.len(), status), (0, 2));
    let reason = "its address is relative, and nothing says to what: --site does";
    assert_eq!(counts(&report["skipped"]), expected([(reason, 1)]));
    let (records, _, status) = import(&[&file, "--site", "www.example.com"]);
    assert_eq!((records.len(), status), (1, 0));
    assert_eq!(records[0]["url"], "https://www.example.com/2026/one/");
}

/// Serves files by path and query. Returns the arguments that ask them at a public host.
fn serve(files: BTreeMap<&'static str, String>) -> [String; 4] {
    let origin =
        Loopback::bind().serve(
            move |request, stream| match files.get(request.target.as_str()) {
                Some(body) => respond(stream, "200 OK", "", body.as_bytes()),
                None => respond(stream, "404 Not Found", "", b""),
            },
        );
    let map = format!("https://www.example.com={origin}");
    ["--map", &map, "--rate", "0"].map(str::to_owned)
}

#[test]
fn a_site_names_feeds_too() {
    let page = |path: &str| format!("<url><loc>https://www.example.com/{path}</loc></url>");
    let sitemap = urlset(&page("a"));
    let rss = "<rss><channel><item><title>A</title><link>https://www.example.com/a</link></item>\
        <item><title>B</title><link>/b</link></item></channel></rss>";
    let atom = format!("<feed {ATOM}><entry><title>C</title><link href='c'/></entry></feed>");
    let index = format!(
        "<sitemapindex {NAMESPACES}><sitemap><loc>https://www.example.com/rss.xml</loc></sitemap>\
         <sitemap><loc>https://www.example.com/page-sitemap.xml</loc></sitemap></sitemapindex>"
    );
    let robots = "User-agent: *\nSitemap: https://www.example.com/blog/atom.xml\n\
        Sitemap: https://www.example.com/index.xml\n";
    let files = BTreeMap::from([
        ("/robots.txt", robots.to_owned()),
        ("/index.xml", index),
        ("/page-sitemap.xml", sitemap),
        ("/rss.xml", rss.to_owned()),
        ("/blog/atom.xml", atom.clone()),
    ]);
    let at = serve(files);
    let at = at.each_ref().map(String::as_str);
    let (records, report, status) = import(&[&["https://www.example.com/"][..], &at].concat());
    assert_eq!((records.len(), status), (3, 0), "{report:#}");
    let source = &report["sources"][0];
    assert_eq!(
        (&source["documents"], &source["entries"]),
        (&json!(4), &json!(4))
    );
    // The sitemap says the type, and the feed the title, though it is named first.
    let a = find(&records, "www.example.com/a");
    assert_eq!((&a["type"], &a["title"]), (&json!("page"), &json!("A")));
    let b = find(&records, "www.example.com/b");
    assert_eq!((&b["type"], &b["title"]), (&json!("post"), &json!("B")));
    assert_eq!(find(&records, "www.example.com/blog/c")["title"], "C");
    // One alone, by its address, by robots.txt, and at a usual name.
    let url = "https://www.example.com/blog/atom.xml";
    let (records, _, status) = import(&[&[url][..], &at].concat());
    assert_eq!((records.len(), status), (1, 0));
    for (path, robots) in [
        ("/blog/atom.xml", format!("Sitemap: {url}\n")),
        ("/sitemap.xml", String::new()),
    ] {
        let at = serve(BTreeMap::from([
            ("/robots.txt", robots),
            (path, atom.clone()),
        ]));
        let at = at.each_ref().map(String::as_str);
        let (records, report, status) = import(&[&["https://www.example.com/"][..], &at].concat());
        assert_eq!((records.len(), status), (1, 0), "{path}: {report:#}");
    }
}

#[test]
fn a_wordpress_without_permalinks_keeps_its_types() {
    let loc = |query: &str| format!("https://www.example.com/?{query}");
    let children = [
        "sitemap=posts&amp;sitemap-subtype=post&amp;paged=1",
        "sitemap=posts&amp;sitemap-subtype=page&amp;paged=1",
        "sitemap=taxonomies&amp;sitemap-subtype=category&amp;paged=1",
        "sitemap=users&amp;paged=1",
    ];
    let listed = children.map(|query| format!("<sitemap><loc>{}</loc></sitemap>", loc(query)));
    let index = format!(
        "<sitemapindex {NAMESPACES}>{}</sitemapindex>",
        listed.concat()
    );
    let page = |query: &str| urlset(&format!("<url><loc>{}</loc></url>", loc(query)));
    let at = serve(BTreeMap::from([
        (
            "/robots.txt",
            format!("Sitemap: {}\n", loc("sitemap=index")),
        ),
        ("/?sitemap=index", index),
        ("/?sitemap=posts&sitemap-subtype=post&paged=1", page("p=1")),
        (
            "/?sitemap=posts&sitemap-subtype=page&paged=1",
            page("page_id=2"),
        ),
        (
            "/?sitemap=taxonomies&sitemap-subtype=category&paged=1",
            page("cat=1"),
        ),
        ("/?sitemap=users&paged=1", page("author=1")),
    ]));
    let at = at.each_ref().map(String::as_str);
    let (records, report, status) = import(&[&["https://www.example.com/"][..], &at].concat());
    assert_eq!((records.len(), status), (4, 0), "{report:#}");
    let types = ["author", "category", "page", "post"];
    let types = types.map(|name| (format!("www.example.com {name}"), json!(1)));
    assert_eq!(report["types"], json!(BTreeMap::from(types)));
}

#[test]
fn a_feed_and_a_sitemap_are_read_in_the_encoding_that_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a-sitemap.xml");
    let feed = format!(
        "<?xml version='1.0' encoding='NAME'?><feed {ATOM}><entry><title>Caf\u{e9}</title>\
         <link href='https://www.example.com/caf\u{e9}'/></entry></feed>"
    );
    let sitemap = urlset("<url><loc>https://www.example.com/caf\u{e9}</loc></url>");
    let sitemap = sitemap.replace("UTF-8", "NAME");
    let csv = "url,title\nhttps://www.example.com/caf\u{e9},Caf\u{e9}\n".to_owned();
    let wide = |text: &str| -> Vec<u8> {
        let text = format!("\u{feff}{}", text.replace("NAME", "utf-16"));
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    };
    let latin = |text: &str| -> Vec<u8> {
        let text = text.replace("NAME", "ISO-8859-1");
        text.chars().map(|c| u8::try_from(c).unwrap()).collect()
    };
    for body in [
        wide(&feed),
        latin(&feed),
        wide(&sitemap),
        latin(&sitemap),
        wide(&csv),
    ] {
        fs::write(&path, &body).unwrap();
        let (records, report, status) = import(&[path.to_str().unwrap()]);
        assert_eq!((records.len(), status), (1, 0), "{report:#}");
        assert_eq!(records[0]["url"], "https://www.example.com/caf\u{e9}");
        assert!(
            records[0]["title"]
                .as_str()
                .is_none_or(|title| title == "Caf\u{e9}")
        );
    }
    // What is not in it ends there.
    let body = wide(&sitemap);
    fs::write(&path, &body[..body.len() - 1]).unwrap();
    let (records, report, status) = import(&[path.to_str().unwrap()]);
    let problems = report["sources"][0]["problems"].to_string();
    assert_eq!((records.len(), status), (1, 1));
    assert!(
        problems.contains("it is not the UTF-16LE that it says it is"),
        "{problems}"
    );
}
