//! The result of reading a document.

use std::collections::BTreeMap;
use std::sync::Arc;

use sitemap::time::When;

use super::sample::Drawn;
use crate::findings::{Findings, Position};
use crate::url::Digest;

/// Links between languages, of one document, that are kept to be compared with those of other documents. A sitemap has no room for
/// so many. Each takes 32 bytes until it is sorted.
pub(crate) const MAX_LINKS: usize = 1_000_000;

/// What a document is.
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
    /// Nothing that lists URLs.
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
    /// Where it is listed.
    pub at: Position,
}

/// What every entry of a sitemap has: a sitemap of videos or of news lists pages again that another sitemap lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subject {
    #[default]
    Pages,
    Videos,
    News,
}

/// A page, as it is compared with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub(crate) digest: Digest,
    pub(crate) at: Position,
    /// Where its text is in `Document::texts`.
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
    /// What it is.
    pub kind: Kind,
    /// How many entries it has.
    pub entries: u64,
    /// Its bytes, uncompressed.
    pub bytes: u64,
    /// It was read to its end, and its root was closed.
    pub is_whole: bool,
    /// It is gzip by itself.
    pub is_gzip: bool,
    /// What an index lists.
    pub children: Vec<Child>,
    /// What is wrong with it.
    pub findings: Findings,
    /// What is wrong with it unless the robots.txt of another host names it: what it lists there. By scheme and host.
    pub elsewhere: BTreeMap<String, Findings>,
    /// Its newest lastmod.
    pub newest: Option<When>,
    /// How many entries have a lastmod.
    pub dated: u64,
    pub(crate) subject: Subject,
    pub(crate) drawn: Drawn,
    pub(crate) listed: Vec<Listed>,
    /// The texts of what is listed, as far as there is room.
    pub(super) texts: String,
    pub(crate) links: Vec<Link>,
    /// Links beyond [`MAX_LINKS`] were not kept.
    pub(crate) more_links: bool,
}

impl Document {
    /// Returns the text of a page. It is empty if there was no room to keep it.
    pub(crate) fn text(&self, page: &Listed) -> &str {
        let (begin, end) = (page.text.0 as usize, page.text.1 as usize);
        self.texts.get(begin..end).unwrap_or_default()
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
