//! What must be so at rest: what is listed, every row, and every object.
//!
//! Rows are held against the oracle and against each other; objects against the rows, from which each is built anew,
//! byte for byte, and once more as plain text.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use flate2::read::GzDecoder;
use harness::World;
use serde_json::Value;
use sitemap::member::{Builder, Built, Frame, Segment};
use sitemap::time::When;
use store::keys::{self, prefix};
use store::object::{ObjectKey, Objects};

use super::history::{KNOWN, Page, SITES};
use super::oracle::{Listing, Oracle};

/// Where the stylesheet is that every sitemap names.
const STYLESHEET: &str = "/sitemap.css";
/// Slots of a segment.
const SEGMENT_SLOTS: u32 = 500;

type Rows = BTreeMap<(String, String), BTreeMap<String, String>>;

/// What is allowed and counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Entries.
    pub(super) entries: u64,
    /// Slots given back.
    pub(super) free: u64,
    /// Slots below their shard's highest that are neither taken nor free: none will have them.
    pub(super) leaked: u64,
    /// Ledgers of records that are gone, with a fence and nothing else.
    pub(super) fences: u64,
}

impl Tally {
    /// Adds up.
    pub(super) fn add(&mut self, other: &Self) {
        self.entries += other.entries;
        self.free += other.free;
        self.leaked += other.leaked;
        self.fences += other.fences;
    }
}

/// An entry's place: site, series, shard, position.
type Place = (String, String, u32, u32);

/// Fails with the first thing that is not as it should be. With `orphaned` the third site has neither a record nor a
/// row, and what was published of it may be anything.
pub(super) async fn audit(world: &World, oracle: &Oracle, orphaned: bool) -> Result<Tally, String> {
    let rows = world.rows("").await;
    let (mut entries, mut tally) = (0, Tally::default());
    records(&rows, oracle, orphaned, &mut tally)?;
    slots(&rows, oracle, &mut tally)?;
    for (site, host) in SITES.iter().enumerate() {
        let row = rows.get(&key(keys::site(host)));
        entries += oracle.expected(site).values().len() as u64;
        match row {
            Some(row) => {
                settings(row, oracle, site)?;
                objects(world, &rows, row, oracle, site).await?;
            }
            None if site < KNOWN || oracle.settings[site].is_some() => {
                return Err(format!("{host} has no row"));
            }
            None if orphaned => continue,
            None => {}
        }
        listed(world, oracle, site).await?;
    }
    check("entries", &tally.entries, &entries)?;
    Ok(tally)
}

fn key(key: keys::Key) -> (String, String) {
    (key.pk, key.sk)
}

fn check<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {found:?}, expected {expected:?}"))
    }
}

fn of<'a>(
    rows: &'a Rows,
    prefix: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str, &'a BTreeMap<String, String>)> {
    let rows = rows.iter();
    rows.filter(move |((pk, _), _)| pk.starts_with(prefix))
        .map(|((pk, sk), row)| (pk.as_str(), sk.as_str(), row))
}

/// An entry's row, read as a place.
fn place(pk: &str, sk: &str) -> Option<Place> {
    let mut parts = pk.strip_prefix(prefix::SEGMENT)?.split('#');
    let (site, series) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let (n, k): (u32, u32) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let i: u32 = sk.parse().ok()?;
    (i / SEGMENT_SLOTS == k).then_some((site, series, n, i))
}

/// Ledgers, claims, waiters and timers are those of the records, and agree with each other and with the entries.
fn records(rows: &Rows, oracle: &Oracle, orphaned: bool, tally: &mut Tally) -> Result<(), String> {
    let mut owned: BTreeMap<(usize, String), String> = BTreeMap::new();
    let (mut ledgers, mut placed) = (BTreeSet::new(), BTreeSet::new());
    let (mut claims, mut waiters) = (BTreeSet::new(), BTreeSet::new());
    let mut timers = BTreeSet::new();
    for (pk, _, row) in of(rows, prefix::LEDGER) {
        let id = &pk[prefix::LEDGER.len()..];
        let Some(body) = row.get("body") else {
            // A run that fenced when the record was gone, and went no further.
            check(pk, &oracle.pages.contains_key(id), &false)?;
            tally.fences += 1;
            continue;
        };
        ledgers.insert(id);
        let ledger: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
        let text = |at: &str| ledger.pointer(at).and_then(Value::as_str);
        for placement in ledger["placed"].as_array().into_iter().flatten() {
            let text = |at: &str| Some(placement.pointer(at)?.as_str()?.to_owned());
            let number = |at: &str| u32::try_from(placement.pointer(at)?.as_u64()?).ok();
            let place = (
                text("/series/site").ok_or("site")?,
                text("/series/name").ok_or("series")?,
                number("/slot/n").ok_or("n")?,
                number("/slot/i").ok_or("i")?,
            );
            placed.insert((place, id));
        }
        if let (Some(host), Some(loc)) = (text("/claim/site"), text("/claim/loc")) {
            claims.insert((key(keys::claim(host, loc)), id));
            let site = SITES
                .iter()
                .position(|site| *site == host)
                .ok_or("a site")?;
            owned.insert((site, loc.to_owned()), id.to_owned());
        }
        if let (Some(host), Some(loc)) = (text("/waits/site"), text("/waits/loc")) {
            waiters.insert(key(keys::waiter(host, loc, id)));
        }
        if let Some(due) = ledger["due"].as_i64() {
            timers.insert(key(keys::timer(due, id)));
        }
    }
    // Nobody looks at the records of what is no site when the table is new.
    let unseen = |id: &str, page: &Page| orphaned && page.site == KNOWN && !ledgers.contains(id);
    let pages = oracle.pages.iter().map(|(id, page)| (id.as_str(), page));
    let pages: BTreeMap<_, _> = pages.filter(|(id, page)| !unseen(id, page)).collect();
    check("ledgers", &ledgers, &pages.keys().copied().collect())?;

    let mut entries = BTreeSet::new();
    for (pk, sk, row) in of(rows, prefix::SEGMENT).filter(|(.., row)| row.contains_key("xml")) {
        let place = place(pk, sk).ok_or_else(|| format!("{pk} {sk} is no entry's key"))?;
        entries.insert((place, row["owner"].as_str()));
    }
    check("what ledgers placed", &placed, &entries)?;
    tally.entries = entries.len() as u64;

    let claim = |(pk, sk, row): (&str, &str, &BTreeMap<String, String>)| {
        (sk == keys::ALONE).then(|| ((pk.to_owned(), sk.to_owned()), row["owner"].clone()))
    };
    let found: BTreeSet<_> = of(rows, prefix::LOC).filter_map(claim).collect();
    let claims = claims.into_iter().map(|(key, id)| (key, id.to_owned()));
    check("claims", &found, &claims.collect())?;
    let waiting = of(rows, prefix::LOC).filter(|(_, sk, _)| *sk != keys::ALONE);
    let found: BTreeSet<_> = waiting
        .map(|(pk, sk, _)| (pk.to_owned(), sk.to_owned()))
        .collect();
    check("waiters", &found, &waiters)?;
    let ringing = of(rows, prefix::TIMER).filter(|(_, sk, _)| *sk != keys::ALONE);
    let found: BTreeSet<_> = ringing
        .map(|(pk, sk, _)| (pk.to_owned(), sk.to_owned()))
        .collect();
    check("timers", &found, &timers)?;

    // And with the oracle.
    let due = |(id, page): (&str, &Page)| Some(key(keys::timer(oracle.due(page)?, id)));
    let due = pages.into_iter().filter_map(due).collect();
    check("timers of ledgers", &timers, &due)?;
    let mut waits = BTreeSet::new();
    for (site, host) in SITES.iter().enumerate() {
        for (loc, claimants) in oracle.expected(site) {
            let owner = owned.remove(&(site, loc.clone()));
            let owner = owner.ok_or_else(|| format!("nobody has {loc}"))?;
            if !claimants.contains_key(owner.as_str()) {
                return Err(format!("{owner} has {loc}"));
            }
            let others = claimants.into_keys().filter(|id| *id != owner);
            waits.extend(others.map(|id| key(keys::waiter(host, &loc, id))));
        }
    }
    check("owned without reason", &owned, &BTreeMap::new())?;
    check("waiters of ledgers", &waiters, &waits)
}

/// No free slot is taken, no entry is beyond its shard's capacity, and no other row is there than may be.
fn slots(rows: &Rows, oracle: &Oracle, tally: &mut Tally) -> Result<(), String> {
    let mut free = BTreeSet::new();
    for (pk, sk, _) in of(rows, prefix::FREE) {
        let (site, series) = pk[prefix::FREE.len()..].split_once('#').ok_or("a series")?;
        let slot = keys::free_slot(sk).ok_or("a slot")?;
        free.insert((site.to_owned(), series.to_owned(), slot.n, slot.i));
    }
    let mut highest: BTreeMap<(String, String, u32), u32> = BTreeMap::new();
    for (pk, sk, row) in of(rows, prefix::SEGMENT) {
        let place = place(pk, sk).ok_or("a place")?;
        let taken = row.contains_key("xml");
        if taken && free.contains(&place) {
            return Err(format!("{place:?} is free and taken"));
        }
        let (site, series, n, i) = place;
        let capacity = SITES.iter().position(|host| *host == site);
        let (capacity, _) = oracle.limits(capacity.ok_or("a site")?);
        if taken && i as usize >= capacity {
            return Err(format!("{site} {series} {n} {i} is beyond {capacity}"));
        }
        let highest = highest.entry((site, series, n)).or_default();
        *highest = (*highest).max(i + 1);
    }
    tally.free = free.len() as u64;
    let below = |(site, series, n, i): &&Place| {
        let highest = highest.get(&(site.clone(), series.clone(), *n));
        highest.is_some_and(|highest| i < highest)
    };
    let given = highest
        .values()
        .map(|&positions| u64::from(positions))
        .sum::<u64>();
    tally.leaked = given - tally.entries - free.iter().filter(below).count() as u64;
    let known = [
        prefix::LEDGER,
        prefix::SEGMENT,
        prefix::LOC,
        prefix::SERIES,
        prefix::FREE,
        prefix::INDEX,
        prefix::TIMER,
        prefix::SITE,
    ];
    let odd = rows
        .keys()
        .find(|(pk, _)| !known.iter().any(|prefix| pk.starts_with(prefix)));
    check("a row without reason", &odd, &None)
}

/// A site's row says what its record does, and holds nothing up.
fn settings(row: &BTreeMap<String, String>, oracle: &Oracle, site: usize) -> Result<(), String> {
    let what = format!("{} {}", row["pk"], row["settings"]);
    check(&what, &row.get("hold"), &None)?;
    let settings: Value =
        serde_json::from_str(&row["settings"]).map_err(|error| error.to_string())?;
    check(
        &what,
        &settings["public"],
        &Value::from(oracle.is_public(site)),
    )?;
    if !oracle.is_public(site) {
        return Ok(());
    }
    let (entries, bytes) = oracle.limits(site);
    check(
        &what,
        &settings["entries_per_sitemap"],
        &Value::from(entries),
    )?;
    check(&what, &settings["byte_limit"], &Value::from(bytes))
}

/// A site's objects are what they would be if they were built from the rows now, and the summaries say so.
async fn objects(
    world: &World,
    rows: &Rows,
    row: &BTreeMap<String, String>,
    oracle: &Oracle,
    site: usize,
) -> Result<(), String> {
    let host = SITES[site];
    let epoch: u64 = row["epoch"].parse().map_err(|_| "an epoch")?;
    let version: u64 = row["version"].parse().map_err(|_| "a version")?;
    let (_, byte_limit) = oracle.limits(site);
    let summaries: BTreeMap<_, _> = of(rows, prefix::INDEX)
        .filter(|(pk, ..)| *pk == keys::index_partition(host))
        .map(|(_, sk, row)| (sk, row))
        .collect();
    let (mut generation, mut summarised) = (version, BTreeSet::new());
    let (mut lines, mut newest, mut sitemaps) = (String::new(), None, 0);
    let mut published = world
        .stack
        .objects
        .list(host)
        .await
        .map_err(|error| error.to_string())?;
    published.sort();
    for object in &published {
        let ObjectKey::Shard { series, n, .. } = object else {
            continue;
        };
        let (built, xml) = shard(rows, host, series, *n, epoch)?;
        same(
            world,
            object,
            &built,
            &xml,
            &Frame::urlset(Some(STYLESHEET)),
        )
        .await?;
        if built.directory.document_bytes() > byte_limit as u64 {
            return Err(format!("{object} is over {byte_limit} bytes"));
        }
        let sk = format!("{series}#{n:010}");
        let summary = summaries
            .get(sk.as_str())
            .ok_or_else(|| format!("no summary of {object}"))?;
        let directory = &built.directory;
        let lastmod = directory.newest().map(|at| at.to_string());
        let number = |name: &str| summary[name].parse::<u64>().ok();
        let found = (
            number("generation"),
            number("entries"),
            number("bytes"),
            summary.get("lastmod"),
        );
        let numbers = [
            directory.generation(),
            directory.entries(),
            directory.document_bytes(),
        ];
        let [expected, entries, bytes] = numbers.map(Some);
        check(&sk, &found, &(expected, entries, bytes, lastmod.as_ref()))?;
        summarised.insert(sk);
        generation += directory.generation();
        newest = newest.max(directory.newest());
        if directory.entries() > 0 && oracle.is_public(site) {
            sitemaps += 1;
            let lastmod = lastmod
                .map(|at| format!("<lastmod>{at}</lastmod>"))
                .unwrap_or_default();
            let file = object.file_name();
            lines += &format!("<sitemap><loc>https://{host}/{file}</loc>{lastmod}</sitemap>\n");
        }
    }
    let found: BTreeSet<String> = summaries.into_keys().map(str::to_owned).collect();
    check("summaries", &found, &summarised)?;
    let frame = Frame::index(Some(STYLESHEET));
    let mut builder = Builder::new(&frame, epoch);
    let segment = Segment {
        stamp: generation,
        entries: sitemaps,
        newest,
        xml: lines.as_bytes(),
    };
    builder.push(&segment);
    let index = ObjectKey::Index {
        site: host.to_owned(),
    };
    same(world, &index, &builder.finish(), &lines, &frame).await?;
    let stamp = format!("{epoch:016x}-{version}");
    let robots = text(
        world,
        ObjectKey::Robots {
            site: host.to_owned(),
        },
    )
    .await?;
    let index = format!("Sitemap: https://{host}/sitemap_index.xml\n");
    if !robots.ends_with(&format!("\n# {stamp}\n"))
        || robots.contains(&index) != oracle.is_public(site)
    {
        return Err(format!("{host}: {robots:?}, whose stamp is {stamp}"));
    }
    let file = text(
        world,
        ObjectKey::SiteFile {
            site: host.to_owned(),
        },
    )
    .await?;
    let file: Value = serde_json::from_str(&file).map_err(|error| error.to_string())?;
    check(
        "site file",
        &(&file["stamp"], &file["public"]),
        &(&stamp.into(), &oracle.is_public(site).into()),
    )
}

/// A shard built anew from its rows, and its entries as text.
fn shard(
    rows: &Rows,
    host: &str,
    series: &str,
    n: u32,
    epoch: u64,
) -> Result<(Built, String), String> {
    let mut builder = Builder::new(&Frame::urlset(Some(STYLESHEET)), epoch);
    let mut whole = String::new();
    let shard = format!("{}{host}#{series}#{n}#", prefix::SEGMENT);
    let last = of(rows, &shard)
        .filter_map(|(pk, ..)| pk[shard.len()..].parse::<u32>().ok())
        .max();
    for k in 0..last.map_or(0, |last| last + 1) {
        let pk = format!("{shard}{k}");
        let (mut stamp, mut entries, mut newest, mut xml) = (0, 0, None, String::new());
        for (_, _, row) in of(rows, &pk).filter(|(found, ..)| *found == pk) {
            stamp += row["version"].parse::<u64>().map_err(|_| "a version")?;
            let Some(entry) = row.get("xml") else {
                continue;
            };
            entries += 1;
            xml.push_str(entry);
            if let Some(lastmod) = row.get("lastmod") {
                newest = newest.max(Some(When::parse(lastmod).map_err(|_| "a lastmod")?));
            }
        }
        builder.push(&Segment {
            stamp,
            entries,
            newest,
            xml: xml.as_bytes(),
        });
        whole.push_str(&xml);
    }
    Ok((builder.finish(), whole))
}

/// An object's bytes are those built, its metadata describe them, and what a reader inflates is the text.
async fn same(
    world: &World,
    object: &ObjectKey,
    built: &Built,
    xml: &str,
    frame: &Frame,
) -> Result<(), String> {
    let found = world
        .stack
        .objects
        .get(object)
        .await
        .map_err(|error| error.to_string())?;
    let (meta, bytes) = found.ok_or_else(|| format!("{object} is not there"))?;
    let mut document = Vec::new();
    GzDecoder::new(&*bytes)
        .read_to_end(&mut document)
        .map_err(|error| format!("{object}: {error}"))?;
    let expected = [&frame.prolog, xml.as_bytes(), frame.epilogue].concat();
    if document != expected {
        let [document, expected] = [&document, &expected].map(|text| String::from_utf8_lossy(text));
        return Err(format!("{object}: {document}, expected {expected}"));
    }
    if *bytes != *built.bytes {
        return Err(format!(
            "{object} is not as it would be built: {:?}",
            built.directory
        ));
    }
    let described = meta
        .document
        .ok_or_else(|| format!("{object} has no metadata"))?;
    let found = (
        described.digest,
        described.bytes,
        described.entries,
        described.stamp,
    );
    let directory = &built.directory;
    let stamp = format!("{:016x}-{}", directory.epoch, directory.generation());
    let expected = (
        directory.digest(),
        directory.document_bytes(),
        directory.entries(),
        stamp,
    );
    check(&object.path(), &found, &expected)
}

async fn text(world: &World, object: ObjectKey) -> Result<String, String> {
    let found = world
        .stack
        .objects
        .get(&object)
        .await
        .map_err(|error| error.to_string())?;
    let (_, bytes) = found.ok_or_else(|| format!("{object} is not there"))?;
    String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())
}

/// What crawlers are told of a site.
async fn listed(world: &World, oracle: &Oracle, site: usize) -> Result<(), String> {
    let crawler = world.crawler.of(SITES[site]);
    let index = crawler.get("/sitemap_index.xml").await;
    if !oracle.is_public(site) {
        let lines = if index.status == 404 {
            Vec::new()
        } else {
            index.index()
        };
        check(SITES[site], &lines, &Vec::new())?;
        let objects = world.stack.objects.list(SITES[site]).await;
        for object in objects.map_err(|error| error.to_string())? {
            if matches!(object, ObjectKey::Shard { .. }) {
                let status = crawler
                    .get(&format!("/{}", object.file_name()))
                    .await
                    .status;
                check(&object.path(), &status, &404)?;
            }
        }
        return Ok(());
    }
    let listed = crawler.entries().await;
    let expected = oracle.expected(site);
    let locs: BTreeSet<&String> = listed.keys().collect();
    check(SITES[site], &locs, &expected.keys().collect())?;
    for (loc, entry) in listed {
        let (series, _) = entry.sitemap.split_once("-sitemap").ok_or("a series")?;
        let listing = Listing {
            series: series.to_owned(),
            lastmod: entry.lastmod,
            images: entry.images,
        };
        let may: Vec<&Listing> = expected[&loc].values().collect();
        if !may.contains(&&listing) {
            return Err(format!("{loc} says {listing:?}, expected one of {may:?}"));
        }
    }
    Ok(())
}
