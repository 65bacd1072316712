//! Counts of a group of listed pages: a sitemap, a directory, all that one bot fetched.

use crate::report::{LAG_BOUNDS, Lag, Row, WINDOW_DAYS};

/// Buckets for each doubling of a time. A quantile is wrong by at most 3 % of it.
const STEPS: u64 = 16;

/// What is known of one listed page in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The last time that it was answered with 200 or 304.
    pub(crate) last: Option<i64>,
    /// Requests.
    pub(crate) requests: u64,
    /// Requests that were answered with 304.
    pub(crate) not_modified: u64,
    /// Requests that were answered with neither 200 nor 304.
    pub(crate) failed: u64,
    /// Whether its last change is in the log, and after how many seconds it was fetched, if it was.
    pub(crate) from_change: Option<Option<u64>>,
    /// The same from the sitemap's first fetch after that.
    pub(crate) from_sitemap: Option<Option<u64>>,
}

/// Counts of pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    listed: u64,
    fetched: [u64; WINDOW_DAYS.len()],
    ever: u64,
    requests: u64,
    not_modified: u64,
    failed: u64,
    from_change: Lags,
    from_sitemap: Lags,
}

/// Times that something took, in buckets.
#[derive(Clone, Debug, Default)]
struct Lags {
    pages: u64,
    fetched: u64,
    /// By [`bucket`]. It grows with the longest.
    buckets: Vec<u32>,
    distribution: [u64; LAG_BOUNDS.len() + 1],
}

impl Tally {
    /// Counts a page. `windows` are the times from which on a fetch is in each window.
    pub(crate) fn add(&mut self, seen: &Seen, windows: &[i64; WINDOW_DAYS.len()]) {
        self.listed += 1;
        self.requests += seen.requests;
        self.not_modified += seen.not_modified;
        self.failed += seen.failed;
        if let Some(last) = seen.last {
            self.ever += 1;
            for (count, from) in self.fetched.iter_mut().zip(windows) {
                *count += u64::from(last >= *from);
            }
        }
        self.from_change.add(seen.from_change);
        self.from_sitemap.add(seen.from_sitemap);
    }

    /// Adds the counts of another group.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.listed += other.listed;
        self.requests += other.requests;
        self.not_modified += other.not_modified;
        self.failed += other.failed;
        self.ever += other.ever;
        for (count, other) in self.fetched.iter_mut().zip(other.fetched) {
            *count += other;
        }
        self.from_change.merge(&other.from_change);
        self.from_sitemap.merge(&other.from_sitemap);
    }

    /// Returns how many pages it has.
    #[must_use]
    pub(crate) fn listed(&self) -> u64 {
        self.listed
    }

    /// Returns the row of this name. `listed` pages there are, of which the tally may have only those with requests. `is_known` says of
    /// each window whether the log is as long.
    #[must_use]
    pub(crate) fn row(
        &self,
        name: String,
        listed: u64,
        is_known: [bool; WINDOW_DAYS.len()],
    ) -> Row {
        let mut fetched = [None; WINDOW_DAYS.len()];
        for (at, count) in self.fetched.iter().enumerate() {
            fetched[at] = is_known[at].then_some(*count);
        }
        Row {
            name,
            listed,
            fetched,
            ever: self.ever,
            never: listed - self.ever,
            requests: self.requests,
            not_modified: self.not_modified,
            failed: self.failed,
            from_change: self.from_change.lag(),
            from_sitemap: self.from_sitemap.lag(),
        }
    }
}

impl Lags {
    fn add(&mut self, lag: Option<Option<u64>>) {
        let Some(lag) = lag else { return };
        self.pages += 1;
        let Some(seconds) = lag else { return };
        self.fetched += 1;
        let at = bucket(seconds);
        if self.buckets.len() <= at {
            self.buckets.resize(at + 1, 0);
        }
        self.buckets[at] += 1;
        self.distribution[LAG_BOUNDS.partition_point(|bound| *bound < seconds)] += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.pages += other.pages;
        self.fetched += other.fetched;
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (count, other) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += other;
        }
        for (count, other) in self.distribution.iter_mut().zip(other.distribution) {
            *count += other;
        }
    }

    /// Returns the time within which this many hundredths of all pages were fetched, those included that were not yet.
    fn quantile(&self, percent: u64) -> Option<u64> {
        let rank = (self.pages * percent).div_ceil(100).max(1);
        let mut sum = 0;
        let at = self.buckets.iter().position(|count| {
            sum += u64::from(*count);
            sum >= rank
        });
        at.map(middle)
    }

    fn lag(&self) -> Lag {
        Lag {
            pages: self.pages,
            fetched: self.fetched,
            median: self.quantile(50),
            p90: self.quantile(90),
            distribution: self.distribution,
        }
    }
}

/// Returns the bucket of a time: each second up to [`STEPS`], then as many buckets for each doubling.
fn bucket(seconds: u64) -> usize {
    let doublings = u64::from((seconds | STEPS).ilog2() - STEPS.ilog2());
    (doublings * STEPS + (seconds >> doublings)) as usize
}

/// Returns the time in the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let doublings = (bucket / STEPS).saturating_sub(1);
    ((bucket - doublings * STEPS) << doublings) + (1 << doublings) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_comes_back_from_its_bucket_within_three_percent() {
        let mut last = 0;
        for seconds in (0..100_000).chain((100_000..200_000_000).step_by(9_973)) {
            let at = bucket(seconds);
            assert!(at >= last, "{seconds}");
            last = at;
            assert!(middle(at).abs_diff(seconds) * 32 <= seconds, "{seconds}");
        }
        assert!(last < 500);
    }

    #[test]
    fn a_quantile_counts_the_pages_that_were_not_fetched_yet() {
        let mut lags = Lags::default();
        assert_eq!(lags.lag(), Lag::default());
        for lag in [Some(10), Some(12), None, None] {
            lags.add(Some(lag));
        }
        lags.add(None); // the log cannot tell
        assert_eq!((lags.pages, lags.fetched), (4, 2));
        assert_eq!(lags.quantile(25), Some(10));
        assert_eq!(lags.quantile(50), Some(12));
        assert_eq!(lags.quantile(90), None);
        assert_eq!(lags.distribution[0], 2);
        let mut sum = Lags::default();
        sum.merge(&lags);
        assert_eq!(sum.lag(), lags.lag());
    }

    #[test]
    fn a_window_counts_what_was_fetched_in_it() {
        let (mut tally, windows) = (Tally::default(), [900, 700, 300, -500]);
        for last in [Some(950), Some(900), Some(300), Some(299), None] {
            let seen = Seen {
                last,
                requests: 1,
                ..Seen::default()
            };
            tally.add(&seen, &windows);
        }
        let row = tally.row("all".to_owned(), 5, [true, true, true, false]);
        assert_eq!(row.fetched, [Some(2), Some(2), Some(3), None]);
        assert_eq!((row.ever, row.never, row.requests), (4, 1, 5));
        let mut twice = tally.clone();
        twice.merge(&tally);
        assert_eq!(
            twice.row(String::new(), 10, [true; 4]).fetched,
            [4, 4, 6, 8].map(Some)
        );
    }
}
