//! A reader that polls as a crawler does, at every moment of a history.
//!
//! - What an index lists is there, whole, and within the site's limits, whatever settings close meanwhile. The index of a
//!   private site lists nothing.
//! - Under one ETag there is one sequence of bytes, and the other way round. Last-Modified never goes back.
//! - In one sitemap a URL stands once, and in one each of the pages', the videos' and the news'. While it moves it may stand
//!   in two, and while an index lags behind it may list an emptied sitemap: for a time that is bounded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use harness::{Crawler, Response};
use http::Method;
use http::header::ACCEPT_ENCODING;

use sim::history::SITES;

/// How long the reader may take for two looks at all sites.
const LOOKS: Duration = Duration::from_secs(120);
/// The pause between looks.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a URL may stand in the same two sitemaps, or an empty sitemap in an index. Moves take milliseconds; a
/// machine that has much else to do, with calls that fail, takes seconds.
const TRANSITION: Duration = Duration::from_secs(60);
/// Every so many looks the documents are asked for as they are, and not compressed.
const IDENTITY: u64 = 4;

/// What may be seen of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
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
pub(super) struct View {
    pub(super) seen: Seen,
    /// Entries of a sitemap, at most.
    pub(super) entries: usize,
    /// Bytes of a sitemap, at most.
    pub(super) bytes: usize,
    /// Rises with every leap of time. What an index listed before one may be gone after it: no cache has an index for as
    /// long as histories leap.
    pub(super) leaps: u64,
    /// Rises with every change of the view.
    version: u64,
}

/// What a history tells its reader, and the reader of itself.
#[derive(Debug)]
pub(super) struct Board {
    views: Mutex<[View; SITES.len()]>,
    /// Looks at all sites, and the slowest move.
    seen: Mutex<(u64, Duration)>,
}

impl Default for Board {
    fn default() -> Self {
        let view = View {
            seen: Seen::Changing,
            entries: 0,
            bytes: 0,
            leaps: 0,
            version: 0,
        };
        Self {
            views: Mutex::new([view; SITES.len()]),
            seen: Mutex::default(),
        }
    }
}

impl Board {
    /// What may be seen of a site.
    fn view(&self, site: usize) -> View {
        self.views.lock().unwrap()[site]
    }

    /// Changes that.
    pub(super) fn change(&self, site: usize, change: impl FnOnce(&mut View)) {
        let view = &mut self.views.lock().unwrap()[site];
        change(view);
        view.version += 1;
    }

    /// Lets anything be seen of all sites from now on, and waits until the reader knows.
    pub(super) async fn break_all(&self) {
        for site in 0..SITES.len() {
            self.change(site, |view| view.seen = Seen::Broken);
        }
        // The look under way may have begun before.
        let (begun, _) = self.seen();
        let deadline = Instant::now() + LOOKS;
        while self.seen().0 < begun + 2 {
            assert!(
                Instant::now() < deadline,
                "the reader has not looked twice at all sites within {LOOKS:?}"
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// How often the reader looked at all sites, and for how long it saw the slowest move.
    pub(super) fn seen(&self) -> (u64, Duration) {
        *self.seen.lock().unwrap()
    }
}

/// A reader, and what it has seen.
pub(super) struct Reader {
    crawler: Crawler,
    board: Arc<Board>,
    looks: u64,
    /// Whether anything was listed by each site.
    known: [bool; SITES.len()],
    /// For each path and ETag a hash of the bytes, for each path and hash the ETag, and for each path Last-Modified.
    bytes: HashMap<(String, String), u64>,
    tags: HashMap<(String, u64), String>,
    last: HashMap<String, SystemTime>,
    /// What is being moved or emptied, by site, and since when it is seen.
    since: HashMap<(usize, Vec<String>), Instant>,
}

impl Reader {
    pub(super) fn new(crawler: Crawler, board: Arc<Board>) -> Self {
        Self {
            crawler,
            board,
            looks: 0,
            known: [false; SITES.len()],
            bytes: HashMap::new(),
            tags: HashMap::new(),
            last: HashMap::new(),
            since: HashMap::new(),
        }
    }

    /// Reads all sites, again and again.
    ///
    /// # Panics
    ///
    /// If it sees what a crawler must not.
    pub(super) async fn read_for_ever(mut self) -> Infallible {
        loop {
            for site in 0..SITES.len() {
                self.look(site).await;
            }
            self.looks += 1;
            self.board.seen.lock().unwrap().0 = self.looks;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn look(&mut self, site: usize) {
        let before = self.board.view(site);
        if before.seen == Seen::Broken {
            return;
        }
        let index = self.get(site, "/sitemap_index.xml").await;
        if index.status == 404 {
            assert!(!self.known[site], "the index of {} is gone", SITES[site]);
            return;
        }
        let lines = index.index();
        let origin = format!("https://{}", SITES[site]);
        self.known[site] |= !lines.is_empty();
        let closed = before.seen == Seen::Closed && !self.changed_since(site, before);
        assert!(
            !closed || lines.is_empty(),
            "{origin} is private: {lines:?}"
        );
        let mut sitemaps: BTreeMap<(String, &'static str), BTreeSet<String>> = BTreeMap::new();
        let mut passing = Vec::new();
        for (sitemap, _) in lines {
            let path = sitemap.strip_prefix(&origin).expect("on the site");
            let response = self.get(site, path).await;
            if response.status == 404 {
                let now = self.board.view(site);
                let excused = now.leaps != before.leaps || now.seen == Seen::Broken;
                assert!(excused, "{sitemap} is listed and not there");
                continue;
            }
            let entries = response.urlset(path);
            let now = self.board.view(site);
            let (count, bytes) = (entries.len(), response.body.len());
            assert!(
                count <= before.entries.max(now.entries),
                "{sitemap} has {count} entries"
            );
            assert!(
                bytes <= before.bytes.max(now.bytes),
                "{sitemap} has {bytes} bytes"
            );
            if entries.is_empty() {
                passing.push(vec![path.to_owned()]);
            }
            for (loc, entry) in entries {
                let others = sitemaps.entry((loc, entry.kind())).or_default();
                assert!(
                    others.insert(path.to_owned()),
                    "{sitemap} lists a URL twice"
                );
            }
        }
        let doubles = sitemaps.into_iter().filter(|(_, paths)| paths.len() > 1);
        passing
            .extend(doubles.map(|((loc, _), paths)| std::iter::once(loc).chain(paths).collect()));
        self.bound(site, passing);
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
            let since = self.since.entry(what.clone()).or_insert_with(Instant::now);
            let elapsed = since.elapsed();
            let slowest = &mut self.board.seen.lock().unwrap().1;
            *slowest = elapsed.max(*slowest);
            assert!(
                elapsed < TRANSITION,
                "for {TRANSITION:?}, in two sitemaps or empty: {what:?}"
            );
        }
    }

    async fn get(&mut self, site: usize, path: &str) -> Response {
        let crawler = self.crawler.of(SITES[site]);
        let encoding = if self.looks.is_multiple_of(IDENTITY) {
            "identity"
        } else {
            "gzip"
        };
        let headers = [(ACCEPT_ENCODING.as_str(), encoding)];
        let response = crawler.request(Method::GET, path, &headers).await;
        let what = format!("{}{path} as {encoding}", SITES[site]);
        match response.status {
            200 => self.validate(what, &response),
            status => assert_eq!(status, 404, "{what}"),
        }
        response
    }

    /// One ETag, the same bytes; the same bytes, one ETag; and time goes on.
    fn validate(&mut self, what: String, response: &Response) {
        let mut hasher = DefaultHasher::new();
        response.sent.hash(&mut hasher);
        let bytes = hasher.finish();
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
