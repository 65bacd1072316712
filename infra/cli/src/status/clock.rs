//! The next changes by the clock alone: the first timers of each site.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use engine::error::EngineError;
use engine::keys::{self, HASH_DIGITS};
use engine::timers::Timer;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use sitemap::time::When;

use crate::deployment::target::Target;

/// Reads at the same time.
pub(super) const READS: usize = 16;

/// Hours that are looked at: sixteen queries each.
pub const HOURS: i64 = 24;
/// Timers that are looked at, each with its record, which says of which site it is.
pub const TIMERS: usize = 400;
/// Timers of one query.
const BATCH: u32 = 25;

/// The next change by the clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Due {
    /// When.
    pub at: When,
    /// Of how many pages.
    pub pages: u64,
    /// Whether it may be of more pages than were counted.
    pub more: bool,
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, pages, more } = self;
        match (pages, more) {
            (1, false) => write!(f, "{at} (1 page)"),
            (pages, false) => write!(f, "{at} ({pages} pages)"),
            (pages, true) => write!(f, "{at} ({pages} or more pages)"),
        }
    }
}

/// Finds the next change of each of these sites, if it is among the first [`TIMERS`] of the next [`HOURS`].
pub(super) async fn next(
    target: &Target,
    sites: &BTreeSet<String>,
) -> Result<BTreeMap<String, Due>, EngineError> {
    let now = target.reconciler.env.now();
    let this_hour = now.div_euclid(3_600);
    let (mut found, mut read) = (BTreeMap::new(), 0);
    for hour in this_hour..=this_hour + HOURS {
        if read >= TIMERS || sites.iter().all(|site| found.contains_key(site)) {
            break;
        }
        let queries = stream::iter(HASH_DIGITS).map(async |digit| {
            let timers = target.reconciler.table.timers(hour, digit, None, BATCH);
            timers.await
        });
        let pages: Vec<Vec<Timer>> = queries.buffer_unordered(READS).try_collect().await?;
        let is_cut = pages.iter().any(|page| page.len() >= BATCH as usize);
        let mut timers: Vec<Timer> = pages.into_iter().flatten().collect();
        timers.retain(|timer| timer.due > now);
        timers.sort_by_key(|timer| timer.due);
        read += timers.len();
        let id = |timer: &Timer| keys::page_parts(&timer.id).0.to_owned();
        let ids: BTreeSet<String> = timers.iter().map(id).collect();
        let ids: Vec<String> = ids.into_iter().collect();
        let records = target.reconciler.content.records(&ids).await?;
        for timer in &timers {
            // A record that is gone by now has no next change.
            let site = records.get(&id(timer)).map(|record| &record.site);
            if let Some(site) = site.filter(|site| sites.contains(*site)) {
                count(&mut found, site, timer.due, is_cut);
            }
        }
    }
    Ok(found)
}

/// Counts a page, of which the earliest are met first.
fn count(found: &mut BTreeMap<String, Due>, site: &str, due: i64, more: bool) {
    let at = When::at(due);
    let due = found
        .entry(site.to_owned())
        .or_insert(Due { at, pages: 0, more });
    if due.at == at {
        due.pages += 1;
    }
}

/// Formats how long ago a moment was.
pub(super) fn ago(now: i64, at: When) -> String {
    match now.saturating_sub(at.seconds()).max(0) {
        seconds @ ..120 => format!("{seconds} s ago"),
        seconds @ ..7_200 => format!("{} min ago", seconds / 60),
        seconds @ ..172_800 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_first_moment_are_counted_by_site() {
        let mut found = BTreeMap::new();
        for (site, due) in [("a", 10), ("b", 10), ("a", 10), ("a", 20)] {
            count(&mut found, site, due, false);
        }
        let texts: Vec<String> = found.values().map(ToString::to_string).collect();
        let at = "1970-01-01T00:00:10+00:00";
        assert_eq!(texts, [format!("{at} (2 pages)"), format!("{at} (1 page)")]);
    }
}
