//! Writes content into a table: in batches, several at once, and paced. A load that was killed can be continued.
//!
//! - Of two lines with one id, the later one is the record in the end. Apart from that, the order of writes is free.
//! - When the table throttles, the number of batches at a time is halved. With each batch that passes, it rises by one.
//! - The journal has the last line up to which every line is settled. After a crash, some lines are written again, and none is lost.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::content::{
    BATCH, CONCURRENCY, Counted, Item, Line, LineProblem, LoadError, Loaded, Parsed, Source,
    WHOLE_LINE, id_of, read_lines,
};
use crate::terminal::progress::{Progress, Unit};

mod batches;
pub(crate) mod command;
pub mod delete;
pub mod dry_run;
mod journal;
pub mod publish;
mod window;

pub use self::journal::malformed_path;

use self::batches::{Calls, Settled, Waiting};
use self::journal::SideFiles;
use self::publish::Held;
use self::window::Window;

/// The time between two writes of the journal: what a killed load writes again.
const JOURNAL_EVERY: Duration = Duration::from_millis(250);
/// Loads a source into the content table, and shows how far it is.
///
/// # Errors
///
/// If the file cannot be read, or the table fails.
pub async fn load(client: &Client, table: &str, source: &Source) -> Result<Loaded, LoadError> {
    Loader::new(client, table).load(source).await
}

/// Writes content files into a table.
#[derive(Clone, Debug)]
pub struct Loader {
    calls: Calls,
    /// Batches under way at the same time, at most.
    pub concurrency: usize,
    /// Records a second, at most.
    pub rate: Option<f64>,
    /// Whether records that the table has already are not written.
    pub if_changed: bool,
    /// Whether a load keeps a journal next to its file, and malformed lines in a file of their own.
    pub keeps_side_files: bool,
}

impl Loader {
    /// Creates a loader that writes as fast as the table takes it, and leaves no files.
    #[must_use]
    pub fn new(client: &Client, table: &str) -> Self {
        Self {
            calls: Calls {
                client: client.clone(),
                table: table.to_owned(),
            },
            concurrency: CONCURRENCY,
            rate: None,
            if_changed: false,
            keeps_side_files: false,
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

    /// Loads a source, but keeps the settings of a site in `held` and does not write them.
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
            Ok(()) => loading.side_files.finish()?,
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
}

/// A load of one file.
struct Loading<'l> {
    loader: &'l Loader,
    held: Option<&'l mut Held>,
    name: String,
    loaded: Loaded,
    /// Lines that were read and are not settled.
    pending: BTreeSet<u64>,
    /// The last line that was read.
    last: u64,
    side_files: SideFiles,
    next_journal: Instant,
    /// When the next batch may go.
    next_batch: Instant,
}

impl<'l> Loading<'l> {
    fn begin(
        loader: &'l Loader,
        source: &Source,
        held: Option<&'l mut Held>,
    ) -> Result<Self, LoadError> {
        let side_files = match source {
            Source::File(path) if loader.keeps_side_files => {
                SideFiles::open(path, &loader.calls.table)?
            }
            _ => SideFiles::default(),
        };
        let mut loaded = Loaded::default();
        loaded.malformed = side_files.malformed_before();
        Ok(Self {
            loader,
            held,
            name: source.name(),
            loaded,
            pending: BTreeSet::new(),
            last: 0,
            side_files,
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
        let begins = self.side_files.line();
        let loader = self.loader;
        let window = Arc::new(Window::new(loader.concurrency));
        // Tasks of their own: they go on while a slow pipe or the rate is waited for.
        let mut under_way = JoinSet::new();
        let (mut batch, mut ids) = (Vec::new(), HashSet::new());
        loop {
            while let Some(settled) = under_way.try_join_next() {
                self.settle(settled, &mut ids)?;
            }
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
                while under_way.len() >= window.size()
                    && let Some(settled) = under_way.join_next().await
                {
                    self.settle(settled, &mut ids)?;
                }
                self.wait_for_turn(batch.len()).await;
                let (calls, window) = (loader.calls.clone(), window.clone());
                let (batch, if_changed) = (std::mem::take(&mut batch), loader.if_changed);
                under_way.spawn(async move { calls.write(batch, &window, if_changed).await });
                progress.reach(read.load(Ordering::Relaxed));
            }
            if is_repeated || is_end {
                while let Some(settled) = under_way.join_next().await {
                    self.settle(settled, &mut ids)?;
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

    /// Skips a line that an earlier run has settled.
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
        self.side_files.malformed(line, bytes);
    }

    fn settle(
        &mut self,
        settled: Result<Result<Settled, LoadError>, JoinError>,
        ids: &mut HashSet<String>,
    ) -> Result<(), LoadError> {
        let settled =
            settled.map_err(|error| LoadError::Table(format!("a write failed: {error}")))??;
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

    /// Returns the line up to which every line is settled.
    fn settled_line(&self) -> u64 {
        let first = self.pending.first();
        first.map_or(self.last, |line| line - 1)
    }

    fn note_progress(&mut self) -> Result<(), LoadError> {
        self.next_journal = Instant::now() + JOURNAL_EVERY;
        let line = self.settled_line();
        self.side_files.write(line)
    }

    /// Waits until this number of records may be written.
    async fn wait_for_turn(&mut self, records: usize) {
        let Some(rate) = self.loader.rate else {
            return;
        };
        sleep_until(self.next_batch).await;
        self.next_batch = Instant::now() + Duration::from_secs_f64(records as f64 / rate);
    }
}
