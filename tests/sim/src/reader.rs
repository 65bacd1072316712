//! A reader that polls as a crawler does, at every moment of a history.
//!
//! - Every listed sitemap exists, complete and within the site's limits, whatever settings close meanwhile. The index of a
//!   private site lists nothing.
//! - One ETag means one sequence of bytes, and the other way round. Last-Modified never goes back.
//! - A URL is listed once among each of the pages, the videos and the news. While it moves, or its address passes from one record
//!   to another, it may be listed twice, because a publisher reads segment by segment. An index that lags behind may list an
//!   emptied sitemap. A listed page may say that it has departed. The time for each is limited.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use engine::Env;
use http::Method;
use http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};

use crate::crawler::{Public, is_own};
use crate::document::Response;
use crate::history::SITES;
use crate::runtime::digest_of;
use crate::visitor;

/// The paths of robots.txt, the first index, and every index.
const ROBOTS: &str = "/robots.txt";
const FIRST_INDEX: &str = "/sitemap_index.xml";
const INDEX_STEM: &str = "/sitemap_index";
/// The time limit for the reader's next two looks at all sites.
const LOOKS: Duration = Duration::from_secs(120);
/// The pause between checks whether it has looked.
const WAIT: Duration = Duration::from_millis(50);
/// In one of this number of looks, documents are requested without compression.
const IDENTITY: u64 = 4;
/// In one of this number of looks, listed pages are requested, too. Those that have departed are requested in each.
const PAGES: u64 = 8;

/// The pace of a reader.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The average pause between looks.
    pub pause: Duration,
    /// The time limit for a URL to be in the same two sitemaps, or twice in one, for a listed page to say that it has departed, and for
    /// an empty sitemap in an index. Moves take milliseconds, but calls fail, and machines may be loaded.
    pub transition: Duration,
    /// In one of this number of looks, documents are requested unconditionally. Otherwise the reader revalidates its copies, as
    /// crawlers do, and so sees their bytes less often.
    pub unconditional: u64,
}

/// The expected visibility of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All files that its index lists.
    Open,
    /// It is being closed or opened, so listed files may be empty.
    Changing,
    /// Nothing.
    Closed,
    /// Unknown: something was lost and is not repaired yet.
    Broken,
}

/// A reader's expectations of a site.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The visibility.
    pub seen: Seen,
    /// The most entries of a sitemap.
    pub entries: usize,
    /// The most bytes of a sitemap.
    pub bytes: usize,
    /// Rises with every leap of time. Files that an index listed before a leap may be gone after it, because no cache keeps an
    /// index for as long as histories leap.
    pub leaps: u64,
    /// Rises with every change of the view.
    version: u64,
}

/// The information that a history and its reader exchange.
#[derive(Debug)]
pub struct Board {
    env: Env,
    views: Mutex<[View; SITES.len()]>,
    /// The number of looks at all sites, and the duration of the slowest move.
    seen: Mutex<(u64, Duration)>,
}

impl Board {
    /// Returns a board without expectations for any site.
    #[must_use]
    pub fn new(env: Env) -> Self {
        let view = View {
            seen: Seen::Changing,
            entries: 0,
            bytes: 0,
            leaps: 0,
            version: 0,
        };
        Self {
            env,
            views: Mutex::new([view; SITES.len()]),
            seen: Mutex::default(),
        }
    }

    fn views(&self) -> MutexGuard<'_, [View; SITES.len()]> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn looks(&self) -> MutexGuard<'_, (u64, Duration)> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the expectations for a site.
    fn view(&self, site: usize) -> View {
        self.views()[site]
    }

    /// Changes the expectations for a site.
    pub fn change(&self, site: usize, change: impl FnOnce(&mut View)) {
        let view = &mut self.views()[site];
        change(view);
        view.version += 1;
    }

    /// Allows anything to be seen of all sites from now on, and waits until the reader has noticed.
    ///
    /// # Panics
    ///
    /// If the reader does not look.
    pub async fn break_all(&self) {
        for site in 0..SITES.len() {
            self.change(site, |view| view.seen = Seen::Broken);
        }
        // The current look may have begun before.
        let (begun, _) = self.seen();
        let deadline = self.env.elapsed() + LOOKS;
        while self.seen().0 < begun + 2 {
            assert!(
                self.env.elapsed() < deadline,
                "the reader has not looked twice at all sites within {LOOKS:?}"
            );
            self.env.sleep(WAIT).await;
        }
    }

    /// Returns how often the reader looked at all sites, and for how long it saw the slowest move.
    pub fn seen(&self) -> (u64, Duration) {
        *self.looks()
    }
}

/// A reader with everything that it has seen.
pub struct Reader<P> {
    public: P,
    env: Env,
    pace: Pace,
    board: Arc<Board>,
    /// Whether it reads all indexes that robots.txt names, instead of only the first.
    is_guided: bool,
    looks: u64,
    /// Whether each site has listed anything.
    known: [bool; SITES.len()],
    /// The last version of each document.
    read: BTreeMap<String, Arc<Read>>,
    /// For each path and ETag a digest of the bytes, for each path and digest the ETag, and for each path the Last-Modified.
    bytes: BTreeMap<(String, String), u64>,
    tags: BTreeMap<(String, u64), String>,
    last: BTreeMap<String, SystemTime>,
    /// The moves and emptied sitemaps of each site, with the time since when they are seen.
    since: BTreeMap<(usize, Vec<String>), Duration>,
}

/// A document that was read.
struct Read {
    tag: String,
    /// The sitemaps that an index lists, or the indexes that robots.txt names.
    lines: Vec<String>,
    /// The locs and kinds of a sitemap's entries.
    entries: Vec<(String, &'static str)>,
    bytes: usize,
}

impl<P> fmt::Debug for Reader<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("looks", &self.looks)
            .finish_non_exhaustive()
    }
}

impl<P: Public> Reader<P> {
    /// Returns a reader that has seen nothing yet.
    pub fn new(public: P, env: Env, pace: Pace, board: Arc<Board>) -> Self {
        Self {
            public,
            env,
            pace,
            board,
            is_guided: false,
            looks: 0,
            known: [false; SITES.len()],
            read: BTreeMap::new(),
            bytes: BTreeMap::new(),
            tags: BTreeMap::new(),
            last: BTreeMap::new(),
            since: BTreeMap::new(),
        }
    }

    /// Returns the same reader, which reads every index that robots.txt names, and those that an index lists.
    #[must_use]
    pub fn guided(self) -> Self {
        let is_guided = true;
        Self { is_guided, ..self }
    }

    /// Reads all sites again and again.
    ///
    /// # Panics
    ///
    /// If it sees a violation.
    pub async fn read_for_ever(mut self) -> Infallible {
        loop {
            for site in 0..SITES.len() {
                self.look(site).await;
            }
            self.looks += 1;
            self.board.looks().0 = self.looks;
            let pause = u64::try_from(self.pace.pause.as_micros()).unwrap_or(u64::MAX);
            let pause = Duration::from_micros(self.env.below(2 * pause));
            self.env.sleep(pause).await;
        }
    }

    async fn look(&mut self, site: usize) {
        let before = self.board.view(site);
        if before.seen == Seen::Broken {
            return;
        }
        let Some(index) = self.get(site, FIRST_INDEX).await else {
            assert!(!self.known[site], "the index of {} is gone", SITES[site]);
            return;
        };
        let origin = format!("https://{}", SITES[site]);
        let lines = &self.sitemaps(site, before, &origin, index).await;
        self.known[site] |= !lines.is_empty();
        let closed = before.seen == Seen::Closed && !self.changed_since(site, before);
        assert!(
            !closed || lines.is_empty(),
            "{origin} is private: {lines:?}"
        );
        let mut sitemaps: BTreeMap<(String, &'static str), Vec<String>> = BTreeMap::new();
        let mut passing = Vec::new();
        // Nobody but their own publishers keeps the sitemaps of others.
        for sitemap in lines.iter().filter(|loc| is_own(SITES[site], loc)) {
            let path = sitemap.strip_prefix(&origin).expect("on the site");
            let Some(read) = self.get(site, path).await else {
                self.must_be_excused(site, before, sitemap);
                continue;
            };
            let now = self.board.view(site);
            let (count, bytes) = (read.entries.len(), read.bytes);
            assert!(
                count <= before.entries.max(now.entries),
                "{sitemap} has {count} entries"
            );
            assert!(
                bytes <= before.bytes.max(now.bytes),
                "{sitemap} has {bytes} bytes"
            );
            if read.entries.is_empty() {
                passing.push(vec![path.to_owned()]);
            }
            for entry in &read.entries {
                let all = sitemaps.entry(entry.clone()).or_default();
                all.push(path.to_owned());
            }
        }
        let pages: BTreeSet<&str> = sitemaps.keys().map(|(loc, _)| &**loc).collect();
        for loc in pages {
            let seen = vec![loc.to_owned(), "departed".to_owned()];
            let is_due = self.looks.is_multiple_of(PAGES);
            if (is_due || self.since.contains_key(&(site, seen.clone())))
                && visitor::has_departed(&self.public, SITES[site], loc).await == Some(true)
            {
                passing.push(seen);
            }
        }
        let doubles = sitemaps.into_iter().filter(|(_, paths)| paths.len() > 1);
        passing
            .extend(doubles.map(|((loc, _), paths)| std::iter::once(loc).chain(paths).collect()));
        self.bound(site, passing);
    }

    /// Returns the sitemaps that a site lists, each once: in its first index, and if the reader is guided in the others.
    async fn sitemaps(
        &mut self,
        site: usize,
        before: View,
        origin: &str,
        first: Arc<Read>,
    ) -> Vec<String> {
        let mut sitemaps = first.lines.clone();
        if !self.is_guided {
            return sitemaps;
        }
        let robots = self.get(site, ROBOTS).await;
        let named = robots.iter().flat_map(|robots| robots.lines.clone());
        let listed = first.lines.iter().cloned();
        let stem = format!("{origin}{INDEX_STEM}");
        let indexes: BTreeSet<String> = named
            .chain(listed)
            .filter(|loc| loc.starts_with(&stem))
            .collect();
        for index in indexes {
            let path = index.strip_prefix(origin).expect("on the site");
            match self.get(site, path).await {
                Some(read) => sitemaps.extend(read.lines.iter().cloned()),
                None => self.must_be_excused(site, before, &index),
            }
        }
        // A sitemap that moves to another index is listed in both for a time.
        let mut seen = BTreeSet::new();
        sitemaps.retain(|loc| !loc.starts_with(&stem) && seen.insert(loc.clone()));
        sitemaps
    }

    /// Checks that a listed sitemap that is missing is lost, or was emptied so long ago that it no longer exists.
    fn must_be_excused(&self, site: usize, before: View, what: &str) {
        let now = self.board.view(site);
        let excused = now.leaps != before.leaps || now.seen == Seen::Broken;
        assert!(excused, "{what} is listed and not there");
    }

    fn changed_since(&self, site: usize, before: View) -> bool {
        self.board.view(site).version != before.version
    }

    /// Compares the visible moves with the earlier ones, and checks their time limit.
    fn bound(&mut self, site: usize, passing: Vec<Vec<String>>) {
        let passing: BTreeSet<_> = passing.into_iter().map(|what| (site, what)).collect();
        self.since
            .retain(|what, _| what.0 != site || passing.contains(what));
        for what in passing {
            let now = self.env.elapsed();
            let since = self.since.entry(what.clone()).or_insert(now);
            let elapsed = now.saturating_sub(*since);
            let mut seen = self.board.looks();
            seen.1 = elapsed.max(seen.1);
            drop(seen);
            assert!(
                elapsed < self.pace.transition,
                "for {elapsed:?}, listed twice, departed or empty: {what:?}"
            );
        }
    }

    /// Returns the document at a path. Returns `None` if there is none.
    async fn get(&mut self, site: usize, path: &str) -> Option<Arc<Read>> {
        let encoding = if self.looks.is_multiple_of(IDENTITY) {
            "identity"
        } else {
            "gzip"
        };
        let what = format!("{}{path} as {encoding}", SITES[site]);
        let read = self.read.get(&what).cloned();
        let read = read.filter(|_| !self.looks.is_multiple_of(self.pace.unconditional));
        let unless = read.as_ref().map_or("", |read| &read.tag);
        let mut headers = vec![(ACCEPT_ENCODING.as_str(), encoding)];
        headers.extend((!unless.is_empty()).then_some((IF_NONE_MATCH.as_str(), unless)));
        let request = self
            .public
            .request(SITES[site], Method::GET, path, &headers);
        let response = request.await;
        match (response.status, read) {
            (404, _) => None,
            (304, Some(read)) => {
                assert_eq!(response.header("etag"), read.tag, "{what}: ETag of a 304");
                Some(read)
            }
            (200, _) => {
                self.validate(what.clone(), &response);
                let read = Arc::new(Read::of(path, &response));
                self.read.insert(what, Arc::clone(&read));
                Some(read)
            }
            (status, _) => panic!("{what}: status {status}"),
        }
    }

    /// Checks that one ETag means the same bytes, that the same bytes have one ETag, and that Last-Modified does not go back.
    fn validate(&mut self, what: String, response: &Response) {
        let bytes = digest_of(&response.sent);
        let tag = response.header("etag").to_owned();
        let under_tag = self.bytes.entry((what.clone(), tag.clone()));
        assert_eq!(
            *under_tag.or_insert(bytes),
            bytes,
            "{what}: other bytes under {tag}"
        );
        let of_bytes = self.tags.entry((what.clone(), bytes));
        assert_eq!(
            *of_bytes.or_insert(tag.clone()),
            tag,
            "{what}: another ETag of the same bytes"
        );
        let modified = httpdate::parse_http_date(response.header("last-modified"));
        let modified = modified.expect("a date");
        let before = self.last.insert(what.clone(), modified);
        assert!(before <= Some(modified), "{what}: Last-Modified goes back");
    }
}

impl Read {
    fn of(path: &str, response: &Response) -> Self {
        let (mut lines, mut entries) = (Vec::new(), Vec::new());
        if path == ROBOTS {
            let text = String::from_utf8_lossy(&response.body);
            let named = text
                .lines()
                .filter_map(|line| line.strip_prefix("Sitemap: "));
            lines.extend(named.map(str::to_owned));
        } else if path.starts_with(INDEX_STEM) {
            lines.extend(response.index().into_iter().map(|(sitemap, _)| sitemap));
        } else {
            let urlset = response.urlset(path).into_iter();
            entries.extend(urlset.map(|(loc, entry)| (loc, entry.kind())));
        }
        Self {
            tag: response.header("etag").to_owned(),
            lines,
            entries,
            bytes: response.body.len(),
        }
    }
}
