//! Ledgers: what a page has placed where. `LEDGER#<record id>`, part.

use sitemap::record::{MAX_ID_BYTES, MAX_PARTS};

use super::{Key, RowKey, key, sha256_hex};

/// Their partitions.
pub const PREFIX: &str = "LEDGER#";

/// The character before and behind the number of a page's part.
const PART_MARK: char = '~';

/// Prefix of the hashed form of an id that is too long for a key.
pub const HASHED_ID: &str = "sha256:";

/// A record's id as keys have it. A record with an id that is too long has no page, but it has a ledger that says so.
pub(super) fn id_part(page: &str) -> String {
    if page_parts(page).0.len() <= MAX_ID_BYTES {
        page.to_owned()
    } else {
        format!("{HASHED_ID}{}", sha256_hex(page))
    }
}

/// A page as keys and rows have it: the record's id for the page itself, `~<part>~<id>` for another part of it.
#[must_use]
pub fn page(id: &str, part: u32) -> String {
    if part == 1 && !id.starts_with(PART_MARK) {
        id.to_owned()
    } else {
        format!("{PART_MARK}{part}{PART_MARK}{id}")
    }
}

/// The record's id and the part that [`page`] wrote.
#[must_use]
pub fn page_parts(page: &str) -> (&str, u32) {
    let marked = page.strip_prefix(PART_MARK);
    let part = marked.and_then(|rest| {
        let (part, id) = rest.split_once(PART_MARK)?;
        Some((id, part.parse().ok()?))
    });
    part.unwrap_or((page, 1))
}

/// `LEDGER#<record id>`, part.
#[must_use]
pub fn ledger(page: &str) -> Key {
    let (record, part) = page_parts(page);
    key(format!("{}{}", PREFIX, id_part(record)), part.to_string())
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let part = sk.parse().ok();
    let part = part.filter(|part| (1..=MAX_PARTS).contains(part))?;
    Some(RowKey::Ledger(page(rest, part)))
}
