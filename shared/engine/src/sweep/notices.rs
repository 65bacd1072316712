//! Notifies search engines of changed URLs, by IndexNow.
//!
//! - A URL is sent after it has been live for a minute, if its site is released and public and has a key.
//! - `regenerate` marks a site when it publishes a change, after the notice was written. A change that no sitemap shows, such as a
//!   title's, has its site marked before the notice is written, and for a minute. A site without a mark costs nothing. The mark is
//!   removed once no notice is left.
//! - A notice is deleted once its URL was accepted or refused, unless the URL has changed again meanwhile. A sweep that ends between
//!   the request and the deletion sends the URL twice, which is harmless.
//! - URLs that an endpoint does not accept now are kept and retried, after longer and longer pauses.
//! - Sending takes a limited time of each sweep. A notice that was not accepted for two days is dropped.

use std::time::Duration;

use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::metrics;
use crate::reconcile::Reconciler;
use crate::rows::keys::{HASH_DIGITS, Mark};
use crate::rows::notice::{Notice, PAGE, Refused, Sent};
use crate::rows::site::{Hold, SiteRow};
use crate::rows::turn::Turn;
use tracing::{error, info, warn};

use futures::future::BoxFuture;

use crate::env::Deadline;
use crate::rows::table::SitemapTable;

/// The time limit of a request and its answer. 10,000 URLs have a megabyte or two.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// An endpoint of IndexNow, which passes URLs on to the other engines.
pub trait SearchEngines: std::fmt::Debug + Send + Sync {
    /// Posts a request of IndexNow. `now` is in Unix seconds.
    fn post(&self, json: String, now: i64) -> BoxFuture<'_, Answer>;
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The URLs were accepted.
    Taken,
    /// The URLs will never be accepted. Contains the HTTP status.
    Refused(u16),
    /// The URLs may be accepted later.
    Later {
        /// Why they are not accepted now.
        reason: String,
        /// The pause that the endpoint asks for, in seconds. `None` if it does not say.
        after: Option<i64>,
    },
}

/// The most URLs of one request (<https://www.indexnow.org/documentation>).
const MAX_URLS: usize = 10_000;
const _: () = assert!(PAGE * HASH_DIGITS.len() <= MAX_URLS);
/// Seconds after a change before its URL is sent. Shared caches keep a sitemap for a minute, and an engine that reads it at once
/// should find the change. A page that is edited several times in a row is sent once.
const SETTLE_SECONDS: i64 = 60;
/// Seconds after which a change is no longer sent, because an engine has read the sitemap since.
const MAX_AGE_SECONDS: i64 = 48 * 3_600;
/// The first pause, in seconds: a sweep's period. Each further pause is twice as long.
const MIN_PAUSE_SECONDS: i64 = 60;
/// The longest pause without a request of the endpoint, in seconds.
const MAX_PAUSE_SECONDS: i64 = 3_600;
/// The longest pause that an endpoint may ask for, in seconds: well below the time that a notice is kept.
const MAX_RETRY_AFTER_SECONDS: i64 = 6 * 3_600;
const _: () = assert!(
    MAX_PAUSE_SECONDS < MAX_RETRY_AFTER_SECONDS && MAX_RETRY_AFTER_SECONDS < MAX_AGE_SECONDS
);
/// The most requests of one sweep.
const MAX_REQUESTS: u32 = 20;
/// The time in which a sweep begins new requests.
const SLICE: Duration = Duration::from_secs(10);
/// The time in which a sweep begins new parts of the audit: well below the function's time limit. The timers of the next minute
/// wait for it.
pub(super) const AUDIT_SLICE: Duration = Duration::from_secs(20);
const _: () = assert!(
    SLICE.as_secs() + TIMEOUT.as_secs() + AUDIT_SLICE.as_secs() <= 45,
    "the function's minute has room for the timers and for deleting what was told"
);
/// Concurrent calls of the table.
const CALLS: usize = 32;

/// The requests and the time that a sweep has left.
struct Budget {
    requests: u32,
    until: Deadline,
}

impl Budget {
    fn is_spent(&self) -> bool {
        self.requests == 0 || self.until.has_passed()
    }
}

/// What to do with the notices of a site.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Notices to send, the oldest first.
    tell: Vec<Notice>,
    drop: Vec<Notice>,
}

fn plan(notices: Vec<Notice>, now: i64) -> Plan {
    let mut plan = Plan::default();
    for notice in notices {
        // Also if its time is in the far future: it would never be sent.
        if (now - notice.at).abs() > MAX_AGE_SECONDS {
            plan.drop.push(notice);
        } else if now - notice.since >= SETTLE_SECONDS {
            plan.tell.push(notice);
        }
    }
    plan.tell.sort();
    plan
}

/// Returns the number of failed tries after one more, and the time of the next.
fn next_pause(failed: u32, after: Option<i64>, now: i64) -> (u32, i64) {
    let tries = failed.saturating_add(1);
    let own = MIN_PAUSE_SECONDS << (tries - 1).min(6);
    let asked = after.unwrap_or(0).min(MAX_RETRY_AFTER_SECONDS);
    (tries, now + own.min(MAX_PAUSE_SECONDS).max(asked))
}

/// Returns the body of a request. A site is one host, so all its URLs belong to the key's host.
fn request(site: &SiteRow, key: &str, notices: &[Notice]) -> String {
    let urls: Vec<&str> = notices.iter().map(|notice| notice.loc.as_str()).collect();
    let origin = &site.settings.origin;
    serde_json::json!({
        "host": origin.host(),
        "key": key,
        "keyLocation": format!("{}/{key}.txt", origin.as_str()),
        "urlList": urls,
    })
    .to_string()
}

/// Returns how many of these sorted sites are not after `site`.
fn up_to<'a>(site: Option<&str>, sites: impl Iterator<Item = &'a str>) -> usize {
    sites.take_while(|&one| Some(one) <= site).count()
}

/// Sends the notices of marked sites, as far as time allows. Without an endpoint they are dropped.
pub(super) async fn tell(
    reconciler: &Reconciler,
    engines: Option<&dyn SearchEngines>,
    turn: &mut Turn,
) -> Result<(), EngineError> {
    let table = &reconciler.table;
    let mut budget = Budget {
        requests: MAX_REQUESTS,
        until: reconciler.env.deadline(SLICE),
    };
    let mut marks = table.marks(Mark::Notices).await?;
    // Each sweep begins with another site, so that no site waits forever for sites that always have notices.
    let sites = marks.iter().map(|marked| marked.site.as_str());
    let before = up_to(turn.told_first.as_deref(), sites) % marks.len().max(1);
    marks.rotate_left(before);
    if let Some(first) = marks.first() {
        turn.told_first = Some(first.site.clone());
    }
    let mut failure = None;
    for marked in &marks {
        let host = marked.site.as_str();
        if budget.is_spent() {
            break;
        }
        let told = async {
            let row = table.site(host).await?;
            let Some(row) = row.filter(|row| row.hold == Hold::Released) else {
                return Ok(());
            };
            let key = row.settings.indexnow_key.as_deref();
            let is_empty = match (engines, key.filter(|_| row.settings.public)) {
                (Some(engines), Some(key)) => {
                    let site = Site {
                        reconciler,
                        row: &row,
                        key,
                        engines,
                    };
                    site.tell(&mut budget).await?
                }
                _ => {
                    let (notices, _) = read_notices(table, host).await?;
                    drop_all(table, host, &notices).await?;
                    notices.is_empty()
                }
            };
            if is_empty && marked.due <= reconciler.env.now() {
                // The mark was read before the notices: any later notice has marked the site again, or will.
                table.unmark(Mark::Notices, marked).await?;
            }
            Ok(())
        };
        if let Err(error) = told.await {
            error!(site = host, %error, "search engines were not told");
            failure = failure.or(Some(error));
        }
    }
    failure.map_or(Ok(()), Err)
}

/// A site whose notices may be sent.
struct Site<'a> {
    reconciler: &'a Reconciler,
    row: &'a SiteRow,
    key: &'a str,
    engines: &'a dyn SearchEngines,
}

impl Site<'_> {
    /// Sends a site's notices. Returns `true` if there were none.
    async fn tell(&self, budget: &mut Budget) -> Result<bool, EngineError> {
        let Reconciler {
            table,
            env,
            metrics,
            ..
        } = self.reconciler;
        let host = self.row.settings.host.as_str();
        let pause = table.pause(host).await?;
        if pause.is_some_and(|pause| env.now() < pause.until) {
            return Ok(false);
        }
        let mut failed = pause.map_or(0, |pause| pause.tries);
        while !budget.is_spent() {
            let (notices, more) = read_notices(table, host).await?;
            if notices.is_empty() {
                return Ok(true);
            }
            // The time after the reads. With an earlier time, newer notices would seem to be in the future.
            let now = env.now();
            let plan = plan(notices, now);
            drop_all(table, host, &plan.drop).await?;
            if !plan.drop.is_empty() {
                warn!(
                    site = host,
                    urls = plan.drop.len(),
                    "changes are no longer news: search engines are not told of them"
                );
            }
            if plan.tell.is_empty() {
                return Ok(false);
            }
            budget.requests -= 1;
            let (urls, json) = (plan.tell.len(), request(self.row, self.key, &plan.tell));
            let answer = match self.engines.post(json, now).await {
                Answer::Taken => {
                    metrics.note(&metrics::NOTICES_SENT, urls as u64);
                    info!(site = host, urls, "search engines were told");
                    let urls = urls as u64;
                    Ok(Sent { urls, at: now })
                }
                Answer::Refused(status) => {
                    metrics.note(&metrics::NOTICES_REFUSED, urls as u64);
                    error!(
                        site = host,
                        urls,
                        status,
                        reason = refusal_reason(status),
                        "IndexNow refused the URLs: they are dropped"
                    );
                    // `waymark status` shows it.
                    Err(Refused {
                        status,
                        urls: urls as u64,
                        at: now,
                    })
                }
                Answer::Later { reason, after } => {
                    let (tries, until) = next_pause(failed, after, now);
                    let seconds = until - now;
                    warn!(
                        site = host,
                        urls,
                        reason,
                        tries,
                        seconds,
                        "IndexNow does not take the URLs now: they are sent again later"
                    );
                    table.set_pause(host, (tries, until), None).await?;
                    return Ok(false);
                }
            };
            // The answer first, so that a sweep that ends here does not lose a refusal. The next sweep sends the URLs again.
            table.set_pause(host, (0, now), Some(answer)).await?;
            failed = 0;
            drop_all(table, host, &plan.tell).await?;
            if !more {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

/// Returns up to [`PAGE`] notices of each of a site's partitions, and whether there may be more.
async fn read_notices(
    table: &SitemapTable,
    site: &str,
) -> Result<(Vec<Notice>, bool), EngineError> {
    let reads = HASH_DIGITS.map(|digit| table.notices(site, digit));
    let (mut notices, mut more) = (Vec::new(), false);
    for read in concurrently(CALLS, reads).await {
        let read = read?;
        more |= read.len() == PAGE;
        notices.extend(read);
    }
    Ok((notices, more))
}

async fn drop_all(table: &SitemapTable, site: &str, notices: &[Notice]) -> Result<(), EngineError> {
    let drops = notices.iter().map(|notice| table.drop_notice(site, notice));
    concurrently(CALLS, drops).await.into_iter().collect()
}

/// Returns the meaning of a status with which IndexNow refuses a request.
#[must_use]
pub fn refusal_reason(status: u16) -> &'static str {
    match status {
        400 => "the request is malformed",
        403 => "the key is not valid: its file is not found, or does not hold it",
        422 => "URLs are not of the host, or the key does not match the protocol",
        _ => "not a status that IndexNow documents: check the endpoint",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(path: &str, at: i64) -> Notice {
        let loc = format!("https://www.example.com{path}");
        let since = at;
        Notice { since, at, loc }
    }

    #[test]
    fn what_is_settled_and_still_news_is_told_the_oldest_first() {
        let now = 1_800_000_000;
        let [new, settled, older, last, stale, future] =
            [59, 60, 3_600, 172_800, 172_801, -172_801].map(|age| notice("/", now - age));
        let notices = [&new, &settled, &older, &last, &stale, &future].map(Clone::clone);
        let expected = Plan {
            tell: vec![last, older, settled],
            drop: vec![stale, future],
        };
        assert_eq!(plan(notices.to_vec(), now), expected);
        // A URL that keeps changing is sent too.
        let restless = Notice {
            since: now - 60,
            ..notice("/", now)
        };
        assert_eq!(plan(vec![restless.clone()], now).tell, [restless]);
    }

    #[test]
    fn the_site_behind_the_last_first_one_is_next_whether_that_one_is_still_marked_or_not() {
        let sites = ["a.example", "c.example", "e.example"];
        let next = |last| up_to(last, sites.into_iter());
        assert_eq!(
            [None, Some("a.example"), Some("b.example")].map(next),
            [0, 1, 1]
        );
        assert_eq!([Some("d.example"), Some("e.example")].map(next), [2, 3]);
    }

    #[test]
    fn pauses_grow_up_to_an_hour_and_to_what_is_asked_for_up_to_six() {
        let mut failed = 0;
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let until;
            (failed, until) = next_pause(failed, None, 1_000);
            pauses.push(until - 1_000);
        }
        assert_eq!(pauses, [60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
        for (tries, after, seconds) in [
            (0, 10, 60),
            (0, 90, 90),
            (u32::MAX, 7_200, 7_200),
            (0, i64::MAX, 21_600),
        ] {
            let (_, until) = next_pause(tries, Some(after), 0);
            assert_eq!(until, seconds);
        }
    }

    #[test]
    fn a_request_names_the_host_the_key_and_where_it_is() {
        let settings = sitemap::site::SiteSettings::default_for("www.example.com").unwrap();
        let row = SiteRow {
            epoch: 1,
            hold: Hold::Released,
            version: 1,
            render: 1,
            source: crate::content::NO_SOURCE.to_owned(),
            indexes: 1,
            index_objects: 1,
            llms_object: false,
            departures: false,
            closings: objects::Closings::default(),
            settings,
        };
        let json = request(&row, "0123-abc", &[notice("/a", 1), notice("/\"b", 2)]);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&json).unwrap(),
            serde_json::json!({
                "host": "www.example.com", "key": "0123-abc",
                "keyLocation": "https://www.example.com/0123-abc.txt",
                "urlList": ["https://www.example.com/a", "https://www.example.com/\"b"],
            })
        );
    }
}
