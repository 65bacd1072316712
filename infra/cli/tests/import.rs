//! `waymark import` as a process: what it makes of sitemaps and of what other systems export.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::{Value, json};

mod documented;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn waymark(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
    command.args(arguments).env_remove("RUST_LOG");
    command.current_dir(root());
    command.stdin(Stdio::null());
    command
}

/// Records, report, status.
fn import(arguments: &[&str]) -> (Vec<Value>, Value, i32) {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let mut all = vec!["import", "--report", report.to_str().unwrap()];
    all.extend(arguments);
    let output = waymark(&all).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let report = fs::read_to_string(&report);
    let report = report.unwrap_or_else(|_| panic!("{}", errors(&output)));
    let report = serde_json::from_str(&report).unwrap();
    (records.collect(), report, output.status.code().unwrap())
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Writes a document into a folder, and returns its path.
fn write(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The counts of what is told by reason.
fn counts(tallies: &Value) -> BTreeMap<String, u64> {
    let tallies = tallies.as_object().unwrap();
    let count = |tally: &Value| tally["count"].as_u64().unwrap();
    tallies
        .iter()
        .map(|(reason, tally)| (reason.clone(), count(tally)))
        .collect()
}

fn expected<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts
        .into_iter()
        .map(|(reason, count)| (reason.to_owned(), count))
        .collect()
}

/// The record with this id.
#[track_caller]
fn find<'r>(records: &'r [Value], id: &str) -> &'r Value {
    let found = records.iter().find(|record| record["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {records:#?}"))
}

#[test]
fn a_wordpress_export_keeps_what_decides_about_listing() {
    let (records, report, status) =
        import(&["examples/wordpress/export.xml", "--archives", "--settings"]);
    assert_eq!(status, 0);
    let id = |name: &str| format!("www.lantern.example/{name}");
    assert_eq!(
        *find(&records, &id("post/10")),
        json!({
            "id": "www.lantern.example/post/10", "type": "post", "title": "Soup for nine", "status": "published",
            "url": "https://www.lantern.example/soup-for-nine/",
            "published_at": "2026-10-01T08:00:00Z", "modified_at": "2026-11-02T07:30:00Z",
            "terms": {"author": ["ada"], "category": ["food", "soup"], "post_tag": ["winter"]},
        })
    );
    for (name, field, value) in [
        ("post/11", "title", json!("Bread & butter")),
        ("post/11", "noindex", Value::Null), // Rank Math's "index"
        (
            "post/11",
            "terms",
            json!({"author": ["ada"], "category": ["food"]}),
        ), // no post format
        (
            "post/12",
            "canonical_url",
            json!("https://www.lantern.example/bread/"),
        ), // Yoast's
        ("page/13", "noindex", json!(true)), // Yoast's
        ("post/14", "status", json!("draft")),
        ("post/14", "published_at", Value::Null), // zeros in GMT
        ("post/15", "status", json!("pending")),
        ("post/16", "status", json!("scheduled")),
        ("page/17", "status", json!("private")),
        ("page/18", "visibility", json!("password")),
        ("post/19", "status", json!("trash")),
        ("post/20", "status", json!("draft")), // auto-draft
        ("page/21", "noindex", json!(true)),   // Rank Math's
        ("page/22", "noindex", Value::Null),   // Yoast's 2 is "index"
        (
            "post/23",
            "canonical_url",
            json!("https://www.lantern.example/soup-for-nine/"),
        ), // Rank Math's
        ("shop_order/24", "status", json!("draft")), // unknown
        (
            "post/27",
            "published_at",
            json!("2026-03-07T11:00:00+00:00"),
        ), // from pubDate
        ("post/27", "modified_at", Value::Null),
        (
            "category/soup",
            "url",
            json!("https://www.lantern.example/category/food/soup/"),
        ),
        (
            "post_tag/winter",
            "archive_of",
            json!({"taxonomy": "post_tag", "term": "winter"}),
        ),
        ("author/ada", "type", json!("author")),
    ] {
        let record = find(&records, &id(name));
        assert_eq!(record[field], value, "{name} {field}: {record}");
    }
    let settings = json!({"id": "site/www.lantern.example", "type": "site", "language": "en-GB", "name": "The Lantern"});
    assert_eq!(records.last(), Some(&settings));
    let left_out = expected([
        ("not_published", 7),
        ("not_visible", 1),
        ("noindex", 2),
        ("canonical_elsewhere", 2),
        ("empty_archive", 1),
    ]);
    assert_eq!(counts(&report["left_out"]), left_out);
    let skipped = expected([
        ("attachment is not a page", 1),
        ("nav_menu_item is not a page", 1),
    ]);
    assert_eq!(counts(&report["skipped"]), skipped);
    assert_eq!(
        (&report["records"], &report["listed"]),
        (&json!(22), &json!(8))
    );
}

#[test]
fn several_exports_make_one_series_of_records() {
    let file = "examples/wordpress/export.xml";
    let (records, report, status) = import(&[file, file]);
    assert_eq!((records.len(), status), (32, 0));
    // The second half is the same again: its addresses are taken.
    assert_eq!(report["left_out"]["duplicate"]["count"], 4);
}

#[test]
fn archives_have_other_addresses_if_the_user_says_so() {
    let (records, _, _) = import(&[
        "examples/wordpress/export.xml",
        "--archives",
        "--archive-url",
        "category=/topics/{slug}",
    ]);
    let soup = find(&records, "www.lantern.example/category/soup");
    assert_eq!(soup["url"], "https://www.lantern.example/topics/soup");
}

/// What becomes of an example: the ids of its records, how many would be listed, and what is not imported.
#[track_caller]
fn example<const N: usize, const M: usize>(
    file: &str,
    mapping: Option<&str>,
    ids: [&str; N],
    listed: u64,
    skipped: [(&str, u64); M],
) -> Vec<Value> {
    let file = format!("examples/{file}");
    let mapping = mapping.map(|mapping| format!("examples/{mapping}"));
    let mut arguments = vec![file.as_str()];
    if let Some(mapping) = &mapping {
        arguments.extend(["--mapping", mapping]);
    }
    let (records, report, status) = import(&arguments);
    let found: Vec<&str> = records
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!((found, status), (ids.to_vec(), 0), "{report:#}");
    assert_eq!(report["listed"], listed, "{report:#}");
    assert_eq!(counts(&report["skipped"]), expected(skipped));
    records
}

#[test]
fn the_csv_of_wp_cli_needs_no_mapping() {
    let ids =
        ["post/10", "post/11", "post/14", "page/18"].map(|id| format!("www.lantern.example/{id}"));
    let records = example(
        "wordpress/posts.csv",
        None,
        ids.each_ref().map(String::as_str),
        2,
        [],
    );
    assert_eq!(records[1]["title"], "Bread, butter & \"salt\"");
    assert_eq!(records[1]["modified_at"], "2026-10-01T08:00:00Z");
    assert_eq!(
        (&records[2]["status"], &records[3]["visibility"]),
        (&json!("draft"), &json!("password"))
    );
}

#[test]
fn the_usual_columns_of_wp_cli_lack_an_address_and_it_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let csv = "ID,post_title,post_name,post_date,post_status\n1,Soup,soup,\"2026-01-02 03:04:05\",publish\n";
    let (records, report, status) = import(&[&write(&folder, "posts.csv", csv)]);
    let problem = report["sources"][0]["problems"][0].as_str().unwrap();
    assert!(
        problem.contains("no column with an address") && problem.contains("--fields="),
        "{problem}"
    );
    assert_eq!((records.len(), status), (0, 1));
}

#[test]
fn the_examples_of_other_systems_are_imported() {
    let mapping = Some("wordpress/rest-mapping.json");
    example(
        "wordpress/rest.json",
        mapping,
        ["post/10", "page/13", "post/23", "post/17"],
        1,
        [],
    );
    let records = example(
        "contentful/export.json",
        Some("contentful/mapping.json"),
        [
            "contentful/5KsDBWseXY6QegucYAoacS",
            "contentful/1YsDBWseXY6QegucYAoacT",
        ],
        1,
        [
            ("no page by \"only\": it has no sys.publishedAt", 1),
            ("no page by \"only\": its sys.contentType.sys.id", 1),
        ],
    );
    assert_eq!(
        records[0]["url"],
        "https://www.lantern.example/blog/soup-for-nine/"
    );
    assert_eq!(records[0]["terms"], json!({"tag": ["winter"]}));
    assert_eq!(records[1]["noindex"], true);
    example(
        "sanity/export.ndjson",
        Some("sanity/mapping.json"),
        [
            "sanity/0c5e2f1a-7d9b-4f3e-8a6c-1b2d3e4f5a6b",
            "sanity/1d6f3a2b",
        ],
        1,
        [
            ("no page by \"only\": it has no slug.current", 1),
            ("no page by \"only\": its _type", 1),
        ],
    );
    example(
        "strapi/entities_00001.jsonl",
        Some("strapi/mapping.json"),
        ["strapi/k3x1/en"],
        1,
        [("no page by \"only\": it has no data.publishedAt", 3)],
    );
    let records = example(
        "shopify/products.csv",
        Some("shopify/mapping.json"),
        ["larch-lantern", "candle", "old-candle", "new-candle"]
            .map(|handle| format!("shopify/products/{handle}"))
            .each_ref()
            .map(String::as_str),
        2,
        [("no page by \"only\": it has no Title", 1)],
    );
    let images = json!([{"url": "https://cdn.shopify.com/s/files/1/0001/lantern.jpg?v=1"}]);
    assert_eq!(records[0]["images"], images);
    assert_eq!(records[2]["visibility"], "private");
}

#[test]
fn json_without_a_list_says_where_to_look() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder, "a.json", "{\n\"data\": [], \"meta\": {}}");
    let (_, report, status) = import(&[&file]);
    let problem = report["sources"][0]["problems"][0].as_str().unwrap();
    assert!(
        problem.contains("\"items\"") && problem.contains("data, meta"),
        "{problem}"
    );
    assert_eq!(status, 1);
    let mapping = r#"{"items": "rows", "fields": {"type": {"constant": "a"}, "url": "u"}}"#;
    let mapping = write(&folder, "mapping.json", mapping);
    let (_, report, status) = import(&[&file, "--mapping", &mapping]);
    let problem = report["sources"][0]["problems"][0].as_str().unwrap();
    assert!(problem.contains("no list at \"rows\""), "{problem}");
    assert_eq!(status, 1);
}

#[test]
fn what_decides_about_listing_and_cannot_be_told_leaves_an_item_out() {
    let folder = tempfile::tempdir().unwrap();
    let mapping = r#"{"fields": {"type": {"constant": "post"}, "url": "url",
        "status": {"path": "state", "values": {"live": "published"}}}}"#;
    let mapping = write(&folder, "mapping.json", mapping);
    let items = "{\"url\": \"https://a.example/1\", \"state\": \"live\"}\n{\"url\": \"https://a.example/2\"}\nnope\n";
    let (records, report, status) =
        import(&[&write(&folder, "a.jsonl", items), "--mapping", &mapping]);
    assert_eq!((records.len(), status), (1, 0));
    let skipped = expected([("its status cannot be told", 1), ("it is not JSON", 1)]);
    assert_eq!(counts(&report["skipped"]), skipped);
}

#[test]
fn feeds_and_lists_of_urls_become_records() {
    let folder = tempfile::tempdir().unwrap();
    let rss = "<rss version='2.0'><channel><language>en</language><item><title>A &amp; b</title>\
        <link>https://www.example.com/a</link><pubDate>Tue, 10 Nov 2026 09:00:00 +0100</pubDate></item>\
        <item><title>nowhere</title></item>\
        <item><guid>https://www.example.com/b</guid></item></channel></rss>";
    let (records, report, _) = import(&[&write(&folder, "rss.xml", rss)]);
    let first = json!({"id": "www.example.com/a", "type": "post", "title": "A & b", "language": "en",
        "url": "https://www.example.com/a", "published_at": "2026-11-10T08:00:00+00:00"});
    assert_eq!((&records[0], records.len()), (&first, 2));
    assert_eq!(
        counts(&report["skipped"]),
        expected([("it has no address", 1)])
    );
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><title>A</title><link rel='self' href='x'/>\
        <link href='https://www.example.com/a'/><published>2026-11-10T09:00:00Z</published>\
        <updated>2026-11-11T09:00:00Z</updated></entry></feed>";
    let (records, _, _) = import(&[&write(&folder, "atom.xml", atom)]);
    assert_eq!(records[0]["modified_at"], "2026-11-11T09:00:00Z");
    let feed = r#"{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1",
        "url": "https://www.example.com/a", "title": "A", "date_modified": "2026-11-11T09:00:00Z"}]}"#;
    let (records, _, _) = import(&[&write(&folder, "feed.json", feed)]);
    assert_eq!(records[0]["title"], "A");
    let urls = "https://www.example.com/a\n# not this\n\nhttps://www.example.com/b?x=1\nhttps://www.example.com/a\n/c\n";
    let file = write(&folder, "urls.txt", urls);
    let (records, report, _) = import(&[&file, "--site", "www.example.com", "--language", "en"]);
    let ids: Vec<_> = records
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "www.example.com/a",
            "www.example.com/b?x=1",
            "www.example.com/c"
        ]
    );
    assert_eq!(records[2]["language"], "en");
    assert_eq!(
        counts(&report["skipped"]),
        expected([("its address was there before", 1)])
    );
}

const NAMESPACES: &str = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
    xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\" \
    xmlns:video=\"http://www.google.com/schemas/sitemap-video/1.1\" \
    xmlns:news=\"http://www.google.com/schemas/sitemap-news/0.9\" xmlns:xhtml=\"http://www.w3.org/1999/xhtml\" \
    xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

fn urlset(entries: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><urlset {NAMESPACES}>\n{entries}</urlset>")
}

#[test]
fn an_entry_keeps_its_extensions() {
    let folder = tempfile::tempdir().unwrap();
    let xml = urlset(
        "<url><loc> https://www.example.com/a?x=1&amp;y=2 </loc><lastmod>2026-11-01T10:00+01:00</lastmod>\
         <changefreq>daily</changefreq><priority>0.9</priority>\
         <image:image><image:loc><![CDATA[https://img.example/a&b.jpg]]></image:loc><image:title>x</image:title></image:image>\
         <video:video><video:thumbnail_loc>https://img.example/t.jpg</video:thumbnail_loc><video:title>V</video:title>\
         <video:description>D</video:description><video:content_loc>https://img.example/v.mp4</video:content_loc>\
         <video:duration>90</video:duration><video:rating>4.5</video:rating><video:family_friendly>yes</video:family_friendly>\
         <video:restriction relationship='deny'>DE AT</video:restriction><video:tag>a</video:tag><video:tag>b</video:tag>\
         <video:uploader info='https://www.example.com/u'>U</video:uploader></video:video>\
         <xhtml:link rel='alternate' hreflang='de' href='https://www.example.com/de/a'/></url>\
         <url><lastmod>2026-11-01</lastmod></url>\
         <url><loc>https://www.example.com/b</loc><lastmod>yesterday</lastmod></url>",
    );
    let (records, report, status) = import(&[&write(&folder, "page-sitemap.xml", &xml)]);
    let first = json!({
        "id": "www.example.com/a?x=1&y=2", "type": "page", "url": "https://www.example.com/a?x=1&y=2",
        "modified_at": "2026-11-01T10:00:00+01:00",
        "images": [{"url": "https://img.example/a&b.jpg"}],
        "videos": [{"thumbnail_loc": "https://img.example/t.jpg", "title": "V", "description": "D",
            "content_loc": "https://img.example/v.mp4", "duration": 90, "rating": 4.5, "family_friendly": true,
            "restriction": {"deny": ["DE", "AT"]}, "tags": ["a", "b"],
            "uploader": {"name": "U", "info": "https://www.example.com/u"}}],
        "alternates": [{"hreflang": "de", "url": "https://www.example.com/de/a"}],
    });
    assert_eq!((&records[0], records.len(), status), (&first, 2, 0));
    assert_eq!(counts(&report["notes"]), expected([("lastmod", 1)]));
    assert_eq!(
        counts(&report["skipped"]),
        expected([("it has no address", 1)])
    );
    let sitemaps = json!({"www.example.com page": 1, "www.example.com video": 1});
    assert_eq!(report["sitemaps"], sitemaps);
}

#[test]
fn videos_and_news_of_sitemaps_of_their_own_are_added_to_their_pages() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |path: &str, more: &str| {
        format!("<url><loc>https://www.example.com/{path}</loc>{more}</url>\n")
    };
    let video = "<video:video><video:thumbnail_loc>https://i.example/t.jpg</video:thumbnail_loc><video:title>V</video:title>\
        <video:player_loc>https://i.example/v</video:player_loc></video:video>";
    let news = "<news:news><news:publication><news:name>The Times</news:name><news:language>en</news:language>\
        </news:publication><news:publication_date>2026-11-24</news:publication_date><news:title>N</news:title></news:news>";
    write(
        &folder,
        "post-sitemap.xml",
        &urlset(&(entry("a", "") + &entry("b", ""))),
    );
    write(
        &folder,
        "video-sitemap.xml",
        &urlset(&(entry("a", video) + &entry("alone", video))),
    );
    write(&folder, "news-sitemap.xml", &urlset(&entry("b", news)));
    let (records, _, status) = import(&[folder.path().to_str().unwrap(), "--settings"]);
    assert_eq!((records.len(), status), (4, 0));
    assert_eq!(
        find(&records, "www.example.com/a")["videos"][0]["title"],
        "V"
    );
    let b = find(&records, "www.example.com/b");
    assert_eq!(
        (&b["type"], &b["published_at"]),
        (&json!("post"), &json!("2026-11-24"))
    );
    assert_eq!(b["news"], json!({"title": "N", "language": "en"}));
    assert_eq!(find(&records, "www.example.com/alone")["type"], "page");
    assert_eq!(
        find(&records, "site/www.example.com")["news_name"],
        "The Times"
    );
}

#[test]
fn alternates_that_all_pages_of_a_set_have_become_a_group() {
    let folder = tempfile::tempdir().unwrap();
    let links = |links: &[(&str, &str)]| {
        let mut text = String::new();
        for (code, path) in links {
            write!(text, "<xhtml:link rel='alternate' hreflang='{code}' href='https://www.example.com/{path}'/>").unwrap();
        }
        text
    };
    let whole = links(&[("en", "en/a"), ("de", "de/a"), ("x-default", "en/a")]);
    let half = links(&[("en", "en/b"), ("de", "de/b")]);
    let nobody = links(&[("en", "en/c"), ("de", "de/c"), ("x-default", "c")]);
    let mut entries = String::new();
    for (path, links) in [
        ("en/a", &whole),
        ("en/b", &half),
        ("de/a", &whole),
        ("de/b", &String::new()),
        ("en/c", &nobody),
        ("de/c", &nobody),
    ] {
        writeln!(
            entries,
            "<url><loc>https://www.example.com/{path}</loc>{links}</url>"
        )
        .unwrap();
    }
    let file = write(&folder, "page-sitemap.xml", &urlset(&entries));
    let (records, _, status) = import(&[&file, "--alternates", "group"]);
    assert_eq!((records.len(), status), (6, 0));
    let page = |id: &str| find(&records, &format!("www.example.com/{id}"));
    let group = &page("en/a")["translation_group"];
    assert!(
        group.is_string() && *group == page("de/a")["translation_group"],
        "{records:#?}"
    );
    assert_eq!(
        (&page("en/a")["language"], &page("en/a")["x_default"]),
        (&json!("en"), &json!(true))
    );
    assert_eq!(
        (&page("de/a")["language"], &page("de/a")["alternates"]),
        (&json!("de"), &Value::Null)
    );
    // The other page does not link back; and x-default is no page of the set.
    for id in ["en/b", "en/c", "de/c"] {
        assert!(
            page(id)["alternates"].is_array() && page(id)["translation_group"].is_null(),
            "{id}"
        );
    }
    let (kept, _, _) = import(&[&file]);
    assert!(
        kept.iter()
            .all(|record| record["translation_group"].is_null())
    );
}

#[test]
fn a_cut_sitemap_gives_what_there_is_and_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let xml = urlset(
        "<url><loc>https://www.example.com/a</loc></url>\n<url><loc>https://www.example.com/b</loc></url>",
    );
    let cut = xml.replace("/b</loc></url></urlset>", "/b</lo");
    let (records, report, status) = import(&[&write(&folder, "post-sitemap.xml", &cut)]);
    assert_eq!((records.len(), status), (1, 1));
    let problem = report["sources"][0]["problems"][0].as_str().unwrap();
    assert!(
        problem.contains("line 3") && problem.contains("cut"),
        "{problem}"
    );
    // A gzipped one.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let many: String = (0..5_000).fold(String::new(), |mut text, at| {
        writeln!(
            text,
            "<url><loc>https://www.example.com/{at}-{}</loc></url>",
            at * 7_919
        )
        .unwrap();
        text
    });
    gzip.write_all(urlset(&many).as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let path = folder.path().join("post-sitemap.xml.gz");
    fs::write(&path, &gzip[..gzip.len() / 2]).unwrap();
    let (records, report, status) = import(&[path.to_str().unwrap()]);
    assert!(
        records.len() > 100 && records.len() < 5_000 && status == 1,
        "{report:#}"
    );
    // What is there, of two sources of which one is nothing.
    let html = write(&folder, "a.html", "<!doctype html><html></html>");
    let good = write(&folder, "page-sitemap.xml", &xml);
    assert_eq!(import(&[&html, &good]).2, 1);
    assert_eq!(import(&[&html]).2, 2);
}

#[test]
fn addresses_are_replaced_and_sites_and_days_are_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let xml = urlset(
        "<url><loc>https://staging.example.com/a</loc><lastmod>2026-11-01</lastmod></url>\
         <url><loc>https://staging.example.com.evil/b</loc><lastmod>2026-11-01</lastmod></url>\
         <url><loc>https://staging.example.com/c</loc><lastmod>2026-01-01</lastmod></url>\
         <url><loc>https://staging.example.com/d</loc></url>",
    );
    let file = write(&folder, "post-sitemap.xml", &xml);
    let (records, report, _) = import(&[
        &file,
        "--map-url",
        "https://staging.example.com/=https://www.example.com/",
        "--site",
        "www.example.com",
        "--since",
        "2026-06-01",
    ]);
    let urls: Vec<_> = records
        .iter()
        .map(|record| record["url"].as_str().unwrap())
        .collect();
    assert_eq!(
        urls,
        ["https://www.example.com/a", "https://www.example.com/d"]
    );
    let skipped = expected([
        ("it is not on www.example.com (--site)", 1),
        ("it is older than --since", 1),
    ]);
    assert_eq!(counts(&report["skipped"]), skipped);
}

#[test]
fn a_site_with_http_needs_its_settings() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder, "urls.txt", "http://www.example.com/a\n");
    let (_, report, _) = import(&[&file]);
    assert_eq!(
        (&report["listed"], counts(&report["left_out"])),
        (&json!(0), expected([("foreign_url", 1)]))
    );
    let (records, report, _) = import(&[&file, "--settings"]);
    assert_eq!(report["listed"], 1);
    assert_eq!(records[1]["base_url"], "http://www.example.com");
}

#[test]
fn a_file_has_its_name_once_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("records.jsonl.gz");
    let arguments = [
        "--json",
        "import",
        "examples/wordpress/posts.csv",
        "--output",
        out.to_str().unwrap(),
    ];
    let output = waymark(&arguments).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["records"], errors(&output).as_str()),
        (&json!(4), "")
    );
    let mut text = String::new();
    let gzip = flate2::read::GzDecoder::new(fs::File::open(&out).unwrap());
    std::io::Read::read_to_string(&mut { gzip }, &mut text).unwrap();
    assert_eq!(text.lines().count(), 4);
    let names = fs::read_dir(folder.path()).unwrap();
    assert_eq!(names.count(), 1);
    // Records and report cannot both go to standard output.
    let output = waymark(&["--json", "import", "examples/wordpress/posts.csv"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("--output"), "{}", errors(&output));
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let many: String = (0..50_000).fold(String::new(), |mut text, at| {
        writeln!(text, "https://www.example.com/{at}").unwrap();
        text
    });
    let file = write(&folder, "urls.txt", &many);
    let mut child = waymark(&["import", &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), first.starts_with('{')),
        (Some(0), true),
        "{}",
        errors(&output)
    );
}

/// A site as Yoast makes it: by name its sitemaps, three of them of posts.
fn yoast(origin: &str) -> BTreeMap<String, String> {
    let style = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><?xml-stylesheet type=\"text/xsl\" \
        href=\"//www.example.com/wp-content/plugins/wordpress-seo/css/main-sitemap.xsl\"?>\n";
    let end = "<!-- XML Sitemap generated by Yoast SEO -->";
    let mut files = BTreeMap::new();
    let series = [
        ("post", 87),
        ("page", 3),
        ("category", 2),
        ("post_tag", 41),
        ("author", 1),
    ];
    let mut index = String::new();
    for (name, entries) in series {
        for (n, first) in (0..entries).step_by(40).enumerate() {
            let number = if n == 0 {
                String::new()
            } else {
                (n + 1).to_string()
            };
            let file = format!("{name}-sitemap{number}.xml");
            let mut text = format!(
                "{style}<urlset {NAMESPACES} xsi:schemaLocation=\"http://www.sitemaps.org/schemas/sitemap/0.9 \
                http://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd\">\n"
            );
            for at in first..entries.min(first + 40) {
                let image = match at % 3 {
                    0 if name == "post" => format!(
                        "\t\t<image:image>\n\t\t\t<image:loc>https://www.example.com/wp-content/uploads/{at}.jpg</image:loc>\n\t\t</image:image>\n"
                    ),
                    _ => String::new(),
                };
                writeln!(
                    text,
                    "\t<url>\n\t\t<loc>https://www.example.com/{name}/{at}/</loc>\n\
                    \t\t<lastmod>2026-11-{:02}T07:30:00+00:00</lastmod>\n{image}\t</url>",
                    at % 20 + 1
                )
                .unwrap();
            }
            writeln!(text, "</urlset>\n{end}").unwrap();
            files.insert(format!("/{file}"), text);
            writeln!(
                index,
                "\t<sitemap>\n\t\t<loc>https://www.example.com/{file}</loc>\n\
                \t\t<lastmod>2026-11-20T07:30:00+00:00</lastmod>\n\t</sitemap>"
            )
            .unwrap();
        }
    }
    files.insert("/sitemap_index.xml".to_owned(), format!(
        "{style}<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{index}</sitemapindex>\n{end}"
    ));
    let robots = format!(
        "# START YOAST BLOCK\nUser-agent: *\nDisallow:\n\nSitemap: {origin}/sitemap_index.xml\n"
    );
    files.insert("/robots.txt".to_owned(), robots);
    files
}

/// Serves files on loopback until the test's process ends; returns the origin.
fn serve(files: BTreeMap<String, String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            answer(&files, stream);
        }
    });
    origin
}

fn answer(files: &BTreeMap<String, String>, mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    lines.map_while(Result::ok).find(|line| line.is_empty());
    let path = first.split(' ').nth(1).unwrap_or("/");
    let (status, body) = match files.get(path) {
        Some(body) => ("200 OK", body.as_str()),
        None => ("404 Not Found", ""),
    };
    let kind = if path.ends_with(".txt") {
        "text/plain"
    } else {
        "text/xml"
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // A client that has left is no failure of the server's.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body.as_bytes());
}

#[test]
fn a_site_is_read_over_http_by_its_robots() {
    let origin = serve(yoast("https://www.example.com"));
    let map = format!("https://www.example.com={origin}");
    let (records, report, status) =
        import(&["https://www.example.com/", "--map", &map, "--rate", "0"]);
    assert_eq!((records.len(), status), (134, 0), "{report:#}");
    assert_eq!(report["sources"][0]["documents"], 9);
    assert_eq!(report["listed"], 134);
    // Of a sitemap that is missing it says so, and the rest is there.
    let mut files = yoast("https://www.example.com");
    files.remove("/post-sitemap2.xml");
    let map = format!("https://www.example.com={}", serve(files));
    let (records, report, status) =
        import(&["https://www.example.com/", "--map", &map, "--rate", "0"]);
    assert_eq!((records.len(), status), (94, 1));
    assert_eq!(
        report["sources"][0]["problems"],
        json!(["https://www.example.com/post-sitemap2.xml: status 404"])
    );
}

/// The addresses that an index and its sitemaps list, by the sitemap's name.
fn listed(files: &dyn Fn(&str) -> String) -> BTreeMap<String, BTreeSet<String>> {
    let locs = |xml: &str| -> Vec<String> {
        let parts = xml.split("<loc>").skip(1);
        parts
            .map(|part| part.split("</loc>").next().unwrap().to_owned())
            .collect()
    };
    let names = locs(&files("/sitemap_index.xml"));
    let sitemap = |name: String| {
        let path = name
            .strip_prefix("https://www.example.com")
            .unwrap()
            .to_owned();
        let locs = locs(&files(&path)).into_iter().collect();
        (path, locs)
    };
    names.into_iter().map(sitemap).collect()
}

#[cfg(feature = "serve")]
#[test]
fn a_site_of_yoasts_that_is_imported_and_published_has_the_same_sitemaps() {
    let folder = tempfile::tempdir().unwrap();
    let files = yoast("https://www.example.com");
    for (path, text) in &files {
        fs::write(folder.path().join(&path[1..]), text).unwrap();
    }
    let records = folder.path().join("records.jsonl");
    let records = records.to_str().unwrap();
    let source = folder.path().to_str().unwrap();
    let output = waymark(&["import", source, "--settings", "--output", records])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let text = fs::read_to_string(records).unwrap();
    assert!(text.contains("\"entries_per_sitemap\":40"), "{text}");

    let arguments = [
        "--json",
        "serve",
        "--content",
        records,
        "--port",
        "0",
        "--dynamodb-port",
        "0",
        "--s3-port",
        "0",
    ];
    let mut stack =
        documented::Running(waymark(&arguments).stdout(Stdio::piped()).spawn().unwrap());
    let out = stack.0.stdout.take().unwrap();
    let mut json = serde_json::Deserializer::from_reader(out).into_iter::<Value>();
    let served = json.next().unwrap().unwrap();
    let site = served["site"]
        .as_str()
        .unwrap()
        .strip_prefix("http://")
        .unwrap();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(site).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nhost: www.example.com\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 "), "{path}: {head}");
        body.to_owned()
    };
    let published = listed(&get);
    let original = listed(&|path| files[path].clone());
    let names = |of: &BTreeMap<String, BTreeSet<String>>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&published), names(&original));
    let all = |of: BTreeMap<String, BTreeSet<String>>| {
        of.into_values().flatten().collect::<BTreeSet<_>>()
    };
    assert_eq!(all(published), all(original));
    // Imported once more, it is the same but for the form of what was written.
    let map = format!("https://www.example.com=http://{site}");
    let (again, report, status) = import(&[
        "https://www.example.com/sitemap_index.xml",
        "--map",
        &map,
        "--rate",
        "0",
    ]);
    assert_eq!((again.len(), status), (134, 0), "{report:#}");
    let sorted = |mut records: Vec<Value>| {
        records.retain(|record| record["type"] != "site");
        records.sort_by_key(|record| record["id"].to_string());
        records
    };
    let first = text.lines().map(|line| serde_json::from_str(line).unwrap());
    assert_eq!(sorted(again), sorted(first.collect()));
}

#[test]
fn what_the_documentation_shows_is_what_happens() {
    documented::check("docs/cli/import.md");
}
