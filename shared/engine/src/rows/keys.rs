//! The primary keys of all kinds of rows.

pub use super::audit::{audit, sums};
pub use super::claim::{claim, is_claim_of, ousted, waiter};
pub use super::departed::{departed, departed_address, departure_call};
pub use super::entry::{entry, segment};
pub use super::feed::{feed, feed_partition};
pub use super::group::{MEMBER, group_calls, group_member, group_partition, group_waiter};
pub use super::key::{
    ALONE, HASH_DIGITS, HASHED_ID, Key, Mark, OUSTED, RowKey, ShardId, WAITER, hash_digit, page,
    page_parts, sha256_hex,
};
pub use super::ledger::ledger;
pub use super::left_out::{left_out, left_out_partition};
pub use super::llms::{llms, llms_partition};
pub use super::mark::{mark, marks_partition};
pub use super::notice::{notice, notice_partition, notice_pause};
pub use super::parse::Subject;
pub use super::scan::{content_scan, site_scan, site_scans_partition};
pub use super::series::{series, series_partition};
pub use super::site::site;
pub use super::slot::{free, free_partition, free_prefix, free_slot};
pub use super::summary::{index_partition, summary, summary_shard};
pub use super::term::{ARCHIVE, archive, term_member, term_partition};
pub use super::timer::{ringing, timer, timer_cursor, timer_partition, timer_parts};
pub use super::turn::sweep;

/// Partition key prefixes. The stream's filter in `template.yaml` names some of them.
pub mod prefix {
    pub use crate::rows::claim::PREFIX as LOC;
    pub use crate::rows::departed::PREFIX as MOVED;
    pub use crate::rows::entry::PREFIX as SEGMENT;
    pub use crate::rows::feed::PREFIX as FEED;
    pub use crate::rows::group::PREFIX as GROUP;
    pub use crate::rows::key::JOB;
    pub use crate::rows::ledger::PREFIX as LEDGER;
    pub use crate::rows::left_out::PREFIX as OUT;
    pub use crate::rows::notice::PREFIX as NOTICE;
    pub use crate::rows::scan::PREFIX as SCAN;
    pub use crate::rows::series::PREFIX as SERIES;
    pub use crate::rows::site::PREFIX as SITE;
    pub use crate::rows::slot::PREFIX as FREE;
    pub use crate::rows::summary::PREFIX as INDEX;
    pub use crate::rows::term::PREFIX as TERM;
    pub use crate::rows::timer::PREFIX as TIMER;
}
