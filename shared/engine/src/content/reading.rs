//! The results of scans, and how scans read items.

use serde_json::Value;
use sitemap::mapping::Mapping;
use sitemap::record::{ContentRecord, Outline};

/// A page of the content: the id of each record with its outline, or with `T` if more was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanPage<T = Outline> {
    /// The records.
    pub records: Vec<(String, T)>,
    /// The cursor of the next page. `None` at the end.
    pub next: Option<String>,
}

/// Which part of an item a scan reads, and how it parses the item.
pub(super) struct Reading<T> {
    /// Whether whole items are read. Such reads are not consistent.
    pub(super) whole: bool,
    /// Parses a record of the own table.
    pub(super) own: fn(&str, &Value) -> T,
    /// Parses a record of the user's table. Returns `None` if the item is not a page.
    pub(super) mapped: fn(&Mapping, &str, &Value) -> Option<T>,
}

pub(super) const OUTLINES: Reading<Outline> = Reading {
    whole: false,
    own: |id, item| ContentRecord::parse(id, item).into(),
    mapped: |mapping, _, item| mapping.outline(item),
};

pub(super) const RECORDS: Reading<ContentRecord> = Reading {
    whole: true,
    own: ContentRecord::parse,
    mapped: |mapping, id, item| mapping.record(id, item),
};
