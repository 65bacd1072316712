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
use std::fmt::{self, Display, Formatter};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::PathBuf;

use engine::error::EngineError;
use objects::ObjectError;
use serde::Serialize;

use crate::content::{LoadError, Loaded, NoRecords, Source, read};
use crate::status::exclusions::shown;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::text::counted;

pub(crate) mod command;
mod disk;
mod folder;
mod world;

pub use folder::{Out, Written};
pub use world::World;

/// Files and sites that a message names.
const MAX_NAMED: usize = 20;
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
    #[error("failed to write {file}: {error}. What was there is as it was")]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file that is written cannot be moved to its place, or one that is stale cannot be deleted.
    #[error("failed to replace {file}: {error}. What was replaced before is whole; build again")]
    Move {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The content is of several sites, and the folder is for one.
    #[error(
        "nothing was written: the content is of several sites: {0}. Build each from its own records, or give --per-site, which makes a folder for each"
    )]
    Sites(Hosts),
    /// Files are in the way that no build made.
    #[error(
        "nothing was written: {folder} has files that no build made: {}. Move them away, or give --force to replace them, once if \
         an earlier version built them, which kept no list",
        some(files)
    )]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// The files, from there.
        files: Vec<String>,
    },
    /// A folder, or a link to one, is where a file is to be, or the other way round.
    #[error(
        "nothing was written: {file} is in the way. Move it away, or build into another folder"
    )]
    InTheWay {
        /// What is there.
        file: PathBuf,
    },
    /// Another build writes into the folder.
    #[error(
        "nothing was written: another build has been writing into {folder} for {seconds} s. Wait for it, or end it"
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// How long this one has waited.
        seconds: u64,
    },
    /// It is not known which files the builds made.
    #[error(
        "nothing was written: failed to read {file}, the list of what builds made: {why}. Delete it, and give --force once if what is \
         there may be replaced"
    )]
    Manifest {
        /// The list.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Files would be one, since the disk ignores case.
    #[error(
        "nothing was written: the disk of {folder} ignores case, and so these would be one file: {}. Rename a type",
        some(files)
    )]
    Case {
        /// The folder.
        folder: PathBuf,
        /// The files, from there.
        files: Vec<String>,
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

/// The hosts of sites. Of each: how many records have a page that is listed, and the first of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(pub Vec<(String, (u64, Option<String>))>);

impl Display for Hosts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|(host, (count, example))| match example {
            Some(page) => format!(
                "{host} ({}, such as {})",
                counted(*count, "page"),
                shown(page)
            ),
            None => host.clone(),
        });
        f.write_str(&some(&shown.collect::<Vec<_>>()))
    }
}

/// The first of some names, and how many more there are.
#[must_use]
pub fn some(names: &[String]) -> String {
    let first = &names[..names.len().min(MAX_NAMED)];
    match names.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
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
    /// Files in the folder that earlier builds made and this one does not, and others that have the name of a sitemap.
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
