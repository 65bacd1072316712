//! A reader that polls as a crawler does, at every moment of a history.
//!
//! - What an index lists is there, whole, and within the site's limits, whatever settings close meanwhile. The index of a
//!   private site lists nothing.
//! - Under one ETag there is one sequence of bytes, and the other way round. Last-Modified never goes back.
//! - A URL stands once, and once each of the pages', the videos' and the news'. While it moves, or its address passes from one
//!   record to another, it may stand twice, since a publisher reads segment by segment; and while an index lags behind it may
//!   list an emptied sitemap: for a time that is bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use engine::Env;
use http::Method;
use http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};

use crate::crawler::Public;
use crate::document::Response;
use crate::history::SITES;
use crate::runtime::digest_of;

/// Where robots.txt, the first index, and every index are.
const ROBOTS: &str = "/robots.txt";
const FIRST_INDEX: &str = "/sitemap_index.xml";
const INDEX_STEM: &str = "/sitemap_index";
/// How long the reader may take for two looks at all sites.
const LOOKS: Duration = Duration::from_secs(120);
/// How often is asked whether it has.
const WAIT: Duration = Duration::from_millis(50);
/// Every so many looks the documents are asked for as they are, and not compressed.
const IDENTITY: u64 = 4;

/// How a reader reads.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The pause between looks, on average.
    pub pause: Duration,
    /// How long a URL may stand in the same two sitemaps, or twice in one, or an empty sitemap in an index. Moves take
    /// milliseconds, but calls fail, and machines have much else to do.
    pub transition: Duration,
    /// Every so many looks the documents are asked for whether they have changed or not. Else the reader names the version
    /// that it has, as crawlers do, and so sees their bytes less often.
    pub unconditional: u64,
}

/// What may be seen of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All that its index lists.
    Open,
    /// It is being closed or opened: what is listed may be empty.
    Changing,
    /// Nothing.
    Closed,
    /// Anything: something was lost, and is not made good yet.
    Broken,
}

/// What a reader may expect of a site.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// What may be seen.
    pub seen: Seen,
    /// Entries of a sitemap, at most.
    pub entries: usize,
    /// Bytes of a sitemap, at most.
    pub bytes: usize,
    /// Rises with every leap of time. What an index listed before one may be gone after it: no cache has an index for as
    /// long as histories leap.
    pub leaps: u64,
    /// Rises with every change of the view.
    version: u64,
}

/// What a history tells its reader, and the reader of itself.
#[derive(Debug)]
pub struct Board {
    env: Env,
    views: Mutex<[View; SITES.len()]>,
    /// Looks at all sites, and the slowest move.
    seen: Mutex<(u64, Duration)>,
}

impl Board {
    /// Returns a board that says of no site what may be seen.
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

    /// Returns what may be seen of a site.
    fn view(&self, site: usize) -> View {
        self.views()[site]
    }

    /// Changes that.
    pub fn change(&self, site: usize, change: impl FnOnce(&mut View)) {
        let view = &mut self.views()[site];
        change(view);
        view.version += 1;
    }

    /// Lets anything be seen of all sites from now on, and waits until the reader knows.
    ///
    /// # Panics
    ///
    /// If the reader does not look.
    pub async fn break_all(&self) {
        for site in 0..SITES.len() {
            self.change(site, |view| view.seen = Seen::Broken);
        }
        // The look under way may have begun before.
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

/// A reader, and what it has seen.
pub struct Reader<P> {
    public: P,
    env: Env,
    pace: Pace,
    board: Arc<Board>,
    /// Whether it reads the indexes that robots.txt names, and not only the first.
    is_guided: bool,
    looks: u64,
    /// Whether anything was listed by each site.
    known: [bool; SITES.len()],
    /// What was read last, by what it is.
    read: BTreeMap<String, Arc<Read>>,
    /// For each path and ETag a digest of the bytes, for each path and digest the ETag, and for each path Last-Modified.
    bytes: BTreeMap<(String, String), u64>,
    tags: BTreeMap<(String, u64), String>,
    last: BTreeMap<String, SystemTime>,
    /// What is being moved or emptied, by site, and since when it is seen.
    since: BTreeMap<(usize, Vec<String>), Duration>,
}

/// A document that was read.
struct Read {
    tag: String,
    /// The sitemaps that an index lists, or the indexes that robots.txt names.
    lines: Vec<String>,
    /// The locs and kinds that a sitemap has.
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

    /// Reads all sites, again and again.
    ///
    /// # Panics
    ///
    /// If it sees what a crawler must not.
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
        for sitemap in lines {
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
        // One that moves to another index is listed in both for a time.
        let mut seen = BTreeSet::new();
        sitemaps.retain(|loc| !loc.starts_with(&stem) && seen.insert(loc.clone()));
        sitemaps
    }

    /// Checks that what is listed and missing is lost, or was emptied so long ago that it no longer exists.
    fn must_be_excused(&self, site: usize, before: View, what: &str) {
        let now = self.board.view(site);
        let excused = now.leaps != before.leaps || now.seen == Seen::Broken;
        assert!(excused, "{what} is listed and not there");
    }

    fn changed_since(&self, site: usize, before: View) -> bool {
        self.board.view(site).version != before.version
    }

    /// Holds what is seen of moves against what was seen of them before.
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
                "for {elapsed:?}, listed twice or empty: {what:?}"
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

    /// Checks that one ETag means the same bytes, that the same bytes have one ETag, and that time goes on.
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
