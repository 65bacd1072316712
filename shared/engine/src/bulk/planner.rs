//! Plans of records' pages, each on its own.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use sha2::{Digest, Sha256};
use sitemap::eligibility::Newest;
use sitemap::plan::{self, Address, Claim, Inputs, Ledger, Plan, Term, Translations};
use sitemap::record::ContentRecord;
use sitemap::site::SiteSettings;

use crate::reconcile::KnownSites;

/// An address of a site, in the form in which addresses are compared: 16 bytes of its SHA-256.
pub(super) type AddressKey = [u8; 16];

/// Who has which address.
#[expect(
    clippy::disallowed_types,
    reason = "it is large, and nothing depends on its order: it is never iterated"
)]
pub(super) type Owners = std::collections::HashMap<AddressKey, Owner>;

/// The page that has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Where its record is: the number that [`Planner::plan`] was given.
    pub at: u64,
    /// The part; 1 is the record's own page.
    pub part: u32,
}

/// The facts about other pages that a plan depends on.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The newest pages of archives that have any.
    pub(super) newest: BTreeMap<Term, Newest>,
    pub(super) groups: BTreeMap<String, Translations>,
    /// Who has which address, once that is decided for all.
    pub(super) owners: Option<Owners>,
}

/// Plans pages from their records, the settings of their sites, and the facts about other pages. Threads can share it.
#[derive(Debug)]
pub struct Planner {
    now: i64,
    known: KnownSites,
    /// Records of settings by host.
    recorded: BTreeMap<String, Value>,
    sites: RwLock<BTreeMap<String, Option<Arc<SiteSettings>>>>,
    /// Nothing was placed for any page before.
    ledger: Ledger,
    pub(super) facts: Facts,
}

/// A record with the plans of its pages.
#[derive(Debug)]
pub struct Planned {
    pub(super) at: u64,
    pub(super) record: ContentRecord,
    pub(super) site: Option<Arc<SiteSettings>>,
    /// The record's own page, then its other parts.
    pub(super) pages: Vec<PlannedPage>,
}

#[derive(Debug)]
pub(super) struct PlannedPage {
    pub(super) part: u32,
    pub(super) plan: Plan,
    /// The address that it is listed at, unless another page has it.
    pub(super) wanted: Option<AddressKey>,
    /// The page that has its address, if that is known and another one.
    pub(super) owner: Option<Owner>,
}

static NO_GROUP: Translations = Translations::new();

impl Planner {
    /// Creates a planner for a time in Unix seconds. `recorded` are the records of settings by their sites' hosts.
    #[must_use]
    pub fn new(now: i64, known: KnownSites, recorded: BTreeMap<String, Value>) -> Self {
        Self {
            now,
            known,
            recorded,
            sites: RwLock::default(),
            ledger: Ledger::default(),
            facts: Facts::default(),
        }
    }

    /// Returns a site's settings, or `None` if the host is no known site.
    #[must_use]
    pub fn site(&self, host: &str) -> Option<Arc<SiteSettings>> {
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(site) = sites.get(host) {
            return site.clone();
        }
        drop(sites);
        let site = self.known.settings_of(host, self.recorded.get(host));
        let site = site.map(Arc::new);
        let mut sites = self.sites.write().unwrap_or_else(PoisonError::into_inner);
        sites.entry(host.to_owned()).or_insert(site).clone()
    }

    /// Returns the sites of all records that were planned, and those that have settings, in the order of their hosts.
    #[must_use]
    pub fn sites(&self) -> Vec<Arc<SiteSettings>> {
        let recorded = self.recorded.keys();
        let recorded = recorded.filter_map(|host| Some((host.clone(), self.site(host)?)));
        let mut found: BTreeMap<_, _> = recorded.collect();
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        let planned = sites.iter();
        found.extend(planned.filter_map(|(host, site)| Some((host.clone(), site.clone()?))));
        found.into_values().collect()
    }

    /// Plans the pages of a record. `at` is the caller's number for the record.
    #[must_use]
    pub fn plan(&self, record: ContentRecord, at: u64) -> Planned {
        // Settings are of no site themselves.
        let site = match record.is_settings() {
            true => None,
            false => self.site(&record.site),
        };
        let mut planned = Planned {
            at,
            record,
            site,
            pages: Vec::with_capacity(1),
        };
        let page = self.plan_page(&planned, 1, &self.facts, None);
        let parts = page.plan.ledger.as_ref().map_or(0, |ledger| ledger.parts);
        planned.pages.push(page);
        for part in 2..=parts {
            let page = self.plan_page(&planned, part, &self.facts, None);
            planned.pages.push(page);
        }
        planned
    }

    /// Plans a page. It gets its address unless another page has it: `owner`, or by the facts.
    pub(super) fn plan_page(
        &self,
        of: &Planned,
        part: u32,
        facts: &Facts,
        owner: Option<Owner>,
    ) -> PlannedPage {
        let page = plan::Page {
            record: Some(&of.record),
            part,
            site: of.site.as_deref(),
        };
        let assessed = page.assess(self.now);
        let newest = match assessed.wanted_term() {
            Some(term) => facts.newest.get(&term).copied().unwrap_or(Newest::Nobody),
            None => Newest::Unread,
        };
        let wanted = assessed
            .wanted_address(newest, &self.ledger)
            .map(address_key);
        let own = Owner { at: of.at, part };
        let decided = facts.owners.as_ref().zip(wanted);
        let decided = decided.and_then(|(owners, wanted)| owners.get(&wanted).copied());
        let owner = owner.or(decided).filter(|owner| *owner != own);
        let claim = match (wanted, owner) {
            (None, _) => Claim::Unread,
            (Some(_), None) => Claim::Free,
            // No row of a first load names the owner: the claim of the address does.
            (Some(_), Some(_)) => Claim::Other(String::new()),
        };
        let group = assessed.wanted_group(newest);
        let group = group.and_then(|group| facts.groups.get(group));
        let inputs = Inputs {
            newest,
            group: group.unwrap_or(&NO_GROUP),
            ..Inputs::of(&assessed, &self.ledger, &claim)
        };
        PlannedPage {
            part,
            plan: plan::plan(&of.record.id, &inputs),
            wanted,
            owner: wanted.and(owner),
        }
    }
}

impl Planned {
    /// Returns whether what is listed of the record depends on pages that may come later: then all records need a [`Survey`].
    ///
    /// [`Survey`]: super::Survey
    #[must_use]
    pub fn depends(record: &ContentRecord) -> bool {
        record.archive_of.is_some()
            || record.translation_group.is_some()
            || record.departure.is_some()
    }
}

fn address_key(address: &Address) -> AddressKey {
    let mut hasher = Sha256::new();
    hasher.update(&address.site);
    hasher.update("\0");
    hasher.update(address.loc.normalized().as_bytes());
    let hash: [u8; 32] = hasher.finalize().into();
    let mut key = AddressKey::default();
    key.copy_from_slice(&hash[..16]);
    key
}
