//! The first load of all content, in bulk: see [`engine::bulk`]. `build` and `diff` do it in memory, and `serve` for its empty stack.
//!
//! ```text
//! files ─▶ spool on disk ─▶ place: plans on threads, slots in order ─▶ world: sites and shards in memory, objects in its bucket
//!          (content)                                                 └▶ Import: records and pages' rows, for a stack
//! ```

use std::io;

use crate::content::{Loaded, Source, Spool, read_record};

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

    /// Calls `take` with the id and the `url` of each record, in any order. Lines that are no records are passed over.
    ///
    /// # Errors
    ///
    /// If they cannot be read, or `take` fails.
    pub(crate) fn each_url(
        &self,
        mut take: impl FnMut(&str, &str) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        for line in self.spool.read() {
            if let Ok(read) = read_record(&line?.bytes) {
                take(&read.record.id, &read.record.url)?;
            }
        }
        Ok(())
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
