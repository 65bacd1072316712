//! Reads all pages of a target.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Read};
use std::sync::Arc;

use check::document::{Kind, Transfer};
use check::findings::{Findings, Policy};
use check::listing::{Listed, Outline, PageError, Reading, read, read_entries};
use check::robots::Robots;
use check::url::{origin_of, path_of};
use engine::SitemapTable;
use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use sitemap::loc::normalized;
use sitemap::site::MAX_ENTRIES;

use super::error::ListingError;
use super::pages::Pages;
use super::target::{Place, Target};
use crate::check::crawl::MAX_DEPTH;
use crate::check::{names, robots};
use crate::fetch::client::{Client, is_absent};
use crate::terminal::output::note;
use crate::terminal::progress::{Progress, Unit};

/// Sitemaps and indexes of a side that are read: an index of as many as the protocol lets it have.
const MAX_SITEMAPS: usize = MAX_ENTRIES as usize + 1;

/// Documents without entries that a message names.
const MAX_SHOWN: usize = 3;

/// Reads targets, with these options.
#[derive(Debug)]
pub struct Reader<'a> {
    /// Asks over HTTP.
    pub client: &'a Client,
    /// How a document is read.
    pub reading: Arc<Reading>,
    /// Documents that are read together.
    pub jobs: usize,
    /// A side's sitemaps are asked for at its own origin, whatever host names them.
    pub same_origin: bool,
}

/// A document to read.
#[derive(Debug)]
struct Next {
    url: String,
    file: u32,
    depth: u32,
}

/// What came of a document.
enum Came {
    /// The sitemaps of an index, or none of a sitemap, and what was odd.
    Read(Vec<String>, Outline),
    /// There is none, or it is no sitemap.
    Absent(String),
    Failed(String),
    Sort(io::Error),
}

struct Walk<'a> {
    reader: &'a Reader<'a>,
    target: &'a Target,
    pages: &'a Arc<dyn Pages>,
    waiting: VecDeque<Next>,
    seen: HashSet<String>,
    /// Hosts of which it was said that they are others.
    hosts: HashSet<String>,
    /// Pages that were listed, whether they are compared or not.
    listed: u64,
    /// What was read that lists none.
    empty: Vec<String>,
}

impl Reader<'_> {
    /// Reads all pages of a side.
    ///
    /// # Errors
    ///
    /// If any document of it cannot be read whole.
    pub async fn read(&self, target: &Target, pages: &Arc<dyn Pages>) -> Result<(), ListingError> {
        let mut walk = Walk {
            reader: self,
            target,
            pages,
            waiting: VecDeque::new(),
            seen: HashSet::new(),
            hosts: HashSet::new(),
            listed: 0,
            empty: Vec::new(),
        };
        match target {
            Target::Site(origin) => walk.begin(origin).await?,
            Target::Folder(_) | Target::Bucket(_, None) => walk.begin("").await?,
            Target::Sitemap(url) | Target::Bucket(_, Some(url)) => walk.push(url.clone(), 0)?,
            Target::File(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                walk.push(name.into_owned(), 0)?;
            }
        }
        walk.run().await?;
        walk.lists_something()
    }

    /// Reads what a site's tables list. `is_none`: the names of its sitemaps say nothing.
    ///
    /// # Errors
    ///
    /// If a table fails, or an entry in it is damaged.
    pub async fn read_table(
        &self,
        table: &SitemapTable,
        site: &str,
        is_none: bool,
        pages: &dyn Pages,
    ) -> Result<(), ListingError> {
        let mut progress = Progress::begin(&format!("reading {site}"), Unit::Things("URLs"), None);
        let before = pages.count();
        let mut last = (String::new(), 0);
        for (shard, segment) in table.segments_of(site).await? {
            let name = shard.object().path();
            if last.0 != name {
                last = (name.clone(), pages.file(&name, is_none));
            }
            let rows = table.segment(&shard, segment).await?;
            let unread = |why: String| ListingError::Unread {
                file: name.clone(),
                why,
            };
            let xml = String::from_utf8(rows.xml).map_err(|error| unread(error.to_string()))?;
            let taken = read_entries(&xml, &self.reading, |listed| match listed {
                Listed::Page(page) => pages.add(last.1, page),
                Listed::Sitemap(_) => Ok(()),
            });
            match taken {
                Ok(_) => progress.reach(pages.count() - before),
                Err(PageError::Take(error)) => return Err(pages.sort_error(error).into()),
                Err(error) => return Err(unread(error.to_string())),
            }
        }
        Ok(())
    }
}

impl Walk<'_> {
    fn unread(&self, url: &str, why: String) -> ListingError {
        ListingError::Unread {
            file: self.shown(url),
            why,
        }
    }

    fn shown(&self, url: &str) -> String {
        match self.target.place(url) {
            Some(Place::File(path)) => path.display().to_string(),
            Some(Place::Object(bucket, path)) => bucket.shown(&path),
            Some(Place::Web) | None => url.to_owned(),
        }
    }

    fn push(&mut self, url: String, depth: u32) -> Result<(), ListingError> {
        if !self.seen.insert(normalized(&url).into_owned()) {
            return Ok(());
        }
        if self.seen.len() > MAX_SITEMAPS {
            return Err(ListingError::TooMany {
                target: self.target.name(),
                limit: MAX_SITEMAPS,
            });
        }
        let normal = normalized(&url);
        if let Target::Site(own) | Target::Sitemap(own) = self.target
            && let (Some(own), Some(origin)) = (origin_of(own), origin_of(&normal))
            && own != origin
            && !self.reader.same_origin
            && self.hosts.insert(origin.to_owned())
        {
            note(format!(
                "waymark: {own} lists sitemaps on {origin}, and they are read there; --same-origin reads them on \
                 {own}"
            ));
        }
        // The name of a sitemap that was asked for says nothing.
        let is_asked_for = depth == 0
            && !matches!(
                self.target,
                Target::Site(_) | Target::Folder(_) | Target::Bucket(_, None)
            );
        let file = self.pages.file(&self.shown(&url), is_asked_for);
        self.waiting.push_back(Next { url, file, depth });
        Ok(())
    }

    /// Begins with the sitemaps that robots.txt names, or else with the first of the usual names.
    async fn begin(&mut self, origin: &str) -> Result<(), ListingError> {
        let url = format!("{origin}/robots.txt");
        let answer = match self.target.place(&url) {
            Some(Place::File(path)) => robots::on_disk(&path),
            Some(Place::Object(bucket, path)) => robots::in_bucket(bucket, &path).await,
            Some(Place::Web) | None => robots::over_http(self.reader.client, &url).await,
        };
        let text = match answer {
            robots::Came::Text(text, _) => Some(text),
            robots::Came::Absent(_) => None,
            // It may name sitemaps.
            robots::Came::Unknown(why) | robots::Came::Silent(why) => {
                return Err(self.unread(&url, why));
            }
        };
        let mut findings = Findings::new(Arc::new(Policy::default()));
        let read = text.map(|text| Robots::read(&text, &url.as_str().into(), &mut findings));
        let named = read.map(|robots| robots.sitemaps).unwrap_or_default();
        for (url, _) in &named {
            self.push(url.clone(), 0)?;
        }
        if !named.is_empty() {
            return Ok(());
        }
        let is_site = matches!(self.target, Target::Site(_));
        for name in names::usual(is_site) {
            let url = format!("{origin}{name}");
            let file = self.pages.file(&self.shown(&url), false);
            match self.document(&url, file).await {
                Came::Absent(_) => {}
                came => return self.take(&url, came, 0),
            }
        }
        if let Target::Folder(folder) = self.target {
            let found = names::in_folder(folder).map_err(|why| self.unread("", why))?;
            if !found.is_empty() {
                return found.into_iter().try_for_each(|url| self.push(url, 0));
            }
        }
        Err(ListingError::NoSitemaps {
            target: self.target.name(),
            names: names::listed(is_site),
        })
    }

    /// Reads all that waits, in order, some of it together.
    async fn run(&mut self) -> Result<(), ListingError> {
        let name = self.target.name();
        let mut progress = Progress::begin(&format!("reading {name}"), Unit::Things("URLs"), None);
        let before = self.pages.count();
        let mut under_way = FuturesOrdered::new();
        loop {
            while under_way.len() < self.reader.jobs.max(1)
                && let Some(next) = self.waiting.pop_front()
            {
                let reading = Self::read(self.reader, self.target, self.pages.clone(), next);
                under_way.push_back(reading);
            }
            let Some((next, came)) = under_way.next().await else {
                return Ok(());
            };
            self.take(&next.url, came, next.depth)?;
            progress.reach(self.pages.count() - before);
        }
    }

    fn take(&mut self, url: &str, came: Came, depth: u32) -> Result<(), ListingError> {
        let children = match came {
            Came::Read(children, outline) => {
                self.report(url, outline);
                children
            }
            Came::Absent(why) | Came::Failed(why) => return Err(self.unread(url, why)),
            Came::Sort(error) => return Err(self.pages.sort_error(error).into()),
        };
        if depth >= MAX_DEPTH && !children.is_empty() {
            let why = format!("is nested in more than {MAX_DEPTH} indexes");
            return Err(self.unread(url, why));
        }
        children
            .into_iter()
            .try_for_each(|child| self.push(child, depth + 1))
    }

    /// Rejects a side without a page: as the first side it would hide every loss.
    fn lists_something(&self) -> Result<(), ListingError> {
        if self.listed > 0 {
            return Ok(());
        }
        let mut what = self.empty.join(", ");
        if what.is_empty() {
            what.push_str("it is an index that lists only itself");
        }
        let target = self.target.name();
        Err(ListingError::Nothing { target, what })
    }

    /// Reports a document that was read, but is not as it should be.
    fn report(&mut self, url: &str, outline: Outline) {
        let file = self.shown(url);
        let what = match outline.kind {
            Kind::Index => "an index",
            Kind::Rss | Kind::Atom => "a feed",
            Kind::Text => "a list of URLs",
            _ => "a sitemap",
        };
        if outline.kind != Kind::Index {
            self.listed += outline.listed;
        }
        if outline.listed == 0 && self.empty.len() < MAX_SHOWN {
            self.empty.push(format!("{file} is {what} without entries"));
        }
        if outline.is_foreign {
            note(format!(
                "waymark: {file}: its root element is not in the sitemap namespace; it was read anyway"
            ));
        }
        if outline.without_address > 0 {
            let count = outline.without_address;
            let what = if outline.kind == Kind::Text {
                "lines are not URLs"
            } else {
                "entries have no address"
            };
            note(format!(
                "waymark: {file}: {count} of its {what}, and are not compared"
            ));
        }
        if outline.passed_over > 0 {
            let count = outline.passed_over;
            note(format!(
                "waymark: {file}: {count} of its elements are not entries, and were skipped"
            ));
        }
    }

    async fn read(
        reader: &Reader<'_>,
        target: &Target,
        pages: Arc<dyn Pages>,
        next: Next,
    ) -> (Next, Came) {
        let came = document(reader, target, pages, &next.url, next.file).await;
        (next, came)
    }

    async fn document(&self, url: &str, file: u32) -> Came {
        document(self.reader, self.target, self.pages.clone(), url, file).await
    }
}

async fn document(
    reader: &Reader<'_>,
    target: &Target,
    pages: Arc<dyn Pages>,
    url: &str,
    file: u32,
) -> Came {
    let reading = reader.reading.clone();
    let address = url.to_owned();
    let limit = reading.max_bytes;
    let listed = move |body: Box<dyn Read + Send>, transfer: Transfer| {
        let reading = Reading {
            transfer,
            address,
            ..(*reading).clone()
        };
        let mut children = Vec::new();
        let read = read(body, &reading, |listed| {
            match listed {
                Listed::Page(page) => pages.add(file, page)?,
                Listed::Sitemap(loc) => children.push(loc.to_owned()),
            }
            Ok(())
        });
        match read {
            Ok(outline) => Came::Read(children, outline),
            Err(PageError::Take(error)) => Came::Sort(error),
            Err(error @ PageError::Other(_)) => Came::Absent(error.to_string()),
            Err(error) => Came::Failed(error.to_string()),
        }
    };
    let (response, came) = match target.place(url) {
        None => return Came::Failed(format!("is not in {}", target.name())),
        Some(Place::File(path)) => match target.open(&path) {
            Ok(body) => {
                let reading = tokio::task::spawn_blocking(move || {
                    listed(Box::new(body), Transfer::default())
                });
                let came = reading.await;
                (
                    None,
                    came.map_err(|error| format!("the reader failed: {error}")),
                )
            }
            // A link that leads nowhere was meant to lead to one.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                return Came::Absent(error.to_string());
            }
            Err(error) => return Came::Failed(error.to_string()),
        },
        Some(Place::Object(bucket, path)) => bucket.read(&path, limit, listed).await,
        Some(Place::Web) => {
            let own = match target {
                Target::Site(own) | Target::Sitemap(own) if reader.same_origin => origin_of(own),
                _ => None,
            };
            let moved = own
                .zip(path_of(url))
                .map(|(own, path)| format!("{own}{path}"));
            let url = moved.as_deref().unwrap_or(url);
            reader.client.read(url, limit, listed).await
        }
    };
    let is_gone = response.is_some_and(|response| is_absent(response.status));
    match came {
        Ok(came) => came,
        Err(why) if is_gone => Came::Absent(why),
        Err(why) => Came::Failed(why),
    }
}
