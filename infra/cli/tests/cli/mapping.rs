//! `waymark mapping`, what a stack does with a mapped table's archives, and the examples of `docs/MAPPING.md`.

#![cfg(feature = "serve")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sitemap::mapping::{ExportMapping, Mapping};
use sitemap::record::ContentRecord;

use crate::command::run;
use crate::serve::serve;

const MAPPING: &str = r#"{"key": [{"id": "S"}], "fields": {"type": {"constant": "post"},
    "url": {"template": "https://www.a.example/{slug}"}, "terms": {"object": {"tag": "tags", "author": {"list": ["by"]}}}}}"#;

fn documentation() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/MAPPING.md");
    fs::read_to_string(file).unwrap()
}

/// Returns the rows of the table of the documentation that has these heads: the code spans of each row.
fn rows(heads: &str) -> Vec<Vec<String>> {
    let text = documentation();
    let lines = text.lines().skip_while(|line| *line != heads).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    // Code spans are every second part.
    let spans = rows.map(|row| {
        row.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    });
    let spans: Vec<Vec<String>> = spans.collect();
    assert!(!spans.is_empty(), "{heads}");
    spans
}

fn mapping(fields: Value) -> Mapping {
    let mut all =
        json!({"type": {"constant": "post"}, "url": {"constant": "https://www.example.com/"}});
    let all_fields = all.as_object_mut().unwrap();
    all_fields.extend(fields.as_object().unwrap().clone());
    Mapping::parse(&json!({"key": [{"id": "S"}], "fields": all}).to_string()).unwrap()
}

#[test]
fn the_documented_examples_give_the_documented_values() {
    for row in rows("| field | item | value |") {
        let [field, item, expected] = row.as_slice() else {
            panic!("{row:?}");
        };
        let fields: Value = serde_json::from_str(&format!("{{{field}}}")).unwrap();
        let item: Value = serde_json::from_str(item).unwrap();
        let expected: Value = serde_json::from_str(expected).unwrap();
        let name = fields.as_object().unwrap().keys().next().unwrap().clone();
        let mapping = mapping(fields);
        assert_eq!(mapping.content(&item).0[&name], expected, "{field}");
        let record = mapping.record("@1", &item).unwrap();
        assert_eq!(record.problems, [], "{field}");
    }
}

#[test]
fn every_documented_source_is_one() {
    let names = ["title", "modified_at", "terms", "images", "status", "type"];
    for row in rows("| source | gives |") {
        let source: Value = serde_json::from_str(&row[0]).unwrap();
        let is_source = names.iter().any(|name| {
            let mut fields = json!({"type": {"constant": "post"}, "url": "url"});
            fields[name] = source.clone();
            let text = json!({"key": [{"id": "S"}], "fields": fields}).to_string();
            Mapping::parse(&text).is_ok()
        });
        // A list or an object may have the shape of no field alone.
        let of_terms = json!({"terms": {"object": {"tag": source}}});
        let with_terms =
            json!({"type": {"constant": "post"}, "url": "url", "terms": of_terms["terms"]});
        let text = json!({"key": [{"id": "S"}], "fields": with_terms}).to_string();
        let of_news = json!({"type": {"constant": "post"}, "url": "url", "news": source});
        let news = json!({"key": [{"id": "S"}], "fields": of_news}).to_string();
        let is_part = Mapping::parse(&text).is_ok() || Mapping::parse(&news).is_ok();
        assert!(is_source || is_part, "{source}");
    }
}

/// Returns the documented mappings: those for tables, then those for exports.
fn documented() -> (Vec<String>, Vec<String>) {
    let text = documentation();
    let mut blocks = text.split("\n    {\n").skip(1).map(|rest| {
        let (block, _) = rest.split_once("\n    }\n").unwrap();
        format!("{{\n{block}\n}}")
    });
    let blocks: Vec<String> = blocks.by_ref().collect();
    blocks
        .into_iter()
        .partition(|block| block.contains("\"key\""))
}

#[test]
fn every_documented_mapping_is_one() {
    let (tables, exports) = documented();
    assert_eq!((tables.len(), exports.len()), (2, 1));
    for mapping in tables {
        Mapping::parse(&mapping).unwrap();
    }
    for mapping in exports {
        ExportMapping::parse(&mapping).unwrap();
    }
}

#[test]
fn a_second_table_is_imported_from_its_scan() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (mapping, scan, records) = (
        path("mapping.json"),
        path("products.json"),
        path("out.jsonl"),
    );
    fs::write(&mapping, &documented().1[0]).unwrap();
    let item = json!({"sku": {"S": "7"}, "slug": {"S": "tea pot"}, "hidden": {"BOOL": false},
        "updated": {"N": "1772360430"}, "media": {"L": [{"S": "https://img.example.com/7.jpg"}]}});
    let scanned = json!({"Items": [item], "Count": 1, "ScannedCount": 1, "ConsumedCapacity": null});
    fs::write(&scan, scanned.to_string()).unwrap();
    let (status, _, errors) = run(&[
        "import",
        &scan,
        "--from",
        "json",
        "--mapping",
        &mapping,
        "--output",
        &records,
    ]);
    assert_eq!(status, Some(0), "{errors}");
    let record: Value = serde_json::from_str(&fs::read_to_string(&records).unwrap()).unwrap();
    let expected = json!({"id": "product/7", "type": "product", "url": "https://www.example.com/p/tea%20pot/",
        "noindex": false, "modified_at": "2026-03-01T10:20:30+00:00", "images": [{"url": "https://img.example.com/7.jpg"}]});
    assert_eq!(record, expected);
    assert_eq!(ContentRecord::parse("product/7", &record).problems, []);
}

#[test]
fn options_of_archives_need_it() {
    let folder = tempfile::tempdir().unwrap();
    let mapping = folder.path().join("mapping.json");
    fs::write(&mapping, MAPPING).unwrap();
    let mapping = mapping.to_str().unwrap();
    for (more, said) in [
        (&["--stack", "w"][..], "--archives"),
        (&["--s3-port", "9000"], "--archives"),
        (&["--archive-url", "tag=/tag/{slug}/"], "--archives"),
        (&["--archives", "t", "--item", "i.json"], "--item"),
        (
            &["--archives", "t", "--archive-url", "tag"],
            "is not TAXONOMY=PATH",
        ),
        (
            &["--archives", "t", "--archive-url", "tag=/tag/"],
            "contain {slug}",
        ),
        (
            &["--archives", "t", "--archive-url", "tag=tag/{slug}"],
            "begin with /",
        ),
        (
            &["--archives", "t", "--archive-url", "tag=/{path}/{slug}"],
            "{slug}, which is the term",
        ),
    ] {
        let (status, out, errors) = run(&[&["mapping", mapping], more].concat());
        assert_eq!((status, out.as_str()), (Some(2), ""), "{more:?}");
        assert!(errors.contains(said), "{more:?}: {errors}");
    }
}

/// A table of pages gets its archives: they are told as missing, made, loaded, and listed.
#[test]
fn the_archives_of_a_mapped_table_get_records() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mapping = write("mapping.json", MAPPING);
    let own = r#"{"id": "jane", "type": "author", "url": "https://www.a.example/by/jane", "archive_of": {"taxonomy": "author", "term": "jane"}}"#;
    let content = write("content.jsonl", own);
    let items = write(
        "items.jsonl",
        "{\"id\": \"x\", \"slug\": \"one\", \"tags\": [\"hot soup\", \"tea\"], \"by\": \"jane\"}\n{\"id\": \"y\", \"slug\": \"two\", \"tags\": [\"tea\"]}\n",
    );
    let table = ["--source-table", "posts", "--source-mapping", &mapping];
    let stack = serve(&[&["--content", &content], &table[..]].concat());
    let published = || {
        let until = ["status", "--until", "published", "--timeout", "200s"];
        let (status, out, errors) = stack.run(&[&until[..], &table].concat());
        assert_eq!(status, Some(0), "{out}{errors}");
    };
    let archives = |more: &[&str]| {
        let command = ["mapping", &mapping, "--archives", "posts"];
        stack.run(&[&command[..], more].concat())
    };
    // An empty table has no page, and Waymark's own are none of the user's.
    let (status, _, errors) = archives(&[]);
    let none = "waymark: posts: no item is a page by this mapping\n";
    assert_eq!((status, errors.as_str()), (Some(2), none));
    let (status, _, errors) = stack.run(&["mapping", &mapping, "--archives", "waymark-content"]);
    assert!(
        status == Some(2) && errors.contains("one of Waymark's own tables"),
        "{errors}"
    );

    let (status, _, errors) = stack.run(&["load", &items, "--table", "posts"]);
    assert_eq!(status, Some(0), "{errors}");
    published();
    let soup = "https://www.a.example/tag/hot%20soup/";
    let explained = |what: &str| stack.run(&[&["explain", what], &table[..]].concat()).1;
    let missing = "archives without a page that may be listed: tag hot soup, tag tea";
    let page = explained("@x");
    assert!(
        page.contains("in the archive author jane") && page.contains(missing),
        "{page}"
    );
    let nobody = explained(soup);
    assert!(
        nobody.contains("no record has this address") && nobody.contains("the term tag hot soup,"),
        "{nobody}"
    );
    assert!(
        !explained("https://www.a.example/jane").contains("the term"),
        "its archive has a record"
    );

    let (status, out, errors) = archives(&[]);
    assert_eq!(status, Some(1), "{errors}");
    assert_eq!(
        (out.lines().count(), out.matches("\"url\":null").count()),
        (2, 2),
        "{out}"
    );
    assert!(
        errors.contains("tag: 2 records without url: give --archive-url tag="),
        "{errors}"
    );
    let urls = [
        "--archive-url",
        "tag=/tag/{slug}/",
        "--archive-url",
        "place=/{slug}",
    ];
    let (status, out, errors) = archives(&urls);
    assert_eq!(status, Some(0), "{errors}");
    for said in [
        "made 2 records; 1 more archive has one already",
        "place: no page has a term of it",
    ] {
        assert!(errors.contains(said), "{errors}");
    }
    let (_, document, _) = archives(&[&urls[..], &["--json"]].concat());
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["records"][0]["url"], soup);
    assert_eq!(
        (&document["existing"], &document["unused"]),
        (&json!(1), &json!(["place"]))
    );

    // The dry run knows the pages of the stack's tables if it is told where they are.
    let made = write(
        "archives.jsonl",
        &(out
            + "\n{\"id\":\"none\",\"type\":\"tag\",\"url\":\"https://www.a.example/none\",\"archive_of\":{\"taxonomy\":\"tag\",\"term\":\"none\"}}\n"),
    );
    let dry_run = |more: &[&str]| {
        let (status, out, errors) = stack.run(&[&["load", "--dry-run", &made], more].concat());
        assert_eq!(status, Some(0), "{errors}");
        let count = |name: &str| {
            let line = out.lines().find(|line| line.trim_start().starts_with(name));
            line.map_or("", |line| line.rsplit(' ').next().unwrap())
                .to_owned()
        };
        ([count("would be listed"), count("empty_archive")], errors)
    };
    let (counts, errors) = dry_run(&[]);
    assert_eq!(counts, ["0", "3"]);
    assert!(
        errors.starts_with("3 archives are counted as empty_archive"),
        "{errors}"
    );
    let (counts, errors) = dry_run(&table);
    assert_eq!(
        (counts, errors.as_str()),
        (["2".to_owned(), "1".to_owned()], "")
    );
    let (_, out, _) = stack.run(&["load", "--dry-run", &made, "--json"]);
    let run: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(run["archives_not_looked_up"], 3);

    let (status, _, errors) = stack.run(&["load", &made]);
    assert_eq!(status, Some(0), "{errors}");
    published();
    let sitemap = stack.get("/tag-sitemap.xml");
    for path in ["hot%20soup", "tea"] {
        let loc = format!("<loc>https://www.a.example/tag/{path}/</loc>");
        assert!(sitemap.contains(&loc), "{sitemap}");
    }
    let page = explained("@x");
    assert!(
        page.contains("in the archive tag tea") && !page.contains("archives without a page"),
        "{page}"
    );
    let (status, out, errors) = archives(&urls);
    assert_eq!((status, out.as_str()), (Some(0), ""), "{errors}");
    assert!(
        errors.contains("made 0 records; 3 more archives have one already"),
        "{errors}"
    );
}
