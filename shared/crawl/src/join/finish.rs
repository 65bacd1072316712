//! The merge: reads the sorter once, and makes the report.

use std::collections::BTreeMap;
use std::io;

use check::listing::sort::Sorted;
use sitemap::time::When;

use crate::address;
use crate::bots::{BotId, Bots, OLD_AFTER_DAYS};
use crate::join::Join;
use crate::join::counted::{Counted, DAY, OfDay};
use crate::join::documents::Documents;
use crate::join::page::{Page, monday, week_of};
use crate::join::record::Record;
use crate::join::unlisted::{Counts, Most};
use crate::report::{
    Asked, BotRow, Day, Document, Failure, Listing, Logs, Report, Row, WINDOW_DAYS, Week,
};
use crate::tally::Tally;

/// Directories with a row of their own. The rest have one together.
const MAX_DIRECTORIES: usize = 50;

/// The part of a window that a log must have. The files of a week begin and end with a request, not at midnight.
const WHOLE_PERCENT: i64 = 98;

/// What became of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is listed, and was never fetched.
    Never,
    /// It is listed, and was not fetched since its last change.
    Stale,
    /// Its last answer was 404 or 410, listed or not.
    Gone,
    /// It is listed, and was fetched since its last change.
    Fresh,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    /// The sorter's file failed.
    #[error(transparent)]
    Sort(io::Error),
    /// `take` failed.
    #[error(transparent)]
    Take(io::Error),
}

/// All tallies.
struct Tallies<'b> {
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

/// Tallies by directory. They come in order, so only the largest are kept.
#[derive(Default)]
struct Directories {
    now: Option<(String, Tally)>,
    kept: Vec<(String, Tally)>,
    rest: Tally,
    others: u64,
}

impl Directories {
    fn tally(&mut self, host: &[u8], directory: &[u8], with_host: bool) -> &mut Tally {
        let is_it = |name: &str| match with_host {
            true => name.as_bytes().strip_prefix(host) == Some(directory),
            false => name.as_bytes() == directory,
        };
        if !self.now.as_ref().is_some_and(|(name, _)| is_it(name)) {
            self.put();
            let mut name = String::new();
            if with_host {
                name.push_str(&String::from_utf8_lossy(host));
            }
            name.push_str(&String::from_utf8_lossy(directory));
            // Pages of the root come between those of directories.
            let known = self.kept.iter().position(|(known, _)| *known == name);
            let known = known.map(|at| self.kept.swap_remove(at));
            self.now = Some(known.unwrap_or((name, Tally::default())));
        }
        let (_, tally) = self.now.get_or_insert_default();
        tally
    }

    fn put(&mut self) {
        self.kept.extend(self.now.take());
        if self.kept.len() >= 2 * MAX_DIRECTORIES {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let by_pages =
            |(name, tally): &(String, Tally)| (std::cmp::Reverse(tally.listed()), name.clone());
        self.kept.sort_by_key(by_pages);
        let kept = self.kept.len().min(MAX_DIRECTORIES);
        for (_, tally) in self.kept.drain(kept..) {
            self.rest.merge(&tally);
            self.others += 1;
        }
    }
}

impl Join {
    /// Joins what was taken. `listing`: what the user named. Calls `take` with each address and its last change, in the order of the
    /// addresses, also with those that are not listed and gone.
    ///
    /// # Errors
    ///
    /// If the sorter's file cannot be read, or `take` fails.
    pub fn finish(
        mut self,
        listing: String,
        mut take: impl FnMut(&str, State, Option<i64>) -> io::Result<()>,
    ) -> Result<Report, FinishError> {
        self.documents.finish();
        let log = (
            self.counted.first.unwrap_or_default(),
            self.counted.last.unwrap_or_default(),
        );
        let mut tallies = Tallies {
            bots: &self.bots,
            windows: WINDOW_DAYS.map(|days| log.1 - i64::from(days) * DAY),
            is_known: WINDOW_DAYS
                .map(|days| (log.1 - log.0) * 100 >= i64::from(days) * DAY * WHOLE_PERCENT),
            total: Tally::default(),
            of_bots: BTreeMap::new(),
            of_sitemaps: BTreeMap::new(),
            directories: Directories::default(),
            failures: BTreeMap::new(),
            weeks: BTreeMap::new(),
            cut: 0,
            later: 0,
        };
        let with_host = self.hosts.len() > 1;
        let mut sorted = self.sorter.finish().map_err(FinishError::Sort)?;
        let mut merge = Merge::default();
        let mut unlisted = Counts::default();
        loop {
            let is_left = merge.next(&mut sorted, log, &self.documents);
            if !is_left.map_err(FinishError::Sort)? {
                break;
            }
            let key = &merge.key[..];
            let is_listed = !merge.page.sitemaps.is_empty();
            let reason = merge.reason.and_then(|at| self.reasons.get(at as usize));
            unlisted.next(key, is_listed, reason.map(String::as_str), merge.fetches);
            let scheme = match self.hosts.get(address::host(key)) {
                Some(true) => "http",
                _ => "https",
            };
            if is_listed && !merge.is_cut {
                tallies.add(&merge.page, key, scheme, with_host, log.1);
            }
            tallies.cut += u64::from(is_listed && merge.is_cut);
            if let Some(state) = merge.state(is_listed) {
                let address = with_scheme(scheme, key, is_listed);
                take(&address, state, merge.page.changed).map_err(FinishError::Take)?;
            }
        }
        let mut report = tallies.report(&mut self.counted, &self.documents);
        report.listing.name = listing;
        let dated = When::parse(self.bots.addresses_date()).map(When::seconds);
        let old = self.now - i64::from(OLD_AFTER_DAYS) * DAY;
        if dated.is_ok_and(|dated| dated < old) {
            report.notes.push(format!(
                "The lists of bots' addresses are of {}: what looks like an impostor may have a newer address. --bots reads newer \
                 lists.",
                self.bots.addresses_date()
            ));
        }
        report.unlisted = unlisted.finish();
        if self.not_addresses > 0 {
            report.notes.push(format!(
                "{} listed texts are not addresses, and were left out.",
                self.not_addresses
            ));
        }
        Ok(report)
    }
}

fn with_scheme(scheme: &str, key: &[u8], with_query: bool) -> String {
    let shown = address::shown(key, with_query);
    match shown.strip_prefix("https") {
        Some(rest) => format!("{scheme}{rest}"),
        None => shown,
    }
}

/// The address that the merge is at.
#[derive(Default)]
struct Merge {
    key: Vec<u8>,
    page: Page,
    reason: Option<u32>,
    fetches: u64,
    last_status: Option<u16>,
    /// The log shows only how the address begins, and no request for all of it.
    is_cut: bool,
    /// Begins of addresses that the log cut, each within the one before.
    begins: Vec<Vec<u8>>,
    /// Whether a record of the next address was read already.
    is_ahead: bool,
    ahead: Vec<u8>,
}

impl Merge {
    /// Reads all of the next address. Returns `false` at the end.
    fn next(
        &mut self,
        sorted: &mut Sorted,
        log: (i64, i64),
        documents: &Documents,
    ) -> io::Result<bool> {
        let first = match std::mem::take(&mut self.is_ahead) {
            true => Some(std::mem::take(&mut self.ahead)),
            false => sorted.next()?.map(<[u8]>::to_vec),
        };
        let damaged = || io::Error::other("a sorted record is damaged");
        let Some(first) = first else {
            return Ok(false);
        };
        let (key, mut record) = Record::read(&first).ok_or_else(damaged)?;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.page.clear();
        (self.reason, self.fetches, self.last_status) = (None, 0, None);
        let (mut has_begun, mut was_asked_for) = (false, false);
        while self
            .begins
            .last()
            .is_some_and(|begin| !self.key.starts_with(begin))
        {
            self.begins.pop();
        }
        loop {
            match record {
                Record::Listed(sitemap, change) => self.page.listed(sitemap, change),
                Record::Excluded(reason) => self.reason = Some(reason),
                Record::Cut => {
                    // In the middle of a path the key has an empty query, which the whole address need not have.
                    let begin = self
                        .key
                        .strip_suffix(&[address::SEPARATOR])
                        .unwrap_or(&self.key);
                    if self.begins.last().map(Vec::as_slice) != Some(begin) {
                        self.begins.push(begin.to_vec());
                    }
                }
                Record::Hit(hit) => {
                    if !has_begun {
                        self.page.begin(log, documents);
                        has_begun = true;
                    }
                    was_asked_for = true;
                    self.fetches += u64::from(hit.is_fetch());
                    if hit.is_get {
                        self.last_status = Some(hit.status);
                    }
                    if !self.page.sitemaps.is_empty() {
                        self.page.hit(&hit);
                    }
                }
            }
            let Some(bytes) = sorted.next()? else { break };
            let (key, next) = Record::read(bytes).ok_or_else(damaged)?;
            if key != self.key {
                self.ahead.clear();
                self.ahead.extend_from_slice(bytes);
                self.is_ahead = true;
                break;
            }
            record = next;
        }
        if !has_begun {
            self.page.begin(log, documents);
        }
        self.is_cut = !was_asked_for && !self.begins.is_empty();
        Ok(true)
    }

    fn state(&self, is_listed: bool) -> Option<State> {
        if matches!(self.last_status, Some(404 | 410)) {
            return Some(State::Gone);
        }
        if !is_listed || self.is_cut {
            return None;
        }
        Some(match (self.page.any().last, self.page.changed) {
            (None, _) => State::Never,
            (Some(last), Some(changed)) if last < changed => State::Stale,
            (Some(_), _) => State::Fresh,
        })
    }
}

impl Tallies<'_> {
    fn add(&mut self, page: &Page, key: &[u8], scheme: &str, with_host: bool, end: i64) {
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

    fn report(mut self, counted: &mut Counted, documents: &Documents) -> Report {
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

/// Returns the days and weeks of the log, and how many days between its first and its last have no line.
fn calendar(
    days: &BTreeMap<i64, OfDay>,
    order: &[BotId],
    pages: &BTreeMap<i64, u64>,
    first: Option<i64>,
    last: Option<i64>,
) -> (Vec<Day>, Vec<Week>, u64) {
    let (Some(first), Some(last)) = (first, last) else {
        return (Vec::new(), Vec::new(), 0);
    };
    let mut weeks = BTreeMap::<i64, u64>::new();
    let mut found = Vec::with_capacity(days.len());
    for (day, counts) in days {
        let requests = order
            .iter()
            .map(|bot| counts.requests.get(bot).copied().unwrap_or_default());
        let requests: Vec<u64> = requests.collect();
        *weeks.entry(week_of(*day)).or_default() += requests.iter().sum::<u64>();
        found.push(Day {
            day: day * DAY,
            requests,
        });
    }
    let weeks = weeks.into_iter().map(|(week, requests)| {
        let begin = monday(week) * DAY;
        Week {
            week: begin,
            is_whole: begin >= first && begin + 7 * DAY <= last,
            pages: pages.get(&week).copied().unwrap_or_default(),
            requests,
        }
    });
    let all = last.div_euclid(DAY) - first.div_euclid(DAY) + 1;
    let gaps = u64::try_from(all).unwrap_or_default() - days.len() as u64;
    (found, weeks.collect(), gaps)
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

/// Returns the name of a sitemap without folder, number and extension: what all sitemaps of a type have in common.
fn type_of(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let name = name.split('?').next().unwrap_or(name);
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let name = [".xml", ".txt", ".rss", ".atom"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    let short = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    match short.trim_end_matches(['-', '_', '.']) {
        "" => name,
        short => short,
    }
}

/// Returns a name so that 2 comes before 10.
fn natural(name: &str) -> Vec<(u64, &str)> {
    let mut parts = Vec::new();
    for part in name.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let end = part
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
        let (number, text) = part.split_at(part.len() - end);
        parts.push((number.parse().unwrap_or_default(), text));
    }
    parts
}
