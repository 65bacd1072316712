//! Where a walk begins: at a site's robots.txt, a sitemap, a file or standard input.

use std::path::Path;
use std::sync::Arc;

use super::next::Next;
use super::walk::Walk;
use crate::check::limits::{Limit, over};
use crate::check::names;
use crate::check::robots::{self, Came, Known};
use crate::fetch::client::{Client, is_absent};
use crate::fetch::origin::{Origin, get, read_file, read_whole};
use check::document::{Document, Kind};
use check::findings::Findings;
use check::listing::sort::SortError;
use check::page::response::Response;
use check::robots::{MAX_ROBOTS_BYTES, Robots};
use check::rules::Rule;
use check::site::Listing;
use check::url::{Scope, origin_of};

impl Walk<'_> {
    /// Queues the sitemaps that robots.txt names. If it names none, tries the usual names.
    pub(super) async fn begin_site(&mut self, origin: &str) -> Result<(), SortError> {
        let url = format!("{origin}/robots.txt");
        let file: Arc<str> = url.as_str().into();
        let came = match &self.origin {
            Origin::Http(client) => robots::over_http(client, &url).await,
            Origin::Folder(folder, _) => robots::on_disk(&folder.join("robots.txt")),
            Origin::Bucket(bucket, _) => robots::in_bucket(bucket, "robots.txt").await,
        };
        if self.client.is_over() {
            let rest = "the sitemaps were not checked";
            over(
                origin,
                "the sitemaps",
                rest,
                self.client,
                self.site.findings(),
            );
            self.is_cut = true;
            return Ok(());
        }
        let mut named = Vec::new();
        match came {
            Came::Text(text, response) => {
                let robots = self.read_robots(&text, response.as_ref(), &file);
                named.clone_from(&robots.sitemaps);
                for (url, _) in &named {
                    self.names.by_robots(url);
                }
                self.robots = Known::read(robots, origin, response.as_ref());
            }
            Came::Absent(None) => {}
            Came::Absent(Some(status)) => {
                let message = format!("status {status}: there is no robots.txt");
                self.found(Rule::RobotsAbsent, &file, None, message);
            }
            Came::Unknown(why) => self.unknown_robots(why, &file),
            // Nothing else of the site would answer.
            Came::Silent(why) => {
                let what = match &self.origin {
                    Origin::Bucket(..) => "the bucket cannot be read",
                    _ => "the site does not answer",
                };
                self.found(Rule::IndexReachable, &file, None, format!("{what}: {why}"));
                self.robots = Known::Unknown(why);
                return Ok(());
            }
        }
        for (url, at) in &named {
            let crawlers = self.limits.policy.crawlers();
            let robots = self.robots.robots();
            let shut_out = robots.and_then(|robots| robots.shuts_out(url, crawlers));
            if let Some((agent, rule)) = shut_out {
                let message = format!("the sitemap {url} is disallowed for {agent} by {rule}");
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
            self.push(url, Some(listing), scope, &[]);
        }
        if named.is_empty() {
            self.usual_names(origin).await?;
        }
        Ok(())
    }

    /// Reads a robots.txt, and adds its findings. If it is not served as text, crawlers still read the lines that they know, but the
    /// other lines were not written for them.
    fn read_robots(&mut self, text: &[u8], response: Option<&Response>, file: &Arc<str>) -> Robots {
        self.is_long(text, file);
        let is_own = response.is_none_or(|response| !response.is_foreign);
        let media = response.map(|response| response.content_type.as_deref().unwrap_or_default());
        let other = media.filter(|media| !media.to_ascii_lowercase().starts_with("text/plain"));
        if let Some(media) = other {
            let message = match is_own {
                true => format!("Content-Type is \"{media}\", not text/plain"),
                false => "Content-Type is not text/plain".to_owned(),
            };
            self.found(Rule::RobotsStatus, file, None, message);
        }
        if other.is_none() && is_own {
            return Robots::read(text, file, self.site.findings());
        }
        // Lines of a host that the user did not name are not shown.
        let mut unsaid = Findings::new(self.limits.policy.clone());
        Robots::read(text, file, &mut unsaid)
    }

    /// Adds that the rest of a long robots.txt was not read.
    fn is_long(&mut self, text: &[u8], file: &str) {
        if text.len() > MAX_ROBOTS_BYTES {
            let limit = Limit(MAX_ROBOTS_BYTES as u64, "bytes of a robots.txt", None);
            limit.reached(file, "the rest of it was not read", self.site.findings());
        }
    }

    fn unknown_robots(&mut self, why: String, file: &Arc<str>) {
        let message = format!("cannot be read, so it is unknown what it disallows: {why}");
        self.found(Rule::RobotsStatus, file, None, message);
        self.robots = Known::Unknown(why);
    }

    /// Queues a sitemap or an index. If there is a robots.txt, its rules apply, and it should name an index.
    pub(super) async fn begin_sitemap(&mut self, url: &str, client: &Client) {
        let mut scope = Scope::of(url);
        if let Some(origin) = origin_of(url) {
            let file: Arc<str> = format!("{origin}/robots.txt").into();
            match robots::over_http(client, &file).await {
                Came::Text(text, response) => {
                    // What else is wrong with it is for a check of the site.
                    let mut unsaid = Findings::new(self.limits.policy.clone());
                    let robots = Robots::read(&text, &file, &mut unsaid);
                    self.is_long(&text, &file);
                    if robots.names(url) {
                        scope.folder = None;
                    }
                    self.robots = Known::read(robots, origin, response.as_ref());
                    self.wants_index_named = true;
                }
                Came::Absent(_) => {}
                Came::Unknown(why) | Came::Silent(why) => self.unknown_robots(why, &file),
            }
        }
        self.push(url, None, scope, &[]);
    }

    /// Queues the first usual name that is a sitemap. If there is none, it takes the sitemaps of a folder.
    async fn usual_names(&mut self, origin: &str) -> Result<(), SortError> {
        // What is there and is no sitemap: nothing else says so.
        let mut broken = None;
        let (mut failure, mut unread) = (None, Vec::new());
        let is_site = matches!(self.origin, Origin::Http(_));
        for name in names::usual(is_site) {
            let url = format!("{origin}{name}");
            let about = self.about(&url, Scope::of(&url));
            let fetched = get(&self.origin, &url, about).await;
            let kind = fetched.document.as_ref().map(|document| document.kind);
            match kind {
                None => {
                    let status = fetched.response.as_ref().map(|response| response.status);
                    if status != Some(404) && failure.is_none() {
                        failure = Some(format!(" ({url}: {})", fetched.failure));
                    }
                    if !status.is_some_and(is_absent) {
                        unread.push(format!("{url}: {}", fetched.failure));
                    }
                }
                // Many sites answer so whatever they are asked for.
                Some(Kind::Html) => {
                    failure = failure.or_else(|| Some(format!(" ({url} is a web page)")));
                }
                Some(Kind::Other) => broken = broken.or(Some((url, fetched))),
                Some(_) => {
                    // Nobody said that it is there, so that a redirect to it is right.
                    let redirects = fetched.response.map(|response| response.redirects);
                    let last = redirects.and_then(|mut redirects| redirects.pop());
                    let url = last
                        .filter(|last| origin_of(last) == Some(origin))
                        .unwrap_or(url);
                    self.push(&url, None, Scope::of(&url), &[]);
                    for why in unread {
                        let message = format!(
                            "may have another sitemap at a usual name that cannot be read: {why}"
                        );
                        self.found(Rule::IndexReachable, &origin.into(), None, message);
                    }
                    return Ok(());
                }
            }
        }
        if let Some((url, fetched)) = broken {
            let next = Next {
                scope: Scope::of(&url),
                url,
                listing: None,
                depth: 0,
                above: Vec::new(),
                permitted: Vec::new(),
            };
            return self.take(&next, fetched);
        }
        if let Origin::Folder(folder, _) = &self.origin {
            match names::in_folder(folder) {
                Ok(found) => self
                    .later
                    .extend(found.iter().map(|url| format!("{origin}{url}"))),
                Err(why) => {
                    if let Some((value, unit)) = names::limit(&why) {
                        let rest = "none of them was checked";
                        Limit(value, unit, None).reached(origin, rest, self.site.findings());
                    }
                    failure = failure.or(Some(format!(" ({why})")));
                }
            }
        }
        // What a usual name has and cannot be read is wrong, also beside others.
        if self.later.is_empty() || failure.is_some() {
            let (names, failure) = (names::listed(is_site), failure.unwrap_or_default());
            let message = format!("has no sitemap at the usual names: {names}{failure}");
            self.found(Rule::IndexReachable, &origin.into(), None, message);
        }
        Ok(())
    }

    pub(super) fn file(&mut self, path: &Path, origin: Option<&str>) -> Result<(), SortError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let scope = origin.map_or_else(Scope::default, |origin| {
            Scope::of(&format!("{origin}/{name}"))
        });
        let about = self.about(&path.display().to_string(), scope.clone());
        let file = about.file.clone();
        match read_file(path, &about) {
            Ok(document) => self.read_local(document, scope, origin.is_some()),
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
        let read = move || read_whole(std::io::stdin().lock(), &about);
        let reading = tokio::task::spawn_blocking(read).await;
        match reading.map_err(std::io::Error::other).flatten() {
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
        self.names.by_document(&document);
        if document.kind == Kind::Index && !document.children.is_empty() {
            self.is_index_alone = !follow;
        }
        if follow {
            let from = Next {
                url: document.file.to_string(),
                listing: None,
                scope,
                depth: 0,
                above: Vec::new(),
                permitted: Vec::new(),
            };
            self.follow(&document, &from);
        }
        self.site.add(document, None)
    }
}
