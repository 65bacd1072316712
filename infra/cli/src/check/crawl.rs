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

use super::limits::{Limit, Limits, over};
use super::pages;
use super::probe::Probed;
use super::robots::{Hosts, Known};
use super::target::Target;
use crate::fetch::client::Client;
use crate::fetch::origin::Origin;

mod hint;
mod next;
mod others;
mod start;
mod walk;

pub(crate) use walk::MAX_DEPTH;

use hint::Names;
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
    /// The hint at the end of the report: the option to add, if the documents name a host that was not asked.
    pub hint: Option<String>,
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
        names: Names::default(),
        limits,
        site,
        robots: Known::Absent,
        waiting: VecDeque::new(),
        later: VecDeque::new(),
        seen: HashSet::new(),
        probed: Probed::default(),
        wants_index_named: false,
        is_cut: false,
        is_index_alone: false,
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
    if limits.pages > 0
        && pages.len() == limits.pages
        && walk.site.totals().urls > pages.len() as u64
    {
        let is_all = limits.pages == MAX_DRAWN;
        let option = (!is_all).then_some("--pages");
        let limit = Limit(limits.pages as u64, "pages", option);
        let rest = "the other pages were not fetched";
        limit.reached(&name, rest, walk.site.findings());
    }
    let findings = walk.site.findings();
    let is_cut = walk.is_cut;
    if own.is_some() && !is_cut && walk.probed.is_wanted(findings) {
        if !client.is_over() {
            walk.probed.check(&name, client, findings).await;
        }
        if client.is_over() {
            let rest = "the other headers and routes were not checked";
            over(&name, "the headers and routes", rest, client, findings);
        }
    }
    let pages = match client.is_over() {
        true if pages.is_empty() || is_cut => 0,
        true => {
            over(
                &name,
                "the pages",
                "the pages were not fetched",
                client,
                findings,
            );
            0
        }
        false => pages::check(pages, client, limits, &hosts, own, findings).await,
    };
    let hint = walk.names.hint(target, client, walk.is_index_alone);
    let (findings, totals) = walk.site.finish(&name, limits.expected.as_deref())?;
    Ok(Outcome {
        findings,
        totals,
        pages,
        hint,
        is_read: totals.sitemaps > 0 || (totals.indexes > 0 && !is_cut),
    })
}
