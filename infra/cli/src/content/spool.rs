//! Content in a temporary file, between the two passes over it.
//!
//! The first pass copies the lines and sees of each no more than its id, unless there is more to see: of a site's settings, and of
//! two lines with one id, of which the later counts if it is a record.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::bulk::Planned;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use sitemap::mapping::SOURCE_MARK;
use sitemap::record::ContentRecord;
use sitemap::site::{SITE_TYPE, host_of_site_id};

use super::lines::{Counted, Lines, MAX_KEY_BYTES, read_record};
use super::outcome::{Loaded, digest};
use super::plain_item::refusal;
use super::source::{LoadError, Source};
use crate::terminal::progress::{Progress, Unit};

/// Bytes before a line: its number and its length.
const HEAD_BYTES: u64 = 8 + 4;
/// Lines between two reports of progress.
const REPORT_EVERY: u64 = 4_096;

/// Content that was copied.
#[derive(Debug)]
pub(crate) struct Spool {
    /// It has no name, so it goes with the process, however that ends.
    file: Arc<File>,
    writer: BufWriter<Arc<File>>,
    end: u64,
    /// The sources' names, each with where its lines begin.
    sources: Vec<(u64, String)>,
    /// The ids.
    pub(crate) loaded: Loaded,
    /// Of ids of several lines: where the last that is a record is.
    last: HashMap<u64, u64>,
    /// Where lines are that have the id of an earlier line, and are no records.
    not_counted: HashSet<u64>,
    /// The records of settings by their ids, with where they are.
    pub(crate) settings: BTreeMap<String, (u64, Value)>,
    /// Lines.
    pub(crate) lines: u64,
    /// Whether any record is an archive, in a translation group, or of a page that departed, so that its listing depends on other
    /// records.
    pub(crate) depends: bool,
}

/// A line of the spool.
#[derive(Debug)]
pub(crate) struct SpooledLine {
    /// Where it is.
    pub(crate) at: u64,
    /// Its number in its source, from 1.
    pub(crate) number: u64,
    /// None of a line that is too long.
    pub(crate) bytes: Vec<u8>,
}

impl Spool {
    pub(crate) fn new() -> Result<Self, LoadError> {
        let make = || {
            let file = Arc::new(tempfile::tempfile()?);
            Ok(Self {
                writer: BufWriter::new(file.clone()),
                file,
                end: 0,
                sources: Vec::new(),
                loaded: Loaded::default(),
                last: HashMap::new(),
                not_counted: HashSet::new(),
                settings: BTreeMap::new(),
                lines: 0,
                depends: false,
            })
        };
        make().map_err(spoiled)
    }

    /// Copies a source.
    pub(crate) fn add(&mut self, source: &Source) -> Result<(), LoadError> {
        let name = source.name();
        let failed = |error| LoadError::File {
            file: name.clone(),
            error,
        };
        let (reader, bytes) = source.open().map_err(failed)?;
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            reader,
            read: read.clone(),
        };
        self.sources.push((self.end, name.clone()));
        let mut lines = Lines::new(counted);
        let mut progress = Progress::begin(&format!("reading {name}"), Unit::Bytes, bytes);
        while let Some((number, line)) = lines.next().map_err(failed)? {
            // One that is too long has no bytes here.
            let line = line.unwrap_or_default();
            self.see(&line);
            self.write(number, &line).map_err(spoiled)?;
            if self.lines.is_multiple_of(REPORT_EVERY) {
                progress.reach(read.load(Ordering::Relaxed));
            }
        }
        self.writer.flush().map_err(spoiled)
    }

    fn write(&mut self, number: u64, line: &[u8]) -> io::Result<()> {
        let length = u32::try_from(line.len()).map_err(io::Error::other)?;
        self.writer.write_all(&number.to_le_bytes())?;
        self.writer.write_all(&length.to_le_bytes())?;
        self.writer.write_all(line)?;
        self.end += HEAD_BYTES + u64::from(length);
        self.lines += 1;
        Ok(())
    }

    /// Looks at a line that is written next.
    fn see(&mut self, line: &[u8]) {
        let glance = serde_json::from_slice::<Glance>(line);
        if let Ok(glance) = glance
            && let Some(id) = glance.usual_id()
        {
            self.depends |= glance.depends;
            if self.loaded.note_id(id) {
                return;
            }
        }
        let read = read_record(line).ok();
        let taken = read.filter(|read| refusal(read, line.len()).is_none());
        let Some(read) = taken else {
            self.not_counted.insert(self.end);
            return;
        };
        let id = &read.record.id;
        self.depends |= Planned::depends(&read.record);
        let is_first = self.loaded.note_id(id);
        if !is_first {
            self.last.insert(digest(id), self.end);
        }
        if read.record.is_settings() {
            self.settings.insert(id.clone(), (self.end, read.value));
        } else {
            self.settings.remove(id);
        }
    }

    /// Returns where the line is that counts of this id, if several lines have it.
    pub(crate) fn last(&self, record: &ContentRecord) -> Option<u64> {
        match self.last.is_empty() {
            true => None,
            false => self.last.get(&digest(&record.id)).copied(),
        }
    }

    /// Corrects what the first pass has counted: the line at this place is no record after all.
    pub(crate) fn uncount(&self, at: u64, line: &[u8], loaded: &mut Loaded) {
        if self.not_counted.contains(&at) {
            return;
        }
        let glance = serde_json::from_slice::<Glance>(line).ok();
        if let Some(id) = glance.as_ref().and_then(Glance::usual_id)
            && !self.last.contains_key(&digest(id))
        {
            loaded.forget_id(id);
        }
    }

    /// Returns the name of the source that a line comes from.
    pub(crate) fn source(&self, at: u64) -> &str {
        let next = self.sources.partition_point(|(begin, _)| *begin <= at);
        let source = next.checked_sub(1).and_then(|n| self.sources.get(n));
        source.map_or("", |(_, name)| name)
    }

    /// Returns all lines in their order.
    pub(crate) fn read(&self) -> impl Iterator<Item = Result<SpooledLine, LoadError>> + use<> {
        let mut reader = BufReader::new(self.reader_at(0));
        let (mut at, end) = (0, self.end);
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let (number, bytes) = read_line(&mut reader).map_err(spoiled)?;
                let line = SpooledLine { at, number, bytes };
                at += HEAD_BYTES + line.bytes.len() as u64;
                Ok(line)
            })
        })
    }

    /// Returns the bytes of the line at a place.
    pub(crate) fn line(&self, at: u64) -> Result<Vec<u8>, LoadError> {
        let (_, bytes) = read_line(&mut self.reader_at(at)).map_err(spoiled)?;
        Ok(bytes)
    }

    fn reader_at(&self, at: u64) -> ReaderAt {
        let file = self.file.clone();
        ReaderAt { file, at }
    }
}

/// Reads a file from a place on. It has a position of its own, so there can be many.
struct ReaderAt {
    file: Arc<File>,
    at: u64,
}

impl Read for ReaderAt {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(out, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

fn read_line(reader: &mut impl Read) -> io::Result<(u64, Vec<u8>)> {
    let (mut number, mut length) = ([0; 8], [0; 4]);
    reader.read_exact(&mut number)?;
    reader.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    reader.read_exact(&mut bytes)?;
    Ok((u64::from_le_bytes(number), bytes))
}

fn spoiled(error: io::Error) -> LoadError {
    let folder = std::env::temp_dir();
    LoadError::Spool { folder, error }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Id,
    Type,
    ArchiveOf,
    TranslationGroup,
    MovedTo,
    Gone,
    #[serde(other)]
    Other,
}

/// The fields of a line that the first pass needs.
struct Glance {
    /// The last one, as of all fields that are written twice.
    id: Option<String>,
    is_site: bool,
    depends: bool,
}

impl Glance {
    /// Returns the id of a line that is a record and no settings, for all that is seen.
    fn usual_id(&self) -> Option<&str> {
        let id = self.id.as_deref()?;
        let is_usual = !id.is_empty()
            && id.len() <= MAX_KEY_BYTES
            && !id.starts_with(SOURCE_MARK)
            && !self.is_site
            && host_of_site_id(id).is_none();
        is_usual.then_some(id)
    }
}

impl<'de> Deserialize<'de> for Glance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Glance;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a record")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Glance, A::Error> {
                let mut glance = Glance {
                    id: None,
                    is_site: false,
                    depends: false,
                };
                while let Some(field) = map.next_key()? {
                    match field {
                        Field::Id => match map.next_value()? {
                            Value::String(id) => glance.id = Some(id),
                            _ => glance.id = None,
                        },
                        Field::Type => {
                            let of: Value = map.next_value()?;
                            glance.is_site = of.as_str() == Some(SITE_TYPE);
                        }
                        Field::ArchiveOf
                        | Field::TranslationGroup
                        | Field::MovedTo
                        | Field::Gone => {
                            map.next_value::<IgnoredAny>()?;
                            glance.depends = true;
                        }
                        Field::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(glance)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}
