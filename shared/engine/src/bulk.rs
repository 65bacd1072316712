//! First loads: of all records, in their order, what the engine places for them, where nothing is placed yet and nobody else writes.
//!
//! ```text
//! records ─▶ Planner (any number of threads) ─▶ Survey: who has which address, newest pages, translations
//!         └▶ Planner, with what the survey found ─▶ Placer, in order ─▶ Store: rows of pages, finished shards ─▶ Stage, of the sites
//! ```
//!
//! - A page's plan is `sitemap::plan`'s, from an empty ledger, as a reconcile of a site on hold makes it. So nobody is notified, and
//!   nothing is put into the feed.
//! - Records are as if reconciled one after another, and then the archives that were empty at their own turn and are not in the end.
//!   Of two pages with one address the first has it.
//! - The survey is a pass of its own, over all records. It is needed if a record is an archive or in a translation group: what is
//!   listed of these depends on pages that come later. Without it, the placer decides who has an address.
//! - Slots are the bulk's own: entries are in the order of their records, each is of version 1, and the counter is behind the last.
//!   Only what is listed in the end takes a slot.

mod placer;
mod planner;
mod rows;
mod stage;
mod survey;
pub use self::placer::{Page, Placer, Shard, Store};
pub use self::planner::{Owner, Planned, Planner};
pub use self::rows::rows_of;
pub use self::stage::Stage;
pub use self::survey::Survey;
