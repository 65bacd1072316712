//! One try for each of a batch of pages: fence, read, plan, commit.

use std::collections::{BTreeMap, BTreeSet};

use sitemap::plan::{
    self, Address, Assessed, Change, Holding, Inputs, Ledger, Plan, Series, Translations,
};

use super::reconciler::{ReconcileOptions, Reconciled, Reconciler, Tried};
use super::truth::{CONCURRENCY, Outcomes, Read, SiteMap, Truth};
use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::metrics;
use crate::reconcile::ledgers::{Commit, Fenced};
use crate::rows::keys::{self, Mark};
use crate::rows::series::Room;
use crate::rows::site::{Hold, SiteRow};
use crate::rows::slot::Offer;

/// Seconds in which a commit is done, or given up.
const COMMIT_SECONDS: i64 = 60;

/// A page with its plan.
struct Planned<'a> {
    page: &'a str,
    fenced: Fenced,
    plan: Plan,
    /// Whether the page's own ledger has to be reconciled again: see [`Tried::again`].
    again: bool,
    /// Whether the page's site is released.
    live: bool,
}

impl Reconciler {
    /// Tries each of the pages once, and returns those that lost a race.
    pub(super) async fn round<'a>(
        &self,
        pages: &[&'a str],
        options: ReconcileOptions<'_>,
        outcomes: &mut Outcomes<'a>,
    ) -> Vec<&'a str> {
        // The fence precedes every read, also that of the clock. A run that finds nothing to do writes nothing else. An older run
        // with older reads must not be able to commit after it.
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
        let groups = self.groups(&assessed, &reads).await;
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

    /// Reads the translation groups that the pages want to join, each group once. Members of a group are often reconciled
    /// together.
    async fn groups<'p>(
        &self,
        assessed: &'p [Assessed<'_>],
        reads: &[Result<Read, EngineError>],
    ) -> BTreeMap<&'p str, Result<Translations, EngineError>> {
        let groups = assessed.iter().zip(reads).filter_map(|(assessed, read)| {
            let newest = read.as_ref().ok()?.newest;
            assessed.wanted_group(newest)
        });
        let groups: BTreeSet<&str> = groups.collect();
        let translations = groups
            .into_iter()
            .map(|group| async move { (group, self.table.translations(group).await) });
        concurrently(CONCURRENCY, translations)
            .await
            .into_iter()
            .collect()
    }

    /// Withdraws the plans for new parts if this run's fence is no longer on the page's own ledger, which names the parts.
    ///
    /// A run that has fenced that ledger since may have found no ledger of the new part, and may have removed it from the page's
    /// ledger. Then the part would never be reconciled again. The page's ledger is read after the parts are fenced, and any later
    /// run finds the rows of those fences.
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

    /// Offers slots to the plans and commits them. Returns the pages that lost a race.
    async fn commit_all<'a>(
        &self,
        mut plans: Vec<Planned<'a>>,
        truth: &Truth,
        options: ReconcileOptions<'_>,
        outcomes: &mut Outcomes<'a>,
    ) -> Vec<&'a str> {
        let mut lost = rivals(&mut plans);
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

    /// Returns the pages whose site has got a row or new settings meanwhile. A scan of the site may have passed their new place
    /// before their rows existed.
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

    /// Commits a plan. Returns `None` if the race was lost.
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
        // If the plan has no ledger, there is a row to delete: at least that of the fence.
        let nothing = plan.is_empty() && fenced.strays.is_empty();
        if nothing && plan.ledger.is_some() {
            return Ok(tried(Reconciled::Unchanged));
        }
        if let Some(site) = planned.notifies_alone() {
            // First: a run may end behind the commit, and the next one would find nothing to do.
            let until = self.env.now() + COMMIT_SECONDS;
            self.table.mark(Mark::Notices, site, until).await?;
        }
        match self.table.commit(page, fenced, plan, offers).await? {
            // `sweep` may never read a timer that was written after its time.
            Commit::Done if planned.is_due(self.env.now()) => Ok(None),
            Commit::Done if nothing => Ok(tried(Reconciled::Unchanged)),
            Commit::Done => Ok(tried(Reconciled::Changed)),
            Commit::Lost { occupied } => {
                // Otherwise an occupied slot would be offered again and again.
                for offer in occupied.iter().filter(|offer| offer.given_back) {
                    self.table.forget_free(offer).await?;
                }
                Ok(None)
            }
        }
    }
}

/// Removes the plans that claim an address which an earlier plan of the batch claims, and returns their pages. They would lose the race.
/// If they were offered slots, each would leave a hole in a sitemap.
fn rivals<'a>(plans: &mut Vec<Planned<'a>>) -> Vec<&'a str> {
    let (mut claimed, mut rivals) = (BTreeSet::new(), Vec::new());
    plans.retain(|planned| {
        let is_first = planned
            .claims()
            .is_none_or(|address| claimed.insert(keys::claim(&address.site, address.loc.as_str())));
        if !is_first {
            rivals.push(planned.page);
        }
        is_first
    });
    rivals
}

impl Planned<'_> {
    /// Returns the address that the plan claims.
    fn claims(&self) -> Option<&Address> {
        self.plan.changes.iter().find_map(|change| match change {
            Change::Hold(Holding::Claim(address)) | Change::Take(address, _) => Some(address),
            _ => None,
        })
    }

    /// Returns whether the plan gives a ledger to a part that had none before the fence.
    fn is_new_part(&self) -> bool {
        let (_, part) = keys::page_parts(self.page);
        part > 1 && self.fenced.new && self.plan.ledger.is_some()
    }

    /// Returns whether the page's timer is already due.
    fn is_due(&self, now: i64) -> bool {
        let check_at = self
            .plan
            .ledger
            .as_ref()
            .and_then(|ledger| ledger.next_check_at);
        check_at.is_some_and(|at| at <= now)
    }

    /// Returns the site whose search engines are to be notified, if the plan changes no entry. No sitemap is published then, which would
    /// mark the site.
    fn notifies_alone(&self) -> Option<&str> {
        let changes = &self.plan.changes;
        let lists = |change: &Change| {
            matches!(
                change,
                Change::Insert(..) | Change::Replace(..) | Change::Remove(..)
            )
        };
        let notified = changes.iter().find_map(|change| match change {
            Change::Notify(address, _) => Some(address.site.as_str()),
            _ => None,
        });
        notified.filter(|_| !changes.iter().any(lists))
    }

    /// Returns whether the plan gives the page a new place. A scan of the site may have passed that place already.
    fn appears(&self) -> bool {
        let mut changes = self.plan.changes.iter();
        changes.any(|change| {
            matches!(
                change,
                Change::Insert(..) | Change::Hold(Holding::LeftOut(_))
            )
        })
    }

    /// Replaces the plan by one that places nothing and deletes the fence's row. Rows that were found stay for the run that
    /// starts from the page's own ledger.
    fn withdraw(&mut self) {
        self.plan = Plan::default();
        self.fenced.strays.clear();
        self.again = true;
    }
}

impl Reconciler {
    /// Counts the changes of a committed plan.
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
