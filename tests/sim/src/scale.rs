//! Scenarios at size: what must hold on a site of a million pages, in virtual time and counted units.
//!
//! Each prints its figures, with what each should be. The sizes are a parameter: what depends on the size must show at a
//! hundredth of it, too, or the aim says so.

use std::fmt;
use std::time::Duration;

use engine::scans::Step;
use futures::FutureExt;
use futures::future::BoxFuture;
use objects::{ObjectKey, Objects, all_sites};
use serde_json::{Value as Json, json};
use sitemap::time::When;

use crate::deployment::PLAIN;
use crate::history::SITES;
use crate::runtime::Sim;
use crate::world::{Options, World};

/// Units a second that a new table takes (DynamoDB).
const NEW_TABLE_WRITES: f64 = 4_000.0;
/// Edits a second of a busy site.
const EDITS_A_SECOND: u64 = 100;
/// What an audit finds of a sound site that was loaded by runs which lost some races.
const HARMLESS: [&str; 3] = ["slots_leaked", "fence_left", "row_unknown"];
/// Stream shards of a table that takes as much as a new one.
const SHARDS: usize = 4;

/// A figure, and what it should be.
#[derive(Clone, Debug)]
pub struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    aim: Aim,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug)]
enum Aim {
    AtMost(f64),
    AtLeast(f64),
    /// It is counted, and nothing is asked of it.
    Counted,
}

impl Figure {
    /// Whether it is what it should be.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        match self.aim {
            Aim::AtMost(most) => self.value <= most,
            Aim::AtLeast(least) => self.value >= least,
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
        let verdict = if self.is_ok() { "ok" } else { "MISSED" };
        match self.aim {
            Aim::AtMost(most) => write!(f, " at most {most:<10} {verdict}"),
            Aim::AtLeast(least) => write!(f, " at least {least:<9} {verdict}"),
            Aim::Counted => Ok(()),
        }
    }
}

/// A scenario: its name, what it shows, and how it runs with so many pages.
pub type Scenario = (&'static str, fn(usize) -> Result<Vec<Figure>, String>);

/// All scenarios.
pub const SCENARIOS: [Scenario; 11] = [
    ("load", |pages| run(pages, load)),
    ("load-of-sites", |pages| run(pages, load_of_sites)),
    ("edits", |pages| run(pages, edits)),
    ("due", |pages| run(pages, due)),
    ("appear", |pages| run(pages, appear)),
    ("beside-a-scan", |pages| run(pages, beside_a_scan)),
    ("beside-a-first-load", |pages| {
        run(pages, beside_a_first_load)
    }),
    ("import-again", |pages| run(pages, import_again)),
    ("edits-while-loading", |pages| {
        run(pages, edits_while_loading)
    }),
    ("idle", |pages| run(pages, idle)),
    ("audit", |pages| run(pages, audit)),
];

/// What a scenario does, and shows.
struct Scene {
    sim: Sim,
    world: World,
    pages: usize,
    figures: Vec<Figure>,
}

fn run<F>(pages: usize, scenario: fn(Scene) -> F) -> Result<Vec<Figure>, String>
where
    F: Future<Output = Result<Vec<Figure>, String>> + Send + 'static,
{
    let sim = Sim::new(1);
    let inner = sim.clone();
    sim.run(async move {
        let world = World::new(&inner, Options::sound(SHARDS), PLAIN);
        world.latency.begin(world.bucket());
        scenario(Scene {
            sim: inner,
            world,
            pages,
            figures: Vec::new(),
        })
        .await
    })
}

/// A page's record, as it is after so many edits.
fn page(host: &str, n: usize, edit: u64) -> Json {
    // Five tags of a fifth as many as there are pages, as a blog has them.
    let tags: Vec<String> = (0..5)
        .map(|tag| format!("t{}", (n * 7 + tag * 13) % (n / 5 + 5)))
        .collect();
    json!({"id": id(host, n), "type": "post", "url": format!("https://{host}/p{n}"), "terms": {"tag": tags},
        "title": format!("Page {n}"), "modified_at": When::at(1_780_000_000 + i64::try_from(edit).unwrap_or(0)).to_string()})
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

    async fn put_pages(&self, host: &str, pages: usize) {
        for n in 0..pages {
            self.world.put(&page(host, n, 0)).await;
        }
    }

    fn written(&self) -> u64 {
        self.world.units()[1][0]
    }

    /// Of both tables.
    fn read(&self) -> u64 {
        self.world.units().iter().map(|[_, read]| read).sum()
    }

    /// Puts a site's pages, and waits until all that was put is published.
    async fn loaded(&mut self, host: &str) -> Result<(), String> {
        self.put_pages(host, self.pages).await;
        self.world.begin();
        self.world.settle().await?;
        drop(self.world.latency.take());
        let _ = self.world.runs();
        Ok(())
    }

    /// How long changes took, of those that were made since this was last asked. All must be published.
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
        let longest = self.world.runs().longest as f64;
        self.figure(
            "the longest run, of its time limit",
            longest,
            "%",
            Aim::AtMost(50.0),
        );
    }

    /// Follows the passes of the scan until no site waits: what is written while records are reconciled, and how long publishing
    /// takes.
    async fn follow_scan(&mut self, pages: usize) -> Result<(), String> {
        const LOOK_EVERY: Duration = Duration::from_secs(1);
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

    /// Entries of a site's sitemaps.
    async fn listed(&self, host: &str) -> u64 {
        self.entries(host).await.iter().sum()
    }

    /// Entries of each of a site's sitemaps.
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

    /// Looks every so often until something is so: how long that took.
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

    /// Waits until a site lists so many pages.
    async fn until_listed(&self, host: &'static str, pages: u64) -> Result<Duration, String> {
        let what = format!("{host} lists {pages} pages");
        self.until(&what, move |scene| {
            let listed = async move { Ok(scene.listed(host).await == pages) };
            listed.boxed()
        })
        .await
    }

    /// Waits until a site lists so many pages in so many sitemaps, none of which holds more than its share.
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

/// All pages of one site are there before the functions.
async fn load(mut scene: Scene) -> Result<Vec<Figure>, String> {
    let pages = scene.pages;
    scene.put_pages(SITES[0], pages).await;
    scene.follow_scan(pages).await?;
    Ok(scene.figures)
}

/// The same of many sites, each of 200 pages.
async fn load_of_sites(mut scene: Scene) -> Result<Vec<Figure>, String> {
    const PAGES_OF_A_SITE: usize = 200;
    let pages = scene.pages;
    for site in 0..pages / PAGES_OF_A_SITE {
        let host = format!("s{site}.example.com");
        let record = json!({"id": format!("site/{host}"), "type": "site"});
        scene.world.put(&record).await;
        scene.put_pages(&host, PAGES_OF_A_SITE).await;
    }
    scene.follow_scan(pages).await?;
    Ok(scene.figures)
}

/// A loaded site of which pages are edited all the time.
async fn edits(mut scene: Scene) -> Result<Vec<Figure>, String> {
    const SECONDS: u64 = 120;
    scene.loaded(SITES[0]).await?;
    let before = scene.written();
    for edit in 0..SECONDS * EDITS_A_SECOND {
        let n = usize::try_from(scene.sim.below(scene.pages as u64)).unwrap_or(0);
        scene.world.latency.change(&id(SITES[0], n));
        scene.world.put(&page(SITES[0], n, 1 + edit)).await;
        scene
            .sim
            .sleep(Duration::from_secs(1) / EDITS_A_SECOND as u32)
            .await;
    }
    scene.world.settle().await?;
    scene.latencies("edits", [3.0, 10.0, 30.0]);
    let units = (scene.written() - before) as f64 / (SECONDS * EDITS_A_SECOND) as f64;
    scene.figure("units written an edit", units, "units", Aim::Counted);
    scene.longest_run();
    Ok(scene.figures)
}

/// A tenth of the pages goes within one minute, while another site is edited.
async fn due(mut scene: Scene) -> Result<Vec<Figure>, String> {
    const MINUTE: i64 = 60;
    let (pages, going) = (scene.pages, scene.pages / 10);
    scene.put_pages(SITES[0], going).await;
    scene.loaded(SITES[1]).await?;
    let at = scene.sim.now() + 3_600;
    for (n, second) in (0..going).zip((0..MINUTE).cycle()) {
        let mut record = page(SITES[0], n, 0);
        record["expires_at"] = json!(When::at(at + second).to_string());
        scene.world.put(&record).await;
    }
    scene.world.settle().await?;
    let all_due = Duration::from_secs(u64::try_from(at + MINUTE - scene.sim.now()).unwrap_or(0));
    scene.sim.sleep(all_due).await;
    let _ = scene.world.runs();
    let (begun, before) = (scene.sim.elapsed(), scene.written());
    for edit in 1.. {
        if scene.listed(SITES[0]).await == 0 {
            break;
        }
        if scene.sim.elapsed() > begun + Duration::from_secs(86_400) {
            return Err("pages that are over are listed a day later".to_owned());
        }
        let n = usize::try_from(scene.sim.below(pages as u64)).unwrap_or(0);
        scene.world.latency.change(&id(SITES[1], n));
        scene.world.put(&page(SITES[1], n, edit)).await;
        scene.sim.sleep(Duration::from_millis(100)).await;
    }
    let took = (scene.sim.elapsed() - begun).as_secs_f64();
    let used = (scene.written() - before) as f64 / took / NEW_TABLE_WRITES * 100.0;
    let gone = going as f64 / took;
    scene.figure("pages gone a second", gone, "", Aim::Counted);
    scene.figure(
        "write throughput used until all are gone",
        used,
        "%",
        Aim::AtLeast(80.0),
    );
    scene.world.settle().await?;
    scene.latencies("edits meanwhile", [10.0, 10.0, 30.0]);
    scene.longest_run();
    Ok(scene.figures)
}

/// All pages are there before their time, and appear within one hour.
async fn appear(mut scene: Scene) -> Result<Vec<Figure>, String> {
    const HOUR: usize = 3_600;
    let (host, pages) = (SITES[0], scene.pages);
    let begins = scene.sim.now() + 86_400;
    // In the order of the time at which they appear.
    let second = |n: usize| n * HOUR / pages;
    for n in 0..pages {
        let mut record = page(host, n, 0);
        let at = begins + i64::try_from(second(n)).unwrap_or(0);
        record["published_at"] = json!(When::at(at).to_string());
        scene.world.put(&record).await;
    }
    scene.world.begin();
    scene.world.settle().await?;
    drop(scene.world.latency.take());
    let _ = scene.world.runs();
    // A second early, so that none has appeared before it is waited for.
    let until = u64::try_from(begins - scene.sim.now() - 1).unwrap_or(0);
    scene.sim.sleep(Duration::from_secs(until)).await;
    let mut next = 0;
    for now in 0..HOUR {
        while next < pages && second(next) == now {
            scene.world.latency.change(&id(host, next));
            next += 1;
        }
        scene.sim.sleep(Duration::from_secs(1)).await;
    }
    scene.until_listed(host, pages as u64).await?;
    scene.world.settle().await?;
    scene.latencies("appearing", [90.0, 90.0, 120.0]);
    scene.longest_run();
    Ok(scene.figures)
}

/// A small site comes, and another one gets new settings, while a large one is scanned.
async fn beside_a_scan(mut scene: Scene) -> Result<Vec<Figure>, String> {
    const NEW: usize = 10;
    let (large, settled, new) = (SITES[0], "settled.example.com", "new.example.com");
    let small = scene.pages.min(1_000);
    scene.put_pages(settled, small).await;
    scene.loaded(large).await?;
    let settings = |host: &str, name: &str, value: Json| {
        let mut record = json!({"id": format!("site/{host}"), "type": "site"});
        record[name] = value;
        record
    };
    let smaller = |parts| settings(settled, "entries_per_sitemap", json!(small / parts));
    let read = scene.read();
    scene.world.put(&smaller(2)).await;
    scene.until_listed_in(settled, small, 2).await?;
    scene.world.settle().await?;
    let read = (scene.read() - read) as f64 / small as f64;
    scene.figure(
        "units read a page for new settings",
        read,
        "",
        Aim::AtMost(20.0),
    );
    let weekly = json!({"post": {"changefreq": "weekly"}});
    scene.world.put(&settings(large, "types", weekly)).await;
    scene
        .until("a large site is scanned", |scene| {
            async move { Ok(scene.world.scans().await?.1.contains_key(large)) }.boxed()
        })
        .await?;
    scene.world.put(&settings(new, "name", json!("New"))).await;
    scene.put_pages(new, NEW).await;
    let came = scene.until_listed(new, NEW as u64).await?;
    scene.world.put(&smaller(4)).await;
    let changed = scene.until_listed_in(settled, small, 4).await?;
    let (_, sites) = scene.world.scans().await?;
    let meanwhile = f64::from(u8::from(sites.contains_key(large)));
    let limit = Aim::AtMost(120.0);
    for (name, took) in [
        ("a new site of ten pages is published within", came),
        ("new settings of a small site within", changed),
    ] {
        scene.figure(name, took.as_secs_f64(), "s", limit);
    }
    let still = "large sites that are still scanned then";
    scene.figure(still, meanwhile, "", Aim::AtLeast(1.0));
    scene.world.settle().await?;
    Ok(scene.figures)
}

/// A small site comes while a large one is loaded for the first time.
async fn beside_a_first_load(mut scene: Scene) -> Result<Vec<Figure>, String> {
    const NEW: usize = 10;
    let new = "new.example.com";
    scene.put_pages(SITES[0], scene.pages).await;
    scene.world.begin();
    scene
        .until("a scan of all content is under way", |scene| {
            let begun = async {
                let content = scene.world.scans().await?.0;
                Ok(content.is_some_and(|scan| scan.pass.is_some()))
            };
            begun.boxed()
        })
        .await?;
    let record = json!({"id": format!("site/{new}"), "type": "site"});
    scene.world.put(&record).await;
    scene.put_pages(new, NEW).await;
    let came = scene.until_listed(new, NEW as u64).await?.as_secs_f64();
    let name = "a new site of ten pages is published within";
    scene.figure(name, came, "s", Aim::AtMost(120.0));
    scene.world.settle().await?;
    Ok(scene.figures)
}

/// A tenth of the pages is deleted and comes again.
async fn import_again(mut scene: Scene) -> Result<Vec<Figure>, String> {
    let (host, again) = (SITES[0], scene.pages / 10);
    scene.loaded(host).await?;
    for n in 0..again {
        scene.world.delete(&id(host, n)).await;
    }
    scene.world.settle().await?;
    let begun = scene.sim.elapsed();
    for n in 0..again {
        scene.world.put(&page(host, n, 0)).await;
    }
    let all = scene.pages as u64;
    scene.until_listed(host, all).await?;
    let took = (scene.sim.elapsed() - begun).as_secs_f64();
    scene.figure(
        "pages imported again a second",
        again as f64 / took,
        "",
        Aim::Counted,
    );
    let failed = scene.world.given_up() as f64;
    scene.figure("records given up", failed, "", Aim::AtMost(0.0));
    scene.longest_run();
    Ok(scene.figures)
}

/// Pages become drafts while their site is loaded.
async fn edits_while_loading(mut scene: Scene) -> Result<Vec<Figure>, String> {
    const DRAFTS: usize = 50;
    let (host, pages) = (SITES[0], scene.pages);
    scene.put_pages(host, pages).await;
    scene.world.begin();
    let every = (pages / DRAFTS).max(1);
    for n in (0..pages).step_by(every) {
        let mut record = page(host, n, 1);
        record["status"] = json!("draft");
        scene.world.put(&record).await;
        scene.sim.sleep(Duration::from_millis(200)).await;
    }
    let left = (pages - (0..pages).step_by(every).len()) as u64;
    scene
        .until("the site is released", move |scene| {
            let bucket = scene.world.bucket();
            let index = ObjectKey::Index {
                site: host.to_owned(),
                n: 1,
            };
            async move { Ok(bucket.head(&index).await.expect("memory").is_some()) }.boxed()
        })
        .await?;
    let listed = scene.listed(host).await;
    scene.figure(
        "drafts that are listed at the release",
        listed.saturating_sub(left) as f64,
        "",
        Aim::AtMost(0.0),
    );
    let took = scene.until_listed(host, left).await?.as_secs_f64();
    scene.figure("all of them are gone after", took, "s", Aim::AtMost(10.0));
    Ok(scene.figures)
}

/// Nothing happens on many small sites.
async fn idle(mut scene: Scene) -> Result<Vec<Figure>, String> {
    const MINUTES: u32 = 30;
    const MINUTE: Duration = Duration::from_secs(60);
    let sites = (scene.pages / 2).min(5_000);
    for site in 0..sites {
        let host = format!("s{site}.example.com");
        let record = json!({"id": format!("site/{host}"), "type": "site"});
        scene.world.put(&record).await;
        scene.put_pages(&host, 2).await;
    }
    scene.world.begin();
    scene.world.settle().await?;
    // What search engines were to be told of, too.
    scene.sim.sleep(10 * MINUTE).await;
    let mut most = 0;
    for _ in 0..MINUTES {
        let before = scene.sim.counts().0;
        scene.sim.sleep(MINUTE).await;
        most = most.max(scene.sim.counts().0 - before);
    }
    scene.figure("sites", sites as f64, "", Aim::Counted);
    let name = "calls of an idle minute, at most";
    scene.figure(name, most as f64, "", Aim::AtMost(50.0));
    Ok(scene.figures)
}

/// The daily audit of a site that is sound, while a page changes each second.
async fn audit(mut scene: Scene) -> Result<Vec<Figure>, String> {
    const LOOK_EVERY: Duration = Duration::from_secs(1);
    const A_DAY: i64 = 86_400;
    let (host, pages) = (SITES[0], scene.pages);
    scene.loaded(host).await?;
    let last = scene.world.clocks_audit().await.map(|audit| audit.began);
    let begins = last.unwrap_or(scene.sim.now()) + A_DAY;
    // How much was read up to each moment: the row of an audit comes only at the end of its first slice.
    let mut reads = Vec::new();
    let (mut suspected, mut edit) = (0, 0);
    let audit = loop {
        let now = scene.sim.now();
        reads.push((now, scene.read()));
        let audit = scene.world.clocks_audit().await;
        if let Some(audit) = audit.filter(|audit| audit.began >= begins) {
            suspected = suspected.max(audit.suspected.as_ref().map_or(0, |sums| sums.len()));
            if audit.step.is_none() {
                break audit;
            }
        }
        if now > begins + A_DAY {
            return Err("no audit has ended a day later".to_owned());
        }
        if now >= begins {
            edit += 1;
            let n = usize::try_from(scene.sim.below(pages as u64)).unwrap_or(0);
            scene.world.put(&page(host, n, edit)).await;
        }
        scene.sim.sleep(LOOK_EVERY).await;
    };
    let (harmless, wrong): (Vec<_>, Vec<_>) = audit
        .found
        .iter()
        .partition(|(problem, _)| HARMLESS.contains(&problem.as_str()));
    let count = |found: Vec<(&String, &u64)>| found.iter().map(|(_, n)| **n).sum::<u64>() as f64;
    scene.figure("harmless findings", count(harmless), "", Aim::Counted);
    scene.figure("other findings", count(wrong), "", Aim::AtMost(0.0));
    let before = reads.iter().rev().find(|(now, _)| *now < audit.began);
    let a_page = (scene.read() - before.map_or(0, |(_, read)| *read)) as f64 / pages as f64;
    let took = (scene.sim.now() - audit.began) as f64;
    scene.figure("the audit takes at most", took, "s", Aim::Counted);
    scene.figure("sums suspected", suspected as f64, "", Aim::Counted);
    let name = "units read a page, with those of the edits";
    scene.figure(name, a_page, "units", Aim::AtMost(0.8));
    scene.longest_run();
    Ok(scene.figures)
}
