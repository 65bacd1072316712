//! What a sitemap lists, and its exact bytes: pure functions over values.
//!
//! ```text
//! item ─▶ ContentRecord ─▶ eligible? ─▶ plan ─▶ entry ─▶ segment ─▶ gzip member
//!         (record)         (eligibility) (plan)  (entry)  (member: built whole, or spliced)
//! ```
//!
//! - The crate reads no clock, environment, network or source of randomness. Time is an argument, in Unix seconds, and the caller
//!   chooses slots and epochs.
//! - The same input gives the same bytes: no unordered map is ever written into a document.
//! - A value of a type is valid. A [`Loc`](loc::Loc) is an absolute ASCII URL, encoded once. A [`When`](time::When) is a time
//!   that sitemaps can write. Neither is checked twice.
//! - A problem of a record is data, not an error, and has a reason. If a field that decides about listing is invalid, the page is
//!   excluded.
//! - Limits apply before anything is published, and each is a constant with its source.
//! - A stored file is used only after it was checked, and a foreign or damaged one is never spliced.
//!
//! A record becomes a sitemap:
//!
//! ```
//! use std::io::Read;
//!
//! use sitemap::member::{Builder, Frame, Segment};
//! use sitemap::plan::{Change, Claim, Inputs, Ledger, Page, Slot, plan};
//! use sitemap::record::ContentRecord;
//! use sitemap::site::SiteSettings;
//!
//! let item = serde_json::json!({
//!     "type": "post", "url": "https://www.example.com/käse?a=1&b=2", "modified_at": "2026-01-02T04:04:05+01:00",
//! });
//! let record = ContentRecord::parse("post/1", &item);
//! let site = SiteSettings::default_for(&record.site)?;
//!
//! // Nothing was placed for it yet, and nobody else has its address.
//! let (ledger, claim) = (Ledger::default(), Claim::Free);
//! let page = Page { record: Some(&record), part: 1, site: Some(&site) };
//! let page = page.assess(1_800_000_000);
//! let mut plan = plan("post/1", &Inputs::of(&page, &ledger, &claim));
//! plan.place(&site.series_of("post"), Slot { n: 1, i: 0 });
//! let entry = plan.changes.iter().find_map(|change| match change {
//!     Change::Replace(_, entry) => Some(entry),
//!     _ => None,
//! });
//! let entry = entry.ok_or("a page that is listed has an entry")?;
//!
//! let mut shard = Builder::new(&Frame::urlset(None), 7);
//! shard.push(&Segment { stamp: 1, entries: 1, newest: entry.lastmod, xml: entry.xml.as_bytes() });
//! let mut document = String::new();
//! flate2::read::GzDecoder::new(&shard.finish().bytes[..]).read_to_string(&mut document)?;
//! assert!(document.contains("<loc>https://www.example.com/k%C3%A4se?a=1&amp;b=2</loc>"));
//! assert!(document.contains("<lastmod>2026-01-02T03:04:05+00:00</lastmod>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Specifications of the bytes:
//!
//! - Sitemaps: <https://www.sitemaps.org/protocol.html>, with Google's extensions for
//!   [images](https://www.google.com/schemas/sitemap-image/1.1/),
//!   [videos](https://www.google.com/schemas/sitemap-video/1.1/) and
//!   [news](https://www.google.com/schemas/sitemap-news/0.9/), and XHTML's `link` for
//!   [other languages](https://developers.google.com/search/docs/specialty/international/localized-versions#sitemap).
//! - Times: [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339), as [XML Schema](https://www.w3.org/TR/xmlschema11-2/#dateTime)
//!   narrows it.
//! - URLs: the [URL standard](https://url.spec.whatwg.org/); what it leaves unencoded,
//!   [RFC 3986](https://www.rfc-editor.org/rfc/rfc3986) decides.
//! - Files: gzip, [RFC 1952](https://www.rfc-editor.org/rfc/rfc1952), and deflate,
//!   [RFC 1951](https://www.rfc-editor.org/rfc/rfc1951).

pub mod departures;
pub mod eligibility;
mod format;
pub mod language;
pub mod loc;
pub mod mapping;
pub mod plan;
mod problem;
pub mod record;
pub mod redirects;
mod series;
pub mod site;
pub mod time;

pub use self::format::{entry, feed, index, llms, member, robots, stylesheet, video, xml};

/// The version of rendered entries and their frames. If it is higher than a site's, the scan renders every entry of the site
/// again and builds every object.
pub const RENDER_VERSION: u32 = 3;
const _: () = assert!(
    member::FORMAT_VERSION == 1,
    "a new file format needs a new epoch for every site, which a new RENDER_VERSION gives it: raise both"
);
