//! What is wrong with a sitemap, whoever made it: rules over streams, without I/O of its own.
//!
//! ```text
//! body ─▶ inflate, count, limit ─▶ XML events      ─▶ schema and rules        ─▶ Document ─▶ Site: compared with the others ─▶ Findings
//!         (document::input)        (document::xml)    (document::schema, url)                (site)
//! ```
//!
//! - A document is a stream. No more of it is held than one tag or text, digests of its URLs, and what an index lists.
//! - Memory is bounded: each limit is a constant, and what a limit leaves out is a finding of its own.
//! - DTDs are never expanded, and no address in a document is followed here.
//! - A rule has one name, one severity and one text, in the table of [`rules`].
//! - What is compared between more URLs than memory holds goes through [`listing::sort`], the only part that writes, to a file without
//!   a name.
//! - No clock, no environment and no randomness: the time is an argument.
//!
//! ```
//! use std::sync::Arc;
//! use check::document::{About, read};
//! use check::findings::Policy;
//! use check::rules::Rule;
//!
//! let xml = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
//!     <url><loc>https://www.example.com/a b</loc></url></urlset>";
//! let about = About::new("sitemap.xml", Arc::new(Policy::default()), 1_800_000_000);
//! let document = read(&xml[..], &about);
//! assert_eq!(document.entries, 1);
//! assert_eq!(document.findings.kept()[0].rule, Rule::LocForm);
//! ```

pub mod document;
pub mod findings;
pub mod listing;
pub mod page;
pub mod robots;
pub mod rules;
pub mod site;
mod text;
pub mod url;
mod xsd;
