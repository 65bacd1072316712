//! The errors of a build: why it wrote no files, or not all files.

use std::io;
use std::path::PathBuf;

use engine::error::EngineError;
use objects::ObjectError;
use sitemap::redirects::Refused;

use super::site::{Hosts, some};
use crate::content::NoRecords;
use crate::first_load::FirstLoadError;

/// Why nothing, or not everything, was built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The content cannot be read or published.
    #[error(transparent)]
    FirstLoad(#[from] FirstLoadError),
    /// A table in memory contradicts itself.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The bucket in memory contradicts itself.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// A file cannot be written.
    #[error("failed to write {file}: {error}. The existing files are unchanged")]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file that is written cannot be moved to its place, or one that is stale cannot be deleted.
    #[error(
        "failed to replace {file}: {error}. The files replaced before it are complete. Build again"
    )]
    Move {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The content is of several sites, and the folder is for one.
    #[error(
        "nothing was written: the content has several sites: {0}. Build each site from its own records, or give \
         --per-site for one folder per site"
    )]
    Sites(Hosts),
    /// Files are in the way that no build made.
    #[error(
        "nothing was written: {folder} has files that no build wrote: {}. Move them away, or give --force to replace \
         them (once after builds of an old version, which kept no list)",
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
        "nothing was written: another build has been writing into {folder} for {seconds} s. Wait until it has ended, \
         or stop it"
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// How long this one has waited.
        seconds: u64,
    },
    /// It is not known which files the builds made.
    #[error(
        "nothing was written: failed to read {file}, the list of files that builds wrote: {why}. Delete it, and give \
         --force once if the existing files may be replaced"
    )]
    Manifest {
        /// The list.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Files would be one, since the disk ignores case.
    #[error(
        "nothing was written: the disk of {folder} ignores case, so these files would overwrite each other: {}. \
         Rename a type",
        some(files)
    )]
    Case {
        /// The folder.
        folder: PathBuf,
        /// The files, from there.
        files: Vec<String>,
    },
    /// The front does not serve what was published.
    #[error(
        "failed to write {path} of {site}: its rendering ended with status {status}. Please report this bug"
    )]
    Unserved {
        /// The site.
        site: String,
        /// The path.
        path: String,
        /// The front's status.
        status: u16,
    },
    /// A server cannot hold the redirects of a site.
    #[error("nothing was written: the redirects of {site}: {refused}")]
    Redirects {
        /// The site.
        site: String,
        /// Why.
        refused: Refused,
    },
    /// No line of the files is a record.
    #[error("nothing was built: {0}")]
    NoRecords(#[from] NoRecords),
    /// There is no site.
    #[error(
        "nothing was built: no record belongs to a site: give records a url or a site, or add a record site/HOST"
    )]
    Empty,
}
