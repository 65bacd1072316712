//! The two tables and the bucket behind narrow ports, and the protocols that keep them true.

pub mod error;
pub mod object;
pub mod site_file;
