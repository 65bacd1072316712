//! Where a walk begins: at a site's robots.txt, a sitemap, a file or standard input.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use check::address::{Scope, origin_of, path_of};
use check::document::{Document, Kind, read};
use check::finding::Findings;
use check::robots::{MAX_ROBOTS_BYTES, Robots};
use check::rules::Rule;
use check::site::Listing;
use check::sort::SortError;
use url::{Host, Url};

use super::{Next, Target, Walk};
use crate::check::fetch::Client;
use crate::check::source::{Origin, get};

/// Names that sitemaps have on sites whose robots.txt names none, the most common first.
pub(crate) const USUAL: [&str; 4] = [
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/wp-sitemap.xml",
    "/sitemap.xml.gz",
];

/// The origin of a target that is a server on this machine.
pub(super) fn local(target: &Target) -> Option<String> {
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
impl Walk<'_> {
    /// robots.txt, and else the usual names.
    pub(super) async fn begin_site(&mut self, origin: &str) -> Result<(), SortError> {
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
    pub(super) async fn begin_sitemap(&mut self, url: &str, client: &Client) {
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

    pub(super) async fn usual_names(&mut self, origin: &str) -> Result<(), SortError> {
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

    pub(super) fn file(&mut self, path: &Path, origin: Option<&str>) -> Result<(), SortError> {
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

    pub(super) async fn input(&mut self, origin: Option<&str>) -> Result<(), SortError> {
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

    pub(super) fn read_local(
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
}
