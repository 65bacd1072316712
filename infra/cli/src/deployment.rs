//! Where a command looks: the local stack, or a deployment in AWS.

pub(crate) mod args;
pub mod local;
pub mod samconfig;
pub(crate) mod signed;
pub(crate) mod source_table;
pub mod stack;
pub mod target;
