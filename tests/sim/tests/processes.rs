//! Tests that a seed gives the same history in another process, too.

use std::process::Command;

/// Returns the last line of the command's output.
fn last_line(seed: &str) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_waymark-sim"))
        .args(["--seed", seed, "--steps", "300"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    said.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_seed_gives_the_same_digest_in_two_processes() {
    let line = last_line("7");
    assert!(line.starts_with("seed 7: "), "{line}");
    assert!(line.ends_with(" 0 violations"), "{line}");
    assert_eq!(last_line("7"), line);
    assert_ne!(
        last_line("8").split("digest").nth(1),
        line.split("digest").nth(1)
    );
}
