//! Content files as arguments, and the messages about them.

use std::path::Path;

use super::outcome::LineProblem;
use super::source::{STDIN_NAME, Source};
use crate::terminal::output::note;

/// Problems of content files that are shown; the rest is counted.
const MAX_PROBLEMS_SHOWN: usize = 50;

/// Returns the content of a file, or of standard input.
pub(crate) fn source(file: &Path) -> Source {
    match file.as_os_str() == STDIN_NAME {
        true => Source::Stdin,
        false => Source::File(file.to_owned()),
    }
}

/// Says what is wrong with content files.
pub(crate) fn show_problems(problems: &[LineProblem]) {
    for problem in problems.iter().take(MAX_PROBLEMS_SHOWN) {
        note(problem);
    }
    if let Some(more @ 1..) = problems.len().checked_sub(MAX_PROBLEMS_SHOWN) {
        note(format!("… and {more} more problems"));
    }
}
