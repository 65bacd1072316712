//! Addresses that bots fetched and no sitemap lists.

use std::collections::BTreeMap;

use crate::address;
use crate::report::Unlisted;

/// Examples of a reason.
pub(super) const MAX_EXAMPLES: usize = 5;

/// A listed page, with a query that the listing does not have.
const WITH_QUERY: &str = "a listed page with a query";
/// What pages are made of.
const ASSET: &str = "a style, script, picture or font";
/// All else.
const UNKNOWN: &str = "unknown";

/// The ends of names that only files have that are not pages.
const ASSET_ENDS: [&[u8]; 19] = [
    b".css", b".js", b".mjs", b".map", b".png", b".jpg", b".jpeg", b".gif", b".svg", b".webp",
    b".avif", b".ico", b".woff", b".woff2", b".ttf", b".otf", b".mp4", b".webm", b".mp3",
];

/// Some of many addresses: those with the most requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Most(Vec<(u64, String)>);

impl Most {
    /// Takes an address if it is among the most requested. `shown` makes its text.
    pub(super) fn add(&mut self, requests: u64, shown: impl FnOnce() -> String) {
        let at = self.0.partition_point(|(other, _)| *other >= requests);
        if at < MAX_EXAMPLES {
            self.0.truncate(MAX_EXAMPLES - 1);
            self.0.insert(at, (requests, shown()));
        }
    }

    pub(super) fn addresses(&self) -> Vec<String> {
        self.0.iter().map(|(_, address)| address.clone()).collect()
    }
}

#[derive(Debug, Default)]
struct OfReason {
    addresses: u64,
    requests: u64,
    examples: Most,
}

/// Counts by reason.
#[derive(Debug, Default)]
pub(super) struct Counts {
    reasons: BTreeMap<String, OfReason>,
    /// The path of the last address, with its queries: one example.
    path: Vec<u8>,
    is_listed: bool,
    last: Option<(String, u64)>,
}

impl Counts {
    /// Takes the next address, in order. `reason`: why its record is not listed, if there is one. `fetches`: how often it was fetched.
    pub(super) fn next(&mut self, key: &[u8], is_listed: bool, reason: Option<&str>, fetches: u64) {
        let path = &key[..memchr::memchr(address::SEPARATOR, key).unwrap_or(key.len())];
        if path != self.path {
            self.put_example();
            self.path.clear();
            self.path.extend_from_slice(path);
            self.is_listed = false;
        }
        if is_listed {
            self.is_listed |= !address::has_query(key);
            return;
        }
        if fetches == 0 {
            return;
        }
        let reason = match reason {
            Some(reason) => reason,
            None if self.is_listed => WITH_QUERY,
            None if ASSET_ENDS.iter().any(|end| path.ends_with(end)) => ASSET,
            None => UNKNOWN,
        };
        if self.last.as_ref().is_some_and(|(last, _)| last != reason) {
            self.put_example();
        }
        let (_, requests) = self.last.get_or_insert_with(|| (reason.to_owned(), 0));
        *requests += fetches;
        if !self.reasons.contains_key(reason) {
            self.reasons.insert(reason.to_owned(), OfReason::default());
        }
        if let Some(counts) = self.reasons.get_mut(reason) {
            counts.addresses += 1;
            counts.requests += fetches;
        }
    }

    fn put_example(&mut self) {
        let Some((reason, requests)) = self.last.take() else {
            return;
        };
        if let Some(counts) = self.reasons.get_mut(&reason) {
            let path = &self.path;
            counts
                .examples
                .add(requests, || address::shown(path, false));
        }
    }

    /// Returns the counts, the most requests first.
    pub(super) fn finish(mut self) -> Vec<Unlisted> {
        self.put_example();
        let mut all: Vec<Unlisted> = self
            .reasons
            .into_iter()
            .map(|(reason, counts)| Unlisted {
                reason,
                addresses: counts.addresses,
                requests: counts.requests,
                examples: counts.examples.addresses(),
            })
            .collect();
        all.sort_by_key(|unlisted| std::cmp::Reverse(unlisted.requests));
        all
    }
}
