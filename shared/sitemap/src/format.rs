//! The documents, and the files that hold them.

pub mod entry;
pub mod feed;
pub mod index;
pub mod llms;
pub mod member;
pub mod robots;
pub mod stylesheet;
pub mod video;
pub mod xml;
