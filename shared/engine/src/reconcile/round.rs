//! One try for each of a batch of pages: fence, read, plan, commit.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join;
use sitemap::eligibility::Newest;
use sitemap::mapping::SOURCE_MARK;
use sitemap::plan::{
    self, Assessed, Change, Claim, Holding, Inputs, Ledger, Plan, Series, Translations,
};
use sitemap::record::ContentRecord;

use super::reconciler::{ReconcileOptions, Reconciled, Reconciler, Tried};
use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::metrics;
use crate::reconcile::ledgers::{Commit, Fenced};
use crate::rows::keys;
use crate::rows::series::Room;
use crate::rows::site::{Hold, SiteRow};
use crate::rows::slot::Offer;

/// Records of one batch whose requests are under way at the same time.
const CONCURRENCY: usize = 16;

/// The rows of sites by host.
type SiteMap = BTreeMap<String, Result<Option<SiteRow>, EngineError>>;

/// What was read for a page's plan beside its record and ledger.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) newest: Newest,
    claim: Claim,
    /// The highest part beyond the record's that has a ledger.
    left: u32,
}

/// How the pages of a batch ended so far.
pub(super) type Outcomes<'a> = BTreeMap<&'a str, Result<Tried, EngineError>>;

/// What is true of the pages of a batch: their records, and their sites.
struct Truth {
    records: BTreeMap<String, ContentRecord>,
    sites: SiteMap,
}

/// A page whose plan is made.
struct Planned<'a> {
    page: &'a str,
    fenced: Fenced,
    plan: Plan,
    /// Whether its page's own ledger has to be reconciled again: [`Tried::again`].
    again: bool,
    /// Whether its site is released.
    live: bool,
}

impl Truth {
    /// A page's site: its record's, or where it was listed if its record is gone.
    fn site(&self, page: &str, ledger: &Ledger) -> Option<&Result<Option<SiteRow>, EngineError>> {
        let record = self.records.get(keys::page_parts(page).0);
        self.sites
            .get(record.map_or(&ledger.site, |record| &record.site))
    }

    /// The site where a page was listed, if its record is on a different one.
    fn former(&self, page: &str, ledger: &Ledger) -> Option<&Result<Option<SiteRow>, EngineError>> {
        let record = self.records.get(keys::page_parts(page).0)?;
        let former = self.sites.get(&ledger.site);
        former.filter(|_| record.site != ledger.site)
    }

    fn row(&self, page: &str, ledger: &Ledger) -> Option<&SiteRow> {
        self.site(page, ledger)?.as_ref().ok()?.as_ref()
    }

    fn page(&self, page: &str, ledger: &Ledger) -> plan::Page<'_> {
        let (id, part) = keys::page_parts(page);
        plan::Page {
            record: self.records.get(id),
            part,
            site: self.row(page, ledger).map(|row| &row.settings),
        }
    }
}

impl Reconciler {
    /// One try for each of the pages; returns those that lost.
    pub(super) async fn round<'a>(
        &self,
        pages: &[&'a str],
        options: ReconcileOptions<'_>,
        outcomes: &mut Outcomes<'a>,
    ) -> Vec<&'a str> {
        // The fence precedes every read, also that of the clock: a run that finds nothing to do writes nothing else, and an
        // older run, which read an older truth, must not be able to commit after it.
        let mut fenced = self.fence(pages, options, outcomes).await;
        let now = self.env.now();
        let truth = self.truth(&mut fenced, outcomes).await;
        let mut planned = self.plan(fenced, &truth, options, now, outcomes).await;
        self.withdraw_unnamed(&mut planned, options, outcomes).await;
        self.commit_all(planned, &truth, options, outcomes).await
    }

    async fn fence<'a>(
        &self,
        pages: &[&'a str],
        options: ReconcileOptions<'_>,
        outcomes: &mut Outcomes<'a>,
    ) -> Vec<(&'a str, Fenced)> {
        let fences = pages.iter().map(|page| async move {
            match options.found.and_then(|found| found.get(*page)) {
                None if options.verify_ledger => self.table.fence_verified(page, &[]).await,
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
        fenced
    }

    /// Reads what is true of the pages. Pages for which that fails leave the batch.
    async fn truth<'a>(
        &self,
        fenced: &mut Vec<(&'a str, Fenced)>,
        outcomes: &mut Outcomes<'a>,
    ) -> Truth {
        let ids = fenced.iter().map(|(page, _)| keys::page_parts(page).0);
        let ids: BTreeSet<&str> = ids.collect();
        let ids = ids.into_iter().map(str::to_owned);
        // Apart: where the user's table cannot be read, Waymark's own can.
        let (mapped, own): (Vec<String>, Vec<String>) =
            ids.partition(|id| id.starts_with(SOURCE_MARK));
        let mut records = BTreeMap::new();
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
        let sites = self.sites(&records, fenced).await;
        let truth = Truth { records, sites };
        fenced.retain(|(page, Fenced { ledger, .. })| {
            let sites = [truth.site(page, ledger), truth.former(page, ledger)];
            let error = sites
                .into_iter()
                .flatten()
                .find_map(|row| row.as_ref().err());
            if let Some(error) = error {
                outcomes.insert(page, Err(error.shared()));
            }
            error.is_none()
        });
        truth
    }

    async fn plan<'a>(
        &self,
        fenced: Vec<(&'a str, Fenced)>,
        truth: &Truth,
        options: ReconcileOptions<'_>,
        now: i64,
        outcomes: &mut Outcomes<'a>,
    ) -> Vec<Planned<'a>> {
        let assessed = fenced
            .iter()
            .map(|(page, fenced)| truth.page(page, &fenced.ledger).assess(now));
        let assessed: Vec<Assessed<'_>> = assessed.collect();
        let pages = fenced.iter().zip(&assessed);
        let pages = pages.map(|((page, fenced), assessed)| (*page, assessed, &fenced.ledger));
        let reads = self.read(&pages.collect::<Vec<_>>()).await;
        let groups = assessed.iter().zip(&reads).filter_map(|(assessed, read)| {
            let newest = read.as_ref().ok()?.newest;
            assessed.wanted_group(newest)
        });
        // Each once: all members of a group are often reconciled together.
        let groups: BTreeSet<&str> = groups.collect();
        let translations = groups
            .iter()
            .map(|group| async move { (*group, self.table.translations(group).await) });
        let groups: BTreeMap<&str, _> = concurrently(CONCURRENCY, translations)
            .await
            .into_iter()
            .collect();
        let no_group = Translations::default();
        let mut plans = Vec::with_capacity(fenced.len());
        for (((page, fenced), assessed), read) in fenced.into_iter().zip(&assessed).zip(reads) {
            let read = match read {
                Ok(read) => read,
                Err(error) => {
                    outcomes.insert(page, Err(error));
                    continue;
                }
            };
            let wanted = assessed.wanted_group(read.newest);
            let group = match wanted.map(|group| groups.get(group)) {
                Some(Some(Err(error))) => {
                    outcomes.insert(page, Err(error.shared()));
                    continue;
                }
                Some(Some(Ok(group))) => group,
                _ => &no_group,
            };
            let evict = options.evict;
            let evict = evict.and_then(|(series, slots)| Some((series, *slots.get(page)?)));
            let row = truth.row(page, &fenced.ledger);
            let released = row.is_some_and(|row| row.hold == Hold::Released);
            let former = truth.former(page, &fenced.ledger);
            let former = former.and_then(|row| row.as_ref().ok()?.as_ref());
            let former = former.filter(|row| row.hold == Hold::Released && !options.quiet);
            let inputs = Inputs {
                evict,
                former: former.map(|row| &row.settings),
                notify: released && !options.quiet,
                first_load: !released && !options.quiet,
                feed_lost: fenced.feed_lost,
                ..read.inputs(assessed, &fenced.ledger, group)
            };
            let (id, _) = keys::page_parts(page);
            let mut plan = plan::plan(id, &inputs);
            plan.ledger_changes |= fenced.untrue;
            plans.push(Planned {
                page,
                fenced,
                plan,
                again: read.left > 0,
                live: released,
            });
        }
        plans
    }

    /// Withdraws the plans for new parts if this run's fence is no longer on their page's own ledger, which names the parts.
    ///
    /// A run that has fenced that ledger since may have found no ledger of the new part, and may have made the page forget it. Then
    /// nothing would look at the part again. The page's ledger is read after the parts' fences, whose rows any later run finds.
    async fn withdraw_unnamed<'a>(
        &self,
        planned: &mut Vec<Planned<'a>>,
        options: ReconcileOptions<'_>,
        outcomes: &mut Outcomes<'a>,
    ) {
        let Some(part) = planned.iter().find(|planned| planned.is_new_part()) else {
            return;
        };
        let (id, _) = keys::page_parts(part.page);
        let named = match options.under {
            Some(under) => self
                .table
                .token(id)
                .await
                .map(|token| token.as_deref() == Some(under)),
            None => Ok(false),
        };
        planned.retain_mut(|planned| match &named {
            Ok(false) if planned.is_new_part() => {
                planned.withdraw();
                true
            }
            Err(error) if planned.is_new_part() => {
                outcomes.insert(planned.page, Err(error.shared()));
                false
            }
            _ => true,
        });
    }

    /// Places what is planned and commits it; returns the pages that lost.
    async fn commit_all<'a>(
        &self,
        mut plans: Vec<Planned<'a>>,
        truth: &Truth,
        options: ReconcileOptions<'_>,
        outcomes: &mut Outcomes<'a>,
    ) -> Vec<&'a str> {
        let mut offers = self.offers(&plans, &truth.sites, options).await;
        plans.retain(|Planned { page, plan, .. }| {
            let mut offers = plan.needs_slots().filter_map(|series| offers.get(series));
            match offers.find_map(|offers| offers.as_ref().err()) {
                Some(error) => {
                    outcomes.insert(page, Err(error.shared()));
                    false
                }
                None => true,
            }
        });
        let appearing: BTreeSet<&str> = plans
            .iter()
            .filter(|planned| planned.appears())
            .map(|planned| planned.page)
            .collect();
        let commits = plans.into_iter().map(|mut planned| {
            let wanted: Vec<Series> = planned.plan.needs_slots().cloned().collect();
            let offered = wanted
                .iter()
                .filter_map(|series| offers.get_mut(series)?.as_mut().ok()?.pop());
            let offered: Vec<Offer> = offered.collect();
            for offer in &offered {
                planned.plan.place(&offer.series, offer.slot);
            }
            async move {
                let tried = self.commit(&planned, &offered).await;
                if let Ok(Some(_)) = tried {
                    self.count_changes(&planned);
                }
                (planned.page, tried)
            }
        });
        let mut lost = Vec::new();
        for (page, outcome) in concurrently(CONCURRENCY, commits).await {
            match outcome {
                Ok(Some(tried)) => drop(outcomes.insert(page, Ok(tried))),
                Ok(None) => lost.push(page),
                Err(error) => drop(outcomes.insert(page, Err(error))),
            }
        }
        lost.extend(self.overtaken(appearing, truth, outcomes).await);
        lost
    }

    /// Returns the pages whose site has got a row or other settings meanwhile. A scan of the site may have passed their new place
    /// before they were there.
    async fn overtaken<'a>(
        &self,
        appearing: BTreeSet<&'a str>,
        truth: &Truth,
        outcomes: &mut Outcomes<'a>,
    ) -> Vec<&'a str> {
        let mut overtaken = Vec::new();
        let mut looked_at = BTreeMap::new();
        for page in appearing {
            if !matches!(outcomes.get(page), Some(Ok(_))) {
                continue;
            }
            let Some(record) = truth.records.get(keys::page_parts(page).0) else {
                continue;
            };
            let host = &record.site;
            if !looked_at.contains_key(host) {
                let planned_with = truth.sites.get(host).and_then(|row| row.as_ref().ok());
                let planned_with = planned_with.and_then(Option::as_ref);
                let stands = |row: Option<SiteRow>| match (&row, planned_with) {
                    (Some(row), Some(before)) => {
                        row.settings == before.settings && row.render == before.render
                    }
                    (row, before) => row.is_none() && before.is_none(),
                };
                looked_at.insert(host, self.table.site(host).await.map(stands));
            }
            match &looked_at[host] {
                Ok(true) => {}
                Ok(false) => {
                    outcomes.remove(page);
                    overtaken.push(page);
                }
                Err(error) => drop(outcomes.insert(page, Err(error.shared()))),
            }
        }
        overtaken
    }

    /// What each page's plan needs to know beside its record and ledger, in the order of the pages. Read after their fences.
    pub(super) async fn read(
        &self,
        pages: &[(&str, &Assessed<'_>, &Ledger)],
    ) -> Vec<Result<Read, EngineError>> {
        let listing = async {
            let newest = pages
                .iter()
                .map(async |(_, assessed, _)| match assessed.wanted_term() {
                    Some(term) => self.table.newest(&term).await,
                    None => Ok(Newest::Unread),
                });
            let newest = concurrently(CONCURRENCY, newest).await;
            let wanted = pages.iter().zip(&newest);
            let wanted = wanted.map(|((page, assessed, ledger), newest)| {
                let address = assessed.wanted_address(*newest.as_ref().ok()?, ledger)?;
                Some((address, *page))
            });
            let claims = self.table.claims(&wanted.collect::<Vec<_>>()).await;
            newest.into_iter().zip(claims)
        };
        let left = pages.iter().map(async |(page, assessed, ledger)| {
            let Some(last) = assessed.last_part(ledger) else {
                return Ok::<_, EngineError>(0);
            };
            let highest = self.table.highest_part(keys::page_parts(page).0).await?;
            Ok(if highest > last { highest } else { 0 })
        });
        let (listing, left) = join(listing, concurrently(CONCURRENCY, left)).await;
        let read = |((newest, claim), left)| {
            Ok(Read {
                newest: newest?,
                claim: claim?,
                left: left?,
            })
        };
        listing.zip(left).map(read).collect()
    }

    /// The rows of the records' sites, and of those that pages leave; nothing for one that is not known. Read after all
    /// fences.
    async fn sites(
        &self,
        records: &BTreeMap<String, ContentRecord>,
        fenced: &[(&str, Fenced)],
    ) -> SiteMap {
        let pages = records.values().filter(|record| !record.is_settings());
        let present: BTreeSet<&String> = pages.map(|record| &record.site).collect();
        let ledgers = fenced.iter().map(|(_, fenced)| &fenced.ledger);
        let former = ledgers.filter(|ledger| ledger.claim.is_some());
        let former: BTreeSet<&String> = former.map(|ledger| &ledger.site).collect();
        let rows = present.union(&former).map(async |site| {
            if present.contains(site) {
                return self.ensure_site(site).await;
            }
            // Only to know whether search engines are notified: a page leaves its site whatever is wrong with that. A
            // failure that may pass is not ignored, or there would be no notice.
            match self.table.site(site).await {
                Err(EngineError::Damaged { .. }) => Ok(None),
                row => row,
            }
        });
        let rows = concurrently(CONCURRENCY, rows).await;
        let sites = present.union(&former).map(|site| (*site).clone());
        sites.zip(rows).collect()
    }

    /// Offers slots to the plans that need some, series by series. If one series fails, the others still get theirs.
    async fn offers(
        &self,
        plans: &[Planned<'_>],
        sites: &SiteMap,
        options: ReconcileOptions<'_>,
    ) -> BTreeMap<Series, Result<Vec<Offer>, EngineError>> {
        let mut wanted: BTreeMap<&Series, Vec<u64>> = BTreeMap::new();
        for (series, bytes) in plans.iter().flat_map(|planned| planned.plan.insertions()) {
            wanted.entry(series).or_default().push(bytes);
        }
        let offers = wanted.into_iter().map(async |(series, sizes)| {
            let evicted = options.evict.filter(|(evicted, _)| *evicted == series);
            let avoid = evicted.and_then(|(_, slots)| slots.values().next());
            let avoid = avoid.map(|slot| slot.n);
            let Some(Ok(Some(SiteRow { settings, .. }))) = sites.get(&series.site) else {
                return None;
            };
            let room = Room::of(settings, &series.name);
            let mut slots = self.table.offer(series, &sizes, room, avoid).await;
            // Taken from the end: the batch's first record gets the lowest slot.
            if let Ok(slots) = &mut slots {
                slots.reverse();
            }
            Some((series.clone(), slots))
        });
        let offers = concurrently(CONCURRENCY, offers).await;
        offers.into_iter().flatten().collect()
    }

    /// Applies a plan. Nothing is returned if the race was lost.
    async fn commit(
        &self,
        planned: &Planned<'_>,
        offers: &[Offer],
    ) -> Result<Option<Tried>, EngineError> {
        let Planned {
            page, fenced, plan, ..
        } = planned;
        let parts = plan.ledger.as_ref().map_or(0, |ledger| ledger.parts);
        let tried = |outcome| {
            Some(Tried {
                outcome,
                parts,
                again: planned.again,
                token: fenced.token.clone(),
            })
        };
        // Without a ledger to keep there is one to delete: at least the fence's own.
        let nothing = plan.is_empty() && fenced.strays.is_empty();
        if nothing && plan.ledger.is_some() {
            return Ok(tried(Reconciled::Unchanged));
        }
        match self.table.commit(page, fenced, plan, offers).await? {
            // `sweep` may never look for a timer that was written after its time.
            Commit::Done if planned.is_due(self.env.now()) => Ok(None),
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

impl Planned<'_> {
    /// Whether a part is to have a ledger that had none before the fence.
    fn is_new_part(&self) -> bool {
        let (_, part) = keys::page_parts(self.page);
        part > 1 && self.fenced.new && self.plan.ledger.is_some()
    }

    /// Whether the time at which the page is to be looked at again has come.
    fn is_due(&self, now: i64) -> bool {
        let check_at = self
            .plan
            .ledger
            .as_ref()
            .and_then(|ledger| ledger.next_check_at);
        check_at.is_some_and(|at| at <= now)
    }

    /// Whether the plan gives the page a new place, which a scan of the site may already have passed.
    fn appears(&self) -> bool {
        let mut changes = self.plan.changes.iter();
        changes.any(|change| {
            matches!(
                change,
                Change::Insert(..) | Change::Hold(Holding::LeftOut(_))
            )
        })
    }

    /// Makes the plan one that places nothing and deletes the fence's row. Rows that were found stay for the run that starts from the
    /// page's own ledger.
    fn withdraw(&mut self) {
        self.plan = Plan::default();
        self.fenced.strays.clear();
        self.again = true;
    }
}

impl Reconciler {
    /// Counts what a plan that was committed has changed.
    fn count_changes(&self, planned: &Planned<'_>) {
        let plan = &planned.plan;
        let count = |counted: fn(&Change) -> bool| {
            let changes = plan.changes.iter().filter(|change| counted(change));
            changes.count() as u64
        };
        let written = count(|change| matches!(change, Change::Insert(..) | Change::Replace(..)));
        let removed = count(|change| matches!(change, Change::Remove(..)));
        self.metrics.note(&metrics::ENTRIES_WRITTEN, written);
        self.metrics.note(&metrics::ENTRIES_REMOVED, removed);
        if planned.live {
            self.metrics
                .note(&metrics::LISTING_CHANGES, written + removed);
        }
        let reason = |ledger: &Ledger| ledger.refused.as_ref().map(|(reason, _)| reason.clone());
        if let Some(after) = plan.ledger.as_ref().and_then(reason)
            && reason(&planned.fenced.ledger).as_ref() != Some(&after)
        {
            self.metrics.note(&metrics::refused(&after), 1);
        }
    }
}

impl Read {
    pub(super) fn inputs<'a>(
        &'a self,
        page: &'a Assessed<'a>,
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
