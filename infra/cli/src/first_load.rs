//! The first load of all content, in bulk: see [`engine::bulk`]. `build` and `diff` do it in memory, and `serve` for its empty stack.
//!
//! ```text
//! files ─▶ spool on disk ─▶ place: plans on threads, slots in order ─▶ world: sites and shards in memory, objects in its bucket
//!          (content)                                                 └▶ Import: records and pages' rows, for a stack
//! ```

use crate::content::{Loaded, Source, Spool};

mod error;
mod place;
mod threads;
mod world;

pub use error::FirstLoadError;
#[cfg(feature = "serve")]
pub(crate) use place::Import;
pub(crate) use place::Keeps;
pub use world::World;

/// Content that was read, and is not published yet.
#[derive(Debug)]
pub(crate) struct Content {
    spool: Spool,
}

impl Content {
    /// Creates empty content.
    ///
    /// # Errors
    ///
    /// If there can be no temporary file.
    pub(crate) fn begin() -> Result<Self, FirstLoadError> {
        let spool = Spool::new()?;
        Ok(Self { spool })
    }

    /// Reads a source. Of two records with one id the later one replaces the first, in its place.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(crate) fn read(&mut self, source: &Source) -> Result<(), FirstLoadError> {
        Ok(self.spool.add(source)?)
    }

    /// Publishes it in a world, and blocks. Returns also what reading came to. Counts what is left out, with so many examples a
    /// reason.
    ///
    /// # Errors
    ///
    /// If the engine or the bucket fails, or the rows cannot be kept.
    pub(crate) fn publish(
        mut self,
        mut world: World,
        examples: usize,
        keeps: Keeps<'_>,
    ) -> Result<(World, Loaded), FirstLoadError> {
        let loaded = place::load(&mut world, &mut self.spool, examples, keeps)?;
        Ok((world, loaded))
    }
}
