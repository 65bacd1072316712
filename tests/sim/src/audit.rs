//! Checks the state at rest: the listed pages, every row (`rows`), and every object (`objects`).

mod objects;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use ::objects::{ObjectKey, ObjectMeta};
use bytes::Bytes;
use engine::keys::{self, Key};
use serde_json::Value;

use crate::history::{KNOWN, SITES};
use crate::oracle::{Oracle, Truth};

/// A row's attributes.
pub type Row = BTreeMap<String, String>;

/// The objects of the bucket.
pub type Objects = BTreeMap<ObjectKey, (ObjectMeta, Bytes)>;

/// The sitemap table, by primary key.
#[derive(Debug)]
pub struct Rows(pub BTreeMap<(String, String), Row>);

impl Rows {
    fn get(&self, key: &Key) -> Option<&Row> {
        self.0.get(&(key.pk.clone(), key.sk.clone()))
    }

    fn keys(&self) -> impl Iterator<Item = Key> {
        let keys = self.0.keys().cloned();
        keys.map(|(pk, sk)| Key { pk, sk })
    }

    /// Returns the rows whose partition key begins with `prefix`: partition key, sort key, attributes.
    fn of<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str, &'a Row)> {
        let rows = self.0.iter().map(|((pk, sk), row)| (&**pk, &**sk, row));
        rows.filter(move |(pk, ..)| pk.starts_with(prefix))
    }
}

/// The counts of things that are allowed.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Entries.
    pub entries: u64,
    /// Entries that list videos.
    pub videos: u64,
    /// Entries that list news.
    pub news: u64,
    /// Rows by kind.
    pub rows: BTreeMap<String, u64>,
    /// Indexes besides the first of each site.
    pub indexes: u64,
    /// Slots that were given back.
    pub free: u64,
    /// Slots below their shard's highest that are neither taken nor free. They will never be used.
    pub leaked: u64,
    /// Ledgers of deleted records, with only a fence.
    pub fences: u64,
    /// Whether the site that is known only by its record has objects but neither a record nor a row. It is unknown, because its
    /// row was lost and its record was deleted.
    pub orphaned: bool,
}

impl Tally {
    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Self) {
        self.entries += other.entries;
        self.videos += other.videos;
        self.news += other.news;
        for (kind, count) in &other.rows {
            *self.rows.entry(kind.clone()).or_default() += count;
        }
        self.indexes += other.indexes;
        self.free += other.free;
        self.leaked += other.leaked;
        self.fences += other.fences;
    }
}

/// Compares rows and objects with the oracle, and returns the pages that must be listed.
///
/// `orphaned` means that the site that is known only by its settings record has neither that record nor a row. Its published
/// files may be anything.
///
/// # Errors
///
/// The first difference.
pub fn audit(
    rows: &Rows,
    published: &Objects,
    oracle: &Oracle,
    orphaned: bool,
) -> Result<(Truth, Tally), String> {
    let mut tally = Tally::default();
    for (pk, ..) in rows.of("") {
        *tally.rows.entry(kind(pk).to_owned()).or_default() += 1;
    }
    let truth = rows::records(rows, oracle, orphaned, &mut tally)?;
    rows::slots(rows, oracle, &mut tally)?;
    rows::notices(rows, oracle)?;
    for (site, host) in SITES.iter().enumerate() {
        match rows.get(&keys::site(host)) {
            Some(row) => {
                settings(row, oracle, site)?;
                tally.indexes += objects::objects(published, rows, row, oracle, &truth, site)? - 1;
            }
            None if site < KNOWN || oracle.settings[site].is_some() => {
                return Err(format!("{host} has no row"));
            }
            None => tally.orphaned |= published.keys().any(|key| key.site() == *host),
        }
    }
    Ok((truth, tally))
}

/// Returns the kind of a row with this partition key.
pub fn kind(pk: &str) -> &str {
    pk.split('#').next().unwrap_or_default()
}

/// Fails if a value differs from the expected one.
///
/// # Errors
///
/// The name of the value, and both values.
pub fn check<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {found:?}, expected {expected:?}"))
    }
}

/// Compares two sets as [`check`] does, and reports what differs.
///
/// # Errors
///
/// The differences.
pub fn same<T: Ord + Debug>(
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

/// Returns an error's text.
pub fn text_of(error: impl ToString) -> String {
    error.to_string()
}

/// Checks that a site's row agrees with its record, and is not on hold.
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
        "llms",
        "video_series",
        "news_series",
        "news_name",
        "name",
    ] {
        let said = record.as_ref().map(|record| &record[field]);
        // A site without a publication's name publishes news under its own.
        let said = match (field, said, record.as_ref()) {
            ("news_name", Some(Value::Null), Some(record)) => Some(&record["name"]),
            _ => said,
        };
        if let Some(said) = said {
            check(&format!("{field} of {what}"), &&settings[field], &said)?;
        }
    }
    Ok(())
}
