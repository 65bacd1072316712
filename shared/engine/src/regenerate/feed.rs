//! A site's feed of recent changes.
//!
//! Published by the steps of a shard: the object, then the rows, then a put under the object's ETag. But what is put has
//! no stamp that rises, since the feed's rows are deleted:
//!
//! - Every run puts. If a run stopped because the published feed is right already, a slower run that has read older rows,
//!   between two changes that undo each other, would pass `If-Match` after it.
//! - Each put has a fresh token for a stamp, which the bucket stores behind the document: equal documents have different
//!   S3 ETags, and the slow run fails. The public ETag and Last-Modified follow the document.
//!
//! The feed of a busy site is long, and each edit calls for it. So once it has changed, the site is marked, and edits do nothing
//! more until `sweep` takes the mark off a minute later. That is an event, and its run reads what was written before.

use crate::error::EngineError;
use crate::rows::keys::{Mark, sha256_hex};
use objects::{Document, ObjectKey};
use sitemap::feed::{Feed, MAX_FEED_ENTRIES, render};
use sitemap::plan::{FEED_SECONDS, is_over};

use super::put::{Build, Stored};
use super::regenerator::Regenerator;

/// Seconds from one change of a feed to the next.
pub const FEED_PERIOD: i64 = 60;
const SECONDS_PER_DAY: i64 = 86_400;
/// How far the clock of a row's writer may be ahead of ours, in seconds. Near midnight its row is in the next day's partition.
const CLOCK_SKEW_SECONDS: i64 = 300;

impl Regenerator {
    /// Publishes a site's feed: of a site that is private or wants none, an empty one, since an object is never deleted. One that
    /// has changed within a minute waits, unless it is to be published at once. Says whether the site may have an llms.txt, as
    /// its row was read for this: so no other call has to be made of a site that never wanted one.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or every try was lost.
    pub async fn publish_feed(&self, site: &str, at_once: bool) -> Result<bool, EngineError> {
        let table = &self.reconciler.table;
        if !at_once {
            let due = table.marked(Mark::Feed, site).await?;
            if due.is_some_and(|due| due > self.reconciler.env.now()) {
                return Ok(false);
            }
        }
        let key = &ObjectKey::Feed {
            site: site.to_owned(),
        };
        let build = |(), stored: Option<Stored>| async move {
            let Some(row) = self.released(site).await? else {
                return Ok(Build::Keep((None, false)));
            };
            let settings = &row.settings;
            let now = self.reconciler.env.now();
            let is_open = settings.public && settings.feed;
            let published = stored.and_then(|(meta, _)| meta.document);
            let changed = published.as_ref().map(|document| document.changed.min(now));
            let due = changed.map_or(0, |changed| changed + FEED_PERIOD);
            if is_open && due > now && !at_once {
                return Ok(Build::Keep((Some(due), row.llms_object)));
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
            Ok(Build::Put(text.into(), document, (None, row.llms_object)))
        };
        let (due, may_have_llms) = self.compare_and_put(key, (), build).await?;
        if let Some(due) = due {
            table.mark(Mark::Feed, site, due).await?;
        }
        Ok(may_have_llms)
    }
}
