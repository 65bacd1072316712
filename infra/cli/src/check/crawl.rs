//! Finds all sitemaps of a target: robots.txt, indexes, and what they list, in order and within limits.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use check::document::sample::MAX_DRAWN;
use check::findings::Findings;
use check::listing::sort::SortError;
use check::rules::Rule;
use check::site::{Site, Totals};
use check::url::{Scope, origin_of};

use super::limits::Limits;
use super::pages;
use super::probe::Probed;
use super::robots::{Hosts, Known};
use super::target::Target;
use crate::fetch::client::Client;
use crate::fetch::origin::Origin;

mod next;
mod others;
mod start;
mod walk;

pub(crate) use walk::MAX_DEPTH;

use start::local;
use walk::Walk;

/// What a check of a target came to.
#[derive(Debug)]
pub struct Outcome {
    /// What was found.
    pub findings: Findings,
    /// What was looked at.
    pub totals: Totals,
    /// Pages that were asked for.
    pub pages: u64,
    /// Whether any sitemap was read. If none was and nothing fails, the command cannot tell.
    pub is_read: bool,
}

/// Checks one target.
///
/// # Errors
///
/// If what is listed cannot be sorted.
pub async fn check(
    target: &Target,
    client: &Client,
    limits: &Limits,
) -> Result<Outcome, SortError> {
    let site = Site::new(limits.policy.clone(), std::env::temp_dir());
    let origin = match target {
        Target::Site(_) | Target::Sitemap(_) => Origin::Http(client),
        Target::Folder(folder, origin) => Origin::Folder(folder.clone(), origin.clone()),
        Target::File(path, origin) => {
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            Origin::Folder(folder, origin.clone().unwrap_or_default())
        }
        Target::Bucket { bucket, origin, .. } => Origin::Bucket(bucket.clone(), origin.clone()),
        Target::Input(origin) => Origin::Folder(PathBuf::new(), origin.clone().unwrap_or_default()),
    };
    let mut walk = Walk {
        origin,
        client,
        local: local(target),
        limits,
        site,
        robots: Known::Absent,
        waiting: VecDeque::new(),
        later: VecDeque::new(),
        seen: HashSet::new(),
        probed: Probed::default(),
        wants_index_named: false,
        is_cut: false,
    };
    let name: Arc<str> = match target {
        Target::Site(origin)
        | Target::Folder(_, origin)
        | Target::Bucket {
            origin, file: None, ..
        } => {
            walk.begin_site(origin).await?;
            origin.as_str().into()
        }
        Target::Sitemap(url) => {
            walk.begin_sitemap(url, client).await;
            url.as_str().into()
        }
        Target::Bucket {
            origin,
            file: Some(file),
            ..
        } => {
            let url = format!("{origin}/{file}");
            walk.push(&url, None, Scope::of(&url), &[]);
            url.as_str().into()
        }
        Target::File(path, origin) => {
            walk.file(path, origin.as_deref())?;
            path.display().to_string().into()
        }
        Target::Input(origin) => {
            walk.input(origin.as_deref()).await?;
            "-".into()
        }
    };
    let mut hosts = Hosts::new(client, limits.policy.clone());
    let own = match target {
        Target::Site(origin) => Some(origin.as_str()),
        Target::Sitemap(url) => origin_of(url),
        _ => None,
    };
    if let Some(own) = own {
        hosts.insert(own, walk.robots.clone());
    }
    walk.run(&name, &hosts).await?;
    let pages = walk.site.take_drawn();
    if pages.len() == MAX_DRAWN && walk.site.totals().urls > MAX_DRAWN as u64 {
        let message = format!("lists more than {MAX_DRAWN} pages: only this many are fetched");
        walk.found(Rule::CheckLimits, &name, None, message);
    }
    let findings = walk.site.findings();
    if own.is_some() && !client.is_over() {
        walk.probed.check(client, findings).await;
    }
    let is_cut = walk.is_cut;
    let pages = match client.is_over() {
        true => 0,
        false => pages::check(pages, client, limits, &hosts, own, findings).await,
    };
    let (findings, totals) = walk.site.finish(&name, limits.expected.as_deref())?;
    Ok(Outcome {
        findings,
        totals,
        pages,
        is_read: totals.sitemaps > 0 || (totals.indexes > 0 && !is_cut),
    })
}
