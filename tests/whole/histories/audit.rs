//! What must be so at rest: what is listed, every row (`rows`), and every object (`objects`).

mod objects;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use ::objects::ObjectKey;
use engine::keys::{self, Key};
use harness::World;
use serde_json::Value;

use super::history::{KNOWN, SITES};
use super::oracle::{Oracle, Truth};

/// A row's attributes.
type Row = BTreeMap<String, String>;

/// The sitemap table, by primary key.
struct Rows(BTreeMap<(String, String), Row>);

impl Rows {
    fn get(&self, key: &Key) -> Option<&Row> {
        self.0.get(&(key.pk.clone(), key.sk.clone()))
    }

    fn keys(&self) -> impl Iterator<Item = Key> {
        let keys = self.0.keys().cloned();
        keys.map(|(pk, sk)| Key { pk, sk })
    }

    /// Those whose partition key begins so: partition key, sort key, attributes.
    fn of<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str, &'a Row)> {
        let rows = self.0.iter().map(|((pk, sk), row)| (&**pk, &**sk, row));
        rows.filter(move |(pk, ..)| pk.starts_with(prefix))
    }
}

/// What is allowed and counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Entries, and those of them that list videos or news.
    pub(super) entries: u64,
    pub(super) videos: u64,
    pub(super) news: u64,
    /// Rows by kind.
    pub(super) rows: BTreeMap<String, u64>,
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
        self.videos += other.videos;
        self.news += other.news;
        for (kind, count) in &other.rows {
            *self.rows.entry(kind.clone()).or_default() += count;
        }
        self.free += other.free;
        self.leaked += other.leaked;
        self.fences += other.fences;
    }
}

/// Fails with the first thing that is not as it should be. With `orphaned` the site that is one by its record
/// has neither that nor a row, and what was published of it may be anything.
pub(super) async fn audit(world: &World, oracle: &Oracle, orphaned: bool) -> Result<Tally, String> {
    let rows = Rows(world.rows("").await);
    let mut tally = Tally::default();
    for (pk, ..) in rows.of("") {
        *tally.rows.entry(kind(pk).to_owned()).or_default() += 1;
    }
    let truth = rows::records(&rows, oracle, orphaned, &mut tally)?;
    rows::slots(&rows, oracle, &mut tally)?;
    rows::notices(&rows, oracle)?;
    for (site, host) in SITES.iter().enumerate() {
        match rows.get(&keys::site(host)) {
            Some(row) => {
                settings(row, oracle, site)?;
                objects::objects(world, &rows, row, oracle, site).await?;
            }
            None if site < KNOWN || oracle.settings[site].is_some() => {
                return Err(format!("{host} has no row"));
            }
            None if orphaned => continue,
            None => {}
        }
        listed(world, oracle, &truth, site).await?;
    }
    Ok(tally)
}

/// The kind of a row with this partition key.
pub(super) fn kind(pk: &str) -> &str {
    pk.split('#').next().unwrap_or_default()
}

fn check<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {found:?}, expected {expected:?}"))
    }
}

/// As [`check`], of sets: what differs is told.
fn same<T: Ord + Debug>(
    what: &str,
    found: &BTreeSet<T>,
    expected: &BTreeSet<T>,
) -> Result<(), String> {
    let more: Vec<_> = found.difference(expected).collect();
    let less: Vec<_> = expected.difference(found).collect();
    if more.is_empty() && less.is_empty() {
        Ok(())
    } else {
        Err(format!("{what}: not expected {more:?}, missing {less:?}"))
    }
}

fn text_of(error: impl ToString) -> String {
    error.to_string()
}

/// A site's row says what its record does, and holds nothing up.
fn settings(row: &Row, oracle: &Oracle, site: usize) -> Result<(), String> {
    let what = format!("{} {}", row["pk"], row["settings"]);
    check(&what, &row.get("hold"), &None)?;
    let settings: Value = serde_json::from_str(&row["settings"]).map_err(text_of)?;
    let is_public = oracle.is_public(site);
    check(&what, &settings["public"], &is_public.into())?;
    if !is_public {
        return Ok(());
    }
    let (entries, bytes) = oracle.limits(site);
    check(&what, &settings["entries_per_sitemap"], &entries.into())?;
    check(&what, &settings["byte_limit"], &bytes.into())?;
    let record = oracle.settings[site].map(|settings| Oracle::site_record(site, &settings));
    for field in [
        "stylesheet",
        "feed",
        "video_series",
        "news_series",
        "news_name",
    ] {
        let said = record.as_ref().map(|record| &record[field]);
        if let Some(said) = said {
            check(&format!("{field} of {what}"), &&settings[field], &said)?;
        }
    }
    Ok(())
}

/// What crawlers are told of a site.
async fn listed(world: &World, oracle: &Oracle, truth: &Truth, site: usize) -> Result<(), String> {
    let crawler = world.crawler.of(SITES[site]);
    let index = crawler.get("/sitemap_index.xml").await;
    if !oracle.is_public(site) {
        if index.status != 404 {
            check(SITES[site], &index.index(), &Vec::new())?;
        }
        for object in world
            .stack
            .objects
            .list(SITES[site])
            .await
            .map_err(text_of)?
        {
            if matches!(object, ObjectKey::Shard { .. }) {
                let path = format!("/{}", object.file_name());
                let answer = crawler.get(&path).await;
                // Closed not long ago, it is empty.
                if answer.status != 404 {
                    check(&path, &answer.urlset(&path), &Vec::new())?;
                }
            }
        }
        return Ok(());
    }
    let origin = format!("https://{}", SITES[site]);
    let mut found = BTreeSet::new();
    for (sitemap, _) in index.index() {
        let path = sitemap.strip_prefix(&origin).ok_or("on the site")?;
        let series = path[1..].split_once("-sitemap").ok_or("a series")?.0;
        let entries = crawler.urlset(path).await;
        if entries.is_empty() {
            return Err(format!("{sitemap} is listed and empty"));
        }
        for (loc, entry) in entries {
            let entry = (series.to_owned(), loc, entry.lastmod, entry.images);
            if let Some(twice) = found.replace(entry) {
                return Err(format!("listed twice: {twice:?}"));
            }
        }
    }
    let listed = truth
        .listed
        .values()
        .filter(|listed| listed.address.0 == SITES[site]);
    let expected = listed.flat_map(|listed| {
        let entries = listed.entries.iter().cloned();
        entries.map(|entry| {
            (
                entry.series,
                listed.address.1.clone(),
                entry.lastmod,
                entry.images,
            )
        })
    });
    same(SITES[site], &found, &expected.collect())
}
