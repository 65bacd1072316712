//! The table of published files.
//!
//! [`FILES`] has one [`PublishedFile`] for each kind of file. It has the names of the files, how they are stored and served, and
//! their source. The front's routes, the headers, the audit and the test of the CDN's paths read it. The content itself is built
//! by `engine::regenerate`.

use std::fmt;

use sitemap::departures::FILES as FILES_OF_DEPARTURES;
use sitemap::site::INDEX_STEM;

/// The prefix of all published objects. `http` may read nothing else.
pub const PUBLISHED_PREFIX: &str = "published/";

/// Joins a series' name and its shard's number in a file name: `post-sitemap2.xml`.
const SHARD_INFIX: &str = "-sitemap";

/// The folder of the files of departures, below a site's.
const DEPARTURES_FOLDER: &str = "moved/";

const XML: &str = "application/xml; charset=utf-8";

/// A minute in shared caches, which then revalidate in the background. If the origin fails, caches may serve old copies for a
/// day.
const SHARED_CACHE: &str =
    "public, max-age=60, s-maxage=60, stale-while-revalidate=60, stale-if-error=86400";

/// The longest time in seconds for which a cache may serve a published file: the sum of the shared times of the Cache-Control.
pub const MAX_CACHED_SECONDS: i64 = 60 + 60 + 86_400;

/// A kind of published file.
#[derive(Debug)]
pub struct PublishedFile {
    /// The file's name. For a kind with several files, the pattern of their names.
    pub name: &'static str,
    /// Whether a site has several files of this kind, each with a number.
    pub is_numbered: bool,
    /// The key of a site's file. The number is used only if a site has several files of the kind. For shards, the key of an example.
    pub key: fn(String, u32) -> ObjectKey,
    /// The Content-Type.
    pub content_type: &'static str,
    /// How it is stored.
    pub storage: Storage,
    /// The Cache-Control.
    pub cache_control: &'static str,
    /// The source of its content. `engine::regenerate` writes the file when the source changes, and the audit compares the two.
    pub made_from: Source,
    /// The forms in which it is served. A file without any is not served.
    pub forms: &'static [Form],
    /// What happens to it when settings close its site or its series.
    pub closing: Closing,
}

/// How a file is stored, and where its stamp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// As a gzip member of segments, whose directory has the stamp.
    Member,
    /// As plain text. The document contains its stamp.
    Text,
    /// As plain text, with the stamp behind it between these two texts. Readers of the bucket get only the document.
    Sealed(&'static str, &'static str),
}

/// The source of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The rows of a shard. Its stamps are the sums of the rows' versions.
    Entries,
    /// The summaries of a site's shards, and the site's row. The stamp is the sum of their versions.
    Summaries,
    /// The site's row alone. The stamp is its version.
    Settings,
    /// The rows of the feed, which are deleted later. So the stamp is a random token.
    Changes,
    /// The rows of pages that departed. The stamp is a random token.
    Departures,
    /// The rows of the newest pages, which are deleted too. A site has the file only if its settings ask for it.
    Newest,
}

/// What happens to a file when settings close its site or its series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// It is still served.
    Never,
    /// It is no longer served.
    AtOnce,
    /// It is served empty for as long as a cached index may name it. The same applies to a file that became empty because its
    /// pages are gone.
    AfterGrace,
}

/// A form in which a file is served, under a path of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As stored.
    Stored,
    /// As stored, but compressed for a client that accepts gzip.
    Compressed,
    /// The XML document.
    Xml,
    /// The document as a gzip file.
    Gz,
    /// One URL a line.
    Text,
    /// The text form as a gzip file.
    TextGz,
}

/// The table of all kinds.
pub static FILES: [&PublishedFile; 7] = [
    &SHARD,
    &INDEX,
    &ROBOTS,
    &SITE_FILE,
    &FEED,
    &LLMS,
    &DEPARTURES,
];

static SHARD: PublishedFile = PublishedFile {
    name: "<series>-sitemap<n>.xml",
    is_numbered: true,
    key: |site, n| {
        let series = "post".to_owned();
        ObjectKey::Shard { site, series, n }
    },
    content_type: XML,
    storage: Storage::Member,
    cache_control: SHARED_CACHE,
    made_from: Source::Entries,
    forms: &[Form::Xml, Form::Gz, Form::Text, Form::TextGz],
    closing: Closing::AfterGrace,
};

static INDEX: PublishedFile = PublishedFile {
    name: "sitemap_index<n>.xml",
    is_numbered: true,
    key: |site, n| ObjectKey::Index { site, n },
    content_type: XML,
    storage: Storage::Member,
    cache_control: SHARED_CACHE,
    made_from: Source::Summaries,
    // Its text form would list sitemaps, and readers of text sitemaps would take them for pages.
    forms: &[Form::Xml, Form::Gz],
    closing: Closing::AfterGrace,
};

static ROBOTS: PublishedFile = PublishedFile {
    name: "robots.txt",
    is_numbered: false,
    key: |site, _| ObjectKey::Robots { site },
    content_type: "text/plain; charset=utf-8",
    storage: Storage::Sealed("\n# ", "\n"),
    cache_control: SHARED_CACHE,
    made_from: Source::Settings,
    forms: &[Form::Stored],
    closing: Closing::Never,
};

static SITE_FILE: PublishedFile = PublishedFile {
    name: "site.json",
    is_numbered: false,
    key: |site, _| ObjectKey::SiteFile { site },
    content_type: "application/json",
    storage: Storage::Text,
    cache_control: "private, no-store",
    made_from: Source::Settings,
    forms: &[],
    closing: Closing::Never,
};

static FEED: PublishedFile = PublishedFile {
    name: "feed.atom",
    is_numbered: false,
    key: |site, _| ObjectKey::Feed { site },
    content_type: "application/atom+xml; charset=utf-8",
    storage: Storage::Sealed("<!-- ", " -->\n"),
    cache_control: SHARED_CACHE,
    made_from: Source::Changes,
    forms: &[Form::Compressed],
    // No index names it, so it needs no grace. A cached robots.txt may, which costs crawlers a 404 and no page.
    closing: Closing::AtOnce,
};

static LLMS: PublishedFile = PublishedFile {
    name: "llms.txt",
    is_numbered: false,
    key: |site, _| ObjectKey::Llms { site },
    // The content is Markdown. Its name ends in `.txt`, so every reader and browser shows it as text.
    content_type: "text/plain; charset=utf-8",
    storage: Storage::Sealed("<!-- ", " -->\n"),
    cache_control: SHARED_CACHE,
    made_from: Source::Newest,
    forms: &[Form::Compressed],
    closing: Closing::AtOnce,
};

static DEPARTURES: PublishedFile = PublishedFile {
    name: "moved/<file>",
    is_numbered: true,
    key: |site, file| ObjectKey::Departures { site, file },
    content_type: "application/json",
    storage: Storage::Text,
    cache_control: "private, no-store",
    made_from: Source::Departures,
    forms: &[],
    closing: Closing::AtOnce,
};

/// A published object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKey {
    /// `published/<site>/<series>-sitemap<n>.xml`; the first has no number.
    Shard {
        /// The site's host.
        site: String,
        /// The series' name.
        series: String,
        /// The shard's number, from 1.
        n: u32,
    },
    /// `published/<site>/sitemap_index<n>.xml`; the first has no number.
    Index {
        /// The site's host.
        site: String,
        /// The index's number, from 1.
        n: u32,
    },
    /// `published/<site>/feed.atom`: recent changes.
    Feed {
        /// The site's host.
        site: String,
    },
    /// `published/<site>/llms.txt`: the newest pages, in Markdown.
    Llms {
        /// The site's host.
        site: String,
    },
    /// `published/<site>/moved/<file>`: where pages went that departed from their addresses. The name is the file's number in three hex
    /// digits.
    Departures {
        /// The site's host.
        site: String,
        /// The file's number, below [`sitemap::departures::FILES`].
        file: u32,
    },
    /// `published/<site>/robots.txt`.
    Robots {
        /// The site's host.
        site: String,
    },
    /// `published/<site>/site.json`: the site's data for `http`.
    SiteFile {
        /// The site's host.
        site: String,
    },
}

impl ObjectKey {
    /// Returns the key of a site's n-th index.
    #[must_use]
    pub fn index(site: &str, n: u32) -> Self {
        let site = site.to_owned();
        Self::Index { site, n }
    }

    /// Returns the properties of all files of this kind.
    #[must_use]
    pub fn file(&self) -> &'static PublishedFile {
        match self {
            Self::Shard { .. } => &SHARD,
            Self::Index { .. } => &INDEX,
            Self::Feed { .. } => &FEED,
            Self::Llms { .. } => &LLMS,
            Self::Departures { .. } => &DEPARTURES,
            Self::Robots { .. } => &ROBOTS,
            Self::SiteFile { .. } => &SITE_FILE,
        }
    }

    /// Returns the site whose object this is.
    #[must_use]
    pub fn site(&self) -> &str {
        match self {
            Self::Shard { site, .. }
            | Self::Index { site, .. }
            | Self::Feed { site }
            | Self::Llms { site }
            | Self::Departures { site, .. }
            | Self::Robots { site }
            | Self::SiteFile { site } => site,
        }
    }

    /// Returns the file name without the extension that differs between its forms.
    #[must_use]
    pub fn stem(&self) -> String {
        let number = |n: &u32| match n {
            1 => String::new(),
            n => n.to_string(),
        };
        match self {
            Self::Shard { series, n, .. } => format!("{series}{SHARD_INFIX}{}", number(n)),
            Self::Index { n, .. } => format!("{INDEX_STEM}{}", number(n)),
            Self::Departures { file, .. } => format!("{DEPARTURES_FOLDER}{file:03x}"),
            _ => self.file().name.to_owned(),
        }
    }

    /// Returns the key of a site's shard or index with this stem. It accepts several spellings of a number, such as `02`.
    /// [`ObjectKey::stem`] returns the correct one.
    #[must_use]
    pub fn from_stem(site: &str, stem: &str) -> Option<Self> {
        let site = site.to_owned();
        let number = |digits: &str| match digits {
            "" => Some(1),
            digits => digits.parse().ok().map(|n: u32| n.max(1)),
        };
        if let Some(n) = stem.strip_prefix(INDEX_STEM).and_then(number) {
            return Some(Self::Index { site, n });
        }
        // From the right, because the name of a series may itself end in `-sitemap`.
        let (series, n) = stem.rsplit_once(SHARD_INFIX)?;
        let (series, n) = (series.to_owned(), number(n)?);
        Some(Self::Shard { site, series, n })
    }

    /// Returns the last part of the key, which is also the last part of the public path.
    #[must_use]
    pub fn file_name(&self) -> String {
        match self.file().storage {
            Storage::Member => self.stem() + Form::Xml.extension(),
            _ => self.stem(),
        }
    }

    /// Returns the S3 key.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{PUBLISHED_PREFIX}{}/{}", self.site(), self.file_name())
    }

    /// Parses a key that [`ObjectKey::path`] wrote. Returns `None` for any other path.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let (site, file) = path.strip_prefix(PUBLISHED_PREFIX)?.split_once('/')?;
        let departures = || {
            let number = file.strip_prefix(DEPARTURES_FOLDER)?;
            let (site, file) = (site.to_owned(), u32::from_str_radix(number, 16).ok()?);
            (file < FILES_OF_DEPARTURES).then_some(Self::Departures { site, file })
        };
        let named = PublishedFile::named(site, file).or_else(departures);
        let key = named.or_else(|| {
            let stem = file.strip_suffix(Form::Xml.extension())?;
            Self::from_stem(site, stem)
        })?;
        // `post-sitemap1.xml` and `post-sitemap02.xml` parse, but no object has those keys.
        (key.path() == path).then_some(key)
    }

    /// Returns the Content-Type.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        self.file().content_type
    }

    /// Returns the text that is stored behind the document so that objects with different stamps differ. It has the form of a
    /// comment of the format. It is empty if the document contains its stamp.
    #[must_use]
    pub fn seal(&self, stamp: &str) -> String {
        match self.file().storage {
            Storage::Member | Storage::Text => String::new(),
            Storage::Sealed(before, after) => format!("{before}{stamp}{after}"),
        }
    }

    /// Returns the Content-Encoding of the stored bytes.
    #[must_use]
    pub fn content_encoding(&self) -> Option<&'static str> {
        (self.file().storage == Storage::Member).then_some("gzip")
    }

    /// Returns the Cache-Control.
    #[must_use]
    pub fn cache_control(&self) -> &'static str {
        self.file().cache_control
    }

    /// Returns what happens to the object when settings close its site or its series. The first index stays, since robots.txt always names
    /// it; the publisher empties it.
    #[must_use]
    pub fn closing(&self) -> Closing {
        match self {
            Self::Index { n: 1, .. } => Closing::Never,
            _ => self.file().closing,
        }
    }
}

impl PublishedFile {
    /// Returns the key of the file with this name, for kinds of which a site has only one file.
    #[must_use]
    pub fn named(site: &str, name: &str) -> Option<ObjectKey> {
        let mut files = FILES.iter();
        let file = files.find(|file| !file.is_numbered && file.name == name)?;
        Some((file.key)(site.to_owned(), 1))
    }

    /// Returns keys of this kind: all keys that a site has, or two examples.
    #[must_use]
    pub fn examples(&self, site: &str) -> Vec<ObjectKey> {
        let numbers: &[u32] = if self.is_numbered { &[1, 12] } else { &[1] };
        let keys = numbers.iter().map(|n| (self.key)(site.to_owned(), *n));
        keys.collect()
    }
}

impl Form {
    /// Returns the extension that follows the stem in paths of this form.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Stored | Self::Compressed => "",
            Self::Xml => ".xml",
            Self::Gz => ".xml.gz",
            Self::Text => ".txt",
            Self::TextGz => ".txt.gz",
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "www.example.com";

    #[test]
    fn every_key_is_read_back_from_its_path() {
        let keys = FILES.iter().flat_map(|file| file.examples(SITE));
        // A series may have the name of another file.
        let series = ["sitemap_index", "sitemap_index2", "x-sitemap", "feed.atom"];
        let shards = series.map(|series| ObjectKey::Shard {
            site: SITE.to_owned(),
            series: series.to_owned(),
            n: 2,
        });
        for key in keys.chain(shards) {
            assert_eq!(ObjectKey::from_path(&key.path()), Some(key));
        }
    }

    #[test]
    fn other_paths_are_no_keys() {
        for file in [
            "post-sitemap1.xml",
            "post-sitemap0.xml",
            "post-sitemap02.xml",
            "post-sitemap+2.xml",
            "post-sitemap.xml.gz",
            "post-sitemap.txt",
            "sitemap_index1.xml",
            "sitemap_index.txt",
            "feed.xml",
            "a/feed.atom",
            "",
        ] {
            let path = format!("{PUBLISHED_PREFIX}{SITE}/{file}");
            assert_eq!(ObjectKey::from_path(&path), None, "{path}");
        }
    }
}
