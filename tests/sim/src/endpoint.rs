//! A simulated endpoint of IndexNow, which accepts, refuses, asks for time or does not answer. It records the URLs that it was
//! sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::keys::{self, ALONE};
use engine::rows::notice::Refused;
use engine::sweep::notices::{Answer, SearchEngines, TIMEOUT};
use futures::future::BoxFuture;
use serde_json::Value;
use sitemap::loc::normalized;
use table::{Change, Item};

use crate::history::SITES;
use crate::runtime::{Sim, digest_of};

/// The most URLs of one request (IndexNow).
const MAX_URLS: usize = 10_000;
/// The seconds after which a change is no longer sent.
const NEWS_SECONDS: i64 = 48 * 3_600;
/// The longest pause in seconds that the endpoint asks for.
const LONGEST_PAUSE: u64 = 10_000;
/// The statuses with which it accepts, refuses, and asks for time.
const TAKEN: [u16; 2] = [200, 202];
const REFUSED: [u16; 3] = [400, 403, 422];
const LATER: [u16; 4] = [429, 429, 500, 503];

/// Returns the IndexNow key of a site.
#[must_use]
pub fn key_of(site: &str) -> String {
    format!("key-of-{}", site.replace('.', "-"))
}

/// An endpoint. Clones share its state.
#[derive(Clone, Debug)]
pub struct Endpoint {
    sim: Sim,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// By the URL's normal form, when it was last in a request that was accepted or refused, in Unix seconds.
    told: BTreeMap<String, i64>,
    /// By the URL's normal form, when a change of it was last noted.
    noted: BTreeMap<String, i64>,
    /// Changes that were dropped without being sent: the site's host, the URL, and the time of the change.
    dropped: Vec<(String, String, i64)>,
    /// By host, the last request, if it was refused.
    refused: BTreeMap<String, Refused>,
    /// By host, the status of a refusal in the site's row.
    shown: BTreeMap<String, Option<u16>>,
    /// Changes that were refused, and dropped before the site's row contained the refusal: the site's host, and the URL.
    hidden: Vec<(String, String)>,
    /// By host, when a request was last accepted, in Unix seconds.
    taken: BTreeMap<String, i64>,
    /// The number of requests that were accepted or refused.
    requests: u64,
    /// The status of every answer. `None` for random answers.
    always: Option<u16>,
}

impl Endpoint {
    /// Returns an endpoint that has no requests yet.
    #[must_use]
    pub fn new(sim: Sim) -> Self {
        let state = Arc::default();
        Self { sim, state }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the change of a notice's row, or of the row with the last answer.
    pub fn watch(&self, change: &Change<'_>) {
        let [pk, sk] = ["pk", "sk"].map(|name| change.key.text(name).unwrap_or_default());
        if sk == ALONE {
            let on = |host: &&&str| keys::notice_pause(host).pk == pk;
            if let Some(host) = SITES.iter().find(on) {
                let mut state = self.lock();
                match change.new {
                    Some(row) => state
                        .shown
                        .insert((*host).to_owned(), row.number("refused_status")),
                    // The row is lost.
                    None => {
                        state.refused.remove(*host);
                        None
                    }
                };
            }
            return;
        }
        let read = |item: &Item| {
            let address = normalized(item.text("loc")?).into_owned();
            Some((address, item.number::<i64>("at")?))
        };
        let mut state = self.lock();
        match (change.old.and_then(read), change.new.and_then(read)) {
            (_, Some((loc, at))) => drop(state.noted.insert(loc, at)),
            (Some((loc, at)), None) => {
                let is_told = state.told.get(&loc).is_some_and(|told| *told >= at);
                let is_news = self.sim.now() - at <= NEWS_SECONDS;
                let on = |host: &&&str| loc.starts_with(&format!("https://{host}/"));
                let site = SITES.iter().find(on).copied().unwrap_or_default();
                let refused = state.refused.get(site).copied();
                let refused = refused.filter(|refused| {
                    at <= refused.at && state.told.get(&loc) == Some(&refused.at)
                });
                let is_shown =
                    |refused: Refused| state.shown.get(site) == Some(&Some(refused.status));
                if refused.is_some_and(|refused| !is_shown(refused)) {
                    state.hidden.push((site.to_owned(), loc));
                } else if !is_told && is_news {
                    state.dropped.push((site.to_owned(), loc, at));
                }
            }
            (None, None) => {}
        }
    }

    /// Returns when a change of an address was last noted, in any spelling. The address is in its normal form, the time in Unix
    /// seconds.
    #[must_use]
    pub fn noted(&self, address: &str) -> Option<i64> {
        self.lock().noted.get(address).copied()
    }

    /// Takes the changes that were dropped without being sent: host, URL and time.
    #[must_use]
    pub fn take_dropped(&self) -> Vec<(String, String, i64)> {
        std::mem::take(&mut self.lock().dropped)
    }

    /// Takes the changes that were refused and dropped before the site's row contained the refusal: host and URL.
    #[must_use]
    pub fn take_hidden(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.lock().hidden)
    }

    /// Returns the last request of a site. Returns `None` if it was not refused.
    #[must_use]
    pub fn refused(&self, host: &str) -> Option<Refused> {
        self.lock().refused.get(host).copied()
    }

    /// Returns when a request of a site was last accepted, in Unix seconds.
    #[must_use]
    pub fn taken(&self, host: &str) -> Option<i64> {
        self.lock().taken.get(host).copied()
    }

    /// Returns the number of requests that were accepted or refused.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.lock().requests
    }

    /// Answers with this status from now on, or randomly if it is `None`.
    pub fn always(&self, status: Option<u16>) {
        self.lock().always = status;
    }

    /// Returns the status of the next answer. Returns `None` if there will be no answer.
    fn status(&self) -> Option<u16> {
        if let Some(status) = self.lock().always {
            return Some(status);
        }
        let one_of = |statuses: &[u16]| {
            let at = self.sim.below(statuses.len() as u64);
            statuses[usize::try_from(at).unwrap_or(0)]
        };
        match self.sim.below(10) {
            0..5 => Some(one_of(&TAKEN)),
            5 | 6 => Some(one_of(&REFUSED)),
            7 | 8 => Some(one_of(&LATER)),
            _ => None,
        }
    }

    async fn answered(&self, json: String) -> Answer {
        let (host, urls) = read(&json);
        self.sim.note_call(digest_of(&json));
        self.sim
            .sleep(Duration::from_millis(1 + self.sim.below(500)))
            .await;
        let status = self.status();
        let silent = status.is_none();
        // A request without an answer may have been accepted.
        let status = status.unwrap_or_else(|| {
            if self.sim.below(2) == 0 {
                TAKEN[0]
            } else {
                LATER[3]
            }
        });
        let now = self.sim.now();
        let count = urls.len() as u64;
        let is_final = TAKEN.contains(&status) || REFUSED.contains(&status);
        if is_final {
            let mut state = self.lock();
            state.requests += 1;
            let addresses = urls.iter().map(|url| normalized(url).into_owned());
            state.told.extend(addresses.map(|address| (address, now)));
        }
        if silent {
            self.sim.note_fault();
            self.sim.sleep(TIMEOUT).await;
            return later("no answer", None);
        }
        let mut state = self.lock();
        if TAKEN.contains(&status) {
            state.refused.remove(&host);
            state.taken.insert(host, now);
            return Answer::Taken;
        }
        if REFUSED.contains(&status) {
            let refused = Refused {
                status,
                urls: count,
                at: now,
            };
            state.refused.insert(host, refused);
            return Answer::Refused(status);
        }
        drop(state);
        let after = (self.sim.below(2) == 0).then(|| self.sim.below(LONGEST_PAUSE));
        later("not now", after.and_then(|after| i64::try_from(after).ok()))
    }
}

impl SearchEngines for Endpoint {
    fn post(&self, json: String, _: i64) -> BoxFuture<'_, Answer> {
        Box::pin(self.answered(json))
    }
}

fn later(reason: &str, after: Option<i64>) -> Answer {
    let reason = reason.to_owned();
    Answer::Later { reason, after }
}

/// Parses a request's host and URLs. Panics if the request violates IndexNow's format.
fn read(json: &str) -> (String, Vec<String>) {
    let request: Value = serde_json::from_str(json).expect("JSON");
    let host = request["host"].as_str().expect("a host").to_owned();
    let key = key_of(&host);
    assert_eq!(request["key"], key.as_str(), "the key of {host}");
    let location = format!("https://{host}/{key}.txt");
    assert_eq!(request["keyLocation"], location.as_str(), "{host}");
    let urls = request["urlList"].as_array().expect("URLs");
    assert!((1..=MAX_URLS).contains(&urls.len()), "{} URLs", urls.len());
    let urls = urls
        .iter()
        .map(|url| url.as_str().expect("a URL").to_owned());
    let urls: Vec<String> = urls.collect();
    let origin = format!("https://{host}/");
    let foreign = urls.iter().find(|url| !url.starts_with(&origin));
    assert_eq!(foreign, None, "a URL of another host than {host}");
    (host, urls)
}
