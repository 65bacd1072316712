//! Checks objects against the rows: builds each from them anew, byte for byte, and once more as plain text.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use bytes::Bytes;
use engine::keys::{self, RowKey, prefix};
use flate2::read::GzDecoder;
use objects::{ObjectKey, ObjectMeta};
use serde_json::Value;
use sitemap::feed::MAX_FEED_ENTRIES;
use sitemap::member::{Builder, Built, Directory, Frame, Member, Segment, SegmentInfo};
use sitemap::plan::Series;
use sitemap::time::When;

use super::{Objects, Row, Rows, check, text_of};
use crate::history::SITES;
use crate::oracle::{Oracle, Truth};

/// The style sheets that a site's documents name, by its row.
struct Framing {
    settings: Value,
}

impl Framing {
    fn of(row: &Row) -> Result<Self, String> {
        let settings = serde_json::from_str(&row["settings"]).map_err(text_of)?;
        Ok(Self { settings })
    }

    fn path(&self, series: Option<&str>) -> Option<&'static str> {
        let is = |name: &str| series.is_some_and(|series| self.settings[name] == series);
        match self.settings["stylesheet"].as_str() {
            Some("css") => Some("/sitemap.css"),
            Some("xsl") if is("video_series") => Some("/video-sitemap.xsl"),
            Some("xsl") if is("news_series") => Some("/news-sitemap.xsl"),
            Some("xsl") => Some("/sitemap.xsl"),
            _ => None,
        }
    }

    /// Returns whether other series list the pages of this one, too.
    fn repeats(&self, series: &str) -> bool {
        ["video_series", "news_series"]
            .iter()
            .any(|name| self.settings[name] == series)
    }
}

/// The expected document of an object.
struct Expected {
    built: Built,
    frame: Frame,
    /// The text within the frame.
    xml: String,
}

/// The sources of the indexes.
#[derive(Default)]
struct Indexes {
    generation: u64,
    lines: Vec<Line>,
}

/// The line of a sitemap in an index.
#[derive(Clone)]
struct Line {
    xml: String,
    newest: Option<When>,
    /// `None` for a sitemap of others.
    urls: Option<u64>,
    /// Whether other sitemaps list its pages, too.
    repeats: bool,
}

/// Checks that a site's objects are those that would be built from the current rows, and that the summaries agree. Returns how
/// many indexes the site needs.
pub(super) fn objects(
    objects: &Objects,
    rows: &Rows,
    row: &Row,
    oracle: &Oracle,
    truth: &Truth,
    site: usize,
) -> Result<u64, String> {
    let host = SITES[site];
    let epoch: u64 = row["epoch"].parse().map_err(text_of)?;
    let version: u64 = row["version"].parse().map_err(text_of)?;
    let framing = Framing::of(row)?;
    let mut indexes = Indexes {
        generation: version,
        ..Indexes::default()
    };
    let partition = keys::index_partition(host);
    let summaries = rows.of(&partition).filter(|(pk, ..)| *pk == partition);
    let summaries: BTreeMap<&str, &Row> = summaries.map(|(_, sk, row)| (sk, row)).collect();
    let mut summarised = BTreeSet::new();
    for object in objects.keys().filter(|object| object.site() == host) {
        let ObjectKey::Shard { series, n, .. } = object else {
            continue;
        };
        let frame = Frame::urlset(framing.path(Some(series)));
        let expected = shard(
            rows,
            &Series {
                site: host.to_owned(),
                name: series.clone(),
            },
            *n,
            epoch,
            frame,
        )?;
        same(objects, object, &expected)?;
        let directory = expected.built.directory;
        let (_, limit) = oracle.limits(site);
        if directory.document_bytes() > limit as u64 {
            return Err(format!("{object} is over {limit} bytes"));
        }
        let sk = format!("{series}#{n:010}");
        let summary = summaries.get(&*sk);
        let summary = summary.ok_or_else(|| format!("no summary of {object}"))?;
        let lastmod = directory.newest().map(|at| at.to_string());
        let found = ["generation", "entries", "bytes"].map(|name| summary[name].clone());
        let numbers = [
            directory.generation(),
            directory.entries(),
            expected.xml.len() as u64,
        ];
        let what = format!("{host} {sk}");
        check(&what, &found, &numbers.map(|number| number.to_string()))?;
        check(&what, &summary.get("lastmod"), &lastmod.as_ref())?;
        let changed = changed(&what, summary, &directory, &find(objects, object)?.0)?;
        summarised.insert(sk);
        indexes.generation += directory.generation();
        if directory.entries() > 0 && oracle.is_public(site) {
            let changed = changed.filter(|_| oracle.is_timed(site));
            let newest = directory.newest().or(changed.map(When::at));
            indexes.lines.push(Line {
                xml: line(&format!("https://{host}/{}", object.file_name()), newest),
                newest,
                urls: Some(directory.entries()),
                repeats: framing.repeats(series),
            });
        }
    }
    for (url, lastmod) in oracle.also(site) {
        let newest = lastmod.map(When::parse).transpose().map_err(text_of)?;
        indexes.lines.push(Line {
            xml: line(url, newest),
            newest,
            urls: None,
            repeats: false,
        });
    }
    let summaries = summaries.into_keys().map(str::to_owned).collect();
    check("summarised", &summarised, &summaries)?;
    let cascaded = oracle.is_cascaded(site);
    let documents = indexes.documents(host, oracle.index_lines, cascaded);
    let needed = documents.len();
    let count = |name: &str| row.get(name).map_or(Ok(1), |count| count.parse::<usize>());
    check("indexes", &count("indexes").map_err(text_of)?, &needed)?;
    // A row that has lost this count counts at least the necessary objects.
    let given = count("index_objects").map_err(text_of)?.max(needed);
    let found = objects.keys().filter(|key| key.site() == host);
    let found = found.filter(|key| matches!(key, ObjectKey::Index { .. }));
    check("index objects", &found.count(), &given)?;
    // Indexes that are no longer needed are empty.
    let documents = documents
        .into_iter()
        .chain(std::iter::repeat_n(Vec::new(), given - needed));
    for (n, lines) in (1..).zip(documents) {
        let key = ObjectKey::Index {
            site: host.to_owned(),
            n,
        };
        let mut frame = Frame::index(framing.path(None));
        if !lines.is_empty() {
            let prolog = String::from_utf8(frame.prolog).map_err(text_of)?;
            let counted = counted(&lines, n as usize, needed) + "<sitemapindex";
            frame.prolog = prolog.replace("<sitemapindex", &counted).into_bytes();
        }
        let (_, bytes) = find(objects, &key)?;
        let found = Member::parse(bytes).map_err(text_of)?;
        let cuts = &found.directory().segments;
        let stamps = cuts.iter().map(|cut| cut.stamp).sum();
        check(&key.path(), &stamps, &indexes.generation)?;
        same(objects, &key, &index(&lines, cuts, epoch, frame))?;
    }
    feed(objects, rows, oracle, host)?;
    departures(objects, truth, host)?;
    llms(objects, host, oracle.llms(site, truth))?;
    let stamp = format!("{epoch:016x}-{version}");
    let named = if cascaded { 1 } else { needed };
    let named = oracle.is_public(site).then_some(named);
    site_files(objects, host, &stamp, named, oracle.names_feed(site))?;
    Ok(needed as u64)
}

/// Checks and returns the time of the last change in the summary of a shard. Only a shard without dates has one. It is that of the
/// object, or earlier if only the object's form has changed since.
fn changed(
    what: &str,
    summary: &Row,
    directory: &Directory,
    meta: &ObjectMeta,
) -> Result<Option<i64>, String> {
    let changed = summary.get("changed").map(|at| at.parse::<i64>());
    let changed = changed.transpose().map_err(text_of)?;
    let is_timed = directory.entries() > 0 && directory.newest().is_none();
    check(&format!("{what}: a time"), &changed.is_some(), &is_timed)?;
    let of_object = meta.document.as_ref().map(|document| document.changed);
    match changed > of_object {
        true => Err(format!(
            "{what} changed at {changed:?}, its object at {of_object:?}"
        )),
        false => Ok(changed),
    }
}

/// Checks that the feed has the changes of two days that have rows, the newest first. It may also have some that have just become
/// older.
fn feed(objects: &Objects, rows: &Rows, oracle: &Oracle, host: &str) -> Result<(), String> {
    let site = host.to_owned();
    let feed = text(objects, &ObjectKey::Feed { site })?;
    let entries = feed.split("<entry>").skip(1);
    let published = entries.map(|entry| {
        let at = When::parse(between(entry, "updated")?).ok()?.seconds();
        Some((between(entry, "id")?.to_owned(), at))
    });
    let published: Option<Vec<_>> = published.collect();
    let published = published.ok_or_else(|| format!("the feed of {host}: {feed}"))?;
    if let Some(old) = published.iter().find(|(_, at)| !oracle.may_be_fed(*at)) {
        return Err(format!("the feed of {host} still has {old:?}"));
    }
    let recent = published
        .into_iter()
        .filter(|(_, at)| oracle.is_recent(*at));
    let recent: Vec<_> = recent.map(|(loc, _)| loc).collect();
    let partitions = format!("{}{host}#", prefix::FEED);
    // Days have the same number of digits for thousands of years, so the keys are in the order of time.
    let mut changes: Vec<_> = rows
        .of(&partitions)
        .filter(|(pk, sk, _)| match RowKey::parse(pk, sk) {
            Some(RowKey::Feed(_, at, _)) => oracle.is_recent(at),
            _ => false,
        })
        .map(|(_, _, row)| row["loc"].clone())
        .collect();
    changes.reverse();
    changes.truncate(MAX_FEED_ENTRIES);
    check(&format!("the feed of {host}"), &recent, &changes)
}

/// Checks that the files of departures say what became of each page that departed, and nothing else, and that the site file says that
/// there are such files.
fn departures(objects: &Objects, truth: &Truth, host: &str) -> Result<(), String> {
    let mut found = BTreeMap::new();
    for key in objects.keys().filter(|key| key.site() == host) {
        if let ObjectKey::Departures { .. } = key {
            let file: Value = serde_json::from_str(&text(objects, key)?).map_err(text_of)?;
            for (loc, departure) in file["departures"].as_object().into_iter().flatten() {
                found.insert(loc.clone(), departure.clone());
            }
        }
    }
    let departed = truth.departed.iter().filter(|((site, _), _)| site == host);
    let expected: BTreeMap<String, Value> = departed
        .map(|((_, address), (.., departure))| (address.clone(), departure.clone()))
        .collect();
    check(&format!("the departures of {host}"), &found, &expected)?;
    if expected.is_empty() {
        return Ok(());
    }
    let site = host.to_owned();
    let file: Value =
        serde_json::from_str(&text(objects, &ObjectKey::SiteFile { site })?).map_err(text_of)?;
    check("site file", &file["departures"], &3_600.into())
}

/// Checks that llms.txt has the newest pages, or does not exist if the site wants none.
fn llms(objects: &Objects, host: &str, expected: Option<String>) -> Result<(), String> {
    let key = ObjectKey::Llms {
        site: host.to_owned(),
    };
    let found = match expected {
        None if !objects.contains_key(&key) => None,
        _ => Some(text(objects, &key)?),
    };
    let expected = found.is_some().then(|| expected.unwrap_or_default());
    check(&format!("llms.txt of {host}"), &found, &expected)
}

fn between<'a>(xml: &'a str, element: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{element}>"))?;
    Some(rest.split_once(&format!("</{element}>"))?.0)
}

/// Checks robots.txt and the site file. `named` is the number of indexes in robots.txt. It is `None` if the site is private. `feed`
/// is whether an open site's robots.txt names the feed behind them.
fn site_files(
    objects: &Objects,
    host: &str,
    stamp: &str,
    named: Option<usize>,
    feed: bool,
) -> Result<(), String> {
    let site = || host.to_owned();
    let robots = text(objects, &ObjectKey::Robots { site: site() })?;
    let lines = robots
        .lines()
        .filter_map(|line| line.strip_prefix("Sitemap: "));
    let found: Vec<String> = lines.map(str::to_owned).collect();
    let indexes = 1..=named.unwrap_or(0);
    let indexes = indexes.map(|n| format!("https://{host}/{}", index_file(n)));
    let feed = (feed && named.is_some()).then(|| format!("https://{host}/feed.atom"));
    check(&robots, &found, &indexes.chain(feed).collect())?;
    check(&robots, &robots.contains(stamp), &false)?;
    let key = ObjectKey::Robots { site: site() };
    let document = objects
        .get(&key)
        .and_then(|(meta, _)| meta.document.as_ref());
    let found = document.map(|document| document.stamp.as_str());
    check("robots.txt", &found, &Some(stamp))?;
    let file = text(objects, &ObjectKey::SiteFile { site: site() })?;
    let file: Value = serde_json::from_str(&file).map_err(text_of)?;
    check("site file", &file["stamp"], &stamp.into())?;
    check("site file", &file["public"], &named.is_some().into())
}

impl Indexes {
    /// Returns the lines of each index, at most `most` in each. The first index of a cascade lists the other indexes before its
    /// own lines.
    fn documents(&self, host: &str, most: usize, cascaded: bool) -> Vec<Vec<Line>> {
        let mut documents: Vec<_> = self.lines.chunks(most).map(<[_]>::to_vec).collect();
        if documents.is_empty() {
            documents.push(Vec::new());
        }
        if cascaded && documents.len() > 1 {
            let first = (2..).zip(&documents).map(|(n, lines)| {
                let newest = lines.iter().filter_map(|line| line.newest).max();
                let sum = |repeats| {
                    let of = lines.iter().filter(|line| line.repeats == repeats);
                    of.filter_map(|line| line.urls).sum::<u64>()
                };
                let repeats = sum(false) == 0;
                let is_known = lines.iter().any(|line| line.urls.is_some());
                Line {
                    xml: line(&format!("https://{host}/{}", index_file(n)), newest),
                    newest,
                    urls: is_known.then(|| sum(repeats)),
                    repeats,
                }
            });
            let first = first.collect();
            documents.insert(0, first);
        }
        documents
    }
}

fn index_file(n: usize) -> String {
    match n {
        1 => "sitemap_index.xml".to_owned(),
        n => format!("sitemap_index{n}.xml"),
    }
}

/// Returns the comment of an index for people.
fn counted(lines: &[Line], n: usize, of: usize) -> String {
    let counts = lines.iter().map(|line| match line.urls {
        None => "?".to_owned(),
        Some(urls) if line.repeats => format!("[{urls}]"),
        Some(urls) => urls.to_string(),
    });
    let counts = counts.collect::<Vec<_>>().join(" ");
    format!(
        "<!-- Index {n} of {of}. URLs of each sitemap, in brackets those that another one lists, too: {counts} -->\n"
    )
}

/// Returns a line of an index.
fn line(loc: &str, newest: Option<When>) -> String {
    let lastmod = newest.map(|at| format!("<lastmod>{at}</lastmod>"));
    let lastmod = lastmod.unwrap_or_default();
    format!("<sitemap><loc>{loc}</loc>{lastmod}</sitemap>\n")
}

/// Returns an index of these lines, divided into these segments.
fn index(lines: &[Line], cuts: &[SegmentInfo], epoch: u64, frame: Frame) -> Expected {
    let mut builder = Builder::new(&frame, epoch);
    let (mut left, mut xml) = (lines.iter(), String::new());
    for cut in cuts {
        let (mut text, mut newest) = (String::new(), None);
        for line in left.by_ref().take(cut.entries as usize) {
            text.push_str(&line.xml);
            newest = newest.max(line.newest);
        }
        builder.push(&Segment {
            stamp: cut.stamp,
            entries: cut.entries,
            newest,
            xml: text.as_bytes(),
        });
        xml.push_str(&text);
    }
    xml.extend(left.map(|line| line.xml.as_str()));
    let built = builder.finish();
    Expected { built, frame, xml }
}

/// Returns a shard of these rows.
fn shard(
    rows: &Rows,
    series: &Series,
    n: u32,
    epoch: u64,
    frame: Frame,
) -> Result<Expected, String> {
    let mut builder = Builder::new(&frame, epoch);
    let mut whole = String::new();
    let Series { site, name } = series;
    let partitions = format!("{}{site}#{name}#{n}#", prefix::SEGMENT);
    let number = |pk: &str| pk[partitions.len()..].parse::<u32>().ok();
    let last = rows.of(&partitions).filter_map(|(pk, ..)| number(pk)).max();
    for k in 0..last.map_or(0, |last| last + 1) {
        let (mut stamp, mut entries, mut newest) = (0, 0, None);
        let mut xml = String::new();
        let segment = rows.of(&partitions);
        for (_, _, row) in segment.filter(|(pk, ..)| number(pk) == Some(k)) {
            stamp += row["version"].parse::<u64>().map_err(text_of)?;
            if let Some(entry) = row.get("xml") {
                entries += 1;
                xml.push_str(entry);
            }
            if let Some(lastmod) = row.get("lastmod") {
                newest = newest.max(Some(When::parse(lastmod).map_err(text_of)?));
            }
        }
        builder.push(&Segment {
            stamp,
            entries,
            newest,
            xml: xml.as_bytes(),
        });
        whole.push_str(&xml);
    }
    Ok(Expected {
        built: builder.finish(),
        frame,
        xml: whole,
    })
}

/// Checks that an object has these bytes, that its metadata describe them, and that its inflated form is this text.
fn same(objects: &Objects, object: &ObjectKey, expected: &Expected) -> Result<(), String> {
    let (meta, bytes) = find(objects, object)?;
    let mut document = String::new();
    GzDecoder::new(&**bytes)
        .read_to_string(&mut document)
        .map_err(|error| format!("{object}: {error}"))?;
    let Expected { built, frame, xml } = expected;
    let [prolog, epilogue] = [&*frame.prolog, frame.epilogue].map(String::from_utf8_lossy);
    check(
        &object.path(),
        &document,
        &format!("{prolog}{xml}{epilogue}"),
    )?;
    let directory = &built.directory;
    if **bytes != *built.bytes {
        let found = Member::parse(bytes).map_err(text_of)?;
        let found = (found.directory().epoch, &found.directory().segments);
        let built = (directory.epoch, &directory.segments);
        return Err(format!(
            "{object} is not what is built: {found:?} for {built:?}"
        ));
    }
    let meta = meta.document.clone();
    let meta = meta.ok_or_else(|| format!("{object} has no metadata"))?;
    let found = (meta.digest, meta.bytes, meta.entries, meta.stamp);
    let stamp = format!("{:016x}-{}", directory.epoch, directory.generation());
    let (bytes, entries) = (directory.document_bytes(), directory.entries());
    check(
        &object.path(),
        &found,
        &(directory.digest(), bytes, entries, stamp),
    )
}

fn find<'a>(objects: &'a Objects, object: &ObjectKey) -> Result<&'a (ObjectMeta, Bytes), String> {
    let found = objects.get(object);
    found.ok_or_else(|| format!("{object} is not there"))
}

fn text(objects: &Objects, object: &ObjectKey) -> Result<String, String> {
    let (_, bytes) = find(objects, object)?;
    String::from_utf8(bytes.to_vec()).map_err(text_of)
}
