//! The first step of an audit finds out cheaply which pages have to be looked at.
//!
//! - A page's ledger names each row of the page, and follows from the page's record. Rows and records add a hash of their content
//!   to a sum, and the ledger subtracts the expected hash. If a sum is not zero at the end, the other steps look at its pages.
//! - The order of rows and records does not matter, and no row leads to the read of another. So this step costs two scans, which
//!   need not be consistent.
//! - A row that changes meanwhile may be added once and subtracted twice. Then its pages are looked at in vain.
//! - The hashes have 64 bits and begin with a text that is random for each audit. So an error stays hidden with a probability of
//!   2⁻⁶⁴.

use std::collections::BTreeSet;

use sitemap::plan::{Ledger, Series, Slot, is_over};
use sitemap::record::ContentRecord;
use sitemap::site::{SiteSettings, host_of_site_id};

use super::checksums::{
    FACE, Next, SUMS, Seen, Sums, Tally, face, name, owner, said, said_of, sum_of_row,
};
use super::job::{Audit, Settled};
use super::progress::{AuditProgress, AuditStep};
use super::rows::{is_counted, is_read};
use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::rows::holding;
use crate::rows::keys::{self, Key, RowKey};
use crate::rows::row::Holds;
use crate::rows::series::Extent;
use crate::rows::site::Hold;

/// The most suspected sums. If there are more, everything is looked at, because a longer list would not fit into an item.
const MAX_SUSPECTED: usize = SUMS / 4;
/// Rows or records of one page: about as many as one read of DynamoDB returns (1 MB).
const PAGE: u32 = 4_000;
/// Sites that are remembered from page to page, with their series.
const MAX_SITES: usize = 5_000;
/// Records that are read concurrently.
const CALLS: usize = 16;

impl Audit<'_> {
    /// Adds the next page, and returns the next step.
    pub(super) async fn add_up(
        &self,
        progress: &mut AuditProgress,
    ) -> Result<AuditStep, EngineError> {
        let mut sums = match progress.sums.take() {
            Some(sums) => sums,
            None => self.begin_sums(progress.began).await?,
        };
        let Sums { place, seen, .. } = &mut sums;
        if seen.sites.len() > MAX_SITES {
            *seen = Seen::default();
        }
        let mut tally = Tally {
            place,
            added: Vec::new(),
            suspected: BTreeSet::new(),
            looks_on: false,
            read: 0,
        };
        let added_up = match &place.next {
            Next::Rows(after) => {
                let hosts = (&mut progress.sites, &mut progress.departing);
                self.add_rows(after.clone(), seen, &mut tally, hosts).await
            }
            Next::Records(after) => self.add_records(after.as_deref(), seen, &mut tally).await,
            Next::End => Ok(Next::End),
        };
        let Tally {
            added,
            mut suspected,
            looks_on,
            read,
            ..
        } = tally;
        progress.read += read;
        match added_up {
            Ok(next) => {
                sums.place.next = next;
                sums.place.suspected.append(&mut suspected);
                sums.place.looks_on |= looks_on;
                sums.take(added);
            }
            Err(error) => {
                progress.sums = Some(sums);
                return Err(error);
            }
        }
        if sums.place.next != Next::End {
            progress.sums = Some(sums);
            return Ok(AuditStep::Sums);
        }
        if sums.is_stored {
            self.reconciler.table.drop_row(&keys::sums()).await?;
        }
        let suspected = sums.suspected();
        let is_done = suspected.is_empty() && !sums.place.looks_on;
        let too_many = suspected.len() > MAX_SUSPECTED;
        progress.suspected = (!too_many).then_some(suspected);
        Ok(if is_done {
            AuditStep::Objects { after: None }
        } else {
            AuditStep::Rows { after: None }
        })
    }

    /// Returns the sums of the audit that began at this time, as the last slice has stored them.
    async fn begin_sums(&self, began: i64) -> Result<Sums, EngineError> {
        let stored = self.reconciler.table.sums().await?;
        let stored = stored.filter(|sums| sums.place.began == began);
        let seed = || self.reconciler.env.token();
        Ok(stored.unwrap_or_else(|| Sums::new(began, seed())))
    }

    async fn add_rows(
        &self,
        after: Option<(String, String)>,
        seen: &mut Seen,
        tally: &mut Tally<'_>,
        (hosts, departing): (&mut BTreeSet<String>, &mut BTreeSet<String>),
    ) -> Result<Next, EngineError> {
        let after = after.map(|(pk, sk)| Key { pk, sk });
        let (rows, next) = self.reconciler.table.rows(after.as_ref(), PAGE).await?;
        tally.read = rows.len() as u64;
        for row in &rows {
            if let Some(RowKey::Departed(host, _)) = &row.kind {
                departing.insert(host.clone());
            }
            match (&row.kind, &row.holds) {
                (None, _) | (_, Err(_)) => drop(tally.suspected.insert(sum_of_row(row))),
                (Some(RowKey::Ledger(id)), Ok(Holds::Ledger(ledger))) => {
                    self.add_ledger(&row.key, id, ledger, seen, tally).await?;
                }
                (Some(RowKey::Site(host)), Ok(holds)) => {
                    hosts.insert(host.clone());
                    tally.looks_on |=
                        !matches!(holds, Holds::Site(site) if site.hold == Hold::Released);
                }
                (Some(RowKey::Free(..)), _) => tally.looks_on = true,
                (Some(RowKey::Feed(_, at, _)), _) if is_over(*at, tally.place.began) => {}
                (Some(RowKey::Entry(series, slot)), Ok(Holds::Entry(None))) => {
                    if !is_read(*slot, self.extent(series, seen).await?) {
                        tally.suspected.insert(sum_of_row(row));
                    }
                }
                (Some(kind), Ok(holds)) => {
                    let Some(owner) = owner(row) else {
                        continue;
                    };
                    let ledger = keys::ledger(owner);
                    tally.add(&ledger, &name(&row.key), &said(holds));
                    if let RowKey::Entry(series, slot) = kind
                        && !is_counted(*slot, self.extent(series, seen).await?)
                    {
                        tally.suspect(&ledger);
                    }
                }
            }
        }
        Ok(match next {
            Some(Key { pk, sk }) => Next::Rows(Some((pk, sk))),
            None => Next::Records(None),
        })
    }

    async fn add_ledger(
        &self,
        key: &Key,
        id: &str,
        ledger: &Ledger,
        seen: &mut Seen,
        tally: &mut Tally<'_>,
    ) -> Result<(), EngineError> {
        let (record, part) = keys::page_parts(id);
        if part > 1 {
            tally.add(&keys::ledger(record), &name(key), "");
        }
        for held in ledger.holdings(tally.place.began) {
            let row = holding::key(id, &held);
            tally.subtract(key, &name(&row), &said_of(&held));
        }
        if let Some(site) = self.seen_site(&ledger.site, seen).await? {
            tally.subtract(key, FACE, &face(ledger));
            if site.is_some_and(|site| !fits(ledger, &site)) {
                tally.suspect(key);
            }
        }
        Ok(())
    }

    async fn add_records(
        &self,
        after: Option<&str>,
        seen: &mut Seen,
        tally: &mut Tally<'_>,
    ) -> Result<Next, EngineError> {
        let page = self.reconciler.content.scan_records(after, PAGE).await?;
        tally.read = page.records.len() as u64;
        let mut pages = Vec::new();
        for (id, record) in &page.records {
            if let Some(host) = host_of_site_id(id)
                && self.seen_site(host, seen).await? == Some(None)
            {
                tally.suspect(&keys::ledger(&keys::page(id, 1)));
            }
            if self.seen_site(&record.site, seen).await?.is_some() {
                pages.extend((1..=record.pages.max(1)).map(|part| (keys::page(id, part), record)));
            }
        }
        let ledgers = pages.iter().map(|(page, record)| {
            let site = seen.sites.get(&record.site).and_then(Option::as_ref);
            let site = site.and_then(Option::as_ref);
            self.expected(page, record, site)
        });
        let ledgers = concurrently(CALLS, ledgers).await;
        for ((page, _), ledger) in pages.iter().zip(ledgers) {
            let key = keys::ledger(page);
            match ledger {
                Ok(Some(ledger)) => tally.add(&key, FACE, &face(&ledger)),
                Ok(None) => {}
                Err(EngineError::Damaged { .. }) => tally.suspect(&key),
                Err(error) => return Err(error),
            }
        }
        let next = page.next.map(|next| Next::Records(Some(next)));
        Ok(next.unwrap_or(Next::End))
    }

    /// Returns the ledger that a page would get if nothing were placed for it, without slots. Returns `None` if it would have no
    /// ledger.
    async fn expected(
        &self,
        page: &str,
        record: &ContentRecord,
        site: Option<&SiteSettings>,
    ) -> Result<Option<Ledger>, EngineError> {
        let plan = self.reconciler.plan_from_nothing(page, record, site);
        let mut plan = plan.await?;
        let series: Vec<Series> = plan.needs_slots().cloned().collect();
        for series in &series {
            plan.place(series, Slot { n: 0, i: 0 });
        }
        Ok(plan.ledger)
    }

    async fn seen_site(&self, host: &str, seen: &mut Seen) -> Result<Settled, EngineError> {
        if let Some(settled) = seen.sites.get(host) {
            return Ok(settled.clone());
        }
        let settled = self.settled_site(host).await?;
        seen.sites.insert(host.to_owned(), settled.clone());
        Ok(settled)
    }

    async fn extent(
        &self,
        series: &Series,
        seen: &mut Seen,
    ) -> Result<Option<Extent>, EngineError> {
        if !seen.extents.contains_key(&series.site) {
            let extents = self.reconciler.table.series(&series.site).await?;
            let extents = extents.into_iter().collect();
            seen.extents.insert(series.site.clone(), extents);
        }
        Ok(seen.extents[&series.site].get(series).copied())
    }
}

/// Returns whether a site's settings allow what of a ledger is not in its [`face`]: its slots and its change in the feed.
fn fits(ledger: &Ledger, site: &SiteSettings) -> bool {
    let mut placed = ledger.placed.iter();
    let in_capacity = placed.all(|placed| placed.slot.i < site.capacity(&placed.series.name));
    in_capacity && (site.feed || ledger.feed.is_none())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::progress::{daily, sifting};
    use super::*;
    use crate::testing::{NOW, Repeating, regenerator, still};

    #[tokio::test]
    async fn an_audit_that_stores_nothing_leaves_the_clocks_sums() {
        for (mut progress, is_left) in
            [(sifting(NOW, "seed".to_owned()), true), (daily(NOW), false)]
        {
            let regenerator = regenerator(Repeating::default().engine(), still());
            let audit = Audit {
                reconciler: &regenerator.reconciler,
                objects: &*regenerator.objects,
                repair: false,
                second_look: Duration::ZERO,
            };
            let table = &regenerator.reconciler.table;
            let clocks = Sums::new(NOW, "the clock's".to_owned());
            table.note_sums(&clocks).await.unwrap();
            while progress.step == Some(AuditStep::Sums) {
                audit.page(&mut progress).await.unwrap();
            }
            assert_eq!(table.sums().await.unwrap().is_some(), is_left);
        }
    }
}
