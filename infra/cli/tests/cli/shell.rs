//! One description of the command: `--help`, the manual pages, the completions, the reference and the README name the same verbs.

#![cfg(feature = "serve")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::limited::Limited as _;

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

fn waymark(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_waymark"))
        .args(arguments)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .output_in_time();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// Returns the verbs that `--help` lists.
fn verbs() -> BTreeSet<String> {
    let help = waymark(&["--help"]);
    let (_, commands) = help.split_once("\nCommands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let verbs = commands.lines().filter(|line| !line.starts_with("   "));
    let verbs = verbs.map(|line| line.split_whitespace().next().unwrap().to_owned());
    let verbs: BTreeSet<String> = verbs.filter(|verb| verb != "help").collect();
    assert!(verbs.len() > 10, "{verbs:?}");
    verbs
}

/// Returns the texts behind each `begin`, up to the first character that no verb has.
fn named(text: &str, begin: &str) -> BTreeSet<String> {
    let rest = text.split(begin).skip(1);
    let end = |rest: &str| {
        rest.find(|c: char| !c.is_ascii_lowercase())
            .unwrap_or(rest.len())
    };
    rest.map(|rest| rest[..end(rest)].to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn the_reference_has_each_verb_and_each_verb_a_page() {
    let reference = read("docs/reference/cli.md");
    let (_, table) = reference.split_once("| verb | |\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let verbs = verbs();
    let listed: BTreeSet<String> = named(table, "| [`")
        .union(&named(table, "| `"))
        .cloned()
        .collect();
    assert_eq!(listed, verbs);
    let (_, json) = reference.split_once("| verb | document |\n").unwrap();
    let json = named(json.split("\n\n").next().unwrap(), "\n| `");
    assert!(json.is_subset(&verbs), "{json:?}");
    let summary = read("docs/SUMMARY.md");
    for page in named(table, "](../cli/") {
        assert!(
            root().join(format!("docs/cli/{page}.md")).exists(),
            "{page}"
        );
        assert!(summary.contains(&format!("(cli/{page}.md)")), "{page}");
    }
    let readme = read("README.md");
    for verb in named(&readme, "`waymark ").union(&named(&readme, "docs/cli/")) {
        assert!(verbs.contains(verb), "{verb} in README.md");
    }
}

#[test]
fn the_findings_of_an_audit_are_all_described() {
    let output = Command::new(env!("CARGO_BIN_EXE_waymark"))
        .args(["audit", "--only", "nothing"])
        .output_in_time();
    let errors = String::from_utf8(output.stderr).unwrap();
    let (_, known) = errors.split_once("[possible values: ").unwrap();
    let (known, _) = known.split_once(']').unwrap();
    let known: BTreeSet<&str> = known.split(", ").collect();
    let page = read("docs/cli/audit.md");
    let (_, table) = page.split_once("| finding | |\n").unwrap();
    let rows = table.lines().filter_map(|row| row.strip_prefix("| `"));
    let described: BTreeSet<&str> = rows.map(|row| row.split('`').next().unwrap()).collect();
    assert_eq!(known, described);
}

#[test]
fn each_verb_has_a_manual_page_with_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    waymark(&["man", pages.to_str().unwrap()]);
    let mut found: BTreeSet<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(found.remove("waymark.1"));
    let verbs = verbs();
    let expected = verbs.iter().map(|verb| format!("waymark-{verb}.1"));
    assert_eq!(found, expected.collect());
    let all = waymark(&["man"]);
    assert_eq!(all, fs::read_to_string(pages.join("waymark.1")).unwrap());
    for verb in &verbs {
        assert!(
            all.contains(&format!("waymark\\-{verb}(1)")),
            "{verb} in {all}"
        );
        let page = fs::read_to_string(pages.join(format!("waymark-{verb}.1"))).unwrap();
        assert!(page.contains(&format!(".TH waymark-{verb} 1")), "{page}");
        let help = waymark(&[verb, "--help"]);
        let options = help.lines().filter_map(|line| {
            let option = line.split_whitespace().find(|word| word.starts_with("--"));
            option.filter(|_| line.trim_start().starts_with('-'))
        });
        for option in options {
            let name = option.split(['=', '[']).next().unwrap().replace('-', "\\-");
            assert!(page.contains(&name), "{name} of {verb} in {page}");
        }
    }
}

#[test]
fn completions_name_each_verb_and_parse() {
    let verbs = verbs();
    for shell in SHELLS {
        let script = waymark(&["completions", shell]);
        for verb in &verbs {
            assert!(script.contains(verb.as_str()), "{verb} for {shell}");
        }
        if shell == "bash" {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("waymark.bash");
            fs::write(&file, script).unwrap();
            let parsed = Command::new("bash").arg("-n").arg(&file).output_in_time();
            let errors = String::from_utf8_lossy(&parsed.stderr).into_owned();
            assert!(parsed.status.success() && errors.is_empty(), "{errors}");
            // And it completes: a verb, and an option of one.
            for (words, expected) in [
                ("waymark stat", "status"),
                ("waymark status --unt", "--until"),
            ] {
                let ask = format!(
                    "source {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
                     _waymark waymark \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
                     echo \"${{COMPREPLY[@]}}\"",
                    file.display()
                );
                let answer = Command::new("bash").args(["-c", &ask]).output_in_time();
                let answer = String::from_utf8(answer.stdout).unwrap();
                assert_eq!(answer.trim(), expected, "{words}");
            }
        }
    }
}
