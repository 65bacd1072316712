//! Reads, plans and places all content.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use engine::bulk::{Owner, Page, Placer, Planned, Planner, Shard, Store, Survey, rows_of};
use engine::keys;
use sitemap::record::{ContentRecord, Problem};
use sitemap::site::{SiteSettings, host_of_site_id};
use table::Item;

use super::error::FirstLoadError;
use super::threads::{in_order, threads};
use super::world::World;
use crate::content::{
    LineProblem, LoadError, Loaded, Spool, SpooledLine, WHOLE_LINE, item_of, read_record, refusal,
    too_long,
};
use crate::status::exclusions::LeftOut;
use crate::terminal::progress::{Progress, Unit};

/// Lines that a thread gets at a time.
const LINES: usize = 256;
/// Sitemaps that wait to be compressed: each has its text in memory.
const SHARDS_AHEAD: usize = 2;
/// The reason of pages whose address another page has.
const DUPLICATE: &str = "duplicate";

/// Which rows and records of pages are kept. Their sitemaps are published anyway.
pub(crate) enum Keeps<'k> {
    /// No more than counts of what is left out.
    Counts,
    /// Their rows, in the world's memory.
    Rows,
    /// Their rows and records, elsewhere.
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "`serve` imports"))]
    Elsewhere(&'k mut dyn Import),
}

/// Takes the tables' contents.
pub(crate) trait Import {
    /// Takes a record.
    ///
    /// # Errors
    ///
    /// If it cannot be kept.
    fn record(&mut self, record: Item) -> Result<(), FirstLoadError>;

    /// Takes a row of a page.
    ///
    /// # Errors
    ///
    /// If it cannot be kept.
    fn row(&mut self, row: Item) -> Result<(), FirstLoadError>;
}

/// Publishes all content in the world.
pub(super) fn load(
    world: &mut World,
    spool: &mut Spool,
    examples: usize,
    mut keeps: Keeps<'_>,
) -> Result<Loaded, FirstLoadError> {
    // It has an id of each record: one copy is enough.
    let mut loaded = std::mem::take(&mut spool.loaded);
    let spool = &*spool;
    let mut recorded = BTreeMap::new();
    for (id, (_, record)) in &spool.settings {
        if let Some(host) = host_of_site_id(id) {
            world.put_settings(record)?;
            world.settled.insert(host.to_owned());
            recorded.insert(host.to_owned(), record.clone());
        }
    }
    let mut planner = Planner::new(world.now(), world.known(), recorded);
    if spool.depends {
        let mut survey = Survey::default();
        each(spool, &planner, false, "looking at pages", |line| {
            if let Ok(ReadRecord {
                planned: Some(planned),
                ..
            }) = line.read
            {
                survey.see(&planner, planned);
            }
            Ok(())
        })?;
        planner = survey.finish(planner);
    }
    let sites = place(world, spool, &planner, examples, &mut keeps, &mut loaded)?;
    world.publish(&sites)?;
    if let Keeps::Elsewhere(import) = &mut keeps {
        for (at, _) in spool.settings.values() {
            if let Ok(read) = read_record(&spool.line(*at)?) {
                import.record(item_of(&read))?;
            }
        }
        for row in world.rows()? {
            import.row(row)?;
        }
    }
    Ok(loaded)
}

/// Places the pages and publishes their sitemaps. Returns the sites.
fn place(
    world: &mut World,
    spool: &Spool,
    planner: &Planner,
    examples: usize,
    keeps: &mut Keeps<'_>,
    loaded: &mut Loaded,
) -> Result<Vec<Arc<SiteSettings>>, FirstLoadError> {
    let failure = Mutex::new(None);
    let (send, receive) = sync_channel::<Full>(SHARDS_AHEAD);
    let receive = Mutex::new(receive);
    let taken = std::thread::scope(|scope| {
        let compress = || {
            loop {
                let next = receive
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .recv();
                let Ok(Full { shard, site, epoch }) = next else {
                    return;
                };
                if let Err(error) = world.publish_shard(&shard, &site, epoch) {
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    failure.get_or_insert(error);
                }
            }
        };
        for _ in 0..threads() {
            scope.spawn(compress);
        }
        let wants_items = matches!(keeps, Keeps::Elsewhere(_));
        let mut taking = Taking {
            world,
            examples,
            keeps,
            token: world.token(),
            epochs: BTreeMap::new(),
            full: send,
            taken: Taken::default(),
        };
        let mut placer = Placer::default();
        for (id, (at, record)) in &spool.settings {
            // Only those under a wrong id leave anything behind.
            let planned = planner.plan(ContentRecord::parse(id, record), *at);
            placer.place(planner, planned, &mut taking)?;
        }
        each(spool, planner, wants_items, "placing pages", |mut line| {
            let item = line.read.as_mut().ok().and_then(|read| read.item.take());
            if let (Some(item), Keeps::Elsewhere(import)) = (item, &mut taking.keeps) {
                import.record(item)?;
            }
            let planned = note(line, spool, loaded);
            match planned {
                Some(planned) => placer.place(planner, planned, &mut taking),
                None => Ok(()),
            }
        })?;
        for row in placer.finish(&mut taking)? {
            world.put_row(row)?;
        }
        Ok::<_, FirstLoadError>(taking.taken)
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = failure {
        return Err(error);
    }
    let Taken {
        mut left_out,
        listed,
        owners,
    } = taken?;
    left_out.name_owners(&owned_by(spool, owners)?);
    (world.left_out, world.listed) = (left_out, listed);
    Ok(planner.sites())
}

/// A line that was read.
struct LineRead {
    at: u64,
    number: u64,
    read: Result<ReadRecord, ((String, String), Vec<u8>)>,
}

struct ReadRecord {
    problems: Vec<Problem>,
    /// Where the line is that counts, if several lines have the id.
    last: Option<u64>,
    /// Unless it is a site's settings, or was planned at an earlier line.
    planned: Option<Planned>,
    /// Its item, if it was planned and items are wanted.
    item: Option<Item>,
}

/// Reads and plans each line on several threads, and gives what was read to `take` in order.
fn each(
    spool: &Spool,
    planner: &Planner,
    wants_items: bool,
    what: &str,
    mut take: impl FnMut(LineRead) -> Result<(), FirstLoadError>,
) -> Result<(), FirstLoadError> {
    let mut progress = Progress::begin(what, Unit::Things("records"), Some(spool.lines));
    let mut lines = spool.read();
    let chunks = std::iter::from_fn(|| {
        let chunk: Result<Vec<SpooledLine>, LoadError> = lines.by_ref().take(LINES).collect();
        match chunk {
            Ok(chunk) if chunk.is_empty() => None,
            chunk => Some(chunk.map_err(FirstLoadError::from)),
        }
    });
    let read = |chunk: Vec<SpooledLine>| -> Result<Vec<LineRead>, LoadError> {
        let lines = chunk.into_iter();
        let read = |line| read_line(line, spool, planner, wants_items);
        lines.map(read).collect()
    };
    let (mut done, mut planned) = (0, BTreeSet::new());
    in_order(threads(), chunks, read, |chunk| {
        for mut line in chunk? {
            if let Ok(ReadRecord {
                last: Some(last),
                planned: plan,
                item,
                ..
            }) = &mut line.read
                && plan.is_some()
                && !planned.insert(*last)
            {
                (*plan, *item) = (None, None);
            }
            take(line)?;
            done += 1;
        }
        progress.reach(done);
        Ok(())
    })
}

fn read_line(
    line: SpooledLine,
    spool: &Spool,
    planner: &Planner,
    wants_items: bool,
) -> Result<LineRead, LoadError> {
    let SpooledLine { at, number, bytes } = line;
    let read = |bytes: &[u8]| {
        if bytes.is_empty() {
            return Err(too_long());
        }
        let read = read_record(bytes)?;
        match refusal(&read, bytes.len()) {
            None => Ok(read),
            Some(reason) => Err((WHOLE_LINE.to_owned(), reason)),
        }
    };
    let read = match read(&bytes) {
        Err(malformed) => Err((malformed, bytes)),
        Ok(mut read) => {
            let problems = std::mem::take(&mut read.problems);
            let last = spool.last(&read.record);
            let other = last.filter(|last| *last != at);
            let is_settings = match last {
                Some(_) => spool.settings.contains_key(&read.record.id),
                None => read.record.is_settings(),
            };
            let counts = match other {
                _ if is_settings => None,
                None => Some(read),
                Some(other) => read_record(&spool.line(other)?).ok(),
            };
            let item = counts.as_ref().filter(|_| wants_items).map(item_of);
            Ok(ReadRecord {
                problems,
                last,
                planned: counts.map(|read| planner.plan(read.record, last.unwrap_or(at))),
                item,
            })
        }
    };
    Ok(LineRead { at, number, read })
}

/// Counts a line and its problems. Returns its plan if it has one.
fn note(line: LineRead, spool: &Spool, loaded: &mut Loaded) -> Option<Planned> {
    let problem = |field, reason, closes| LineProblem {
        file: spool.source(line.at).to_owned(),
        line: line.number,
        field,
        reason,
        closes,
    };
    match line.read {
        Ok(ReadRecord {
            problems, planned, ..
        }) => {
            loaded.records += 1;
            let problems = problems.into_iter();
            let problems = problems.map(|one| problem(one.field, one.reason, one.closes));
            loaded.problems.extend(problems);
            planned
        }
        Err(((field, reason), bytes)) => {
            spool.uncount(line.at, &bytes, loaded);
            loaded.refuse(problem(field, reason, true));
            None
        }
    }
}

/// Returns the names of the pages that have these pages' addresses.
fn owned_by(
    spool: &Spool,
    owners: BTreeMap<String, Owner>,
) -> Result<BTreeMap<String, String>, FirstLoadError> {
    let named = owners.into_iter().map(|(page, Owner { at, part })| {
        let record = read_record(&spool.line(at)?).ok().map(|read| read.record);
        let id = record.map(|record| record.id).unwrap_or_default();
        Ok((page, keys::page(&id, part)))
    });
    named.collect()
}

/// A sitemap that is complete.
struct Full {
    shard: Shard,
    site: Arc<SiteSettings>,
    epoch: u64,
}

/// The counts and names that are complete when all pages are placed.
#[derive(Default)]
struct Taken {
    left_out: LeftOut,
    listed: BTreeMap<String, (u64, Option<String>)>,
    /// Of pages that are examples of [`DUPLICATE`], who has their address.
    owners: BTreeMap<String, Owner>,
}

/// The store of a first load.
struct Taking<'w, 'k> {
    world: &'w World,
    /// Examples of pages that are left out, by reason.
    examples: usize,
    keeps: &'w mut Keeps<'k>,
    /// The token of all pages' rows.
    token: String,
    epochs: BTreeMap<String, u64>,
    full: SyncSender<Full>,
    taken: Taken,
}

impl Store for Taking<'_, '_> {
    type Error = FirstLoadError;

    fn keeps_rows(&self) -> bool {
        !matches!(self.keeps, Keeps::Counts)
    }

    fn page(&mut self, page: &Page<'_>) -> Result<(), FirstLoadError> {
        let Some(ledger) = &page.plan.ledger else {
            return Ok(());
        };
        for row in match self.keeps {
            Keeps::Counts => Vec::new(),
            Keeps::Rows | Keeps::Elsewhere(_) => rows_of(page.name, page.plan, &self.token),
        } {
            match &mut self.keeps {
                Keeps::Elsewhere(import) => import.row(row)?,
                _ => self.world.put_row(row)?,
            }
        }
        let examples = self.examples;
        let Taken {
            left_out,
            listed,
            owners,
        } = &mut self.taken;
        if left_out.add(page.name, ledger, page.is_listed, examples)
            && let Some(owner) = page.owner
        {
            owners.insert(page.name.to_owned(), owner);
            if owners.len() > 2 * examples {
                owners.retain(|page, _| left_out.has(DUPLICATE, page));
            }
        }
        if page.is_listed {
            if !listed.contains_key(&ledger.site) {
                listed.insert(ledger.site.clone(), (0, None));
            }
            if let Some((count, first)) = listed.get_mut(&ledger.site) {
                *count += 1;
                if first.as_deref().is_none_or(|first| page.name < first) {
                    *first = Some(page.name.to_owned());
                }
            }
        }
        Ok(())
    }

    fn shard(&mut self, site: &Arc<SiteSettings>, shard: Shard) -> Result<(), FirstLoadError> {
        let epoch = match self.epochs.get(&site.host) {
            Some(epoch) => *epoch,
            None => {
                let epoch = self.world.epoch(&site.host)?;
                self.epochs.insert(site.host.clone(), epoch);
                epoch
            }
        };
        let site = site.clone();
        // Its threads end with the sender alone.
        let full = Full { shard, site, epoch };
        self.full.send(full).map_err(|_| FirstLoadError::Ended)
    }
}
