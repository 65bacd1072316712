//! A site's robots.txt and site file.
//!
//! Each is published by the steps of a shard: the object first, then the site's row, then a put under the object's ETag
//! if their stamp, the row's epoch and version, differs.

use crate::error::EngineError;
use crate::rows::keys::sha256_hex;
use crate::rows::site::SiteRow;
use objects::{Document, MAX_CACHED_SECONDS, ObjectKey, ObjectMeta, SiteFile, stamp};

use super::put::{Build, Stored};
use super::regenerator::Regenerator;

/// Seconds for which an emptied or closed shard, or an index that is no longer needed, is still served as an empty document.
const EMPTIED_GRACE_SECONDS: i64 = 2 * 86_400;
const _: () = assert!(
    EMPTIED_GRACE_SECONDS > MAX_CACHED_SECONDS,
    "no cached index lists a missing shard"
);

impl Regenerator {
    /// Publishes robots.txt from the site's current row. It may name the feed, which has to be there.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or every try was lost.
    pub async fn publish_robots(&self, site: &str) -> Result<(), EngineError> {
        let site = site.to_owned();
        self.publish_text(&ObjectKey::Robots { site }, robots).await
    }

    /// Publishes the site file from the site's current row.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or every try was lost.
    pub async fn publish_site_file(&self, site: &str) -> Result<(), EngineError> {
        let site = site.to_owned();
        self.publish_text(&ObjectKey::SiteFile { site }, site_file)
            .await
    }

    async fn publish_text(
        &self,
        key: &ObjectKey,
        make: fn(&SiteRow) -> String,
    ) -> Result<(), EngineError> {
        let build = |(), stored: Option<Stored>| async move {
            let Some(row) = self.released(key.site()).await? else {
                return Ok(Build::Keep(()));
            };
            if stored.as_ref().is_some_and(|(meta, _)| is_of(&row, meta)) {
                return Ok(Build::Keep(()));
            }
            let stored = stored.and_then(|(meta, _)| meta.document);
            let text = make(&row);
            let digest = sha256_hex(&text);
            let document = Document {
                changed: self.changed(&digest, stored.as_ref()),
                digest,
                bytes: text.len() as u64,
                entries: 0,
                stamp: stamp(row.epoch, row.version),
            };
            Ok(Build::Put(text.into(), document, ()))
        };
        self.compare_and_put(key, (), build).await
    }
}

/// Returns whether a robots.txt or a site file was made from the current version of this row.
pub(super) fn is_of(row: &SiteRow, meta: &ObjectMeta) -> bool {
    let document = meta.document.as_ref();
    document.is_some_and(|document| document.stamp == stamp(row.epoch, row.version))
}

/// Returns robots.txt: the site's rules, then the indexes, then the feed if the settings want it there.
fn robots(row: &SiteRow) -> String {
    if !row.settings.public {
        return "User-agent: *\nDisallow: /\n".to_owned();
    }
    let settings = &row.settings;
    // The first index of a cascade lists the others.
    let named = if settings.cascaded_index {
        1
    } else {
        row.indexes
    };
    let mut text = settings.robots.join("\n") + "\n\n";
    for n in 1..=named {
        let file = ObjectKey::index(&settings.host, n).file_name();
        text += &format!("Sitemap: {}/{file}\n", settings.origin.as_str());
    }
    if settings.feed && settings.feed_in_robots {
        let site = settings.host.clone();
        let file = ObjectKey::Feed { site }.file_name();
        text += &format!("Sitemap: {}/{file}\n", settings.origin.as_str());
    }
    text
}

fn site_file(row: &SiteRow) -> String {
    let file = SiteFile {
        site: row.settings.host.clone(),
        origin: row.settings.origin.as_str().to_owned(),
        stamp: stamp(row.epoch, row.version),
        public: row.settings.public,
        hidden: row.settings.hidden_series(),
        closings: row.closings.clone(),
        indexnow_key: row.settings.indexnow_key.clone(),
        llms: row.settings.llms.is_some(),
        departures: row.departures.then_some(row.settings.moved_max_age),
        not_found_page: row.settings.not_found_page.clone(),
        emptied_grace_seconds: EMPTIED_GRACE_SECONDS,
    };
    serde_json::to_string(&file).expect("a site file has text keys alone")
}
