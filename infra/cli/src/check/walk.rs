//! From a target to all its sitemaps: robots.txt, indexes, and what they list, in order and within limits.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use check::address::{Scope, origin_of, path_of};
use check::document::{About, Document, Kind, read};
use check::draw::MAX_DRAWN;
use check::expected::Expected;
use check::finding::{Finding, Findings, Position};
use check::names::Name;
use check::robots::{MAX_ROBOTS_BYTES, Robots};
use check::rules::{Policy, Rule};
use check::site::{Listing, Site, Totals};
use check::sort::SortError;
use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use url::{Host, Url};

use super::bucket::Bucket;
use super::fetch::{Client, Fetched};
use super::pages;
use super::probe::Probed;
use super::source::{Origin, get};
use crate::progress::{Progress, Unit};

/// Indexes inside each other that are followed: an index in an index is a finding, and no reason to stop.
pub(crate) const MAX_DEPTH: u32 = 3;
/// Names that sitemaps have on sites whose robots.txt names none, the most common first.
pub(crate) const USUAL: [&str; 4] = [
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/wp-sitemap.xml",
    "/sitemap.xml.gz",
];

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
}

/// A document to look at.
#[derive(Clone, Debug)]
struct Next {
    url: String,
    listing: Option<Listing>,
    /// Where it may list pages.
    scope: Scope,
    depth: u32,
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
        robots: None,
        waiting: VecDeque::new(),
        seen: HashSet::new(),
        probed: Probed::default(),
        wants_index_named: false,
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
            walk.push(&url, None, Scope::of(&url), 0);
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
    walk.run(&name).await?;
    let pages = walk.site.take_drawn();
    if pages.len() == MAX_DRAWN && walk.site.totals().urls > MAX_DRAWN as u64 {
        let message = format!("has more than {MAX_DRAWN} pages, of which so many are asked for");
        walk.found(Rule::CheckLimits, &name, None, message);
    }
    let known = match target {
        Target::Site(origin) => walk.robots.clone().map(|robots| (origin.as_str(), robots)),
        Target::Sitemap(url) => origin_of(url).zip(walk.robots.clone()),
        _ => None,
    };
    let findings = walk.site.findings();
    if matches!(target, Target::Site(_) | Target::Sitemap(_)) {
        walk.probed.check(client, findings).await;
    }
    let pages = pages::check(pages, client, limits.jobs, known, findings).await;
    let (findings, totals) = walk.site.finish(&name, limits.expected.as_deref())?;
    Ok(Outcome {
        findings,
        totals,
        pages,
    })
}

/// The origin of a target that is a server on this machine.
fn local(target: &Target) -> Option<String> {
    let (Target::Site(url) | Target::Sitemap(url)) = target else {
        return None;
    };
    let is_local = match Url::parse(url).ok()?.host()? {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    origin_of(url).filter(|_| is_local).map(str::to_owned)
}

struct Walk<'a> {
    origin: Origin<'a>,
    client: &'a Client,
    /// The target's origin, if it is a server on this machine.
    local: Option<String>,
    limits: &'a Limits,
    site: Site,
    robots: Option<Arc<Robots>>,
    waiting: VecDeque<Next>,
    seen: HashSet<String>,
    probed: Probed,
    /// An index is checked by its own address, so that nothing else says whether robots.txt names it.
    wants_index_named: bool,
}

impl Walk<'_> {
    fn about(&self, file: &str, scope: Scope) -> About {
        let limits = self.limits;
        let mut about = About::new(file, limits.policy.clone(), limits.now);
        about.scope = scope;
        about.max_bytes = limits.max_bytes;
        about.robots = self.robots.clone();
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

    fn push(&mut self, url: &str, listing: Option<Listing>, scope: Scope, depth: u32) {
        if self.seen.insert(url.to_owned()) {
            let url = url.to_owned();
            self.waiting.push_back(Next {
                url,
                listing,
                scope,
                depth,
            });
        }
    }

    /// robots.txt, and else the usual names.
    async fn begin_site(&mut self, origin: &str) -> Result<(), SortError> {
        let url = format!("{origin}/robots.txt");
        let file: Arc<str> = url.as_str().into();
        let text = match &self.origin {
            Origin::Http(client) => match client.text(&url, MAX_ROBOTS_BYTES).await {
                Ok((response, text)) => {
                    let media = response.content_type.as_deref().unwrap_or_default();
                    let is_text = media.to_ascii_lowercase().starts_with("text/plain");
                    let wrong = match response.status {
                        200 if is_text => None,
                        200 => Some(format!("Content-Type is \"{media}\", not text/plain")),
                        status => Some(format!("status {status}")),
                    };
                    if let Some(wrong) = wrong {
                        self.found(Rule::RobotsStatus, &file, None, wrong);
                    }
                    (response.status == 200 && is_text).then_some(text)
                }
                Err(failure) => {
                    // Nothing else of the site would answer.
                    let message = format!("the site does not answer: {failure}");
                    self.found(Rule::IndexReachable, &file, None, message);
                    return Ok(());
                }
            },
            Origin::Folder(folder, _) => std::fs::read(folder.join("robots.txt")).ok(),
            Origin::Bucket(bucket, _) => match bucket.text("robots.txt", MAX_ROBOTS_BYTES).await {
                Ok(text) => text,
                Err(failure) => {
                    let message = format!("the bucket cannot be read: {failure}");
                    self.found(Rule::IndexReachable, &file, None, message);
                    return Ok(());
                }
            },
        };
        let mut named = Vec::new();
        if let Some(text) = text {
            let robots = Robots::read(&text, &file, self.site.findings());
            named.clone_from(&robots.sitemaps);
            self.robots = Some(Arc::new(robots));
        }
        for (url, at) in &named {
            let blocked = self.robots.as_ref().and_then(|robots| {
                let (agent, rule) = robots.disallows(path_of(url)?)?;
                Some(format!(
                    "the sitemap {url} is disallowed for {agent} by {rule}"
                ))
            });
            if let Some(message) = blocked {
                self.found(Rule::RobotsBlocks, &file, Some(*at), message);
            }
            // robots.txt proves that the sitemap may speak for the site, wherever it is.
            let mut origins = vec![origin.to_owned()];
            origins.extend(
                origin_of(url)
                    .filter(|own| *own != origin)
                    .map(str::to_owned),
            );
            let scope = Scope {
                origins,
                folder: None,
            };
            let listing = Listing {
                index: file.clone(),
                at: Some(*at),
                lastmod: None,
            };
            self.push(url, Some(listing), scope, 0);
        }
        if named.is_empty() {
            self.usual_names(origin).await?;
        }
        Ok(())
    }

    /// A sitemap or an index. If there is a robots.txt, it says what is disallowed, and should name an index.
    async fn begin_sitemap(&mut self, url: &str, client: &Client) {
        if let Some(origin) = origin_of(url) {
            let file: Arc<str> = format!("{origin}/robots.txt").into();
            let answer = client.text(&file, MAX_ROBOTS_BYTES).await;
            if let Ok((response, text)) = answer
                && response.status == 200
            {
                // What else is wrong with it is for a check of the site.
                let mut unsaid = Findings::new(self.limits.policy.clone());
                let robots = Robots::read(&text, &file, &mut unsaid);
                self.robots = Some(Arc::new(robots));
                self.wants_index_named = true;
            }
        }
        self.push(url, None, Scope::of(url), 0);
    }

    async fn usual_names(&mut self, origin: &str) -> Result<(), SortError> {
        let mut page = None;
        let mut failure = None;
        for name in USUAL {
            let url = format!("{origin}{name}");
            let about = self.about(&url, Scope::of(&url));
            let fetched = get(&self.origin, &url, about).await;
            match fetched.document.as_ref().map(|document| document.kind) {
                None => {
                    let status = fetched.response.as_ref().map(|response| response.status);
                    if status != Some(404) && failure.is_none() {
                        failure = Some(format!(" ({url}: {})", fetched.failure));
                    }
                }
                Some(Kind::Html) => page = page.or(Some((url, fetched))),
                Some(_) => {
                    // Nobody said that it is there, so that a redirect to it is right.
                    let redirects = fetched.response.map(|response| response.redirects);
                    let last = redirects.and_then(|mut redirects| redirects.pop());
                    let url = last
                        .filter(|last| origin_of(last) == Some(origin))
                        .unwrap_or(url);
                    self.push(&url, None, Scope::of(&url), 0);
                    return Ok(());
                }
            }
        }
        let file: Arc<str> = origin.into();
        match page {
            Some((url, fetched)) => self.take(
                &Next {
                    scope: Scope::of(&url),
                    url,
                    listing: None,
                    depth: 0,
                },
                fetched,
            ),
            None => {
                let (names, failure) = (USUAL.join(", "), failure.unwrap_or_default());
                let message = format!("has no sitemap at the usual names: {names}{failure}");
                self.found(Rule::IndexReachable, &file, None, message);
                Ok(())
            }
        }
    }

    fn file(&mut self, path: &Path, origin: Option<&str>) -> Result<(), SortError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let scope = origin.map_or_else(Scope::default, |origin| {
            Scope::of(&format!("{origin}/{name}"))
        });
        let about = self.about(&path.display().to_string(), scope.clone());
        let file = about.file.clone();
        match File::open(path) {
            Ok(body) => self.read_local(read(body, &about), scope, origin.is_some()),
            Err(error) => {
                let message = format!("cannot be read: {error}");
                self.found(Rule::IndexReachable, &file, None, message);
                Ok(())
            }
        }
    }

    async fn input(&mut self, origin: Option<&str>) -> Result<(), SortError> {
        let scope = origin.map_or_else(Scope::default, |origin| Scope::of(&format!("{origin}/-")));
        let about = self.about("-", scope.clone());
        let reading = tokio::task::spawn_blocking(move || read(std::io::stdin().lock(), &about));
        match reading.await {
            Ok(document) => self.read_local(document, scope, false),
            Err(error) => {
                let message = format!("cannot be read: {error}");
                self.found(Rule::IndexReachable, &"-".into(), None, message);
                Ok(())
            }
        }
    }

    fn read_local(
        &mut self,
        document: Document,
        scope: Scope,
        follow: bool,
    ) -> Result<(), SortError> {
        if follow {
            self.follow(&document, &scope, 1);
        }
        self.site.add(document, None)
    }

    /// Looks at all that waits, in order, some of it together.
    async fn run(&mut self, name: &Arc<str>) -> Result<(), SortError> {
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
                let origin = &origin;
                under_way.push_back(async move {
                    let fetched = get(origin, &next.url, about).await;
                    (next, fetched)
                });
            }
            let urls = self.site.totals().urls;
            let Some((next, fetched)) = progress.while_waiting(urls, under_way.next()).await else {
                break;
            };
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
        if !self.waiting.is_empty() {
            let message = format!(
                "has more than {} sitemaps (--max-sitemaps), at which the check ended",
                self.limits.max_sitemaps
            );
            self.found(Rule::CheckLimits, name, None, message);
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
        if document.kind == Kind::Index {
            if self.wants_index_named
                && let (0, Some(robots)) = (next.depth, &self.robots)
                && !robots.sitemaps.iter().any(|(url, _)| *url == next.url)
            {
                let message = "is an index that robots.txt does not name".to_owned();
                self.found(Rule::IndexInRobots, &file, None, message);
            }
            if next.depth < MAX_DEPTH {
                self.follow(&document, &next.scope, next.depth + 1);
            } else {
                let message = format!(
                    "is in more than {MAX_DEPTH} indexes inside each other, and was not followed"
                );
                self.found(Rule::CheckLimits, &file, None, message);
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

    fn follow(&mut self, index: &Document, scope: &Scope, depth: u32) {
        for child in &index.children {
            let listing = Listing {
                index: index.file.clone(),
                at: Some(child.at),
                lastmod: child.lastmod,
            };
            // What an index may speak for, its sitemaps may.
            let on_scope = origin_of(&child.loc)
                .is_some_and(|origin| scope.origins.iter().any(|known| known == origin));
            if on_scope {
                self.push(&child.loc, Some(listing), scope.clone(), depth);
            }
        }
    }
}
