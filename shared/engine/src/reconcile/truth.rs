//! The records and sites of a batch, and the other inputs of its plans.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join;
use sitemap::eligibility::Newest;
use sitemap::mapping::SOURCE_MARK;
use sitemap::plan::{self, Assessed, Claim, Inputs, Ledger, Translations};
use sitemap::record::ContentRecord;

use super::ledgers::Fenced;
use super::reconciler::{Reconciler, Tried};
use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::rows::keys;
use crate::rows::site::SiteRow;

/// Records of one batch that are read concurrently.
pub(super) const CONCURRENCY: usize = 16;

/// The rows of sites by host.
pub(super) type SiteMap = BTreeMap<String, Result<Option<SiteRow>, EngineError>>;

/// The inputs of a page's plan besides its record and ledger.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) newest: Newest,
    claim: Claim,
    /// The highest part beyond the record's that has a ledger.
    pub(super) left: u32,
}

/// The outcomes of a batch's pages so far.
pub(super) type Outcomes<'a> = BTreeMap<&'a str, Result<Tried, EngineError>>;

/// The records of a batch and their sites.
pub(super) struct Truth {
    pub(super) records: BTreeMap<String, ContentRecord>,
    pub(super) sites: SiteMap,
}

impl Truth {
    /// Returns a page's site: that of its record, or if the record is gone, the site that listed it.
    pub(super) fn site(
        &self,
        page: &str,
        ledger: &Ledger,
    ) -> Option<&Result<Option<SiteRow>, EngineError>> {
        let record = self.records.get(keys::page_parts(page).0);
        self.sites
            .get(record.map_or(&ledger.site, |record| &record.site))
    }

    /// Returns the site that listed a page, if its record now belongs to another site.
    pub(super) fn former(
        &self,
        page: &str,
        ledger: &Ledger,
    ) -> Option<&Result<Option<SiteRow>, EngineError>> {
        let record = self.records.get(keys::page_parts(page).0)?;
        let former = self.sites.get(&ledger.site);
        former.filter(|_| record.site != ledger.site)
    }

    pub(super) fn row(&self, page: &str, ledger: &Ledger) -> Option<&SiteRow> {
        self.site(page, ledger)?.as_ref().ok()?.as_ref()
    }

    pub(super) fn page(&self, page: &str, ledger: &Ledger) -> plan::Page<'_> {
        let (id, part) = keys::page_parts(page);
        plan::Page {
            record: self.records.get(id),
            part,
            site: self.row(page, ledger).map(|row| &row.settings),
        }
    }
}

impl Reconciler {
    /// Reads the records and sites of the pages. Pages for which that fails are removed from the batch.
    pub(super) async fn truth<'a>(
        &self,
        fenced: &mut Vec<(&'a str, Fenced)>,
        outcomes: &mut Outcomes<'a>,
    ) -> Truth {
        let ids = fenced.iter().map(|(page, _)| keys::page_parts(page).0);
        let ids: BTreeSet<&str> = ids.collect();
        let ids = ids.into_iter().map(str::to_owned);
        // The tables are read apart, so that own records are still read if the user's table fails.
        let (mapped, own): (Vec<String>, Vec<String>) =
            ids.partition(|id| id.starts_with(SOURCE_MARK));
        let mut records = BTreeMap::new();
        for ids in [own, mapped] {
            match self.content.records(&ids).await {
                Ok(found) => records.extend(found),
                // Every record of that table has failed with the same temporary error.
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

    /// Returns the other inputs of each page's plan, in the order of the pages. Read after their fences.
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

    /// Returns the rows of the records' sites, and of the sites that pages leave. A site that is not known has no row here. The
    /// rows are read after all fences.
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
            // The row only decides whether search engines are notified, so a damaged row does not keep a page from leaving. A
            // temporary error is returned, because the notice would be lost otherwise.
            match self.table.site(site).await {
                Err(EngineError::Damaged { .. }) => Ok(None),
                row => row,
            }
        });
        let rows = concurrently(CONCURRENCY, rows).await;
        let sites = present.union(&former).map(|site| (*site).clone());
        sites.zip(rows).collect()
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
