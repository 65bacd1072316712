//! Large scenarios: requirements on a site of a million pages, in virtual time and counted units.
//!
//! Each prints its figures with their aims. The size is a parameter. A dependence on the size must be visible at a hundredth of
//! it too, unless the aim says otherwise. `ceilings` has a small site, and days of virtual time.

mod ceilings;
mod changes;
mod clock;
mod load;
mod relations;
mod sitemaps;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::rows::scan::Step;
use futures::FutureExt;
use futures::future::BoxFuture;
use objects::{ObjectKey, Objects, all_sites};
use serde_json::{Value as Json, json};
use sitemap::time::When;

use crate::deployment::{Deployment, PLAIN};
use crate::invoker::Runs;
use crate::runtime::Sim;
pub use crate::world::Trouble;
use crate::world::{Options, Shared, World};

/// The write units per second of a new table (DynamoDB).
const NEW_TABLE_WRITES: f64 = 4_000.0;
/// The edits per second of a busy site.
const EDITS_A_SECOND: u64 = 100;
/// The findings of an audit on a sound site whose load lost some races.
const HARMLESS: [&str; 3] = ["slots_leaked", "fence_left", "row_unknown"];
/// The stream shards of a table with the throughput of a new one.
const SHARDS: usize = 4;
/// The lanes for a large import.
const LANES: usize = 16;
/// The stream shards of a table that has grown.
const MANY_SHARDS: usize = 20;
/// The pages of the site for which the sizes in the scenarios are intended.
const LARGE: usize = 1_000_000;

/// A figure and its aim.
#[derive(Clone, Debug)]
pub struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    aim: Aim,
}

/// The aim of a figure.
#[derive(Clone, Copy, Debug)]
enum Aim {
    AtMost(f64),
    AtLeast(f64),
    /// It is only counted.
    Counted,
}

impl Figure {
    /// Returns whether the figure meets its aim, or misses it by at most this fraction.
    #[must_use]
    pub fn is_within(&self, slack: f64) -> bool {
        match self.aim {
            Aim::AtMost(most) => self.value <= most * (1.0 + slack),
            Aim::AtLeast(least) => self.value >= least * (1.0 - slack),
            Aim::Counted => true,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name, value, unit, ..
        } = self;
        write!(f, "{name:58} {value:>12.2} {unit:10}")?;
        let verdict = if self.is_within(0.0) { "ok" } else { "MISSED" };
        match self.aim {
            Aim::AtMost(most) => write!(f, " at most {most:<10} {verdict}"),
            Aim::AtLeast(least) => write!(f, " at least {least:<9} {verdict}"),
            Aim::Counted => Ok(()),
        }
    }
}

/// The result of a scenario: its figures, or why it cannot end.
pub type Outcome = Result<Vec<Figure>, String>;

/// A scenario that can be run, with its name.
pub type Job = (&'static str, Box<dyn FnOnce() -> Outcome + Send>);

/// A scenario.
struct Scenario {
    name: &'static str,
    /// The scenario with whose final world it begins. `None` if it begins with an empty one.
    after: Option<&'static str>,
    run: Run,
}

type Run = fn(Size, Before) -> Result<Scene, String>;

const fn alone(name: &'static str, run: Run) -> Scenario {
    let after = None;
    Scenario { name, after, run }
}

const fn after(load: &'static str, name: &'static str, run: Run) -> Scenario {
    let after = Some(load);
    Scenario { name, after, run }
}

/// The world with which a scenario begins. `None` if it is empty.
type Before = Option<Arc<Shared>>;

/// The figures of a scenario, and its final world.
type Leaves = Result<(Vec<Figure>, Arc<Shared>), String>;

/// The same for a scenario with whose world others begin. It runs when the first of them does, and its world is dropped with the
/// last one.
#[derive(Default)]
struct Left(OnceLock<Leaves>);

/// The size of a scenario, and the trouble during it. With trouble, the figures have no aims. But nothing may be lost, and all
/// work must be done in the end.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The pages of a loaded site.
    pub pages: usize,
    /// The concurrent batches of a stream shard of content.
    pub factor: usize,
    /// The trouble that lasts for an hour. `None` for none.
    pub trouble: Option<Trouble>,
}

/// The scenarios at size, in the order in which they are run. Each takes up to 9 GB for a million pages, and two at a time fit into 24.
/// So the first loaded world is dropped before the second is created.
const SCENARIOS: [Scenario; 21] = [
    alone("load", |size, before| run(size, before, load::load)),
    alone("beside-a-first-load", |size, before| {
        run(size, before, load::beside_a_first_load)
    }),
    after("load", "edits", |size, before| {
        run(size, before, changes::edits)
    }),
    after("load", "import-again", |size, before| {
        let factor = LANES / SHARDS;
        run(Size { factor, ..size }, before, changes::import_again)
    }),
    after("load", "beside-a-scan", |size, before| {
        run(size, before, load::beside_a_scan)
    }),
    after("load", "due", |size, before| run(size, before, clock::due)),
    after("load", "audit", |size, before| {
        run(size, before, clock::audit)
    }),
    alone("load-of-sites", |size, before| {
        run(size, before, load::load_of_sites)
    }),
    after("load-of-sites", "new-version", |size, before| {
        run(size, before, load::new_version)
    }),
    alone("appear", |size, before| run(size, before, clock::appear)),
    alone("change", |size, before| run(size, before, changes::change)),
    alone("edits-while-loading", |size, before| {
        run(size, before, load::edits_while_loading)
    }),
    alone("many-sitemaps", |size, before| {
        let deployment = Deployment {
            index_lines: (size.pages / 100)
                .try_into()
                .unwrap_or(PLAIN.index_lines)
                .min(PLAIN.index_lines),
            ..PLAIN
        };
        run_in(deployment, SHARDS, size, before, sitemaps::many_sitemaps)
    }),
    alone("one-address", |size, before| {
        run(size, before, relations::one_address)
    }),
    alone("tag-off", |size, before| {
        run(size, before, relations::tag_off)
    }),
    alone("groups", |size, before| {
        run(size, before, relations::groups)
    }),
    alone("hidden-parts", |size, before| {
        run(size, before, relations::hidden_parts)
    }),
    alone("parts", |size, before| run(size, before, relations::parts)),
    alone("large-entries", |size, before| {
        run(size, before, sitemaps::large_entries)
    }),
    alone("one-sitemap", |size, before| {
        run_in(PLAIN, MANY_SHARDS, size, before, sitemaps::one_sitemap)
    }),
    alone("idle", |size, before| run(size, before, clock::idle)),
];

/// A scenario with a site of its own size, and its name.
type Ceiling = (&'static str, fn() -> Outcome);

/// Scenarios of a small site, which take up to days of virtual time.
const CEILINGS: [Ceiling; 8] = [
    ("sitemap-ceiling", ceilings::a_sitemap_table_at_its_maximum),
    ("content-ceiling", ceilings::a_content_table_at_its_maximum),
    ("one-execution", ceilings::one_execution),
    ("off-for-hours", ceilings::off_for_less_than_a_day),
    ("off-for-longer", ceilings::off_for_longer),
    ("all-off", ceilings::all_off_for_longer),
    ("lone-edit", ceilings::a_lone_edit_not_read),
    ("no-clock", ceilings::no_clock),
];

impl Left {
    fn of(&self, scenario: &Scenario, size: Size) -> Leaves {
        let left = self.0.get_or_init(|| {
            let scene = (scenario.run)(size, None)?;
            let world = scene.world.share();
            Ok((scene.figures, Arc::new(world)))
        });
        left.clone()
    }
}

/// Returns the scenarios with these names, or all, to be run concurrently or one after another.
#[must_use]
pub fn jobs(size: Size, names: &[String]) -> Vec<Job> {
    let loads = SCENARIOS.iter().filter_map(|scenario| scenario.after);
    let left: BTreeMap<&str, Arc<Left>> = loads.map(|name| (name, Arc::default())).collect();
    let job = |scenario: &'static Scenario| -> Job {
        let loads = SCENARIOS.iter();
        let mut loads = loads.filter(|other| other.name == scenario.after.unwrap_or(scenario.name));
        let load = loads
            .next()
            .zip(left.get(scenario.after.unwrap_or(scenario.name)).cloned());
        let run = move || {
            let before = match load {
                None => None,
                Some((load, left)) => {
                    let (figures, world) = left.of(load, size)?;
                    if scenario.after.is_none() {
                        return Ok(figures);
                    }
                    Some(world)
                }
            };
            Ok((scenario.run)(size, before)?.figures)
        };
        (scenario.name, Box::new(run))
    };
    let ceilings = CEILINGS
        .into_iter()
        .map(|(name, run)| -> Job { (name, Box::new(run)) });
    let jobs = SCENARIOS.iter().map(job).chain(ceilings);
    jobs.filter(|(name, _)| names.is_empty() || names.iter().any(|wanted| wanted == name))
        .collect()
}

/// The state of a running scenario, with its figures.
struct Scene {
    sim: Sim,
    world: World,
    pages: usize,
    figures: Vec<Figure>,
}

fn run<F>(size: Size, before: Before, scenario: fn(Scene) -> F) -> Result<Scene, String>
where
    F: Future<Output = Result<Scene, String>> + Send + 'static,
{
    run_in(PLAIN, SHARDS, size, before, scenario)
}

fn run_in<F>(
    deployment: Deployment,
    shards: usize,
    size: Size,
    before: Before,
    scenario: fn(Scene) -> F,
) -> Result<Scene, String>
where
    F: Future<Output = Result<Scene, String>> + Send + 'static,
{
    let Size {
        pages,
        factor,
        trouble,
    } = size;
    let sim = Sim::new(1);
    let inner = sim.clone();
    sim.run(async move {
        let options = Options {
            factor,
            trouble,
            ..Options::sound(shards)
        };
        let mut world = World::new(&inner, options, deployment);
        let is_loaded = before.is_some();
        if let Some(before) = before {
            world.begin_with(&before);
        }
        world.latency.begin(world.bucket());
        if is_loaded {
            world.begin();
        }
        let scene = Scene {
            sim: inner,
            world,
            pages,
            figures: Vec::new(),
        };
        let mut scene = scenario(scene).await?;
        if trouble.is_some() {
            scene.is_sound().await?;
        }
        Ok(scene)
    })
}

/// Returns a page's record after `edit` edits.
fn page(host: &str, n: usize, edit: u64) -> Json {
    // Five tags each, of a fifth as many as there are pages, which is typical for a blog.
    let tags: Vec<String> = (0..5)
        .map(|tag| format!("t{}", (n * 7 + tag * 13) % (n / 5 + 5)))
        .collect();
    json!({"id": id(host, n), "type": "post", "url": format!("https://{host}/p{n}"), "terms": {"tag": tags},
        "title": format!("Page {n}"), "modified_at": modified(edit)})
}

/// Returns the host of the n-th of many sites.
fn host(n: usize) -> String {
    format!("s{n}.example.com")
}

/// Returns a site's record with one setting.
fn settings(host: &str, name: &str, value: Json) -> Json {
    let mut record = json!({"id": format!("site/{host}"), "type": "site"});
    record[name] = value;
    record
}

/// Returns when a page was edited for this time.
fn modified(edit: u64) -> String {
    When::at(1_780_000_000 + i64::try_from(edit).unwrap_or(0)).to_string()
}

fn id(host: &str, n: usize) -> String {
    format!("{host}/{n}")
}

impl Scene {
    fn figure(&mut self, name: &str, value: f64, unit: &'static str, aim: Aim) {
        let name = name.to_owned();
        self.figures.push(Figure {
            name,
            value,
            unit,
            aim,
        });
    }

    /// Fails unless the final state is correct, whatever the trouble was. The time that it took does not matter then.
    async fn is_sound(&mut self) -> Result<(), String> {
        self.world.settle().await?;
        let findings = self.world.audit(false).await?;
        let findings = findings.ok_or("a scan is under way")?;
        if let Some(first) = findings.first() {
            return Err(format!(
                "{} are wrong in the end: {first:?}",
                findings.len()
            ));
        }
        for figure in &mut self.figures {
            figure.aim = Aim::Counted;
        }
        Ok(())
    }

    async fn put_pages(&self, host: &str, pages: usize) {
        for n in 0..pages {
            self.world.put(&page(host, n, 0)).await;
        }
    }

    /// Creates sites, each with its pages.
    async fn put_sites(&self, sites: usize, pages: usize) {
        for site in 0..sites {
            let host = &host(site);
            self.world.put(&settings(host, "name", json!(host))).await;
            self.put_pages(host, pages).await;
        }
    }

    /// Returns the number of calls so far.
    fn calls(&self) -> u64 {
        self.sim.counts().0
    }

    /// Returns the number of calls for each of `pages` pages since `before`.
    fn calls_a_page(&self, before: u64, pages: usize) -> f64 {
        (self.calls() - before) as f64 / pages as f64
    }

    fn written(&self) -> u64 {
        self.world.units()[1][0]
    }

    /// Returns the read units of both tables.
    fn read(&self) -> u64 {
        self.world.units().iter().map(|[_, read]| read).sum()
    }

    /// Waits until everything is published, and measures from then on. Trouble begins once more.
    async fn at_rest(&mut self) -> Result<(), String> {
        self.world.settle().await?;
        drop(self.world.latency.take());
        let _ = self.world.runs();
        self.world.begin_trouble();
        Ok(())
    }

    /// Notes the latencies of the changes since the last call. All must be published.
    fn latencies(&mut self, what: &str, aims: [f64; 3]) {
        let (taken, left) = self.world.latency.take();
        let at = |percent: usize| {
            let at = (taken.len() * percent / 100).min(taken.len().saturating_sub(1));
            taken.get(at).map_or(f64::INFINITY, Duration::as_secs_f64)
        };
        let [median, high, worst] = aims.map(Aim::AtMost);
        self.figure(
            &format!("{what}: half published within"),
            at(50),
            "s",
            median,
        );
        self.figure(&format!("{what}: 99 of 100 within"), at(99), "s", high);
        self.figure(&format!("{what}: all within"), at(100), "s", worst);
        self.figure(
            &format!("{what}: not published"),
            left as f64,
            "changes",
            Aim::AtMost(0.0),
        );
    }

    fn longest_run(&mut self) {
        let Runs { longest, held, .. } = self.world.runs();
        let (longest, held) = (longest as f64, held.as_secs_f64());
        let name = "the longest run, of its time limit";
        self.figure(name, longest, "%", Aim::AtMost(50.0));
        // The other runs of its stream shard wait for it.
        self.figure("the longest run", held, "s", Aim::AtMost(30.0));
    }

    /// Follows the passes of the scan until no site waits. Measures the writes during reconciling, and the time of publishing.
    async fn follow_scan(&mut self, pages: usize) -> Result<(), String> {
        const LOOK_EVERY: Duration = Duration::from_millis(100);
        let begun = self.sim.elapsed();
        let limit = begun + Duration::from_secs(7 * 86_400);
        self.world.begin();
        // Seconds and units of both steps.
        let (mut reconciling, mut publishing) = ((0.0, 0), (0.0, 0));
        let (mut at, mut units, mut seen) = (begun, self.written(), false);
        loop {
            self.sim.sleep(LOOK_EVERY).await;
            let (content, sites) = self.world.scans().await?;
            let reads = |step: &Step| matches!(step, Step::Content { .. });
            let pass = content.as_ref().and_then(|scan| scan.pass.as_ref());
            let is_publishing = !pass.is_none_or(|pass| reads(&pass.step));
            let step = if is_publishing || seen && content.is_none() {
                &mut publishing
            } else {
                &mut reconciling
            };
            step.0 += (self.sim.elapsed() - at).as_secs_f64();
            step.1 += self.written() - units;
            (at, units) = (self.sim.elapsed(), self.written());
            seen |= content.is_some();
            if seen && content.is_none() && sites.is_empty() {
                break;
            }
            if self.sim.elapsed() > limit {
                return Err("the scan does not end within a week".to_owned());
            }
        }
        let (took, written) = reconciling;
        let used = written as f64 / took / NEW_TABLE_WRITES * 100.0;
        let share = publishing.0 / (took + publishing.0) * 100.0;
        let a_page = written as f64 / pages as f64;
        let a_second = pages as f64 / took;
        self.figure(
            "write throughput used while records are reconciled",
            used,
            "%",
            Aim::AtLeast(80.0),
        );
        self.figure("units written a page", a_page, "units", Aim::Counted);
        self.figure("pages reconciled a second", a_second, "", Aim::Counted);
        self.figure(
            "publishing and release, of all the time",
            share,
            "%",
            Aim::AtMost(10.0),
        );
        self.longest_run();
        self.world.settle().await?;
        let mut entries = 0;
        for host in all_sites(&self.world.bucket()).await.expect("memory") {
            entries += self.listed(&host).await;
        }
        let entries = entries as f64;
        let all = Aim::AtLeast(pages as f64);
        self.figure("entries published", entries, "", all);
        Ok(())
    }

    /// Returns the number of entries in a site's sitemaps.
    async fn listed(&self, host: &str) -> u64 {
        self.entries(host).await.iter().sum()
    }

    /// Returns the number of entries in each of a site's sitemaps.
    async fn entries(&self, host: &str) -> Vec<u64> {
        let bucket = self.world.bucket();
        let mut entries = Vec::new();
        for key in bucket.list(host).await.expect("memory") {
            if matches!(key, ObjectKey::Shard { .. }) {
                let meta = bucket.head(&key).await.expect("memory");
                let document = meta.and_then(|meta| meta.document);
                entries.extend(document.map(|document| document.entries));
            }
        }
        entries
    }

    /// Checks repeatedly until a condition is met. Returns how long that took.
    async fn until(
        &self,
        what: &str,
        is_so: impl Fn(&Self) -> BoxFuture<'_, Result<bool, String>> + Send + Sync,
    ) -> Result<Duration, String> {
        const LOOK_EVERY: Duration = Duration::from_millis(100);
        const LIMIT: Duration = Duration::from_secs(7 * 86_400);
        let begun = self.sim.elapsed();
        while !is_so(self).await? {
            self.sim.sleep(LOOK_EVERY).await;
            if self.sim.elapsed() > begun + LIMIT {
                return Err(format!("not so within a week: {what}"));
            }
        }
        Ok(self.sim.elapsed() - begun)
    }

    /// Waits until a site lists this number of pages.
    async fn until_listed(&self, host: &'static str, pages: u64) -> Result<Duration, String> {
        let what = format!("{host} lists {pages} pages");
        self.until(&what, move |scene| {
            let listed = async move { Ok(scene.listed(host).await == pages) };
            listed.boxed()
        })
        .await
    }

    /// Waits until a site lists this number of pages in this number of sitemaps, none of which has more than its share.
    async fn until_listed_in(
        &self,
        host: &'static str,
        pages: usize,
        sitemaps: usize,
    ) -> Result<Duration, String> {
        let what = format!("{host} lists {pages} pages in {sitemaps} sitemaps");
        let (pages, share) = (pages as u64, (pages / sitemaps) as u64);
        self.until(&what, move |scene| {
            let listed = async move {
                let entries = scene.entries(host).await;
                let fits = entries.iter().all(|entries| *entries <= share);
                Ok(fits && entries.iter().sum::<u64>() == pages)
            };
            listed.boxed()
        })
        .await
    }
}
