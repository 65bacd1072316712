//! `waymark status`: the state of each site, its problems, and the work in the background.
//!
//! It reads what the functions note of their own work: of each site its row, a row for each sitemap and the list of its files. So
//! its cost follows the number of sites and sitemaps, and not that of pages. What no row says, it does not say: how far `ingest`
//! is behind the content table is known to Lambda alone.

use std::collections::BTreeSet;

use engine::error::EngineError;
use engine::keys::Mark;
use futures::{StreamExt, TryStreamExt, stream};
use objects::all_sites;
use serde::Serialize;
use sitemap::time::When;

use crate::deployment::target::Target;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::text::{Text, Tone, counted};

pub mod clock;
pub(crate) mod command;
pub mod exclusions;
mod scans;
mod site;
pub mod wait;

use clock::READS;
pub use scans::{Scan, SiteScan};
pub use site::{IndexNow, Paused, Refusal, Sent, SettingProblem, Site, State};

/// Scans of sites that are shown.
const SCANS: u32 = 100;
/// Batches in the failure bucket that are counted: a page of S3's listing.
pub const FAILURES: u64 = 1_000;

/// What a deployment is at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// When it was looked at.
    pub at: When,
    /// Its sites, by host: those that have something published or are scanned.
    pub sites: Vec<Site>,
    /// Whether nothing goes on in the background, as far as the tables show.
    pub idle: bool,
    /// How far the scan of all content is; `null` without one.
    pub content_scan: Option<Scan>,
    /// How far the scans of sites are, by host.
    pub site_scans: Vec<SiteScan>,
    /// Whether there are more scans of sites than these.
    pub more_site_scans: bool,
    /// Whether more pages are due by the clock than one look at it handles.
    pub more_are_due: bool,
    /// Batches in the failure bucket, up to [`FAILURES`]; `null` where there is none, or if it may not be listed.
    pub failures_waiting: Option<u64>,
}

/// What is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// This site alone.
    pub site: Option<String>,
    /// Also what changes next by the clock: some queries for each hour of a day.
    pub clock: bool,
}

/// Reads each published site's state, and how far scans are.
///
/// # Errors
///
/// If a table or the bucket fails.
pub async fn status(target: &Target) -> Result<Status, EngineError> {
    look(target, &Look::default()).await
}

/// Reads the state of a deployment. It has no site if no site has the name in `look`.
///
/// # Errors
///
/// If a table or the bucket fails.
pub async fn look(target: &Target, look: &Look) -> Result<Status, EngineError> {
    let table = &target.reconciler.table;
    let content = table.content_scan().await?;
    let mut scans = match &look.site {
        Some(host) => {
            let scan = match table.site_scan(host).await {
                Err(error @ EngineError::Damaged { .. }) => Some(Err(error)),
                scan => scan?.map(Ok),
            };
            scan.map(|scan| (host.clone(), scan)).into_iter().collect()
        }
        None => table.site_scans(None, SCANS + 1).await?,
    };
    let more_site_scans = scans.len() > SCANS as usize;
    scans.truncate(SCANS as usize);
    let mut hosts: BTreeSet<String> = match &look.site {
        None => all_sites(&*target.objects).await?.into_iter().collect(),
        Some(host) => {
            let is_known =
                table.site(host).await?.is_some() || target.objects.last_put(host).await?.is_some();
            is_known.then(|| host.clone()).into_iter().collect()
        }
    };
    hosts.extend(scans.iter().map(|(host, _)| host.clone()));
    let marks = table.marks(Mark::Notices).await?;
    let marked: BTreeSet<&str> = marks.iter().map(|marked| marked.site.as_str()).collect();
    let mut due = match look.clock {
        true => clock::next(target, &hosts).await?,
        false => Default::default(),
    };
    let total = hosts.len();
    let begin = || {
        Progress::begin(
            "looking at sites",
            Unit::Things("sites"),
            Some(total as u64),
        )
    };
    // A few are there at once.
    let mut progress = (total > READS).then(begin);
    let whats = hosts.into_iter().map(|host| {
        let is_marked = marked.contains(host.as_str());
        let due = due.remove(&host);
        (host, is_marked, due)
    });
    let whats: Vec<_> = whats.collect();
    let sites = stream::iter(whats).map(async |(host, is_marked, due)| {
        let site = Site::of(target, host, is_marked, due);
        site.await
    });
    let mut sites = std::pin::pin!(sites.buffered(READS));
    let mut looked_at = Vec::new();
    while let Some(site) = sites.try_next().await? {
        looked_at.push(site);
        if let Some(progress) = &mut progress {
            progress.reach(looked_at.len() as u64);
        }
    }
    drop(progress);
    let scans = scans
        .into_iter()
        .map(|(host, scan)| scans::site_scan(host, scan));
    let mut status = Status {
        at: When::at(target.reconciler.env.now()),
        sites: looked_at,
        idle: false,
        content_scan: content.as_ref().and_then(scans::content_scan),
        site_scans: scans.collect(),
        more_site_scans,
        more_are_due: table.is_ringing().await?,
        failures_waiting: None,
    };
    status.idle = status.under_way().is_empty();
    Ok(status)
}

impl Status {
    /// Formats the work in the background in words.
    #[must_use]
    pub fn under_way(&self) -> Vec<String> {
        let mut what = Vec::new();
        if let Some(scan) = &self.content_scan {
            what.push(format!("scan of all content: {}", scan.said()));
        }
        let scans = self.site_scans.iter();
        what.extend(scans.map(|scan| format!("scan of {}: {}", scan.host, scan.said)));
        if self.more_site_scans {
            what.push(format!(
                "more than {SCANS} scans of sites: these are the first"
            ));
        }
        let is_held = |site: &&Site| matches!(site.state, State::Loading | State::Publishing);
        let is_scanned = |site: &&Site| self.site_scans.iter().any(|scan| scan.host == site.host);
        let held = self.sites.iter().filter(is_held);
        let held = held.filter(|site| !is_scanned(site));
        what.extend(held.map(|site| format!("first load of {}: waiting for a scan", site.host)));
        if self.more_are_due {
            what.push("pages that are due by the clock".to_owned());
        }
        what
    }

    /// Returns in words what a person must handle: problems of settings, refusals of IndexNow, rows that cannot be read, batches in the
    /// failure bucket.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let sites = self.sites.iter().filter(|site| site.is_bad());
        let mut problems: Vec<String> = sites.map(|site| site.host.clone()).collect();
        let scans = self.site_scans.iter().filter(|scan| scan.error.is_some());
        problems.extend(scans.map(|scan| format!("the scan of {}", scan.host)));
        if self.failures_waiting.is_some_and(|waiting| waiting > 0) {
            problems.push("the failure bucket".to_owned());
        }
        problems
    }

    /// Takes over from an earlier look what changes next by the clock, as far as it has not come yet.
    pub fn remember_clock(&mut self, before: &Self) {
        for site in &mut self.sites {
            let mut known = before.sites.iter();
            let known = known.find(|known| known.host == site.host);
            let due = known.and_then(|known| known.next_by_clock.clone());
            site.next_by_clock = due.filter(|due| due.at > self.at);
        }
    }

    /// Formats the status as lines for people.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        for site in &self.sites {
            site.write(&mut text, self.at.seconds());
        }
        let under_way = self.under_way();
        if under_way.is_empty() {
            text.line("background: idle");
        }
        for what in under_way {
            text.toned(Tone::Notable, what);
        }
        if let Some(waiting) = self.failures_waiting {
            let tone = if waiting == 0 { Tone::Good } else { Tone::Bad };
            text.toned(tone, format!("failures waiting: {}", of_failures(waiting)));
        }
        text
    }

    /// Formats the status as one line, for a log.
    #[must_use]
    pub fn line(&self) -> String {
        let count = |state: State| self.sites.iter().filter(|site| site.state == state).count();
        let states = [
            (State::Live, "live"),
            (State::Loading, "loading"),
            (State::Publishing, "publishing"),
            (State::Private, "private"),
            (State::Unknown, "no longer known"),
        ];
        let states = states.map(|(state, name)| (count(state), name));
        let states = states.iter().filter(|(count, _)| *count > 0);
        let states: Vec<String> = states
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        let sites = match states.as_slice() {
            [] => "no site".to_owned(),
            states => format!("sites: {}", states.join(", ")),
        };
        let sitemaps = counted(self.sites.iter().map(|site| site.sitemaps).sum(), "sitemap");
        let urls = counted(self.sites.iter().map(|site| site.urls).sum(), "URL");
        let background = match self.under_way().as_slice() {
            [] => "idle".to_owned(),
            under_way => under_way.join("; "),
        };
        let mut line = format!(
            "{} {sites}; {sitemaps}, {urls}; background: {background}",
            self.at
        );
        if let Some(waiting) = self.failures_waiting {
            line += &format!("; failures waiting: {}", of_failures(waiting));
        }
        line
    }
}

fn of_failures(waiting: u64) -> String {
    match waiting {
        FAILURES.. => format!("{FAILURES} or more"),
        waiting => waiting.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use engine::rows::scan::{ContentScan, Pass, Step};
    use serde_json::json;

    use super::clock::ago;
    use super::*;

    fn status() -> Status {
        let content = ContentScan {
            pass: Some(Pass {
                revision: String::new(),
                step: Step::Content {
                    after: Some("post/7".to_owned()),
                },
                records: 7,
                at: 0,
            }),
            ..ContentScan::default()
        };
        Status {
            at: When::at(60),
            sites: vec![Site {
                host: "www.example.com".to_owned(),
                state: State::Live,
                sitemaps: 2,
                others: 1,
                urls: 1_500,
                last_published: Some(When::at(0)),
                next_by_clock: Some(clock::Due {
                    at: When::at(0),
                    pages: 2,
                    more: false,
                }),
                publication: None,
                problems: vec![SettingProblem {
                    field: "public".to_owned(),
                    reason: "not a boolean".to_owned(),
                }],
                indexnow: Some(IndexNow {
                    waiting: 14,
                    more_waiting: false,
                    sent: Some(Sent {
                        urls: 5,
                        at: When::at(0),
                    }),
                    refused: Some(Refusal {
                        urls: 3,
                        at: When::at(0),
                        status: 403,
                        reason: "the key".to_owned(),
                    }),
                    paused: None,
                }),
            }],
            idle: false,
            content_scan: scans::content_scan(&content),
            site_scans: Vec::new(),
            more_site_scans: false,
            more_are_due: false,
            failures_waiting: Some(0),
        }
    }

    #[test]
    fn the_json_has_the_documented_shape() {
        let zero = "1970-01-01T00:00:00+00:00";
        let expected = json!({
            "at": "1970-01-01T00:01:00+00:00",
            "sites": [{
                "host": "www.example.com",
                "state": "live",
                "sitemaps": 2,
                "others": 1,
                "urls": 1_500,
                "last_published": zero,
                "next_by_clock": {"at": zero, "pages": 2, "more": false},
                "publication": null,
                "problems": [{"field": "public", "reason": "not a boolean"}],
                "indexnow": {
                    "waiting": 14,
                    "more_waiting": false,
                    "sent": {"urls": 5, "at": zero},
                    "refused": {"urls": 3, "at": zero, "status": 403, "reason": "the key"},
                    "paused": null,
                },
            }],
            "idle": false,
            "content_scan": {"step": "reading", "records": 7, "last": "post/7", "at": zero},
            "site_scans": [],
            "more_site_scans": false,
            "more_are_due": false,
            "failures_waiting": 0,
        });
        assert_eq!(serde_json::to_value(status()).unwrap(), expected);
    }

    #[test]
    fn a_line_has_the_sums_and_what_goes_on() {
        let mut status = status();
        let scan = "scan of all content: 7 records processed, the last is post/7, at 1970-01-01T00:00:00+00:00";
        assert_eq!(
            status.line(),
            format!(
                "1970-01-01T00:01:00+00:00 sites: 1 live; 2 sitemaps, 1,500 URLs; background: {scan}; failures waiting: 0"
            )
        );
        assert_eq!(status.problems(), ["www.example.com"]);
        status.content_scan = None;
        status.failures_waiting = Some(FAILURES);
        status.sites.clear();
        assert_eq!(
            status.line(),
            "1970-01-01T00:01:00+00:00 no site; 0 sitemaps, 0 URLs; background: idle; failures waiting: 1000 or more"
        );
        assert_eq!(status.problems(), ["the failure bucket"]);
        assert_eq!(
            &*status.text(),
            "background: idle\nfailures waiting: 1000 or more\n"
        );
    }

    #[test]
    fn a_site_on_hold_without_a_scan_is_under_way() {
        let mut status = status();
        status.content_scan = None;
        assert_eq!(status.under_way(), [""; 0]);
        status.sites[0].state = State::Loading;
        status.more_are_due = true;
        let expected = [
            "first load of www.example.com: waiting for a scan",
            "pages that are due by the clock",
        ];
        assert_eq!(status.under_way(), expected);
    }

    #[test]
    fn a_moment_is_told_in_its_unit() {
        for (seconds, expected) in [
            (-5, "0 s ago"),
            (119, "119 s ago"),
            (120, "2 min ago"),
            (7_200, "2 h ago"),
            (172_800, "2 days ago"),
        ] {
            assert_eq!(ago(1_000_000, When::at(1_000_000 - seconds)), expected);
        }
    }
}
