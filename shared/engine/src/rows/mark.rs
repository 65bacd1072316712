//! Marks: the sites for which `sweep` has work. A site without a mark costs it nothing. `JOB#notices` and `JOB#feeds`, site.

use table::{Condition, Item, Query, Update};

use super::key::{JOB, Key, Mark, RowKey, escape, key, unescape};
use super::table::{SitemapTable, item_key};
use crate::error::EngineError;

const NOTICES: &str = "notices";
const FEEDS: &str = "feeds";
/// Follows the site in the key of the mark for llms.txt. No site's name ends with it.
const LLMS: &str = "#llms";

/// Returns the partition of the sites that have this mark.
#[must_use]
pub fn marks_partition(mark: Mark) -> String {
    let name = match mark {
        Mark::Notices => NOTICES,
        Mark::Feed | Mark::Llms => FEEDS,
    };
    format!("{JOB}{name}")
}

/// Returns the key of a site's mark.
#[must_use]
pub fn mark(mark: Mark, site: &str) -> Key {
    let site = escape(site);
    let sk = match mark {
        Mark::Notices | Mark::Feed => site,
        Mark::Llms => site + LLMS,
    };
    key(marks_partition(mark), sk)
}

/// Returns the mark and the site that a key names.
fn mark_of(rest: &str, sk: &str) -> Option<(Mark, String)> {
    let (mark, site) = match rest {
        NOTICES => (Mark::Notices, sk),
        FEEDS => match sk.strip_suffix(LLMS) {
            Some(site) => (Mark::Llms, site),
            None => (Mark::Feed, sk),
        },
        _ => return None,
    };
    Some((mark, unescape(site)?))
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    mark_of(rest, sk).map(|(mark, site)| RowKey::Mark(mark, site))
}

/// A site with a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// The mark.
    pub mark: Mark,
    /// The site's host.
    pub site: String,
    /// The time from which the work is due, in Unix seconds.
    pub due: i64,
    /// Changes whenever the mark is written again.
    token: String,
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Marks a site. `due` is the time of the work, in Unix seconds.
    pub(crate) async fn mark(&self, mark: Mark, site: &str, due: i64) -> Result<(), EngineError> {
        // An update, as the functions' roles allow all that reconciles.
        let update = Update::new().set("token", self.env.token()).set("due", due);
        let key = self::mark(mark, site);
        self.update(&key, update).await.map(drop)
    }

    /// Returns the due time of a site's mark in Unix seconds, or `None` if there is no mark.
    pub(crate) async fn marked(&self, mark: Mark, site: &str) -> Result<Option<i64>, EngineError> {
        let item = self.item(&self::mark(mark, site)).await?;
        Ok(item.map(|item| due(&item)))
    }

    /// Returns the sites with this mark, and those with the other mark of the same partition.
    pub async fn marks(&self, mark: Mark) -> Result<Vec<Marked>, EngineError> {
        // One page of 1 MB has thousands of marks. The rest is read when some of them are done.
        let items = self.first(Query::of(marks_partition(mark))).await?;
        let marked = |item: &Item| {
            let key = item_key(item)?;
            let (mark, site) = mark_of(key.pk.strip_prefix(JOB)?, &key.sk)?;
            Some(Marked {
                mark,
                site,
                due: due(item),
                token: item.text("token").unwrap_or_default().to_owned(),
            })
        };
        Ok(items.iter().filter_map(marked).collect())
    }

    /// Deletes the mark of a site's feed or llms.txt. The deletion is the event that publishes the file.
    pub(crate) async fn end_mark(&self, marked: &Marked) -> Result<(), EngineError> {
        self.delete(&self::mark(marked.mark, &marked.site)).await
    }

    /// Deletes a mark, unless it was written again since it was read.
    pub(crate) async fn unmark(&self, mark: Mark, marked: &Marked) -> Result<(), EngineError> {
        let unchanged = Condition::equals("token", marked.token.as_str());
        let key = self::mark(mark, &marked.site);
        self.delete_if(&key, unchanged).await.map(drop)
    }
}

/// Returns when a mark is due. A mark without a time is due at once.
fn due(mark: &Item) -> i64 {
    mark.number("due").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Repeating;

    #[tokio::test]
    async fn a_mark_that_is_made_again_stays() {
        let table = Repeating::default().engine();
        for mark in [Mark::Notices, Mark::Feed, Mark::Llms] {
            table.mark(mark, "a.example", 1).await.unwrap();
            let read = table.marks(mark).await.unwrap();
            // A change comes while the marked work is done.
            table.mark(mark, "a.example", 1).await.unwrap();
            for marked in &read {
                table.unmark(mark, marked).await.unwrap();
            }
            let again = table.marks(mark).await.unwrap();
            assert_eq!((read.len(), again.len()), (1, 1), "{mark:?}");
            table.unmark(mark, &again[0]).await.unwrap();
            assert_eq!(table.marks(mark).await.unwrap(), []);
        }
    }
}
