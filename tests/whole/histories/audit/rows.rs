//! Rows, held against the oracle and against each other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use store::keys::{self, Key, prefix};

use super::super::history::{Page, RECORDED, SITES};
use super::super::oracle::Oracle;
use super::{Rows, Tally, check, text_of};

/// Slots of a segment.
const SEGMENT_SLOTS: u32 = 500;

/// A slot: site, series, shard, position.
type Place = (String, String, u32, u32);

/// What the ledgers say.
#[derive(Default)]
struct Ledgers<'a> {
    /// The records that have one.
    ids: BTreeSet<&'a str>,
    /// Their entries.
    placed: BTreeSet<(Place, String)>,
    /// The addresses they have: site and loc.
    owned: BTreeMap<(String, String), &'a str>,
    claims: BTreeSet<(Key, String)>,
    waiters: BTreeSet<Key>,
    timers: BTreeSet<Key>,
}

impl<'a> Ledgers<'a> {
    fn add(&mut self, id: &'a str, ledger: &Value) -> Result<(), String> {
        self.ids.insert(id);
        let address = |field: &str| {
            let text = |part: &str| Some(ledger[field][part].as_str()?.to_owned());
            text("site").zip(text("loc"))
        };
        for placed in ledger["placed"].as_array().into_iter().flatten() {
            let text = |part: &str| Some(placed["series"][part].as_str()?.to_owned());
            let number = |part: &str| u32::try_from(placed["slot"][part].as_u64()?).ok();
            let series = text("site").zip(text("name"));
            let slot = number("n").zip(number("i"));
            let ((site, series), (n, i)) = series.zip(slot).ok_or("a placement")?;
            self.placed.insert(((site, series, n, i), id.to_owned()));
        }
        if let Some((site, loc)) = address("claim") {
            self.claims
                .insert((keys::claim(&site, &loc), id.to_owned()));
            self.owned.insert((site, loc), id);
        }
        if let Some((site, loc)) = address("waits") {
            self.waiters.insert(keys::waiter(&site, &loc, id));
        }
        let due = ledger["due"].as_i64();
        self.timers.extend(due.map(|due| keys::timer(due, id)));
        Ok(())
    }
}

/// Ledgers, claims, waiters and timers are those of the records, and agree with each other and with the entries.
pub(super) fn records(
    rows: &Rows,
    oracle: &Oracle,
    orphaned: bool,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut ledgers = Ledgers::default();
    for (pk, _, row) in rows.of(prefix::LEDGER) {
        let id = &pk[prefix::LEDGER.len()..];
        match row.get("body") {
            Some(body) => ledgers.add(id, &serde_json::from_str(body).map_err(text_of)?)?,
            // A run that fenced when the record was gone, and went no further.
            None if !oracle.pages.contains_key(id) => tally.fences += 1,
            None => return Err(format!("{id} has a fence alone")),
        }
    }
    let mut entries = BTreeSet::new();
    for (pk, sk, row) in rows
        .of(prefix::SEGMENT)
        .filter(|(.., row)| row.contains_key("xml"))
    {
        entries.insert((place(pk, sk)?, row["owner"].clone()));
    }
    tally.entries = entries.len() as u64;
    check("entries", &entries, &ledgers.placed)?;
    let key = |pk: &str, sk: &str| Key {
        pk: pk.to_owned(),
        sk: sk.to_owned(),
    };
    let (mut claims, mut waiters) = (BTreeSet::new(), BTreeSet::new());
    for (pk, sk, row) in rows.of(prefix::LOC) {
        if sk == keys::ALONE {
            claims.insert((key(pk, sk), row["owner"].clone()));
        } else {
            waiters.insert(key(pk, sk));
        }
    }
    check("claims", &claims, &ledgers.claims)?;
    check("waiters", &waiters, &ledgers.waiters)?;
    let timers = rows
        .of(prefix::TIMER)
        .filter(|(_, sk, _)| *sk != keys::ALONE);
    let timers = timers.map(|(pk, sk, _)| key(pk, sk)).collect();
    check("timers", &timers, &ledgers.timers)?;
    known(ledgers, oracle, orphaned)
}

/// What the ledgers say is what the oracle does.
fn known(mut ledgers: Ledgers<'_>, oracle: &Oracle, orphaned: bool) -> Result<(), String> {
    // Nobody looks at the records of what is no site when the table is new.
    let unseen =
        |id: &str, page: &Page| orphaned && page.site == RECORDED && !ledgers.ids.contains(id);
    let pages = oracle.pages.iter().map(|(id, page)| (id.as_str(), page));
    let pages: BTreeMap<_, _> = pages.filter(|(id, page)| !unseen(id, page)).collect();
    check("ledgers", &ledgers.ids, &pages.keys().copied().collect())?;
    let due = |(id, page): (&str, &Page)| Some(keys::timer(oracle.due(page)?, id));
    let due = pages.into_iter().filter_map(due).collect();
    check("timers", &ledgers.timers, &due)?;
    let placed: BTreeSet<_> = ledgers.placed.iter().map(|(_, id)| id.as_str()).collect();
    check(
        "owners",
        &placed,
        &ledgers.owned.values().copied().collect(),
    )?;
    check("entries", &ledgers.placed.len(), &ledgers.owned.len())?;
    let mut waiters = BTreeSet::new();
    for (site, host) in SITES.iter().enumerate() {
        for (loc, claimants) in oracle.expected(site) {
            let owner = ledgers.owned.remove(&((*host).to_owned(), loc.clone()));
            let owner = owner.ok_or_else(|| format!("nobody has {loc}"))?;
            if !claimants.contains_key(owner) {
                return Err(format!("{owner} has {loc}, not one of {claimants:?}"));
            }
            let others = claimants.into_keys().filter(|id| *id != owner);
            waiters.extend(others.map(|id| keys::waiter(host, &loc, id)));
        }
    }
    check("owned for no reason", &ledgers.owned, &BTreeMap::new())?;
    check("waiters", &ledgers.waiters, &waiters)
}

/// The place of an entry's row.
fn place(pk: &str, sk: &str) -> Result<Place, String> {
    let read = || {
        let mut parts = pk.strip_prefix(prefix::SEGMENT)?.split('#');
        let (site, series) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let (n, k): (u32, u32) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let i: u32 = sk.parse().ok()?;
        (i / SEGMENT_SLOTS == k).then_some((site, series, n, i))
    };
    read().ok_or_else(|| format!("{pk} {sk} is no entry's key"))
}

/// No free slot is taken, no entry is beyond its shard's capacity, and there is no row of another kind.
pub(super) fn slots(rows: &Rows, oracle: &Oracle, tally: &mut Tally) -> Result<(), String> {
    let mut free = BTreeSet::new();
    for (pk, sk, _) in rows.of(prefix::FREE) {
        let series = pk[prefix::FREE.len()..].split_once('#');
        let ((site, series), slot) = series.zip(keys::free_slot(sk)).ok_or("a free slot")?;
        free.insert((site.to_owned(), series.to_owned(), slot.n, slot.i));
    }
    tally.free = free.len() as u64;
    let mut positions: BTreeMap<(String, String, u32), u32> = BTreeMap::new();
    for (pk, sk, row) in rows.of(prefix::SEGMENT) {
        let place = place(pk, sk)?;
        let taken = row.contains_key("xml");
        if taken && free.contains(&place) {
            return Err(format!("{place:?} is free and taken"));
        }
        let (site, series, n, i) = place;
        let number = SITES
            .iter()
            .position(|host| *host == site)
            .ok_or("a site")?;
        let (capacity, _) = oracle.limits(number);
        if taken && i as usize >= capacity {
            return Err(format!("{site} {series} {n}: {i} is beyond {capacity}"));
        }
        let positions = positions.entry((site, series, n)).or_default();
        *positions = (*positions).max(i + 1);
    }
    let given: u32 = positions.values().sum();
    let below = |(site, series, n, i): &&Place| {
        let positions = positions.get(&(site.clone(), series.clone(), *n));
        positions.is_some_and(|positions| i < positions)
    };
    let free = free.iter().filter(below).count() as u64;
    tally.leaked = u64::from(given) - tally.entries - free;
    let kinds = [
        prefix::LEDGER,
        prefix::SEGMENT,
        prefix::LOC,
        prefix::SERIES,
        prefix::FREE,
        prefix::INDEX,
        prefix::TIMER,
        prefix::SITE,
    ];
    let audit = keys::audit();
    let other = |(pk, ..): &(&str, &str, _)| {
        *pk != audit.pk && !kinds.iter().any(|kind| pk.starts_with(kind))
    };
    check("rows without reason", &rows.of("").find(other), &None)
}
