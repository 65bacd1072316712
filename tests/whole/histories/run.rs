//! Runs a history with faults, and compares the result.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws::Clock;
use cli::audit::{Ended, audit as repair};
use engine::keys::{self, Mark};
use engine::reconcile::KnownSites;
use engine::regenerate::feed::FEED_PERIOD;
use engine::sweep::audit::Finding;
use engine::sweep::sweep;
use futures::{StreamExt, stream};
use harness::{Chaos, Http, World, within};
use local::event_source::Faults;
use local::stack::{AUDIT_TIMES, Options};

use super::audit::audit;
use sim::audit::{Tally, kind};
use sim::history::{History, KNOWN, MOST_CROWD, PAGE, Page, RECORDED, SITES, Settings, Step};
use sim::oracle::{Backup, Oracle};
use sim::reader::{Board, Pace, Reader, Seen};

/// The pace of the crawler. Moves take milliseconds, or seconds on a loaded machine with failing calls.
const PACE: Pace = Pace {
    pause: Duration::from_millis(50),
    // In real time, on a loaded machine, and with faults. The simulated world measures the actual time.
    transition: Duration::from_secs(300),
    unconditional: 1,
};
/// The probability of each fault, for each delivery.
const FAULTS: f64 = 0.12;
/// The probabilities of each fault, for each call of the SDK. Half of the histories have the former. A call may meet about ten of
/// them, half of which outlast the SDK's tries. A page of the scan, or an event of a page in 120 parts, makes hundreds of calls,
/// and is repeated if one of them fails. With twice the latter probability it would be repeated hundreds of times.
const CALL_FAULTS: [f64; 2] = [0.000_5, 0.002];
/// Longer than `http` caches a site file, in seconds.
const SITE_FILE_AGE: i64 = 10;
/// Comparisons before a difference counts as a failure. The next sweep repairs what a fault has prevented.
const LOOKS: u32 = 2;
/// The most sweeps until all waiting feeds are published.
const SWEEPS: u32 = 20;
/// The time limit of one history: hundreds of times the duration on an idle machine. Each wait in it has a lower limit.
const HISTORY: Duration = Duration::from_secs(1_200);
/// The hours for which an emptied sitemap is served. If they pass faster than an index is published, it lists a sitemap that no
/// longer exists.
const GRACE_HOURS: i64 = 48;
/// The most repairs until one finds nothing. The next repair does what faults have prevented.
const REPAIRS: u32 = 6;
/// Concurrent writes of a flood.
const AT_ONCE: usize = 8;

/// The counts of runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    histories: u64,
    steps: u64,
    /// Records that were written or deleted.
    edits: u64,
    /// Comparisons of everything, and how many of them needed another sweep.
    rests: u64,
    late: u64,
    /// Rows and objects that were lost.
    lost: u64,
    /// Calls that failed or were delayed, by kind.
    call_faults: BTreeMap<&'static str, u64>,
    /// Objects that were written, and puts that lost to another one.
    puts: u64,
    lost_puts: u64,
    /// How often the reader read all sites, and the duration of the slowest move that it saw.
    looks: u64,
    slowest: Duration,
    /// The counts of the final comparison.
    tally: Tally,
}

impl Report {
    /// Adds the counts of another report.
    pub(super) fn add(&mut self, other: &Self) {
        self.histories += other.histories;
        self.steps += other.steps;
        self.edits += other.edits;
        self.rests += other.rests;
        self.late += other.late;
        self.lost += other.lost;
        for (name, count) in &other.call_faults {
            *self.call_faults.entry(name).or_default() += count;
        }
        self.puts += other.puts;
        self.lost_puts += other.lost_puts;
        self.looks += other.looks;
        self.slowest = self.slowest.max(other.slowest);
        self.tally.add(&other.tally);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} histories: {} steps, {} edits, {} losses; all compared {} times, {} of them after another sweep",
            self.histories, self.steps, self.edits, self.lost, self.rests, self.late
        )?;
        let faults: Vec<String> = self
            .call_faults
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        writeln!(
            f,
            "calls that failed or were held up: {} ({}); {} objects written, {} puts lost",
            self.call_faults.values().sum::<u64>(),
            faults.join(", "),
            self.puts,
            self.lost_puts
        )?;
        writeln!(
            f,
            "all sites read {} times meanwhile; the slowest move was seen for {:?}",
            self.looks, self.slowest
        )?;
        let Tally {
            entries,
            videos,
            news,
            rows,
            free,
            leaked,
            fences,
            ..
        } = &self.tally;
        writeln!(
            f,
            "left at the ends: {entries} entries, {videos} of videos and {news} of news; {free} free slots, \
             {leaked} that leaked, {fences} lone fences"
        )?;
        write!(f, "rows: {rows:?}")
    }
}

/// Runs a history with faults from a seed, while a crawler reads.
pub(super) async fn run(seed: u64, history: &History) -> Result<Report, String> {
    beside(seed, history, |public, board| {
        Reader::new(public, Clock::system().env(), PACE, board).read_for_ever()
    })
    .await
}

/// Runs a history as [`run`] does, with this reader. The reader never ends, unless it finds a violation. Then the history ends
/// too.
async fn beside<R>(
    seed: u64,
    history: &History,
    reader: impl FnOnce(Http, Arc<Board>) -> R,
) -> Result<Report, String>
where
    R: Future<Output = Infallible> + Send + 'static,
{
    let chaos = Chaos::seeded(seed, CALL_FAULTS[usize::from(seed.is_multiple_of(2))]);
    let options = Options {
        known: KnownSites::Only(SITES[..KNOWN].iter().map(|&site| site.to_owned()).collect()),
        faults: Faults::seeded(seed, FAULTS),
        // As many as in AWS, or one as in a small deployment.
        stream_shards: 1 + (seed >> 8) as usize % 3,
        parallel: 1 + (seed >> 16) as usize % 2,
        interceptor: Some(chaos.interceptor()),
        ..Options::default()
    };
    let world = World::idle(options).await;
    let board = Arc::new(Board::new(Clock::system().env()));
    let public = Http::at(&world.stack.site_endpoint);
    let mut reader = tokio::spawn(reader(public, board.clone()));
    let now = world.clock.now();
    let mut run = Run {
        world,
        board,
        oracle: Oracle::new(now),
        passed: 0,
        dropped: false,
        orphaned: false,
        lost: false,
        report: Report {
            histories: 1,
            ..Report::default()
        },
    };
    let happened = tokio::select! {
        read = &mut reader => Err(format!("a reader: {}", super::text_of(read))),
        happened = tokio::time::timeout(HISTORY, run.happen(history)) => happened.unwrap_or_else(|_| {
            Err(format!("the history has not ended after {HISTORY:?}"))
        }),
    };
    reader.abort();
    let Run {
        world,
        board,
        mut report,
        ..
    } = run;
    report.call_faults = chaos.faults();
    (report.looks, report.slowest) = board.seen();
    let counts = world.stack.s3.counts();
    (report.puts, report.lost_puts) = (counts.puts, counts.puts_refused);
    // A history that failed may have left batches that cannot succeed. Its own reason is the one to report.
    happened?;
    world.stop().await;
    Ok(report)
}

/// A running history.
struct Run {
    world: World,
    board: Arc<Board>,
    oracle: Oracle,
    /// The hours since everything was last published.
    passed: i64,
    /// Whether the table was dropped since then.
    dropped: bool,
    /// Whether the site that is known only by its record has objects but neither a record nor a row. Then its objects stay as
    /// they are.
    orphaned: bool,
    /// Whether anything was lost since the last comparison.
    lost: bool,
    report: Report,
}

impl Run {
    async fn happen(&mut self, history: &History) -> Result<(), String> {
        for site in 0..SITES.len() {
            self.show(site);
        }
        let (loaded, rest) = history.steps.split_at(history.loaded);
        for step in loaded {
            if !step.needs_functions() {
                self.step(step).await?;
            }
        }
        self.world.begin().await;
        for step in rest {
            self.step(step).await?;
        }
        self.rest().await
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        self.report.steps += 1;
        match step {
            Step::Put(id, page) => self.put(format!("r{id}"), *page).await,
            Step::Delete(id) => self.delete(format!("r{id}")).await,
            Step::Flood(count, page) => {
                let page = self.oracle.edited(*page);
                let crowd = (0..*count).map(|n| (format!("c{n}"), Page { path: n, ..page }));
                let crowd: Vec<_> = crowd.collect();
                let writes = crowd.iter().map(|(id, page)| async {
                    let record = self.oracle.record(id, page);
                    self.world.put(&record).await;
                });
                stream::iter(writes)
                    .for_each_concurrent(AT_ONCE, |write| write)
                    .await;
                self.report.edits += crowd.len() as u64;
                self.oracle.pages.extend(crowd);
            }
            Step::Clear => {
                let crowd = (0..MOST_CROWD).map(|n| format!("c{n}"));
                let crowd: Vec<_> = crowd
                    .filter(|id| self.oracle.pages.contains_key(id))
                    .collect();
                stream::iter(&crowd)
                    .for_each_concurrent(AT_ONCE, |id| self.world.delete(id))
                    .await;
                self.report.edits += crowd.len() as u64;
                for id in crowd {
                    self.oracle.pages.remove(&id);
                }
            }
            Step::Site(site, settings) => self.settings(*site, settings).await,
            Step::Restore => self.restore().await,
            // All records of this test are in Waymark's own table.
            Step::Deploy(_) | Step::Wait(_) => {}
            Step::Pass(hours) => self.pass(*hours).await,
            Step::DropTable => self.drop_table().await,
            // In this test rows are only lost, not damaged.
            Step::LoseRow(at) | Step::DamageRow(at) => self.lose_row(*at).await,
            Step::LoseObject(at) => {
                self.rest().await?;
                self.lose_object(*at).await;
                self.rest().await?;
            }
            Step::Rest => self.rest().await?,
        }
        Ok(())
    }

    /// Copies all records of the backup back, and deletes those that were added later.
    async fn restore(&mut self) {
        let Backup { pages, settings } = self.oracle.backup.clone();
        for (site, settings) in settings.iter().enumerate() {
            self.settings(site, settings).await;
        }
        for (id, page) in &pages {
            self.put(id.clone(), *page).await;
        }
        let later = self
            .oracle
            .pages
            .keys()
            .filter(|id| !pages.contains_key(*id));
        for id in later.cloned().collect::<Vec<_>>() {
            self.delete(id).await;
        }
    }

    async fn lose_row(&mut self, at: usize) {
        // Each kind of row with the same probability.
        let mut kinds: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for (pk, sk) in self.world.rows("").await.into_keys() {
            let of_kind = kinds.entry(kind(&pk).to_owned()).or_default();
            of_kind.push((pk, sk));
        }
        let kinds: Vec<_> = kinds.into_values().collect();
        if kinds.is_empty() {
            return;
        }
        let keys = &kinds[at % kinds.len()];
        let (pk, sk) = &keys[at / kinds.len() % keys.len()];
        self.board.break_all().await;
        self.world.delete_row(pk, sk).await;
        self.report.lost += 1;
        self.lost = true;
        // The site is unknown then.
        self.orphaned |=
            *pk == engine::keys::site(SITES[KNOWN]).pk && self.oracle.settings[KNOWN].is_none();
    }

    async fn lose_object(&mut self, at: usize) {
        let mut objects = Vec::new();
        for host in SITES {
            objects.extend(self.world.stack.objects.list(host).await.unwrap());
        }
        objects.retain(|key| !(self.orphaned && key.site() == SITES[KNOWN]));
        if objects.is_empty() {
            return;
        }
        let key = &objects[at % objects.len()];
        self.board.break_all().await;
        self.world.lose_object(&key.path(), at).await;
        self.report.lost += 1;
        self.lost = true;
    }

    /// Runs the audit until it has repaired the losses.
    async fn repair(&self) -> Result<(), String> {
        let target = self.world.target();
        let mut findings = Vec::new();
        for _ in 0..REPAIRS {
            self.sweep().await;
            self.world.settle().await;
            let found = |finding: &Finding| findings.push(finding.to_string());
            let ended = repair(&target, true, AUDIT_TIMES.second_look / 2, found).await;
            if let Ended::Whole(left) = ended.map_err(|error| error.to_string())?
                && left.iter().all(|finding| finding.problem.is_harmless())
            {
                self.world.settle().await;
                return Ok(());
            }
        }
        Err(format!("never made good: {findings:#?}"))
    }

    /// Checks that the audit of a correct state finds nothing.
    async fn finds_nothing(&self) -> Result<(), String> {
        let target = self.world.target();
        let ended = repair(&target, false, AUDIT_TIMES.second_look, |_| ()).await;
        let Ended::Whole(mut found) = ended.map_err(|error| error.to_string())? else {
            return Ok(());
        };
        found.retain(|finding| !finding.problem.is_harmless());
        if found.is_empty() {
            Ok(())
        } else {
            Err(format!("the audit finds what is not so: {found:#?}"))
        }
    }

    async fn put(&mut self, id: String, page: Page) {
        self.oracle.now = self.world.clock.now();
        let page = self.oracle.edited(page);
        self.world.put(&self.oracle.record(&id, &page)).await;
        self.oracle.pages.insert(id, page);
        self.report.edits += 1;
    }

    async fn delete(&mut self, id: String) {
        self.world.delete(&id).await;
        self.oracle.pages.remove(&id);
        self.report.edits += 1;
    }

    async fn settings(&mut self, site: usize, settings: &Option<Settings>) {
        let was_public = self.oracle.is_public(site);
        let was_orphaned = self.orphaned;
        self.oracle.settings[site] = *settings;
        self.oracle.ever_told[site] |= settings.is_some_and(|settings| settings.told);
        if site == RECORDED {
            self.orphaned = settings.is_none() && (self.orphaned || self.dropped);
        }
        if was_orphaned || was_public != self.oracle.is_public(site) {
            self.board.change(site, |view| {
                // New settings do not repair a loss.
                if view.seen != Seen::Broken {
                    view.seen = Seen::Changing;
                }
            });
        }
        self.show(site);
        match settings {
            Some(settings) => self.world.put(&Oracle::site_record(site, settings)).await,
            None => self.world.delete(&format!("site/{}", SITES[site])).await,
        }
        self.report.edits += 1;
    }

    /// Sets higher limits for the reader.
    fn show(&self, site: usize) {
        let (entries, bytes) = self.oracle.limits(site);
        self.board.change(site, |view| {
            view.entries = view.entries.max(entries);
            view.bytes = view.bytes.max(bytes);
        });
    }

    async fn pass(&mut self, hours: i64) {
        if self.passed + hours >= GRACE_HOURS {
            self.world.settle().await;
            self.passed = 0;
        }
        self.passed += hours;
        for site in 0..SITES.len() {
            self.board.change(site, |view| view.leaps += 1);
        }
        self.world.clock.advance(hours * 3_600);
        self.oracle.now = self.world.clock.now();
    }

    async fn drop_table(&mut self) {
        // No timer may become due meanwhile.
        self.world.settle().await;
        self.sweep().await;
        self.world.settle().await;
        self.world.drop_sitemap_table().await;
        self.dropped = true;
        if self.oracle.settings[RECORDED].is_none() {
            self.orphaned = true;
            self.board
                .change(RECORDED, |view| view.seen = Seen::Changing);
        }
    }

    /// Runs a sweep as the clock's next call would.
    async fn sweep(&self) {
        let stack = &self.world.stack;
        // A lost race with the stack's own sweep is not a failure. Missing work would show in the comparison.
        let (reconciler, objects) = (&stack.reconciler, &*stack.objects);
        if let Err(error) = sweep(reconciler, objects, AUDIT_TIMES, None).await {
            println!("a sweep: {error}");
        }
    }

    /// Sweeps until no feed is waiting. The stack's own sweep may be running, or have died, and then this one does nothing.
    async fn publish_feeds(&self) {
        for _ in 0..SWEEPS {
            self.world.clock.advance(FEED_PERIOD);
            self.sweep().await;
            self.world.settle().await;
            let marks = keys::marks_partition(Mark::Feed);
            if self.world.rows(&marks).await.is_empty() {
                return;
            }
        }
    }

    /// Waits until nothing is left to do, and then compares. A difference is an error.
    async fn rest(&mut self) -> Result<(), String> {
        self.report.rests += 1;
        if self.lost {
            self.repair().await?;
        }
        let mut found = Err("not looked at".to_owned());
        for look in 0..LOOKS {
            self.world.settle().await;
            self.publish_feeds().await;
            self.world.clock.advance(SITE_FILE_AGE);
            self.oracle.now = self.world.clock.now();
            found = audit(&self.world, &self.oracle, self.orphaned).await;
            self.report.late += u64::from(look == 1);
            if found.is_ok() {
                break;
            }
        }
        self.report.tally = found?;
        self.orphaned |= self.report.tally.orphaned;
        if !self.lost && !self.orphaned {
            self.finds_nothing().await?;
        }
        self.passed = 0;
        self.dropped = false;
        self.lost = false;
        self.oracle.back_up();
        for site in 0..SITES.len() {
            if site == RECORDED && self.orphaned {
                continue;
            }
            let (entries, bytes) = self.oracle.limits(site);
            let public = self.oracle.is_public(site);
            self.board.change(site, |view| {
                view.seen = if public { Seen::Open } else { Seen::Closed };
                (view.entries, view.bytes) = (entries, bytes);
            });
        }
        Ok(())
    }
}

/// Tests that a history ends if its reader does. The history waits for two more reads, which never come.
#[tokio::test(flavor = "multi_thread")]
async fn a_history_ends_with_its_reader() {
    let history = History {
        loaded: 0,
        steps: vec![Step::Put(0, PAGE), Step::Rest, Step::LoseRow(0)],
    };
    let ended = beside(1, &history, |_, _| async { panic!("it saw that") });
    let ended = within("the history to end", ended).await;
    assert_eq!(ended.err().as_deref(), Some("a reader: it saw that"));
}
