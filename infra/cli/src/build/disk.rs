//! The folder that builds write into, and the manifest of the files that builds made in it.
//!
//! ```text
//! DIR/robots.txt, DIR/sitemap_index.xml, …      what is published
//! DIR/.waymark-build/files.json                 which of these builds have made
//!                   /lock                       locked by the build that writes
//!                   /new/0, /new/1, …           files of that build until they get their names
//! ```
//!
//! - Nothing is put in its place before every file of a build is on the disk, so a build that fails leaves all as it was.
//! - A file that no build made is not replaced, and not deleted, unless that is asked for.
//! - The lock is the system's, so it ends with its process. What a killed build left is deleted by the next one.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::error::BuildError;
use crate::files::fresh::open_own;
use crate::terminal::output::note;

/// The folder in the output's that is the builds' own.
pub(super) const OWN: &str = ".waymark-build";
const MANIFEST: &str = "files.json";
const LOCK: &str = "lock";
const NEW: &str = "new";
/// The form of the manifest that this code reads and writes.
const VERSION: u32 = 1;
const ABOUT: &str =
    "What `waymark build` made in the folder above. It replaces and deletes nothing else.";
/// More than the names of all files of 50,000 sitemaps on each of a thousand sites.
const MAX_MANIFEST_BYTES: u64 = 1 << 30;
/// How often a lock that another build has is tried.
const RETRY: Duration = Duration::from_millis(50);

/// What builds have made, as paths from the output's folder, with a slash between a site's folder and a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    about: String,
    version: u32,
    files: BTreeSet<String>,
}

/// The folder, locked.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
    own: PathBuf,
    /// What builds have made before this one.
    before: BTreeSet<String>,
    /// The files of this build in the order in which they get their names.
    staged: Vec<String>,
    /// Whether names that differ in case alone are one file here.
    ignores_case: bool,
    /// Held to be dropped. `None`: the disk has no locks.
    _lock: Option<File>,
}

/// What became of the files of earlier builds that this one does not make.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Leftovers {
    /// Those that are still there.
    pub(super) stale: BTreeSet<String>,
    /// Those that were deleted.
    pub(super) pruned: BTreeSet<String>,
}

fn failed(file: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let file = file.to_owned();
    move |error| BuildError::Write { file, error }
}

impl Disk {
    /// Makes the folder if need be, and locks it. `wait` is how long it waits for another build that writes into the folder.
    ///
    /// `is_made` says of a file's name, without its folder, whether a build can make such a file.
    pub(super) async fn open(
        root: &Path,
        is_made: fn(&str) -> bool,
        wait: Duration,
    ) -> Result<Self, BuildError> {
        fs::create_dir_all(root).map_err(failed(root))?;
        let own = root.join(OWN);
        match fs::create_dir(&own) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let is_folder = fs::symlink_metadata(&own).map_err(failed(&own))?.is_dir();
                if !is_folder {
                    return Err(BuildError::InTheWay { file: own });
                }
            }
            made => made.map_err(failed(&own))?,
        }
        let lock = lock(&own.join(LOCK), root, wait).await?;
        let before = read(&own.join(MANIFEST), is_made)?;
        let new = own.join(NEW);
        let cleared = match fs::symlink_metadata(&new) {
            Ok(left) if left.is_dir() => fs::remove_dir_all(&new),
            Ok(_) => fs::remove_file(&new),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        cleared
            .and_then(|()| fs::create_dir(&new))
            .map_err(failed(&new))?;
        Ok(Self {
            root: root.to_owned(),
            own,
            before,
            staged: Vec::new(),
            ignores_case: fs::symlink_metadata(root.join(OWN.to_ascii_uppercase())).is_ok(),
            _lock: lock,
        })
    }

    /// Returns whether this disk takes names that differ only in case for one file.
    pub(super) fn ignores_case(&self) -> bool {
        self.ignores_case
    }

    /// Converts names to the form in which the disk compares them.
    fn compared<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> BTreeSet<String> {
        let names = names.into_iter();
        names.map(|name| self.as_compared(name)).collect()
    }

    fn as_compared(&self, name: &str) -> String {
        match self.ignores_case {
            true => name.to_lowercase(),
            false => name.to_owned(),
        }
    }

    /// Creates a temporary file. It gets this name when all other files get theirs.
    pub(super) fn stage(&mut self, name: String) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .open(self.aside(self.staged.len()))?;
        self.staged.push(name);
        Ok(file)
    }

    fn aside(&self, n: usize) -> PathBuf {
        self.own.join(NEW).join(n.to_string())
    }

    /// Gives each file its name. With `force` also where a file is that no build made; with `prune` what earlier builds made and
    /// this one does not is deleted.
    pub(super) fn publish(self, force: bool, prune: bool) -> Result<Leftovers, BuildError> {
        self.look(force)?;
        let made: BTreeSet<String> = self.staged.iter().cloned().collect();
        // Both, until all are there: a build that is killed here has made some of them.
        self.write(&self.before | &made)?;
        for (n, name) in self.staged.iter().enumerate() {
            let place = self.root.join(name);
            let moved = match place.parent() {
                Some(folder) => fs::create_dir_all(folder),
                None => Ok(()),
            };
            moved
                .and_then(|()| fs::rename(self.aside(n), &place))
                .map_err(|error| BuildError::Move { file: place, error })?;
        }
        let mut left = Leftovers::default();
        let compared = self.compared(&made);
        for name in &self.before {
            if compared.contains(&self.as_compared(name)) || !self.is_there(name) {
                continue;
            }
            if prune {
                let file = self.root.join(name);
                fs::remove_file(&file).map_err(|error| BuildError::Move { file, error })?;
                left.pruned.insert(name.clone());
            } else {
                left.stale.insert(name.clone());
            }
        }
        for name in &left.pruned {
            if let Some((folder, _)) = name.split_once('/') {
                // A folder with anything else in it stays.
                fs::remove_dir(self.root.join(folder)).ok();
            }
        }
        self.write(&made | &left.stale)?;
        Ok(left)
    }

    /// Looks at each place before anything is changed.
    fn look(&self, force: bool) -> Result<(), BuildError> {
        let mut foreign = Vec::new();
        let before = self.compared(&self.before);
        for (n, name) in self.staged.iter().enumerate() {
            let place = self.root.join(name);
            if let Some((folder, _)) = name.split_once('/') {
                let folder = self.root.join(folder);
                match fs::symlink_metadata(&folder) {
                    Ok(at) if !at.is_dir() => return Err(BuildError::InTheWay { file: folder }),
                    Err(error) if error.kind() != ErrorKind::NotFound => {
                        return Err(failed(&folder)(error));
                    }
                    _ => {}
                }
            }
            match fs::symlink_metadata(&place) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(failed(&place)(error)),
                Ok(at) if at.is_dir() => return Err(BuildError::InTheWay { file: place }),
                Ok(_) if force || before.contains(&self.as_compared(name)) => {}
                Ok(at) => {
                    let is_same =
                        at.is_file() && same(&place, &self.aside(n)).map_err(failed(&place))?;
                    if !is_same {
                        foreign.push(name.clone());
                    }
                }
            }
        }
        match foreign.is_empty() {
            true => Ok(()),
            false => Err(BuildError::Foreign {
                folder: self.root.clone(),
                files: foreign,
            }),
        }
    }

    /// Returns whether a file of an earlier build exists. A path through anything but a folder of the output, such as a link, does not
    /// count.
    fn is_there(&self, name: &str) -> bool {
        let is = |path: &Path, is_right: fn(&fs::Metadata) -> bool| {
            fs::symlink_metadata(path).is_ok_and(|at| is_right(&at))
        };
        let folder = name.split_once('/').map(|(folder, _)| folder);
        folder.is_none_or(|folder| is(&self.root.join(folder), fs::Metadata::is_dir))
            && is(&self.root.join(name), |at| !at.is_dir())
    }

    fn write(&self, files: BTreeSet<String>) -> Result<(), BuildError> {
        let (place, new) = (self.own.join(MANIFEST), self.own.join(NEW).join(MANIFEST));
        let write = || {
            let manifest = Manifest {
                about: ABOUT.to_owned(),
                version: VERSION,
                files,
            };
            let text = serde_json::to_string_pretty(&manifest)? + "\n";
            let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&new, &place)
        };
        write().map_err(failed(&place))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What cannot be deleted now is deleted by the next build, which says so if it cannot either.
        fs::remove_dir_all(self.own.join(NEW)).ok();
    }
}

async fn lock(path: &Path, root: &Path, wait: Duration) -> Result<Option<File>, BuildError> {
    let file = open_own(path).map_err(failed(path))?;
    let began = Instant::now();
    let mut is_told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                note(format!(
                    "waymark: {}: its disk has no file locks: run only one build at a time",
                    root.display()
                ));
                return Ok(None);
            }
            Err(TryLockError::Error(error)) => return Err(failed(path)(error)),
            Err(TryLockError::WouldBlock) if began.elapsed() >= wait => {
                return Err(BuildError::Locked {
                    folder: root.to_owned(),
                    seconds: wait.as_secs(),
                });
            }
            Err(TryLockError::WouldBlock) => {}
        }
        if !is_told {
            is_told = true;
            note(format!(
                "waymark: waiting for another build that is writing into {}",
                root.display()
            ));
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Reads the file names of a manifest. Somebody else may have made the folder and the manifest. So no name may lead out of the folder, or
/// to a file that builds do not make.
fn read(path: &Path, is_made: fn(&str) -> bool) -> Result<BTreeSet<String>, BuildError> {
    let unread = |why: &str| BuildError::Manifest {
        file: path.to_owned(),
        why: why.to_owned(),
    };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(unread(&error.to_string())),
        Ok(at) if !at.is_file() => return Err(unread("it is not a file")),
        Ok(at) if at.len() > MAX_MANIFEST_BYTES => return Err(unread("it is too long")),
        Ok(_) => {}
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| unread(&error.to_string()))?;
    file.take(MAX_MANIFEST_BYTES)
        .read_to_end(&mut text)
        .map_err(|error| unread(&error.to_string()))?;
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| unread(&error.to_string()))?;
    if manifest.version != VERSION {
        return Err(unread(&format!(
            "its version is {}, and this command reads version {VERSION}",
            manifest.version
        )));
    }
    let is_ours = |name: &String| {
        let file = name.rsplit('/').next().unwrap_or(name);
        is_inside(name) && is_made(file)
    };
    match manifest.files.iter().find(|name| !is_ours(name)) {
        Some(name) => Err(unread(&format!("{name:?} is not a file that builds write"))),
        None => Ok(manifest.files),
    }
}

/// Returns whether a path names a file in the output's folder or in a folder directly below it. Hidden names do not count.
fn is_inside(name: &str) -> bool {
    let is_step = |step: &str| {
        !step.is_empty() && !step.starts_with('.') && !step.contains(['\\', ':', '\0'])
    };
    let mut steps = name.split('/');
    steps.clone().count() <= 2 && steps.all(is_step)
}

fn same(a: &Path, b: &Path) -> io::Result<bool> {
    Ok(fs::metadata(a)?.len() == fs::metadata(b)?.len() && fs::read(a)? == fs::read(b)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time that a build waits for a released lock. A process that another test starts has copies of all open files from its fork to
    /// its exec, and so holds the lock.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_lock_is_waited_for_within_a_limit_and_ends_with_its_holder() {
        let root = tempfile::tempdir().unwrap();
        let open = async |wait| Disk::open(root.path(), |_| true, wait).await;
        let first = open(PATIENCE).await.unwrap();
        let error = open(Duration::from_millis(200)).await.unwrap_err();
        assert!(
            matches!(&error, BuildError::Locked { folder, .. } if folder == root.path()),
            "{error}"
        );
        // The one that gave up has taken nothing of the other's.
        assert!(first.aside(0).parent().is_some_and(Path::is_dir));
        drop(first);
        let mut second = open(PATIENCE).await.unwrap();
        second.stage("a".to_owned()).unwrap();
        // Where its name is taken already, a file is not created.
        fs::write(second.aside(1), "mine").unwrap();
        assert!(second.stage("b".to_owned()).is_err());
        assert_eq!(fs::read(second.aside(1)).unwrap(), b"mine");
    }

    #[tokio::test]
    async fn where_case_does_not_count_a_file_is_not_deleted_under_its_old_name() {
        for (ignores_case, pruned) in [(true, vec![]), (false, vec!["Post-sitemap.xml"])] {
            let root = tempfile::tempdir().unwrap();
            let build = async |name: &str| {
                let mut disk = Disk::open(root.path(), |_| true, PATIENCE).await.unwrap();
                disk.ignores_case = ignores_case;
                disk.stage(name.to_owned()).unwrap();
                disk.publish(false, true).unwrap()
            };
            build("Post-sitemap.xml").await;
            let left = build("post-sitemap.xml").await;
            assert_eq!(left.pruned.iter().collect::<Vec<_>>(), pruned);
            assert!(root.path().join("post-sitemap.xml").exists());
        }
    }

    #[test]
    fn a_list_is_the_same_text_whenever_it_is_written() {
        let list = Manifest {
            about: ABOUT.to_owned(),
            version: VERSION,
            files: ["b".to_owned(), "a".to_owned()].into(),
        };
        let text = serde_json::to_string(&list).unwrap();
        assert!(
            text.ends_with(r#""version":1,"files":["a","b"]}"#),
            "{text}"
        );
    }
}
