//! Reads lines as real servers write them, and lines that harm.

#[path = "readers/combined.rs"]
mod combined;
#[path = "readers/detection.rs"]
mod detection;
#[path = "readers/input.rs"]
mod input;
#[path = "readers/json.rs"]
mod json;
#[path = "readers/others.rs"]
mod others;
#[path = "readers/recorded.rs"]
mod recorded;
