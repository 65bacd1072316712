//! The result of reading a document.

use std::collections::BTreeMap;
use std::sync::Arc;

use sitemap::time::When;

use super::sample::Drawn;
use crate::findings::{Findings, Position};
use crate::url::{Digest, origin_of};

/// The most links between languages that are kept of one document, to be compared with those of other documents. A sitemap has no
/// room for as many. Each takes 32 bytes until it is sorted.
pub(crate) const MAX_LINKS: usize = 1_000_000;

/// The most origins of listed addresses that are counted. A sitemap lists pages of one site, and a site has a few hosts.
const MAX_ORIGINS: usize = 16;

/// The kind of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// `<urlset>`
    Sitemap,
    /// `<sitemapindex>`
    Index,
    /// One URL a line.
    Text,
    /// RSS.
    Rss,
    /// Atom.
    Atom,
    /// A web page.
    Html,
    /// A document that lists no URLs.
    #[default]
    Other,
}

/// A sitemap that an index lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its address.
    pub loc: String,
    /// Its lastmod there.
    pub lastmod: Option<When>,
    /// The position of its entry.
    pub at: Position,
}

/// The kind of a sitemap's entries. A sitemap of videos or of news, and a feed of changes, list pages again that another sitemap lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subject {
    #[default]
    Pages,
    Videos,
    News,
    Changes,
}

/// A listed page, as it is compared with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub(crate) digest: Digest,
    pub(crate) at: Position,
    /// The range of its text in `Document::texts`.
    pub(super) text: (u32, u32),
}

/// A link to a page in another language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// The page's exact digest.
    pub(crate) from: u64,
    pub(crate) to: Digest,
    pub(crate) at: Position,
}

/// A document that was read.
#[derive(Debug)]
pub struct Document {
    /// Its address or its path.
    pub file: Arc<str>,
    /// Its kind.
    pub kind: Kind,
    /// The number of its entries.
    pub entries: u64,
    /// The number of its bytes, uncompressed.
    pub bytes: u64,
    /// Whether it was read to its end, and its root was closed.
    pub is_whole: bool,
    /// Whether it is a gzip file, regardless of Content-Encoding.
    pub is_gzip: bool,
    /// The sitemaps that it lists, if it is an index.
    pub children: Vec<Child>,
    /// Its findings.
    pub findings: Findings,
    /// Findings by scheme and host of listed URLs. They do not apply if the robots.txt of that host names the document.
    pub elsewhere: BTreeMap<String, Findings>,
    /// The schemes and hosts of the listed addresses, as they are written, and how many addresses have each.
    pub origins: Vec<(String, u64)>,
    /// Its newest lastmod. `None` if no entry has one.
    pub newest: Option<When>,
    /// The number of entries with a lastmod.
    pub dated: u64,
    pub(crate) subject: Subject,
    pub(crate) drawn: Drawn,
    pub(crate) listed: Vec<Listed>,
    /// The texts of the listed URLs, as far as there is room.
    pub(super) texts: String,
    pub(crate) links: Vec<Link>,
    /// Whether links beyond [`MAX_LINKS`] were dropped.
    pub(crate) more_links: bool,
}

impl Document {
    /// Returns the text of a page. It is empty if there was no room to keep it.
    pub(crate) fn text(&self, page: &Listed) -> &str {
        let (begin, end) = (page.text.0 as usize, page.text.1 as usize);
        self.texts.get(begin..end).unwrap_or_default()
    }

    /// Counts the scheme and host of a listed address.
    pub(super) fn count_origin(&mut self, loc: &str) {
        let Some(origin) = origin_of(loc) else {
            return;
        };
        let known = self.origins.iter_mut().find(|(known, _)| known == origin);
        if let Some((_, count)) = known {
            *count += 1;
        } else if self.origins.len() < MAX_ORIGINS {
            self.origins.push((origin.to_owned(), 1));
        }
    }

    /// Takes all its findings, including those of other hosts.
    pub(crate) fn take_findings(&mut self) -> Findings {
        let none = self.findings.none();
        let mut taken = std::mem::replace(&mut self.findings, none);
        for findings in std::mem::take(&mut self.elsewhere).into_values() {
            taken.append(findings);
        }
        taken
    }
}
