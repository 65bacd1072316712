//! A table of items behind one port, [`Table`], with only those features of DynamoDB that the engine needs.
//!
//! - Items, conditions, updates and transactions are plain data, so the implementation in memory can evaluate them as DynamoDB
//!   does.
//! - There are two implementations: DynamoDB's, in `aws`, and [`MemoryTable`]. [`conformance`] tests that both behave the same.
//! - Every limit is DynamoDB's own, and an implementation refuses every request that DynamoDB refuses.

mod action;
pub mod conformance;
mod error;
mod item;
mod layers;
mod memory;
mod port;

pub use action::{Action, Condition, Update};
pub use error::{Reason, TableError};
pub use item::{Item, Name, Value};
pub use memory::{Change, MemoryTable, Shared};
pub use port::{Page, Query, Reply, Scan, Schema, SortKey, Table};

/// The largest item, in bytes of its names and values (DynamoDB).
pub const MAX_ITEM_BYTES: usize = 400 * 1_024;
/// The most levels of lists and maps in a value (DynamoDB).
pub const MAX_NESTING: usize = 32;
/// The most keys of a batch (DynamoDB's `BatchGetItem`).
pub const MAX_BATCH_KEYS: usize = 100;
/// The most actions of a transaction (DynamoDB).
pub const MAX_ACTIONS: usize = 100;
/// The most bytes of a transaction's items (DynamoDB).
pub const MAX_TRANSACTION_BYTES: usize = 4 * 1_024 * 1_024;
/// The most bytes of items that a query or a scan reads for one page (DynamoDB).
pub const MAX_PAGE_BYTES: usize = 1_024 * 1_024;
