//! What `waymark --version` says: the command's version, the commit that it was built from, and the version of the template that
//! was beside it. A release's build names the commit in `WAYMARK_COMMIT`; any other build asks git nothing, so that no commit
//! makes cargo build anything again.

use std::{env, fs};

const TEMPLATE: &str = "../../template.yaml";
/// So many digits of a commit are said.
const DIGITS: usize = 12;
/// What follows a commit of which files were changed.
const CHANGED: &str = "-dirty";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={TEMPLATE}");
    println!("cargo:rerun-if-env-changed=WAYMARK_COMMIT");
    let built = match env::var("WAYMARK_COMMIT") {
        Ok(commit) if !commit.is_empty() => format!("commit {}", shortened(&commit)),
        _ => "built from source".to_owned(),
    };
    let template = fs::read_to_string(TEMPLATE)
        .unwrap_or_else(|error| panic!("{TEMPLATE} cannot be read: {error}"));
    println!(
        "cargo:rustc-env=WAYMARK_VERSION={} ({built}, template {})",
        env!("CARGO_PKG_VERSION"),
        version(&template),
    );
}

fn shortened(commit: &str) -> String {
    let (digits, changed) = match commit.strip_suffix(CHANGED) {
        Some(digits) => (digits, CHANGED),
        None => (commit, ""),
    };
    assert!(
        digits.len() >= 7 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()),
        "WAYMARK_COMMIT is {commit:?}, and should be a commit's hash"
    );
    format!("{}{changed}", &digits[..digits.len().min(DIGITS)])
}

/// The output `Version` of the template, which `waymark` compares itself with in a stack.
fn version(template: &str) -> &str {
    template
        .split_once("\n  Version:\n")
        .and_then(|(_, output)| output.split_once("    Value: "))
        .and_then(|(_, value)| value.lines().next())
        .unwrap_or_else(|| panic!("{TEMPLATE} has no output Version with a Value"))
}
