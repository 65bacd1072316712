//! `waymark build`: content published into a folder, without any server.
//!
//! ```text
//! files ─▶ spool on disk ─▶ first load in bulk ─▶ objects in memory ─▶ front ─▶ folder
//!          (content)        (first_load, world)                       (folder)
//! ```
//!
//! It is the engine of the functions over the tables and the bucket in memory, and the front answers for each file as it would
//! answer a crawler. Nothing is decided or rendered here.

use crate::content::{Loaded, Source, Spool};

pub(crate) mod command;
mod disk;
mod error;
mod first_load;
mod folder;
mod site;
mod threads;
mod world;

pub use error::BuildError;
pub(crate) use first_load::Keeps;
pub use folder::{Out, Written};
pub use site::{Hosts, Site, some};
pub use world::World;

/// Content that was read, and is not published yet.
#[derive(Debug)]
pub(crate) struct Content {
    spool: Spool,
    now: i64,
}

impl Content {
    /// Creates empty content. `now` is the time at which it will be published, in Unix seconds.
    ///
    /// # Errors
    ///
    /// If there can be no temporary file.
    pub(crate) fn begin(now: i64) -> Result<Self, BuildError> {
        let spool = Spool::new()?;
        Ok(Self { spool, now })
    }

    /// Reads a source. Of two records with one id the later one replaces the first, in its place.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(crate) fn read(&mut self, source: &Source) -> Result<(), BuildError> {
        Ok(self.spool.add(source)?)
    }

    /// Publishes it in memory. Returns also what reading came to.
    ///
    /// # Errors
    ///
    /// If the engine fails.
    pub(crate) async fn publish(mut self, keeps: Keeps) -> Result<(World, Loaded), BuildError> {
        let mut world = World::begin(self.now).await?;
        let load = || first_load::load(&mut world, &mut self.spool, keeps);
        let loaded = tokio::task::block_in_place(load)?;
        Ok((world, loaded))
    }
}
