//! What is read of the tables' items.

use serde_json::Value;
use sitemap::mapping::Mapping;
use sitemap::record::{ContentRecord, Outline};

/// A page of the content: of each record its id and, unless more is asked for, its outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanPage<T = Outline> {
    /// The records.
    pub records: Vec<(String, T)>,
    /// Where the next page begins; nothing at the end.
    pub next: Option<String>,
}

/// What a scan takes of each item, and how it reads it.
pub(super) struct Reading<T> {
    /// Whether all of an item is read, and not consistently.
    pub(super) whole: bool,
    /// Of a record of the own table.
    pub(super) own: fn(&str, &Value) -> T,
    /// Of one of the user's table; nothing of what is no page.
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
