//! Which files are published, and all that follows from what each of them is.

use std::fmt;

/// All that is published lies under this prefix, and `http` may read nothing else.
pub const PUBLISHED_PREFIX: &str = "published/";

/// Joins a series' name and its shard's number in a file name: `post-sitemap2.xml`.
pub const SHARD_INFIX: &str = "-sitemap";

/// Begins the file name of every index; the numbers of the further ones follow it.
pub const INDEX_STEM: &str = "sitemap_index";

/// File name of the feed.
pub const FEED_FILE: &str = "feed.atom";

/// File name of robots.txt.
pub const ROBOTS_FILE: &str = "robots.txt";

/// File name of the site file.
const SITE_FILE: &str = "site.json";

/// A published object. Its S3 key, content type, content encoding and cache lifetime follow from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKey {
    /// `published/<site>/<series>-sitemap<n>.xml`, a gzip member of segments; the first has no number.
    Shard {
        /// The site's host.
        site: String,
        /// The series' name.
        series: String,
        /// The shard's number, from 1.
        n: u32,
    },
    /// `published/<site>/sitemap_index<n>.xml`, a gzip member of one segment; the first has no number.
    Index {
        /// The site's host.
        site: String,
        /// The index's number, from 1.
        n: u32,
    },
    /// `published/<site>/feed.atom`: what has changed of late.
    Feed {
        /// The site's host.
        site: String,
    },
    /// `published/<site>/robots.txt`.
    Robots {
        /// The site's host.
        site: String,
    },
    /// `published/<site>/site.json`: what `http` must know of a site. Not served.
    SiteFile {
        /// The site's host.
        site: String,
    },
}

impl ObjectKey {
    /// The site whose object this is.
    #[must_use]
    pub fn site(&self) -> &str {
        match self {
            Self::Shard { site, .. }
            | Self::Index { site, .. }
            | Self::Feed { site }
            | Self::Robots { site }
            | Self::SiteFile { site } => site,
        }
    }

    /// The last part of the key, which is also the last part of the public path.
    #[must_use]
    pub fn file_name(&self) -> String {
        match self {
            Self::Shard { series, n: 1, .. } => format!("{series}{SHARD_INFIX}.xml"),
            Self::Shard { series, n, .. } => format!("{series}{SHARD_INFIX}{n}.xml"),
            Self::Index { n: 1, .. } => format!("{INDEX_STEM}.xml"),
            Self::Index { n, .. } => format!("{INDEX_STEM}{n}.xml"),
            Self::Feed { .. } => FEED_FILE.to_owned(),
            Self::Robots { .. } => ROBOTS_FILE.to_owned(),
            Self::SiteFile { .. } => SITE_FILE.to_owned(),
        }
    }

    /// The S3 key.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{PUBLISHED_PREFIX}{}/{}", self.site(), self.file_name())
    }

    /// The key that [`ObjectKey::path`] wrote, or nothing for a path that is none of ours.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let (site, file) = path.strip_prefix(PUBLISHED_PREFIX)?.split_once('/')?;
        let site = site.to_owned();
        let key = match file {
            FEED_FILE => Self::Feed { site },
            ROBOTS_FILE => Self::Robots { site },
            SITE_FILE => Self::SiteFile { site },
            _ => {
                let stem = file.strip_suffix(".xml")?;
                let number = |n: &str| {
                    if n.is_empty() {
                        Some(1)
                    } else {
                        n.parse().ok()
                    }
                };
                if let Some(n) = stem.strip_prefix(INDEX_STEM) {
                    let n = number(n)?;
                    Self::Index { site, n }
                } else {
                    let (series, n) = stem.rsplit_once(SHARD_INFIX)?;
                    let (series, n) = (series.to_owned(), number(n)?);
                    Self::Shard { site, series, n }
                }
            }
        };
        // `post-sitemap1.xml` and `post-sitemap02.xml` parse, but no object has those keys.
        (key.path() == path).then_some(key)
    }

    /// The Content-Type.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Shard { .. } | Self::Index { .. } => "application/xml; charset=utf-8",
            Self::Feed { .. } => "application/atom+xml; charset=utf-8",
            Self::Robots { .. } => "text/plain; charset=utf-8",
            Self::SiteFile { .. } => "application/json",
        }
    }

    /// What is stored behind the document so that objects with different stamps differ: in the format's own comments.
    /// Empty where the document holds its stamp.
    #[must_use]
    pub fn seal(&self, stamp: &str) -> String {
        match self {
            Self::Shard { .. } | Self::Index { .. } | Self::SiteFile { .. } => String::new(),
            Self::Feed { .. } => format!("<!-- {stamp} -->\n"),
            Self::Robots { .. } => format!("\n# {stamp}\n"),
        }
    }

    /// The Content-Encoding of the stored bytes.
    #[must_use]
    pub fn content_encoding(&self) -> Option<&'static str> {
        match self {
            Self::Shard { .. } | Self::Index { .. } => Some("gzip"),
            Self::Feed { .. } | Self::Robots { .. } | Self::SiteFile { .. } => None,
        }
    }

    /// The Cache-Control: a minute in shared caches, which then revalidate behind the reader's back; a day's grace
    /// while the origin is down.
    #[must_use]
    pub fn cache_control(&self) -> &'static str {
        match self {
            Self::Shard { .. } | Self::Index { .. } | Self::Feed { .. } | Self::Robots { .. } => {
                "public, max-age=60, s-maxage=60, stale-while-revalidate=60, stale-if-error=86400"
            }
            Self::SiteFile { .. } => "private, no-store",
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}
