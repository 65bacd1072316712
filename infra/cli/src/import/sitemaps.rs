//! Sitemaps: a site, an index, a folder or a single file.
//!
//! - An address may be listed several times: among the pages, the videos and the news, or in two languages. All of its entries
//!   make one record.
//! - Sitemaps of videos and of news are read last: their names say no type of a page. So are feeds, which an index or robots.txt may
//!   name, too.
//! - An index is followed on its own host. In a folder its sitemaps are looked for there.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use check::document::elements::{Elements, Entries, Oddities};
use check::document::feed::entry_of;
use check::document::input::is_list;
use check::url::origin_of;
use sitemap::loc::normalized;

use super::feed;
use super::options::ImportError;
use super::sitemap_entry::{PAGE, fields, is_beside, publication, type_of};
use super::source::{HEAD_BYTES, Opened, Opener, shown};
use super::writer::{Id, Sink};
use crate::check::names::is_sitemap_name;

/// Indexes inside each other.
const MAX_DEPTH: u32 = 5;
/// Documents of a source: an index of 50,000 indexes would go on for ever.
const MAX_DOCUMENTS: u64 = 1_000_000;
/// Sitemaps of one index: twice what the protocol allows.
const MAX_CHILDREN: usize = 100_000;

/// Where a document is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Document {
    Url(String),
    /// A file, and whether its index's other sitemaps are beside it.
    File(PathBuf),
}

impl Document {
    fn name(&self) -> String {
        match self {
            Self::Url(url) => url.clone(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Returns a key that is the same for all spellings of its address.
    fn key(&self) -> Self {
        match self {
            Self::Url(url) => Self::Url(normalized(url).into_owned()),
            Self::File(path) => Self::File(path.clone()),
        }
    }
}

/// Reads sitemaps.
pub(super) struct Sitemaps<'s, 'a> {
    pub(super) sink: &'s mut Sink<'a>,
    pub(super) opener: &'s Opener,
    /// What was read or is waiting to be.
    seen: HashSet<Document>,
    /// Sitemaps of videos and of news, and feeds, and how deep they are.
    last: VecDeque<(Document, u32)>,
    /// Nothing is left for the end any more.
    is_end: bool,
    pub(super) documents: u64,
    pub(super) problems: Vec<String>,
    /// The entries of the last sitemap of each series: those before it were full.
    entries: BTreeMap<(String, String), u64>,
}

impl<'s, 'a> Sitemaps<'s, 'a> {
    pub(super) fn new(sink: &'s mut Sink<'a>, opener: &'s Opener) -> Self {
        Self {
            sink,
            opener,
            seen: HashSet::new(),
            last: VecDeque::new(),
            is_end: false,
            documents: 0,
            problems: Vec::new(),
            entries: BTreeMap::new(),
        }
    }

    /// Reads documents, in their order.
    pub(super) fn all(&mut self, documents: Vec<Document>) -> Result<(), ImportError> {
        self.list(documents, 1)
    }

    fn list(&mut self, documents: Vec<Document>, depth: u32) -> Result<(), ImportError> {
        for document in documents {
            if !self.seen.insert(document.key()) {
                continue;
            }
            if is_beside(&type_of(&document.name())) {
                self.last.push_back((document, depth));
            } else {
                self.open(&document, depth)?;
            }
        }
        Ok(())
    }

    fn open(&mut self, document: &Document, depth: u32) -> Result<(), ImportError> {
        if self.documents == MAX_DOCUMENTS {
            let problem =
                format!("it has more than {MAX_DOCUMENTS} sitemaps: the rest was not read");
            if self.problems.last() != Some(&problem) {
                self.problems.push(problem);
            }
            return Ok(());
        }
        let opened = match document {
            Document::Url(url) => self.opener.url(url),
            Document::File(path) => self.opener.found(path),
        };
        match opened {
            Ok(opened) => self.document(document, opened, depth, self.is_end),
            Err(reason) => {
                let name = document.name();
                self.problems.push(format!("{name}: {reason}"));
                Ok(())
            }
        }
    }

    /// Reads a document that is all of a source, with those that it lists.
    pub(super) fn only(&mut self, document: &Document, opened: Opened) -> Result<(), ImportError> {
        self.document(document, opened, 1, true)
    }

    /// Reads the documents that were left for the end.
    pub(super) fn finish(&mut self) -> Result<(), ImportError> {
        self.is_end = true;
        while let Some((document, depth)) = self.last.pop_front() {
            self.open(&document, depth)?;
        }
        Ok(())
    }

    /// Reads one document, to its end or to where it cannot be read on. A feed that is not the last waits for the end.
    fn document(
        &mut self,
        document: &Document,
        opened: Opened,
        depth: u32,
        is_last: bool,
    ) -> Result<(), ImportError> {
        let name = document.name();
        let Opened {
            mut input,
            is_foreign,
        } = opened;
        let named = |problem: String| format!("{name}: {}", shown(problem, is_foreign));
        self.seen.insert(document.key());
        self.documents += 1;
        if is_list(input.head(HEAD_BYTES).trim_ascii_start()) {
            let type_name = type_of(&name);
            let problem = super::url_list::read(input, &type_name, self.sink)?;
            self.problems.extend(problem.map(named));
            return Ok(());
        }
        let mut elements = match Elements::open(input, Oddities::Kept) {
            Ok(elements) => elements,
            Err(broken) => {
                self.problems.push(named(broken.to_string()));
                return Ok(());
            }
        };
        if entry_of(elements.root()).is_some() && !is_last {
            // It is asked for again: what many feeds have is not held, nor are their connections.
            self.documents -= 1;
            self.last.push_back((document.clone(), depth));
            return Ok(());
        }
        let problem = match elements.root() {
            root if entry_of(root).is_some() => feed::entries(&mut elements, &name, self.sink)?,
            "urlset" => self.pages(&name, &mut elements)?,
            "sitemapindex" => {
                let (children, problem) = self.children(document, &mut elements);
                self.problems.extend(problem.map(named));
                if depth == MAX_DEPTH {
                    Some(format!(
                        "it is nested in {MAX_DEPTH} indexes, so it was not read"
                    ))
                } else {
                    self.list(children, depth + 1)?;
                    None
                }
            }
            root => Some(format!("it is not a sitemap: its root is <{root}>")),
        };
        let root = elements.root();
        if matches!(root, "urlset" | "sitemapindex") && elements.is_foreign() {
            self.sink
                .note("the namespace of sitemaps", || format!("{name}: <{root}>"));
        }
        self.problems.extend(problem.map(named));
        Ok(())
    }

    /// Returns the sitemaps that an index lists, and why it could not be read to its end.
    fn children(
        &mut self,
        index: &Document,
        elements: &mut Elements<'_>,
    ) -> (Vec<Document>, Option<String>) {
        let (mut children, mut found) = (Vec::new(), Entries::new("sitemap"));
        loop {
            match elements.next() {
                Ok(Some(_)) if children.len() == MAX_CHILDREN => {
                    let problem =
                        format!("it has more than {MAX_CHILDREN} sitemaps: the rest was not read");
                    return (children, Some(problem));
                }
                Ok(Some(child)) => {
                    let loc = child.get("loc");
                    if found.add(&child, loc.is_some()) {
                        match loc {
                            Some(loc) => children.extend(self.child(index, loc)),
                            None => self.without_address(&index.name(), found.count()),
                        }
                    } else {
                        self.sink.pass_over(&child, &index.name(), elements.line());
                    }
                }
                Ok(None) => return (children, found.lacking().map(lacking)),
                Err(broken) => return (children, Some(broken.to_string())),
            }
        }
    }

    fn without_address(&mut self, name: &str, number: u64) {
        self.sink
            .skip("it has no address", || format!("{name}: entry {number}"));
    }

    /// Returns a sitemap that an index lists. Returns `None` if it is not on the host of the index, or not in its folder.
    fn child(&mut self, index: &Document, loc: &str) -> Option<Document> {
        match index {
            Document::Url(index) => {
                let [one, other] = [loc, index].map(normalized);
                let is_own = origin_of(&one).is_some()
                    && self.opener.asked(&one) == self.opener.asked(&other);
                if !is_own {
                    self.problems.push(format!(
                        "{loc}: it is on another host than {index}: give it as a source of its own"
                    ));
                }
                is_own.then(|| Document::Url(loc.to_owned()))
            }
            Document::File(index) => {
                let folder = index.parent().unwrap_or(Path::new(""));
                let found = beside_index(folder, loc);
                if found.is_none() {
                    let folder = folder.display();
                    self.problems
                        .push(format!("{loc}: it is not in the folder {folder:?}"));
                }
                found.map(Document::File)
            }
        }
    }

    /// Takes the pages of a sitemap. Returns why it could not be read to its end.
    fn pages(
        &mut self,
        name: &str,
        elements: &mut Elements<'_>,
    ) -> Result<Option<String>, ImportError> {
        let type_name = type_of(name);
        let is_beside = is_beside(&type_name);
        let type_name = if is_beside { PAGE } else { &type_name };
        let mut found = Entries::new("url");
        let mut host = String::new();
        let problem = loop {
            let entry = match elements.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => break found.lacking().map(lacking),
                Err(broken) => break Some(broken.to_string()),
            };
            let loc = entry.get("loc");
            let sink = &mut *self.sink;
            if !found.add(&entry, loc.is_some()) {
                sink.pass_over(&entry, name, elements.line());
                continue;
            }
            let fields = fields(&entry, |what, example| sink.note(what, || example));
            let Some((mut fields, loc)) = fields.zip(loc) else {
                self.without_address(name, found.count());
                continue;
            };
            if host.is_empty() || publication(&entry).is_some() {
                let url = self.sink.address(loc);
                host = origin_of(&url)
                    .and_then(|origin| origin.split_once("://"))
                    .map_or(String::new(), |(_, host)| host.to_ascii_lowercase());
                if let Some(publication) = publication(&entry).filter(|_| !host.is_empty()) {
                    let known = &mut self.sink.site(&host).news_name;
                    known.get_or_insert_with(|| publication.to_owned());
                }
            }
            fields.insert("type".to_owned(), type_name.into());
            self.sink.record(fields, Id::Entry)?;
        };
        if !is_beside {
            // One that another follows was full.
            let series = (host.clone(), type_name.to_owned());
            if let Some(before) = self.entries.insert(series, found.count()) {
                self.sink.full_sitemap(&host, before);
            }
        }
        Ok(problem)
    }
}

/// Says what a sitemap lacks of which nothing could be read.
fn lacking(what: String) -> String {
    format!("it has {what}")
}

/// Finds a sitemap of an index in its folder: under its whole path, or under its name alone.
fn beside_index(folder: &Path, loc: &str) -> Option<PathBuf> {
    let path = loc.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| {
        rest.split_once('/').map_or("", |(_, path)| path)
    });
    let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
    let is_step = |step: &&str| *step != ".." && *step != "." && !step.contains('\\');
    if steps.is_empty() || !steps.iter().all(is_step) {
        return None;
    }
    let whole = steps
        .iter()
        .fold(folder.to_owned(), |path, step| path.join(step));
    let alone = folder.join(steps.last()?);
    [whole, alone].into_iter().find(|path| path.is_file())
}

/// Lists the sitemaps of a folder, in their numbers' order. Of `a.xml` and `a.xml.gz` the first is taken.
pub(super) fn of_folder(folder: &Path) -> std::io::Result<Vec<Document>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            // A link to a folder is not followed: it may lead back.
            let is_sitemap = is_sitemap_name(&entry.path());
            if entry.file_type()?.is_dir() && !is_sitemap {
                folders.push(entry.path());
            } else if is_sitemap {
                files.push(entry.path());
            }
        }
    }
    let plain: HashSet<PathBuf> = files.iter().cloned().collect();
    files.retain(|path| {
        let is_gz = path.extension().is_some_and(|end| end == "gz");
        !is_gz || !plain.contains(&path.with_extension(""))
    });
    // Without its ending, `post-sitemap` comes before `post-sitemap2`.
    files.sort_by_cached_key(|path| {
        let name = path.to_string_lossy();
        let stem = name.strip_suffix(".gz").unwrap_or(&name);
        natural(stem.rsplit_once('.').map_or(stem, |(stem, _)| stem))
    });
    Ok(files.into_iter().map(Document::File).collect())
}

/// Splits a text into texts and numbers in turns, so that 10 comes after 9.
fn natural(text: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (words, tail) = rest.split_at(digits);
        let end = tail
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (number, tail) = tail.split_at(end);
        parts.push((words.to_owned(), number.parse().unwrap_or(0)));
        rest = tail;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_folder_are_read_in_their_numbers_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "post-sitemap10.xml",
            "post-sitemap2.xml",
            "post-sitemap.xml",
            "post-sitemap.xml.gz",
            "page-sitemap.xml.gz",
            "robots.txt",
            "feed.xml",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found: Vec<String> = of_folder(folder.path())
            .unwrap()
            .iter()
            .map(|document| document.name().rsplit_once('/').unwrap().1.to_owned())
            .collect();
        let expected = [
            "page-sitemap.xml.gz",
            "post-sitemap.xml",
            "post-sitemap2.xml",
            "post-sitemap10.xml",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_index_leads_nowhere_out_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.xml"), "").unwrap();
        let found = |loc: &str| beside_index(&folder.path().join("in"), loc);
        std::fs::create_dir(folder.path().join("in")).unwrap();
        assert_eq!(found("https://www.example.com/../a.xml"), None);
        assert_eq!(found("https://www.example.com/x/../../a.xml"), None);
        assert_eq!(found("https://www.example.com/"), None);
        let inside = folder.path().join("in").join("b.xml");
        std::fs::write(&inside, "").unwrap();
        assert_eq!(
            found("https://www.example.com/maps/b.xml?x=1"),
            Some(inside)
        );
    }
}
