//! The lines of indexes, and how many indexes they need.

use std::collections::BTreeMap;

use objects::ObjectKey;
use sitemap::index::{COUNTS_BYTES, Count, IndexLine, render, render_count};
use sitemap::site::{Also, IndexLastmod, MAX_BYTES, SeriesKind, SiteSettings};
use sitemap::stylesheet::index_frame;
use sitemap::time::When;

use crate::rows::keys::ShardId;
use crate::rows::site::SiteRow;
use crate::rows::summary::Summary;

/// The limits of one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLimits {
    /// The most sitemaps.
    pub lines: u32,
    /// The most bytes, unencoded. A lower limit of the site takes precedence.
    pub bytes: u64,
    /// Sitemaps of a series whose lines are read and written together. A large index has this number times a power of two.
    pub block: u32,
}

impl IndexLimits {
    /// [`Self::block`] of a deployment. The summaries of such a block cost one read unit.
    pub const BLOCK: u32 = 32;
}

impl Default for IndexLimits {
    /// Returns the limits of sitemaps.org.
    fn default() -> Self {
        Self {
            lines: 50_000,
            bytes: MAX_BYTES,
            block: Self::BLOCK,
        }
    }
}

/// The wanted content of one index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) lines: u32,
    pub(super) newest: Option<When>,
    /// URLs of pages that its sitemaps list. URLs of videos and news are in `repeated`. Those of sitemaps of others are not known.
    pub(super) urls: u64,
    pub(super) repeated: u64,
    pub(super) xml: Vec<u8>,
    /// The counts of the lines, rendered.
    pub(super) counts: Vec<u8>,
}

/// The line of one sitemap in an index.
#[derive(Default)]
pub(super) struct Line {
    /// `None` for a sitemap of others.
    pub(super) count: Option<Count>,
    pub(super) lastmod: Option<When>,
    pub(super) xml: Vec<u8>,
    pub(super) rendered_count: Vec<u8>,
}

/// Returns the bytes that an index has for its lines and counts.
pub(super) fn room(settings: &SiteSettings, limits: IndexLimits) -> u64 {
    let frame = index_frame(settings);
    let around = frame.prolog.len() + frame.epilogue.len() + COUNTS_BYTES;
    limits.bytes.min(settings.byte_limit) - around as u64
}

/// Returns whether an index lists a sitemap. `hidden` are the series that the settings hide.
pub(super) fn is_listed(
    settings: &SiteSettings,
    hidden: &[String],
    shard: &ShardId,
    summary: &Summary,
) -> bool {
    summary.entries > 0 && settings.public && !hidden.contains(&shard.series.name)
}

/// Returns the lines of the sitemaps of others.
pub(super) fn also(settings: &SiteSettings) -> Page {
    let (mut page, mut line) = (Page::default(), Line::default());
    for also in settings.listed_also() {
        line.set_to_also(also);
        page.add(&line);
    }
    page
}

/// Returns the indexes that a site needs: at least one. The sitemaps of others are behind the site's own.
pub(super) fn pages(
    row: &SiteRow,
    summaries: &BTreeMap<ShardId, Summary>,
    limits: IndexLimits,
) -> Vec<Page> {
    let settings = &row.settings;
    let (hidden, room) = (settings.hidden_series(), room(settings, limits));
    let listed = summaries
        .iter()
        .filter(|(shard, summary)| is_listed(settings, &hidden, shard, summary));
    let mut pages = vec![Page::default()];
    let mut line = Line::default();
    let mut add = |line: &Line| {
        let is_full = |page: &Page| {
            let bytes = page.bytes() + line.bytes();
            page.lines == limits.lines || bytes as u64 > room
        };
        if pages
            .last()
            .is_none_or(|page| page.lines > 0 && is_full(page))
        {
            pages.push(Page::default());
        }
        if let Some(page) = pages.last_mut() {
            page.add(line);
        }
    };
    for (shard, summary) in listed {
        line.set_to(settings, shard, summary);
        add(&line);
    }
    for also in settings.listed_also() {
        line.set_to_also(also);
        add(&line);
    }
    if settings.cascaded_index && pages.len() > 1 {
        let mut first = Page::default();
        for (n, page) in (2..).zip(&pages) {
            line.set(
                settings,
                &ObjectKey::index(&settings.host, n),
                page.newest,
                page.count(),
            );
            first.add(&line);
        }
        pages.insert(0, first);
    }
    pages
}

impl Line {
    pub(super) fn set_to(&mut self, settings: &SiteSettings, shard: &ShardId, summary: &Summary) {
        let count = Count {
            urls: summary.entries,
            is_repeated: settings.kind_of(&shard.series.name) != SeriesKind::Pages,
        };
        let changed = match settings.index_lastmod {
            IndexLastmod::Pages => None,
            IndexLastmod::Published => summary.changed.map(When::at),
        };
        let lastmod = summary.lastmod.or(changed);
        self.set(settings, &shard.object(), lastmod, Some(count));
    }

    /// Makes this the line of a sitemap of others.
    fn set_to_also(&mut self, also: &Also) {
        self.set_to_loc(also.url.as_str(), also.lastmod, None);
    }

    pub(super) fn set(
        &mut self,
        settings: &SiteSettings,
        key: &ObjectKey,
        lastmod: Option<When>,
        count: Option<Count>,
    ) {
        let loc = format!("{}/{}", settings.origin.as_str(), key.file_name());
        self.set_to_loc(&loc, lastmod, count);
    }

    fn set_to_loc(&mut self, loc: &str, lastmod: Option<When>, count: Option<Count>) {
        self.xml.clear();
        render(&IndexLine { loc, lastmod }, &mut self.xml);
        self.rendered_count.clear();
        render_count(count, &mut self.rendered_count);
        (self.count, self.lastmod) = (count, lastmod);
    }

    pub(super) fn bytes(&self) -> usize {
        self.xml.len() + self.rendered_count.len()
    }
}

impl Page {
    pub(super) fn add(&mut self, line: &Line) {
        self.lines += 1;
        self.newest = self.newest.max(line.lastmod);
        match line.count {
            None => {}
            Some(count) if count.is_repeated => self.repeated += count.urls,
            Some(count) => self.urls += count.urls,
        }
        self.xml.extend_from_slice(&line.xml);
        self.counts.extend_from_slice(&line.rendered_count);
    }

    pub(super) fn bytes(&self) -> usize {
        self.xml.len() + self.counts.len()
    }

    /// Returns the count that a cascade has for this index: the number of its pages, or if it has none, of its videos and news. Returns
    /// `None` if it has only sitemaps of others.
    pub(super) fn count(&self) -> Option<Count> {
        let is_repeated = self.urls == 0;
        let urls = if is_repeated {
            self.repeated
        } else {
            self.urls
        };
        (urls > 0).then_some(Count { urls, is_repeated })
    }
}
