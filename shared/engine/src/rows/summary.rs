//! Summaries of a site's published shards, from which the index is made. `INDEX#<site>`, series and number.

use std::collections::BTreeMap;

use sitemap::member::Directory;
use sitemap::plan::Series;
use sitemap::time::When;
use table::{Condition, Item, Query, Update};

use super::key::{Key, RowKey, ShardId, escape, key, unescape};
use super::table::{SitemapTable, damaged};
use crate::error::EngineError;

/// Prefix of the partitions of summaries.
pub const PREFIX: &str = "INDEX#";

/// Additional summaries that are read with those of some lines: the one after them, and some without a line.
const MORE_SUMMARIES: u32 = 4;

/// Returns the partition of a site's summaries: `INDEX#<site>`.
#[must_use]
pub fn index_partition(site: &str) -> String {
    format!("{}{}", PREFIX, escape(site))
}

/// Returns the key of a published shard's summary.
#[must_use]
pub fn summary(shard: &ShardId) -> Key {
    key(
        index_partition(&shard.series.site),
        format!("{}#{:010}", escape(&shard.series.name), shard.n),
    )
}

/// Returns the shard whose summary has this sort key.
#[must_use]
pub fn summary_shard(site: &str, sk: &str) -> Option<ShardId> {
    let (name, n) = sk.split_once('#')?;
    Some(ShardId {
        series: Series {
            site: site.to_owned(),
            name: unescape(name)?,
        },
        n: n.parse().ok()?,
    })
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    Some(RowKey::Summary(summary_shard(&unescape(rest)?, sk)?))
}

/// The summary of a published shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The sum of the shard's stamps, which only rises.
    pub generation: u64,
    /// The number of its entries.
    pub entries: u64,
    /// The newest lastmod of the entries.
    pub lastmod: Option<When>,
    /// The bytes of the entries, without the document's frame, which does not depend on the rows. So equal generations mean equal
    /// summaries.
    pub bytes: u64,
    /// The time at which the document last changed, in Unix seconds, when this generation was first published. Only a shard with
    /// entries of which none has a lastmod has this time, because only its line in an index may need it.
    pub changed: Option<i64>,
}

impl Summary {
    /// Returns the summary of a published member whose document last changed at `changed`.
    #[must_use]
    pub fn of(directory: &Directory, changed: i64) -> Self {
        let (entries, lastmod) = (directory.entries(), directory.newest());
        Self {
            generation: directory.generation(),
            entries,
            lastmod,
            bytes: directory.entry_bytes(),
            changed: (entries > 0 && lastmod.is_none()).then_some(changed),
        }
    }

    /// Returns whether this is a summary of a published member whose document last changed at `changed`. The time may be earlier
    /// than the document's: a document gets another frame, or is built again after a loss, in the same generation.
    #[must_use]
    pub fn is_of(&self, directory: &Directory, changed: i64) -> bool {
        let latest = Self::of(directory, changed);
        let is_timed = self.changed.is_some() == latest.changed.is_some();
        let own = Self {
            changed: self.changed,
            ..latest
        };
        is_timed && *self == own && self.changed <= latest.changed
    }
}

/// Returns a summary's row, with its shard.
fn read_summary_of(site: &str, item: &Item) -> Result<(ShardId, Summary), EngineError> {
    let part = |name| item.text(name).unwrap_or_default().to_owned();
    let (pk, sk) = (part("pk"), part("sk"));
    let key = Key { pk, sk };
    let shard = summary_shard(site, &key.sk).ok_or_else(|| damaged(&key, "sk"))?;
    Ok((shard, read_summary(&key, item)?))
}

/// Returns a summary's row.
pub(crate) fn read_summary(key: &Key, item: &Item) -> Result<Summary, EngineError> {
    let lastmod = item.text("lastmod").map(When::parse).transpose();
    let number = |name| item.number(name).ok_or_else(|| damaged(key, name));
    Ok(Summary {
        generation: number("generation")?,
        entries: number("entries")?,
        bytes: number("bytes")?,
        lastmod: lastmod.map_err(|_| damaged(key, "lastmod"))?,
        // An earlier version wrote none. The audit finds rows without it, and those where it cannot be read.
        changed: item.number("changed"),
    })
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns all summaries of a site, in the order of series and number, read consistently.
    pub async fn summaries(&self, site: &str) -> Result<BTreeMap<ShardId, Summary>, EngineError> {
        let items = self.partition(&index_partition(site)).await?;
        let summaries = items.iter().map(|item| read_summary_of(site, item));
        summaries.collect()
    }

    /// Returns the summaries after `after`, up to `last`, in pages of about `about` rows.
    pub(crate) async fn summaries_between(
        &self,
        site: &str,
        after: Option<&ShardId>,
        last: Option<&ShardId>,
        about: u32,
    ) -> Result<BTreeMap<ShardId, Summary>, EngineError> {
        let mut query = Query::of(index_partition(site));
        query.after = after.map(|shard| Item::from(&self::summary(shard)));
        // The first summary after `last` shows that there are no more.
        query.limit = last.map(|_| about + MORE_SUMMARIES);
        let mut summaries = BTreeMap::new();
        loop {
            let page = self.page(query.clone()).await?;
            for item in page.items {
                let (shard, summary) = read_summary_of(site, &item)?;
                if last.is_some_and(|last| shard > *last) {
                    return Ok(summaries);
                }
                summaries.insert(shard, summary);
            }
            query.after = page.next;
            if query.after.is_none() {
                return Ok(summaries);
            }
        }
    }

    /// Writes a summary if its generation is higher than the row's.
    pub async fn summarise(&self, shard: &ShardId, summary: &Summary) -> Result<(), EngineError> {
        let update = Update::new()
            .set("generation", summary.generation)
            .set("entries", summary.entries)
            .set("bytes", summary.bytes)
            .set_or_remove("lastmod", summary.lastmod.map(|at| at.to_string()))
            .set_or_remove("changed", summary.changed);
        let older =
            Condition::lacks("generation").or(Condition::less("generation", summary.generation));
        // The condition fails if the generation is not higher, which is not an error.
        self.update_if(&self::summary(shard), update, older).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sitemap::member::{Builder, Frame, Segment};

    use super::*;

    fn directory(entries: u32, newest: Option<When>) -> Directory {
        let mut builder = Builder::new(&Frame::urlset(None), 1);
        builder.push(&Segment {
            stamp: 3,
            entries,
            newest,
            xml: b"<url/>",
        });
        builder.finish().directory
    }

    #[test]
    fn only_entries_without_dates_need_the_time_of_a_change() {
        let date = Some(When::at(1));
        for (entries, newest, expected) in [(2, None, Some(7)), (2, date, None), (0, None, None)] {
            let summary = Summary::of(&directory(entries, newest), 7);
            assert_eq!(summary.changed, expected, "{entries} {newest:?}");
        }
    }

    #[test]
    fn a_summary_is_of_an_object_of_its_generation_that_is_no_older() {
        let undated = directory(2, None);
        let summary = Summary::of(&undated, 7);
        assert!(summary.is_of(&undated, 7) && summary.is_of(&undated, 8));
        assert!(!summary.is_of(&undated, 6));
        let changed = None;
        assert!(!Summary { changed, ..summary }.is_of(&undated, 7));
        let dated = directory(2, Some(When::at(1)));
        let summary = Summary::of(&dated, 7);
        assert!(summary.is_of(&dated, 0) && !summary.is_of(&undated, 7));
        let generation = summary.generation + 1;
        assert!(
            !Summary {
                generation,
                ..summary
            }
            .is_of(&dated, 7)
        );
    }
}
