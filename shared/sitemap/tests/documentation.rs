//! The README lists the fields of a content record, and marks those that decide whether a page is listed.

use std::collections::BTreeMap;

use sitemap::record::schema::{FIELDS, Role};

/// The fields that a table row names, and whether it marks them: "| `changefreq`, `priority` | | …".
fn fields(row: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut cells = row.split('|').skip(1);
    let (names, mark) = (cells.next().unwrap_or_default(), cells.next());
    let is_marked = mark.is_some_and(|mark| mark.trim() == "!");
    let names = names.split('`').skip(1).step_by(2);
    names.map(move |name| (name, is_marked))
}

#[test]
fn the_readme_lists_every_field_and_marks_those_that_decide() {
    let readme = include_str!("../../../README.md");
    let (_, section) = readme
        .split_once("\n## The content record\n")
        .expect("a section of the record");
    let rows = section.lines().skip_while(|line| !line.starts_with("| `"));
    let rows = rows.take_while(|line| line.starts_with('|'));
    let listed: BTreeMap<&str, bool> = rows.flat_map(fields).collect();
    let fields = FIELDS
        .iter()
        .map(|field| (field.name, field.role != Role::Adds));
    let expected: BTreeMap<&str, bool> = fields.chain([("id", true)]).collect();
    assert_eq!(listed, expected);
}
