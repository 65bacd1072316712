//! Finds the pages that have an address or wait for it, and the records that name it.

use std::collections::{BTreeMap, BTreeSet};

use engine::error::EngineError;
use engine::keys;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use percent_encoding::percent_decode_str;
use sitemap::loc::{Loc, normalized};
use sitemap::plan::{Address, Claim, Ledger, Term};
use sitemap::record::ContentRecord;

use super::{Archive, READS, TermName};
use crate::content::MAX_KEY_BYTES;
use crate::deployment::target::Target;
use crate::terminal::progress::{Progress, Unit};

/// Records of one page of the search for an address that is not listed.
const PAGE: u32 = 500;
/// Records that wait for an address and are shown.
const WAITERS: usize = 100;

/// The pages that an address or an id has, or whether all records have to be searched for it.
pub(super) enum Found {
    Pages(Vec<String>, bool),
    Nobody(Loc),
}

pub(super) async fn find(target: &Target, what: String) -> Result<Found, EngineError> {
    match Loc::parse_any(&what) {
        Ok(loc) => pages_at(target, loc).await,
        Err(_) => Ok(Found::Pages(pages_of(target, &what).await?, false)),
    }
}

/// Finds the page that has the address and the first pages that wait for it. Also returns whether more pages wait.
async fn pages_at(target: &Target, loc: Loc) -> Result<Found, EngineError> {
    let address = Address {
        site: host(&loc),
        loc,
    };
    let table = &target.reconciler.table;
    // No page has an empty id, so another page owns the claim.
    let (Claim::Other(owner) | Claim::Departed(owner)) = table.claim(&address, "").await? else {
        return Ok(Found::Nobody(address.loc));
    };
    let claim = keys::claim(&address.site, address.loc.as_str());
    let mut waiters = table.waiters(&claim.pk, None, WAITERS as u32 + 1).await?;
    let more = waiters.len() > WAITERS;
    waiters.truncate(WAITERS);
    Ok(Found::Pages([vec![owner], waiters].concat(), more))
}

/// The records that name addresses which no page has, by the address's normal form.
#[derive(Default)]
pub(super) struct Named {
    /// Their pages.
    pub(super) pages: BTreeMap<String, Vec<String>>,
    /// The ids of those that no function reads because of them.
    pub(super) reserved: BTreeMap<String, Vec<String>>,
    /// The terms of pages that one of the addresses ends with.
    terms: BTreeSet<Term>,
    /// The archives that a record describes.
    archives: BTreeSet<Term>,
}

impl Named {
    /// Reads the whole content table, if there is an address to search for. `locs` are normal forms.
    pub(super) async fn search(
        target: &Target,
        locs: BTreeSet<String>,
    ) -> Result<Self, EngineError> {
        let mut named = Self::default();
        if locs.is_empty() {
            return Ok(named);
        }
        let sites: BTreeSet<String> = locs
            .iter()
            .filter_map(|loc| Loc::parse_any(loc).ok())
            .map(|loc| host(&loc))
            .collect();
        let ends: BTreeSet<String> = locs.iter().map(|loc| last_step(loc)).collect();
        let content = &target.reconciler.content;
        let what = "searching the records for addresses that no page has";
        let mut progress = Progress::begin(what, Unit::Things("records"), None);
        let (mut read, mut after) = (0, None);
        loop {
            let page = content.scan(after.as_deref(), PAGE).await?;
            read += page.records.len() as u64;
            progress.reach(read);
            let on_sites = page
                .records
                .into_iter()
                .filter(|(_, outline)| sites.contains(&outline.site));
            let ids: Vec<String> = on_sites.map(|(id, _)| id).collect();
            for record in content.records(&ids).await?.values() {
                let loc = normalized(&record.url);
                if locs.contains(&*loc) {
                    let pages = named.pages.entry(loc.into_owned()).or_default();
                    pages.push(keys::page(&record.id, 1));
                }
                named.note_archives(record, &ends);
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        for (id, loc) in content.reserved().await? {
            let loc = loc.as_ref().map(Loc::normalized);
            if let Some(loc) = loc.filter(|loc| locs.contains(&**loc)) {
                let ids = named.reserved.entry(loc.into_owned()).or_default();
                ids.push(id);
            }
        }
        Ok(named)
    }

    fn note_archives(&mut self, record: &ContentRecord, ends: &BTreeSet<String>) {
        let of = |taxonomy: &str, term: &str| Term {
            site: record.site.clone(),
            taxonomy: taxonomy.to_owned(),
            term: term.to_owned(),
        };
        if let Some(archive) = &record.archive_of {
            self.archives.insert(of(&archive.taxonomy, &archive.term));
        }
        for (taxonomy, terms) in &record.terms {
            let ending = terms.iter().filter(|term| ends.contains(*term));
            self.terms.extend(ending.map(|term| of(taxonomy, term)));
        }
    }

    /// Returns the terms that an address ends with and whose archive no record describes.
    pub(super) fn missing_archives(&self, loc: &Loc) -> Vec<TermName> {
        let (site, end) = (host(loc), last_step(loc.as_str()));
        let missing = self.terms.difference(&self.archives);
        let missing = missing.filter(|term| term.site == site && term.term == end);
        missing.map(TermName::from).collect()
    }
}

/// Returns the last step of an address's path, decoded: that of an archive often is the term.
fn last_step(loc: &str) -> String {
    let path = loc.split(['?', '#']).next().unwrap_or_default();
    let step = path.trim_end_matches('/').rsplit('/').next();
    let step = percent_decode_str(step.unwrap_or_default());
    step.decode_utf8_lossy().into_owned()
}

/// Returns the archives that a page is in.
pub(super) async fn archives(
    target: &Target,
    ledger: Option<&Ledger>,
) -> Result<Vec<Archive>, EngineError> {
    let table = &target.reconciler.table;
    let terms: Vec<_> = ledger
        .iter()
        .flat_map(|ledger| ledger.terms.clone())
        .collect();
    let archives = terms.into_iter().map(|(term, lastmod)| async move {
        let pages = table.archives(&keys::term_partition(&term)).await?;
        let TermName { taxonomy, term } = (&term).into();
        Ok(Archive {
            taxonomy,
            term,
            lastmod,
            has_page: !pages.is_empty(),
        })
    });
    stream::iter(archives).buffered(READS).try_collect().await
}

impl From<&Term> for TermName {
    fn from(term: &Term) -> Self {
        Self {
            taxonomy: term.taxonomy.clone(),
            term: term.term.clone(),
        }
    }
}

/// Returns a record's page and its other parts. The list is empty if there is neither such a record nor a ledger of a deleted one.
async fn pages_of(target: &Target, id: &str) -> Result<Vec<String>, EngineError> {
    if id.is_empty() || id.len() > MAX_KEY_BYTES {
        return Ok(Vec::new());
    }
    let page = keys::page(id, 1);
    let ledger = target.reconciler.table.ledger(&page).await?;
    let content = &target.reconciler.content;
    if ledger.is_none()
        && (content.item(id).await?.is_none() || content.mismatch(id).await?.is_some())
    {
        return Ok(Vec::new());
    }
    let parts = ledger.map_or(0, |ledger| ledger.parts);
    let parts = (2..=parts).map(|part| keys::page(id, part));
    Ok([page].into_iter().chain(parts).collect())
}

/// Finds the alternates of a page's record whose own pages do not name it. An alternate that is not ours does not count. Of a translation
/// group every member names every other.
pub(super) async fn one_sided(
    target: &Target,
    page: &str,
    ledger: Option<&Ledger>,
) -> Result<Vec<Loc>, EngineError> {
    let Some(Address { loc, .. }) = ledger.and_then(|ledger| ledger.claim.as_ref()) else {
        return Ok(Vec::new());
    };
    let id = keys::page_parts(page).0.to_owned();
    let mut records = target
        .reconciler
        .content
        .records(std::slice::from_ref(&id))
        .await?;
    let record = records
        .remove(&id)
        .filter(|record| record.translation_group.is_none());
    let mut found = Vec::new();
    for alternate in record.map(|record| record.alternates).unwrap_or_default() {
        let address = Address {
            site: host(&alternate.href),
            loc: alternate.href,
        };
        let (Claim::Other(owner) | Claim::Departed(owner)) =
            target.reconciler.table.claim(&address, page).await?
        else {
            continue;
        };
        let owner = keys::page_parts(&owner).0.to_owned();
        let others = target.reconciler.content.records(&[owner]).await?;
        let mut links = others.values().flat_map(|other| &other.alternates);
        if !links.any(|link| link.href.is_equivalent(loc)) {
            found.push(address.loc);
        }
    }
    Ok(found)
}

/// Returns the name of an address's site: the host, and the port if it is not the scheme's own.
pub(super) fn host(loc: &Loc) -> String {
    loc.as_str()
        .split('/')
        .nth(2)
        .unwrap_or_default()
        .to_owned()
}
