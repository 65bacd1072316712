//! Runs a history with faults, and compares the result.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use engine::keys::ALONE;
use engine::sweep::TURN_SECONDS;
use engine::sweep::audit::{AuditProgress, Finding};
use serde_json::Value as Json;
use sitemap::site::SiteSettings;

use crate::audit::{Tally, audit, check};
use crate::deployment::{Deployment, PLAIN};
use crate::history::{History, KNOWN, MOST_CROWD, Page, RECORDED, SITES, Settings, State, Step};
use crate::oracle::{Backup, Oracle};
use crate::reader::{Board, Pace, Reader, Seen};
use crate::runtime::Sim;
use crate::told::Told;
use crate::visitor;
use crate::world::{Options, World, digest};

pub(crate) mod losses;
mod user;

/// The shares of failing calls and of functions' runs that end somewhere. Each history has one of these pairs.
const RATES: [(f64, f64); 4] = [(0.0, 0.0), (0.000_5, 0.01), (0.002, 0.05), (0.02, 0.1)];
/// The minutes of an hour that have passed when a history begins. Its pages appear and disappear whole hours later.
const MINUTES_PAST: i64 = 50;
/// Longer than a site file is cached, in seconds.
const SITE_FILE_AGE: i64 = 10;
/// Comparisons before a difference counts as a failure, because the next sweep repairs what a fault has prevented. Also the
/// number of audits while another one repairs.
const LOOKS: u32 = 2;
/// The hours for which an emptied sitemap is served. If they pass faster than an index is published, it lists a sitemap that no
/// longer exists.
const GRACE_HOURS: i64 = 48;
/// The time after which no earlier run and no earlier request continues: twice the longest time limit of a function, and the
/// longest delay of a request, for each call that such a run still makes.
const LONGEST_RUN: Duration = Duration::from_secs(1_200);
/// The pace of the crawler. While services fail, moves take as long as the outage, and a rest may take a day.
const PACE: Pace = Pace {
    pause: Duration::from_secs(12),
    transition: Duration::from_secs(86_400),
    unconditional: 8,
};
/// The longest pause that the functions grant an endpoint, and an hour.
const LONGEST_PAUSE_HOURS: i64 = 7;
/// One of this number of rests without losses is audited too, because an audit costs as much as the rest.
const AUDITED: u64 = 4;
/// The most repairs until one finds nothing. The next repair does what faults have prevented.
const REPAIRS: u32 = 6;

/// The counts of runs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Histories.
    pub histories: u64,
    /// Their steps.
    pub steps: u64,
    /// Calls of tables and buckets.
    pub calls: u64,
    /// Faults: calls and runs that failed, answers that were lost or late.
    pub faults: u64,
    /// Virtual seconds.
    pub seconds: u64,
    /// Comparisons of everything.
    pub rests: u64,
    /// Comparisons that needed another sweep.
    pub late: u64,
    /// Rows and objects that were lost.
    pub lost: u64,
    /// Looks of the crawler at all sites.
    pub looks: u64,
    /// Calls of tables and of functions that were throttled.
    pub throttled: [u64; 2],
    /// Requests that notified search engines of changes.
    pub told: u64,
    /// The counts of the final comparisons.
    pub tally: Tally,
}

impl AddAssign<&Self> for Report {
    fn add_assign(&mut self, other: &Self) {
        self.histories += other.histories;
        self.steps += other.steps;
        self.calls += other.calls;
        self.faults += other.faults;
        self.seconds += other.seconds;
        self.rests += other.rests;
        self.late += other.late;
        self.lost += other.lost;
        self.looks += other.looks;
        self.told += other.told;
        for (throttled, other) in self.throttled.iter_mut().zip(other.throttled) {
            *throttled += other;
        }
        self.tally.add(&other.tally);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            histories,
            steps,
            calls,
            faults,
            seconds,
            rests,
            late,
            lost,
            looks,
            told,
            throttled: [calls_throttled, runs_throttled],
            tally,
        } = self;
        writeln!(
            f,
            "{histories} histories: {steps} steps, {calls} calls, {faults} faults, {lost} losses in {seconds} virtual seconds; \
             all compared {rests} times, {late} of them after another sweep, and read {looks} times meanwhile; \
             search engines told in {told} requests; {calls_throttled} calls and {runs_throttled} runs throttled"
        )?;
        write!(
            f,
            "left at the ends: {} entries, {} of videos and {} of news; {} further indexes; {} free slots, {} that leaked, \
             {} lone fences",
            tally.entries,
            tally.videos,
            tally.news,
            tally.indexes,
            tally.free,
            tally.leaked,
            tally.fences
        )
    }
}

/// The lanes of a stream shard of content: more than the template's default, because each can overtake the others.
const FACTOR: usize = 4;

/// A history and its deployment.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed of the world.
    pub world: u64,
    /// Its deployment.
    pub deployment: Deployment,
    /// Its history.
    pub history: History,
    /// Whether what is loaded before the functions start is published in bulk.
    pub is_filled: bool,
}

/// Runs a history. Returns its counts, a digest of the final state, and the first violation.
pub(crate) async fn happen(sim: Sim, case: Case) -> (Report, u64, Option<String>) {
    let (calls, runs) = RATES[usize::try_from(sim.below(RATES.len() as u64)).unwrap_or(0)];
    let shards = 1 + usize::try_from(sim.below(3)).unwrap_or(0);
    let options = Options {
        calls,
        runs,
        shards,
        factor: FACTOR,
        trouble: None,
        watched: true,
    };
    let Case {
        deployment,
        history,
        is_filled,
        ..
    } = case;
    // Timers are grouped by the hour, so not all are at the beginning of one.
    sim.leap(MINUTES_PAST * 60);
    let mut run = Run::new(&sim, options, deployment);
    let reader = Reader::new(run.world.public(), sim.env(), PACE, Arc::clone(&run.board));
    let is_guided = deployment.index_lines < PLAIN.index_lines;
    let reader = if is_guided { reader.guided() } else { reader };
    // A violation is a panic, which ends the history.
    drop(sim.spawn(reader.read_for_ever()));
    let violation = run.happen(&history, is_filled).await.err();
    (run.report.looks, _) = run.board.seen();
    run.report.throttled = run.world.throttled();
    let left = digest(&run.world.rows().await, &run.world.published().await);
    (run.report, left, violation)
}

/// A running history.
pub(crate) struct Run {
    pub(crate) world: World,
    /// The information for the crawler.
    board: Arc<Board>,
    oracle: Oracle,
    /// The hours since everything was last published.
    passed: i64,
    /// Whether the table was dropped since then.
    dropped: bool,
    /// Whether the row of the site that is known only by its record was lost since then.
    rowless: bool,
    /// Whether that site has objects but neither a record nor a row. Then its objects stay as they are.
    orphaned: bool,
    /// Whether any of its objects was lost. As long as the site is unknown, that is not repaired.
    broken: bool,
    /// Whether anything was lost since the last comparison.
    pub(crate) lost: bool,
    /// The notices that must be written.
    told: Told,
    /// Whether no call and no run fails or pauses.
    is_prompt: bool,
    /// The progress of the clock's audit at the last comparison.
    audit: Option<AuditProgress>,
    report: Report,
}

impl Run {
    /// Returns a deployment in its initial state, whose functions do not run.
    pub(crate) fn new(sim: &Sim, options: Options, deployment: Deployment) -> Self {
        let oracle = Oracle {
            index_lines: deployment.index_lines as usize,
            ..Oracle::new(sim.now())
        };
        Self {
            world: World::new(sim, options, deployment),
            board: Arc::new(Board::new(sim.env())),
            oracle,
            passed: 0,
            dropped: false,
            rowless: false,
            orphaned: false,
            broken: false,
            lost: false,
            told: Told::default(),
            is_prompt: options.calls == 0.0 && options.runs == 0.0 && !deployment.stalls,
            audit: None,
            report: Report::default(),
        }
    }

    async fn happen(&mut self, history: &History, is_filled: bool) -> Result<(), String> {
        for site in 0..SITES.len() {
            self.show(site);
            self.world.site_says(site, said(site, None).as_ref());
        }
        let (loaded, rest) = history.steps.split_at(history.loaded);
        for step in loaded {
            if !step.needs_functions() {
                self.step(step).await?;
            }
        }
        if is_filled {
            self.world.fill().await;
        }
        self.world.begin();
        for step in rest {
            self.step(step).await?;
            // Edits follow each other at once, or after some seconds.
            let pause = self.world.sim.below(4_000_000);
            if pause < 3_000_000 {
                let pause = Duration::from_micros(pause);
                self.world.sim.sleep(pause).await;
            }
        }
        self.rest().await?;
        self.notify().await
    }

    pub(crate) async fn step(&mut self, step: &Step) -> Result<(), String> {
        self.report.steps += 1;
        self.oracle.now = self.world.sim.now();
        match step {
            Step::Put(id, page) => self.put(&format!("r{id}"), *page).await,
            Step::Delete(id) => self.delete(&format!("r{id}")).await,
            Step::Flood(count, page) => {
                for n in 0..*count {
                    let page = Page { path: n, ..*page };
                    self.put(&format!("c{n}"), page).await;
                }
            }
            Step::Clear => {
                for name in (0..MOST_CROWD).map(|n| format!("c{n}")) {
                    if self.oracle.pages.contains_key(&self.world.id(&name)) {
                        self.delete(&name).await;
                    }
                }
            }
            Step::Site(site, settings) => self.settings(*site, settings).await,
            Step::Restore => self.restore().await,
            Step::Deploy(pictured) => self.deploy(*pictured).await,
            Step::Pass(hours) => self.pass(*hours).await?,
            Step::Wait(seconds) => self.world.sim.sleep(Duration::from_secs(*seconds)).await,
            Step::DropTable => self.drop_table().await?,
            Step::LoseRow(at) => self.lose_row(*at).await,
            Step::DamageRow(at) => {
                self.rest().await?;
                self.damage_row(*at).await;
                self.rest().await?;
            }
            Step::LoseObject(at) => self.lose_object(*at).await,
            Step::Rest => self.rest().await?,
        }
        Ok(())
    }

    async fn put(&mut self, name: &str, page: Page) {
        let id = self.world.id(name);
        let page = self.oracle.edited(page);
        self.world.put(&self.oracle.record(&id, &page)).await;
        if id != name && page.state == State::Draft {
            // An item of the user's table that is not a page.
            self.oracle.pages.remove(&id);
        } else {
            self.oracle.pages.insert(id, page);
        }
    }

    async fn delete(&mut self, name: &str) {
        let id = self.world.id(name);
        self.world.delete(&id).await;
        self.oracle.pages.remove(&id);
    }

    /// Sets higher limits for the crawler.
    fn show(&self, site: usize) {
        let (entries, bytes) = self.oracle.limits(site);
        self.board.change(site, |view| {
            view.entries = view.entries.max(entries);
            view.bytes = view.bytes.max(bytes);
        });
    }

    /// Tells the crawler that a site is being closed or opened. That does not repair losses.
    fn unsettle(&self, site: usize) {
        self.board.change(site, |view| {
            if view.seen != Seen::Broken {
                view.seen = Seen::Changing;
            }
        });
    }

    async fn settings(&mut self, site: usize, settings: &Option<Settings>) {
        let (was_public, was_orphaned) = (self.oracle.is_public(site), self.orphaned);
        self.oracle.settings[site] = *settings;
        self.oracle.ever_told[site] |= settings.is_some_and(|settings| settings.told);
        if site == RECORDED {
            let may_be = self.orphaned || self.dropped || self.rowless;
            self.orphaned = settings.is_none() && may_be;
        }
        if was_orphaned || was_public != self.oracle.is_public(site) {
            self.unsettle(site);
        }
        self.show(site);
        self.told.settings_change(site, &self.oracle);
        let record = settings.map(|settings| Oracle::site_record(site, &settings));
        self.world
            .site_says(site, said(site, record.as_ref()).as_ref());
        match record {
            Some(record) => self.world.put(&record).await,
            None => self.world.delete(&format!("site/{}", SITES[site])).await,
        }
    }

    /// Copies all records of the backup back, and deletes those that were added later.
    async fn restore(&mut self) {
        let Backup { pages, settings } = self.oracle.backup.clone();
        for (site, settings) in settings.iter().enumerate() {
            self.settings(site, settings).await;
        }
        for (id, page) in &pages {
            self.world.put(&self.oracle.record(id, page)).await;
        }
        let later = self
            .oracle
            .pages
            .keys()
            .filter(|id| !pages.contains_key(*id));
        for id in later {
            self.world.delete(id).await;
        }
        self.oracle.pages = pages;
    }

    async fn deploy(&mut self, pictured: bool) {
        if self.world.deploy(pictured).await {
            self.oracle.pictured = pictured;
            // All content is scanned, and a scan notifies nobody.
            for site in 0..SITES.len() {
                self.told.settings_change(site, &self.oracle);
            }
        }
    }

    async fn pass(&mut self, hours: i64) -> Result<(), String> {
        if self.passed + hours >= GRACE_HOURS {
            self.world.settle().await?;
            self.passed = 0;
        }
        self.passed += hours;
        for site in 0..SITES.len() {
            self.board.change(site, |view| view.leaps += 1);
        }
        self.world.sim.leap(hours * 3_600);
        self.world.expire().await;
        Ok(())
    }

    async fn drop_table(&mut self) -> Result<(), String> {
        // A deployment gives the new table another name, so late requests to the old one do not reach it.
        self.world.settle().await?;
        self.world.sim.sleep(LONGEST_RUN).await;
        // No timer may become due meanwhile.
        self.world.settle().await?;
        self.world.sweep().await?;
        self.world.settle().await?;
        self.world.drop_sitemap_table();
        self.dropped = true;
        if self.oracle.settings[RECORDED].is_none() {
            self.orphaned = true;
            self.unsettle(RECORDED);
        }
        Ok(())
    }

    /// Runs an audit like the clock's until it has repaired the losses.
    async fn repair(&self) -> Result<(), String> {
        let mut left = Vec::new();
        for _ in 0..REPAIRS {
            self.world.sweep().await.ok();
            self.world.settle().await?;
            let before = self.world.clocks_audit().await;
            if let Some(findings) = self.world.daily_audit(true).await? {
                // A change by the clock's audit between the two looks of this audit does not appear twice, so it is not a
                // finding.
                if findings.is_empty() && self.world.clocks_audit().await == before {
                    return self.world.settle().await;
                }
                left = findings;
            }
        }
        Err(format!("never repaired: {left:#?}"))
    }

    /// Lets the endpoint accept or refuse all remaining notices. No notice may be kept back, and a refusal must be shown.
    pub(crate) async fn notify(&mut self) -> Result<(), String> {
        let Some(endpoint) = self.world.endpoint().cloned() else {
            return Ok(());
        };
        for status in [422, 200] {
            // Earlier requests have their answers by then, and late ones have arrived.
            let ended = Duration::from_secs(2 * TURN_SECONDS.unsigned_abs());
            self.world.sim.sleep(ended).await;
            let begun = self.world.sim.now();
            endpoint.always(Some(status));
            // Longer than any requested pause, and then longer than a change takes to settle.
            for pause in [LONGEST_PAUSE_HOURS * 3_600, 120] {
                // During a leap of the clock, a sweep would outlive its turn, as no function does, and overwrite the next one's
                // answer.
                self.world.sweeps_end().await?;
                self.world.sim.leap(pause);
                self.world.settle().await?;
                self.world.sweep().await?;
                // The clock's changes are complete, so that they can settle.
                self.world.settle().await?;
            }
            self.world.sweeps_end().await?;
            for (site, host) in SITES.iter().enumerate() {
                if !self.oracle.is_told(site) || (site == RECORDED && self.orphaned) {
                    continue;
                }
                let partitions = format!("{}{host}#", engine::keys::prefix::NOTICE);
                let rows = self.world.rows().await.0;
                let notices = rows.keys().filter(|(pk, _)| pk.starts_with(&partitions));
                let is_pause = |sk: &str| sk == ALONE;
                // A change during this rest is not settled yet.
                let left: Vec<_> = notices.filter(|(_, sk)| !is_pause(sk)).collect();
                if !left.is_empty() && status == 200 {
                    return Err(format!("{host}: nobody was told of {left:?}"));
                }
                if status == 200 && endpoint.taken(host).is_some_and(|at| at >= begun) {
                    let pause = self.world.pause(host).await?;
                    let sent = pause.and_then(|pause| pause.sent);
                    let is_shown = sent.is_some_and(|sent| sent.at >= begun);
                    check(&format!("taken of {host}"), &is_shown, &true)?;
                }
                let refused = endpoint.refused(host);
                if refused.is_some_and(|refused| refused.at >= begun && refused.status == status) {
                    let pause = self.world.pause(host).await?;
                    let shown = pause.and_then(|pause| pause.refused);
                    let shown = shown.map(|refused| refused.status);
                    check(&format!("refused of {host}"), &shown, &Some(status))?;
                }
            }
        }
        self.report.told += endpoint.requests();
        self.rest().await
    }

    /// Returns the findings of an audit. The clock's own audit may run concurrently and give back slots. Then this waits for the
    /// consequences.
    async fn found_by_an_audit(&self) -> Result<Vec<Finding>, String> {
        let mut findings = Vec::new();
        for _ in 0..LOOKS {
            let before = self.world.clocks_audit().await;
            findings = self.world.audit(false).await?.unwrap_or_default();
            if findings.is_empty() {
                break;
            }
            // The audit stores its repairs only afterwards.
            self.world.settle().await?;
            if self.world.clocks_audit().await == before {
                break;
            }
        }
        Ok(findings)
    }

    /// Waits until nothing is left to do, and then compares. A difference is an error. Losses are repaired first.
    pub(crate) async fn rest(&mut self) -> Result<(), String> {
        self.report.rests += 1;
        if self.lost {
            self.repair().await?;
        }
        let mut found = Err("not looked at".to_owned());
        for look in 0..LOOKS {
            self.world.settle().await?;
            self.world.sweep().await?;
            self.world.settle().await?;
            self.world.sim.leap(SITE_FILE_AGE);
            self.oracle.now = self.world.sim.now();
            let (rows, published) = (self.world.rows().await, self.world.published().await);
            found = audit(&rows, &published, &self.oracle, self.orphaned);
            self.report.late += u64::from(look == 1);
            if found.is_ok() {
                break;
            }
        }
        let (truth, tally) = found?;
        self.report.tally = tally;
        let public = self.world.public();
        for (site, host) in SITES.iter().enumerate() {
            if !(site == RECORDED && self.orphaned) {
                visitor::visit(&public, host, &truth).await?;
            }
        }
        if let Some(endpoint) = self.world.endpoint() {
            let whole = !self.lost && !self.dropped;
            let audit = self.world.clocks_audit().await;
            // If nothing is late, an audit finds nothing before its event comes.
            let audited = !self.is_prompt && audit != self.audit;
            self.audit = audit;
            self.told
                .check(endpoint, &self.oracle, &truth, whole, audited)?;
        }
        if !self.lost && !self.orphaned && self.world.sim.below(AUDITED) == 0 {
            let findings = self.found_by_an_audit().await?;
            if !findings.is_empty() {
                return Err(format!("the audit finds what is not so: {findings:#?}"));
            }
        }
        self.passed = 0;
        (self.dropped, self.rowless) = (false, false);
        self.lost = false;
        self.broken &= self.orphaned;
        if !self.broken {
            self.world.watch_all();
        }
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

/// Returns the settings that a site's row must have with this record. Returns `None` if they depend on the row.
fn said(site: usize, record: Option<&Json>) -> Option<SiteSettings> {
    let host = SITES[site];
    match record {
        Some(record) => SiteSettings::parse(host, record).ok(),
        None if site < KNOWN => SiteSettings::default_for(host).ok(),
        None => None,
    }
}
