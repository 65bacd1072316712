//! Replays the corpus of the fuzz targets: checks each input once.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_input_of_the_corpus_holds() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus"));
    let mut names = BTreeSet::new();
    for folder in std::fs::read_dir(corpus).expect("the corpus") {
        let folder = folder.expect("a folder a check").path();
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let check = hostile::CHECKS.iter().find(|(known, _)| *known == name);
        let (_, check) = check.expect("a check of this name");
        let mut inputs = 0;
        for input in std::fs::read_dir(&folder).expect("inputs") {
            let input = input.expect("an input").path();
            println!("{}", input.display()); // shown if it fails
            check(&std::fs::read(&input).expect("a file"));
            inputs += 1;
        }
        assert!(inputs > 0, "no input for {name}");
        names.insert(name);
    }
    assert_eq!(
        names,
        hostile::CHECKS
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect()
    );
}

#[test]
fn every_check_has_a_fuzz_target() {
    for (name, _) in hostile::CHECKS {
        let target = format!(
            "{}/../../fuzz/targets/{name}.rs",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(&target).expect("a target");
        assert!(text.contains(&format!("hostile::{name}(data)")), "{target}");
    }
}
