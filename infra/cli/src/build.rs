//! `waymark build`: content published into a folder, without any server.
//!
//! ```text
//! files ─▶ spool on disk ─▶ first load in bulk ─▶ objects in memory ─▶ front ─▶ folder
//!          (content)        (first_load, world)                       (folder)
//! ```
//!
//! It is the engine of the functions over the tables and the bucket in memory, and the front answers for each file as it would
//! answer a crawler. Nothing is decided or rendered here.

pub(crate) mod command;
mod disk;
mod error;
mod folder;
mod site;

pub use error::BuildError;
pub use folder::{Out, Written};
pub use site::{Hosts, Site, some};
