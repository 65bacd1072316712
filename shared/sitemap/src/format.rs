//! The documents, and the files in which they are stored.

pub mod entry;
pub mod feed;
pub mod index;
pub mod llms;
pub mod member;
pub mod robots;
pub mod stylesheet;
pub mod video;
pub mod xml;
