//! A site's llms.txt, published as its [feed](super::feed) is. Its rows are deleted later, so every run puts, with a fresh token
//! as the stamp, and at most once a minute.
//!
//! A site that never wanted one has no object, and costs no call. If a site no longer wants it, the object is emptied, since an
//! object is never deleted, and the front does not serve it.

use objects::{Document, ObjectKey};
use sitemap::llms::{MAX_LLMS_PAGES, render};

use super::feed::FEED_PERIOD;
use super::put::{Build, Stored};
use super::regenerator::Regenerator;
use crate::error::EngineError;
use crate::rows::keys::{Mark, sha256_hex};

impl Regenerator {
    /// Publishes a site's llms.txt. If it changed within the last minute, it is only marked, unless `at_once`.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or every try was lost.
    pub async fn publish_llms(&self, site: &str, at_once: bool) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        let now = self.reconciler.env.now();
        if !at_once {
            let due = table.marked(Mark::Llms, site).await?;
            if due.is_some_and(|due| due > now) {
                return Ok(());
            }
        }
        let key = &ObjectKey::Llms {
            site: site.to_owned(),
        };
        let build = |(), stored: Option<Stored>| async move {
            let Some(row) = self.released(site).await? else {
                return Ok(Build::Keep(None));
            };
            let llms = row.settings.public_llms();
            let now = self.reconciler.env.now();
            let published = stored.as_ref().map(|(meta, _)| meta.document.as_ref());
            let (text, listed) = match (llms, published) {
                (None, None) => return Ok(Build::Keep(None)),
                (None, Some(_)) => (String::new(), 0),
                (Some(llms), published) => {
                    let changed = published
                        .flatten()
                        .map(|document| document.changed.min(now));
                    let due = changed.map_or(0, |changed| changed + FEED_PERIOD);
                    if due > now && !at_once {
                        return Ok(Build::Keep(Some(due)));
                    }
                    let pages = table.llms_pages(site, MAX_LLMS_PAGES).await?;
                    let name = row.settings.name.as_deref().unwrap_or(&row.settings.host);
                    render(llms, name, &pages)
                }
            };
            let digest = sha256_hex(&text);
            let document = Document {
                // The time of the put, even if the text is unchanged. Rows beyond those listed may change all the time, and the
                // next put waits a minute from this time.
                changed: now,
                digest,
                bytes: text.len() as u64,
                entries: listed as u64,
                stamp: self.reconciler.env.token(),
            };
            Ok(Build::Put(text.into(), document, None))
        };
        if let Some(due) = self.compare_and_put(key, (), build).await? {
            table.mark(Mark::Llms, site, due).await?;
        }
        Ok(())
    }
}
