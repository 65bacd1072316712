//! `--alternates group`: pages that all list the same alternates become a translation group.
//!
//! A page can only be told to be in a whole set once all pages of the set were seen. So records with alternates wait in a
//! temporary file; in memory is a number for each set.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

use serde_json::Value;
use sitemap::language::{X_DEFAULT, is_language};
use sitemap::loc::Loc;
use sitemap::record::ContentRecord;

use super::options::ImportError;
use crate::prediction::digest;

/// Records that wait until all are seen.
#[derive(Debug)]
pub(super) struct Alternates {
    file: BufWriter<File>,
    /// How many pages of each set were seen.
    seen: HashMap<u64, u32>,
}

/// A set of alternates, as one of its pages lists it.
#[derive(Debug, PartialEq, Eq)]
struct Set {
    digest: u64,
    pages: u32,
    /// The language of the page itself.
    language: String,
    /// Whether the page is the one for everybody else.
    is_default: bool,
}

impl Set {
    /// The set of a page; nothing if it cannot be a group: the page itself is not in it, a page has two languages, or the
    /// page for everybody else has none.
    fn of(record: &ContentRecord) -> Option<Self> {
        let own = Loc::parse_any(&record.url).ok()?;
        let (mut pages, mut default) = (BTreeMap::new(), None);
        for alternate in &record.alternates {
            let (language, page) = (alternate.hreflang.to_ascii_lowercase(), &alternate.href);
            if language == X_DEFAULT {
                default = Some(page);
            } else if !is_language(&alternate.hreflang) || pages.insert(page, language).is_some() {
                return None;
            }
        }
        if default.is_some_and(|page| !pages.contains_key(page)) || pages.len() < 2 {
            return None;
        }
        pages.get(&own)?;
        let language = record
            .alternates
            .iter()
            .find(|alternate| alternate.href == own && alternate.hreflang != X_DEFAULT);
        let mut texts: Vec<&str> = Vec::new();
        for (page, language) in &pages {
            texts.extend([page.as_str(), language.as_str()]);
        }
        texts.extend(default.map(Loc::as_str));
        Some(Self {
            digest: digest(&texts),
            pages: u32::try_from(pages.len()).ok()?,
            language: language?.hreflang.clone(),
            is_default: default == Some(&own),
        })
    }
}

impl Alternates {
    /// Nothing waits yet.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::new(tempfile::tempfile()?),
            seen: HashMap::new(),
        })
    }

    /// Keeps a record until all are seen, if it may be in a group.
    pub(super) fn hold(&mut self, value: &Value, record: &ContentRecord) -> io::Result<bool> {
        let Some(set) = Set::of(record) else {
            return Ok(false);
        };
        *self.seen.entry(set.digest).or_default() += 1;
        let default = u8::from(set.is_default);
        let Set {
            digest,
            pages,
            language,
            ..
        } = set;
        writeln!(self.file, "{digest} {pages} {language} {default} {value}")?;
        Ok(true)
    }

    /// Passes on what waits, in its order.
    pub(super) fn finish(
        self,
        mut write: impl FnMut(&Value) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let spool = ImportError::Spool;
        let mut file = self
            .file
            .into_inner()
            .map_err(|error| spool(error.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(spool)?;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(spool)?;
            let mut parts = line.splitn(5, ' ');
            let mut part = || {
                let part = parts.next();
                part.ok_or_else(|| spool(io::Error::from(io::ErrorKind::UnexpectedEof)))
            };
            let (digest, pages, language, default, value) =
                (part()?, part()?, part()?, part()?, part()?);
            let other = |_| spool(io::Error::from(io::ErrorKind::InvalidData));
            let digest: u64 = digest.parse().map_err(other)?;
            let pages: u32 = pages.parse().map_err(other)?;
            let mut value: Value =
                serde_json::from_str(value).map_err(|error| spool(error.into()))?;
            if self.seen.get(&digest) == Some(&pages)
                && let Some(fields) = value.as_object_mut()
            {
                fields.remove("alternates");
                let group = format!("alternates-{digest:016x}");
                fields.insert("translation_group".to_owned(), group.into());
                fields.insert("language".to_owned(), language.into());
                if default == "1" {
                    fields.insert("x_default".to_owned(), true.into());
                }
            }
            write(&value)?;
        }
        Ok(())
    }
}
