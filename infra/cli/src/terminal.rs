//! The output of the command and where it goes: results, messages, progress.

pub mod output;
pub mod progress;
pub mod text;
