//! What could not be taken is told: no source is read in silence.

use crate::import::{counts, expected, import, urlset, write};

const ATOM: &str = "xmlns='http://www.w3.org/2005/Atom'";

#[test]
fn a_source_of_which_no_record_came_has_the_status_2_and_says_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let page = "<url><loc>https://www.example.com/a</loc></url>";
    let good = urlset(page);
    let item = "<item><title>x</title><link>https://www.example.com/a</link></item>";
    let rss = format!("<rss><channel>{item}</channel></rss>");
    let html = "<html><head><title>Not found</title></head><body><p>x</p></body></html>";
    for (name, document, from, told) in [
        (
            "a.xml",
            urlset(&page.to_uppercase()),
            "",
            "it has no <url>, but <URL>",
        ),
        ("a.xml", urlset(&good), "", "it has no <url>, but <urlset>"),
        (
            "a.xml",
            good.replace("urlset", "Urlset"),
            "",
            "its root is <Urlset>",
        ),
        (
            "a.xml",
            good.replace("urlset", "Urlset"),
            "sitemap",
            "its root is <Urlset>",
        ),
        ("a.xml", urlset(""), "", "it has no entries"),
        (
            "a.xml",
            good.replace("loc>", "Loc>"),
            "",
            "it has no <url> with an address, of 1",
        ),
        (
            "a.xml",
            rss.replace("item>", "ITEM>"),
            "",
            "it has no <item>, but <ITEM>",
        ),
        (
            "a.xml",
            rss.replace("item>", "entry>"),
            "",
            "it has no <item>, but <entry>",
        ),
        (
            "a.xml",
            rss.replace("rss>", "RSS>"),
            "",
            "its root is <RSS>",
        ),
        (
            "a.xml",
            rss.replace("rss>", "RSS>"),
            "feed",
            "it is not a feed: its root is <RSS>",
        ),
        (
            "a.xml",
            rss.replace("link>", "Link>"),
            "",
            "it has no <item> with an address, of 1",
        ),
        (
            "a.xml",
            format!(
                "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='urn:own'>{item}</rdf:RDF>"
            ),
            "",
            "it has no <item> with an address, of 1",
        ),
        (
            "a.xml",
            format!("<feed {ATOM}><title>x</title></feed>"),
            "",
            "it has no entries",
        ),
        (
            "a.xml",
            format!("<feed {ATOM}>{item}</feed>"),
            "",
            "it has no <entry>, but <item>",
        ),
        (
            "a.html",
            html.to_owned(),
            "feed",
            "it is not a feed: its root is <html>",
        ),
        (
            "a.html",
            html.to_owned(),
            "sitemap",
            "it is not a sitemap: its root is <html>",
        ),
        ("a.html", html.to_owned(), "", "its root is <html>"),
        (
            "a.bin",
            "\u{1}\u{2}binary".to_owned(),
            "",
            "it begins with \\\"\\\\u{1}\\\\u{2}binary\\\"",
        ),
        ("a.txt", String::new(), "", "it is empty"),
        (
            "a.txt",
            "# none yet\n".to_owned(),
            "urls",
            "it has no entries",
        ),
        ("a.csv", "id,url\n".to_owned(), "", "it has no entries"),
        ("a.json", "[]".to_owned(), "", "it has no entries"),
        ("a.jsonl", "\n".to_owned(), "jsonl", "it has no entries"),
        (
            "a.json",
            "{\"version\": \"https://jsonfeed.org/version/1.1\", \"items\": []}".to_owned(),
            "",
            "it has no entries",
        ),
    ] {
        let file = write(&folder, name, &document);
        let mut arguments = vec![file.as_str()];
        if !from.is_empty() {
            arguments.extend(["--from", from]);
        }
        let (records, report, status) = import(&arguments);
        let problems = report["sources"][0]["problems"].to_string();
        assert_eq!((records.len(), status), (0, 2), "{document}: {report:#}");
        assert!(problems.contains(told), "{document}: {problems}");
        assert_eq!(report["sources"][0]["entries"], 0);
    }
}

#[test]
fn what_is_skipped_of_a_source_without_a_record_is_told_by_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (name, document, reason) in [
        ("a.txt", "http://\nhttps:\n", "it is no URL"),
        ("a.jsonl", "{\"url\": 7}\n", "it has no address"),
    ] {
        let (_, report, status) = import(&[&write(&folder, name, document)]);
        assert_eq!(status, 2, "{report:#}");
        let reasons: Vec<_> = counts(&report["skipped"]).into_keys().collect();
        assert_eq!(reasons, [reason]);
    }
    // What the user leaves out is no failure: there may be nothing new.
    let entry = "<url><loc>https://www.example.com/a</loc><lastmod>2026-01-02</lastmod></url>";
    let file = write(&folder, "sitemap.xml", &urlset(entry));
    for option in [["--since", "2026-02-01"], ["--site", "www.example.org"]] {
        let (records, report, status) = import(&[&[file.as_str()][..], &option].concat());
        assert_eq!((records.len(), status), (0, 0), "{report:#}");
    }
    // One source of two that is empty is named.
    let empty = write(&folder, "empty.xml", &urlset(""));
    let (records, report, status) = import(&[&file, &empty]);
    assert_eq!((records.len(), status), (1, 1));
    let problems = &report["sources"][1]["problems"];
    assert_eq!(problems[0], "it has no entries, so no record was made");
}

#[test]
fn what_is_passed_over_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let link = |attributes: &str| format!("<xhtml:link {attributes}/>");
    let links = [
        "rel='alternate' media='only screen and (max-width: 640px)' href='https://m.example.com/a'",
        "rel='alternate' hreflang='de'",
        "rel='alternate' hreflang='' href='https://www.example.com/de'",
        "rel='amphtml' href='https://www.example.com/amp'",
        "rel='alternate' hreflang='fr' href='https://www.example.com/fr'",
    ];
    let xml = urlset(&format!(
        "<url><loc>https://www.example.com/a</loc><Lastmod>2026-01-02</Lastmod><priority>0.5</priority>{}\
         <mobile:mobile xmlns:mobile='http://www.google.com/schemas/sitemap-mobile/1.0'/>\
         <image:image><image:loc>https://www.example.com/1.jpg</image:loc><image:title>x</image:title></image:image>\
         <image:image><image:caption>x</image:caption></image:image>\
         <video:video><video:title>x</video:title><video:price currency='EUR'>1</video:price></video:video>\
         <news:news><news:title>x</news:title><news:keywords>a</news:keywords></news:news></url>\
         <url/><URL><loc>https://www.example.com/b</loc></URL><sitemap><loc>https://www.example.com/c.xml</loc></sitemap>",
        links.map(link).concat()
    ));
    let (records, report, status) = import(&[&write(&folder, "page-sitemap.xml", &xml)]);
    assert_eq!((records.len(), status), (1, 0), "{report:#}");
    let skipped = [("it has no address", 1), ("an element that is no entry", 2)];
    assert_eq!(counts(&report["skipped"]), expected(skipped));
    let examples = report["skipped"]["an element that is no entry"]["examples"].to_string();
    assert!(
        examples.contains("<URL>") && examples.contains("<sitemap>"),
        "{examples}"
    );
    let notes = expected([
        ("<Lastmod>", 1),
        ("<priority>", 1),
        ("<mobile>", 1),
        ("<image:title>", 1),
        ("<image:caption>", 1),
        ("<video:price>", 1),
        ("<news:keywords>", 1),
        ("a link that is no alternate", 1),
        ("an alternate without hreflang or href", 3),
        ("an image without an address", 1),
    ]);
    let mut found = counts(&report["notes"]);
    found.retain(|what, _| !what.starts_with("videos") && !what.starts_with("news"));
    assert_eq!(found, notes);
    // Of an index and of a feed.
    let index = format!(
        "<sitemapindex {}><sitemap/><url><loc>https://www.example.com/a</loc></url>\
         <sitemap><loc>https://www.example.com/page-sitemap.xml</loc></sitemap></sitemapindex>",
        crate::import::NAMESPACES
    );
    let rss = "<rss><channel><title>x</title><item><link>https://www.example.com/a</link></item><item/><Item/></channel></rss>";
    for (name, document, without) in [("index.xml", index.as_str(), 2), ("rss.xml", rss, 1)] {
        let (_, report, _) = import(&[&write(&folder, name, document)]);
        let skipped = counts(&report["skipped"]);
        assert_eq!(skipped["it has no address"], without, "{report:#}");
        assert_eq!(
            skipped["an element that is no entry"],
            without + u64::from(name == "index.xml")
        );
    }
    // Names that a document makes up do not fill the report.
    let names = (0..1_000).map(|n| format!("<a{n}/>")).collect::<String>();
    let xml = urlset(&format!(
        "<url><loc>https://www.example.com/a</loc>{names}</url>"
    ));
    let (_, report, _) = import(&[&write(&folder, "page-sitemap.xml", &xml)]);
    let notes = counts(&report["notes"]);
    assert_eq!((notes.len(), notes["something else"]), (201, 800));
}

#[test]
fn lines_of_a_text_sitemap_that_are_no_url_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let list = "https://www.example.com/a\nwww.example.com/b\n<!-- c -->\nHTTPS://www.example.com/d\nhttps://\n/e\n\n# f\n";
    let file = write(&folder, "sitemap.txt", list);
    let (records, report, status) = import(&[&file]);
    assert_eq!((records.len(), status), (2, 0), "{report:#}");
    let skipped = &report["skipped"]["it is no URL"];
    assert_eq!(skipped["count"], 4);
    assert_eq!(skipped["examples"][0], "line 2: \"www.example.com/b\"");
    // As the sitemap of a folder, too, and a path is a URL once its host is said.
    let folder = folder.path().to_str().unwrap();
    let (records, report, _) = import(&[folder, "--site", "www.example.com"]);
    assert_eq!(records.len(), 3, "{report:#}");
    assert_eq!(report["skipped"]["it is no URL"]["count"], 3);
}

#[test]
fn a_time_of_mysql_excludes_no_page_unless_it_may_not_have_come() {
    let folder = tempfile::tempdir().unwrap();
    let csv = "url,lastmod,published_at,expires_at\n\
        https://www.example.com/1,2026-03-01 10:20:30,,\n\
        https://www.example.com/2,,2020-03-01 10:20:30,\n\
        https://www.example.com/3,,9998-03-01 10:20:30,\n\
        https://www.example.com/4,,,9998-03-01 10:20:30\n\
        https://www.example.com/5,2026-03-01 10:20:30+0100,2026-03-01T10:20:30Z,9998-03-01 10:20:30Z\n\
        https://www.example.com/6,0000-00-00 00:00:00,,\n\
        https://www.example.com/7,yesterday,,\n\
        https://www.example.com/8,2026-03-01,yesterday,\n";
    let (records, report, status) = import(&[&write(&folder, "pages.csv", csv)]);
    assert_eq!((records.len(), status), (8, 0), "{report:#}");
    assert_eq!(report["left_out"]["bad_field"]["count"], 3, "{report:#}");
    assert_eq!(report["listed"], 5);
    // 3, 4 and 8 stay as they are, and are told by what excludes them.
    let notes = expected([("modified_at", 3), ("published_at", 1)]);
    assert_eq!(counts(&report["notes"]), notes);
    let five = crate::import::find(&records, "www.example.com/5");
    assert_eq!(five["modified_at"], "2026-03-01T09:20:30+00:00");
    assert_eq!(five["published_at"], "2026-03-01T10:20:30Z");
    assert_eq!(five["expires_at"], "9998-03-01T10:20:30+00:00");
    let two = crate::import::find(&records, "www.example.com/2");
    assert!(two["published_at"].is_null());
    // WordPress's own columns: zeros are no time, and what is none is told.
    let csv = "ID,post_type,post_status,post_date_gmt,post_modified_gmt,url\n\
        1,post,publish,2026-03-01 10:20:30,March,https://www.example.com/1\n\
        2,post,draft,0000-00-00 00:00:00,0000-00-00 00:00:00,https://www.example.com/2\n";
    let (records, report, _) = import(&[&write(&folder, "posts.csv", csv)]);
    assert_eq!(
        counts(&report["notes"]),
        expected([("post_modified_gmt", 1)])
    );
    assert_eq!(records[0]["published_at"], "2026-03-01T10:20:30Z");
}
