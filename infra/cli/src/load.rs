//! Writing content into a table: in batches, several at once, paced, and so that a load that was killed goes on.
//!
//! - Lines are written in their order as far as it matters: of two with one id the later one stands.
//! - While the table throttles, half as many batches are under way; with each that passes, one more again.
//! - The journal has the last line up to which every line is settled. A line is written again rather than lost.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{KeysAndAttributes, PutRequest, WriteRequest};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, sleep_until};

use crate::content::{
    BATCH, CONCURRENCY, Counted, Item, Line, LineProblem, LoadError, Loaded, Parsed, Source,
    WHOLE_LINE, id_of, read_lines, refusal,
};
use crate::progress::{Progress, Unit};
use crate::refusal::told;

pub mod delete;
pub mod dry_run;
pub mod publish;

use publish::Held;

/// The time between two writes of the journal: what a killed load writes again.
const JOURNAL_EVERY: Duration = Duration::from_millis(250);
/// The first pause of a batch that the table does not take, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(10));
/// A batch of which the table takes nothing for so long ends the load.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// Codes of DynamoDB's that mean: later.
const THROTTLED: [&str; 4] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "InternalServerError",
];

/// Writes content files into a table.
#[derive(Clone, Debug)]
pub struct Loader<'a> {
    client: &'a Client,
    table: &'a str,
    /// Batches under way at the same time, at most.
    pub concurrency: usize,
    /// Records a second, at most.
    pub rate: Option<f64>,
    /// Whether records that the table has already are not written.
    pub if_changed: bool,
    /// Whether a file has a journal beside it, and malformed lines a file of their own.
    pub beside: bool,
}

/// How far a load of a file is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Journal {
    /// The file's bytes and the time of its last change, in nanoseconds: another file is loaded from its beginning.
    bytes: u64,
    modified: u64,
    table: String,
    /// Every line up to it is settled.
    line: u64,
    /// Bytes of the file of malformed lines up to there, and how many they are.
    malformed_bytes: u64,
    malformed: u64,
}

/// How many batches may be under way.
#[derive(Debug)]
struct Window {
    size: AtomicUsize,
    max: usize,
    /// Batches that passed since it was changed.
    passed: AtomicUsize,
}

impl Window {
    fn new(max: usize) -> Self {
        Self {
            size: AtomicUsize::new(max.max(1)),
            max: max.max(1),
            passed: AtomicUsize::new(0),
        }
    }

    fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    fn throttled(&self) {
        self.size.store((self.size() / 2).max(1), Ordering::Relaxed);
        self.passed.store(0, Ordering::Relaxed);
    }

    fn passed(&self) {
        let size = self.size();
        if self.passed.fetch_add(1, Ordering::Relaxed) + 1 >= size && size < self.max {
            self.size.store(size + 1, Ordering::Relaxed);
            self.passed.store(0, Ordering::Relaxed);
        }
    }
}

/// A line on its way to the table.
#[derive(Debug)]
struct Waiting {
    line: u64,
    bytes: Vec<u8>,
    item: Item,
    /// It is not a site's settings.
    is_page: bool,
}

/// What became of a batch.
#[derive(Debug, Default)]
struct Settled {
    lines: Vec<u64>,
    /// Its ids, and whether they are pages'.
    ids: Vec<(String, bool)>,
    unchanged: u64,
    refused: Vec<(Waiting, String)>,
}

impl<'a> Loader<'a> {
    /// One that writes as fast as the table takes it, and leaves nothing beside a file.
    #[must_use]
    pub fn new(client: &'a Client, table: &'a str) -> Self {
        Self {
            client,
            table,
            concurrency: CONCURRENCY,
            rate: None,
            if_changed: false,
            beside: false,
        }
    }

    /// Loads a source, and shows how far it is.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or the table fails. What was written by then is in the journal.
    pub async fn load(&self, source: &Source) -> Result<Loaded, LoadError> {
        self.load_holding(source, None).await
    }

    /// The same, but the settings of a site are not written, but held.
    ///
    /// # Errors
    ///
    /// As [`Loader::load`].
    pub async fn load_holding(
        &self,
        source: &Source,
        held: Option<&mut Held>,
    ) -> Result<Loaded, LoadError> {
        let mut loading = Loading::begin(self, source, held)?;
        let outcome = loading.run(source).await;
        match outcome {
            Ok(()) => loading.beside.finish()?,
            // The first failure is the one to tell.
            Err(error) => {
                let _ = loading.note_progress();
                return Err(error);
            }
        }
        let mut loaded = loading.loaded;
        // Those that DynamoDB refuses come late.
        loaded.problems.sort_by_key(|problem| problem.line);
        Ok(loaded)
    }

    /// Writes a batch of distinct ids until the table has taken it.
    async fn write(&self, batch: Vec<Waiting>, window: &Window) -> Result<Settled, LoadError> {
        let mut settled = Settled {
            lines: batch.iter().map(|waiting| waiting.line).collect(),
            ids: batch
                .iter()
                .map(|waiting| (id_of(&waiting.item).to_owned(), waiting.is_page))
                .collect(),
            ..Settled::default()
        };
        let mut left = batch;
        if self.if_changed {
            let known = self.known(&left).await;
            left.retain(|waiting| known.get(id_of(&waiting.item)) != Some(&waiting.item));
            settled.unchanged = (settled.lines.len() - left.len()) as u64;
        }
        let (mut pause, mut deadline) = (PAUSES.0, Instant::now() + PATIENCE);
        while !left.is_empty() {
            let failure = match self.put(&left).await {
                Put::All => break,
                Put::Left(ids) => {
                    let before = left.len();
                    left.retain(|waiting| ids.contains(id_of(&waiting.item)));
                    if left.len() < before {
                        // It takes some: there is no need to wait longer and longer.
                        (pause, deadline) = (PAUSES.0, Instant::now() + PATIENCE);
                    }
                    "it throttles".to_owned()
                }
                Put::Later(failure) => failure,
                // DynamoDB refuses a whole batch for one bad item (too large, an empty key): item by item it says which.
                Put::Never => {
                    self.one_by_one(left, &mut settled, window).await?;
                    break;
                }
            };
            window.throttled();
            if Instant::now() > deadline {
                let minutes = PATIENCE.as_secs() / 60;
                return Err(LoadError::Table(format!(
                    "{} took nothing for {minutes} minutes: {failure}",
                    self.table
                )));
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
        window.passed();
        Ok(settled)
    }

    async fn put(&self, batch: &[Waiting]) -> Put {
        let requests = batch.iter().map(|waiting| {
            let item = Some(waiting.item.clone());
            let put = PutRequest::builder().set_item(item).build()?;
            Ok(WriteRequest::builder().put_request(put).build())
        });
        let requests: Result<Vec<_>, aws_sdk_dynamodb::error::BuildError> = requests.collect();
        let Ok(requests) = requests else {
            return Put::Never;
        };
        let output = self
            .client
            .batch_write_item()
            .request_items(self.table, requests)
            .send()
            .await;
        match output {
            Ok(output) => {
                let left = output.unprocessed_items.into_iter().flatten();
                let left = left.flat_map(|(_, requests)| requests);
                let ids: HashSet<String> = left
                    .filter_map(|request| Some(id_of(&request.put_request?.item).to_owned()))
                    .collect();
                match ids.is_empty() {
                    true => Put::All,
                    false => Put::Left(ids),
                }
            }
            Err(error) => {
                let error = error.into_service_error();
                match error.meta().code() {
                    Some("ValidationException") => Put::Never,
                    Some(code) if THROTTLED.contains(&code) => Put::Later(code.to_owned()),
                    // One by one it is said what it is.
                    _ => Put::Never,
                }
            }
        }
    }

    async fn one_by_one(
        &self,
        batch: Vec<Waiting>,
        settled: &mut Settled,
        window: &Window,
    ) -> Result<(), LoadError> {
        for waiting in batch {
            let (mut pause, deadline) = (PAUSES.0, Instant::now() + PATIENCE);
            loop {
                let put = self.client.put_item().table_name(self.table);
                let output = put.set_item(Some(waiting.item.clone())).send().await;
                let Err(error) = output else { break };
                let text = told("PutItem", self.table, &error);
                let error = error.into_service_error();
                match error.meta().code() {
                    Some("ValidationException") => {
                        let message = error.meta().message().unwrap_or_default();
                        let reason = refusal(&waiting.item, message);
                        settled.refused.push((waiting, reason));
                        break;
                    }
                    Some(code) if THROTTLED.contains(&code) && Instant::now() < deadline => {
                        window.throttled();
                        sleep(pause).await;
                        pause = (pause * 2).min(PAUSES.1);
                    }
                    _ => return Err(LoadError::Table(text)),
                }
            }
        }
        Ok(())
    }

    /// The items that the table has with the ids of a batch. One that it does not say is written.
    async fn known(&self, batch: &[Waiting]) -> BTreeMap<String, Item> {
        let keys = batch.iter().filter_map(|waiting| {
            let id = waiting.item.get("id")?.clone();
            Some(std::collections::HashMap::from([("id".to_owned(), id)]))
        });
        let keys = KeysAndAttributes::builder()
            .set_keys(Some(keys.collect()))
            .consistent_read(true)
            .build();
        let Ok(keys) = keys else {
            return BTreeMap::new();
        };
        let output = self.client.batch_get_item().request_items(self.table, keys);
        let found = output.send().await.ok().and_then(|output| output.responses);
        let items = found.into_iter().flatten().flat_map(|(_, items)| items);
        items.map(|item| (id_of(&item).to_owned(), item)).collect()
    }
}

/// What a table did with a batch.
enum Put {
    All,
    /// All but these ids.
    Left(HashSet<String>),
    /// Nothing, but it may take it later.
    Later(String),
    /// Nothing: item by item it says why.
    Never,
}

/// A load of one file.
struct Loading<'l, 'a> {
    loader: &'l Loader<'a>,
    held: Option<&'l mut Held>,
    name: String,
    loaded: Loaded,
    window: Window,
    /// Lines that were read and are not settled.
    pending: BTreeSet<u64>,
    /// The last line that was read.
    last: u64,
    beside: Beside,
    next_journal: Instant,
    /// When the next batch may go.
    next_batch: Instant,
}

impl<'l, 'a> Loading<'l, 'a> {
    fn begin(
        loader: &'l Loader<'a>,
        source: &Source,
        held: Option<&'l mut Held>,
    ) -> Result<Self, LoadError> {
        let beside = match source {
            Source::File(path) if loader.beside => Beside::open(path, loader.table)?,
            _ => Beside::default(),
        };
        let mut loaded = Loaded::default();
        loaded.malformed = beside
            .journal
            .as_ref()
            .map_or(0, |journal| journal.malformed);
        Ok(Self {
            loader,
            held,
            name: source.name(),
            loaded,
            window: Window::new(loader.concurrency),
            pending: BTreeSet::new(),
            last: 0,
            beside,
            next_journal: Instant::now() + JOURNAL_EVERY,
            next_batch: Instant::now(),
        })
    }

    async fn run(&mut self, source: &Source) -> Result<(), LoadError> {
        let name = self.name.clone();
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
        let mut lines = read_lines(counted).map_err(failed)?;
        let mut progress = Progress::begin(&format!("loading {name}"), Unit::Bytes, bytes);
        let begins = self.beside.line();
        let loader = self.loader;
        let window = std::mem::replace(&mut self.window, Window::new(1));
        let mut under_way = FuturesUnordered::new();
        let (mut batch, mut ids) = (Vec::new(), HashSet::new());
        loop {
            let line = lines.recv().await.transpose().map_err(failed)?;
            let is_end = line.is_none();
            let next = match line {
                Some(line) if line.number <= begins => {
                    self.skip(line);
                    continue;
                }
                Some(line) => self.take(line),
                None => None,
            };
            // Of two with one id the later one stands: the earlier one has to be there first.
            let is_repeated = next
                .as_ref()
                .is_some_and(|next| ids.contains(id_of(&next.item)));
            if batch.len() == BATCH || ((is_repeated || is_end) && !batch.is_empty()) {
                while under_way.len() >= window.size() {
                    self.settle(under_way.next().await, &mut ids)?;
                }
                self.wait_for_turn(batch.len()).await;
                under_way.push(loader.write(std::mem::take(&mut batch), &window));
                progress.reach(read.load(Ordering::Relaxed));
            }
            if is_repeated || is_end {
                while !under_way.is_empty() {
                    self.settle(under_way.next().await, &mut ids)?;
                    progress.reach(read.load(Ordering::Relaxed));
                }
            }
            if let Some(next) = next {
                ids.insert(id_of(&next.item).to_owned());
                batch.push(next);
            }
            if is_end {
                return Ok(());
            }
        }
    }

    /// A line that an earlier run has settled.
    fn skip(&mut self, line: Line) {
        self.last = line.number;
        if let Ok(parsed) = line.parsed {
            self.loaded.note_id(&parsed.id);
            self.hold(&parsed.id, parsed.item);
        }
    }

    /// Keeps the settings that are to be held back; returns anything else.
    fn hold(&mut self, id: &str, item: Item) -> Option<Item> {
        match &mut self.held {
            Some(held) if held.id == id => {
                held.settings = Some(item);
                None
            }
            _ => Some(item),
        }
    }

    fn take(&mut self, line: Line) -> Option<Waiting> {
        let Line {
            number,
            bytes,
            parsed,
        } = line;
        self.last = number;
        match parsed {
            Ok(Parsed {
                id,
                item,
                record,
                problems,
                ..
            }) => {
                for problem in problems {
                    self.loaded.problems.push(LineProblem {
                        file: self.name.clone(),
                        line: number,
                        field: problem.field,
                        reason: problem.reason,
                        closes: problem.closes,
                    });
                }
                let Some(item) = self.hold(&id, item) else {
                    self.loaded.note_id(&id);
                    return None;
                };
                self.pending.insert(number);
                Some(Waiting {
                    line: number,
                    bytes,
                    item,
                    is_page: !record.is_settings(),
                })
            }
            Err((field, reason)) => {
                self.refuse(number, bytes, field, reason);
                None
            }
        }
    }

    fn refuse(&mut self, line: u64, bytes: Vec<u8>, field: String, reason: String) {
        self.loaded.refuse(LineProblem {
            file: self.name.clone(),
            line,
            field,
            reason,
            closes: true,
        });
        self.beside.malformed(line, bytes);
    }

    fn settle(
        &mut self,
        settled: Option<Result<Settled, LoadError>>,
        ids: &mut HashSet<String>,
    ) -> Result<(), LoadError> {
        let Some(settled) = settled.transpose()? else {
            return Ok(());
        };
        for line in &settled.lines {
            self.pending.remove(line);
        }
        let refused = settled.refused.len() as u64;
        self.loaded.records += settled.lines.len() as u64 - refused - settled.unchanged;
        self.loaded.unchanged += settled.unchanged;
        for (id, is_page) in settled.ids {
            ids.remove(&id);
            let is_refused = settled
                .refused
                .iter()
                .any(|(waiting, _)| id_of(&waiting.item) == id);
            if !is_refused {
                self.loaded.note_id(&id);
                if let Some(held) = self.held.as_mut().filter(|_| is_page) {
                    held.written(&id);
                }
            }
        }
        for (waiting, reason) in settled.refused {
            self.refuse(waiting.line, waiting.bytes, WHOLE_LINE.to_owned(), reason);
        }
        if Instant::now() >= self.next_journal {
            self.note_progress()?;
        }
        Ok(())
    }

    /// Every line up to this one is settled.
    fn settled_line(&self) -> u64 {
        let first = self.pending.first();
        first.map_or(self.last, |line| line - 1)
    }

    fn note_progress(&mut self) -> Result<(), LoadError> {
        self.next_journal = Instant::now() + JOURNAL_EVERY;
        let line = self.settled_line();
        self.beside.write(line)
    }

    /// Waits until so many records may go.
    async fn wait_for_turn(&mut self, records: usize) {
        let Some(rate) = self.loader.rate else {
            return;
        };
        sleep_until(self.next_batch).await;
        self.next_batch = Instant::now() + Duration::from_secs_f64(records as f64 / rate);
    }
}

/// What is beside a file: its journal, and its malformed lines.
#[derive(Debug, Default)]
struct Beside {
    journal: Option<Journal>,
    journal_path: PathBuf,
    malformed_path: PathBuf,
    /// Malformed lines that are not in their file yet.
    waiting: BTreeMap<u64, Vec<u8>>,
}

/// The file of a file's malformed lines.
#[must_use]
pub fn malformed_path(file: &Path) -> PathBuf {
    with_ending(file, ".malformed.jsonl")
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

impl Beside {
    fn open(file: &Path, table: &str) -> Result<Self, LoadError> {
        let metadata = std::fs::metadata(file).map_err(|error| LoadError::File {
            file: file.display().to_string(),
            error,
        })?;
        if !metadata.is_file() {
            return Ok(Self::default()); // a pipe cannot be read again
        }
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let fresh = Journal {
            bytes: metadata.len(),
            modified: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX),
            table: table.to_owned(),
            line: 0,
            malformed_bytes: 0,
            malformed: 0,
        };
        let journal_path = with_ending(file, ".journal");
        let kept = std::fs::read(&journal_path).ok();
        let kept = kept.and_then(|text| serde_json::from_slice::<Journal>(&text).ok());
        let kept = kept.filter(|kept| {
            (kept.bytes, kept.modified, &kept.table) == (fresh.bytes, fresh.modified, &fresh.table)
        });
        let beside = Self {
            journal: Some(kept.unwrap_or(fresh)),
            journal_path,
            malformed_path: malformed_path(file),
            waiting: BTreeMap::new(),
        };
        beside.cut_malformed()?;
        Ok(beside)
    }

    /// The line up to which an earlier run came.
    fn line(&self) -> u64 {
        self.journal.as_ref().map_or(0, |journal| journal.line)
    }

    fn failed(file: &Path) -> impl FnOnce(io::Error) -> LoadError {
        let file = file.to_owned();
        move |error| LoadError::Beside { file, error }
    }

    /// Takes back what a killed run has written of malformed lines behind its journal.
    fn cut_malformed(&self) -> Result<(), LoadError> {
        let bytes = self
            .journal
            .as_ref()
            .map_or(0, |journal| journal.malformed_bytes);
        let path = &self.malformed_path;
        let cut = match OpenOptions::new().write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Ok(_) if bytes == 0 => std::fs::remove_file(path),
            opened => opened.and_then(|file| file.set_len(bytes)),
        };
        cut.map_err(Self::failed(path))
    }

    fn malformed(&mut self, line: u64, bytes: Vec<u8>) {
        if self.journal.is_some() {
            self.waiting.insert(line, bytes);
        }
    }

    /// Notes that every line up to this one is settled.
    fn write(&mut self, line: u64) -> Result<(), LoadError> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        let later = self.waiting.split_off(&(line + 1));
        let settled = std::mem::replace(&mut self.waiting, later);
        if !settled.is_empty() {
            let append = || -> io::Result<u64> {
                let mut file = OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(&self.malformed_path)?;
                for bytes in settled.values().filter(|bytes| !bytes.is_empty()) {
                    file.write_all(bytes.trim_ascii_end())?;
                    file.write_all(b"\n")?;
                }
                file.sync_data()?;
                file.seek(SeekFrom::End(0))
            };
            journal.malformed_bytes = append().map_err(Self::failed(&self.malformed_path))?;
            journal.malformed += settled.len() as u64;
        }
        journal.line = line;
        let text = serde_json::to_vec(journal).map_err(io::Error::from);
        let partial = with_ending(&self.journal_path, ".partial");
        let written = text.and_then(|text| {
            let mut file = File::create(&partial)?;
            file.write_all(&text)?;
            file.sync_data()?;
            std::fs::rename(&partial, &self.journal_path)
        });
        written.map_err(Self::failed(&self.journal_path))
    }

    /// The file is loaded: no journal is needed any more.
    fn finish(&mut self) -> Result<(), LoadError> {
        if self.journal.is_none() {
            return Ok(());
        }
        self.write(u64::MAX - 1)?;
        std::fs::remove_file(&self.journal_path).map_err(Self::failed(&self.journal_path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_halves_when_the_table_throttles_and_grows_by_one() {
        let window = Window::new(8);
        let sizes = |window: &Window, passes: usize| {
            (0..passes).for_each(|_| window.passed());
            window.size()
        };
        window.throttled();
        assert_eq!(window.size(), 4);
        assert_eq!(sizes(&window, 3), 4);
        assert_eq!(sizes(&window, 1), 5);
        (0..9).for_each(|_| window.throttled());
        assert_eq!(window.size(), 1);
        assert_eq!(sizes(&window, 100), 8);
    }

    #[test]
    fn a_journal_of_another_file_or_table_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        std::fs::write(&file, "x").unwrap();
        let mut beside = Beside::open(&file, "t").unwrap();
        beside.malformed(3, b"oops".to_vec());
        beside.malformed(9, b"later".to_vec());
        beside.write(7).unwrap();
        assert_eq!(std::fs::read(malformed_path(&file)).unwrap(), b"oops\n");
        // What a killed run has written behind its journal is taken back.
        std::fs::write(malformed_path(&file), "oops\nlater\n").unwrap();
        let again = Beside::open(&file, "t").unwrap();
        assert_eq!(
            again
                .journal
                .as_ref()
                .map(|journal| (journal.line, journal.malformed)),
            Some((7, 1))
        );
        assert_eq!(std::fs::read(malformed_path(&file)).unwrap(), b"oops\n");
        assert_eq!(Beside::open(&file, "u").unwrap().line(), 0);
        beside.write(8).unwrap();
        std::fs::write(&file, "xy").unwrap();
        assert_eq!(Beside::open(&file, "t").unwrap().line(), 0);
    }
}
