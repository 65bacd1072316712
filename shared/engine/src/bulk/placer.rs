//! Slots and shards, in the order of the records.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use objects::{Precondition, Put};
use sitemap::llms::MAX_LLMS_PAGES;
use sitemap::member::{Builder, Segment};
use sitemap::plan::{Change, Holding, Plan, Rendered, Series, Slot};
use sitemap::site::SiteSettings;
use sitemap::stylesheet::shard_frame;
use sitemap::time::When;
use table::Item;

use super::planner::{Owner, Owners, Planned, Planner};
use crate::error::EngineError;
use crate::regenerate::Regenerator;
use crate::rows::keys::{self, ShardId};
use crate::rows::series::{Counter, Room};
use crate::rows::summary::Summary;
use crate::rows::{holding, llms};

/// A page as it was placed.
#[derive(Debug)]
pub struct Page<'a> {
    /// As [`keys::page`] names it.
    pub name: &'a str,
    /// Its plan.
    pub plan: &'a Plan,
    /// Whether it is listed.
    pub is_listed: bool,
    /// The page that has its address, if another one has.
    pub owner: Option<Owner>,
}

/// What takes the results, in order.
pub trait Store {
    /// Why it cannot.
    type Error;

    /// Returns whether rows are kept: then plans name slots and entries' digests, and keep what is rendered.
    fn keeps_rows(&self) -> bool;

    /// Takes a page. It may have nothing to remember.
    ///
    /// # Errors
    ///
    /// If it cannot be stored: then nothing more is placed.
    fn page(&mut self, page: &Page<'_>) -> Result<(), Self::Error>;

    /// Takes a shard that is complete.
    ///
    /// # Errors
    ///
    /// If it cannot be stored: then nothing more is placed.
    fn shard(&mut self, site: &Arc<SiteSettings>, shard: Shard) -> Result<(), Self::Error>;
}

/// A sitemap's entries.
#[derive(Debug)]
pub struct Shard {
    /// Which.
    pub id: ShardId,
    segments: Vec<Filled>,
}

/// A segment's entries, each of version 1.
#[derive(Debug, Default)]
struct Filled {
    entries: u32,
    newest: Option<When>,
    xml: Vec<u8>,
}

impl Shard {
    /// Publishes the shard, of which there is no object yet: the object that publishing makes of its rows, and its summary.
    ///
    /// # Errors
    ///
    /// If there is an object, or the table or the bucket fails.
    pub async fn publish(
        &self,
        to: &Regenerator,
        site: &SiteSettings,
        epoch: u64,
    ) -> Result<(), EngineError> {
        let mut builder = Builder::new(&shard_frame(site, &self.id.series.name), epoch);
        for segment in &self.segments {
            builder.push(&Segment {
                stamp: u64::from(segment.entries),
                entries: segment.entries,
                newest: segment.newest,
                xml: &segment.xml,
            });
        }
        let built = builder.finish();
        let (key, document) = (self.id.object(), to.member_document(&built, None));
        let put = to
            .objects
            .put(&key, built.bytes.into(), &document, &Precondition::Absent);
        if put.await? == Put::Lost {
            let what = key.to_string();
            return Err(EngineError::Contended { what, tries: 1 });
        }
        let summary = Summary::of(&built.directory, document.changed);
        to.reconciler.table.summarise(&self.id, &summary).await
    }
}

/// A series that grows.
#[derive(Debug)]
struct Open {
    site: Arc<SiteSettings>,
    room: Room,
    counter: Counter,
    positions: u32,
    /// The shard that the last slot was in.
    shard: Shard,
}

/// Gives the pages' entries their slots.
#[derive(Debug, Default)]
pub struct Placer {
    owners: Owners,
    series: BTreeMap<Series, Open>,
    /// The rows of the newest pages that a site's llms.txt may list, by their sort keys.
    llms: BTreeMap<String, BTreeMap<String, Item>>,
    /// The rows of pages that departed from their addresses.
    departed: Vec<Item>,
}

impl Placer {
    /// Places the pages of a record, in its turn.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn place<S: Store>(
        &mut self,
        planner: &Planner,
        mut planned: Planned,
        store: &mut S,
    ) -> Result<(), S::Error> {
        let pages = std::mem::take(&mut planned.pages);
        for mut page in pages {
            if planner.facts.owners.is_none()
                && let Some(wanted) = page.wanted
            {
                let own = Owner {
                    at: planned.at,
                    part: page.part,
                };
                match self.owners.entry(wanted) {
                    Entry::Vacant(place) => drop(place.insert(own)),
                    Entry::Occupied(owner) => {
                        let owner = Some(*owner.get());
                        page = planner.plan_page(&planned, page.part, &planner.facts, owner);
                    }
                }
            }
            let name = keys::page(&planned.record.id, page.part);
            let mut is_listed = false;
            for at in 0..page.plan.changes.len() {
                let (series, rendered) = match &page.plan.changes[at] {
                    Change::Insert(series, rendered) => (series, rendered),
                    Change::Llms(item) => {
                        self.note_for_llms(&item.site, llms::row(&name, item));
                        continue;
                    }
                    Change::Hold(departed @ Holding::Departed(..)) => {
                        self.departed.push(holding::item(&name, departed));
                        continue;
                    }
                    _ => continue,
                };
                is_listed = true;
                let Some(site) = &planned.site else { continue };
                let slot = self.insert(site, series, rendered, store)?;
                if store.keeps_rows() {
                    let series = series.clone();
                    page.plan.place(&series, slot);
                }
            }
            store.page(&Page {
                name: &name,
                plan: &page.plan,
                is_listed,
                owner: page.owner,
            })?;
        }
        Ok(())
    }

    fn insert<S: Store>(
        &mut self,
        site: &Arc<SiteSettings>,
        series: &Series,
        rendered: &Rendered,
        store: &mut S,
    ) -> Result<Slot, S::Error> {
        if !self.series.contains_key(series) {
            let open = Open {
                site: site.clone(),
                room: Room::of(site, &series.name),
                counter: Counter::FIRST,
                positions: 0,
                shard: Shard::new(series, 1),
            };
            self.series.insert(series.clone(), open);
        }
        let open = self.series.get_mut(series).expect("it was just looked for");
        let slot = open
            .counter
            .take(rendered.xml.len() as u64, open.room, None);
        if slot.n != open.shard.id.n {
            let full = std::mem::replace(&mut open.shard, Shard::new(series, slot.n));
            store.shard(&open.site, full)?;
        }
        open.positions = open.positions.max(slot.i + 1);
        open.shard.add(slot, rendered);
        Ok(slot)
    }

    fn note_for_llms(&mut self, site: &str, row: Item) {
        if !self.llms.contains_key(site) {
            self.llms.insert(site.to_owned(), BTreeMap::new());
        }
        if let Some(newest) = self.llms.get_mut(site) {
            newest.insert(row.text("sk").unwrap_or_default().to_owned(), row);
            if newest.len() > MAX_LLMS_PAGES {
                newest.pop_first();
            }
        }
    }

    /// Ends the pass: stores what is left. Returns the rows that a [`Stage`](super::Stage) needs to publish the sites: those of the
    /// series, those of the pages in llms.txt, and those of pages that departed.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn finish<S: Store>(self, store: &mut S) -> Result<Vec<Item>, S::Error> {
        let mut rows = self.departed;
        for (series, open) in self.series {
            rows.push(open.counter.row(&series, open.positions));
            store.shard(&open.site, open.shard)?;
        }
        rows.extend(self.llms.into_values().flat_map(BTreeMap::into_values));
        Ok(rows)
    }
}

impl Shard {
    fn new(series: &Series, n: u32) -> Self {
        let series = series.clone();
        Self {
            id: ShardId { series, n },
            segments: Vec::new(),
        }
    }

    fn add(&mut self, slot: Slot, rendered: &Rendered) {
        let segment = slot.segment() as usize;
        if segment == self.segments.len() {
            self.segments.push(Filled::default());
        }
        let filled = &mut self.segments[segment];
        filled.entries += 1;
        filled.newest = filled.newest.max(rendered.lastmod);
        filled.xml.extend_from_slice(rendered.xml.as_bytes());
    }
}
