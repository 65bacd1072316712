//! What a user names as a listing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use aws::{Account, Clock};
use check::url::origin_of;
use engine::error::EngineError;
use objects::all_sites;
use sitemap::loc::Origin;

use super::pages::Pages;
use super::reader::Reader;
use super::target::Target;
use crate::content::Source;
use crate::deployment::args::Located;
use crate::fetch::bucket::{Bucket, SCHEME};
use crate::files::is_folder;
use crate::first_load::{Content, Keeps, World};
use crate::terminal::output::note;
use crate::values::url;

/// A listing as it was named.
pub(crate) enum Named {
    /// Content, of which is compared what would be listed.
    Records(PathBuf),
    /// A site, sitemap, folder, file or bucket.
    Target(Target),
}

/// A listing: a deployment's site, what would be listed of content, or what anyone can read.
pub(crate) enum What {
    Table(Box<Located>, String),
    Records(Box<World>, String, PathBuf),
    Target(Target),
}

impl Named {
    /// Parses its name. `account` and `timeout` are for a bucket.
    pub(crate) async fn parse(text: &str, account: Account, timeout: Duration) -> Result<Self> {
        if text.starts_with(SCHEME) {
            let (bucket, file) = Bucket::parse(text, account, timeout).map_err(Error::msg)?;
            bucket.is_reachable().await.map_err(Error::msg)?;
            return Ok(Self::Target(Target::Bucket(bucket, file)));
        }
        if let Some(url) = url(text) {
            let url = url?;
            return Ok(Self::Target(match Origin::parse(url.as_str()) {
                Ok(origin) => Target::Site(origin.as_str().to_owned()),
                Err(_) => Target::Sitemap(url.as_str().to_owned()),
            }));
        }
        let path = PathBuf::from(text);
        let is_content = text.ends_with(".jsonl") || text.ends_with(".jsonl.gz");
        Ok(match is_folder(text)? {
            true => Self::Target(Target::Folder(path)),
            false if is_content => Self::Records(path),
            false => Self::Target(Target::File(path)),
        })
    }

    /// Returns the host that it names. Returns `None` for a folder, a file, a bucket or records.
    pub(crate) fn host(&self) -> Option<&str> {
        match self {
            Self::Target(Target::Site(url) | Target::Sitemap(url)) => {
                let origin = origin_of(url)?;
                origin.split_once("://").map(|(_, host)| host)
            }
            Self::Target(Target::Folder(_) | Target::File(_) | Target::Bucket(..))
            | Self::Records(_) => None,
        }
    }

    /// Returns the listing. Publishes records in memory. `site_of` chooses one of their sites, and is given the name of their file.
    pub(crate) async fn open(
        self,
        site_of: impl FnOnce(&str, &[String]) -> Result<String>,
    ) -> Result<What> {
        let file = match self {
            Self::Target(target) => return Ok(What::Target(target)),
            Self::Records(file) => file,
        };
        let mut content = Content::begin()?;
        content.read(&Source::File(file.clone()))?;
        let world = World::begin(Clock::system().now()).await?;
        let publish = || content.publish(world, 0, Keeps::Rows);
        let (world, loaded) = tokio::task::block_in_place(publish)?;
        if let Some(problem) = loaded.problems.iter().find(|problem| problem.closes) {
            note(format!("{problem}; the record is compared as not listed"));
        }
        let sites = all_sites(&*world.objects())
            .await
            .map_err(EngineError::from)?;
        let site = site_of(&file.display().to_string(), &sites)?;
        Ok(What::Records(Box::new(world), site, file))
    }
}

impl What {
    /// Returns the name that messages use for it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Table(_, site) => format!("the tables of {site}"),
            Self::Records(_, _, file) => file.display().to_string(),
            Self::Target(target) => target.name(),
        }
    }

    /// Returns the origin that requests for it go to, if there are any.
    pub(crate) fn origin(&self) -> Option<&str> {
        match self {
            Self::Target(Target::Site(url) | Target::Sitemap(url)) => origin_of(url),
            _ => None,
        }
    }

    /// Returns the site whose tables are read, if they are.
    pub(crate) fn site(&self) -> Option<String> {
        match self {
            Self::Table(_, site) | Self::Records(_, site, _) => Some(site.clone()),
            Self::Target(_) => None,
        }
    }

    /// Reads all its pages.
    pub(crate) async fn read(&self, reader: &Reader<'_>, pages: &Arc<dyn Pages>) -> Result<()> {
        match self {
            Self::Target(target) => reader.read(target, pages).await?,
            Self::Table(located, site) => {
                let table = &located.target.reconciler.table;
                reader.read_table(table, site, false, &**pages).await?;
            }
            Self::Records(world, site, _) => {
                let table = world.table();
                reader.read_table(table, site, true, &**pages).await?;
            }
        }
        Ok(())
    }
}
