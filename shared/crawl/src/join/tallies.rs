//! What is counted of all listed pages, and the report of it.

use std::collections::BTreeMap;

use crate::address;
use crate::bots::{BotId, Bots};
use crate::join::calendar::calendar;
use crate::join::counted::Counted;
use crate::join::directories::Directories;
use crate::join::documents::Documents;
use crate::join::names::{natural, type_of};
use crate::join::page::Page;
use crate::join::unlisted::Most;
use crate::report::{Asked, BotRow, Document, Failure, Listing, Logs, Report, Row, WINDOW_DAYS};
use crate::tally::Tally;

/// All tallies.
pub(super) struct Tallies<'b> {
    pub(super) bots: &'b Bots,
    pub(super) windows: [i64; WINDOW_DAYS.len()],
    pub(super) is_known: [bool; WINDOW_DAYS.len()],
    pub(super) total: Tally,
    pub(super) of_bots: BTreeMap<BotId, Tally>,
    pub(super) of_sitemaps: BTreeMap<u32, Tally>,
    pub(super) directories: Directories,
    pub(super) failures: BTreeMap<u16, OfStatus>,
    pub(super) weeks: BTreeMap<i64, u64>,
    /// Pages of which the log shows only how their address begins.
    pub(super) cut: u64,
    /// Pages that changed after the log's end.
    pub(super) later: u64,
}

#[derive(Default)]
pub(super) struct OfStatus {
    requests: u64,
    pages: u64,
    examples: Most,
}

impl Tallies<'_> {
    pub(super) fn add(&mut self, page: &Page, key: &[u8], scheme: &str, with_host: bool, end: i64) {
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
        self.directories
            .tally(host, directory, with_host)
            .add(any, windows);
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
            let shown = || with_scheme(scheme, key, true);
            of_status.examples.add(*requests, shown);
        }
    }

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
        self.directories.put();
        self.directories.shrink();
        let kept = self.directories.kept.iter();
        let mut by_directory: Vec<Row> = kept.map(|(name, tally)| row(name, tally)).collect();
        if self.directories.others > 0 {
            let name = format!("{} other directories", self.directories.others);
            by_directory.push(row(&name, &self.directories.rest));
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
            documents: asked(documents, self.bots),
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

/// Returns who asked for which documents. Sitemaps and robots.txt are among them also if nobody did.
fn asked(documents: &Documents, bots: &Bots) -> Vec<Document> {
    let all = documents.all().iter();
    let all = all.filter(|document| document.is_expected || !document.bots.is_empty());
    let mut found: Vec<Document> = all
        .map(|document| {
            let mut by: Vec<Asked> = document
                .bots
                .iter()
                .map(|(bot, asked)| Asked {
                    bot: bots.bot(*bot).name.clone(),
                    requests: asked.requests,
                    last: asked.last,
                    statuses: asked
                        .statuses
                        .iter()
                        .map(|(&status, &count)| (status, count))
                        .collect(),
                })
                .collect();
            by.sort_by_key(|asked| std::cmp::Reverse(asked.requests));
            Document {
                address: document.name.clone(),
                bots: by,
            }
        })
        .collect();
    found.sort_by(|a, b| natural(&a.address).cmp(&natural(&b.address)));
    found
}

pub(super) fn with_scheme(scheme: &str, key: &[u8], with_query: bool) -> String {
    let shown = address::shown(key, with_query);
    match shown.strip_prefix("https") {
        Some(rest) => format!("{scheme}{rest}"),
        None => shown,
    }
}
