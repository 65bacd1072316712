//! Checks any sitemap by rules over streams, without I/O of its own.
//!
//! ```text
//! body ─▶ inflate, count, limit ─▶ XML events      ─▶ schema and rules        ─▶ Document ─▶ Site: compared with the others ─▶ Findings
//!         (document::input)        (document::xml)    (document::schema, url)                (site)
//! ```
//!
//! - A document is read as a stream. Only one tag or text, digests of its URLs, and the sitemaps of an index are in memory.
//! - Memory is limited: each limit is a constant, and a document that exceeds one has a finding.
//! - DTDs are never expanded, and this crate follows no address of a document.
//! - A rule has one name, one severity and one text, in the table of [`rules`].
//! - URLs that do not fit into memory are compared through [`listing::sort`], the only part that writes: to a file without a name.
//! - The crate reads no clock, environment or randomness: the time is an argument.
//! - Modules import in one direction: `rules` ─▶ `url` ─▶ `findings` ─▶ `robots` ─▶ `document` ─▶ `page`, `listing` ─▶ `site`. No file
//!   imports its parent, so a child can be read alone.
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
