//! `waymark status --until`: waits until a deployment is idle, or until every change from before is published.
//!
//! Nothing notes that a change has arrived, since no event is counted. So it is compared, as the clock's audit does, in stages: each
//! page's ledger and rows with its record; then each sitemap and its summary with its rows; then the index and the site's other files
//! with the summaries and the settings. What differs is compared again until it was once the same; what comes to differ later has
//! changed after that. The order matters: once a page's rows are right, a sitemap that is right after that has them.
//!
//! A comparison reads both tables. So most looks only read what the sites' rows say, and a comparison waits until that rests
//! (`Pace`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::error::EngineError;
use engine::keys;
use engine::rows::site::SiteRow;
use engine::sweep::audit::{Audit, AuditProgress, AuditStep, Finding, Problem, beginning, sifting};
use objects::{ObjectKey, all_sites};
use serde::Serialize;
use sitemap::record::ContentRecord;
use sitemap::site::host_of_site_id;
use tokio::time::{Instant, sleep, timeout_at};

use crate::audit::progress::Comparing;
use crate::deployment::target::Target;
use crate::status::{Look, Site, look};
use crate::terminal::progress::{Progress, Unit};

/// The time between two looks, at least. After a look that took longer, as long as that.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A table is scanned no earlier than so long after the call: a scan may miss what was written just before
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.ReadConsistency.html>), usually by less than a
/// second.
const SCAN_AFTER: Duration = Duration::from_secs(2);
/// A comparison waits no longer than this for sites to rest: one that changes all the time never does.
const RESTS_WITHIN: Duration = Duration::from_secs(60);
/// The longest time between two comparisons if nothing seems to change, but for one that took long.
const COMPARE_EVERY: Duration = Duration::from_secs(30);
/// The time between two comparisons, at least, in times of what the first one took.
const PAUSES: u32 = 4;
/// How often pages are compared from the beginning, since other pages depend on those that differed: an archive on its newest page,
/// a translation on its group, a page on the one that leaves its address; and then others on these. A comparison without any
/// difference is the last one.
const GENERATIONS: u32 = 3;
/// What is left, at most, is named.
pub const MAX_LEFT: usize = 20;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Every change that was written before the call is in the published files.
    Published,
    /// No scan is under way, and no site is on its first load.
    Idle,
}

impl Goal {
    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Idle => "idle",
        }
    }
}

/// How waiting ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waited {
    /// What was waited for.
    pub goal: Goal,
    /// Whether it is so.
    pub reached: bool,
    /// How long it took.
    pub seconds: f64,
    /// What was left at the last look, up to [`MAX_LEFT`] of it.
    pub left: Vec<String>,
    /// How much was left.
    pub left_count: usize,
}

/// Waits until it is so, or a time has passed. Says on stderr meanwhile what it waits for.
///
/// # Errors
///
/// If a table or the bucket fails.
pub async fn until(
    target: &Target,
    goal: Goal,
    site: Option<&str>,
    timeout: Duration,
) -> Result<Waited, EngineError> {
    let begun = Instant::now();
    let deadline = begun + timeout;
    let mut wait = Wait {
        target,
        goal,
        site,
        begun,
        stage: Stage::BEGINNING,
        left: None,
        pace: Pace::new(begun),
        last_left: vec!["files may still be written".to_owned()],
        progress: Progress::begin(
            &format!("waiting until {}", goal.name()),
            Unit::Things("seconds"),
            None,
        ),
    };
    let mut left = vec!["the first comparison took longer".to_owned()];
    let reached = loop {
        let looking = Instant::now();
        match timeout_at(deadline, wait.look()).await {
            Ok(found) => left = found?,
            Err(_) => break false,
        }
        let Some(first) = left.first() else {
            break true;
        };
        let more = match left.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what = format!("waiting until {}: {first}{more}", goal.name());
        wait.progress.turn(&what, Unit::Things("seconds"), None);
        wait.progress.reach(begun.elapsed().as_secs());
        let pause = looking.elapsed().max(LOOK_EVERY);
        if Instant::now() + pause >= deadline {
            break false;
        }
        sleep(pause).await;
    };
    let left_count = left.len();
    left.truncate(MAX_LEFT);
    Ok(Waited {
        goal,
        reached,
        seconds: begun.elapsed().as_secs_f64(),
        left,
        left_count,
    })
}

/// What differs: pages by their records, or files.
type Names = BTreeSet<String>;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Pages, for the so many-th time from the beginning.
    Pages(u32),
    Sitemaps,
    /// What is published beside the sitemaps.
    Files,
}

impl Stage {
    const BEGINNING: Self = Self::Pages(0);
}

struct Wait<'a> {
    target: &'a Target,
    goal: Goal,
    site: Option<&'a str>,
    begun: Instant,
    stage: Stage,
    /// What has differed at each look of this stage so far; nothing before the first.
    left: Option<Names>,
    pace: Pace,
    /// What the last comparison has left, in words.
    last_left: Vec<String>,
    progress: Progress,
}

/// When it is time for a comparison: when the sites are at a look as they were at the one before, and not as they were when
/// the last comparison found something. Not all that is waited for shows there: so after a while in any case.
struct Pace {
    seen: Option<Vec<Site>>,
    compared: Option<Vec<Site>>,
    /// When it is time in any case.
    latest: Instant,
    pause: Duration,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self {
            seen: None,
            compared: None,
            latest: now + RESTS_WITHIN,
            pause: LOOK_EVERY,
        }
    }

    /// Returns whether it is time for a comparison, with the sites as they are at this look.
    fn is_time(&mut self, sites: Vec<Site>, now: Instant) -> bool {
        let rests = self.seen.as_ref() == Some(&sites);
        let is_new = self.compared.as_ref() != Some(&sites);
        self.seen = Some(sites);
        (rests && is_new) || now >= self.latest
    }

    /// Notes that a comparison of this duration has found differences, and sets the pause until the next.
    fn found(&mut self, took: Duration, now: Instant) {
        self.compared.clone_from(&self.seen);
        self.pause = (self.pause * 2).min(COMPARE_EVERY).max(took * PAUSES);
        self.latest = now + self.pause;
    }
}

impl Wait<'_> {
    /// Finds what is left to wait for.
    async fn look(&mut self) -> Result<Vec<String>, EngineError> {
        let (rows, sites, under_way) = self.background().await?;
        if !under_way.is_empty() || self.goal == Goal::Idle {
            return Ok(under_way);
        }
        let hosts = rows.iter().map(|row| row.settings.host.clone()).collect();
        let unsettled = self.target.reconciler.unsettled_sites(&hosts).await?;
        if !unsettled.is_empty() {
            let unsettled_site = |host: &str| format!("{host}: its settings are being applied");
            return Ok(unsettled.into_iter().map(unsettled_site).collect());
        }
        if !self.pace.is_time(sites, Instant::now()) {
            return Ok(self.last_left.clone());
        }
        tokio::time::sleep_until(self.begun + SCAN_AFTER).await;
        let began = Instant::now();
        let left = self.differences().await?;
        if !left.is_empty() {
            self.pace.found(began.elapsed(), Instant::now());
            self.last_left.clone_from(&left);
            return Ok(left);
        }
        // While a site is scanned, its pages are not compared.
        let (rows_by_now, _, under_way) = self.background().await?;
        let is_same = rows.len() == rows_by_now.len()
            && rows.iter().zip(&rows_by_now).all(|(before, now)| {
                (before.epoch, before.version, before.hold) == (now.epoch, now.version, now.hold)
            });
        if is_same && under_way.is_empty() {
            return Ok(Vec::new());
        }
        (self.stage, self.left) = (Stage::BEGINNING, None);
        Ok(match under_way.is_empty() {
            true => vec!["a site's settings changed in the meantime".to_owned()],
            false => under_way,
        })
    }

    /// Reads the rows of the sites, their state, and the work in the background.
    async fn background(&self) -> Result<(Vec<SiteRow>, Vec<Site>, Vec<String>), EngineError> {
        let table = &self.target.reconciler.table;
        let what = Look {
            site: self.site.map(str::to_owned),
            clock: false,
        };
        let status = look(self.target, &what).await?;
        let mut under_way = status.under_way();
        let mut rows = Vec::new();
        for site in &status.sites {
            rows.extend(table.site(&site.host).await?);
        }
        if let Some(host) = self.site.filter(|_| rows.is_empty()) {
            under_way.push(format!("{host}: it is not known as a site"));
        }
        Ok((rows, status.sites, under_way))
    }

    /// Finds the differences of the first stage that has any.
    async fn differences(&mut self) -> Result<Vec<String>, EngineError> {
        loop {
            let found = match self.stage {
                Stage::Pages(_) => self.pages().await?,
                Stage::Sitemaps | Stage::Files => self.files().await?,
            };
            let is_file = |finding: &&Finding| is_beside_sitemaps(finding);
            let of = |findings: Vec<&Finding>| findings.into_iter().map(subject).collect::<Names>();
            let now = match self.stage {
                Stage::Pages(_) => of(found.iter().collect()),
                Stage::Sitemaps => of(found.iter().filter(|found| !is_file(found)).collect()),
                Stage::Files => of(found.iter().filter(is_file).collect()),
            };
            let is_clean = self.left.is_none() && now.is_empty();
            let left = still(self.left.take(), now);
            if !left.is_empty() {
                let described = with_problems(&left, &found);
                self.left = Some(left);
                return Ok(described);
            }
            self.stage = match self.stage {
                Stage::Pages(times) if !is_clean && times + 1 < GENERATIONS => {
                    Stage::Pages(times + 1)
                }
                Stage::Pages(_) => Stage::Sitemaps,
                Stage::Sitemaps => {
                    // They were looked at behind the sitemaps.
                    let files = of(found.iter().filter(is_file).collect());
                    let described = with_problems(&files, &found);
                    self.left = Some(files);
                    self.stage = Stage::Files;
                    return Ok(described);
                }
                Stage::Files => return Ok(Vec::new()),
            };
        }
    }

    /// Finds what is wrong with pages at this moment.
    async fn pages(&mut self) -> Result<Vec<Finding>, EngineError> {
        let env = &self.target.reconciler.env;
        let mut progress = sifting(env.now(), env.token());
        let mut found = self.pass(&mut progress, true).await?;
        if let Some(site) = self.site.filter(|_| !found.is_empty()) {
            let of_records = found.iter().filter(|finding| is_of_record(finding));
            let ids: Names = of_records.map(subject).collect();
            let ids: Vec<String> = ids.into_iter().collect();
            let records = self.target.reconciler.content.records(&ids).await?;
            let hosts = all_sites(&*self.target.objects).await?;
            found.retain(|finding| concerns(finding, site, &records, &hosts));
        }
        Ok(found)
    }

    /// Finds what is wrong with files at this moment. Of each site the sitemaps come first.
    async fn files(&mut self) -> Result<Vec<Finding>, EngineError> {
        let mut progress = beginning(self.target.reconciler.env.now());
        let after = self.site.map(|host| {
            progress.sites.insert(host.to_owned());
            (host.to_owned(), String::new())
        });
        progress.step = Some(AuditStep::Objects { after });
        self.pass(&mut progress, false).await
    }

    /// Runs a pass of the audit over pages or files, and returns what is wrong at this moment.
    async fn pass(
        &mut self,
        progress: &mut AuditProgress,
        pages: bool,
    ) -> Result<Vec<Finding>, EngineError> {
        let audit = Audit {
            reconciler: &self.target.reconciler,
            objects: &*self.target.objects,
            repair: false,
            second_look: Duration::ZERO,
        };
        let mut found = Vec::new();
        let mut comparing = Comparing::new(self.target, "waiting until published: ");
        loop {
            match &progress.step {
                None => break,
                Some(AuditStep::Objects { .. }) if pages => break,
                Some(_) => {
                    let page = comparing.page(&audit, progress, &mut self.progress);
                    found.extend(page.await?);
                }
            }
        }
        found.retain(|finding| !finding.problem.is_harmless());
        Ok(found)
    }
}

fn is_of_record(finding: &Finding) -> bool {
    matches!(
        finding.problem,
        Problem::RecordBehind | Problem::RecordUnseen | Problem::RowLost
    )
}

/// Returns whether a finding about a page may be one of the site that is waited for.
fn concerns(
    finding: &Finding,
    site: &str,
    records: &BTreeMap<String, ContentRecord>,
    hosts: &[String],
) -> bool {
    if is_of_record(finding) {
        let id = subject(finding);
        if let Some(host) = host_of_site_id(&id) {
            return host == site;
        }
        // Of one that is gone by now nobody knows.
        return records.get(&id).is_none_or(|record| record.site == site);
    }
    // A row of another site's names that. A ledger names none.
    let mut parts = finding.what.split(['#', '/', ' ']);
    let is_other = |part: &str| part != site && hosts.iter().any(|host| host == part);
    !parts.any(is_other)
}

/// Returns what has differed so far and still does. If something differs for the first time after a look, it was the same at that look
/// and has changed since.
fn still(before: Option<Names>, now: Names) -> Names {
    match before {
        Some(before) => before.intersection(&now).cloned().collect(),
        None => now,
    }
}

/// Returns what a finding is about: of a page's parts the page.
fn subject(finding: &Finding) -> String {
    keys::page_parts(&finding.what).0.to_owned()
}

fn is_beside_sitemaps(finding: &Finding) -> bool {
    let key = ObjectKey::from_path(&finding.what);
    key.is_some_and(|key| !matches!(key, ObjectKey::Shard { .. }))
}

/// Formats what is left, with the problem as it is now.
fn with_problems(left: &Names, found: &[Finding]) -> Vec<String> {
    let with_problem = |what: &String| {
        let finding = found.iter().find(|finding| subject(finding) == *what);
        let problem = finding.map_or("", |finding| finding.problem.name());
        format!("{what}: {problem}")
    };
    left.iter().map(with_problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::State;

    fn names(names: &[&str]) -> Names {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_comparison_waits_until_the_sites_rest_but_not_for_ever() {
        let sites = |urls: u64| {
            vec![Site {
                host: "www.example.com".to_owned(),
                state: State::Live,
                sitemaps: 1,
                others: 0,
                urls,
                last_published: None,
                next_by_clock: None,
                publication: None,
                problems: Vec::new(),
                indexnow: None,
            }]
        };
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        let at = |seconds: u32| begun + second * seconds;
        let mut pace = Pace::new(begun);
        // A busy site.
        for now in 0..60 {
            assert!(!pace.is_time(sites(now), at(now as u32)), "{now}");
        }
        assert!(pace.is_time(sites(60), at(60)));
        pace.found(second, at(61));
        // Nothing seems to change: four seconds later, and then ever later.
        for (now, expected) in [(62, false), (64, false), (65, true)] {
            assert_eq!(pace.is_time(sites(60), at(now)), expected, "{now}");
        }
        pace.found(second / 100, at(65));
        assert!(!pace.is_time(sites(60), at(72)));
        assert!(pace.is_time(sites(60), at(73)));
        pace.found(second / 100, at(73));
        // What has changed rests by now.
        assert!(!pace.is_time(sites(61), at(74)));
        assert!(pace.is_time(sites(61), at(75)));
        for _ in 0..9 {
            pace.found(second / 100, at(75));
        }
        assert_eq!(pace.latest, at(75) + COMPARE_EVERY);
        pace.found(COMPARE_EVERY, at(75));
        assert_eq!(pace.latest, at(75) + COMPARE_EVERY * PAUSES);
    }

    #[test]
    fn what_differs_later_is_not_waited_for() {
        let first = still(None, names(&["a", "b"]));
        assert_eq!(first, names(&["a", "b"]));
        let second = still(Some(first), names(&["b", "c"]));
        assert_eq!(second, names(&["b"]));
        assert_eq!(still(Some(second), names(&["a", "c"])), names(&[]));
    }

    #[test]
    fn what_differs_on_another_site_is_not_waited_for() {
        let hosts = ["a.example", "b.example"].map(str::to_owned);
        let records = BTreeMap::new();
        for (problem, what, expected) in [
            (Problem::RecordUnseen, "site/a.example", true),
            (Problem::RecordUnseen, "site/b.example", false),
            (Problem::RecordGone, "post/a", true),
            (Problem::RowLost, "post/a", true),
            (Problem::RowStray, "SEGMENT#a.example#post#1#0 00001", true),
            (Problem::RowStray, "SEGMENT#b.example#post#1#0 00001", false),
        ] {
            let finding = Finding {
                problem,
                what: what.to_owned(),
                detail: String::new(),
            };
            let found = concerns(&finding, "a.example", &records, &hosts);
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn a_finding_is_about_a_page_or_a_file() {
        let finding = |what: &str| Finding {
            problem: Problem::RecordBehind,
            what: what.to_owned(),
            detail: String::new(),
        };
        let part = finding(&keys::page("post/a", 2));
        assert_eq!(subject(&part), "post/a");
        assert_eq!(
            with_problems(&names(&["post/a"]), &[part]),
            ["post/a: record_behind"]
        );
        for (what, expected) in [
            ("published/www.a.example/post-sitemap.xml", false),
            ("published/www.a.example/sitemap_index.xml", true),
            ("published/www.a.example/robots.txt", true),
            ("www.a.example/post", false),
        ] {
            assert_eq!(is_beside_sitemaps(&finding(what)), expected, "{what}");
        }
    }
}
