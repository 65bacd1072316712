//! The merge: reads what is sorted, address by address.

use std::io;

use check::listing::sort::Sorted;

use crate::address;
use crate::join::documents::Documents;
use crate::join::page::Page;
use crate::join::record::Record;

/// What became of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is listed, and was never fetched.
    Never,
    /// It is listed, and was not fetched since its last change.
    Stale,
    /// Its last answer was 404 or 410, listed or not.
    Gone,
    /// It is listed, and was fetched since its last change.
    Fresh,
}

/// The address that the merge is at.
#[derive(Default)]
pub(super) struct Merge {
    pub(super) key: Vec<u8>,
    pub(super) page: Page,
    pub(super) reason: Option<u32>,
    pub(super) fetches: u64,
    last_status: Option<u16>,
    /// The log shows only how the address begins, and no request for all of it.
    pub(super) is_cut: bool,
    /// Begins of addresses that the log cut, each within the one before.
    begins: Vec<Vec<u8>>,
    /// Whether a record of the next address was read already.
    is_ahead: bool,
    ahead: Vec<u8>,
}

impl Merge {
    /// Reads all of the next address. Returns `false` at the end.
    pub(super) fn next(
        &mut self,
        sorted: &mut Sorted,
        log: (i64, i64),
        documents: &Documents,
    ) -> io::Result<bool> {
        let first = match std::mem::take(&mut self.is_ahead) {
            true => Some(std::mem::take(&mut self.ahead)),
            false => sorted.next()?.map(<[u8]>::to_vec),
        };
        let damaged = || io::Error::other("a sorted record is damaged");
        let Some(first) = first else {
            return Ok(false);
        };
        let (key, mut record) = Record::read(&first).ok_or_else(damaged)?;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.page.clear();
        (self.reason, self.fetches, self.last_status) = (None, 0, None);
        let (mut has_begun, mut was_asked_for) = (false, false);
        while self
            .begins
            .last()
            .is_some_and(|begin| !self.key.starts_with(begin))
        {
            self.begins.pop();
        }
        loop {
            match record {
                Record::Listed(sitemap, change) => self.page.listed(sitemap, change),
                Record::Excluded(reason) => self.reason = Some(reason),
                Record::Cut => {
                    // In the middle of a path the key has an empty query, which the whole address need not have.
                    let begin = self
                        .key
                        .strip_suffix(&[address::SEPARATOR])
                        .unwrap_or(&self.key);
                    if self.begins.last().map(Vec::as_slice) != Some(begin) {
                        self.begins.push(begin.to_vec());
                    }
                }
                Record::Hit(hit) => {
                    if !has_begun {
                        self.page.begin(log, documents);
                        has_begun = true;
                    }
                    was_asked_for = true;
                    self.fetches += u64::from(hit.is_fetch());
                    if hit.is_get {
                        self.last_status = Some(hit.status);
                    }
                    if !self.page.sitemaps.is_empty() {
                        self.page.hit(&hit);
                    }
                }
            }
            let Some(bytes) = sorted.next()? else { break };
            let (key, next) = Record::read(bytes).ok_or_else(damaged)?;
            if key != self.key {
                self.ahead.clear();
                self.ahead.extend_from_slice(bytes);
                self.is_ahead = true;
                break;
            }
            record = next;
        }
        if !has_begun {
            self.page.begin(log, documents);
        }
        self.is_cut = !was_asked_for && !self.begins.is_empty();
        Ok(true)
    }

    pub(super) fn state(&self, is_listed: bool) -> Option<State> {
        if matches!(self.last_status, Some(404 | 410)) {
            return Some(State::Gone);
        }
        if !is_listed || self.is_cut {
            return None;
        }
        Some(match (self.page.any().last, self.page.changed) {
            (None, _) => State::Never,
            (Some(last), Some(changed)) if last < changed => State::Stale,
            (Some(_), _) => State::Fresh,
        })
    }
}
