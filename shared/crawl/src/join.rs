//! Takes what is listed and what was asked for, and joins them by address.
//!
//! Both go through one sorter on disk, so that memory grows with neither. A page and the requests for it come out of it one after the
//! other, the requests in the order of their times. What is asked of sitemaps and robots.txt is little, and stays in memory.
//!
//! First everything that is listed is given ([`Join::sitemap`], [`Join::list`], [`Join::exclude`]), because which hosts and documents are
//! the site's own is known from that; then the requests ([`Join::request`]).

mod calendar;
mod counted;
mod directories;
mod documents;
mod merge;
mod names;
mod page;
mod record;
mod tallies;
mod unlisted;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use check::listing::sort::Sorter;
use sitemap::time::When;

use crate::address::{self, Key};
use crate::bots::{BotId, Bots, OLD_AFTER_DAYS, Verdict};
use crate::report::Report;
use crate::request::Request;
use counted::{Counted, DAY};
use documents::Documents;
use merge::Merge;
use record::{Change, Hit, Record};
use tallies::Tallies;
use unlisted::Counts;

pub use merge::State;

/// The memory of the sorter, in bytes.
const SORTER_BYTES: usize = 64 * 1024 * 1024;

/// Seconds by which a log's clock may be ahead of ours.
pub const MAX_AHEAD_SECONDS: i64 = 86_400;

/// Which requests are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Bots. `None` for all.
    pub bots: Option<Vec<BotId>>,
    /// Only requests from addresses that the bot's operator publishes.
    pub verified_only: bool,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is counted.
    Counted,
    /// It is no wanted bot's.
    Other,
    /// It is for another host than those of the listing.
    OtherHost,
    /// Its host is not known: neither its line nor the user says it.
    NoHost,
    /// It asks for no address.
    NoAddress,
    /// Its time is later than now.
    Future,
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

/// Listed pages and requests.
#[derive(Debug)]
pub struct Join {
    bots: Arc<Bots>,
    wanted: Wanted,
    now: i64,
    /// The folder of temporary files.
    folder: PathBuf,
    sorter: Sorter,
    key: Key,
    record: Vec<u8>,
    documents: Documents,
    /// The hosts of listed pages, and whether their pages are listed as `http`.
    hosts: HashMap<Vec<u8>, bool>,
    /// The host of requests whose line has none.
    host: Option<Vec<u8>>,
    /// Why records are not listed.
    reasons: Vec<String>,
    /// Listed texts that are no addresses.
    not_addresses: u64,
    counted: Counted,
}

impl Join {
    /// Creates an empty one, whose sorter writes to `folder`. `now`: seconds since 1970.
    #[must_use]
    pub fn new(bots: Arc<Bots>, wanted: Wanted, folder: &Path, now: i64) -> Self {
        Self {
            bots,
            wanted,
            now,
            folder: folder.to_owned(),
            sorter: Sorter::new(folder, SORTER_BYTES),
            key: Key::default(),
            record: Vec::new(),
            documents: Documents::default(),
            hosts: HashMap::new(),
            host: None,
            reasons: Vec::new(),
            not_addresses: 0,
            counted: Counted::default(),
        }
    }

    /// Returns a number for a sitemap, by an address or the name of a file.
    pub fn sitemap(&mut self, name: &str) -> u32 {
        self.documents.sitemap(name, &mut self.key)
    }

    /// Takes a listed page. `lastmod` may be empty or bad: then it is not known when the page changed.
    ///
    /// # Errors
    ///
    /// If it cannot be sorted.
    pub fn list(&mut self, sitemap: u32, loc: &str, lastmod: &str) -> io::Result<()> {
        let Some(key) = self.key.of_url(loc) else {
            self.not_addresses += 1;
            return Ok(());
        };
        let host = address::host(key);
        if !self.hosts.contains_key(host) {
            self.documents.usual(host);
            self.hosts.insert(host.to_vec(), loc.starts_with("http:"));
        }
        let changed = match When::parse(lastmod) {
            Err(_) => Change::Unknown,
            Ok(when) if when.is_date() => Change::Day(when.seconds()),
            Ok(when) => Change::At(when.seconds()),
        };
        Record::Listed(sitemap, changed).write(key, &mut self.record);
        self.sorter.push(&self.record)
    }

    /// Takes a page that is not listed, and why.
    ///
    /// # Errors
    ///
    /// If it cannot be sorted.
    pub fn exclude(&mut self, loc: &str, reason: &str) -> io::Result<()> {
        let known = self.reasons.iter().position(|known| known == reason);
        let reason = known.unwrap_or_else(|| {
            self.reasons.push(reason.to_owned());
            self.reasons.len() - 1
        });
        let Some(key) = self.key.of_url(loc) else {
            return Ok(());
        };
        Record::Excluded(reason as u32).write(key, &mut self.record);
        self.sorter.push(&self.record)
    }

    /// Returns the folder of temporary files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the hosts of the listed pages.
    pub fn hosts(&self) -> impl Iterator<Item = &[u8]> {
        self.hosts.keys().map(Vec::as_slice)
    }

    /// Says the host of requests whose line has none. Without this it is the listing's, if that has only one.
    pub fn set_host(&mut self, host: &str) {
        self.host = Some(host.as_bytes().to_ascii_lowercase());
    }

    /// Takes a request.
    ///
    /// # Errors
    ///
    /// If it cannot be sorted.
    pub fn request(&mut self, request: &Request<'_>) -> io::Result<Taken> {
        if request.time > self.now + MAX_AHEAD_SECONDS {
            return Ok(Taken::Future);
        }
        self.counted.line(request.time);
        let agent = request.agent.as_deref().unwrap_or_default();
        let Some(bot) = self.bots.named(agent) else {
            return Ok(Taken::Other);
        };
        if !self.is_wanted(bot, request.client) {
            return Ok(Taken::Other);
        }
        let alone = match (&self.host, self.hosts.len()) {
            (None, 1) => self.hosts.keys().next(),
            (host, _) => host.as_ref(),
        };
        let host = request.host.as_deref().or(alone.map(Vec::as_slice));
        let is_path = request.target.starts_with(b"/");
        let Some(key) = self.key.of_target(host, &request.target) else {
            return Ok(match host {
                None if is_path => Taken::NoHost,
                _ => Taken::NoAddress,
            });
        };
        if !self.hosts.contains_key(address::host(key)) {
            return Ok(Taken::OtherHost);
        }
        self.counted.request(bot, request.status);
        let hit = Hit {
            time: request.time,
            bot,
            status: request.status,
            is_get: &*request.method == b"GET",
        };
        if !request.is_cut && self.documents.asked(key, &hit) {
            return Ok(Taken::Counted);
        }
        let record = match request.is_cut {
            true => Record::Cut,
            false => Record::Hit(hit),
        };
        record.write(key, &mut self.record);
        self.sorter.push(&self.record)?;
        Ok(Taken::Counted)
    }

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
        let mut tallies = Tallies::new(&self.bots, log, self.hosts.len() > 1);
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
                tallies.add(&merge.page, key, scheme, log.1);
            } else if is_listed {
                tallies.add_cut();
            }
            if let Some(state) = merge.state(is_listed) {
                let address = address::shown_as(scheme, key, is_listed);
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

    fn is_wanted(&mut self, bot: BotId, client: Option<IpAddr>) -> bool {
        if let Some(bots) = &self.wanted.bots
            && !bots.contains(&bot)
        {
            return false;
        }
        let verdict = self.bots.verdict(bot, client);
        self.counted.verdict(bot, verdict);
        match verdict {
            Verdict::Verified => true,
            Verdict::Impostor => false,
            Verdict::Unverifiable => !self.wanted.verified_only,
        }
    }
}
