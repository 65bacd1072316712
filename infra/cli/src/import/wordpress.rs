//! A WordPress export (WXR, "Tools, Export"): posts of every type and status, and the archives of their terms.
//!
//! - What WordPress keeps as posts and has no page (menus, revisions, templates) is left out. For types of plugins and themes an
//!   export does not say which are public: their addresses do in part, and the user may.
//! - What decides about a post may stand behind it: the page that it is under, the other addresses, the other dates. So posts wait until
//!   their export was read, and archives until all of them were.

use std::collections::BTreeMap;

use check::document::elements::{Elements, Oddities};
use check::document::input::Input;
use sitemap::loc::Loc;

use super::json::fields;
use super::options::ImportError;
use super::writer::{Id, Sink};

mod archives;
mod blog;
mod dates;
mod permalinks;
mod spool;
mod status;
mod types;

use blog::Blog;
use spool::Spool;

pub(super) use dates::{gmt, zoned};
pub(super) use status::{is_unpublished, status_of};
pub(super) use types::{Kind, doubt, is_bare, kind_of, no_pages, refusal};

/// The sites of the exports that were read, by their addresses.
#[derive(Default)]
pub(super) struct Blogs(BTreeMap<String, Blog>);

/// What an export says of its site.
#[derive(Default)]
struct Channel {
    name: Option<String>,
    language: Option<String>,
    base: Option<String>,
}

/// Reads an export. Returns why it could not be read to its end.
pub(super) fn read(
    input: Input<'_>,
    blogs: &mut Blogs,
    sink: &mut Sink<'_>,
) -> Result<Option<String>, ImportError> {
    let mut elements = match Elements::open(input, Oddities::Kept) {
        Ok(elements) => elements,
        Err(broken) => return Ok(Some(broken.to_string())),
    };
    let mut spool = Spool::new().map_err(ImportError::Spool)?;
    let mut channel = Channel::default();
    let broken = loop {
        let element = match elements.next() {
            Ok(Some(element)) => element,
            Ok(None) => break None,
            Err(broken) => break Some(broken.to_string()),
        };
        match element.name() {
            "title" => channel.name = Some(element.text().to_owned()),
            "language" => channel.language = Some(element.text().to_owned()),
            "link" | "wp:base_blog_url" => channel.base = Some(element.text().to_owned()),
            "item" => {
                let base = channel.base();
                if let Some(post) = blogs.of(base).post(&element, base, sink) {
                    spool.add(&post).map_err(ImportError::Spool)?;
                }
            }
            _ => blogs.of(channel.base()).declare(&element),
        }
    };
    if let Ok(loc) = Loc::parse_any(&sink.address(channel.base())) {
        let facts = sink.site(&host(&loc));
        facts.name = channel.name.clone().filter(|name| !name.is_empty());
        facts.language = channel.language.clone().filter(|code| !code.is_empty());
    }
    let blog = blogs.of(channel.base());
    for post in spool.posts().map_err(ImportError::Spool)? {
        blog.record(post.map_err(ImportError::Spool)?, sink)?;
    }
    Ok(broken)
}

/// Returns the host of a site, with its port if it has one.
fn host(loc: &Loc) -> String {
    let (_, rest) = loc.as_str().split_once("://").unwrap_or_default();
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    host.to_owned()
}

impl Channel {
    /// Returns the address of the site, without its last slash.
    fn base(&self) -> &str {
        self.base
            .as_deref()
            .unwrap_or_default()
            .trim_end_matches('/')
    }
}

impl Blogs {
    /// Returns the site of an address.
    fn of(&mut self, base: &str) -> &mut Blog {
        self.0.entry(base.to_owned()).or_default()
    }

    /// Writes what all exports of a site show together: its archives, and its front page.
    pub(super) fn finish(self, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        for (base, blog) in self.0 {
            if sink.options.archives {
                blog.archives(&base, sink)?;
            }
            if !blog.has_front_page() && !base.is_empty() {
                front_page(&base, sink)?;
            }
        }
        Ok(())
    }
}

/// Reports a front page that is not a post: WordPress shows the newest posts there, like an archive of them all.
fn front_page(base: &str, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let url = format!("{base}/");
    if !sink.options.archives {
        let what = "the front page (--archives adds it)";
        sink.note(what, || url);
        return Ok(());
    }
    let record = fields([("type", Some(blog::PAGE.into())), ("url", Some(url.into()))]);
    sink.record(record, Id::OnSite("page/front"))
}
