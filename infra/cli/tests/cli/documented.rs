//! Commands in the documentation, run and compared with what stands there.
//!
//! In an indented block a line `$ waymark …` is a command, and the lines behind it, also empty ones, are what it prints: standard output, then
//! standard error. `…` alone stands for any lines, and at the end of a line for its rest.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::limited::Limited as _;

/// A process that does not outlive its test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Runs each command that a page shows, in the folder `examples`.
#[track_caller]
pub(crate) fn check(page: &str) {
    check_with(page, &[]);
}

/// Runs each command that a page shows, with options that the page leaves out.
#[track_caller]
pub(crate) fn check_with(page: &str, more: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).expect(page);
    let lines: Vec<&str> = text.lines().collect();
    let mut count = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some(command) = line.strip_prefix("    $ waymark ") else {
            continue;
        };
        count += 1;
        let rest = &lines[at + 1..];
        // A block may have empty lines, and ends at the last that is indented.
        let is_other = |line: &&str| !line.is_empty() && !line.starts_with("    ");
        let is_next = |line: &&str| is_other(line) || line.starts_with("    $ ");
        let end = rest.iter().position(is_next).unwrap_or(rest.len());
        let shown = rest[..end]
            .iter()
            .map(|line| line.get(4..).unwrap_or_default().trim_end());
        let mut shown: Vec<&str> = shown.collect();
        while shown.last().is_some_and(|line| line.is_empty()) {
            shown.pop();
        }
        let output = Command::new(env!("CARGO_BIN_EXE_waymark"))
            .args(command.split_whitespace())
            .args(more)
            .current_dir(root.join("examples"))
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .output_in_time();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).expect("it prints UTF-8");
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        assert!(
            is_shown(&shown, &printed),
            "{page}: waymark {command} prints\n{}\nand the page shows\n{}",
            printed.join("\n"),
            shown.join("\n")
        );
    }
    assert!(count > 0, "{page} shows no command");
}

fn is_shown(shown: &[&str], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => {
            (0..=printed.len()).any(|skipped| is_shown(rest, &printed[skipped..]))
        }
        (Some((shown, shown_rest)), Some((printed, printed_rest))) => {
            let same = match shown.strip_suffix('…') {
                Some(begin) => printed.starts_with(begin),
                None => shown == printed,
            };
            same && is_shown(shown_rest, printed_rest)
        }
        _ => false,
    }
}
