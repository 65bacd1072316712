//! The files that say where pages went which are no longer at their addresses.
//!
//! - A file is published by the steps of a feed: read the object, then the rows, then put under the object's ETag, with a fresh token,
//!   also if nothing differs. The reasons are the feed's.
//! - A file does not depend on the site's row. `http` reads it only if the site file says that the site is open and has departures, so
//!   files may be published before a site is.
//! - The site's row says that there are departures only once a file with one exists.

use std::collections::{BTreeMap, BTreeSet};

use objects::{Document, ObjectKey};
use sitemap::departures::{Departures, FILES, MAX_IN_A_FILE};
use sitemap::record::Departure;
use tracing::warn;

use super::put::{Build, Stored};
use super::regenerator::{Regenerator, step_over};
use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::rows::claim::ousted_in;
use crate::rows::keys::sha256_hex;

/// Rows that are written concurrently, each of which has a file published.
const CONCURRENT_CALLS: usize = 32;

impl Regenerator {
    /// Publishes a file of a site's departures.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or every try was lost.
    pub async fn publish_departures(&self, site: &str, file: u32) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        let key = &ObjectKey::Departures {
            site: site.to_owned(),
            file,
        };
        let build = |(), stored: Option<Stored>| async move {
            let departures = table.departures(site, file, MAX_IN_A_FILE).await?;
            let entries = departures.len();
            if entries == 0 && stored.is_none() {
                return Ok(Build::Keep(0));
            }
            if entries == MAX_IN_A_FILE {
                warn!(
                    site,
                    file, "a file of moved pages is full: further ones do not redirect"
                );
            }
            let digest = digest(&departures);
            let stored = stored.and_then(|(meta, _)| meta.document);
            let stamp = self.reconciler.env.token();
            let text = Departures {
                stamp: stamp.clone(),
                departures,
            };
            let text = text.to_text();
            let document = Document {
                changed: self.changed(&digest, stored.as_ref()),
                digest,
                bytes: text.len() as u64,
                entries: entries as u64,
                stamp,
            };
            Ok(Build::Put(text.into(), document, entries))
        };
        if self.compare_and_put(key, (), build).await? > 0 {
            table.note_departures(site).await?;
        }
        Ok(())
    }

    /// Has all files of a site's departures published that have an object and no row: a dropped table may have left them. The events of
    /// rows publish the others.
    ///
    /// # Errors
    ///
    /// If the table or the bucket fails.
    pub(super) async fn publish_old_departures(&self, site: &str) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        let keys = self.objects.list(site).await?;
        let files = keys.iter().filter_map(|key| match key {
            ObjectKey::Departures { file, .. } => Some(*file),
            _ => None,
        });
        let mut files: BTreeSet<u32> = files.collect();
        if files.is_empty() {
            return Ok(());
        }
        for file in table
            .files_of_departures(site, None, FILES as usize)
            .await?
        {
            files.remove(&file);
        }
        let calls = files
            .into_iter()
            .map(|file| table.call_departures(site, file));
        let called = concurrently(CONCURRENT_CALLS, calls).await;
        called.into_iter().collect()
    }

    /// Reconciles a page from which a listed page has taken its address. `claim_pk` is the partition of the claim.
    ///
    /// # Errors
    ///
    /// If a table fails.
    pub(super) async fn call_ousted(&self, claim_pk: &str, page: &str) -> Result<(), EngineError> {
        let key = ousted_in(claim_pk, page);
        let found = BTreeMap::from([(page.to_owned(), vec![key])]);
        for outcome in self.reconciler.repair(&found).await {
            step_over(page, outcome)?;
        }
        Ok(())
    }
}

/// Returns the digest of a file's content, without its token.
fn digest(departures: &BTreeMap<String, Departure>) -> String {
    sha256_hex(&format!("{departures:?}"))
}
