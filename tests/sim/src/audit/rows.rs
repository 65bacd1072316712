//! Checks rows against the oracle and against each other.

use std::collections::{BTreeMap, BTreeSet};

use engine::keys::{self, Key, Mark, RowKey, prefix};
use engine::rows::claim::YIELDS;
use engine::rows::holding::rows_of;
use serde_json::Value;
use sitemap::plan::Ledger;

use super::{Row, Rows, Tally, check, same, text_of};
use crate::history::{RECORDED, SITES};
use crate::oracle::{Entry, Found, Oracle, PagePart, Truth};

/// The number of slots in a segment.
const SEGMENT_SLOTS: u32 = 500;

/// A slot: site, series, shard, position.
type Place = (String, String, u32, u32);

/// The ledgers of pages, by record and part.
type Ledgers = BTreeMap<PagePart, Ledger>;

/// Checks that the ledgers agree with the records, and that all rows with an owner agree with the ledgers and the oracle. These
/// are entries, claims, waiters, timers, archives and their pages, translations, and the changes in the feed. Returns the pages
/// that must be listed.
pub(super) fn records(
    rows: &Rows,
    oracle: &Oracle,
    orphaned: bool,
    tally: &mut Tally,
) -> Result<Truth, String> {
    let ledgers = ledgers(rows, oracle, orphaned, tally)?;
    let named = ledgers.iter().map(|((id, part), ledger)| {
        let page = keys::page(id, *part);
        (rows_of(&page, ledger, oracle.now), page, ledger)
    });
    let (mut said, mut decided) = (BTreeSet::new(), Found::default());
    for (named, page, ledger) in named {
        for key in named {
            let found = rows
                .get(&key)
                .ok_or_else(|| format!("{key:?} of {page} is not there"))?;
            let of_owners = [prefix::SEGMENT, prefix::MOVED];
            let has_owner =
                of_owners.iter().any(|of| key.pk.starts_with(of)) || key.sk == keys::ALONE;
            if has_owner && found.get("owner") != Some(&page) {
                return Err(format!("{key:?} is not {page}'s: {found:?}"));
            }
            said.insert(key);
        }
        if let Some(claim) = &ledger.claim {
            let (id, part) = keys::page_parts(&page);
            let address = (claim.site.clone(), claim.loc.normalized().into_owned());
            decided.owners.insert(address, (id.to_owned(), part));
        }
        if let Some((group, _)) = &ledger.group {
            decided.members.insert((group.clone(), page));
        }
    }
    let owned = rows.keys().filter(|key| has_owner(rows, key));
    let mut found: BTreeSet<Key> = owned.filter(|key| !is_over(key, oracle)).collect();
    same("rows that a ledger should know", &found, &said)?;
    let truth = oracle.truth(&decided)?;
    entries(rows, &truth, tally)?;
    found.retain(|key| !key.pk.starts_with(prefix::SEGMENT));
    same("rows", &found, &wanted(oracle, &ledgers, &truth)?)?;
    for listed in truth.listed.values() {
        let (site, address) = &listed.address;
        let claim = rows.get(&keys::claim(site, address));
        let is_its =
            |claim: &&Row| claim.get("loc") == Some(&listed.loc) && !claim.contains_key(YIELDS);
        if claim.filter(is_its).is_none() {
            return Err(format!("the claim of {} is {claim:?}", listed.loc));
        }
    }
    for ((site, address), (_, loc, departure)) in &truth.departed {
        let claim = rows.get(&keys::claim(site, address));
        let is_its = |claim: &&Row| claim.get("loc") == Some(loc) && claim.contains_key(YIELDS);
        if claim.filter(is_its).is_none() {
            return Err(format!("the claim of {loc} is {claim:?}"));
        }
        let row = rows.get(&keys::departed(site, address));
        let row = row.ok_or_else(|| format!("no row says what became of {loc}"))?;
        let said: Value = serde_json::from_str(&row["departure"]).map_err(text_of)?;
        check(loc, &(&row["loc"], &said), &(loc, departure))?;
    }
    relations(rows, oracle, &ledgers, &truth)?;
    Ok(truth)
}

/// Returns whether a page's ledger names a row of this kind.
fn has_owner(rows: &Rows, key: &Key) -> bool {
    match RowKey::parse(&key.pk, &key.sk) {
        Some(RowKey::Entry(..)) => rows.get(key).is_some_and(|row| row.contains_key("xml")),
        Some(RowKey::Claim | RowKey::Departed(..)) => true,
        // The page's ledger names those of its parts. A ledger with only a fence is counted.
        Some(RowKey::Ledger(page)) => {
            let is_written = rows.get(key).is_some_and(|row| row.contains_key("body"));
            keys::page_parts(&page).1 > 1 && is_written
        }
        kind => kind.is_none_or(|kind| kind.owner().is_some()),
    }
}

/// Returns whether a row belongs to the feed and is over, so that DynamoDB will delete it.
fn is_over(key: &Key, oracle: &Oracle) -> bool {
    let feed = RowKey::parse(&key.pk, &key.sk);
    matches!(feed, Some(RowKey::Feed(_, at, _)) if !oracle.is_recent(at))
}

/// Returns the ledgers, one for each part of each page.
fn ledgers(
    rows: &Rows,
    oracle: &Oracle,
    orphaned: bool,
    tally: &mut Tally,
) -> Result<Ledgers, String> {
    let mut ledgers = Ledgers::new();
    for (pk, sk, row) in rows.of(prefix::LEDGER) {
        let id = &pk[prefix::LEDGER.len()..];
        let part: u32 = sk.parse().map_err(text_of)?;
        match row.get("body") {
            Some(body) => {
                let ledger = serde_json::from_str(body).map_err(text_of)?;
                ledgers.insert((id.to_owned(), part), ledger);
            }
            // A run fenced after the record was deleted, or had fewer parts, and stopped there.
            None if oracle
                .pages
                .get(id)
                .is_none_or(|page| part > page.listed_parts()) =>
            {
                tally.fences += 1;
            }
            None => return Err(format!("part {part} of {id} has a fence alone")),
        }
    }
    let found = ledgers.keys().cloned().collect();
    let mut pages = BTreeSet::new();
    for (id, page) in &oracle.pages {
        // If the table is new, records of an unknown site are never reconciled.
        let unseen = orphaned && page.site == RECORDED && !ledgers.contains_key(&(id.clone(), 1));
        let parts = if unseen { 0 } else { page.listed_parts() };
        pages.extend((1..=parts).map(|part| (id.clone(), part)));
    }
    same("ledgers", &found, &pages)?;
    Ok(ledgers)
}

/// Checks that the entries are exactly those that must be listed, to the letter.
fn entries(rows: &Rows, truth: &Truth, tally: &mut Tally) -> Result<(), String> {
    let (mut found, mut expected) = (BTreeMap::new(), BTreeMap::new());
    let entries = rows.of(prefix::SEGMENT);
    for (pk, sk, row) in entries.filter(|(.., row)| row.contains_key("xml")) {
        let (site, series, ..) = place(pk, sk)?;
        let said = (row["xml"].as_str(), row.get("lastmod").map(String::as_str));
        let key = (row["owner"].clone(), site, series);
        if let Some(other) = found.insert(key, said) {
            return Err(format!(
                "{pk} {sk} is the owner's second entry in this series: {other:?}"
            ));
        }
    }
    for ((id, part), listed) in &truth.listed {
        let (site, _) = &listed.address;
        for Entry {
            series,
            lastmod,
            xml,
            ..
        } in &listed.entries
        {
            let key = (keys::page(id, *part), site.clone(), series.clone());
            expected.insert(key, (xml.as_str(), lastmod.as_deref()));
        }
    }
    tally.entries = found.len() as u64;
    let with = |element: &str| {
        found
            .values()
            .filter(|(xml, _)| xml.contains(element))
            .count()
    };
    (tally.videos, tally.news) = (with("<video:") as u64, with("<news:") as u64);
    let set = |entries: BTreeMap<_, _>| entries.into_iter().collect::<BTreeSet<_>>();
    same("entries", &set(found), &set(expected))
}

/// Returns the rows that must exist besides the entries. A history does not determine which changes are in the feed. A change
/// that is found by a scan, or while a site is not published yet, is not reported.
fn wanted(oracle: &Oracle, ledgers: &Ledgers, truth: &Truth) -> Result<BTreeSet<Key>, String> {
    let mut wanted = BTreeSet::new();
    for ((site, loc), claimants) in &truth.claimants {
        let is_owner = |claimant: &&PagePart| {
            let listed = truth.listed.get(claimant);
            listed.is_some_and(|listed| listed.address == (site.clone(), loc.clone()))
        };
        let (owners, waiters): (Vec<_>, Vec<_>) = claimants.iter().partition(is_owner);
        if owners.is_empty() {
            return Err(format!("{loc} is had by none of {claimants:?}"));
        }
        wanted.insert(keys::claim(site, loc));
        let waiters = waiters.into_iter();
        wanted.extend(waiters.map(|(id, part)| keys::waiter(site, loc, &keys::page(id, *part))));
    }
    for (address, departing) in &truth.departing {
        let (site, loc) = address;
        let owner = truth.departed.get(address).map(|(owner, ..)| owner);
        if owner.is_none() && !truth.claimants.contains_key(address) {
            return Err(format!("{loc} is had by none of {departing:?}"));
        }
        if owner.is_some() {
            wanted.extend([keys::claim(site, loc), keys::departed(site, loc)]);
        }
        let waiters = departing.iter().filter(|id| Some(*id) != owner);
        wanted.extend(waiters.map(|id| keys::waiter(site, loc, &keys::page(id, 1))));
    }
    for ((id, part), ledger) in ledgers {
        let (page, name) = (&oracle.pages[id], keys::page(id, *part));
        let listed = truth.listed.get(&(id.clone(), *part));
        if let Some(at) = ledger.feed {
            let is_past = (oracle.begun..=oracle.now).contains(&at);
            if !listed.is_some_and(|listed| listed.fed) || !is_past {
                return Err(format!("{name} stands in the feed since {at}"));
            }
            wanted.extend(
                oracle
                    .is_recent(at)
                    .then(|| keys::feed(&ledger.site, at, &name)),
            );
        }
        let llms = listed.and_then(|listed| listed.llms);
        wanted.extend(llms.map(|lastmod| keys::llms(&ledger.site, lastmod, &name)));
        let terms = listed.into_iter().flat_map(|listed| &listed.terms);
        wanted.extend(terms.map(|(term, at)| keys::term_member(term, *at, &name)));
        let group = listed.and_then(|listed| listed.group.as_ref());
        wanted.extend(group.map(|(group, _)| keys::group_member(group, &name)));
        let waits_in = listed.and_then(|listed| listed.waits_in.as_ref());
        wanted.extend(waits_in.map(|group| keys::group_waiter(group, &name)));
        if *part == 1 {
            let archive = oracle.archive(page);
            wanted.extend(archive.map(|term| keys::archive(&term, &name)));
            let due = oracle.due(page, listed.is_some());
            wanted.extend(due.map(|due| keys::timer(due, &name)));
            let left_out = listed
                .is_none()
                .then(|| keys::left_out(SITES[page.site], &name));
            wanted.extend(left_out);
        } else {
            wanted.insert(keys::ledger(&name));
        }
    }
    Ok(wanted)
}

/// Checks the contents of rows: of translations, and the address of changes.
fn relations(rows: &Rows, oracle: &Oracle, ledgers: &Ledgers, truth: &Truth) -> Result<(), String> {
    for ((id, part), listed) in &truth.listed {
        let name = keys::page(id, *part);
        let row = |key: &Key| rows.get(key).ok_or_else(|| format!("{key:?} is not there"));
        if let Some((group, translation)) = &listed.group {
            let row = row(&keys::group_member(group, &name))?;
            let said = (
                &row["language"],
                &row["href"],
                row.contains_key("x_default"),
            );
            let href = translation.href.to_string();
            let expected = (&translation.language, &href, translation.x_default);
            check(&format!("{name} in {group}"), &said, &expected)?;
        }
        let ledger = &ledgers[&(id.clone(), *part)];
        if let Some(at) = ledger.feed.filter(|at| oracle.is_recent(*at)) {
            let row = row(&keys::feed(&ledger.site, at, &name))?;
            check(&format!("{name} in the feed"), &row["loc"], &listed.loc)?;
        }
    }
    Ok(())
}

/// Returns the place of an entry's row.
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

/// Checks that notices for search engines are of sites that have ever sent any.
pub(super) fn notices(rows: &Rows, oracle: &Oracle) -> Result<(), String> {
    let is_pause = |pk: &str, sk: &str| RowKey::parse(pk, sk) == Some(RowKey::NoticePause);
    let notices = rows.of(prefix::NOTICE);
    for (pk, sk, row) in notices.filter(|(pk, sk, _)| !is_pause(pk, sk)) {
        let on = |host: &str| row["loc"].starts_with(&format!("https://{host}/"));
        let site = SITES.iter().position(|host| on(host));
        let site = site.ok_or_else(|| format!("{pk} {sk} is of no site: {row:?}"))?;
        let at: i64 = row["at"].parse().map_err(text_of)?;
        let key = keys::notice(SITES[site], &row["loc"]);
        let ours = (pk, sk) == (&key.pk, &key.sk) && oracle.ever_told[site];
        if !ours || !(oracle.begun..=oracle.now).contains(&at) {
            return Err(format!("{pk} {sk} without reason: {row:?}"));
        }
    }
    Ok(())
}

/// Checks that no free slot is taken, that no entry is beyond its shard's capacity, and that there is no row of an unknown kind.
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
            .ok_or_else(|| format!("{pk} {sk} is of no site: {row:?}"))?;
        let capacity = oracle.series_limit(number, &series);
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
        prefix::MOVED,
        prefix::SERIES,
        prefix::FREE,
        prefix::INDEX,
        prefix::TERM,
        prefix::GROUP,
        prefix::OUT,
        prefix::FEED,
        prefix::NOTICE,
        prefix::TIMER,
        prefix::SITE,
    ];
    let jobs = [
        keys::audit().pk,
        keys::sums().pk,
        keys::content_scan().pk,
        keys::marks_partition(Mark::Notices),
        keys::sweep().pk,
    ];
    let other = |(pk, ..): &(&str, &str, _)| {
        !jobs.iter().any(|job| job == pk) && !kinds.iter().any(|kind| pk.starts_with(kind))
    };
    check("rows without reason", &rows.of("").find(other), &None)
}
