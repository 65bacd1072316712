//! The steps of histories, and how they are drawn.

use std::ops::Range;

use proptest::prelude::*;
use proptest::strategy::Union;
use sitemap::member::SEGMENT_SLOTS;

/// The sites. The deployment names the first two. The third is a site only while it has a record.
pub const SITES: [&str; 3] = ["www.example.com", "shop.example", "blog.example"];
/// The number of sites that the deployment names.
pub const KNOWN: usize = 2;
/// The site that is known only by its record.
pub const RECORDED: usize = 2;
/// The pages' types. Two have the names of the series for videos and news, and one the name that the series of such a type has
/// then.
pub const TYPES: [&str; 5] = ["post", "page", "video", "news", "news-pages"];
/// The series of videos and of news that sites may name. The first are the defaults.
pub const SERIES: [(&str, &str); 5] = [
    ("video", "news"),
    ("clips", "news"),
    ("post", "bulletin"),
    ("news", "video"),
    ("news-pages", "news"),
];
/// The style sheets that sites may choose. The first is the default.
pub const STYLESHEETS: [&str; 3] = ["css", "xsl", "none"];
/// Patterns of parts' addresses. The first is the default, and the addresses of the last are not on the site.
pub const PART_URLS: [&str; 3] = [
    "{url}/{part}",
    "{url}?page={part}",
    "https://elsewhere.example/?page={url}&part={part}",
];
/// Sitemaps of others that sites may list, with their lastmods. Some have names that sitemaps of the site's own have.
pub const ALSO: [(&str, Option<&str>); 4] = [
    ("https://forum.example/post-sitemap.xml", Some("2026-01-31")),
    ("http://shop.example/static/sitemap_index.xml", None),
    ("https://forum.example/sitemap_index2.xml", None),
    (
        "https://forum.example/news-sitemap.xml?a=1",
        Some("2027-02-01T10:00:00+00:00"),
    ),
];
/// Terms by taxonomy.
pub const TERMS: [(&str, &str); 3] = [
    ("category", "news"),
    ("category", "a #1/ü"),
    ("tag", "rust"),
];
/// Languages of pages, each with that of their news. The third is the second in another spelling.
pub const LANGUAGES: [(&str, &str); 4] =
    [("en", "en"), ("de", "de"), ("DE", "de"), ("zh-TW", "zh-tw")];
/// An index behind [`LANGUAGES`]: a language that no page at another path has.
pub const OWN_LANGUAGE: usize = LANGUAGES.len();
/// Translation groups.
pub const GROUPS: [&str; 2] = ["home", "about #2"];
/// The number of images of a page whose entry is a quarter of the lowest byte limit. The images are few with long names, because
/// reading and writing them takes most of the time of a history.
pub const MANY_IMAGES: u32 = 125;
/// See [`MANY_IMAGES`].
pub const MANY_IMAGES_DIGITS: usize = 1_930;

/// Records that are edited one by one. There are fewer paths than records, so that they conflict.
const RECORDS: Range<usize> = 0..8;
const PATHS: Range<usize> = 0..4;
/// The most records that are added and deleted as a crowd.
pub const MOST_CROWD: usize = 1_030;
/// The number that are added at once. The n-th is at the n-th path.
const CROWD: Range<usize> = 5..30;
/// The same with many images each, which do not fit into one sitemap of the lowest byte limit.
const LARGE_CROWD: Range<usize> = 5..8;
/// Hours from the world's beginning at which pages appear, disappear, and are said to have changed.
const HOURS: Range<i64> = 1..250;
/// Hours before the edit at which a page is said to have changed, so that it is or is not news.
const RECENT: Range<i64> = 0..60;
/// Parts of a page with parts, besides its first, and of one with many: more than are reconciled together.
const PARTS: Range<u32> = 2..5;
const MANY_PARTS: u32 = 120;
/// Parts of a page of a crowd.
const CROWD_PARTS: u32 = 2;
/// Hours that pass at a time.
const PASSING: Range<i64> = 1..60;
/// Seconds in which the clock calls at least once, and a mark becomes due.
const WAITING: Range<u64> = 30..200;
/// Seconds in which an edit is handled, but its mark is not.
const HANDLING: Range<u64> = 5..20;
/// Losses between two edits and a comparison.
const LOSSES: Range<usize> = 3..15;
/// Calls of a part.
const CALLS: Range<usize> = 8..25;
/// The number of steps of a history over HTTP.
const STEPS: Range<usize> = 120..220;
/// The number of steps of a history in the simulated world. Most are short, some of medium length, and few are long.
const SHORT_STEPS: Range<usize> = 20..120;
const MEDIUM_STEPS: Range<usize> = 120..400;
const LONG_STEPS: Range<usize> = 400..2_001;
/// Pages of a large crowd of news: more than a sitemap of news may have, whatever the site's own limit is.
const NEWS_CROWD: Range<usize> = 1_001..MOST_CROWD;
/// Pages of a crowd that is one translation group: more than the group may have.
const GROUP_CROWD: Range<usize> = 201..206;
/// Pages of such a crowd that leave it.
const LEAVING: Range<usize> = 1..8;
/// The capacity of sitemaps for such a crowd.
const LARGE_CAPACITY: u32 = 2_000;
/// The numbers of records, of their paths, and of states of records and settings, that recur.
const FEW_RECORDS: usize = 3;
const FEW_PATHS: usize = 2;
const FEW_STATES: usize = 3;
/// The number of sitemaps, if there are many.
const MANY_SITEMAPS: usize = 12;
/// The number of pages in a segment, and how many of them change at once.
const FULL_SEGMENT: usize = SEGMENT_SLOTS as usize;
const FEW_OF_MANY: Range<usize> = 1..4;
/// The number of steps that are mixed with a large crowd.
const LARGE_STEPS: Range<usize> = 5..20;
/// The number of steps before the functions start, in histories that have any.
const LOADED: Range<usize> = 1..60;

/// A history.
#[derive(Clone, Debug)]
pub struct History {
    /// The number of steps before the functions start, so that these find a filled table.
    pub loaded: usize,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step of a history.
#[derive(Clone, Debug)]
pub enum Step {
    /// A record is written.
    Put(usize, Page),
    /// A record is deleted.
    Delete(usize),
    /// Many records are written at once. All are such pages, each at a path of its own.
    Flood(usize, Page),
    /// The whole crowd is deleted at once.
    Clear,
    /// A site's record is written, or deleted.
    Site(usize, Option<Settings>),
    /// Records that were deleted or changed since the last comparison are restored from a backup, and new ones are deleted
    /// (docs/OPERATIONS.md, "Restore the content").
    Restore,
    /// Another mapping of the user's table is deployed, with or without the images of its items.
    Deploy(bool),
    /// Hours pass in which nothing happens.
    Pass(i64),
    /// Seconds pass in which the clock calls.
    Wait(u64),
    /// The sitemap table is dropped and created again, while no function runs.
    DropTable,
    /// A row of the sitemap table is lost. The number selects it.
    LoseRow(usize),
    /// After everything is published, an attribute of a row is lost or damaged, or a ledger loses an entry. The number selects
    /// it. Then everything is compared.
    DamageRow(usize),
    /// After everything is published, an object is lost or damaged. The number selects it. Then everything is compared.
    LoseObject(usize),
    /// Nothing happens until everything is published. Then everything is compared.
    Rest,
}

/// The fields of a record that histories vary.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The index in [`SITES`].
    pub site: usize,
    /// The number of its path.
    pub path: usize,
    /// The spelling of its address.
    pub spelling: Spelling,
    /// The part of the page at the path whose default address it has. `None` for an address of its own.
    pub under: Option<u32>,
    /// The index in [`TYPES`].
    pub kind: usize,
    /// Whether it may be listed.
    pub state: State,
    /// When it last changed.
    pub changed: Changed,
    /// The number of its images.
    pub images: u32,
    /// The time from which it exists, in hours from the world's beginning.
    pub from: Option<i64>,
    /// The time of its end, in hours from the world's beginning.
    pub until: Option<i64>,
    /// The number of parts in its record.
    pub parts: u32,
    /// Its terms, as bits.
    pub terms: u8,
    /// The term whose archive it is. `None` if it is not an archive.
    pub archive: Option<usize>,
    /// Whether it has a title.
    pub titled: bool,
    /// Its videos.
    pub film: Film,
    /// Whether its record says that it is news.
    pub news: bool,
    /// The index in [`LANGUAGES`], or [`OWN_LANGUAGE`].
    pub language: Option<usize>,
    /// The index in [`GROUPS`].
    pub group: Option<usize>,
    /// Whether it is its group's default.
    pub x_default: bool,
    /// The alternates that it names itself.
    pub alternates: Alternates,
}

/// The spellings of a page's address, which are all the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Unencoded. It is published with hex digits in upper case.
    Raw,
    /// With hex digits in lower case, and an unencoded canonical address.
    Lower,
    /// With an unnecessary escape, and a canonical address in lower case.
    Unreserved,
}

/// The alternates that a page names itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternates {
    /// None.
    None,
    /// The page itself and another page.
    Both,
    /// Only another page.
    Other,
    /// Only the page itself, which has no effect.
    Itself,
}

/// The state of a page, which decides whether it may be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It may be listed.
    Listed,
    /// It is not published.
    Draft,
    /// It asks not to be indexed.
    Noindex,
    /// Its canonical address is another one.
    Elsewhere,
    /// It has moved.
    Moved,
    /// It is gone for good.
    Gone,
}

/// The videos of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Film {
    /// It has none.
    None,
    /// One without an end.
    Plain,
    /// One that expires this number of hours after the world's beginning.
    Until(i64),
    /// One of each kind.
    Both(i64),
    /// One without a picture, which cannot be listed.
    Broken,
}

/// The time of a page's last change, according to its record.
#[derive(Clone, Copy, Debug)]
pub enum Changed {
    /// A day of January 2026.
    Day(u32),
    /// This number of hours after the world's beginning. Omitted while it is in the future.
    Hour(i64),
    /// This number of hours before the edit, which converts it to an hour.
    Ago(i64),
    /// It has no such time.
    Never,
}

/// The fields of a site's record.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The most entries of a sitemap.
    pub capacity: u32,
    /// Whether the site is public.
    pub public: bool,
    /// A type that is not public.
    pub hidden: Option<usize>,
    /// Whether it sets the lowest byte limit.
    pub tight: bool,
    /// The names of the series for videos and news.
    pub series: usize,
    /// The name under which its news are published. `None` if they are not.
    pub publication: Option<u32>,
    /// Whether that is the name of the site, which names no publication.
    pub named: bool,
    /// A type whose pages are news.
    pub news: Option<usize>,
    /// Whether a modification does not make a page news.
    pub published_only: bool,
    /// Whether it has a language, English.
    pub language: bool,
    /// The pattern for the addresses of a type's parts.
    pub part_url: Option<(usize, usize)>,
    /// Whether it has a feed.
    pub feed: bool,
    /// Whether robots.txt names the feed.
    pub feed_named: bool,
    /// A type whose pages its llms.txt lists, before those of the first. `None` if it has no llms.txt.
    pub llms: Option<usize>,
    /// The index in [`STYLESHEETS`].
    pub stylesheet: usize,
    /// Whether search engines are notified of changes.
    pub told: bool,
    /// Whether the first of several indexes lists the others.
    pub cascaded: bool,
    /// The number of sitemaps of others that the index lists.
    pub also: usize,
    /// Whether an index gives a sitemap without dates the time of its last change.
    pub timed: bool,
}

/// The settings of a site without a record.
pub const DEFAULT: Settings = Settings {
    capacity: 1_000,
    public: true,
    hidden: None,
    tight: false,
    series: 0,
    publication: None,
    named: false,
    news: None,
    published_only: false,
    language: false,
    part_url: None,
    feed: true,
    feed_named: false,
    llms: None,
    stylesheet: 0,
    told: false,
    cascaded: false,
    also: 0,
    timed: false,
};

impl Settings {
    /// Returns the types whose pages the site's llms.txt lists, in the order of its sections.
    #[must_use]
    pub fn llms_kinds(&self) -> Vec<usize> {
        match self.llms {
            None => Vec::new(),
            Some(0) => vec![0],
            Some(kind) => vec![kind, 0],
        }
    }
}

impl Page {
    /// Returns how many parts of the page may be listed: of an archive only the first.
    pub fn listed_parts(&self) -> u32 {
        if self.archive.is_some() {
            1
        } else {
            self.parts
        }
    }

    /// Returns whether the page is in a translation group, so that its own alternates are ignored.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        self.group.is_some() && self.language.is_some()
    }

    /// Returns the codes of the page's language, and of that of its news.
    #[must_use]
    pub fn language_codes(&self) -> Option<(String, String)> {
        let of = self.language?;
        let code = LANGUAGES.get(of);
        Some(match code {
            Some((code, news)) => ((*code).to_owned(), (*news).to_owned()),
            None => {
                // Codes of three letters, which sort before all others.
                let letter = |n: usize| char::from_digit(10 + (n % 26) as u32, 36);
                let letters = [self.path / 26, self.path].map(letter);
                let code: String = ['a']
                    .into_iter()
                    .chain(letters.into_iter().flatten())
                    .collect();
                (code.clone(), code)
            }
        })
    }
}

/// A page without any optional fields.
pub const PAGE: Page = Page {
    site: 0,
    path: 0,
    spelling: Spelling::Raw,
    under: None,
    kind: 0,
    state: State::Listed,
    changed: Changed::Day(1),
    images: 0,
    from: None,
    until: None,
    parts: 1,
    terms: 0,
    archive: None,
    titled: false,
    film: Film::None,
    news: false,
    language: None,
    group: None,
    x_default: false,
    alternates: Alternates::None,
};

pub(crate) fn page() -> impl Strategy<Value = Page> {
    let hours = || proptest::option::weighted(0.15, HOURS);
    let state = prop_oneof![
        14 => Just(State::Listed),
        2 => Just(State::Draft),
        1 => Just(State::Noindex),
        1 => Just(State::Elsewhere),
        1 => Just(State::Moved),
        1 => Just(State::Gone),
    ];
    let changed = prop_oneof![
        11 => (1..28_u32).prop_map(Changed::Day),
        6 => RECENT.prop_map(Changed::Ago),
        2 => HOURS.prop_map(Changed::Hour),
        1 => Just(Changed::Never),
    ];
    let site = prop_oneof![5 => Just(0), 3 => Just(1), 2 => Just(2_usize)];
    let under = proptest::option::weighted(0.1, PARTS);
    let spelling = prop_oneof![
        6 => Just(Spelling::Raw),
        2 => Just(Spelling::Lower),
        1 => Just(Spelling::Unreserved),
    ];
    let place = (site, PATHS, spelling, under, 0..TYPES.len());
    let shown = (state, changed, 0..3_u32, hours(), hours());
    let more = (parts(), relations(), contents());
    (place, shown, more).prop_map(|(place, shown, (parts, relations, contents))| {
        let (site, path, spelling, under, kind) = place;
        let (state, changed, images, from, until) = shown;
        let (terms, archive, language, group, x_default) = relations;
        let (titled, film, news, alternates) = contents;
        Page {
            site,
            path,
            spelling,
            under,
            kind,
            state,
            changed,
            images,
            from,
            until,
            parts,
            terms,
            archive,
            titled,
            film,
            news,
            language,
            group,
            x_default,
            alternates,
        }
    })
}

fn parts() -> impl Strategy<Value = u32> {
    prop_oneof![80 => Just(1), 19 => PARTS, 1 => Just(MANY_PARTS)]
}

type Relations = (u8, Option<usize>, Option<usize>, Option<usize>, bool);

fn relations() -> impl Strategy<Value = Relations> {
    let terms = prop_oneof![1 => Just(0), 2 => 0..(1_u8 << TERMS.len())];
    let archive = proptest::option::weighted(0.15, 0..TERMS.len());
    let language = proptest::option::weighted(0.7, 0..LANGUAGES.len());
    let group = proptest::option::weighted(0.25, 0..GROUPS.len());
    (terms, archive, language, group, prop::bool::weighted(0.3))
}

fn contents() -> impl Strategy<Value = (bool, Film, bool, Alternates)> {
    let film = prop_oneof![
        12 => Just(Film::None),
        3 => Just(Film::Plain),
        2 => HOURS.prop_map(Film::Until),
        2 => HOURS.prop_map(Film::Both),
        1 => Just(Film::Broken),
    ];
    let alternates = prop_oneof![
        8 => Just(Alternates::None),
        2 => Just(Alternates::Both),
        1 => Just(Alternates::Other),
        1 => Just(Alternates::Itself),
    ];
    let (titled, news) = (prop::bool::weighted(0.8), prop::bool::weighted(0.35));
    (titled, film, news, alternates)
}

pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    let hidden = proptest::option::weighted(0.2, 0..TYPES.len());
    let public = prop::bool::weighted(0.8);
    let capacity = prop::sample::select(vec![1, 2, 3, 5, 8]);
    let series = prop_oneof![2 => Just(0), 3 => 0..SERIES.len()];
    let publication = proptest::option::weighted(0.8, 0..2_u32);
    let news = proptest::option::weighted(0.3, 0..TYPES.len());
    let part_url = proptest::option::weighted(0.3, (0..TYPES.len(), 0..PART_URLS.len()));
    let likely = || prop::bool::weighted(0.8);
    let limits = (capacity, public, hidden, any::<bool>());
    let publication = (publication, prop::bool::weighted(0.3));
    let news = (publication, news, any::<bool>(), likely());
    let stylesheet = prop_oneof![2 => Just(0), 1 => 0..STYLESHEETS.len()];
    let llms = proptest::option::weighted(0.5, 0..TYPES.len());
    let also = prop_oneof![1 => Just(0), 1 => 0..=ALSO.len()];
    let flags = (any::<bool>(), any::<bool>(), llms, any::<bool>(), also);
    let feed = (likely(), any::<bool>());
    let more = (series, part_url, feed, stylesheet, flags);
    (limits, news, more).prop_map(|(limits, news, more)| {
        let (series, part_url, (feed, feed_named), stylesheet, (told, cascaded, llms, timed, also)) = more;
        let (capacity, public, hidden, tight) = limits;
        let ((publication, named), news, published_only, language) = news;
        Settings {
            capacity,
            public,
            hidden,
            tight,
            series,
            publication,
            named,
            news,
            published_only,
            language,
            part_url,
            feed,
            feed_named,
            llms,
            stylesheet,
            told,
            cascaded,
            also,
            timed,
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let flood = |crowd: Range<usize>, images: u32| {
        (crowd, page()).prop_map(move |(count, page)| {
            let parts = page.parts.min(CROWD_PARTS);
            Step::Flood(
                count,
                Page {
                    images,
                    parts,
                    ..page
                },
            )
        })
    };
    prop_oneof![
        60 => (RECORDS, page()).prop_map(|(id, page)| Step::Put(id, page)),
        15 => RECORDS.prop_map(Step::Delete),
        3 => flood(CROWD, 0),
        1 => flood(LARGE_CROWD, MANY_IMAGES),
        4 => Just(Step::Clear),
        6 => (0..SITES.len(), proptest::option::weighted(0.8, settings()))
            .prop_map(|(site, settings)| Step::Site(site, settings)),
        1 => Just(Step::Restore),
        5 => PASSING.prop_map(Step::Pass),
        1 => Just(Step::DropTable),
        4 => loss(),
        3 => Just(Step::Rest),
    ]
}

/// Returns a strategy for any history that is short enough for HTTP.
pub fn history() -> impl Strategy<Value = History> {
    with_steps(STEPS)
}

/// Returns a strategy for any history.
pub fn any_history() -> impl Strategy<Value = History> {
    prop_oneof![
        64 => with_steps(SHORT_STEPS),
        48 => with_steps(MEDIUM_STEPS),
        8 => with_steps(LONG_STEPS),
        32 => back_and_forth(SHORT_STEPS, BESIDE),
        48 => back_and_forth(MEDIUM_STEPS, BESIDE),
        // Every few edits are compared separately, most of them without a scan.
        48 => back_and_forth(SHORT_STEPS, Beside { settings: 2, rests: 6, ..BESIDE }),
        32 => back_and_forth(SHORT_STEPS, Beside { settings: 24, rests: 9, ..BESIDE }),
        32 => back_and_forth(SHORT_STEPS, Beside { hours: 8, settings: 0, rests: 4, ..BESIDE }),
        // The audit also repairs the effects of races.
        48 => back_and_forth(MEDIUM_STEPS, Beside { losses: 1, ..BESIDE }),
        // Lost rows are edited before anything looks for them.
        32 => back_and_forth(SHORT_STEPS, Beside { settings: 2, losses: 8, rests: 2, ..BESIDE }),
        // Each attribute of each row is damaged eventually.
        32 => back_and_forth(SHORT_STEPS, Beside { settings: 2, damages: 12, ..BESIDE }),
        24 => back_and_forth(SHORT_STEPS, Beside { drops: 3, rests: 3, ..BESIDE }),
        // All content is scanned again, before the last scan has ended.
        32 => back_and_forth(SHORT_STEPS, Beside { deploys: 6, rests: 2, ..BESIDE }),
        16 => back_and_forth(SHORT_STEPS, Beside { deploys: 6, drops: 2, losses: 2, ..BESIDE }),
        // Nothing that follows needs what is lost.
        24 => back_and_forth(SHORT_STEPS, Beside { hours: 6, settings: 2, losses: 8, rests: 8, ..BESIDE }),
        // The clock calls between edits.
        32 => back_and_forth(SHORT_STEPS, Beside { waits: 6, settings: 2, rests: 2, ..BESIDE }),
        // The owner of an address leaves it because of the time, and so do some of the waiters.
        24 => back_and_forth(SHORT_STEPS, Beside { hours: 6, waits: 2, settings: 0, rests: 4, in_line: true, ..BESIDE }),
        // Parts are added and removed.
        32 => back_and_forth(SHORT_STEPS, Beside { settings: 0, rests: 4, in_parts: true, ..BESIDE }),
        24 => lost_after_edits(),
        32 => called_part(),
        4 => in_two_segments(),
        48 => in_many_sitemaps(0),
        16 => in_many_sitemaps(4),
        4 => beside_a_large_crowd(NEWS_CROWD, NEWS_PAGE),
        4 => beside_a_large_crowd(GROUP_CROWD, MEMBER),
    ]
}

fn with_steps(count: Range<usize>) -> impl Strategy<Value = History> {
    let loaded = prop_oneof![2 => Just(0), 1 => LOADED];
    (loaded, prop::collection::vec(step(), count)).prop_map(|(loaded, steps)| {
        let loaded = loaded.min(steps.len());
        History { loaded, steps }
    })
}

/// How often other steps happen, for each sixteen edits of records.
#[derive(Clone, Copy, Debug)]
struct Beside {
    hours: u32,
    waits: u32,
    settings: u32,
    deploys: u32,
    losses: u32,
    damages: u32,
    drops: u32,
    rests: u32,
    /// Whether the states differ in the number of a page's parts.
    in_parts: bool,
    /// Whether all want one address, most of them for a limited time.
    in_line: bool,
}

/// A later edit or a scan corrects most errors of a race.
const BESIDE: Beside = Beside {
    hours: 1,
    waits: 0,
    settings: 4,
    deploys: 0,
    losses: 0,
    damages: 0,
    drops: 0,
    rests: 1,
    in_parts: false,
    in_line: false,
};

/// Returns a strategy for a few records of one site, which return to the same few states again and again. So a slow run's reads
/// become current again, and several runs work on the same rows.
fn back_and_forth(count: Range<usize>, beside: Beside) -> impl Strategy<Value = History> {
    let at_home = |page: Page| Page {
        site: 0,
        path: page.path % FEW_PATHS,
        ..page
    };
    let pages = prop::collection::vec(page().prop_map(at_home), FEW_STATES);
    let settings = proptest::option::weighted(0.9, settings());
    let settings = prop::collection::vec(settings, FEW_STATES);
    (pages, settings, count).prop_flat_map(move |(mut pages, settings, count)| {
        if beside.in_parts {
            for (parts, page) in (1..).zip(&mut pages) {
                // The page with a single part has the address that a part of the others would have. When it is deleted, the part
                // is called.
                *page = Page {
                    path: 0,
                    under: (parts == 1).then_some(2),
                    parts,
                    archive: None,
                    ..*page
                };
            }
        }
        if beside.in_line {
            for page in &mut pages {
                *page = Page {
                    path: 0,
                    under: None,
                    parts: 1,
                    archive: None,
                    ..*page
                };
            }
        }
        if beside.losses + beside.damages > 0 {
            // Each audit reads all sitemaps that there ever were.
            for page in &mut pages {
                page.parts = page.parts.min(PARTS.end);
            }
        }
        let until = proptest::option::weighted(0.7, HOURS);
        let pages = (prop::sample::select(pages), until).prop_map(move |(page, until)| Page {
            until: if beside.in_line { until } else { page.until },
            ..page
        });
        let records = if beside.in_line {
            RECORDS
        } else {
            0..FEW_RECORDS
        };
        let settings = prop::sample::select(settings);
        let steps = [
            (
                12,
                (records.clone(), pages)
                    .prop_map(|(id, page)| Step::Put(id, page))
                    .boxed(),
            ),
            (4, records.prop_map(Step::Delete).boxed()),
            (beside.hours, PASSING.prop_map(Step::Pass).boxed()),
            (beside.waits, WAITING.prop_map(Step::Wait).boxed()),
            (
                beside.settings,
                settings
                    .prop_map(|settings| Step::Site(0, settings))
                    .boxed(),
            ),
            (beside.deploys, any::<bool>().prop_map(Step::Deploy).boxed()),
            (beside.losses, loss().boxed()),
            (
                beside.damages,
                any::<usize>().prop_map(Step::DamageRow).boxed(),
            ),
            (beside.drops, Just(Step::DropTable).boxed()),
            (beside.rests, Just(Step::Rest).boxed()),
        ];
        let steps = prop::collection::vec(weighted(steps), count..=count);
        steps.prop_map(|steps| History { loaded: 0, steps })
    })
}

/// Returns a strategy for any of these steps, each with its weight.
fn weighted(
    steps: impl IntoIterator<Item = (u32, BoxedStrategy<Step>)>,
) -> impl Strategy<Value = Step> {
    let steps = steps.into_iter().filter(|(weight, _)| *weight > 0);
    Union::new_weighted(steps.collect())
}

/// Returns a strategy for a page in the same sitemaps as a crowd of `crowd` pages.
fn beside(crowd: usize) -> impl Strategy<Value = Page> {
    page().prop_map(move |page| Page {
        archive: None,
        film: Film::None,
        news: false,
        group: None,
        path: crowd + page.path % FEW_PATHS,
        kind: PAGE.kind,
        site: PAGE.site,
        ..page
    })
}

/// Returns a strategy for sitemaps of one page each, which appear and disappear. The index has many lines, in several blocks. For
/// each twenty other steps there are `damages` damages.
fn in_many_sitemaps(damages: u32) -> impl Strategy<Value = History> {
    let settings = Settings {
        capacity: 1,
        ..DEFAULT
    };
    let state = prop_oneof![2 => Just(State::Listed), 1 => Just(State::Draft)];
    let of_the_crowd = (1..=MANY_SITEMAPS, 1..28_u32, state).prop_map(|(count, day, state)| {
        let changed = Changed::Day(day);
        let page = Page {
            changed,
            state,
            ..PAGE
        };
        Step::Flood(count, page)
    });
    let put = (RECORDS, beside(MANY_SITEMAPS)).prop_map(|(id, page)| Step::Put(id, page));
    let step = weighted([
        (8, put.boxed()),
        (4, RECORDS.prop_map(Step::Delete).boxed()),
        (4, of_the_crowd.boxed()),
        (4, Just(Step::Rest).boxed()),
        (damages, any::<usize>().prop_map(Step::DamageRow).boxed()),
    ]);
    let first = [
        Step::Site(0, Some(settings)),
        Step::Flood(MANY_SITEMAPS, PAGE),
        Step::Rest,
    ];
    let steps = prop::collection::vec(step, SHORT_STEPS);
    steps.prop_map(move |steps| History {
        loaded: 0,
        steps: first.clone().into_iter().chain(steps).collect(),
    })
}

/// Returns a strategy in which a page changes twice, and something is lost before the second change is handled completely. Then
/// everything is compared.
fn lost_after_edits() -> impl Strategy<Value = History> {
    let page = || {
        page().prop_map(|page| Page {
            site: PAGE.site,
            path: page.path % FEW_PATHS,
            parts: page.parts.min(PARTS.end),
            ..page
        })
    };
    let edits = (0..FEW_RECORDS, page(), HANDLING, page(), HANDLING);
    let lost = (edits, loss()).prop_map(|((id, first, handled, second, then), loss)| {
        [
            Step::Put(id, first),
            Step::Wait(handled),
            Step::Put(id, second),
            Step::Wait(then),
            loss,
            Step::Rest,
        ]
    });
    let lost = prop::collection::vec(lost, LOSSES);
    (proptest::option::weighted(0.9, settings()), lost).prop_map(|(settings, lost)| {
        let steps = lost.into_iter().flatten();
        History {
            loaded: 0,
            steps: [Step::Site(0, settings)].into_iter().chain(steps).collect(),
        }
    })
}

/// Returns a strategy for a sitemap of two segments, which both change. Their events are in different lanes, so that several runs
/// publish it.
fn in_two_segments() -> impl Strategy<Value = History> {
    let pages = prop::collection::vec(beside(FULL_SEGMENT), FEW_STATES);
    (pages, SHORT_STEPS).prop_flat_map(move |(pages, count)| {
        let pages = prop::sample::select(pages);
        let of_the_first = (FEW_OF_MANY, 1..28_u32).prop_map(|(count, day)| {
            let changed = Changed::Day(day);
            Step::Flood(count, Page { changed, ..PAGE })
        });
        let step = prop_oneof![
            8 => (0..FEW_RECORDS, pages).prop_map(|(id, page)| Step::Put(id, page)),
            2 => (0..FEW_RECORDS).prop_map(Step::Delete),
            8 => of_the_first,
            4 => Just(Step::Rest),
        ];
        let steps = prop::collection::vec(step, count..=count);
        let first = [Step::Flood(FULL_SEGMENT, PAGE), Step::Rest];
        steps.prop_map(move |steps| History {
            loaded: 0,
            steps: first.clone().into_iter().chain(steps).collect(),
        })
    })
}

/// Returns a strategy in which a page's second part waits for an address that another page leaves. So the part is called, while
/// its record loses that part and gets it back for a moment.
fn called_part() -> impl Strategy<Value = History> {
    let holds = |state| {
        let page = Page {
            under: Some(2),
            state,
            ..PAGE
        };
        Step::Put(0, page)
    };
    let has = |parts| Step::Put(1, Page { parts, ..PAGE });
    let called = HANDLING.prop_map(move |handled| {
        [
            holds(State::Listed),
            has(2),
            Step::Wait(handled),
            holds(State::Draft),
            has(1),
            has(2),
            has(1),
            Step::Rest,
        ]
    });
    let called = prop::collection::vec(called, CALLS);
    called.prop_map(|called| History {
        loaded: 0,
        steps: called.into_iter().flatten().collect(),
    })
}

/// Returns a strategy in which something is lost or damaged.
fn loss() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => any::<usize>().prop_map(Step::LoseRow),
        1 => any::<usize>().prop_map(Step::DamageRow),
        1 => any::<usize>().prop_map(Step::LoseObject),
    ]
}

/// A page of a large crowd of news.
pub(crate) const NEWS_PAGE: Page = Page {
    changed: Changed::Ago(1),
    titled: true,
    news: true,
    language: Some(0),
    ..PAGE
};

/// A page of a crowd that is one translation group.
pub(crate) const MEMBER: Page = Page {
    language: Some(OWN_LANGUAGE),
    group: Some(0),
    ..PAGE
};

/// Returns a strategy in which a large crowd is added, a part of it is deleted and added again, with many other steps in between.
fn beside_a_large_crowd(count: Range<usize>, page: Page) -> impl Strategy<Value = History> {
    let settings = Settings {
        capacity: LARGE_CAPACITY,
        publication: Some(0),
        ..DEFAULT
    };
    let steps = || prop::collection::vec(step(), LARGE_STEPS);
    (count, LEAVING, steps(), steps()).prop_map(move |(count, leaving, before, after)| {
        let left = Page {
            state: State::Draft,
            ..page
        };
        let come = [
            Step::Site(0, Some(settings)),
            Step::Flood(count, page),
            Step::Rest,
        ];
        let leave = [Step::Rest, Step::Flood(leaving, left), Step::Rest];
        let others = |steps: Vec<Step>| steps.into_iter().map(with_room);
        let steps = come.into_iter().chain(others(before)).chain(leave);
        let steps = steps.chain([Step::Flood(leaving, page)]);
        History {
            loaded: 0,
            steps: steps.chain(others(after)).collect(),
        }
    })
}

/// Returns the step with a large capacity, because a thousand sitemaps of one page each would take too long.
fn with_room(step: Step) -> Step {
    match step {
        Step::Site(site, Some(settings)) => {
            let capacity = LARGE_CAPACITY;
            Step::Site(
                site,
                Some(Settings {
                    capacity,
                    ..settings
                }),
            )
        }
        step => step,
    }
}

impl Step {
    /// Returns whether the step is skipped before the functions start, while nothing is published.
    #[must_use]
    pub const fn needs_functions(&self) -> bool {
        matches!(
            self,
            Self::DropTable
                | Self::LoseRow(_)
                | Self::DamageRow(_)
                | Self::LoseObject(_)
                | Self::Rest
        )
    }
}

impl History {
    /// Returns how many of the history's steps are executed.
    pub(crate) fn done(&self) -> usize {
        let (loaded, rest) = self.steps.split_at(self.loaded);
        let loaded = loaded.iter().filter(|step| !step.needs_functions());
        loaded.count() + rest.len()
    }

    /// Returns whether the history deploys mappings of the user's table.
    pub fn deploys(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::Deploy(_)))
    }

    /// Returns the history without some of its steps.
    pub fn without(&self, range: Range<usize>) -> Self {
        let mut steps = self.steps.clone();
        let loaded = (0..self.loaded)
            .filter(|step| !range.contains(step))
            .count();
        steps.drain(range);
        Self { loaded, steps }
    }
}
