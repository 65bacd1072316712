//! What the operator's command does. Its options, and what it prints of this, are the binary's.

mod attributes;
pub mod audit;
pub mod build;
pub mod check;
pub mod content;
pub mod diff;
pub mod explain;
pub mod export;
pub mod import;
pub mod left_out;
pub mod load;
pub mod mapping;
pub mod output;
pub mod prediction;
pub mod probe;
pub mod progress;
pub mod purge;
pub mod redrive;
mod refusal;
pub mod samconfig;
pub mod sample;
mod signed;
pub mod stack;
pub mod status;
pub mod target;
pub mod text;
pub mod until;
