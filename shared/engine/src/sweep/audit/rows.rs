//! Audits rows and records: compares each ledger with its record and its rows, and each row with its owner's ledger.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::EngineError;
use crate::rows::holding::{self, rows_of};
use crate::rows::keys::{self, Key, RowKey};
use crate::rows::ledger::ledger_body;
use crate::rows::row::{Holds, Row};
use crate::rows::series::Extent;
use crate::rows::site::Hold;
use sitemap::plan::{Ledger, Series, Slot, is_over};
use sitemap::record::ContentRecord;
use sitemap::site::host_of_site_id;

use super::checksums::{is_record_suspected, is_suspected};
use super::finding::{Problem, Remedy, Suspect};
use super::job::{Audit, PAGE, SIFTED, Settled};
use super::progress::{AuditProgress, AuditStep};
use crate::rows::scan::STUCK_SECONDS;

/// Seconds after a timer's time in which its reconcile may still be pending.
const TIMER_GRACE: i64 = 180;

/// The settings of sites by host.
type SettledSites = BTreeMap<String, Settled>;

impl Audit<'_> {
    pub(super) async fn page_of_rows(
        &self,
        after: Option<Key>,
        progress: &mut AuditProgress,
    ) -> Result<(Vec<Suspect>, Option<AuditStep>), EngineError> {
        let AuditProgress {
            sites,
            departing,
            suspected,
            read,
            ..
        } = progress;
        let table = &self.reconciler.table;
        let most = suspected.as_ref().map_or(PAGE, |_| SIFTED);
        let (mut rows, next) = table.rows(after.as_ref(), most).await?;
        *read += rows.len() as u64;
        for row in &rows {
            match &row.kind {
                Some(RowKey::Site(host)) => drop(sites.insert(host.clone())),
                Some(RowKey::Departed(host, _)) => drop(departing.insert(host.clone())),
                _ => {}
            }
        }
        if let Some(suspected) = suspected {
            rows.retain(|row| is_suspected(row, suspected));
        }
        let suspects = self.look_at_rows(&rows).await?;
        let keys: BTreeSet<Key> = suspects.iter().map(|(key, _)| key.clone()).collect();
        let again = async {
            let rows = table.rows_with(&keys).await?;
            let rows: Vec<Row> = rows.into_values().collect();
            let suspects = self.look_at_rows(&rows).await?;
            Ok(suspects.into_iter().map(|(_, suspect)| suspect).collect())
        };
        let suspects = suspects.into_iter().map(|(_, suspect)| suspect).collect();
        let suspects = self.confirmed(suspects, again).await?;
        let next = match next {
            Some(Key { pk, sk }) => AuditStep::Rows {
                after: Some((pk, sk)),
            },
            None => AuditStep::Records { after: None },
        };
        Ok((suspects, Some(next)))
    }

    pub(super) async fn page_of_records(
        &self,
        after: Option<String>,
        progress: &mut AuditProgress,
    ) -> Result<(Vec<Suspect>, Option<AuditStep>), EngineError> {
        let suspected = progress.suspected.as_ref();
        let most = suspected.map_or(PAGE, |_| SIFTED);
        let page = self.reconciler.content.scan(after.as_deref(), most).await?;
        progress.read += page.records.len() as u64;
        let pages = page.records.into_iter().map(|(id, _)| keys::page(&id, 1));
        let is_looked_at =
            |page: &String| suspected.is_none_or(|sums| is_record_suspected(page, sums));
        let ids: Vec<String> = pages.filter(is_looked_at).collect();
        let suspects = self.look_at_records(&ids).await?;
        let suspects = self.confirmed(suspects, self.look_at_records(&ids)).await?;
        let next = match page.next {
            Some(next) => AuditStep::Records { after: Some(next) },
            None => AuditStep::Objects { after: None },
        };
        Ok((suspects, Some(next)))
    }

    /// Returns the records that lack a ledger, and the settings whose site has no row.
    async fn look_at_records(&self, ids: &[String]) -> Result<Vec<Suspect>, EngineError> {
        let keys: BTreeSet<Key> = ids.iter().map(|id| keys::ledger(id)).collect();
        let ledgers = self.reconciler.table.rows_with(&keys).await?;
        let unseen = ids
            .iter()
            .filter(|page| !ledgers.contains_key(&keys::ledger(page)));
        let unseen = unseen.map(|page| keys::page_parts(page).0.to_owned());
        let unseen: Vec<String> = unseen.collect();
        if unseen.is_empty() {
            return Ok(Vec::new());
        }
        let records = self.reconciler.content.records(&unseen).await?;
        let sites = self.settled_sites(records.values()).await?;
        let mut suspects = Vec::new();
        for id in &unseen {
            if let Some(host) = host_of_site_id(id)
                && self.reconciler.lacks_row(host).await?
            {
                let remedy = Remedy::CreateSite(host.to_owned());
                let detail = "its site has no row";
                suspects.push(Suspect::new(Problem::RecordUnseen, id, detail, remedy));
            }
        }
        for (id, record) in &records {
            let Some(site) = sites.get(&record.site).and_then(Option::as_ref) else {
                continue;
            };
            let page = keys::page(id, 1);
            let (site, nothing) = (site.as_ref(), Ledger::default());
            let plan = self.reconciler.dry_run(&page, Some(record), site, &nothing);
            if plan.await?.is_some_and(|plan| plan.ledger.is_some()) {
                let remedy = Remedy::Reconcile(page, None);
                suspects.push(Suspect::new(
                    Problem::RecordUnseen,
                    id,
                    "it was never processed: it has no ledger",
                    remedy,
                ));
            }
        }
        Ok(suspects)
    }

    /// Returns the problems of rows, each with the key of the row that showed it.
    async fn look_at_rows(&self, rows: &[Row]) -> Result<Vec<(Key, Suspect)>, EngineError> {
        let now = self.reconciler.env.now();
        let mut wanted = BTreeSet::new();
        // Each page once, for all its parts.
        let mut ids = BTreeSet::new();
        for row in rows {
            match (&row.kind, &row.holds) {
                (Some(RowKey::Ledger(id)), Ok(Holds::Ledger(ledger))) => {
                    ids.insert(keys::page_parts(id).0.to_owned());
                    wanted.extend(rows_of(id, ledger, now));
                }
                (Some(RowKey::Entry(series, _)), Ok(Holds::Entry(entry))) => {
                    let owner = entry.as_ref().map(|(owner, _)| keys::ledger(owner));
                    wanted.extend(owner);
                    wanted.insert(keys::series(series));
                }
                (_, Ok(Holds::Claim(owner, _))) => drop(wanted.insert(keys::ledger(owner))),
                (Some(RowKey::Departed(..)), Ok(_)) => {
                    wanted.extend(row.owner.as_deref().map(keys::ledger));
                }
                (Some(RowKey::Free(series, slot)), _) => {
                    wanted.extend([keys::entry(series, *slot), keys::series(series)]);
                }
                (Some(kind), _) => wanted.extend(kind.owner().map(keys::ledger)),
                _ => {}
            }
        }
        let others = self.reconciler.table.rows_with(&wanted).await?;
        let ids: Vec<String> = ids.into_iter().collect();
        let records = self.reconciler.content.records(&ids).await?;
        let sites = self.settled_sites(records.values()).await?;
        let mut suspects = Vec::new();
        for row in rows {
            let suspect = match (&row.kind, &row.holds) {
                (Some(RowKey::Ledger(id)), Ok(Holds::Ledger(ledger))) => {
                    match lost_row(id, ledger, &others, now) {
                        Some(lost) => Some(lost),
                        None => {
                            let record = records.get(keys::page_parts(id).0);
                            self.look_at_ledger(id, ledger, record, &sites).await?
                        }
                    }
                }
                (Some(RowKey::Site(host)), Ok(Holds::Site(site)))
                    if site.hold != Hold::Released =>
                {
                    self.look_at_hold(host).await?
                }
                _ => look_at_row(row, &others, now),
            };
            suspects.extend(suspect.map(|suspect| {
                let state = match &row.holds {
                    Ok(Holds::Ledger(ledger)) => ledger_body(ledger),
                    _ => String::new(),
                };
                (row.key.clone(), Suspect { state, ..suspect })
            }));
        }
        Ok(suspects)
    }

    /// Returns whether a site on hold has a scan. Without one, nothing would ever release it.
    async fn look_at_hold(&self, host: &str) -> Result<Option<Suspect>, EngineError> {
        let has_scan = match self.reconciler.table.site_scan(host).await {
            Ok(scan) => scan.is_some(),
            // An unreadable scan is a finding of its own and gets deleted. Then the site has none.
            Err(EngineError::Damaged { .. }) => false,
            Err(error) => return Err(error),
        };
        let remedy = Remedy::Scan(host.to_owned());
        let detail = "it is on hold and has no scan";
        let suspect = || Suspect::new(Problem::SiteUnserved, host, detail, remedy);
        Ok((!has_scan).then(suspect))
    }

    /// Returns the problem of a ledger that disagrees with its record.
    async fn look_at_ledger(
        &self,
        id: &str,
        ledger: &Ledger,
        record: Option<&ContentRecord>,
        sites: &SettledSites,
    ) -> Result<Option<Suspect>, EngineError> {
        // A record with an over-long id has its ledger under a hash of the id.
        if id.starts_with(keys::HASHED_ID) {
            return Ok(None);
        }
        let now = self.reconciler.env.now();
        let ringing = ledger
            .next_check_at
            .is_some_and(|due| due <= now && now - due <= TIMER_GRACE);
        let site = match record {
            Some(record) => sites.get(&record.site).and_then(Option::as_ref),
            None => Some(&None),
        };
        let Some(site) = site.filter(|_| !ringing) else {
            return Ok(None);
        };
        let plan = self.reconciler.dry_run(id, record, site.as_ref(), ledger);
        let Some(plan) = plan.await? else {
            return Ok(None);
        };
        let remedy = Remedy::Reconcile(id.to_owned(), None);
        let gone = plan.ledger.is_none();
        Ok(if gone && *ledger == Ledger::default() {
            let detail = "its record, or this part of it, is gone";
            Some(Suspect::new(Problem::FenceLeft, id, detail, remedy))
        } else if record.is_none() {
            let problem = Problem::RecordGone;
            Some(Suspect::new(problem, id, "its record is gone", remedy))
        } else if gone || !plan.is_empty() {
            let detail = match plan.changes.len() {
                0 => "the reason why it, or a part of it, is left out has changed".to_owned(),
                changes => format!("what is listed is {changes} changes behind the record"),
            };
            Some(Suspect::new(Problem::RecordBehind, id, detail, remedy))
        } else {
            None
        })
    }

    /// Returns whether a scan of the site is running. Records that the scan has not reached yet would look wrong. It is read
    /// after the site's row, because settings are written together with a scan.
    async fn is_scanned(&self, host: &str) -> Result<bool, EngineError> {
        let now = self.reconciler.env.now();
        match self.reconciler.table.site_scan(host).await {
            // A stalled scan may wait for a repair of the audit.
            Ok(scan) => Ok(scan.is_some_and(|scan| now - scan.at <= STUCK_SECONDS)),
            Err(EngineError::Damaged { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn settled_site(&self, host: &str) -> Result<Settled, EngineError> {
        Ok(match self.reconciler.table.site(host).await {
            Ok(Some(row)) if row.hold == Hold::Released && !self.is_scanned(host).await? => {
                Some(Some(row.settings))
            }
            Ok(Some(_)) => None,
            Ok(None) => Some(None),
            Err(EngineError::Damaged { .. }) => None,
            Err(error) => return Err(error),
        })
    }

    async fn settled_sites<'r>(
        &self,
        records: impl Iterator<Item = &'r ContentRecord>,
    ) -> Result<SettledSites, EngineError> {
        let hosts: BTreeSet<&String> = records.map(|record| &record.site).collect();
        let mut sites = BTreeMap::new();
        for host in hosts {
            sites.insert(host.clone(), self.settled_site(host).await?);
        }
        Ok(sites)
    }
}

/// Returns the first row that a ledger names and that is missing or differs.
fn lost_row(id: &str, ledger: &Ledger, others: &BTreeMap<Key, Row>, now: i64) -> Option<Suspect> {
    ledger.holdings(now).find_map(|holding| {
        let key = holding::key(id, &holding);
        let loss = holding::loss(id, &holding, others.get(&key))?;
        let remedy = Remedy::Reconcile(id.to_owned(), None);
        let detail = format!("its row {} {} {loss}", key.pk, key.sk);
        Some(Suspect::new(Problem::RowLost, id, detail, remedy))
    })
}

/// Returns the problem of a row that is not a readable ledger.
fn look_at_row(row: &Row, others: &BTreeMap<Key, Row>, now: i64) -> Option<Suspect> {
    let what = format!("{} {}", row.key.pk, row.key.sk);
    let key = || row.key.clone();
    let Some(kind) = &row.kind else {
        let detail = "this version writes no such key";
        return Some(Suspect::new(
            Problem::RowUnknown,
            what,
            detail,
            Remedy::Nothing,
        ));
    };
    let holds = match &row.holds {
        Ok(holds) => holds,
        Err(error) => {
            let remedy = match kind {
                RowKey::Entry(..) => Remedy::Empty(key()),
                _ => Remedy::Drop(key()),
            };
            return Some(Suspect::new(Problem::RowDamaged, what, error, remedy));
        }
    };
    // DynamoDB deletes it.
    if matches!(kind, RowKey::Feed(_, at, _) if is_over(*at, now)) {
        return None;
    }
    // The owner, and whether the owner's ledger names it, if that ledger can be read.
    let ledger = |owner: &str| match others.get(&keys::ledger(owner)).map(|row| &row.holds) {
        Some(Ok(Holds::Ledger(ledger))) => Some(ledger.clone()),
        _ => None,
    };
    let known = |owner: &str| {
        ledger(owner).is_some_and(|ledger| rows_of(owner, &ledger, now).contains(&row.key))
    };
    let owner = match (kind, holds) {
        (_, Holds::Entry(Some((owner, _))) | Holds::Claim(owner, _)) => Some(owner.as_str()),
        (RowKey::Departed(..), _) => row.owner.as_deref(),
        (kind, _) => kind.owner(),
    };
    if let Some(owner) = owner.filter(|owner| !known(owner)) {
        let detail = format!("the ledger of {owner} does not name it");
        let remedy = Remedy::Reconcile(owner.to_owned(), Some(key()));
        return Some(Suspect::new(Problem::RowStray, what, detail, remedy));
    }
    match (kind, holds) {
        (RowKey::Entry(series, slot), Holds::Entry(Some(_))) | (RowKey::Free(series, slot), _)
            if !counted(series, *slot, others) =>
        {
            let least = Extent {
                shards: slot.n,
                positions: slot.i + 1,
                next: slot.i + 1,
            };
            let remedy = Remedy::Grow(series.clone(), least);
            let what = format!("{}/{}", series.site, series.name);
            let detail = format!("it has given {}/{}", slot.n, slot.i);
            Some(Suspect::new(Problem::CounterBehind, what, detail, remedy))
        }
        (RowKey::Entry(series, slot), Holds::Entry(None)) if !read(series, *slot, others) => {
            // Its slot is given back by a row of its own, so only what publishing reads has to grow.
            let remedy = Remedy::Grow(series.clone(), Extent::of_segments(slot.segment() + 1));
            let what = format!("{}/{}", series.site, series.name);
            let detail = format!("it does not read segment {}", slot.segment());
            Some(Suspect::new(Problem::CounterBehind, what, detail, remedy))
        }
        (RowKey::Free(series, slot), _) => {
            // Without its row, the counter could offer the slot again.
            let (problem, detail) = match others.get(&keys::entry(series, *slot)) {
                None => (Problem::RowStray, "the slot has no row"),
                Some(row) if matches!(row.holds, Ok(Holds::Entry(Some(_)))) => {
                    (Problem::SlotTaken, "it holds an entry")
                }
                Some(_) => return None,
            };
            Some(Suspect::new(problem, what, detail, Remedy::Drop(key())))
        }
        _ => None,
    }
}

/// Returns whether a series' counter has offered a slot.
fn counted(series: &Series, slot: Slot, others: &BTreeMap<Key, Row>) -> bool {
    extent_of(series, others).is_none_or(|extent| is_counted(slot, extent))
}

/// Returns whether publishing reads the segment of a slot.
fn read(series: &Series, slot: Slot, others: &BTreeMap<Key, Row>) -> bool {
    extent_of(series, others).is_none_or(|extent| is_read(slot, extent))
}

/// Returns the extent of a series, or `None` if its row cannot be read, which is a finding of its own.
fn extent_of(series: &Series, others: &BTreeMap<Key, Row>) -> Option<Option<Extent>> {
    match others.get(&keys::series(series)).map(|row| &row.holds) {
        Some(Ok(Holds::Series(extent))) => Some(Some(*extent)),
        Some(_) => None,
        None => Some(None),
    }
}

/// Returns whether a counter with this extent has offered a slot.
pub(super) fn is_counted(slot: Slot, extent: Option<Extent>) -> bool {
    extent.is_some_and(|extent| {
        slot.i < extent.positions && (slot.n, slot.i) < (extent.shards, extent.next)
    })
}

/// Returns whether publishing reads the segment of a slot of a series with this extent.
pub(super) fn is_read(slot: Slot, extent: Option<Extent>) -> bool {
    extent.is_some_and(|extent| slot.segment() < extent.segments())
}
