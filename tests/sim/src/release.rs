//! Tests that a release reads the rows of the previous one, because functions of both run on one table during a deployment.
//!
//! `rows-VERSION.json` has the rows of the full world of `loss`, one on each line, as that release wrote them. After the release
//! its file never changes. `cargo test -p waymark-sim -- --ignored rows_of_this_version_are_written` writes the file of the
//! current version.

use std::path::{Path, PathBuf};

use engine::sweep::audit::Problem;
use serde_json::{Map, Value as Json, json};
use table::{Item, Value};

use crate::loss::{in_a_full_world, is_made_good, name};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("releases")
}

/// Returns a row in DynamoDB's JSON.
fn json_of(item: &Item) -> Json {
    let attribute = |value: &Value| match value {
        Value::Text(text) => json!({"S": text}),
        Value::Number(digits) => json!({"N": digits}),
        Value::Bool(yes) => json!({"BOOL": yes}),
        Value::TextSet(texts) => json!({"SS": texts}),
        value => panic!("rows have no such attributes: {value:?}"),
    };
    let attributes = item.iter();
    let attributes = attributes.map(|(name, value)| (name.to_string(), attribute(value)));
    Json::Object(attributes.collect())
}

fn item_of(row: &Json) -> Item {
    let attributes: &Map<String, Json> = row.as_object().expect("a row");
    let mut item = Item::new();
    for (name, value) in attributes {
        let (kind, value) = value
            .as_object()
            .and_then(|one| one.iter().next())
            .expect("one");
        let text = |value: &Json| value.as_str().expect("a text").to_owned();
        item.set(
            name.clone(),
            match kind.as_str() {
                "S" => Value::Text(text(value)),
                "N" => Value::Number(text(value)),
                "BOOL" => Value::Bool(value == &json!(true)),
                "SS" => Value::TextSet(value.as_array().expect("texts").iter().map(text).collect()),
                kind => panic!("rows have no such attributes: {kind}"),
            },
        );
    }
    item
}

#[test]
#[ignore = "writes a file, once for each release"]
fn rows_of_this_version_are_written() {
    in_a_full_world(async |run| {
        let rows = run.world.items().await;
        let lines: String = rows
            .iter()
            .map(|row| format!("{}\n", json_of(row)))
            .collect();
        let path = folder().join(concat!("rows-", env!("CARGO_PKG_VERSION"), ".json"));
        std::fs::write(path, lines).expect("the file is written");
    });
}

#[test]
fn rows_of_each_release_are_read() {
    let files = std::fs::read_dir(folder()).expect("releases");
    let files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    assert!(!files.is_empty());
    for file in files {
        in_a_full_world(async move |mut run| {
            let rows = std::fs::read_to_string(&file).expect("rows");
            let rows = rows
                .lines()
                .map(|row| serde_json::from_str(row).expect("JSON"));
            let rows: Vec<Item> = rows.map(|row| item_of(&row)).collect();
            for row in run.world.items().await {
                let name = name(&row);
                let (pk, sk) = name.split_once(' ').expect("two keys");
                run.world.lose_row(pk, sk).await;
            }
            for key in run.world.published().await.into_keys() {
                run.world.lose_object(&key, 0).await;
            }
            for row in rows {
                run.world.damage_row(row).await;
            }
            let found = run.world.audit(false).await.expect("an audit");
            for finding in found.expect("no scan is under way") {
                assert_eq!(
                    finding.problem,
                    Problem::ObjectLost,
                    "{}: {finding}",
                    file.display()
                );
            }
            is_made_good(&mut run, &file.display().to_string()).await;
        });
    }
}
