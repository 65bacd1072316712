//! What can happen, and how it is drawn.

use std::ops::Range;

use proptest::prelude::*;

/// The sites. The first two are named by the deployment; the third is one only while there is a record of it.
pub(super) const SITES: [&str; 3] = ["www.example.com", "shop.example", "blog.example"];
/// How many of the sites the deployment names.
pub(super) const KNOWN: usize = 2;
/// The site that is one by its record alone.
pub(super) const RECORDED: usize = 2;
/// The pages' types.
pub(super) const TYPES: [&str; 3] = ["post", "page", "video"];
/// Images of a page whose entry is a quarter of the lowest byte limit.
pub(super) const MANY_IMAGES: u32 = 1_000;

/// Records that are edited one by one. There are fewer paths than records, so that they meet.
const RECORDS: Range<usize> = 0..8;
const PATHS: Range<usize> = 0..4;
/// The most records that come and go as a crowd.
pub(super) const MOST_CROWD: usize = 30;
/// How many come at once: the n-th is at the n-th path.
const CROWD: Range<usize> = 5..MOST_CROWD;
/// The same with many images each: more than fit into one sitemap of the lowest byte limit.
const LARGE_CROWD: Range<usize> = 5..8;
/// Hours from the world's beginning at which pages appear, go, and are said to have changed.
const HOURS: Range<i64> = 1..250;
/// Hours that pass at a time.
const PASSING: Range<i64> = 1..60;
/// Steps of a history.
const STEPS: Range<usize> = 120..220;
/// Steps before the functions start, of the histories that have any.
const LOADED: Range<usize> = 1..60;

/// A history.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// How many of the steps are done before the functions start: they find a filled table.
    pub(super) loaded: usize,
    /// What happens.
    pub(super) steps: Vec<Step>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A record is written.
    Put(usize, Page),
    Delete(usize),
    /// Many records are written at once, all of them such pages, each at a path of its own.
    Flood(usize, Page),
    /// All of the crowd are deleted at once.
    Clear,
    /// A site's record is written, or deleted.
    Site(usize, Option<Settings>),
    /// Hours pass.
    Pass(i64),
    /// The sitemap table is dropped and created again, when no function runs.
    DropTable,
    /// A row of the sitemap table is lost, whichever this number falls on.
    LoseRow(usize),
    /// When all is published, an object is lost or damaged, whichever this number falls on. Then all is compared.
    LoseObject(usize),
    /// Nothing happens until all is published. Then it is compared.
    Rest,
}

/// What a record says, as far as histories vary it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) site: usize,
    pub(super) path: usize,
    pub(super) kind: usize,
    pub(super) state: State,
    pub(super) changed: Changed,
    pub(super) images: u32,
    /// Hours from the world's beginning.
    pub(super) from: Option<i64>,
    pub(super) until: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Listed,
    Draft,
    Noindex,
    /// Another address stands for it.
    Elsewhere,
}

/// When a page says that it last changed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Changed {
    /// On a day of January 2026.
    Day(u32),
    /// So many hours after the world's beginning: not said while it is to come.
    Hour(i64),
}

/// What a site's record says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) capacity: u32,
    pub(super) public: bool,
    /// A type that is not.
    pub(super) hidden: Option<usize>,
    /// Whether it asks for the lowest byte limit.
    pub(super) tight: bool,
}

fn page() -> impl Strategy<Value = Page> {
    let hours = || proptest::option::weighted(0.15, HOURS);
    let state = prop_oneof![
        14 => Just(State::Listed),
        2 => Just(State::Draft),
        1 => Just(State::Noindex),
        1 => Just(State::Elsewhere),
    ];
    let changed = prop_oneof![
        9 => (1..28_u32).prop_map(Changed::Day),
        1 => HOURS.prop_map(Changed::Hour),
    ];
    let site = prop_oneof![5 => Just(0), 3 => Just(1), 2 => Just(2_usize)];
    let place = (site, PATHS, 0..TYPES.len());
    (place, state, changed, 0..3_u32, hours(), hours()).prop_map(
        |((site, path, kind), state, changed, images, from, until)| Page {
            site,
            path,
            kind,
            state,
            changed,
            images,
            from,
            until,
        },
    )
}

fn settings() -> impl Strategy<Value = Settings> {
    let hidden = proptest::option::weighted(0.2, 0..TYPES.len());
    let public = prop::bool::weighted(0.8);
    let capacity = prop::sample::select(vec![1, 2, 3, 5, 8]);
    (capacity, public, hidden, any::<bool>()).prop_map(|(capacity, public, hidden, tight)| {
        Settings {
            capacity,
            public,
            hidden,
            tight,
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let flood = |crowd: Range<usize>, images: u32| {
        let page = (crowd, page());
        page.prop_map(move |(count, page)| Step::Flood(count, Page { images, ..page }))
    };
    prop_oneof![
        60 => (RECORDS, page()).prop_map(|(id, page)| Step::Put(id, page)),
        15 => RECORDS.prop_map(Step::Delete),
        3 => flood(CROWD, 0),
        2 => flood(LARGE_CROWD, MANY_IMAGES),
        4 => Just(Step::Clear),
        6 => (0..SITES.len(), proptest::option::weighted(0.8, settings()))
            .prop_map(|(site, settings)| Step::Site(site, settings)),
        5 => PASSING.prop_map(Step::Pass),
        1 => Just(Step::DropTable),
        2 => any::<usize>().prop_map(Step::LoseRow),
        1 => any::<usize>().prop_map(Step::LoseObject),
        3 => Just(Step::Rest),
    ]
}

/// Any history.
pub(super) fn history() -> impl Strategy<Value = History> {
    let loaded = prop_oneof![2 => Just(0), 1 => LOADED];
    (loaded, prop::collection::vec(step(), STEPS))
        .prop_map(|(loaded, steps)| History { loaded, steps })
}

impl History {
    /// The history without some of its steps.
    pub(super) fn without(&self, range: Range<usize>) -> Self {
        let mut steps = self.steps.clone();
        let loaded = (0..self.loaded)
            .filter(|step| !range.contains(step))
            .count();
        steps.drain(range);
        Self { loaded, steps }
    }
}
