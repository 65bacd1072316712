//! Reads the documents of a target one after the other. Each is requested and judged, and what it lists is queued.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use check::document::{About, Document, Kind};
use check::findings::{Finding, Position};
use check::listing::sort::SortError;
use check::page::response::End;
use check::rules::Rule;
use check::site::yoast_names::Name;
use check::site::{Listing, Site};
use check::url::{Scope, origin_of};
use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use sitemap::loc::normalized;

use super::hint::Names;
use super::next::Next;
use super::others::settle;
use crate::check::limits::{Limit, Limits, over};
use crate::check::probe::Probed;
use crate::check::robots::{Hosts, Known};
use crate::fetch::body::TIMEOUT;
use crate::fetch::client::{Client, Fetched, MAX_REDIRECTS, too_many_redirects};
use crate::fetch::origin::{Origin, get};
use crate::terminal::progress::{Progress, Unit};

/// Indexes inside each other that are followed: an index in an index is a finding, and no reason to stop.
pub(crate) const MAX_DEPTH: u32 = 3;

/// Returns whether the time limit of one response ended it for this reason.
fn is_timeout(why: &str) -> bool {
    why.ends_with(&format!("({TIMEOUT})"))
}

/// A target that is looked at.
pub(super) struct Walk<'a> {
    pub(super) origin: Origin<'a>,
    pub(super) client: &'a Client,
    /// The hosts that the documents name.
    pub(super) names: Names,
    pub(super) limits: &'a Limits,
    pub(super) site: Site,
    pub(super) robots: Known,
    pub(super) waiting: VecDeque<Next>,
    /// Sitemaps that are looked at if no index lists them.
    pub(super) later: VecDeque<String>,
    pub(super) seen: HashSet<String>,
    pub(super) probed: Probed,
    /// An index is checked by its own address, so that nothing else says whether robots.txt names it.
    pub(super) wants_index_named: bool,
    /// A limit ended the walk: an index alone says nothing then.
    pub(super) is_cut: bool,
    /// The target is an index whose sitemaps are not looked at.
    pub(super) is_index_alone: bool,
}

impl Walk<'_> {
    pub(super) fn about(&self, file: &str, scope: Scope) -> About {
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

    pub(super) fn found(
        &mut self,
        rule: Rule,
        file: &Arc<str>,
        at: Option<Position>,
        message: String,
    ) {
        self.site.findings().add(rule, || Finding {
            rule,
            file: file.clone(),
            at,
            message,
            invalid: false,
        });
    }

    /// Adds a document to look at. `above`: the indexes that lead to it.
    pub(super) fn push(
        &mut self,
        url: &str,
        listing: Option<Listing>,
        scope: Scope,
        above: &[String],
    ) {
        if self.seen.insert(normalized(url).into_owned()) {
            self.waiting.push_back(Next {
                url: url.to_owned(),
                listing,
                scope,
                depth: u32::try_from(above.len()).unwrap_or(u32::MAX),
                above: above.to_vec(),
                permitted: Vec::new(),
            });
        }
    }

    /// Looks at all that waits, in order, some of it together.
    pub(super) async fn run(
        &mut self,
        name: &Arc<str>,
        hosts: &Hosts<'_>,
    ) -> Result<(), SortError> {
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
                let rest = "the other sitemaps were not checked";
                over(
                    name,
                    "the sitemaps",
                    rest,
                    self.client,
                    self.site.findings(),
                );
                self.is_cut = true;
                return Ok(());
            }
            self.take(&next, fetched)?;
            if self.site.totals().urls > self.limits.max_urls {
                let message = format!(
                    "has more than {} URLs (--max-urls): the rest was not checked",
                    self.limits.max_urls
                );
                self.found(Rule::CheckLimits, name, None, message);
                let limit = Limit(self.limits.max_urls, "URLs of a target", Some("--max-urls"));
                let rest = "the other sitemaps were not checked";
                limit.reached(name, rest, self.site.findings());
                return Ok(());
            }
        }
        if !self.waiting.is_empty() || !self.later.is_empty() {
            let message = format!(
                "has more than {} sitemaps (--max-sitemaps): the rest was not checked",
                self.limits.max_sitemaps
            );
            self.found(Rule::CheckLimits, name, None, message);
            let limit = Limit(
                self.limits.max_sitemaps,
                "sitemaps and indexes of a target",
                Some("--max-sitemaps"),
            );
            let rest = "the other sitemaps were not checked";
            limit.reached(name, rest, self.site.findings());
            self.is_cut = true;
        }
        Ok(())
    }

    /// Judges the answer for a document, and queues the children of an index.
    pub(super) fn take(&mut self, next: &Next, fetched: Fetched) -> Result<(), SortError> {
        let file: Arc<str> = next.url.as_str().into();
        let cut = fetched.response.as_ref().map(|response| &response.end);
        let is_late = match cut {
            Some(End::Cut(how)) => is_timeout(how),
            _ => is_timeout(&fetched.failure),
        };
        if is_late {
            let seconds = self.client.timeout().as_secs();
            let limit = Limit(seconds, "seconds for a response", Some(TIMEOUT));
            let rest = "the rest of the document was not read";
            limit.reached(&file, rest, self.site.findings());
        }
        if let Some(response) = &fetched.response {
            response.judge(&file, fetched.document.as_ref(), self.site.findings());
        }
        let Some(document) = fetched.document else {
            let is_gone = fetched
                .response
                .as_ref()
                .is_some_and(|response| matches!(response.status, 404 | 410));
            let failure = fetched.failure;
            if failure == too_many_redirects() {
                let limit = Limit(MAX_REDIRECTS as u64, "redirects", None);
                let rest = "the document was not read";
                limit.reached(&file, rest, self.site.findings());
            }
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
        self.names.by_document(&document);
        self.names.permit(&next.permitted);
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
                let message =
                    format!("is nested in more than {MAX_DEPTH} indexes, so it was not read");
                self.found(Rule::CheckLimits, &file, None, message);
                let limit = Limit(MAX_DEPTH.into(), "nested indexes", None);
                let rest = "what it lists was not checked";
                limit.reached(&file, rest, self.site.findings());
                self.is_cut = true;
            }
        }
        let listing = next.listing.as_ref().filter(|_| next.depth > 0);
        self.site.add(document, listing)
    }

    /// Checks that a sitemap in an index has a name of Yoast's form.
    fn naming(&mut self, next: &Next, document: &Document) {
        let (Kind::Sitemap, Some(listing)) = (document.kind, &next.listing) else {
            return;
        };
        if next.depth > 0 && !Name::of(&next.url).is_some_and(|name| name.is_right()) {
            let message = format!("{} is not {{type}}-sitemap{{n}}.xml", document.file);
            self.found(Rule::IndexNaming, &listing.index, listing.at, message);
        }
    }

    pub(super) fn follow(&mut self, index: &Document, from: &Next) {
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
