//! From a target to all its sitemaps: robots.txt, indexes, and what they list, in order and within limits.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use check::document::expected::Expected;
use check::document::sample::MAX_DRAWN;
use check::document::{About, Document, Kind};
use check::findings::{Finding, Findings, Policy, Position};
use check::listing::sort::SortError;
use check::rules::Rule;
use check::site::yoast_names::Name;
use check::site::{Listing, Site, Totals};
use check::url::{Scope, origin_of};
use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use sitemap::loc::normalized;

use super::pages;
use super::probe::Probed;
use super::robots::{Hosts, Known};
use crate::fetch::bucket::Bucket;
use crate::fetch::client::{Client, Fetched};
use crate::fetch::origin::{Origin, get};
use crate::terminal::progress::{Progress, Unit};

mod others;
mod start;

use others::settle;
use start::local;

/// Indexes inside each other that are followed: an index in an index is a finding, and no reason to stop.
pub(crate) const MAX_DEPTH: u32 = 3;

/// What is checked.
#[derive(Clone, Debug)]
pub enum Target {
    /// A site, as `https://www.example.com`.
    Site(String),
    /// A sitemap or an index.
    Sitemap(String),
    /// A folder that is served as this origin.
    Folder(PathBuf, String),
    /// A file, and where it is served from, if that is known.
    File(PathBuf, Option<String>),
    /// A bucket that is served as this origin; a document of it, or all.
    Bucket {
        /// The bucket, and where in it.
        bucket: Bucket,
        /// The document; nothing for all.
        file: Option<String>,
        /// What it is served as.
        origin: String,
    },
    /// Standard input.
    Input(Option<String>),
}

impl Target {
    /// Returns what messages call it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Site(url) | Self::Sitemap(url) => url.clone(),
            Self::Folder(path, _) | Self::File(path, _) => path.display().to_string(),
            Self::Bucket { bucket, file, .. } => bucket.shown(file.as_deref().unwrap_or_default()),
            Self::Input(_) => "-".to_owned(),
        }
    }
}

/// Limits and rules of a check.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Documents that are looked at together.
    pub jobs: usize,
    /// Documents of a target.
    pub max_sitemaps: u64,
    /// URLs of a target.
    pub max_urls: u64,
    /// Bytes of a document.
    pub max_bytes: u64,
    /// The time, in Unix seconds.
    pub now: i64,
    /// The rules that hold.
    pub policy: Arc<Policy>,
    /// What should be listed.
    pub expected: Option<Arc<Expected>>,
    /// Pages that are asked for.
    pub pages: usize,
}

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

/// A document to look at.
#[derive(Clone, Debug)]
struct Next {
    url: String,
    listing: Option<Listing>,
    /// Where it may list pages.
    scope: Scope,
    depth: u32,
    /// The indexes above it.
    above: Vec<String>,
}

/// Adds that the time was over before all was looked at.
pub(super) fn over(name: &str, what: &str, findings: &mut Findings) {
    let rule = Rule::CheckLimits;
    findings.add(rule, || Finding {
        rule,
        file: name.into(),
        at: None,
        message: format!("the time was over (--max-time) before all of {what} were looked at"),
        invalid: false,
    });
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
        let message = format!("has more than {MAX_DRAWN} pages, of which so many are asked for");
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

struct Walk<'a> {
    origin: Origin<'a>,
    client: &'a Client,
    /// The target's origin, if it is a server on this machine.
    local: Option<String>,
    limits: &'a Limits,
    site: Site,
    robots: Known,
    waiting: VecDeque<Next>,
    /// Sitemaps that are looked at if no index lists them.
    later: VecDeque<String>,
    seen: HashSet<String>,
    probed: Probed,
    /// An index is checked by its own address, so that nothing else says whether robots.txt names it.
    wants_index_named: bool,
    /// A limit ended the walk: an index alone says nothing then.
    is_cut: bool,
}

impl Walk<'_> {
    fn about(&self, file: &str, scope: Scope) -> About {
        let limits = self.limits;
        let mut about = About::new(file, limits.policy.clone(), limits.now);
        about.scope = scope;
        about.max_bytes = limits.max_bytes;
        about.robots = self.robots.robots().cloned();
        about.expected = limits.expected.clone();
        about.draw = limits.pages;
        about.is_fetched = matches!(self.origin, Origin::Http(_));
        about
    }

    fn found(&mut self, rule: Rule, file: &Arc<str>, at: Option<Position>, message: String) {
        self.site.findings().add(rule, || Finding {
            rule,
            file: file.clone(),
            at,
            message,
            invalid: false,
        });
    }

    /// Adds a document to look at. `above`: the indexes that lead to it.
    fn push(&mut self, url: &str, listing: Option<Listing>, scope: Scope, above: &[String]) {
        if self.seen.insert(normalized(url).into_owned()) {
            self.waiting.push_back(Next {
                url: url.to_owned(),
                listing,
                scope,
                depth: u32::try_from(above.len()).unwrap_or(u32::MAX),
                above: above.to_vec(),
            });
        }
    }

    /// Looks at all that waits, in order, some of it together.
    async fn run(&mut self, name: &Arc<str>, hosts: &Hosts<'_>) -> Result<(), SortError> {
        let origin = std::mem::replace(
            &mut self.origin,
            Origin::Folder(PathBuf::new(), String::new()),
        );
        let is_http = matches!(origin, Origin::Http(_));
        let mut progress = Progress::begin(name, Unit::Things("URLs"), None);
        let mut under_way = FuturesOrdered::new();
        let mut looked_at = 0;
        loop {
            while under_way.len() < self.limits.jobs.max(1)
                && looked_at < self.limits.max_sitemaps
                && let Some(next) = self.waiting.pop_front()
            {
                looked_at += 1;
                let mut about = self.about(&next.url, next.scope.clone());
                about.is_fetched = is_http;
                about.asks_others = is_http;
                let origin = &origin;
                under_way.push_back(async move {
                    let mut next = next;
                    let mut fetched = get(origin, &next.url, about).await;
                    if let Some(document) = &mut fetched.document {
                        settle(&mut next, document, hosts).await;
                    }
                    (next, fetched)
                });
            }
            if under_way.is_empty()
                && looked_at < self.limits.max_sitemaps
                && let Some(url) = self.later.pop_front()
            {
                self.push(&url, None, Scope::of(&url), &[]);
                continue;
            }
            let urls = self.site.totals().urls;
            let Some((next, fetched)) = progress.while_waiting(urls, under_way.next()).await else {
                break;
            };
            // What its end has cut says nothing.
            if self.client.is_over() {
                over(name, "the sitemaps", self.site.findings());
                self.is_cut = true;
                return Ok(());
            }
            self.take(&next, fetched)?;
            if self.site.totals().urls > self.limits.max_urls {
                let message = format!(
                    "has more than {} URLs (--max-urls), at which the check ended",
                    self.limits.max_urls
                );
                self.found(Rule::CheckLimits, name, None, message);
                return Ok(());
            }
        }
        if !self.waiting.is_empty() || !self.later.is_empty() {
            let message = format!(
                "has more than {} sitemaps (--max-sitemaps), at which the check ended",
                self.limits.max_sitemaps
            );
            self.found(Rule::CheckLimits, name, None, message);
            self.is_cut = true;
        }
        Ok(())
    }

    /// What came of a document.
    fn take(&mut self, next: &Next, fetched: Fetched) -> Result<(), SortError> {
        let file: Arc<str> = next.url.as_str().into();
        if let Some(response) = &fetched.response {
            response.judge(&file, fetched.document.as_ref(), self.site.findings());
        }
        let Some(document) = fetched.document else {
            let is_gone = fetched
                .response
                .as_ref()
                .is_some_and(|response| matches!(response.status, 404 | 410));
            let failure = match fetched.response {
                None => fetched.failure + &self.remedy(&next.url),
                Some(_) => fetched.failure,
            };
            let listing = next.listing.as_ref();
            match listing.filter(|_| next.depth > 0) {
                Some(listing) if is_gone => {
                    let message = format!("{file} is gone: {failure}");
                    self.found(Rule::IndexDead, &listing.index, listing.at, message);
                }
                Some(_) => {
                    self.found(
                        Rule::FileStatus,
                        &file,
                        None,
                        format!("cannot be read: {failure}"),
                    );
                }
                None => {
                    self.found(
                        Rule::IndexReachable,
                        &file,
                        None,
                        format!("cannot be read: {failure}"),
                    );
                }
            }
            return Ok(());
        };
        self.probed.add(&next.url, next.depth, &document);
        self.naming(next, &document);
        if self.wants_index_named
            && let (0, Some(robots)) = (next.depth, self.robots.robots())
        {
            let message = match document.kind {
                Kind::Index if !robots.names(&next.url) => {
                    "is an index that robots.txt does not name"
                }
                Kind::Html | Kind::Other | Kind::Index => "",
                _ if robots.sitemaps.is_empty() => "robots.txt names no sitemap",
                _ => "",
            };
            if !message.is_empty() {
                self.found(Rule::IndexInRobots, &file, None, message.to_owned());
            }
        }
        if document.kind == Kind::Index {
            if next.depth < MAX_DEPTH {
                self.follow(&document, next);
            } else {
                let message = format!(
                    "is in more than {MAX_DEPTH} indexes inside each other, and was not followed"
                );
                self.found(Rule::CheckLimits, &file, None, message);
                self.is_cut = true;
            }
        }
        let listing = next.listing.as_ref().filter(|_| next.depth > 0);
        self.site.add(document, listing)
    }

    /// What to do about a document that does not answer. A server on this machine may have it: it names the public addresses.
    fn remedy(&self, url: &str) -> String {
        match (&self.local, origin_of(url)) {
            (Some(local), Some(origin))
                if origin != local && self.client.asked(origin) == origin =>
            {
                format!(". If {local} has it, add --map {origin}={local}")
            }
            _ => String::new(),
        }
    }

    /// What is in an index has a name of Yoast's form.
    fn naming(&mut self, next: &Next, document: &Document) {
        let (Kind::Sitemap, Some(listing)) = (document.kind, &next.listing) else {
            return;
        };
        if next.depth > 0 && !Name::of(&next.url).is_some_and(|name| name.is_right()) {
            let message = format!("{} is not {{type}}-sitemap{{n}}.xml", document.file);
            self.found(Rule::IndexNaming, &listing.index, listing.at, message);
        }
    }

    fn follow(&mut self, index: &Document, from: &Next) {
        let above = [&from.above[..], std::slice::from_ref(&from.url)].concat();
        for child in &index.children {
            let listing = Listing {
                index: index.file.clone(),
                at: Some(child.at),
                lastmod: child.lastmod,
            };
            // What an index may speak for, its sitemaps may.
            let on_scope = origin_of(&child.loc)
                .is_some_and(|origin| from.scope.origins.iter().any(|known| known == origin));
            if on_scope {
                self.push(&child.loc, Some(listing), from.scope.clone(), &above);
            }
        }
    }
}
