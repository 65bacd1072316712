//! What the functions go on with, and what waits for `sweep`. `JOB#scan`, `JOB#timers#<digit>`, `JOB#audit`, `JOB#sums`,
//! `JOB#sweep`;
//! `JOB#notices` and `JOB#feeds`, site.

use super::{ALONE, HASH_DIGITS, Key, RowKey, escape, key, unescape};

/// Their partitions.
pub const PREFIX: &str = "JOB#";
const SCAN: &str = "scan";
const TIMERS: &str = "timers#";
const AUDIT: &str = "audit";
const SUMS: &str = "sums";
const SWEEP: &str = "sweep";
const NOTICES: &str = "notices";
const FEEDS: &str = "feeds";
/// Follows the site in the mark of its llms.txt. No site's name ends so.
const LLMS: &str = "#llms";

/// What `sweep` has to do for a site that is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The site may have notices for search engines.
    Notices,
    /// Delete the mark when its time has come: that is the event that has the feed published.
    Feed,
    /// The same of llms.txt. It stands beside that of the feed.
    Llms,
}

/// The scan of all content.
#[must_use]
pub fn content_scan() -> Key {
    key(format!("{PREFIX}{SCAN}"), ALONE)
}

/// The ringing of timers with this digit that goes on where `sweep` has left off.
#[must_use]
pub fn ringing(digit: char) -> Key {
    key(format!("{PREFIX}{TIMERS}{digit}"), ALONE)
}

/// The audit's progress.
#[must_use]
pub fn audit() -> Key {
    key(format!("{PREFIX}{AUDIT}"), ALONE)
}

/// The audit's sums.
#[must_use]
pub fn sums() -> Key {
    key(format!("{PREFIX}{SUMS}"), ALONE)
}

/// Whose turn it is to sweep, and how far it has looked at the sites.
#[must_use]
pub fn sweep() -> Key {
    key(format!("{PREFIX}{SWEEP}"), ALONE)
}

/// The partition of the sites that have this mark.
#[must_use]
pub fn marks_partition(mark: Mark) -> String {
    let name = match mark {
        Mark::Notices => NOTICES,
        Mark::Feed | Mark::Llms => FEEDS,
    };
    format!("{PREFIX}{name}")
}

/// A site's mark.
#[must_use]
pub fn mark(mark: Mark, site: &str) -> Key {
    let site = escape(site);
    let sk = match mark {
        Mark::Notices | Mark::Feed => site,
        Mark::Llms => site + LLMS,
    };
    key(marks_partition(mark), sk)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let row = match rest {
        NOTICES => return unescape(sk).map(|site| RowKey::Mark(Mark::Notices, site)),
        FEEDS => {
            let (mark, site) = match sk.strip_suffix(LLMS) {
                Some(site) => (Mark::Llms, site),
                None => (Mark::Feed, sk),
            };
            return unescape(site).map(|site| RowKey::Mark(mark, site));
        }
        SCAN => RowKey::ContentScan,
        AUDIT => RowKey::Audit,
        SUMS => RowKey::Sums,
        SWEEP => RowKey::Sweep,
        _ => RowKey::Ringing(digit(rest.strip_prefix(TIMERS)?)?),
    };
    (sk == ALONE).then_some(row)
}

fn digit(rest: &str) -> Option<char> {
    let is = |digit: &char| rest.strip_prefix(*digit) == Some("");
    HASH_DIGITS.into_iter().find(is)
}
