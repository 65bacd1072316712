//! The deployment that a command works on: the local stack, or one in AWS.

pub(crate) mod args;
pub mod local;
pub mod samconfig;
pub(crate) mod signed;
pub(crate) mod source_table;
pub mod stack;
pub mod target;
