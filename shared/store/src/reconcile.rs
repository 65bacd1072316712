//! Reconcile: make what is placed for a record agree with what is true of it.
//!
//! fence → read → plan → commit, and again from the fence if the commit was lost. Records are reconciled in batches:
//! their reads and the series' counter are shared, their transactions are their own.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use sitemap::plan::{self, Claim, Inputs, Plan, Series, Slot};
use sitemap::record::ContentRecord;
use sitemap::site::{SITE_ID_PREFIX, SITE_TYPE, SiteSettings, is_site_host};

use crate::clock::Clock;
use crate::concurrency::{backoff, concurrently};
use crate::content::Content;
use crate::error::StoreError;
use crate::keys::Key;
use crate::ledgers::{Commit, Fenced, Ledgers};
use crate::sites::{RENDER_VERSION, SiteRow, Sites};
use crate::slots::{Offer, Slots};

/// Records of one batch whose requests are under way at the same time.
const CONCURRENCY: usize = 16;
/// Times a record is started again from its fence before its event is left to be delivered again.
const TRIES: u32 = 8;

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

/// How a record's reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// The settings of sites by host.
type SiteMap = HashMap<String, Result<Option<SiteSettings>, StoreError>>;

impl<C: Content, T: Ledgers + Slots + Sites> Reconciler<C, T> {
    /// Reconciles records: for each its outcome, in their order. The ids must differ.
    ///
    /// `evict` names a slot that its owner among them has to leave.
    pub async fn reconcile(
        &self,
        ids: &[String],
        evict: Option<(&Series, &HashMap<String, Slot>)>,
    ) -> Vec<Result<Reconciled, StoreError>> {
        self.rounds(ids, evict, None).await
    }

    /// Reconciles records of which rows were lost or are not in their ledgers: for each its outcome, in the order of the
    /// ids. With each come the rows that seem to be its own.
    pub async fn repair(
        &self,
        found: &BTreeMap<String, Vec<Key>>,
    ) -> Vec<Result<Reconciled, StoreError>> {
        let ids: Vec<String> = found.keys().cloned().collect();
        self.rounds(&ids, None, Some(found)).await
    }

    async fn rounds(
        &self,
        ids: &[String],
        evict: Option<(&Series, &HashMap<String, Slot>)>,
        found: Option<&BTreeMap<String, Vec<Key>>>,
    ) -> Vec<Result<Reconciled, StoreError>> {
        let mut outcomes: HashMap<&str, Result<Reconciled, StoreError>> = HashMap::new();
        let mut pending: Vec<&str> = ids.iter().map(String::as_str).collect();
        for round in 0..TRIES {
            if pending.is_empty() {
                break;
            }
            backoff(round).await;
            pending = self.round(&pending, evict, found, &mut outcomes).await;
        }
        let mut outcome = |id: &String| {
            let lost = || {
                Err(StoreError::Contended {
                    what: format!("record {id}"),
                    tries: TRIES,
                })
            };
            outcomes.remove(id.as_str()).unwrap_or_else(lost)
        };
        ids.iter().map(&mut outcome).collect()
    }

    /// One try for each of the records; returns those that lost.
    async fn round<'a>(
        &self,
        ids: &[&'a str],
        evict: Option<(&Series, &HashMap<String, Slot>)>,
        found: Option<&BTreeMap<String, Vec<Key>>>,
        outcomes: &mut HashMap<&'a str, Result<Reconciled, StoreError>>,
    ) -> Vec<&'a str> {
        let now = self.clock.now();
        // The fence precedes every read: a run that finds nothing to do writes nothing else, and an older run, which
        // read an older truth, must not be able to commit after it.
        let fences = ids.iter().map(|id| async move {
            match found.and_then(|found| found.get(*id)) {
                None => self.table.fence(id).await,
                Some(found) => self.table.fence_verified(id, found).await,
            }
        });
        let fences = concurrently(CONCURRENCY, fences).await;
        let mut fenced = Vec::with_capacity(ids.len());
        for (id, fence) in ids.iter().zip(fences) {
            match fence {
                Ok(fence) => fenced.push((*id, fence)),
                Err(error) => drop(outcomes.insert(id, Err(error))),
            }
        }
        let ids: Vec<String> = fenced.iter().map(|(id, _)| (*id).to_owned()).collect();
        let records = match self.content.records(&ids).await {
            Ok(records) => records,
            // Every record of the batch has failed for the same passing reason.
            Err(error) => {
                outcomes.extend(fenced.iter().map(|(id, _)| (*id, Err(error.passing()))));
                return Vec::new();
            }
        };
        let sites = self.sites(&records).await;
        fenced.retain(|(id, _)| {
            match records.get(*id).and_then(|record| sites.get(&record.site)) {
                Some(Err(error)) => {
                    outcomes.insert(id, Err(error.shared()));
                    false
                }
                _ => true,
            }
        });
        let site =
            |record: Option<&ContentRecord>| sites.get(&record?.site)?.as_ref().ok()?.as_ref();
        let claims = fenced.iter().map(|(id, fenced)| {
            let record = records.get(*id);
            let wanted = plan::wanted_address(record, site(record), &fenced.ledger, now);
            async move {
                match wanted {
                    Some(address) => self.table.claim(&address, id).await,
                    None => Ok(Claim::Unread),
                }
            }
        });
        let claims = concurrently(CONCURRENCY, claims).await;
        let mut plans = Vec::with_capacity(ids.len());
        for ((id, fenced), claim) in fenced.into_iter().zip(claims) {
            match claim {
                Ok(claim) => {
                    let record = records.get(id);
                    let evict = evict.and_then(|(series, slots)| Some((series, *slots.get(id)?)));
                    let inputs = Inputs {
                        record,
                        site: site(record),
                        ledger: &fenced.ledger,
                        claim: &claim,
                        evict,
                    };
                    let mut plan = plan::plan(&inputs, now);
                    plan.ledger_changes |= fenced.untrue;
                    plans.push((id, fenced, plan));
                }
                Err(error) => drop(outcomes.insert(id, Err(error))),
            }
        }
        let avoid = evict
            .and_then(|(_, slots)| slots.values().next())
            .map(|slot| slot.n);
        let mut offers = self.offers(&plans, &sites, avoid).await;
        plans.retain(|(id, _, plan)| {
            match plan.needs_slot().and_then(|series| offers.get(series)) {
                Some(Err(error)) => {
                    outcomes.insert(id, Err(error.shared()));
                    false
                }
                _ => true,
            }
        });
        let commits = plans.into_iter().map(|(id, fenced, mut plan)| {
            let offer = plan
                .needs_slot()
                .cloned()
                .and_then(|series| offers.get_mut(&series)?.as_mut().ok()?.pop());
            if let Some(offer) = &offer {
                plan.place(offer.slot);
            }
            async move { (id, self.commit(id, &fenced, &plan, offer.as_ref()).await) }
        });
        let mut lost = Vec::new();
        for (id, outcome) in concurrently(CONCURRENCY, commits).await {
            match outcome {
                Ok(Some(reconciled)) => drop(outcomes.insert(id, Ok(reconciled))),
                Ok(None) => lost.push(id),
                Err(error) => drop(outcomes.insert(id, Err(error))),
            }
        }
        lost
    }

    /// The settings of the records' sites, nothing for one that is not known. Read after all fences.
    async fn sites(&self, records: &HashMap<String, ContentRecord>) -> SiteMap {
        let mut sites = HashMap::new();
        for record in records
            .values()
            .filter(|record| record.type_name != SITE_TYPE)
        {
            if !sites.contains_key(&record.site) {
                let row = self.ensure_site(&record.site).await;
                sites.insert(
                    record.site.clone(),
                    row.map(|row| row.map(|row| row.settings)),
                );
            }
        }
        sites
    }

    /// Slots for the plans that need one, by series: one that fails must not keep them from the others.
    async fn offers(
        &self,
        plans: &[(&str, Fenced, Plan)],
        sites: &SiteMap,
        avoid: Option<u32>,
    ) -> HashMap<Series, Result<Vec<Offer>, StoreError>> {
        let mut wanted: BTreeMap<&Series, usize> = BTreeMap::new();
        for series in plans.iter().filter_map(|(_, _, plan)| plan.needs_slot()) {
            *wanted.entry(series).or_default() += 1;
        }
        let mut offers = HashMap::new();
        for (series, count) in wanted {
            if let Some(Ok(Some(settings))) = sites.get(&series.site) {
                let mut slots = self
                    .table
                    .offer(series, count, settings.entries_per_sitemap, avoid)
                    .await;
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
        id: &str,
        fenced: &Fenced,
        plan: &Plan,
        offer: Option<&Offer>,
    ) -> Result<Option<Reconciled>, StoreError> {
        // Without a ledger to keep there is one to delete: at least the fence's own.
        let nothing = plan.is_empty() && fenced.strays.is_empty();
        if nothing && plan.ledger.is_some() {
            return Ok(Some(Reconciled::Unchanged));
        }
        match self.table.commit(id, fenced, plan, offer).await? {
            Commit::Done if nothing => Ok(Some(Reconciled::Unchanged)),
            Commit::Done => Ok(Some(Reconciled::Changed)),
            Commit::Lost { occupied } => {
                // An occupied slot must not be offered for ever.
                if let Some(offer) = offer.filter(|offer| occupied && offer.given_back) {
                    self.table.forget_free(offer).await?;
                }
                Ok(None)
            }
        }
    }
}

impl<C: Content, T: Sites> Reconciler<C, T> {
    /// A site's row. A site that is known and has none gets one, on hold; one whose entries are of an older rendering
    /// is put on the scan's list.
    ///
    /// # Errors
    ///
    /// If a table fails.
    pub async fn ensure_site(&self, host: &str) -> Result<Option<SiteRow>, StoreError> {
        match self.table.site(host).await? {
            Some(row) if row.render == RENDER_VERSION => Ok(Some(row)),
            Some(_) => Box::pin(self.reconcile_site(host)).await,
            None => {
                let Some(settings) = self.settings(host).await? else {
                    return Ok(None);
                };
                self.table.create_site(&settings, self.clock.now()).await?;
                // The record may have changed since it was read, and the event of that have found no row: once more,
                // under the row's own fence.
                Box::pin(self.reconcile_site(host)).await
            }
        }
    }

    /// What a site's record says, or the defaults of a known site that has none.
    async fn settings(&self, host: &str) -> Result<Option<SiteSettings>, StoreError> {
        let settings = match self.recorded(host).await? {
            Some(item) => SiteSettings::parse(host, &item),
            None if self.known.include(host) => SiteSettings::default_for(host),
            None => return Ok(None),
        };
        // A host that is no host is no site.
        Ok(settings
            .ok()
            .filter(|settings| is_site_host(host) && settings.origin.host() == host))
    }

    /// A site's record of settings.
    async fn recorded(&self, host: &str) -> Result<Option<Value>, StoreError> {
        let item = self
            .content
            .item(&format!("{SITE_ID_PREFIX}{host}"))
            .await?;
        Ok(item.filter(|item| item.get("type").and_then(Value::as_str) == Some(SITE_TYPE)))
    }

    /// Looks whether a site's row still says what its record and the deployment's list do, and mends it. For what no
    /// event tells of: a changed list.
    ///
    /// # Errors
    ///
    /// If a table fails, or every try was lost.
    pub async fn refresh_site(&self, host: &str) -> Result<Option<SiteRow>, StoreError> {
        let Some(row) = self.ensure_site(host).await? else {
            return Ok(None);
        };
        let as_it_should_be = match self.settings(host).await? {
            Some(settings) => settings == row.settings,
            None => !row.settings.public,
        };
        if as_it_should_be {
            Ok(Some(row))
        } else {
            self.reconcile_site(host).await
        }
    }

    /// Makes a site's row agree with its record. One that is no longer known is private.
    ///
    /// # Errors
    ///
    /// If a table fails, or every try was lost.
    pub async fn reconcile_site(&self, host: &str) -> Result<Option<SiteRow>, StoreError> {
        for round in 0..TRIES {
            backoff(round).await;
            let Some((token, row)) = self.table.fence_site(host).await? else {
                // Without a record of settings, the first page makes the site.
                return if self.recorded(host).await?.is_some() {
                    self.ensure_site(host).await
                } else {
                    Ok(None)
                };
            };
            let unknown = SiteSettings {
                public: false,
                ..row.settings.clone()
            };
            let settings = self.settings(host).await?.unwrap_or(unknown);
            if settings == row.settings && row.render == RENDER_VERSION {
                return Ok(Some(row));
            }
            if self.table.change_site(&token, &settings).await? {
                return self.table.site(host).await;
            }
        }
        Err(StoreError::Contended {
            what: format!("site {host}"),
            tries: TRIES,
        })
    }
}
