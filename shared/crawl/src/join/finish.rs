//! The end of a join: reads the sorter once, and makes the report.

use std::collections::BTreeMap;
use std::io;

use sitemap::time::When;

use crate::address;
use crate::bots::OLD_AFTER_DAYS;
use crate::join::Join;
use crate::join::counted::DAY;
use crate::join::directories::Directories;
use crate::join::merge::{Merge, State};
use crate::join::tallies::{Tallies, with_scheme};
use crate::join::unlisted::Counts;
use crate::report::{Report, WINDOW_DAYS};
use crate::tally::Tally;

/// The part of a window that a log must have. The files of a week begin and end with a request, not at midnight.
const WHOLE_PERCENT: i64 = 98;

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
