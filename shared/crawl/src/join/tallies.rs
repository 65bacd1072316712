//! What is counted of all listed pages, and the report of it.

use std::collections::BTreeMap;

use crate::address;
use crate::bots::{BotId, Bots};
use crate::join::calendar::calendar;
use crate::join::counted::{Counted, DAY};
use crate::join::directories::Directories;
use crate::join::documents::Documents;
use crate::join::names::{natural, type_of};
use crate::join::page::Page;
use crate::join::unlisted::Most;
use crate::report::{BotRow, Failure, Listing, Logs, Report, Row, WINDOW_DAYS};
use crate::tally::Tally;

/// The part of a window that a log must have. The files of a week begin and end with a request, not at midnight.
const WHOLE_PERCENT: i64 = 98;

/// All tallies.
pub(super) struct Tallies<'b> {
    bots: &'b Bots,
    windows: [i64; WINDOW_DAYS.len()],
    is_known: [bool; WINDOW_DAYS.len()],
    total: Tally,
    of_bots: BTreeMap<BotId, Tally>,
    of_sitemaps: BTreeMap<u32, Tally>,
    directories: Directories,
    failures: BTreeMap<u16, OfStatus>,
    weeks: BTreeMap<i64, u64>,
    /// Pages of which the log shows only how their address begins.
    cut: u64,
    /// Pages that changed after the log's end.
    later: u64,
}

#[derive(Default)]
struct OfStatus {
    requests: u64,
    pages: u64,
    examples: Most,
}

impl<'b> Tallies<'b> {
    /// Creates empty ones. `log`: the log's first and last time. `with_host`: whether directories are named with their hosts.
    pub(super) fn new(bots: &'b Bots, log: (i64, i64), with_host: bool) -> Self {
        Self {
            bots,
            windows: WINDOW_DAYS.map(|days| log.1 - i64::from(days) * DAY),
            is_known: WINDOW_DAYS
                .map(|days| (log.1 - log.0) * 100 >= i64::from(days) * DAY * WHOLE_PERCENT),
            total: Tally::default(),
            of_bots: BTreeMap::new(),
            of_sitemaps: BTreeMap::new(),
            directories: Directories::new(with_host),
            failures: BTreeMap::new(),
            weeks: BTreeMap::new(),
            cut: 0,
            later: 0,
        }
    }

    /// Counts a listed page of which the log shows only how its address begins.
    pub(super) fn add_cut(&mut self) {
        self.cut += 1;
    }

    /// Counts a listed page. `end`: the log's last time.
    pub(super) fn add(&mut self, page: &Page, key: &[u8], scheme: &str, end: i64) {
        let (any, windows) = (page.any(), &self.windows);
        self.total.add(any, windows);
        self.later += u64::from(page.changed.is_some_and(|changed| changed > end));
        for sitemap in &page.sitemaps {
            self.of_sitemaps
                .entry(*sitemap)
                .or_default()
                .add(any, windows);
        }
        let host = address::host(key);
        let directory = address::directory(key);
        self.directories.tally(host, directory).add(any, windows);
        for (bot, seen) in page.bots() {
            self.of_bots.entry(bot).or_default().add(seen, windows);
        }
        for week in &page.weeks {
            *self.weeks.entry(*week).or_default() += 1;
        }
        for (status, requests) in &page.failures {
            let of_status = self.failures.entry(*status).or_default();
            of_status.requests += requests;
            of_status.pages += 1;
            let shown = || address::shown_as(scheme, key, true);
            of_status.examples.add(*requests, shown);
        }
    }

    /// Makes the report of what was counted.
    pub(super) fn report(mut self, counted: &mut Counted, documents: &Documents) -> Report {
        let all = self.total.listed();
        let is_known = self.is_known;
        let row = |name: &str, tally: &Tally| tally.row(name.to_owned(), tally.listed(), is_known);
        let mut by_bot: Vec<BotRow> = Vec::new();
        let mut order = Vec::new();
        for (bot, counts) in &counted.bots {
            let named = self.bots.bot(*bot);
            let tally = self.of_bots.remove(bot).unwrap_or_default();
            order.push(*bot);
            by_bot.push(BotRow {
                row: tally.row(named.name.clone(), all, is_known),
                operator: named.operator.clone(),
                purpose: named.purpose.name().to_owned(),
                all_requests: counts.requests,
                verified: counts.verified,
                impostors: counts.impostors,
                unverifiable: counts.unverifiable,
                statuses: counts
                    .statuses
                    .iter()
                    .map(|(&status, &count)| (status, count))
                    .collect(),
            });
        }
        let mut places: Vec<usize> = (0..order.len()).collect();
        places.sort_by_key(|at| std::cmp::Reverse(by_bot[*at].all_requests));
        let order: Vec<BotId> = places.iter().map(|at| order[*at]).collect();
        let by_bot = places.iter().map(|at| by_bot[*at].clone()).collect();
        let (mut by_sitemap, mut types) = (Vec::new(), BTreeMap::<&str, Tally>::new());
        for at in documents.sitemaps() {
            let name = &documents.all()[*at as usize].name;
            let Some(tally) = self.of_sitemaps.get(at) else {
                continue;
            };
            by_sitemap.push(row(name, tally));
            types.entry(type_of(name)).or_default().merge(tally);
        }
        by_sitemap.sort_by(|a, b| natural(&a.name).cmp(&natural(&b.name)));
        let mut by_type: Vec<Row> = types.iter().map(|(name, tally)| row(name, tally)).collect();
        by_type.sort_by_key(|row| std::cmp::Reverse(row.listed));
        let mut by_directory: Vec<Row> = Vec::new();
        let others = self
            .directories
            .finish(|name, tally| by_directory.push(row(name, tally)));
        if let Some((count, tally)) = others {
            by_directory.push(row(&format!("{count} other directories"), &tally));
        }
        let (first, last) = (counted.first, counted.last);
        let (days, weeks, gaps) = calendar(counted.days(), &order, &self.weeks, first, last);
        let failures = self.failures.into_iter().map(|(status, counts)| Failure {
            status,
            requests: counts.requests,
            pages: counts.pages,
            examples: counts.examples.addresses(),
        });
        let mut failures: Vec<Failure> = failures.collect();
        failures.sort_by_key(|failure| std::cmp::Reverse(failure.requests));
        let mut report = Report {
            logs: Logs {
                requests: counted.bots.values().map(|counts| counts.requests).sum(),
                first,
                last,
                ..Logs::default()
            },
            listing: Listing {
                name: String::new(),
                sitemaps: self.of_sitemaps.len() as u64,
                pages: all + self.cut,
            },
            bots: self.bots.source(),
            notes: Vec::new(),
            total: row("all pages", &self.total),
            by_bot,
            by_sitemap,
            by_type,
            by_directory,
            days,
            weeks,
            documents: documents.report(self.bots),
            failures,
            unlisted: Vec::new(),
        };
        notes(
            &mut report,
            self.cut,
            self.later,
            gaps,
            documents.sitemaps_were_asked_for(),
        );
        report
    }
}

/// Says what a reader has to know.
fn notes(report: &mut Report, cut: u64, later: u64, gaps: u64, sitemaps_were_asked_for: bool) {
    let bots = &report.by_bot;
    let mut note = |text: String| report.notes.push(text);
    if cut > 0 {
        note(format!(
            "{cut} pages are in no count but that of all listed pages: the log cuts their addresses."
        ));
    }
    if later > 0 {
        note(format!(
            "{later} pages changed after the end of the log. That they were not fetched since then cannot be in it."
        ));
    }
    if gaps > 0 {
        note(format!(
            "The log has no line for {gaps} whole {} between its first and its last.",
            if gaps == 1 { "day" } else { "days" }
        ));
    }
    let impostors: u64 = bots.iter().map(|bot| bot.impostors).sum();
    if impostors > 0 && bots.iter().all(|bot| bot.verified == 0) {
        note(format!(
            "All {impostors} requests that could be verified come from other addresses than the bots' operators publish. If the log has \
             the address of a proxy or a CDN, have the server write the client's."
        ));
    }
    if !sitemaps_were_asked_for {
        note(
            "No bot asked for one of these sitemaps in this log, so nothing is said of the time since a sitemap was fetched."
                .to_owned(),
        );
    }
}
