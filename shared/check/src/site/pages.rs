//! Finds URLs that several documents of a site list, and links between languages that are not returned.
//!
//! Both are joins of data that does not fit into memory, so both use the sorter. Records are sorted by their bytes. Numbers have
//! their highest byte first, and records that belong together have the same beginning.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::document::{Link, Subject};
use crate::findings::Position;
use crate::listing::sort::{Sorted, Sorter};
use crate::url::Digest;

/// The most bytes of a URL that are kept for a message, which shows at most 200 characters.
const MAX_TEXT_BYTES: usize = 1_024;

/// A place in a document, by the document's number. Places are in the order in which a site was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) at: Position,
}

/// A finding at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// A URL that the document with this number lists, too.
    Again(u32, &'a str),
    /// A URL that the document with this number lists in another spelling.
    Respelled(u32, &'a str),
    /// Another form of a URL that the document with this number lists.
    Variant(u32, &'a str),
    /// A link to a listed page that does not link back.
    OneWay,
    /// A sitemap that is listed as a page.
    Sitemap(&'a str),
}

/// Takes the listed URLs of documents, in the documents' order.
#[derive(Debug)]
pub(super) struct Pages {
    pages: Sorter,
    links: Sorter,
    found: Sorter,
    record: Vec<u8>,
}

/// The kinds of records of a page.
const SITEMAP: u8 = 0;
const LISTED: u8 = 1;
const LINKED_TO: u8 = 2;
/// The kinds of records of a pair of pages: the first links to the second, or is linked to by it.
const LINKS: u8 = 0;
const IS_LINKED: u8 = 1;
/// The kinds of findings.
const AGAIN: u8 = 0;
const VARIANT: u8 = 1;
const RESPELLED: u8 = 2;
const ONE_WAY: u8 = 3;
const IS_SITEMAP: u8 = 4;

impl Pages {
    /// Creates empty sorters. Each of the three keeps `memory` bytes in memory, two of them at a time.
    pub(super) fn new(folder: &Path, memory: usize) -> Self {
        let sorter = || Sorter::new(folder, memory);
        Self {
            pages: sorter(),
            links: sorter(),
            found: sorter(),
            record: Vec::new(),
        }
    }

    /// Adds a listed page.
    pub(super) fn list(&mut self, page: Digest, place: Place, text: &str) -> io::Result<()> {
        let record = &mut self.record;
        record.clear();
        record.extend_from_slice(&page.page.to_be_bytes());
        record.push(LISTED);
        place.write(record);
        record.extend_from_slice(&page.exact.to_be_bytes());
        record.extend_from_slice(&text.as_bytes()[..text.floor_char_boundary(MAX_TEXT_BYTES)]);
        self.pages.push(record)
    }

    /// Adds a sitemap that was read, or that an index lists.
    pub(super) fn sitemap(&mut self, address: Digest) -> io::Result<()> {
        let record = &mut self.record;
        record.clear();
        record.extend_from_slice(&address.page.to_be_bytes());
        record.push(SITEMAP);
        NOWHERE.write(record);
        record.extend_from_slice(&address.exact.to_be_bytes());
        self.pages.push(record)
    }

    /// Adds a link between languages.
    pub(super) fn link(&mut self, link: &Link, file: u32) -> io::Result<()> {
        let record = &mut self.record;
        record.clear();
        record.extend_from_slice(&link.from.to_be_bytes());
        record.extend_from_slice(&link.to.exact.to_be_bytes());
        record.push(LINKS);
        self.links.push(record)?;
        record.clear();
        record.extend_from_slice(&link.to.exact.to_be_bytes());
        record.extend_from_slice(&link.from.to_be_bytes());
        record.push(IS_LINKED);
        Place { file, at: link.at }.write(record);
        record.extend_from_slice(&link.to.page.to_be_bytes());
        self.links.push(record)
    }

    /// Ends the input, and returns the findings in the order of the places. `files` has the name and the subject of each
    /// document.
    pub(super) fn finish(
        self,
        files: &[(Arc<str>, Subject)],
        mut take: impl FnMut(Place, Found<'_>),
    ) -> io::Result<()> {
        let (mut pages, mut found) = (self.pages, self.found);
        one_way_links(self.links, &mut pages)?;
        groups(pages, files, &mut found)?;
        let mut sorted = found.finish()?;
        while let Some((place, found)) = read(&mut sorted, |bytes| {
            let place = Place::read(bytes)?;
            let [what] = numbers(bytes)?;
            let first = u32::from_be_bytes(numbers(bytes)?);
            let text = std::str::from_utf8(bytes).ok()?;
            let found = match what {
                AGAIN => Found::Again(first, text),
                RESPELLED => Found::Respelled(first, text),
                VARIANT => Found::Variant(first, text),
                IS_SITEMAP => Found::Sitemap(text),
                _ => Found::OneWay,
            };
            Some((place, found))
        })? {
            take(place, found);
        }
        Ok(())
    }
}

/// Adds the links without a return link to the pages, next to the page to which each leads.
fn one_way_links(links: Sorter, pages: &mut Sorter) -> io::Result<()> {
    let mut record = Vec::new();
    let mut sorted = links.finish()?;
    // The pair whose first page links to the second.
    let mut linking = None;
    while let Some((pair, linked)) = read(&mut sorted, |bytes| {
        let pair: [u8; 16] = numbers(bytes)?;
        let [what] = numbers(bytes)?;
        if what == LINKS {
            return Some((pair, None));
        }
        let place: [u8; Place::BYTES] = numbers(bytes)?;
        let page: [u8; 8] = numbers(bytes)?;
        Some((pair, Some((place, page))))
    })? {
        let Some((place, page)) = linked else {
            linking = Some(pair);
            continue;
        };
        if linking == Some(pair) {
            continue;
        }
        let (to, _) = pair.split_at(8);
        record.clear();
        record.extend_from_slice(&page);
        record.push(LINKED_TO);
        record.extend_from_slice(&place);
        record.extend_from_slice(to);
        pages.push(&record)?;
    }
    Ok(())
}

/// Reads the forms of each page, in the order of their places, and then the links to it.
fn groups(pages: Sorter, files: &[(Arc<str>, Subject)], found: &mut Sorter) -> io::Result<()> {
    let mut record = Vec::new();
    let mut sorted = pages.finish()?;
    let subject = |file: u32| files.get(file as usize).map(|(_, subject)| *subject);
    // The page, the form of it with which others are compared, and the document that lists it.
    let mut first: Option<([u8; 8], [u8; 8], u32)> = None;
    // The page, and those of its forms that are sitemaps.
    let mut sitemaps: ([u8; 8], Vec<[u8; 8]>) = ([0; 8], Vec::new());
    // The text, if it was kept.
    let mut spelling = Vec::new();
    while let Some((page, what, place, exact, text)) = read(&mut sorted, |bytes| {
        let page: [u8; 8] = numbers(bytes)?;
        let [what] = numbers(bytes)?;
        let place = Place::read(bytes)?;
        let exact: [u8; 8] = numbers(bytes)?;
        Some((page, what, place, exact, &**bytes))
    })? {
        let known = first.filter(|(known, ..)| *known == page);
        if sitemaps.0 != page {
            sitemaps.0 = page;
            sitemaps.1.clear();
        }
        let (what, file) = match (what, known) {
            (SITEMAP, _) => {
                if sitemaps.1.last() != Some(&exact) {
                    sitemaps.1.push(exact);
                }
                continue;
            }
            (LISTED, _) if sitemaps.1.contains(&exact) => (IS_SITEMAP, place.file),
            (LISTED, None) => {
                first = Some((page, exact, place.file));
                spelling.clear();
                spelling.extend_from_slice(text);
                continue;
            }
            (LISTED, Some((_, form, file))) => {
                if subject(place.file) != subject(file) {
                    // The form in a sitemap of pages is the one with which others are compared.
                    if subject(place.file) == Some(Subject::Pages) && form == exact {
                        first = Some((page, exact, place.file));
                        spelling.clear();
                        spelling.extend_from_slice(text);
                    }
                    continue;
                }
                let is_known = !spelling.is_empty() && !text.is_empty();
                let what = match (form == exact, is_known && spelling != text) {
                    (true, false) => AGAIN,
                    (true, true) => RESPELLED,
                    (false, _) => VARIANT,
                };
                (what, file)
            }
            (_, Some((_, form, file))) if form == exact => (ONE_WAY, file),
            _ => continue,
        };
        record.clear();
        place.write(&mut record);
        record.push(what);
        record.extend_from_slice(&file.to_be_bytes());
        record.extend_from_slice(text);
        found.push(&record)?;
    }
    Ok(())
}

/// The place of a record that belongs to no document.
const NOWHERE: Place = Place {
    file: 0,
    at: Position { line: 0, column: 0 },
};

impl Place {
    const BYTES: usize = 12;

    fn write(self, record: &mut Vec<u8>) {
        for number in [self.file, self.at.line, self.at.column] {
            record.extend_from_slice(&number.to_be_bytes());
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut number = || Some(u32::from_be_bytes(numbers(bytes)?));
        Some(Self {
            file: number()?,
            at: Position {
                line: number()?,
                column: number()?,
            },
        })
    }
}

/// Reads the next bytes of a record.
fn numbers<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

/// Reads the next record. It can differ from what was pushed only if the file is damaged.
fn read<'s, T>(
    sorted: &'s mut Sorted,
    parts: impl FnOnce(&mut &'s [u8]) -> Option<T>,
) -> io::Result<Option<T>> {
    let Some(mut bytes) = sorted.next()? else {
        return Ok(None);
    };
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the sorted file is damaged");
    parts(&mut bytes).map(Some).ok_or_else(damaged)
}
