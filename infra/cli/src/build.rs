//! `waymark build`: content published into a folder, without any server.
//!
//! ```text
//! files ─▶ content in memory ─▶ engine, as at a first load ─▶ objects in memory ─▶ front ─▶ folder
//!         (content)            (world)                                           (folder)
//! ```
//!
//! It is the engine of the functions over the tables and the bucket in memory, and the front answers for each file as it would
//! answer a crawler. Nothing is decided or rendered here.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::content::{Loaded, Source, read};
use crate::terminal::progress::{Progress, Unit};

pub(crate) mod command;
mod disk;
mod error;
mod folder;
mod site;
mod world;

pub use error::BuildError;
pub use folder::{Out, Written};
pub use site::{Hosts, Site, some};
pub use world::World;

/// Records that are reconciled together, as in the scan of a first load.
const BATCH: usize = 250;

/// Content that was read, and is not published yet.
#[derive(Debug)]
pub struct Content {
    world: World,
    /// Settings' ids, and the others in the order of the input.
    settings: Vec<String>,
    pages: Vec<String>,
    seen: HashSet<u64>,
}

impl Content {
    /// Creates empty content. `now` is the time at which it will be published, in Unix seconds.
    ///
    /// # Errors
    ///
    /// If the tables in memory refuse to begin.
    pub async fn begin(now: i64) -> Result<Self, BuildError> {
        Ok(Self {
            world: World::begin(now).await?,
            settings: Vec::new(),
            pages: Vec::new(),
            seen: HashSet::new(),
        })
    }

    /// Reads a source. Of two records with one id the later one replaces the first, in its place.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn read(&mut self, source: &Source) -> Result<Loaded, BuildError> {
        let Self {
            world,
            settings,
            pages,
            seen,
        } = self;
        let loaded = read(source, |record| {
            let mut hasher = DefaultHasher::new();
            record.id.hash(&mut hasher);
            world.put(&record.value)?;
            if seen.insert(hasher.finish()) {
                let ids = if record.is_settings {
                    &mut *settings
                } else {
                    &mut *pages
                };
                ids.push(record.id);
            }
            Ok(())
        });
        Ok(loaded.await?)
    }

    /// Publishes it in memory.
    ///
    /// # Errors
    ///
    /// If the engine fails.
    pub async fn publish(self) -> Result<World, BuildError> {
        let Self {
            mut world,
            settings,
            pages,
            seen,
        } = self;
        drop(seen);
        world.settle(&settings).await?;
        let total = pages.len() as u64;
        let mut progress = Progress::begin("placing pages", Unit::Things("records"), Some(total));
        let mut done = 0;
        for batch in pages.chunks(BATCH) {
            world.place(batch).await?;
            done += batch.len() as u64;
            progress.reach(done);
        }
        drop((progress, pages));
        let progress = Progress::begin("publishing", Unit::Things("records"), Some(total));
        world.publish().await?;
        drop(progress);
        Ok(world)
    }
}
