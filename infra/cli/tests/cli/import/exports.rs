//! What other systems export.

use serde_json::{Value, json};

use crate::import::{counts, expected, find, import, waymark, write};
use crate::limited::Limited as _;

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
        ("post/28", "status", json!("draft")), // unknown
        (
            "post/27",
            "published_at",
            json!("2009-05-06T07:08:09+00:00"),
        ), // of the local one
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
        ("shop_order is not public, by its addresses", 1),
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

/// Imports an example and returns its records. Checks their ids, how many would be listed, and what is not imported.
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
    assert_eq!((records.len(), status), (0, 2));
}

#[test]
fn the_examples_of_other_systems_are_imported() {
    let mapping = Some("wordpress/rest-mapping.json");
    let records = example(
        "wordpress/rest.json",
        mapping,
        ["post/10", "page/13", "post/23", "post/17", "page/18"],
        1,
        [],
    );
    assert_eq!(records[2]["title"], "Twin & twin");
    assert_eq!(records[4]["visibility"], "password");
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
    assert_eq!(status, 2);
    let mapping = r#"{"items": "rows", "fields": {"type": {"constant": "a"}, "url": "u"}}"#;
    let mapping = write(&folder, "mapping.json", mapping);
    let (_, report, status) = import(&[&file, "--mapping", &mapping]);
    let problem = report["sources"][0]["problems"][0].as_str().unwrap();
    assert!(problem.contains("no list at \"rows\""), "{problem}");
    assert_eq!(status, 2);
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

#[test]
fn what_the_rest_api_protects_is_not_public() {
    let folder = tempfile::tempdir().unwrap();
    let post = |id: u32, title: &str, content: Value| {
        json!({"id": id, "date_gmt": "2026-10-01T08:00:00", "modified_gmt": "2026-11-02T07:30:00", "status": "publish",
            "type": "post", "link": format!("https://www.example.org/{id}/"), "title": {"rendered": title}, "content": content})
    };
    let posts = json!([
        post(
            1,
            "Fish &#038; Chips &#8211; a &lt;guide&gt;",
            json!({"rendered": "<p>x</p>", "protected": false})
        ),
        post(
            2,
            "Protected: Members",
            json!({"rendered": "", "protected": true})
        ),
        // Nobody knows, without the content.
        post(3, "Bread", json!({"rendered": ""})),
    ]);
    let file = write(&folder, "posts.json", &posts.to_string());
    let (records, report, status) =
        import(&[&file, "--mapping", "examples/wordpress/rest-mapping.json"]);
    assert_eq!((records.len(), status), (2, 0));
    assert_eq!(
        (&records[0]["title"], &records[0]["visibility"]),
        (&json!("Fish & Chips – a <guide>"), &json!("public"))
    );
    assert_eq!(records[1]["visibility"], "password");
    assert_eq!(
        (&report["listed"], counts(&report["left_out"])),
        (&json!(1), expected([("not_visible", 1)]))
    );
    assert_eq!(
        counts(&report["skipped"]),
        expected([("its visibility cannot be told", 1)])
    );
}

#[test]
fn a_mapping_names_fields_that_are_html() {
    let folder = tempfile::tempdir().unwrap();
    let items = "{\"url\": \"https://www.example.org/?a=1&amp;b\", \"t\": \"A &amp; B\", \"i\": [{\"url\": \"https://www.example.org/a\", \"caption\": \"C &amp; D\"}]}\n";
    let items = write(&folder, "items.jsonl", items);
    let mapping = |html: &Value| {
        let fields =
            json!({"type": {"constant": "post"}, "url": "url", "title": "t", "images": "i"});
        let mapping = json!({"html": html, "fields": fields});
        write(&folder, "mapping.json", &mapping.to_string())
    };
    let (records, _, _) = import(&[
        &items,
        "--mapping",
        &mapping(&json!(["title", "images", "news"])),
    ]);
    assert_eq!(records[0]["title"], "A & B");
    assert_eq!(records[0]["images"][0]["caption"], "C & D");
    assert_eq!(records[0]["url"], "https://www.example.org/?a=1&amp;b");
    for html in [
        json!("title"),
        json!([]),
        json!(["title", 7]),
        json!(["headline"]),
    ] {
        let mapping = mapping(&html);
        let output = waymark(&["import", &items, "--mapping", &mapping]).output_in_time();
        let text = String::from_utf8(output.stderr).unwrap();
        let reason = format!("html: {html} is not a list of fields such as [\"title\"]");
        assert_eq!(
            (output.status.code(), text.contains(&reason)),
            (Some(2), true),
            "{text}"
        );
    }
}
