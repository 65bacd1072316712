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
use std::io;
use std::path::PathBuf;

use engine::error::EngineError;
use objects::ObjectError;
use serde::Serialize;

use crate::content::{LoadError, Loaded, NoRecords, Source, read};
use crate::progress::{Progress, Unit};

mod folder;
mod world;

pub use world::World;

/// Records that are reconciled together, as in the scan of a first load.
const BATCH: usize = 250;

/// Why nothing, or not everything, was built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The tables in memory contradict themselves.
    #[error("failed to publish: {0} changes were not followed. Please report this")]
    Stuck(usize),
    /// The bucket in memory contradicts itself.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// A file cannot be written.
    #[error("failed to write {file}: {error}. What was written before is whole; build again")]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The front does not serve what was published.
    #[error("failed to write {path} of {site}: the front answers {status}. Please report this")]
    Unserved {
        /// The site.
        site: String,
        /// The path.
        path: String,
        /// The front's status.
        status: u16,
    },
    /// No line of the files is a record.
    #[error("nothing was built: {0}")]
    NoRecords(#[from] NoRecords),
    /// There is no site.
    #[error("nothing was built: no record names a site by its url, its site or its settings")]
    Empty,
}

/// A site that was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Site {
    /// Its host.
    pub host: String,
    /// Where it is.
    pub folder: PathBuf,
    /// Its sitemaps.
    pub sitemaps: u64,
    /// Their entries: a page that has videos or is news has one for each.
    pub entries: u64,
    /// Files that were written.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Sitemaps and indexes in the folder that no index of this build lists: those of an earlier one.
    pub stale: Vec<String>,
}

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
    /// None yet. `now` is the time at which it will be published, in Unix seconds.
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

    /// Reads a source. Of two records with one id the later one stands, in the place of the first.
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
            world,
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
