//! Redirects at the edge: a key value store of a CDN, whose function answers 301 and 410 before the site is asked.
//!
//! ```text
//! MOVED# and SITE# rows ─▶ an event says where to look ─▶ rows, read again ─▶ entries ─▶ store, under its ETag
//!                                                                    ▲
//!                                             clock ─▶ what differs ─┘
//! ```
//!
//! - [`Store`] is the port. There are two implementations: CloudFront's, in the function `redirects`, and [`MemoryStore`].
//!   [`conformance`] tests that both behave the same.
//! - [`Keeper`] is the protocol. It has no state. It reads the store's ETag before the rows, and updates the store under this ETag. So
//!   the last update was computed from rows that were read after the update before it, whatever events are lost, late or repeated. An
//!   update that changes nothing may leave the ETag, so the rows of what was put are read once more.
//! - An entry that the store cannot hold is not in it. The site answers then, as it does without a store.
//! - The CDN's function (`infra/cdn/redirect-request.js`) follows chains of moves, so that an entry depends on one row.

pub mod conformance;
pub mod entry;
mod keeper;
mod memory;
mod port;

pub use keeper::{Keeper, REPAIR_TIME, Repaired, SLICE};
pub use memory::MemoryStore;
pub use port::{
    Changes, Described, MAX_CHANGED_KEYS, MAX_LISTED_KEYS, Pairs, Reply, Store, StoreError,
};
