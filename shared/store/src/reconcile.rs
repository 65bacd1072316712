//! Reconcile: make what is placed for a record agree with what is true of it.
//!
//! fence → read → plan → commit, and again from the fence if the commit was lost. Records are reconciled in batches:
//! their reads and the series' counter are shared, their transactions are their own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sitemap::eligibility::Newest;
use sitemap::mapping::SOURCE_MARK;
use sitemap::plan::{self, Change, Claim, Inputs, Ledger, Plan, Series, Slot, Translations};
use sitemap::record::ContentRecord;
use sitemap::site::{SITE_TYPE, SiteSettings};

use crate::clock::Clock;
use crate::concurrency::{backoff, concurrently};
use crate::content::Content;
use crate::error::StoreError;
use crate::keys::{self, Key};
use crate::ledgers::{Commit, Fenced, Ledgers};
use crate::metrics::{self, Metrics};
use crate::sites::{Hold, SiteRow, Sites};
use crate::slots::{Offer, Slots};

mod sites;

/// Records of one batch whose requests are under way at the same time.
const CONCURRENCY: usize = 16;
/// Parts of one page that are reconciled together.
const PARTS: usize = 100;
/// Times a record is started again from its fence before its event is left to be delivered again.
const TRIES: u32 = 8;
/// Rounds after which a page's ledger is held against its rows: one that is untrue, since a row was lost and another page
/// has it by now, would lose every commit, and hold up its stream or the scan until an audit.
const TRUSTING_TRIES: u32 = 4;
const _: () = assert!(TRUSTING_TRIES < TRIES);
/// Rounds in which a page whose reads or writes failed is tried. What has called for it, a page in a hundred parts or a
/// member of a large group, is done again as a whole if one fails: with many calls, one always would.
const PASSING_TRIES: u32 = 3;

/// Which sites there are beside those that have a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownSites {
    /// Any host is a site.
    Any,
    /// These hosts.
    Only(Vec<String>),
}

impl KnownSites {
    /// Reads a list of hosts separated by commas; `*` means any.
    #[must_use]
    pub fn parse(list: &str) -> Self {
        match list.trim() {
            "*" => Self::Any,
            list => {
                let hosts = list.split(',').map(|host| host.trim().to_ascii_lowercase());
                Self::Only(hosts.filter(|host| !host.is_empty()).collect())
            }
        }
    }

    fn include(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Only(hosts) => hosts.iter().any(|known| known == host),
        }
    }
}

/// How a page's reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reconciled {
    /// Nothing was to be done.
    Unchanged,
    /// What was placed for it has changed.
    Changed,
}

/// Both tables, and what a reconcile needs to know beside them.
#[derive(Clone, Debug)]
pub struct Reconciler<C, T> {
    /// The content table.
    pub content: C,
    /// The sitemap table.
    pub table: T,
    /// The sites of the deployment.
    pub known: KnownSites,
    /// The clock.
    pub clock: Clock,
    /// Where what was done is counted.
    pub metrics: Metrics,
}

/// The rows of sites by host.
type SiteMap = HashMap<String, Result<Option<SiteRow>, StoreError>>;

/// On what terms pages are reconciled.
#[derive(Clone, Copy, Debug, Default)]
struct Terms<'a> {
    /// A slot that its owner has to leave, by page, and its series.
    evict: Option<(&'a Series, &'a HashMap<String, Slot>)>,
    /// Rows that seem to be a page's own: the rows are believed, and not the ledger.
    found: Option<&'a BTreeMap<String, Vec<Key>>>,
    /// Whether the ledgers may be untrue: they are held against the rows.
    doubted: bool,
    /// Whether nobody is to be told of what changes.
    quiet: bool,
}

/// What was read for a page's plan beside its record and ledger.
#[derive(Clone, Debug)]
struct Read {
    newest: Newest,
    claim: Claim,
    /// The highest part beyond the record's that has a ledger.
    left: u32,
}

/// How one try for a page ended.
struct Tried {
    outcome: Reconciled,
    /// The highest part that may have anything placed.
    parts: u32,
    /// Whether that is one which the record has no longer.
    left: bool,
}

impl<C: Content, T: Ledgers + Slots + Sites> Reconciler<C, T> {
    /// Reconciles pages, each named by [`keys::page`], and with a record's own page its other parts: for each its outcome,
    /// in their order. The pages must differ.
    ///
    /// `evict` names a slot that its owner among them has to leave.
    pub async fn reconcile(
        &self,
        pages: &[String],
        evict: Option<(&Series, &HashMap<String, Slot>)>,
    ) -> Vec<Result<Reconciled, StoreError>> {
        let terms = Terms {
            evict,
            ..Terms::default()
        };
        self.with_parts(pages, terms).await
    }

    /// As [`Reconciler::reconcile`], and nobody is told of what changes: it is not the pages that did.
    pub async fn reconcile_quietly(&self, pages: &[String]) -> Vec<Result<Reconciled, StoreError>> {
        let terms = Terms {
            quiet: true,
            ..Terms::default()
        };
        self.with_parts(pages, terms).await
    }

    /// Reconciles pages of which rows were lost or are not in their ledgers: for each its outcome, in their order. With
    /// each come the rows that seem to be its own. Nobody is told of what changes.
    pub async fn repair(
        &self,
        found: &BTreeMap<String, Vec<Key>>,
    ) -> Vec<Result<Reconciled, StoreError>> {
        let pages: Vec<String> = found.keys().cloned().collect();
        let terms = Terms {
            found: Some(found),
            quiet: true,
            ..Terms::default()
        };
        self.with_parts(&pages, terms).await
    }

    /// What a reconcile of a page would do at this moment; nothing if what it needs to know cannot be read.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn foresee(
        &self,
        page: &str,
        record: Option<&ContentRecord>,
        site: Option<&SiteSettings>,
        ledger: &Ledger,
    ) -> Result<Option<Plan>, StoreError> {
        let now = self.clock.now();
        let (id, part) = keys::page_parts(page);
        let planned = plan::Page { record, part, site };
        let read = match self.read(page, planned, ledger, now).await {
            Err(StoreError::Damaged { .. }) => return Ok(None),
            read => read?,
        };
        let group = match planned.wanted_group(read.newest, now) {
            Some(group) => self.table.translations(group).await?,
            None => Translations::default(),
        };
        let inputs = read.inputs(planned, ledger, &group);
        Ok(Some(plan::plan(id, &inputs, now)))
    }

    /// Reconciles pages, then the parts of those that have any, then those again that have fewer than before: what their
    /// ledgers remember of the others may go when these are cleared.
    async fn with_parts(
        &self,
        pages: &[String],
        terms: Terms<'_>,
    ) -> Vec<Result<Reconciled, StoreError>> {
        let tried = self.rounds(pages, terms).await;
        let mut outcomes = Vec::with_capacity(pages.len());
        for (page, tried) in pages.iter().zip(tried) {
            outcomes.push(match tried {
                Ok(tried) if tried.parts > 1 => self.follow_parts(page, tried, terms).await,
                tried => tried.map(|tried| tried.outcome),
            });
        }
        for outcome in &outcomes {
            let metric = match outcome {
                Ok(Reconciled::Changed) => &metrics::RECORDS_CHANGED,
                Ok(Reconciled::Unchanged) => &metrics::RECORDS_UNCHANGED,
                Err(error) if error.is_permanent() => &metrics::RECORDS_IMPOSSIBLE,
                Err(_) => &metrics::RECORDS_FAILED,
            };
            self.metrics.note(metric, 1);
        }
        outcomes
    }

    /// Reconciles the parts of a record's page, and has its ledger forget those that the record has no longer. Whether
    /// any of these is left is read again after each fence: a run for what the record was meanwhile may have placed one.
    async fn follow_parts(
        &self,
        page: &str,
        mut tried: Tried,
        terms: Terms<'_>,
    ) -> Result<Reconciled, StoreError> {
        let (id, _) = keys::page_parts(page);
        let mut outcome = tried.outcome;
        for _ in 0..TRIES {
            outcome = outcome.max(self.reconcile_parts(id, tried.parts, terms).await?);
            if !tried.left {
                return Ok(outcome);
            }
            let terms = Terms {
                evict: None,
                ..terms
            };
            for again in self.rounds(&[page.to_owned()], terms).await {
                tried = again?;
                outcome = outcome.max(tried.outcome);
            }
            if !tried.left {
                return Ok(outcome);
            }
        }
        Err(StoreError::Contended {
            what: format!("the parts of {id}"),
            tries: TRIES,
        })
    }

    /// Reconciles the parts 2 to `highest`.
    async fn reconcile_parts(
        &self,
        id: &str,
        highest: u32,
        terms: Terms<'_>,
    ) -> Result<Reconciled, StoreError> {
        let parts: Vec<String> = (2..=highest).map(|part| keys::page(id, part)).collect();
        let mut outcome = Ok(Reconciled::Unchanged);
        for parts in parts.chunks(PARTS) {
            for tried in self.rounds(parts, terms).await {
                outcome = match (outcome, tried) {
                    (Ok(outcome), Ok(tried)) => Ok(tried.outcome.max(outcome)),
                    // One that fails holds up none of the others; one that may succeed decides that all come again.
                    (Err(error), Err(other)) if error.is_permanent() => Err(other),
                    (Err(error), _) | (_, Err(error)) => Err(error),
                };
            }
        }
        outcome
    }

    async fn rounds(&self, pages: &[String], terms: Terms<'_>) -> Vec<Result<Tried, StoreError>> {
        let mut outcomes: HashMap<&str, Result<Tried, StoreError>> = HashMap::new();
        let mut pending: Vec<&str> = pages.iter().map(String::as_str).collect();
        for round in 0..TRIES {
            if pending.is_empty() {
                break;
            }
            backoff(round).await;
            let terms = Terms {
                doubted: round >= TRUSTING_TRIES,
                ..terms
            };
            pending = self.round(&pending, terms, &mut outcomes).await;
            if round + 1 < PASSING_TRIES {
                let passing = |tried: &Result<Tried, StoreError>| {
                    let error = tried.as_ref().err();
                    error.is_some_and(|error| !error.is_permanent())
                };
                let failed = outcomes.extract_if(|_, tried| passing(tried));
                pending.extend(failed.map(|(page, _)| page));
            }
        }
        let mut outcome = |page: &String| {
            let lost = || {
                Err(StoreError::Contended {
                    what: format!("record {page}"),
                    tries: TRIES,
                })
            };
            outcomes.remove(page.as_str()).unwrap_or_else(lost)
        };
        pages.iter().map(&mut outcome).collect()
    }

    /// One try for each of the pages; returns those that lost.
    async fn round<'a>(
        &self,
        pages: &[&'a str],
        terms: Terms<'_>,
        outcomes: &mut HashMap<&'a str, Result<Tried, StoreError>>,
    ) -> Vec<&'a str> {
        let now = self.clock.now();
        // The fence precedes every read: a run that finds nothing to do writes nothing else, and an older run, which
        // read an older truth, must not be able to commit after it.
        let fences = pages.iter().map(|page| async move {
            match terms.found.and_then(|found| found.get(*page)) {
                None if terms.doubted => self.table.fence_verified(page, &[]).await,
                None => self.table.fence(page).await,
                Some(found) => self.table.fence_verified(page, found).await,
            }
        });
        let fences = concurrently(CONCURRENCY, fences).await;
        let mut fenced = Vec::with_capacity(pages.len());
        for (page, fence) in pages.iter().zip(fences) {
            match fence {
                Ok(fence) => fenced.push((*page, fence)),
                Err(error) => drop(outcomes.insert(page, Err(error))),
            }
        }
        let ids: BTreeSet<&str> = fenced
            .iter()
            .map(|(page, _)| keys::page_parts(page).0)
            .collect();
        let ids = ids.into_iter().map(str::to_owned);
        // Apart: where the user's table cannot be read, Waymark's own can.
        let (mapped, own): (Vec<String>, Vec<String>) =
            ids.partition(|id| id.starts_with(SOURCE_MARK));
        let mut records = HashMap::new();
        for ids in [own, mapped] {
            match self.content.records(&ids).await {
                Ok(found) => records.extend(found),
                // Every record of the table has failed for the same passing reason.
                Err(error) => fenced.retain(|(page, _)| {
                    let id = keys::page_parts(page).0;
                    let stays = !ids.iter().any(|failed| failed == id);
                    if !stays {
                        outcomes.insert(page, Err(error.passing()));
                    }
                    stays
                }),
            }
        }
        let sites = self.sites(&records, &fenced).await;
        let host = |page: &str, ledger: &Ledger| {
            let record = records.get(keys::page_parts(page).0);
            record.map_or_else(|| ledger.site.clone(), |record| record.site.clone())
        };
        fenced.retain(
            |(page, fenced)| match sites.get(&host(page, &fenced.ledger)) {
                Some(Err(error)) => {
                    outcomes.insert(page, Err(error.shared()));
                    false
                }
                _ => true,
            },
        );
        let row = |page: &str, ledger: &Ledger| {
            let row = sites.get(&host(page, ledger))?.as_ref().ok()?;
            row.as_ref()
        };
        let page_of = |page: &str, ledger: &Ledger| {
            let (id, part) = keys::page_parts(page);
            plan::Page {
                record: records.get(id),
                part,
                site: row(page, ledger).map(|row| &row.settings),
            }
        };
        let reads = fenced.iter().map(|(page, fenced)| {
            let planned = page_of(page, &fenced.ledger);
            self.read(page, planned, &fenced.ledger, now)
        });
        let reads = concurrently(CONCURRENCY, reads).await;
        let groups = fenced
            .iter()
            .zip(&reads)
            .filter_map(|((page, fenced), read)| {
                let newest = read.as_ref().ok()?.newest;
                page_of(page, &fenced.ledger).wanted_group(newest, now)
            });
        // Each once: all members of a group are often reconciled together.
        let groups: BTreeSet<&str> = groups.collect();
        let translations = groups
            .iter()
            .map(|group| async move { (*group, self.table.translations(group).await) });
        let groups: HashMap<&str, _> = concurrently(CONCURRENCY, translations)
            .await
            .into_iter()
            .collect();
        let no_group = Translations::default();
        let (mut plans, mut unsettled) = (Vec::with_capacity(pages.len()), BTreeSet::new());
        let mut live = BTreeSet::new();
        for ((page, fenced), read) in fenced.into_iter().zip(reads) {
            let read = match read {
                Ok(read) => read,
                Err(error) => {
                    outcomes.insert(page, Err(error));
                    continue;
                }
            };
            let (id, _) = keys::page_parts(page);
            let planned = page_of(page, &fenced.ledger);
            let wanted = planned.wanted_group(read.newest, now);
            let group = match wanted.map(|group| groups.get(group)) {
                Some(Some(Err(error))) => {
                    outcomes.insert(page, Err(error.shared()));
                    continue;
                }
                Some(Some(Ok(group))) => group,
                _ => &no_group,
            };
            let evict = terms.evict;
            let evict = evict.and_then(|(series, slots)| Some((series, *slots.get(page)?)));
            let row = row(page, &fenced.ledger);
            let released = row.is_some_and(|row| row.hold == Hold::Released);
            let inputs = Inputs {
                evict,
                told: released && !terms.quiet,
                ..read.inputs(planned, &fenced.ledger, group)
            };
            let mut plan = plan::plan(id, &inputs, now);
            plan.ledger_changes |= fenced.untrue;
            plans.push((page, fenced, plan));
            unsettled.extend((read.left > 0).then_some(page));
            live.extend(released.then_some(page));
        }
        let mut offers = self.offers(&plans, &sites, terms).await;
        plans.retain(|(page, _, plan)| {
            let mut offers = plan.needs_slots().filter_map(|series| offers.get(series));
            match offers.find_map(|offers| offers.as_ref().err()) {
                Some(error) => {
                    outcomes.insert(page, Err(error.shared()));
                    false
                }
                None => true,
            }
        });
        let commits = plans.into_iter().map(|(page, fenced, mut plan)| {
            let wanted: Vec<Series> = plan.needs_slots().cloned().collect();
            let offered = wanted
                .iter()
                .filter_map(|series| offers.get_mut(series)?.as_mut().ok()?.pop());
            let offered: Vec<Offer> = offered.collect();
            for offer in &offered {
                plan.place(&offer.series, offer.slot);
            }
            let live = live.contains(page);
            async move {
                let tried = self.commit(page, &fenced, &plan, &offered).await;
                if let Ok(Some(_)) = tried {
                    self.count_changes(&fenced.ledger, &plan, live);
                }
                (page, tried)
            }
        });
        let mut lost = Vec::new();
        for (page, outcome) in concurrently(CONCURRENCY, commits).await {
            match outcome {
                Ok(Some(tried)) => {
                    let left = unsettled.contains(page);
                    outcomes.insert(page, Ok(Tried { left, ..tried }));
                }
                Ok(None) => lost.push(page),
                Err(error) => drop(outcomes.insert(page, Err(error))),
            }
        }
        lost
    }

    /// What a page's plan needs to know beside its record and ledger. Read after its fence.
    async fn read(
        &self,
        page: &str,
        planned: plan::Page<'_>,
        ledger: &Ledger,
        now: i64,
    ) -> Result<Read, StoreError> {
        let newest = match planned.wanted_term(now) {
            Some(term) => self.table.newest(&term).await?,
            None => Newest::Unread,
        };
        let claim = match planned.wanted_address(newest, ledger, now) {
            Some(address) => self.table.claim(&address, page).await?,
            None => Claim::Unread,
        };
        let left = match planned.last_part(ledger) {
            Some(last) => {
                let highest = self.table.highest_part(keys::page_parts(page).0).await?;
                if highest > last { highest } else { 0 }
            }
            None => 0,
        };
        Ok(Read {
            newest,
            claim,
            left,
        })
    }

    /// The rows of the records' sites, and of those where the pages of gone records were listed; nothing for one that is
    /// not known. Read after all fences.
    async fn sites(
        &self,
        records: &HashMap<String, ContentRecord>,
        fenced: &[(&str, Fenced)],
    ) -> SiteMap {
        let mut sites = HashMap::new();
        let pages = records
            .values()
            .filter(|record| record.type_name != SITE_TYPE);
        for record in pages {
            if !sites.contains_key(&record.site) {
                let row = self.ensure_site(&record.site).await;
                sites.insert(record.site.clone(), row);
            }
        }
        let gone = fenced
            .iter()
            .filter(|(page, _)| !records.contains_key(keys::page_parts(page).0));
        for (_, Fenced { ledger, .. }) in gone {
            if ledger.claim.is_some() && !sites.contains_key(&ledger.site) {
                // Only to know who is to be told: what is gone goes, whatever its site says.
                let row = self.table.site(&ledger.site).await.unwrap_or(None);
                sites.insert(ledger.site.clone(), Ok(row));
            }
        }
        sites
    }

    /// Slots for the plans that need some, by series: one that fails must not keep them from the others.
    async fn offers(
        &self,
        plans: &[(&str, Fenced, Plan)],
        sites: &SiteMap,
        terms: Terms<'_>,
    ) -> HashMap<Series, Result<Vec<Offer>, StoreError>> {
        let mut wanted: BTreeMap<&Series, usize> = BTreeMap::new();
        for series in plans.iter().flat_map(|(_, _, plan)| plan.needs_slots()) {
            *wanted.entry(series).or_default() += 1;
        }
        let mut offers = HashMap::new();
        for (series, count) in wanted {
            let evicted = terms.evict.filter(|(evicted, _)| *evicted == series);
            let avoid = evicted.and_then(|(_, slots)| slots.values().next());
            let avoid = avoid.map(|slot| slot.n);
            if let Some(Ok(Some(SiteRow { settings, .. }))) = sites.get(&series.site) {
                let capacity = settings.capacity(&series.name);
                let mut slots = self.table.offer(series, count, capacity, avoid).await;
                // Taken from the end: the batch's first record gets the lowest slot.
                if let Ok(slots) = &mut slots {
                    slots.reverse();
                }
                offers.insert(series.clone(), slots);
            }
        }
        offers
    }

    /// Applies a plan. Nothing is returned if the race was lost.
    async fn commit(
        &self,
        page: &str,
        fenced: &Fenced,
        plan: &Plan,
        offers: &[Offer],
    ) -> Result<Option<Tried>, StoreError> {
        let parts = plan.ledger.as_ref().map_or(0, |ledger| ledger.parts);
        let tried = |outcome| {
            Some(Tried {
                outcome,
                parts,
                left: false,
            })
        };
        // Without a ledger to keep there is one to delete: at least the fence's own.
        let nothing = plan.is_empty() && fenced.strays.is_empty();
        if nothing && plan.ledger.is_some() {
            return Ok(tried(Reconciled::Unchanged));
        }
        match self.table.commit(page, fenced, plan, offers).await? {
            Commit::Done if nothing => Ok(tried(Reconciled::Unchanged)),
            Commit::Done => Ok(tried(Reconciled::Changed)),
            Commit::Lost { occupied } => {
                // An occupied slot must not be offered for ever.
                for offer in occupied.iter().filter(|offer| offer.given_back) {
                    self.table.forget_free(offer).await?;
                }
                Ok(None)
            }
        }
    }
}

impl<C, T> Reconciler<C, T> {
    /// Counts what a plan that was committed has changed; `live` says whether the page's site is released.
    fn count_changes(&self, before: &Ledger, plan: &Plan, live: bool) {
        let count = |counted: fn(&Change) -> bool| {
            let changes = plan.changes.iter().filter(|change| counted(change));
            changes.count() as u64
        };
        let written = count(|change| matches!(change, Change::Insert(..) | Change::Replace(..)));
        let removed = count(|change| matches!(change, Change::Remove(..)));
        self.metrics.note(&metrics::ENTRIES_WRITTEN, written);
        self.metrics.note(&metrics::ENTRIES_REMOVED, removed);
        if live {
            self.metrics
                .note(&metrics::LISTING_CHANGES, written + removed);
        }
        let reason = |ledger: &Ledger| ledger.refused.as_ref().map(|(reason, _)| reason.clone());
        if let Some(after) = plan.ledger.as_ref().and_then(reason)
            && reason(before).as_ref() != Some(&after)
        {
            self.metrics.note(&metrics::refused(&after), 1);
        }
    }
}

impl Read {
    fn inputs<'a>(
        &'a self,
        page: plan::Page<'a>,
        ledger: &'a Ledger,
        group: &'a Translations,
    ) -> Inputs<'a> {
        Inputs {
            newest: self.newest,
            group,
            left: self.left,
            ..Inputs::of(page, ledger, &self.claim)
        }
    }
}
