//! A bucket's folder: a file for each object, complete before it becomes visible.
//!
//! A file has the object's head as one line of JSON, then its body. Its name is the SHA-256 of the key, because a key may be
//! longer than a file name, and contain other characters.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::object::Object;

/// The most bytes of a file: ten times the largest document. A larger file is not an object of the local stack.
const MAX_BYTES: u64 = 512 * 1024 * 1024;
/// The suffix of files that are being written. A file that has it at the start was never completed.
const UNFINISHED: &str = ".tmp";

/// A file among the objects that is not an object, and was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The file.
    pub file: PathBuf,
    /// The problem.
    pub why: String,
}

#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Opens the folder, creates it if necessary, and reads its objects. An incomplete object is skipped and stays. A machine
    /// that stopped may have left an empty file, and the object is published again into the same file.
    pub(super) fn open(path: PathBuf, unread: &mut Vec<Unread>) -> io::Result<(Self, Vec<Object>)> {
        // A file in the place of a bucket is moved aside.
        if !path.is_dir() && (path.is_symlink() || path.exists()) {
            put_aside(&path)?;
        }
        fs::create_dir_all(&path)?;
        let mut objects = Vec::new();
        for entry in fs::read_dir(&path)? {
            let file = entry?.path();
            if file.to_string_lossy().ends_with(UNFINISHED) {
                fs::remove_file(&file)?;
                continue;
            }
            match read(&file)? {
                Ok(object) => objects.push(object),
                Err(why) => unread.push(Unread { file, why }),
            }
        }
        Ok((Self(path), objects))
    }

    /// Writes an object in one step, so that a reader of the folder sees the old object or the new one.
    pub(super) fn write(&self, object: &Object) -> io::Result<()> {
        let file = self.file(&object.head.key);
        let mut unfinished = file.clone().into_os_string();
        unfinished.push(UNFINISHED);
        let mut out = File::create(&unfinished)?;
        serde_json::to_writer(&mut out, &object.head)?;
        out.write_all(b"\n")?;
        out.write_all(&object.body)?;
        drop(out);
        // A file cannot replace a folder, and the folder's content must not be deleted here.
        if file.is_dir() && !file.is_symlink() {
            put_aside(&file)?;
        }
        fs::rename(unfinished, file)
    }

    pub(super) fn remove(&self, key: &str) -> io::Result<()> {
        fs::remove_file(self.file(key))
    }

    fn file(&self, key: &str) -> PathBuf {
        let mut name = String::with_capacity(64);
        for byte in Sha256::digest(key.as_bytes()) {
            // Writing to a string cannot fail.
            write!(name, "{byte:02x}").ok();
        }
        self.0.join(name)
    }
}

/// Renames a file in an object's place to an unused name.
fn put_aside(file: &Path) -> io::Result<()> {
    let mut number = 1;
    loop {
        let aside = file.with_extension(format!("aside-{number}"));
        if !aside.try_exists()? && !aside.is_symlink() {
            return fs::rename(file, aside);
        }
        number += 1;
    }
}

/// Reads an object, or returns why the file is not one. An error is one of the disk.
fn read(file: &Path) -> io::Result<Result<Object, String>> {
    let metadata = fs::symlink_metadata(file)?;
    if !metadata.is_file() {
        return Ok(Err("it is no file".to_owned()));
    }
    if metadata.len() > MAX_BYTES {
        let mib = MAX_BYTES / (1024 * 1024);
        return Ok(Err(format!("it is larger than {mib} MiB")));
    }
    let mut bytes = Bytes::from(fs::read(file)?);
    if bytes.is_empty() {
        return Ok(Err("it is empty".to_owned()));
    }
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
        return Ok(Err("its first line describes no object".to_owned()));
    };
    let body = bytes.split_off(end + 1);
    Ok(match serde_json::from_slice(&bytes) {
        Ok(head) => Ok(Object { head, body }),
        Err(_) => Err("its first line describes no object".to_owned()),
    })
}
