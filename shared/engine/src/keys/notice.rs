//! URLs of which search engines are to be notified. `NOTICE#<site>#<digit>`, hash; and until when they are not.

use sitemap::loc::normalized;

use super::{ALONE, Key, RowKey, escape, hash_digit, key, sha256_hex, unescape};

/// Their partitions.
pub const PREFIX: &str = "NOTICE#";

/// Replaces the digit in the key of a site's pause.
const PAUSE: &str = "pause";

/// `NOTICE#<site>#<digit>`, one of [`HASH_DIGITS`](super::HASH_DIGITS).
#[must_use]
pub fn notice_partition(site: &str, digit: char) -> String {
    format!("{}{}#{digit}", PREFIX, escape(site))
}

/// A notice: a URL that has changed, and that has not been sent to search engines yet. All spellings of an address share one.
#[must_use]
pub fn notice(site: &str, loc: &str) -> Key {
    let address = normalized(loc);
    let hash = sha256_hex(&address);
    key(notice_partition(site, hash_digit(&address)), hash)
}

/// The time until which no notice of a site is sent.
#[must_use]
pub fn notice_pause(site: &str) -> Key {
    key(format!("{}{}#{PAUSE}", PREFIX, escape(site)), ALONE)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    match rest.split_once('#')? {
        (_, PAUSE) => (sk == ALONE).then_some(RowKey::NoticePause),
        (site, _) => Some(RowKey::Notice(unescape(site)?)),
    }
}
