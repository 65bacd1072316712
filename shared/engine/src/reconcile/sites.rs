//! Keeps a site's row in agreement with its settings record and the deployment's list of sites.

use std::collections::BTreeSet;

use futures::future::try_join;
use serde_json::Value;
use sitemap::site::{SITE_ID_PREFIX, SiteSettings, is_settings, is_site_host};

use super::reconciler::{KnownSites, Reconciler, TRIES};
use crate::error::EngineError;
use crate::rows::site::{Hold, SiteRow};
use sitemap::RENDER_VERSION;

impl Reconciler {
    /// Returns a site's row. Creates the row, on hold, if the site is known and has none. Has the site scanned if its entries
    /// were made by an older rendering, from other tables or by another mapping.
    ///
    /// # Errors
    ///
    /// If a table fails.
    pub async fn ensure_site(&self, host: &str) -> Result<Option<SiteRow>, EngineError> {
        match self.table.site(host).await? {
            Some(row) if self.is_current(&row) => Ok(Some(row)),
            Some(_) => Box::pin(self.reconcile_site(host)).await,
            None => {
                let Some(settings) = self.settings(host).await? else {
                    return Ok(None);
                };
                let (source, now) = (self.content.revision(), self.env.now());
                self.table.create_site(&settings, source, now).await?;
                // The record may have changed after it was read, and its event may have found no row. So reconcile once more
                // under the fence of the row.
                Box::pin(self.reconcile_site(host)).await
            }
        }
    }

    fn is_current(&self, row: &SiteRow) -> bool {
        row.render == RENDER_VERSION && row.source == self.content.revision()
    }

    /// Returns the settings of a site's record, or the defaults of a known site without a record.
    async fn settings(&self, host: &str) -> Result<Option<SiteSettings>, EngineError> {
        let recorded = self.recorded(host).await?;
        Ok(self.settings_of(host, recorded.as_ref()))
    }

    fn settings_of(&self, host: &str, recorded: Option<&Value>) -> Option<SiteSettings> {
        self.known.settings_of(host, recorded)
    }

    /// Returns whether a known site has no row.
    pub(crate) async fn lacks_row(&self, host: &str) -> Result<bool, EngineError> {
        match self.table.site(host).await {
            Ok(None) => Ok(self.settings(host).await?.is_some()),
            Ok(Some(_)) | Err(EngineError::Damaged { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns a site's settings record.
    async fn recorded(&self, host: &str) -> Result<Option<Value>, EngineError> {
        let id = format!("{SITE_ID_PREFIX}{host}");
        let item = self.content.item(&id).await?;
        Ok(item.filter(|item| is_settings(&id, item)))
    }

    /// Returns the sites whose rows are missing, outdated, or on hold.
    ///
    /// # Errors
    ///
    /// If a table fails.
    pub async fn unsettled_sites<'h>(
        &self,
        hosts: &'h BTreeSet<String>,
    ) -> Result<Vec<&'h str>, EngineError> {
        let ids = hosts.iter().map(|host| format!("{SITE_ID_PREFIX}{host}"));
        let ids: Vec<String> = ids.collect();
        let recorded = self.content.items(ids.iter().map(String::as_str));
        let (recorded, rows) = try_join(recorded, self.table.sites(hosts)).await?;
        let settled = |host: &str, id: &str| {
            let Some(Ok(row)) = rows.get(host) else {
                return false;
            };
            let recorded = recorded.get(id).filter(|item| is_settings(id, item));
            let settings = self.settings_of(host, recorded);
            row.hold == Hold::Released && self.is_current(row) && agrees(row, settings.as_ref())
        };
        let hosts = hosts.iter().map(String::as_str).zip(&ids);
        let unsettled = hosts.filter(|(host, id)| !settled(host, id));
        Ok(unsettled.map(|(host, _)| host).collect())
    }

    /// Compares a site's row with its record and the deployment's list, and corrects it. A change of that list has no event.
    ///
    /// # Errors
    ///
    /// If a table fails, or every try was lost.
    pub async fn refresh_site(&self, host: &str) -> Result<Option<SiteRow>, EngineError> {
        let Some(row) = self.ensure_site(host).await? else {
            return Ok(None);
        };
        if agrees(&row, self.settings(host).await?.as_ref()) {
            Ok(Some(row))
        } else {
            self.reconcile_site(host).await
        }
    }

    /// Makes a site's row agree with its record. A site that is no longer known becomes private.
    ///
    /// # Errors
    ///
    /// If a table fails, or every try was lost.
    pub async fn reconcile_site(&self, host: &str) -> Result<Option<SiteRow>, EngineError> {
        for round in 0..TRIES {
            self.env.backoff(round).await;
            let Some((token, row)) = self.table.fence_site(host).await? else {
                // Without a settings record, the first page creates the site.
                return if self.recorded(host).await?.is_some() {
                    self.ensure_site(host).await
                } else {
                    Ok(None)
                };
            };
            let unknown = SiteSettings {
                public: false,
                ..row.settings.clone()
            };
            let settings = self.settings(host).await?.unwrap_or(unknown);
            if settings == row.settings && self.is_current(&row) {
                return Ok(Some(row));
            }
            let (source, now) = (self.content.revision(), self.env.now());
            let change = self.table.change_site(&token, &settings, source, now);
            if change.await? {
                return self.table.site(host).await;
            }
        }
        Err(EngineError::Contended {
            what: format!("site {host}"),
            tries: TRIES,
        })
    }
}

impl KnownSites {
    /// Returns what a site's record says, or the defaults of a known site that has none. Returns `None` if the host is no site.
    pub(crate) fn settings_of(&self, host: &str, recorded: Option<&Value>) -> Option<SiteSettings> {
        let settings = match recorded {
            Some(item) => SiteSettings::parse(host, item),
            None if self.include(host) => SiteSettings::default_for(host),
            None => return None,
        };
        // A host that is no host is no site.
        let settings = settings.ok();
        settings.filter(|settings| is_site_host(host) && settings.origin.host() == host)
    }
}

/// Returns whether a site's row says what its settings are. One that is no longer known is private.
fn agrees(row: &SiteRow, settings: Option<&SiteSettings>) -> bool {
    match settings {
        Some(settings) => *settings == row.settings,
        None => !row.settings.public,
    }
}
