//! Compares two sets of pages through the sorter, so memory does not grow with them.
//!
//! A page is identified by its address in any spelling: [`sitemap::loc::normalized`] decides. A side may list a page several
//! times, for example among its pages and among its videos. Then all its entries count as one, with all their images, videos and
//! so on, and the newest lastmod.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use sitemap::loc::normalized;
use sitemap::time::When;

use super::page::{Page, Part};
use super::sort::{Sorted, Sorter};

/// Bytes of memory for sorting.
const MEMORY: usize = 32 * 1024 * 1024;
/// The most sitemaps of a page, and spellings of its address, that are kept.
const MAX_FILES: usize = 16;
/// The number of examples of addresses that both sides have and spell differently.
const EXAMPLES: usize = 3;
/// The longest lastmod that is kept. Valid ones have at most 35 bytes.
const MAX_LASTMOD_BYTES: usize = 255;

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first side. A page that only it has is gone.
    A,
    /// The second side. A page that only it has is new.
    B,
}

/// The properties of a page on both sides that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Whether lastmods are compared.
    pub lastmod: bool,
    /// Which parts of [`Part::ALL`] are compared.
    pub parts: [bool; Part::ALL.len()],
    /// Times count as the same if they differ by at most this many seconds.
    pub within: i64,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            lastmod: true,
            parts: [true; Part::ALL.len()],
            within: 0,
        }
    }
}

/// A difference of a page between the sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only A has it, in the sitemap with this number.
    Gone(u32),
    /// Only B has it, in the sitemap with this number.
    New(u32),
    /// Both have it, with different properties.
    Changed {
        /// The numbers of A's sitemap and of B's.
        files: [u32; 2],
        /// A's lastmod and B's, if they differ. A missing lastmod is empty.
        lastmod: Option<[String; 2]>,
        /// For each part, how many only B has, and how many only A has.
        parts: [(u64, u64); Part::ALL.len()],
    },
}

/// The numbers of pages of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages that are the same on both sides.
    pub same: u64,
    /// Pages that are only in A.
    pub gone: u64,
    /// Pages that are only in B.
    pub new: u64,
    /// Pages in both with different properties.
    pub changed: u64,
    /// Pages in both that no sitemap of the same name lists.
    pub moved: u64,
    /// How often A and B list an address again.
    pub again: [u64; 2],
    /// Pages in both without a spelling that both sides have.
    pub respelled: u64,
    /// The first of these, as A and as B spell them.
    pub spellings: Vec<[String; 2]>,
}

impl Counts {
    /// Returns the number of A's pages, each counted once.
    #[must_use]
    pub fn of_a(&self) -> u64 {
        self.same + self.gone + self.changed
    }
}

/// Compares the pages of both sides, in any order.
#[derive(Debug)]
pub struct Comparison {
    sorter: Sorter,
    record: Vec<u8>,
    is_exact: bool,
}

impl Comparison {
    /// Begins a comparison without pages. Pages that do not fit into memory are sorted in a file in `folder`. With `is_exact`,
    /// two spellings are two addresses.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, is_exact: bool) -> Self {
        Self {
            sorter: Sorter::new(folder, MEMORY),
            record: Vec::new(),
            is_exact,
        }
    }

    /// Adds a page that a sitemap of a side lists. Numbers of sitemaps are in the order in which they were found.
    ///
    /// # Errors
    ///
    /// If it cannot be sorted.
    pub fn add(&mut self, side: Side, file: u32, page: &Page) -> io::Result<()> {
        let record = &mut self.record;
        record.clear();
        let key = match self.is_exact {
            true => Cow::Borrowed(page.loc.as_str()),
            false => normalized(&page.loc),
        };
        write_key(&key, record);
        record.push(side as u8);
        record.extend_from_slice(&file.to_be_bytes());
        let mut lastmod = page.lastmod.as_str();
        if lastmod.len() > MAX_LASTMOD_BYTES {
            lastmod = &lastmod[..lastmod.floor_char_boundary(MAX_LASTMOD_BYTES)];
        }
        record.push(lastmod.len() as u8);
        record.extend_from_slice(lastmod.as_bytes());
        for part in &page.parts {
            record.extend_from_slice(&(part.len() as u32).to_be_bytes());
            for digest in part {
                record.extend_from_slice(&digest.to_be_bytes());
            }
        }
        if key != page.loc {
            record.extend_from_slice(page.loc.as_bytes());
        }
        self.sorter.push(record)
    }

    /// Ends both sides, and calls `take` with each difference, in the order of the compared addresses. Pages that both sides have
    /// are named as A spells them. `is_moved` gets a page's sitemaps in A and in B, and returns whether none has the same name.
    ///
    /// # Errors
    ///
    /// If it cannot be sorted, or `take` fails.
    pub fn finish(
        self,
        fields: &Fields,
        mut is_moved: impl FnMut(&[u32], &[u32]) -> bool,
        mut take: impl FnMut(&str, &Change) -> io::Result<()>,
    ) -> io::Result<Counts> {
        let mut sorted = self.sorter.finish()?;
        let mut counts = Counts::default();
        let mut next = Record::next(&mut sorted)?;
        while let Some(first) = next.take() {
            let mut sides: [Option<Record>; 2] = [None, None];
            let mut record = Some(first);
            while let Some(one) = record {
                let key = sides.iter().flatten().next().map(|other| &other.key);
                if key.is_some_and(|key| *key != one.key) {
                    next = Some(one);
                    break;
                }
                let at = usize::from(one.side == Side::B);
                match &mut sides[at] {
                    Some(same) => {
                        counts.again[at] += 1;
                        same.merge(one);
                    }
                    none => *none = Some(one),
                }
                record = Record::next(&mut sorted)?;
            }
            let (record, change) = match sides {
                [Some(a), Some(b)] => {
                    counts.moved += u64::from(is_moved(&a.files, &b.files));
                    if !a.spellings.iter().any(|loc| b.spellings.contains(loc)) {
                        counts.respelled += 1;
                        if counts.spellings.len() < EXAMPLES {
                            let spellings = [a.loc().to_owned(), b.loc().to_owned()];
                            counts.spellings.push(spellings);
                        }
                    }
                    match a.change(&b, fields) {
                        Some(change) => (a, change),
                        None => {
                            counts.same += 1;
                            continue;
                        }
                    }
                }
                [Some(a), None] => {
                    let change = Change::Gone(a.files[0]);
                    (a, change)
                }
                [None, Some(b)] => {
                    let change = Change::New(b.files[0]);
                    (b, change)
                }
                [None, None] => continue,
            };
            match change {
                Change::Gone(_) => counts.gone += 1,
                Change::New(_) => counts.new += 1,
                Change::Changed { .. } => counts.changed += 1,
            }
            take(record.loc(), &change)?;
        }
        Ok(counts)
    }
}

/// The end of a key. It sorts before the escaped NUL, so that keys keep their order.
const KEY_END: [u8; 2] = [0, 0];
/// The escaped form of a NUL in a key.
const KEY_NUL: [u8; 2] = [0, 1];

/// Appends a key so that records are sorted by their keys first, whatever characters these have. A text sitemap may have any.
fn write_key(key: &str, record: &mut Vec<u8>) {
    for (at, part) in key.split('\0').enumerate() {
        if at > 0 {
            record.extend(KEY_NUL);
        }
        record.extend_from_slice(part.as_bytes());
    }
    record.extend(KEY_END);
}

/// Reads a key, and returns it with the following bytes.
fn read_key(mut bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut key = Vec::new();
    loop {
        let end = memchr::memchr(0, bytes)?;
        key.extend_from_slice(&bytes[..end]);
        let (mark, rest) = bytes[end..].split_at_checked(KEY_END.len())?;
        if mark == KEY_END {
            return Some((key, rest));
        }
        key.push(0);
        bytes = rest;
    }
}

/// A page in its sorted form.
struct Record {
    /// The address in the form in which it is compared.
    key: String,
    /// The side's spellings: at least one.
    spellings: Vec<String>,
    side: Side,
    /// Its sitemaps: at least one.
    files: Vec<u32>,
    page: Page,
}

impl Record {
    fn next(sorted: &mut Sorted) -> io::Result<Option<Self>> {
        let Some(bytes) = sorted.next()? else {
            return Ok(None);
        };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the sorted file is damaged");
        Self::read(bytes).map(Some).ok_or_else(damaged)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = read_key(bytes)?;
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let number = |bytes: &[u8]| bytes.try_into().ok().map(u32::from_be_bytes);
        let key = text(&key)?;
        let (side, rest) = rest.split_first()?;
        let (file, rest) = rest.split_at_checked(4)?;
        let (length, rest) = rest.split_first()?;
        let (lastmod, mut rest) = rest.split_at_checked(usize::from(*length))?;
        let mut page = Page {
            lastmod: text(lastmod)?,
            ..Page::default()
        };
        for part in &mut page.parts {
            let (count, digests) = rest.split_at_checked(4)?;
            let (digests, behind) = digests.split_at_checked(8 * number(count)? as usize)?;
            let (digests, _) = digests.as_chunks();
            part.extend(digests.iter().map(|digest| u64::from_be_bytes(*digest)));
            rest = behind;
        }
        let spelling = match rest {
            [] => key.clone(),
            other => text(other)?,
        };
        Some(Self {
            key,
            spellings: vec![spelling],
            side: if *side == 0 { Side::A } else { Side::B },
            files: vec![number(file)?],
            page,
        })
    }

    /// Returns the side's first spelling of the address.
    fn loc(&self) -> &str {
        &self.spellings[0]
    }

    /// Adds another entry of the same page.
    fn merge(&mut self, other: Self) {
        if self.files.len() < MAX_FILES {
            self.files.extend(other.files);
        }
        for spelling in other.spellings {
            if self.spellings.len() < MAX_FILES && !self.spellings.contains(&spelling) {
                self.spellings.push(spelling);
            }
        }
        let page = &mut self.page;
        if is_newer(&other.page.lastmod, &page.lastmod) {
            page.lastmod = other.page.lastmod;
        }
        for (part, more) in page.parts.iter_mut().zip(other.page.parts) {
            part.extend(more);
            part.sort_unstable();
            part.dedup();
        }
    }

    fn change(&self, other: &Self, fields: &Fields) -> Option<Change> {
        let (a, b) = (&self.page, &other.page);
        let differs = fields.lastmod && !is_same_time(&a.lastmod, &b.lastmod, fields.within);
        let lastmod = differs.then(|| [a.lastmod.clone(), b.lastmod.clone()]);
        let mut parts = [(0, 0); Part::ALL.len()];
        for (at, counts) in parts
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| fields.parts[*at])
        {
            *counts = (
                only(&b.parts[at], &a.parts[at]),
                only(&a.parts[at], &b.parts[at]),
            );
        }
        let is_same = lastmod.is_none() && parts.iter().all(|counts| *counts == (0, 0));
        (!is_same).then_some(Change::Changed {
            files: [self.files[0], other.files[0]],
            lastmod,
            parts,
        })
    }
}

/// Counts the sorted digests that the others do not have.
fn only(these: &[u64], others: &[u64]) -> u64 {
    let mut others = others.iter().peekable();
    let mut count = 0;
    for this in these {
        while others.next_if(|other| *other < this).is_some() {}
        if others.next_if(|other| *other == this).is_none() {
            count += 1;
        }
    }
    count
}

/// Returns whether `a` is newer. A text that is not a time is older than any time.
fn is_newer(a: &str, b: &str) -> bool {
    match (When::parse(a), When::parse(b)) {
        (Ok(a), Ok(b)) => a > b,
        (Ok(_), Err(_)) => true,
        (Err(_), Ok(_)) => false,
        (Err(_), Err(_)) => a > b,
    }
}

fn is_same_time(a: &str, b: &str, within: i64) -> bool {
    if a == b {
        return true;
    }
    match (When::parse(a), When::parse(b)) {
        (Ok(a), Ok(b)) => (a.seconds() - b.seconds()).abs() <= within,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
