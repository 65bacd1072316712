//! What can happen, and how it is drawn.

use std::ops::Range;

use proptest::prelude::*;
use proptest::strategy::Union;
use sitemap::member::SEGMENT_SLOTS;

/// The sites. The first two are named by the deployment; the third is one only while there is a record of it.
pub const SITES: [&str; 3] = ["www.example.com", "shop.example", "blog.example"];
/// How many of the sites the deployment names.
pub const KNOWN: usize = 2;
/// The site that is one by its record alone.
pub const RECORDED: usize = 2;
/// The pages' types. Two have the names of the series that videos and news are listed in, and one the name that the pages of
/// such a type have then.
pub const TYPES: [&str; 5] = ["post", "page", "video", "news", "news-pages"];
/// The series of videos and of news, as sites may name them; the first are the defaults.
pub const SERIES: [(&str, &str); 5] = [
    ("video", "news"),
    ("clips", "news"),
    ("post", "bulletin"),
    ("news", "video"),
    ("news-pages", "news"),
];
/// The style sheets that sites may choose; the first is the default.
pub const STYLESHEETS: [&str; 3] = ["css", "xsl", "none"];
/// Patterns of parts' addresses. The first makes what is made without one; what the last makes is not of the site.
pub const PART_URLS: [&str; 3] = [
    "{url}/{part}",
    "{url}?page={part}",
    "https://elsewhere.example/?page={url}&part={part}",
];
/// Terms by taxonomy.
pub const TERMS: [(&str, &str); 3] = [
    ("category", "news"),
    ("category", "a #1/ü"),
    ("tag", "rust"),
];
/// Languages of pages, each with that of their news. The third is the second, written otherwise.
pub const LANGUAGES: [(&str, &str); 4] =
    [("en", "en"), ("de", "de"), ("DE", "de"), ("zh-TW", "zh-tw")];
/// Behind [`LANGUAGES`]: a language that no page at another path has.
pub const OWN_LANGUAGE: usize = LANGUAGES.len();
/// Translation groups.
pub const GROUPS: [&str; 2] = ["home", "about #2"];
/// Images of a page whose entry is a quarter of the lowest byte limit, and the digits of their names. Few and long: to read
/// and write them is most of what a history costs.
pub const MANY_IMAGES: u32 = 125;
/// See [`MANY_IMAGES`].
pub const MANY_IMAGES_DIGITS: usize = 1_930;

/// Records that are edited one by one. There are fewer paths than records, so that they meet.
const RECORDS: Range<usize> = 0..8;
const PATHS: Range<usize> = 0..4;
/// The most records that come and go as a crowd.
pub const MOST_CROWD: usize = 1_030;
/// How many come at once: the n-th is at the n-th path.
const CROWD: Range<usize> = 5..30;
/// The same with many images each: more than fit into one sitemap of the lowest byte limit.
const LARGE_CROWD: Range<usize> = 5..8;
/// Hours from the world's beginning at which pages appear, go, and are said to have changed.
const HOURS: Range<i64> = 1..250;
/// Hours before the edit at which a page is said to have changed: news, or no more.
const RECENT: Range<i64> = 0..60;
/// Parts of a page that has some, beside its first, and of one that has many: more than are reconciled together.
const PARTS: Range<u32> = 2..5;
const MANY_PARTS: u32 = 120;
/// Parts of a page of a crowd.
const CROWD_PARTS: u32 = 2;
/// Hours that pass at a time.
const PASSING: Range<i64> = 1..60;
/// Seconds in which the clock calls at least once, and a mark comes to its time.
const WAITING: Range<u64> = 30..200;
/// Seconds in which an edit is handled, and its mark is not.
const HANDLING: Range<u64> = 5..20;
/// Times that something is lost between two edits and a look.
const LOSSES: Range<usize> = 3..15;
/// Times that a part is called.
const CALLS: Range<usize> = 8..25;
/// Steps of a history over HTTP.
const STEPS: Range<usize> = 120..220;
/// Steps of a history in the simulated world: most are short, some of medium length, and few are long.
const SHORT_STEPS: Range<usize> = 20..120;
const MEDIUM_STEPS: Range<usize> = 120..400;
const LONG_STEPS: Range<usize> = 400..2_001;
/// Pages of a large crowd of news: more than one sitemap of news may have, whatever the site's own limit is.
const NEWS_CROWD: Range<usize> = 1_001..MOST_CROWD;
/// Pages of a crowd that is one translation group: more than it may have.
const GROUP_CROWD: Range<usize> = 201..206;
/// Pages of such a crowd that leave it.
const LEAVING: Range<usize> = 1..8;
/// Entries of a sitemap where such a crowd is.
const LARGE_CAPACITY: u32 = 2_000;
/// Records, paths of theirs, and states of records and settings, that come again and again.
const FEW_RECORDS: usize = 3;
const FEW_PATHS: usize = 2;
const FEW_STATES: usize = 3;
/// Sitemaps, where there are many.
const MANY_SITEMAPS: usize = 12;
/// As many pages as a segment has, and how many of them change at once.
const FULL_SEGMENT: usize = SEGMENT_SLOTS as usize;
const FEW_OF_MANY: Range<usize> = 1..4;
/// Steps beside a large crowd.
const LARGE_STEPS: Range<usize> = 5..20;
/// Steps before the functions start, of the histories that have any.
const LOADED: Range<usize> = 1..60;

/// A history.
#[derive(Clone, Debug)]
pub struct History {
    /// How many of the steps are done before the functions start: they find a filled table.
    pub loaded: usize,
    /// What happens.
    pub steps: Vec<Step>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Step {
    /// A record is written.
    Put(usize, Page),
    /// A record is deleted.
    Delete(usize),
    /// Many records are written at once, all of them such pages, each at a path of its own.
    Flood(usize, Page),
    /// All of the crowd are deleted at once.
    Clear,
    /// A site's record is written, or deleted.
    Site(usize, Option<Settings>),
    /// What was deleted or changed since everything was last compared is taken from a backup of then, and what came is deleted
    /// (docs/OPERATIONS.md, "Restore the content").
    Restore,
    /// Another mapping of the user's table is deployed: one that says what images its items have, or does not.
    Deploy(bool),
    /// Hours pass, in which nothing happens.
    Pass(i64),
    /// Seconds pass, in which the clock calls.
    Wait(u64),
    /// The sitemap table is dropped and created again, when no function runs.
    DropTable,
    /// A row of the sitemap table is lost, whichever this number falls on.
    LoseRow(usize),
    /// When all is published, an attribute of a row is lost or damaged, or a ledger forgets something, whichever this number falls
    /// on. Then all is compared.
    DamageRow(usize),
    /// When all is published, an object is lost or damaged, whichever this number falls on. Then all is compared.
    LoseObject(usize),
    /// Nothing happens until all is published. Then it is compared.
    Rest,
}

/// What a record says, as far as histories vary it.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Which of [`SITES`].
    pub site: usize,
    /// The number of its path.
    pub path: usize,
    /// How its address is spelled.
    pub spelling: Spelling,
    /// Whether its address is that which this part of the page at the path has by default.
    pub under: Option<u32>,
    /// Which of [`TYPES`].
    pub kind: usize,
    /// Whether it may be listed.
    pub state: State,
    /// When it last changed.
    pub changed: Changed,
    /// How many images it has.
    pub images: u32,
    /// Hours from the world's beginning.
    pub from: Option<i64>,
    /// The same, of its end.
    pub until: Option<i64>,
    /// How many parts it says it has.
    pub parts: u32,
    /// Its terms, a bit for each.
    pub terms: u8,
    /// The term whose archive it is.
    pub archive: Option<usize>,
    /// Whether it has a title.
    pub titled: bool,
    /// Its videos.
    pub film: Film,
    /// Whether it says that it is news.
    pub news: bool,
    /// Which of [`LANGUAGES`], or [`OWN_LANGUAGE`].
    pub language: Option<usize>,
    /// Which of [`GROUPS`].
    pub group: Option<usize>,
    /// Whether it is its group's default.
    pub x_default: bool,
    /// The alternates that it names itself.
    pub alternates: Alternates,
}

/// How a page's address is spelled: all are one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Unencoded: it is published with hex digits in upper case.
    Raw,
    /// With hex digits in lower case, and a canonical address that is not encoded.
    Lower,
    /// With an escape that need not be, and a canonical address in lower case.
    Unreserved,
}

/// The alternates that a page names itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternates {
    /// It names none.
    None,
    /// Itself and another page.
    Both,
    /// Another page alone.
    Other,
    /// Itself alone: that says nothing.
    Itself,
}

/// Whether a page may be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It may.
    Listed,
    /// It is not published.
    Draft,
    /// It asks not to be.
    Noindex,
    /// Another address stands for it.
    Elsewhere,
}

/// The videos of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Film {
    /// It has none.
    None,
    /// One that is never over.
    Plain,
    /// One that is over so many hours after the world's beginning.
    Until(i64),
    /// One of each.
    Both(i64),
    /// One without a picture: it cannot be listed.
    Broken,
}

/// When a page says that it last changed.
#[derive(Clone, Copy, Debug)]
pub enum Changed {
    /// On a day of January 2026.
    Day(u32),
    /// So many hours after the world's beginning: not said while it is to come.
    Hour(i64),
    /// So many hours before the edit, which makes an hour of it.
    Ago(i64),
    /// It does not say.
    Never,
}

/// What a site's record says.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Entries of a sitemap at most.
    pub capacity: u32,
    /// Whether anything of it may be seen.
    pub public: bool,
    /// A type that is not.
    pub hidden: Option<usize>,
    /// Whether it asks for the lowest byte limit.
    pub tight: bool,
    /// How the series of videos and news are called.
    pub series: usize,
    /// Under which name its news are published, if they are.
    pub publication: Option<u32>,
    /// A type whose pages are news.
    pub news: Option<usize>,
    /// Whether a page is news for being published alone.
    pub published_only: bool,
    /// Whether it has a language, English.
    pub language: bool,
    /// How the addresses of a type's parts are made.
    pub part_url: Option<(usize, usize)>,
    /// Whether it has a feed.
    pub feed: bool,
    /// A type whose pages its llms.txt lists, before those of the first; nothing if it has none.
    pub llms: Option<usize>,
    /// Which of [`STYLESHEETS`].
    pub stylesheet: usize,
    /// Whether search engines are told of changes.
    pub told: bool,
    /// Whether the first of several indexes lists the others.
    pub cascaded: bool,
}

/// What it says that has no record.
pub const DEFAULT: Settings = Settings {
    capacity: 1_000,
    public: true,
    hidden: None,
    tight: false,
    series: 0,
    publication: None,
    news: None,
    published_only: false,
    language: false,
    part_url: None,
    feed: true,
    llms: None,
    stylesheet: 0,
    told: false,
    cascaded: false,
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
    /// Returns how many parts of the page may be listed: of an archive the first alone.
    pub fn listed_parts(&self) -> u32 {
        if self.archive.is_some() {
            1
        } else {
            self.parts
        }
    }

    /// Returns whether the page is in a translation group: then its own alternates do not count.
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
                // Codes of three letters, which sort before every other.
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

/// A page that is nothing but a page.
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
    let news = (publication, news, any::<bool>(), likely());
    let stylesheet = prop_oneof![2 => Just(0), 1 => 0..STYLESHEETS.len()];
    let llms = proptest::option::weighted(0.5, 0..TYPES.len());
    let flags = (any::<bool>(), any::<bool>(), llms);
    let more = (series, part_url, likely(), stylesheet, flags);
    (limits, news, more).prop_map(|(limits, news, more)| {
        let (series, part_url, feed, stylesheet, (told, cascaded, llms)) = more;
        let (capacity, public, hidden, tight) = limits;
        let (publication, news, published_only, language) = news;
        Settings {
            capacity,
            public,
            hidden,
            tight,
            series,
            publication,
            news,
            published_only,
            language,
            part_url,
            feed,
            llms,
            stylesheet,
            told,
            cascaded,
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

/// Returns a strategy for any history that is short enough to happen over HTTP.
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
        // Each few edits are looked at apart, most of them without a scan.
        48 => back_and_forth(SHORT_STEPS, Beside { settings: 2, rests: 6, ..BESIDE }),
        32 => back_and_forth(SHORT_STEPS, Beside { settings: 24, rests: 9, ..BESIDE }),
        32 => back_and_forth(SHORT_STEPS, Beside { hours: 8, settings: 0, rests: 4, ..BESIDE }),
        // The audit puts right what a race has done, too.
        48 => back_and_forth(MEDIUM_STEPS, Beside { losses: 1, ..BESIDE }),
        // What was lost is edited before anybody looks for it.
        32 => back_and_forth(SHORT_STEPS, Beside { settings: 2, losses: 8, rests: 2, ..BESIDE }),
        // Each attribute of each row is damaged, some day.
        32 => back_and_forth(SHORT_STEPS, Beside { settings: 2, damages: 12, ..BESIDE }),
        24 => back_and_forth(SHORT_STEPS, Beside { drops: 3, rests: 3, ..BESIDE }),
        // All content is scanned again, before the last scan has ended.
        32 => back_and_forth(SHORT_STEPS, Beside { deploys: 6, rests: 2, ..BESIDE }),
        16 => back_and_forth(SHORT_STEPS, Beside { deploys: 6, drops: 2, losses: 2, ..BESIDE }),
        // What is lost is missed by nothing that comes after it.
        24 => back_and_forth(SHORT_STEPS, Beside { hours: 6, settings: 2, losses: 8, rests: 8, ..BESIDE }),
        // The clock calls between edits.
        32 => back_and_forth(SHORT_STEPS, Beside { waits: 6, settings: 2, rests: 2, ..BESIDE }),
        // Who has an address leaves it by the clock, and so do some of those that wait for it.
        24 => back_and_forth(SHORT_STEPS, Beside { hours: 6, waits: 2, settings: 0, rests: 4, in_line: true, ..BESIDE }),
        // Parts come and go.
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

/// How often something happens beside sixteen edits of records.
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
    /// Whether the states differ in how many parts a page has.
    in_parts: bool,
    /// Whether all want one address, most of them for a time.
    in_line: bool,
}

/// Most of what a race has done wrong is put right by a later edit or by a scan.
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

/// Returns a strategy for a few records of one site, to which the same few states come again and again. What a slow run has read is true
/// once more after it was not, and several runs are about the same rows.
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
                // The page without more parts has the address that a part of the others would have: when it goes, the part is called.
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
            // Each audit looks at all sitemaps that there ever were.
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

/// Returns a strategy for any of these steps, each with this weight beside the others.
fn weighted(
    steps: impl IntoIterator<Item = (u32, BoxedStrategy<Step>)>,
) -> impl Strategy<Value = Step> {
    let steps = steps.into_iter().filter(|(weight, _)| *weight > 0);
    Union::new_weighted(steps.collect())
}

/// Returns a strategy for a page beside a crowd of `crowd` pages, in the same sitemaps.
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

/// Returns a strategy for sitemaps of one page each, which come and go. The index has many lines, and blocks of them. Beside twenty other
/// steps there are `damages` damages.
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

/// Returns a strategy in which a page changes twice, and something is lost before what the second change has left is done. Then everything
/// is compared.
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

/// Returns a strategy for a sitemap of two segments, both of which change. Their events come in different lanes, so that several runs
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

/// Returns a strategy in which a page's second part waits for an address that another page leaves. So the part is called, and meanwhile its
/// record loses that part and has it again for a moment.
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

/// Returns a strategy in which a large crowd comes, some of it leaves and comes back, and much else happens between.
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

/// Returns the step with a large capacity: a thousand sitemaps of one page each would take too long.
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
    /// Returns whether the step is left out before the functions start, while nothing is published.
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
    /// Returns how many of the history's steps are done.
    pub(crate) fn done(&self) -> usize {
        let (loaded, rest) = self.steps.split_at(self.loaded);
        let loaded = loaded.iter().filter(|step| !step.needs_functions());
        loaded.count() + rest.len()
    }

    /// Returns whether the history says what items of the user's own table mean.
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
