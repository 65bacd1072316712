//! The first step of an audit: it finds out cheaply which pages have to be looked at.
//!
//! - A page's ledger names each row that the page holds, and follows from the page's record. Rows and records add a hash of what they
//!   say to a sum, and the ledger subtracts it. If a sum is not zero at the end, its pages are looked at by the other steps.
//! - The order of rows and records does not matter, and no row is read because of another. So this costs two scans, which need not be
//!   consistent.
//! - If something changes meanwhile, it may be added once and subtracted twice. Then its pages are looked at in vain.
//! - The hashes have 64 bits and begin with a text that is random for each audit. So an error stays hidden once in 2⁶⁴ times.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sitemap::plan::{Holding, Ledger, Series, Slot, is_over};
use sitemap::record::ContentRecord;
use sitemap::site::{SiteSettings, host_of_site_id};

use super::rows::is_counted;
use super::{Audit, Settled};
use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::keys::{self, Key, RowKey};
use crate::ledgers::{holding, ledger_body};
use crate::rows::{AuditProgress, AuditStep, Holds, Row};
use crate::sites::Hold;
use crate::slots::Extent;

/// Sums. With a million pages thirty share one. They fill 256 KB of an item, which may have 400 KB (DynamoDB).
const SUMS: usize = 32_768;
/// If more sums are suspected, everything is looked at. A longer list would not fit into an item.
const MAX_SUSPECTED: usize = SUMS / 4;
/// Rows or records of one page: about as many as DynamoDB reads at a time (1 MB).
const PAGE: u32 = 4_000;
/// Sites and their series that are remembered from page to page.
const MAX_SITES: usize = 5_000;
/// Records whose reads are under way at the same time.
const CALLS: usize = 16;

/// Which sum a page's rows are added to.
pub(crate) type SumNumber = u16;

/// The sums of an audit under way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sums {
    place: Place,
    sums: Vec<u64>,
    seen: Seen,
    /// Whether there may be a row of them.
    is_stored: bool,
}

/// What is known of the sums beside themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    /// When the audit began, in Unix seconds.
    began: i64,
    /// What each hash begins with.
    seed: String,
    next: Next,
    /// Suspected for what a row says by itself.
    suspected: BTreeSet<SumNumber>,
    /// Whether there is a row that has to be looked at in any case.
    looks_on: bool,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Next {
    Rows(Option<(String, String)>),
    Records(Option<String>),
    End,
}

/// What was read of sites and their series, for as long as a slice goes on.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    sites: BTreeMap<String, Settled>,
    extents: BTreeMap<String, BTreeMap<Series, Extent>>,
}

/// What a page adds.
struct Tally<'a> {
    place: &'a Place,
    added: Vec<(SumNumber, u64)>,
    suspected: BTreeSet<SumNumber>,
    looks_on: bool,
    /// Rows or records that it has read.
    read: u64,
}

impl Sums {
    /// Those of an audit that is never stored.
    pub(super) fn unstored(began: i64, seed: String) -> Self {
        Self {
            is_stored: false,
            ..Self::new(began, seed)
        }
    }

    fn new(began: i64, seed: String) -> Self {
        Self {
            place: Place {
                began,
                seed,
                next: Next::Rows(None),
                suspected: BTreeSet::new(),
                looks_on: false,
            },
            sums: vec![0; SUMS],
            seen: Seen::default(),
            is_stored: true,
        }
    }

    /// As a text and the sums' bytes.
    pub(crate) fn store(&self) -> (String, Vec<u8>) {
        let place = serde_json::to_string(&self.place).expect("a place has text keys alone");
        let sums = self.sums.iter().flat_map(|sum| sum.to_le_bytes());
        (place, sums.collect())
    }

    /// What [`Sums::store`] has stored; nothing if it is not that.
    pub(crate) fn read(place: &str, sums: &[u8]) -> Option<Self> {
        let (sums, rest) = sums.as_chunks::<8>();
        let sums: Vec<u64> = sums.iter().copied().map(u64::from_le_bytes).collect();
        let is_whole = rest.is_empty() && sums.len() == SUMS;
        is_whole.then_some(())?;
        Some(Self {
            place: serde_json::from_str(place).ok()?,
            sums,
            seen: Seen::default(),
            is_stored: true,
        })
    }

    /// Whether all rows are added.
    pub(crate) fn is_at_records(&self) -> bool {
        !matches!(self.place.next, Next::Rows(_))
    }

    /// Takes in what a page adds.
    fn take(&mut self, added: Vec<(SumNumber, u64)>) {
        for (number, hash) in added {
            let sum = &mut self.sums[usize::from(number)];
            *sum = sum.wrapping_add(hash);
        }
    }

    /// The sums that are suspected at the end.
    fn suspected(&self) -> BTreeSet<SumNumber> {
        let numbers = (0..).zip(&self.sums);
        let differ = numbers.filter(|(_, sum)| **sum != 0);
        let differ = differ.map(|(number, _)| number);
        differ.chain(self.place.suspected.iter().copied()).collect()
    }
}

impl Tally<'_> {
    fn hash(&self, ledger: &Key, what: &str, said: &str) -> u64 {
        let mut hasher = Sha256::new();
        let texts = [&self.place.seed, &ledger.pk, &ledger.sk, what, said];
        for text in texts {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        let hash = hasher.finalize();
        u64::from_le_bytes(*hash.first_chunk().expect("32 bytes"))
    }

    /// A row or a record says this of a page.
    fn add(&mut self, ledger: &Key, what: &str, said: &str) {
        let hash = self.hash(ledger, what, said);
        self.added.push((sum_of(ledger), hash));
    }

    /// Its ledger does.
    fn subtract(&mut self, ledger: &Key, what: &str, said: &str) {
        let hash = self.hash(ledger, what, said);
        self.added.push((sum_of(ledger), hash.wrapping_neg()));
    }

    fn suspect(&mut self, key: &Key) {
        self.suspected.insert(sum_of(key));
    }
}

/// The sum of a record's ledgers, of all its parts; or of a row that belongs to none.
fn sum_of(key: &Key) -> SumNumber {
    let hash = Sha256::digest(&key.pk);
    u16::from_le_bytes([hash[0], hash[1]]) % SUMS as u16
}

/// The sum that a row belongs to.
fn sum_of_row(row: &Row) -> SumNumber {
    match (&row.kind, owner(row)) {
        (Some(RowKey::Ledger(_)), _) | (_, None) => sum_of(&row.key),
        (_, Some(owner)) => sum_of(&keys::ledger(owner)),
    }
}

/// The page whose ledger knows a row.
fn owner(row: &Row) -> Option<&str> {
    let named = row.kind.as_ref().and_then(RowKey::owner);
    named.or(row.owner.as_deref())
}

/// What a row says beside its key.
fn said(holds: &Holds) -> String {
    match holds {
        Holds::Entry(Some((_, digest))) => digest.clone(),
        Holds::Translation(translation) => format!("{translation:?}"),
        Holds::Llms(digest) => digest.clone(),
        _ => String::new(),
    }
}

/// The same, as a ledger says it.
fn said_of(holding: &Holding) -> String {
    match holding {
        Holding::Entry(placed) => placed.digest.clone(),
        Holding::GroupMember(_, translation) => format!("{translation:?}"),
        Holding::Llms(_, _, digest) => digest.clone(),
        _ => String::new(),
    }
}

/// What of a ledger follows from the record: not the slots, and not what depends on what was before.
fn face(ledger: &Ledger) -> String {
    let mut ledger = Ledger {
        content_digest: ledger.content_digest.as_ref().map(|_| String::new()),
        feed: None,
        ..ledger.clone()
    };
    for placed in &mut ledger.placed {
        placed.slot = Slot { n: 0, i: 0 };
    }
    ledger.placed.sort_by(|a, b| a.series.cmp(&b.series));
    ledger_body(&ledger)
}

/// Represents a row in the hash of a ledger's [`face`].
const FACE: &str = "";

/// Whether a row is looked at if these sums are suspected. What has no owner may be wrong beside others that are right.
pub(super) fn is_suspected(row: &Row, suspected: &BTreeSet<SumNumber>) -> bool {
    matches!(row.kind, Some(RowKey::Free(..) | RowKey::Site(_)))
        || suspected.contains(&sum_of_row(row))
}

/// Whether a record is looked at.
pub(super) fn is_record_suspected(page: &str, suspected: &BTreeSet<SumNumber>) -> bool {
    suspected.contains(&sum_of(&keys::ledger(page)))
}

impl Audit<'_> {
    /// Adds up the next page, and returns what comes then.
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
                let hosts = &mut progress.sites;
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

    /// The sums of the audit that began then, as the slice before has left them.
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
        hosts: &mut BTreeSet<String>,
    ) -> Result<Next, EngineError> {
        let after = after.map(|(pk, sk)| Key { pk, sk });
        let (rows, next) = self.reconciler.table.rows(after.as_ref(), PAGE).await?;
        tally.read = rows.len() as u64;
        for row in &rows {
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
            let fits = |placed: &sitemap::plan::Placement| {
                let capacity = |site: &SiteSettings| site.capacity(&placed.series.name);
                site.as_ref()
                    .is_none_or(|site| placed.slot.i < capacity(site))
            };
            if !ledger.placed.iter().all(fits) {
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

    /// The ledger of a page for which nothing is placed yet, but for the slots; nothing if it has none.
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

/// A row's key as one text.
fn name(Key { pk, sk }: &Key) -> String {
    format!("{pk} {sk}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{daily, sifting};
    use super::*;
    use crate::doubles::{NOW, Repeating, regenerator, still};

    #[test]
    fn what_is_stored_is_read_again_and_nothing_else() {
        let mut sums = Sums::new(7, "seed".to_owned());
        sums.take(vec![(1, 2), (1, u64::MAX), (32_767, 3)]);
        sums.place.next = Next::Records(Some("r".to_owned()));
        sums.place.suspected.insert(9);
        let (place, bytes) = sums.store();
        assert_eq!(Sums::read(&place, &bytes).as_ref(), Some(&sums));
        assert_eq!(sums.suspected(), BTreeSet::from([1, 9, 32_767]));
        assert_eq!(Sums::read(&place, &bytes[1..]), None);
        assert_eq!(Sums::read("{}", &bytes), None);
    }

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

    #[test]
    fn what_is_said_twice_and_unsaid_twice_is_not_suspected() {
        let mut sums = Sums::new(0, "seed".to_owned());
        let mut tally = Tally {
            place: &sums.place.clone(),
            added: Vec::new(),
            suspected: BTreeSet::new(),
            looks_on: false,
            read: 0,
        };
        let ledger = keys::ledger("r");
        for _ in 0..2 {
            tally.add(&ledger, "a row", "as it is");
            tally.subtract(&ledger, "a row", "as it is");
        }
        tally.add(&ledger, "another", "as it is");
        let mut added = tally.added;
        let last = added.pop().expect("the last");
        sums.take(added);
        assert_eq!(sums.suspected(), BTreeSet::new());
        sums.take(vec![last]);
        assert_eq!(sums.suspected(), BTreeSet::from([sum_of(&ledger)]));
    }
}
