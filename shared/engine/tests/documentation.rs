//! `docs/cli/audit.md` lists what an audit can find.

use std::collections::BTreeSet;

/// Returns the text between `begin` and `end` of `source`.
fn between<'s>(source: &'s str, begin: &str, end: &str) -> &'s str {
    let (_, rest) = source.split_once(begin).expect(begin);
    rest.split_once(end).expect(end).0
}

/// Returns the name of a variant: `RowUnknown` for `row_unknown`.
fn variant(name: &str) -> String {
    let words = name.split('_');
    words
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect()
}

#[test]
fn every_finding_is_documented_and_the_harmless_ones_are_said_to_be() {
    let source = include_str!("../src/sweep/audit/finding.rs");
    let names = between(source, "pub fn name(self)", "\n    }\n");
    let names: BTreeSet<&str> = names.split('"').skip(1).step_by(2).collect();
    let harmless = between(source, "pub fn is_harmless(self)", "\n    }\n");

    let page = include_str!("../../../docs/cli/audit.md");
    let (_, section) = page.split_once("\n## Findings\n").expect("the section");
    let rows: Vec<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .collect();
    let documented: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.split('`').next())
        .collect();
    assert_eq!(documented, names);
    assert_eq!(rows.len(), names.len());
    for (name, row) in rows.iter().filter_map(|row| row.split_once('`')) {
        let is_harmless = harmless.contains(&format!("Self::{}", variant(name)));
        assert_eq!(row.ends_with(". Harmless |"), is_harmless, "{name}");
    }
}
