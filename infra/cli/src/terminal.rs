//! What the command shows, and where: results, messages, progress.

pub mod output;
pub mod progress;
pub mod text;
