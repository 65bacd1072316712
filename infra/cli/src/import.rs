//! `waymark import`: converts what a site has to content records, from its sitemaps or from an export of another system.
//!
//! ```text
//! source ─▶ bytes ─▶ entries, items, rows ─▶ fields of a record ─▶ completed, counted ─▶ JSON Lines
//! (source)           (json, table)           (entry, wordpress …)  (sink)
//! ```
//!
//! - Sources are streams. Records that are known by their address wait in a temporary file, since a later entry may say more of
//!   them; in memory are 64 bits of each address and of each term.
//! - What a source lacks is named in the report, never made up.

use std::io::Write;
use std::sync::Arc;

use check::document::About;
use check::findings::{Findings, Policy};
use check::robots::Robots;
use tokio::runtime::Handle;

use crate::check::names;
use crate::check::robots::{Came, over_http};
use crate::fetch::client::{Client, is_absent};

pub(crate) mod command;
mod csv;
mod feed;
mod fields;
mod held;
mod html;
mod json;
mod options;
mod redirects;
mod report;
mod sitemap_entry;
mod sitemaps;
mod source;
mod url_list;
mod wordpress;
mod writer;

pub use self::options::{ImportError, Options, SourceKind};
pub use self::report::{Report, SourceReport};
pub use self::source::{Place, STDIN_NAME};
pub(crate) use csv::Rows;
pub(crate) use source::{HEAD_BYTES, open};

use self::sitemap_entry::{PAGE, type_of};
use self::sitemaps::{Document, Sitemaps};
use self::source::{Opened, Opener, shown};
use self::writer::Sink;

/// Imports sources, in their order, on a thread that may wait.
///
/// # Errors
///
/// If the records cannot be written. What is wrong with a source is in the report.
pub fn import(
    sources: &[(String, Place)],
    options: &Options,
    client: Client,
    runtime: Handle,
    out: &mut dyn Write,
) -> Result<Report, ImportError> {
    let client = Arc::new(client);
    let opener = Opener { client, runtime };
    let mut sink = Sink::new(options, out).map_err(ImportError::Spool)?;
    let mut blogs = wordpress::Blogs::default();
    for (name, place) in sources {
        let (taken, skips) = (sink.taken(), sink.skips);
        let mut report = read(name, place, &opener, &mut blogs, &mut sink)?;
        report.entries = sink.taken() - taken;
        // What was skipped is told with its reason.
        if report.entries == 0 && sink.skips == skips && report.problems.is_empty() {
            let problem = "it has no entries, so no record was made";
            report.problems.push(problem.to_owned());
        }
        sink.report.sources.push(report);
    }
    blogs.finish(&mut sink)?;
    sink.finish()
}

fn read(
    name: &str,
    place: &Place,
    opener: &Opener,
    blogs: &mut wordpress::Blogs,
    sink: &mut Sink<'_>,
) -> Result<SourceReport, ImportError> {
    let mut report = SourceReport {
        source: name.to_owned(),
        from: None,
        documents: 0,
        entries: 0,
        problems: Vec::new(),
    };
    let opened = match place {
        Place::Site(origin) => {
            let documents = sitemaps_of(origin, opener);
            return sitemaps(documents, None, opener, sink, report);
        }
        Place::Folder(path) => {
            let documents = sitemaps::of_folder(path).map_err(|error| error.to_string());
            let documents = documents.and_then(|documents| match documents.is_empty() {
                true => Err("it has no files *sitemap*.xml, .xml.gz or .txt".to_owned()),
                false => Ok(documents),
            });
            return sitemaps(documents, None, opener, sink, report);
        }
        Place::Url(url) => opener.url(url),
        Place::File(path) => opener.file(path),
        Place::Stdin => opener.stdin(),
    };
    let mut opened = match opened {
        Ok(opened) => opened,
        Err(reason) => {
            report.problems.push(reason);
            return Ok(report);
        }
    };
    let Some(from) = sink
        .options
        .from
        .or_else(|| source::detected(opened.input.head(HEAD_BYTES)))
    else {
        let known = SourceKind::ALL.map(SourceKind::name).join(", ");
        let found = source::begin_of(opened.input.head(HEAD_BYTES));
        let problem = format!("{found}: unrecognized format: pass --from with one of {known}");
        report.problems.push(shown(problem, opened.is_foreign));
        return Ok(report);
    };
    if from == SourceKind::Sitemap {
        let document = match place {
            Place::Url(url) => Document::Url(url.clone()),
            Place::File(path) => Document::File(path.clone()),
            _ => Document::File(STDIN_NAME.into()),
        };
        return sitemaps(Ok(vec![document]), Some(opened), opener, sink, report);
    }
    report.from = Some(from.name());
    report.documents = 1;
    let Opened { input, is_foreign } = opened;
    let problem = match from {
        SourceKind::Wxr => wordpress::read(input, blogs, sink)?,
        SourceKind::Csv => csv::read(input, sink)?,
        SourceKind::Json => json::read(input, sink)?,
        SourceKind::Jsonl => json::read_lines(input, sink)?,
        SourceKind::Feed => feed::read(input, name, sink)?,
        SourceKind::Redirects => redirects::read(input, sink)?,
        SourceKind::Urls => url_list::read(input, &list_type(name), sink)?,
        SourceKind::Sitemap => None,
    };
    let problem = problem.map(|problem| shown(problem, is_foreign));
    report.problems.extend(problem);
    Ok(report)
}

/// Returns the type of a list of URLs. It is taken from the name only if that is a sitemap's.
fn list_type(name: &str) -> String {
    if name.contains("sitemap") {
        type_of(name)
    } else {
        PAGE.to_owned()
    }
}

/// Reads sitemaps, of which one may be open already.
fn sitemaps(
    documents: Result<Vec<Document>, String>,
    opened: Option<Opened>,
    opener: &Opener,
    sink: &mut Sink<'_>,
    mut report: SourceReport,
) -> Result<SourceReport, ImportError> {
    let documents = match documents {
        Ok(documents) => documents,
        Err(reason) => {
            report.problems.push(reason);
            return Ok(report);
        }
    };
    let mut sitemaps = Sitemaps::new(sink, opener);
    match (opened, documents.as_slice()) {
        (Some(opened), [document]) => sitemaps.only(document, opened)?,
        _ => sitemaps.all(documents)?,
    }
    sitemaps.finish()?;
    report.from = (sitemaps.documents > 0).then_some(SourceKind::Sitemap.name());
    report.documents = sitemaps.documents;
    report.problems.append(&mut sitemaps.problems);
    Ok(report)
}

/// Finds the sitemaps that a site's robots.txt names, or the one at a usual name.
fn sitemaps_of(origin: &str, opener: &Opener) -> Result<Vec<Document>, String> {
    let url = format!("{origin}/robots.txt");
    match opener.runtime.block_on(over_http(&opener.client, &url)) {
        Came::Text(text, _) => {
            let about = About::new(&url, Arc::new(Policy::default()), 0);
            let robots = Robots::read(&text, &about.file, &mut Findings::new(about.policy));
            if !robots.sitemaps.is_empty() {
                let named = robots.sitemaps.into_iter();
                return Ok(named.map(|(url, _)| Document::Url(url)).collect());
            }
        }
        Came::Absent(_) => {}
        // It may name sitemaps.
        Came::Unknown(why) | Came::Silent(why) => return Err(format!("{url}: {why}")),
    }
    for name in names::usual(true) {
        let url = format!("{origin}{name}");
        let opened = match opener.url_if_any(&url) {
            Ok(opened) => opened,
            Err(none) if none.status.is_some_and(is_absent) => {
                continue;
            }
            // It may be the one that lists all pages.
            Err(none) => return Err(format!("{url}: {}", none.why)),
        };
        // A page for all addresses is no sitemap.
        let lists = [SourceKind::Sitemap, SourceKind::Feed, SourceKind::Urls];
        if opened.is_ok_and(|mut opened| {
            let head = opened.input.head(HEAD_BYTES);
            source::detected(head).is_some_and(|kind| lists.contains(&kind))
        }) {
            return Ok(vec![Document::Url(url)]);
        }
    }
    Err(format!(
        "its robots.txt names no sitemap, and it has none at the usual names: {}",
        names::listed(true)
    ))
}
