//! Sorts records of bytes that do not fit into memory. Sorted runs are written to one temporary file, and merged when they are
//! read.
//!
//! - The memory is limited as [`Sorter::new`] says, whatever the number of records. During the input it contains records, and
//!   during the output buffers of the runs.
//! - If the system allows it, the file has no name from the beginning. Otherwise it is deleted when it is closed. So nothing is
//!   left after an error, a panic or a kill.
//! - Nothing is written if all records fit into half of the memory.
//!
//! ```
//! let mut sorter = check::listing::sort::Sorter::new(std::env::temp_dir(), 1024 * 1024);
//! for word in ["one", "two", "three"] {
//!     sorter.push(word.as_bytes())?;
//! }
//! let mut sorted = sorter.finish()?;
//! assert_eq!(sorted.next()?, Some(&b"one"[..]));
//! assert_eq!(sorted.next()?, Some(&b"three"[..]));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of a record's length.
const LENGTH_BYTES: usize = 4;
/// Bytes that are read of a run at a time. If memory has no room for that with all runs, there are fewer, but never fewer than
/// the second number.
const READ_BYTES: usize = 64 * 1024;
const MIN_READ_BYTES: usize = 4 * 1024;
/// Bytes that are written at a time.
const WRITE_BYTES: usize = 256 * 1024;
/// The longest record: a URL's key and a page's data.
pub const MAX_RECORD_BYTES: usize = 16 * 1024 * 1024;

/// Why a sorter failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to sort the URLs in {folder}: {error}{}", remedy(.error))]
pub struct SortError {
    /// The folder of the temporary file.
    folder: String,
    /// The cause.
    error: io::Error,
}

/// Returns a remedy, if one is known.
fn remedy(error: &io::Error) -> &'static str {
    use io::ErrorKind::{
        FileTooLarge, NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => {
            ". Free some space, or set TMPDIR to another folder"
        }
        NotFound | PermissionDenied | ReadOnlyFilesystem => ". Name another folder by TMPDIR",
        _ => "",
    }
}

impl SortError {
    /// Returns an error of a sorter with this folder.
    #[must_use]
    pub fn new(folder: &Path, error: io::Error) -> Self {
        let folder = folder.display().to_string();
        Self { folder, error }
    }
}

/// Takes records in any order.
#[derive(Debug)]
pub struct Sorter {
    folder: PathBuf,
    memory: usize,
    bytes: Vec<u8>,
    places: Vec<Place>,
    file: Option<File>,
    /// The beginning and the end of each run in the file.
    runs: Vec<(u64, u64)>,
}

/// The place of a record in memory.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The first bytes as a number. Most comparisons need only this number and not the record.
    first: u64,
    begin: u32,
    end: u32,
}

impl Place {
    fn of<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[self.begin as usize..self.end as usize]
    }
}

/// Returns records in the order of their bytes.
#[derive(Debug)]
pub struct Sorted {
    file: Option<File>,
    runs: Vec<Run>,
    /// A heap of the runs that have a record left. The lowest record is first, and of equal ones that of the earlier run.
    heap: Vec<usize>,
    /// The run of the last returned record.
    given: Option<usize>,
}

#[derive(Debug)]
struct Run {
    /// The range that is still in the file.
    from: u64,
    to: u64,
    buffer: Vec<u8>,
    /// The offset of the rest of the buffer.
    at: usize,
    end: usize,
    /// The range of the next record.
    record: (usize, usize),
}

impl Sorter {
    /// Creates a sorter that keeps `memory` bytes in memory, and the rest in a file in `folder`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, memory: usize) -> Self {
        Self {
            folder: folder.into(),
            memory: memory.clamp(MIN_READ_BYTES, u32::MAX as usize / 2),
            bytes: Vec::new(),
            places: Vec::new(),
            file: None,
            runs: Vec::new(),
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// If the file cannot be created or written, or if the record is longer than [`MAX_RECORD_BYTES`].
    pub fn push(&mut self, record: &[u8]) -> io::Result<()> {
        if record.len() > MAX_RECORD_BYTES {
            let text = format!("a record of {} bytes is too long to sort", record.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let place = size_of::<Place>();
        let held = self.bytes.len() + self.places.len() * place;
        if held + record.len() + place > self.memory && !self.places.is_empty() {
            self.write_run()?;
        }
        if self.bytes.capacity() == 0 {
            // Reserved at once and exactly, because a growing vector takes up to three times the size of its contents.
            self.bytes.reserve_exact(self.memory / 4 * 3);
            self.places.reserve_exact(self.memory / 4 / place);
        }
        let begin = self.bytes.len() as u32;
        self.bytes.extend_from_slice(record);
        let mut first = [0; 8];
        let known = record.len().min(first.len());
        first[..known].copy_from_slice(&record[..known]);
        self.places.push(Place {
            first: u64::from_be_bytes(first),
            begin,
            end: self.bytes.len() as u32,
        });
        let is_full = self.places.len() == self.places.capacity();
        if is_full || self.bytes.len() >= self.memory / 4 * 3 {
            self.write_run()?;
        }
        Ok(())
    }

    /// Ends the input.
    ///
    /// # Errors
    ///
    /// If the file cannot be written or read.
    pub fn finish(mut self) -> io::Result<Sorted> {
        if self.file.is_none() && 2 * self.bytes.len() <= self.memory {
            return Sorted::in_memory(&self.sorted(), &self.bytes);
        }
        if !self.places.is_empty() {
            self.write_run()?;
        }
        drop((
            std::mem::take(&mut self.bytes),
            std::mem::take(&mut self.places),
        ));
        let share = (self.memory / self.runs.len().max(1)).clamp(MIN_READ_BYTES, READ_BYTES);
        let runs = self.runs.iter();
        let runs = runs.map(|(from, to)| Run::new(*from, *to, share)).collect();
        Sorted::begin(self.file, runs)
    }

    fn sorted(&mut self) -> Vec<Place> {
        let mut places = std::mem::take(&mut self.places);
        let bytes = &self.bytes;
        places.sort_unstable_by(|a, b| {
            let order = a.first.cmp(&b.first);
            order.then_with(|| a.of(bytes).cmp(b.of(bytes)))
        });
        places
    }

    fn write_run(&mut self) -> io::Result<()> {
        let mut places = self.sorted();
        let from = self.runs.last().map_or(0, |(_, to)| *to);
        let mut to = from;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder)?),
        };
        let mut writer = BufWriter::with_capacity(WRITE_BYTES, file);
        for place in &places {
            let record = place.of(&self.bytes);
            writer.write_all(&(record.len() as u32).to_le_bytes())?;
            writer.write_all(record)?;
            to += (LENGTH_BYTES + record.len()) as u64;
        }
        writer.flush()?;
        drop(writer);
        self.runs.push((from, to));
        self.bytes.clear();
        places.clear();
        self.places = places;
        Ok(())
    }
}

impl Sorted {
    /// Returns a single run that fits into its buffer.
    fn in_memory(places: &[Place], bytes: &[u8]) -> io::Result<Self> {
        let mut buffer = Vec::with_capacity(bytes.len() + places.len() * LENGTH_BYTES);
        for place in places {
            let record = place.of(bytes);
            buffer.extend_from_slice(&(record.len() as u32).to_le_bytes());
            buffer.extend_from_slice(record);
        }
        let mut run = Run::new(0, 0, 0);
        run.end = buffer.len();
        run.buffer = buffer;
        Self::begin(None, vec![run])
    }

    fn begin(file: Option<File>, runs: Vec<Run>) -> io::Result<Self> {
        let mut sorted = Self {
            file,
            heap: Vec::with_capacity(runs.len()),
            runs,
            given: None,
        };
        for at in 0..sorted.runs.len() {
            if sorted.runs[at].advance(sorted.file.as_mut())? {
                sorted.heap.push(at);
            }
        }
        for at in (0..sorted.heap.len() / 2).rev() {
            sorted.sink(at);
        }
        Ok(sorted)
    }

    /// Returns the next record, or `None` at the end.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    #[expect(clippy::should_implement_trait, reason = "it lends what it gives")]
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if let Some(given) = self.given.take() {
            if !self.runs[given].advance(self.file.as_mut())? {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        let Some(first) = self.heap.first().copied() else {
            return Ok(None);
        };
        self.given = Some(first);
        Ok(Some(self.runs[first].text()))
    }

    /// Moves the run at a place of the heap down to where it belongs.
    fn sink(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for below in [2 * at + 1, 2 * at + 2] {
                if below < self.heap.len() && self.order(below, least) == Ordering::Less {
                    least = below;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn order(&self, a: usize, b: usize) -> Ordering {
        let (a, b) = (self.heap[a], self.heap[b]);
        self.runs[a].text().cmp(self.runs[b].text()).then(a.cmp(&b))
    }
}

impl Run {
    fn new(from: u64, to: u64, buffer: usize) -> Self {
        Self {
            from,
            to,
            buffer: vec![0; buffer],
            at: 0,
            end: 0,
            record: (0, 0),
        }
    }

    fn text(&self) -> &[u8] {
        &self.buffer[self.record.0..self.record.1]
    }

    /// Advances to the next record. Returns `false` at the end.
    fn advance(&mut self, mut file: Option<&mut File>) -> io::Result<bool> {
        if !self.has(LENGTH_BYTES, file.as_deref_mut())? {
            return Ok(false);
        }
        let mut length = [0; LENGTH_BYTES];
        length.copy_from_slice(&self.buffer[self.at..self.at + LENGTH_BYTES]);
        let length = u32::from_le_bytes(length) as usize;
        self.at += LENGTH_BYTES;
        if !self.has(length, file)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.record = (self.at, self.at + length);
        self.at += length;
        Ok(true)
    }

    /// Fills the buffer up to `wanted` bytes. Returns `false` if there are fewer.
    fn has(&mut self, wanted: usize, file: Option<&mut File>) -> io::Result<bool> {
        if self.end - self.at >= wanted {
            return Ok(true);
        }
        let Some(file) = file else {
            return Ok(false);
        };
        self.buffer.copy_within(self.at..self.end, 0);
        self.end -= self.at;
        self.at = 0;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let room = (self.buffer.len() - self.end) as u64;
        let count = room.min(self.to - self.from) as usize;
        file.seek(SeekFrom::Start(self.from))?;
        file.read_exact(&mut self.buffer[self.end..self.end + count])?;
        self.from += count as u64;
        self.end += count;
        Ok(self.end >= wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers that look random, but are the same in every run.
    fn drawn(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    #[track_caller]
    fn check(records: &[Vec<u8>], memory: usize, runs: std::ops::RangeInclusive<usize>) {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(folder.path(), memory);
        for record in records {
            sorter.push(record).unwrap();
        }
        assert!(runs.contains(&sorter.runs.len()), "{}", sorter.runs.len());
        let mut expected = records.to_vec();
        expected.sort();
        let mut sorted = sorter.finish().unwrap();
        for record in &expected {
            assert_eq!(sorted.next().unwrap(), Some(&record[..]));
        }
        assert_eq!(sorted.next().unwrap(), None);
        assert_eq!(sorted.next().unwrap(), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_pushed_comes_back_in_order_whatever_fits_into_memory() {
        let mut draw = drawn(7);
        let records: Vec<Vec<u8>> = (0..20_000)
            .map(|_| {
                let length = draw(60);
                (0..length).map(|_| draw(4) as u8).collect()
            })
            .collect();
        check(&records, 16 * 1024 * 1024, 0..=0);
        check(&records, 256 * 1024, 2..=8);
        check(&records, 0, 150..=400); // the least memory
        check(&[], 1024, 0..=0);
        check(&[Vec::new(), Vec::new()], 1024, 0..=0);
    }

    #[test]
    fn a_record_may_be_longer_than_memory_and_no_longer_than_the_limit() {
        let records: Vec<Vec<u8>> = (0..20).map(|at| vec![at * 7 % 20; 100_000]).collect();
        check(&records, 8 * 1024, 20..=20);
        let mut sorter = Sorter::new(std::env::temp_dir(), 8 * 1024);
        let error = sorter.push(&vec![0; MAX_RECORD_BYTES + 1]).unwrap_err();
        assert!(error.to_string().contains("too long to sort"), "{error}");
    }

    #[test]
    fn its_file_goes_also_behind_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(folder.path(), 8 * 1024);
        for at in 0..10_000_u32 {
            sorter.push(&at.to_le_bytes()).unwrap();
        }
        assert!(sorter.file.is_some());
        sorter.push(&vec![0; MAX_RECORD_BYTES + 1]).unwrap_err();
        drop(sorter);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_with_the_first_run() {
        let folder = tempfile::tempdir().unwrap().path().join("none");
        let mut sorter = Sorter::new(folder, 8 * 1024);
        let pushed: io::Result<()> =
            (0..10_000_u32).try_for_each(|at| sorter.push(&at.to_le_bytes()));
        assert_eq!(pushed.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
