//! A site's feed of recent changes.
//!
//! Published by the steps of a shard: read the object, then the rows, then put under the object's ETag. But a feed has no stamp
//! that only rises, because its rows are deleted:
//!
//! - Every run puts. Assume two changes that undo each other, and a slow run that read the rows between them. If a newer run
//!   skipped its put because the feed is unchanged, the slow run's `If-Match` would still be valid.
//! - Each put has a fresh token as its stamp, which the bucket stores behind the document. So equal documents have different S3
//!   ETags, and the slow run's put fails. The public ETag and Last-Modified follow the document.
//!
//! The feed of a busy site is long, and each edit asks for it. So once it has changed, the site is marked, and further edits do
//! not publish it until `sweep` removes the mark a minute later. The removal is an event, whose run reads all rows written
//! before.

use crate::error::EngineError;
use crate::rows::keys::{Mark, sha256_hex};
use objects::{Document, ObjectKey};
use sitemap::feed::{Feed, MAX_FEED_ENTRIES, render};
use sitemap::plan::{FEED_SECONDS, is_over};

use super::put::{Build, Stored};
use super::regenerator::Regenerator;

/// The shortest time in seconds between two changes of a feed.
pub const FEED_PERIOD: i64 = 60;
const SECONDS_PER_DAY: i64 = 86_400;
/// How far the clock of a row's writer may be ahead of ours, in seconds. Near midnight such a row is in the next day's partition.
const CLOCK_SKEW_SECONDS: i64 = 300;

impl Regenerator {
    /// Publishes a site's feed. A private site, or one that wants no feed, gets an empty one, since an object is never deleted.
    /// If the feed changed within the last minute, it is only marked, unless `at_once`. Returns whether the site may have an
    /// llms.txt, because its row is read here anyway, or `None` if the row was not read, or the site is not published yet.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or every try was lost.
    pub async fn publish_feed(
        &self,
        site: &str,
        at_once: bool,
    ) -> Result<Option<bool>, EngineError> {
        let table = &self.reconciler.table;
        if !at_once {
            let due = table.marked(Mark::Feed, site).await?;
            if due.is_some_and(|due| due > self.reconciler.env.now()) {
                return Ok(None);
            }
        }
        let key = &ObjectKey::Feed {
            site: site.to_owned(),
        };
        let build = |(), stored: Option<Stored>| async move {
            let Some(row) = self.released(site).await? else {
                return Ok(Build::Keep((None, None)));
            };
            let settings = &row.settings;
            let now = self.reconciler.env.now();
            let is_open = settings.public && settings.feed;
            let published = stored.and_then(|(meta, _)| meta.document);
            let changed = published.as_ref().map(|document| document.changed.min(now));
            let due = changed.map_or(0, |changed| changed + FEED_PERIOD);
            if is_open && due > now && !at_once {
                return Ok(Build::Keep((Some(due), Some(row.llms_object))));
            }
            let changes = if is_open {
                let day = |at: i64| at.div_euclid(SECONDS_PER_DAY);
                let days = day(now - FEED_SECONDS)..=day(now + CLOCK_SKEW_SECONDS);
                let mut changes = table.changes(site, days, MAX_FEED_ENTRIES).await?;
                changes.retain(|change| !is_over(change.at, now));
                changes
            } else {
                Vec::new()
            };
            let origin = settings.origin.as_str();
            let feed = Feed {
                url: &format!("{origin}/{}", key.file_name()),
                home: &format!("{origin}/"),
                title: settings.name.as_deref().unwrap_or(&settings.host),
            };
            let unchanged = published.as_ref().and_then(|document| {
                let (text, entries) = render(&feed, &changes, document.changed);
                let is_same = sha256_hex(&text) == document.digest;
                is_same.then_some((text, entries, document.changed))
            });
            let (text, entries, changed) = unchanged.unwrap_or_else(|| {
                let (text, entries) = render(&feed, &changes, now);
                (text, entries, now)
            });
            let document = Document {
                digest: sha256_hex(&text),
                changed,
                bytes: text.len() as u64,
                entries: entries as u64,
                stamp: self.reconciler.env.token(),
            };
            Ok(Build::Put(
                text.into(),
                document,
                (None, Some(row.llms_object)),
            ))
        };
        let (due, may_have_llms) = self.compare_and_put(key, (), build).await?;
        if let Some(due) = due {
            table.mark(Mark::Feed, site, due).await?;
        }
        Ok(may_have_llms)
    }
}
