//! `waymark mapping --items` and `--suggest`, also on what real object mappers wrote (`tests/systems`).

#![cfg(feature = "serve")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cli::mapping::suggest::suggest;
use cli::mapping::{items_of, map_item, read};
use serde_json::{Value, json};

use crate::command::run;
use crate::serve::serve;

/// The time of the pages: 2026-03-02.
const NOW: i64 = 1_772_409_600;
const ORIGIN: &str = "https://www.lantern.example";

/// Returns the folders of the object mappers.
fn mappers() -> BTreeMap<String, PathBuf> {
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/systems");
    let folders = fs::read_dir(systems).unwrap();
    let folders = folders.map(|folder| folder.unwrap().path());
    let mappers = folders.filter(|folder| folder.join("items.json").exists());
    let named = mappers.map(|folder| {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        (name, folder)
    });
    named.collect()
}

/// Tries the proposals on the rows of real mappers: a proposal is right if it lists the right pages.
#[test]
fn proposals_for_what_object_mappers_write_list_the_right_pages() {
    let mappers = mappers();
    let content = mappers.values().next().unwrap().join("../content.json");
    let content: Value = serde_json::from_str(&fs::read_to_string(content).unwrap()).unwrap();
    let listed = content["listed"].as_object().unwrap();
    let expected: BTreeSet<String> = listed.keys().cloned().collect();
    let mut wrong = BTreeMap::new();
    for (name, folder) in &mappers {
        let items = items_of(&fs::read_to_string(folder.join("items.json")).unwrap()).unwrap();
        let suggestion = suggest(&items, None, Some(ORIGIN)).unwrap();
        let source = read("pages", &suggestion.mapping.to_string()).unwrap();
        let mapped = items.into_iter().map(|item| map_item(&source, item, NOW));
        let mapped: BTreeSet<String> = mapped.filter_map(|mapped| mapped.loc).collect();
        if mapped != expected {
            wrong.insert(name.as_str(), suggestion.mapping.to_string());
        }
    }
    println!(
        "right: {} of {}",
        mappers.len() - wrong.len(),
        mappers.len()
    );
    assert!(mappers.len() >= 16, "{mappers:?}");
    assert_eq!(wrong, BTreeMap::new());
}

#[test]
fn a_sample_is_counted_and_a_proposal_says_what_is_unsure() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let items = write(
        "items.jsonl",
        "{\"pk\": \"P#1\", \"sk\": \"M\", \"entity\": \"Post\", \"path\": \"/a/b\", \"isPublished\": true, \"updatedAt\": 1772360430, \"cover\": \"/1.jpg\"}\n\
         {\"pk\": \"P#2\", \"sk\": \"M\", \"entity\": \"Post\", \"path\": \"/c\", \"isPublished\": false, \"updatedAt\": 1772360431, \"created\": \"2026-01-01\"}\n",
    );
    let proposed = ["mapping", "--items", &items, "--suggest"];
    let (status, out, errors) = run(&proposed);
    assert_eq!(status, Some(0), "{errors}");
    let mapping: Value = serde_json::from_str(&out).unwrap();
    let expected = json!({
        "key": [{"pk": "S"}, {"sk": "S"}],
        "only": {"entity": "Post"},
        "fields": {
            "type": {"constant": "post"},
            "url": {"template": "https://www.example.com/{+path}"},
            "status": {"path": "isPublished", "values": {"true": "published", "false": "draft"}},
            "modified_at": {"path": "updatedAt", "time": "seconds"},
            "images": {"list": [{"object": {"url": {"path": "cover", "base": "https://www.example.com/"}}}]},
        },
    });
    assert_eq!(mapping, expected);
    for said in [
        "unsure:\n",
        "  key is guessed",
        "  url: the host, and what is before and behind path",
        "  published_at: created may be",
        "  images: the host of cover",
        "with it, 1 of 2 items would be listed\n",
    ] {
        assert!(errors.contains(said), "{said}: {errors}");
    }
    let file = write("mapping.json", &out);
    let (status, out, errors) = run(&["mapping", &file, "--items", &items]);
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    assert!(out.starts_with("2 items: 2 pages\n"), "{out}");
    let (_, out, _) = run(&["mapping", &file, "--items", &items, "--json"]);
    let counted: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(counted["fields"]["images"]["missing"]["count"], 1);
    assert_eq!(counted["left_out"]["not_published"]["count"], 1);

    for (more, said) in [
        (
            &["mapping", "--suggest"][..],
            "--items <FILE>|--table <NAME>",
        ),
        (
            &["mapping", &file, "--items", &items, "--suggest"],
            "cannot be used with",
        ),
        (
            &["mapping", &file, "--items", &items, "--table", "t"],
            "cannot be used with",
        ),
        (&["mapping", &file, "--origin", ORIGIN], "--suggest"),
        (&["mapping", &file, "--sample", "5"], "--table"),
    ] {
        let (status, _, errors) = run(more);
        assert!(
            status == Some(2) && errors.contains(said),
            "{more:?}: {errors}"
        );
    }
    let none = write("none.json", "{\"Items\": []}");
    let (status, _, errors) = run(&["mapping", "--items", &none, "--suggest"]);
    assert!(
        status == Some(2) && errors.contains("there are no items"),
        "{errors}"
    );
}

#[test]
fn a_sample_of_a_table_is_read_with_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mapping = write(
        "mapping.json",
        r#"{"key": [{"page": "S"}], "fields": {"type": {"constant": "post"}, "url": {"template": "https://www.a.example/{slug}"}}}"#,
    );
    let items: Vec<String> = (0..7)
        .map(|n| json!({"page": format!("p{n}"), "slug": format!("s{n}"), "id": "i"}).to_string())
        .collect();
    let items = write("items.jsonl", &items.join("\n"));
    let stack = serve(&["--source-table", "posts", "--source-mapping", &mapping]);
    let (status, _, errors) = stack.run(&["load", &items, "--table", "posts"]);
    assert_eq!(status, Some(0), "{errors}");
    let (status, out, errors) =
        stack.run(&["mapping", &mapping, "--table", "posts", "--sample", "5"]);
    assert_eq!(status, Some(0), "{errors}");
    assert!(out.starts_with("5 items: 5 pages\n"), "{out}");
    let (status, out, errors) = stack.run(&["mapping", "--table", "posts", "--suggest"]);
    assert_eq!(status, Some(0), "{errors}");
    let proposed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(proposed["key"], json!([{"page": "S"}]));
    let (status, _, errors) = stack.run(&["mapping", "--table", "none", "--suggest"]);
    assert!(status == Some(2) && errors.contains("none"), "{errors}");
}
