//! Tests the requests to search engines over HTTP, and failures of the engines. `sim::scenarios::notices` tests which changes are
//! sent, and when.
//!
//! The sweep is called directly, with a fixed clock.

mod endpoint;

use std::collections::BTreeMap;
use std::time::Duration;

use ::sweep::Endpoint;
use aws::Clock;
use endpoint::{Answer, Engine};
use engine::content::NO_SOURCE;
use engine::keys::{self, Mark};
use engine::reconcile::Reconciler;
use engine::rows::notice::{Pause, Sent};
use engine::rows::site::Hold;
use engine::sweep::sweep;
use harness::{SITE, World, settings};
use local::stack::{AUDIT_TIMES, Options};
use local::tables::SITEMAP_TABLE;
use serde_json::json;
use sitemap::site::SiteSettings;

use crate::metrics::Meter;

const KEY: &str = "0123456789abcdef";
/// The initial time of the clock, in Unix seconds.
const NOW: i64 = 1_800_000_000;
/// A time limit for engines that hang.
const SHORT: Duration = Duration::from_millis(300);
/// A time limit for engines that do not hang.
const LONG: Duration = Duration::from_secs(60);

/// A stack whose functions do not run, with a released site that has a key.
struct Bench {
    world: World,
    engine: Engine,
}

impl Bench {
    async fn start() -> Self {
        let options = Options {
            clock: Clock::stopped(NOW),
            ..Options::default()
        };
        let world = World::idle(options).await;
        let record = settings(json!({"indexnow_key": KEY}));
        world.put(&record).await;
        let settings = SiteSettings::parse(SITE, &record).unwrap();
        let table = &world.stack.reconciler.table;
        table.create_site(&settings, NO_SOURCE, NOW).await.unwrap();
        for (from, to) in [
            (Hold::Loading, Hold::Publishing),
            (Hold::Publishing, Hold::Released),
        ] {
            table.move_hold(SITE, from, to).await.unwrap();
        }
        let engine = Engine::start().await;
        Self { world, engine }
    }

    fn now(&self) -> i64 {
        self.world.clock.now()
    }

    /// Writes the notices of a change of these paths that many seconds ago.
    async fn changed(&self, paths: &[&str], seconds_ago: i64) {
        for path in paths {
            let key = keys::notice(SITE, &url(path));
            let at = self.now() - seconds_ago;
            let row = json!({"pk": key.pk, "sk": key.sk, "loc": url(path), "at": at});
            self.world.put_into(SITEMAP_TABLE, &row).await;
        }
        // As `regenerate` does when it publishes the change.
        let key = keys::mark(Mark::Notices, SITE);
        let mark = json!({"pk": key.pk, "sk": key.sk, "token": "t"});
        self.world.put_into(SITEMAP_TABLE, &mark).await;
    }

    async fn sweep(&self) {
        self.sweep_to(&self.engine.endpoint.clone().with_timeout(LONG))
            .await;
    }

    /// Runs a sweep, and returns the metrics.
    async fn sweep_to(&self, endpoint: &Endpoint) -> BTreeMap<String, u64> {
        let (stack, meter) = (&self.world.stack, Meter::default());
        let reconciler = Reconciler {
            metrics: meter.metrics(),
            ..stack.reconciler.clone()
        };
        let swept = sweep(&reconciler, &*stack.objects, AUDIT_TIMES, Some(endpoint));
        assert!(swept.await.unwrap(), "another sweep is under way");
        meter.take()
    }

    /// Returns the unsent URLs, with the times of their first unsent changes.
    async fn left(&self) -> Vec<(String, i64)> {
        let rows = self.world.rows("NOTICE#").await.into_values();
        let left =
            rows.filter_map(|row| Some((row.get("loc")?.clone(), row["at"].parse().unwrap())));
        let mut left: Vec<_> = left.collect();
        left.sort();
        left
    }

    async fn pause(&self) -> Option<Pause> {
        self.world.stack.reconciler.table.pause(SITE).await.unwrap()
    }

    /// Returns the URLs of the requests since the last call.
    fn told(&self) -> Vec<Vec<String>> {
        self.engine
            .requests()
            .iter()
            .map(endpoint::Request::urls)
            .collect()
    }

    async fn stop(self) {
        self.world.stop().await;
    }
}

fn url(path: &str) -> String {
    format!("https://{SITE}{path}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_told_of_once_it_was_live_for_a_minute() {
    let bench = Bench::start().await;
    bench.changed(&["/b", "/a"], 59).await;
    bench.sweep().await;
    assert!(!bench.engine.was_called());
    bench.world.clock.advance(1);
    bench.sweep().await;
    let requests = bench.engine.requests();
    let [request] = requests.as_slice() else {
        panic!("one request: {requests:?}")
    };
    assert_eq!(request.urls(), [url("/a"), url("/b")]);
    let mut json = request.json.clone();
    json["urlList"] = json!([]);
    let location = url(&format!("/{KEY}.txt"));
    let expected = json!({"host": SITE, "key": KEY, "keyLocation": location, "urlList": []});
    assert_eq!(json, expected);
    let head = request.head.to_ascii_lowercase();
    assert!(head.starts_with("post /indexnow http/1.1\r\n"), "{head}");
    assert!(
        head.contains("\r\ncontent-type: application/json; charset=utf-8\r\n"),
        "{head}"
    );
    assert_eq!(bench.left().await, []);
    bench.sweep().await;
    assert!(!bench.engine.was_called(), "told twice");
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_or_refused_is_not_told_again() {
    let bench = Bench::start().await;
    let mut last = 0;
    let statuses = [200, 202, 400, 403, 404, 422].map(Answer::status);
    for answer in statuses.into_iter().chain([Answer::Slow]) {
        bench.changed(&["/a"], 100).await;
        bench.engine.answer(answer.clone());
        let endpoint = bench.engine.endpoint.clone().with_timeout(LONG);
        let counted = bench.sweep_to(&endpoint).await;
        let refused = matches!(&answer, Answer::Status(400.., _));
        let metric = if refused {
            "NoticesRefused"
        } else {
            "NoticesSent"
        };
        assert_eq!(counted, [(metric.to_owned(), 1)].into(), "{answer:?}");
        assert_eq!(bench.told(), [[url("/a")]], "{answer:?}");
        assert_eq!(bench.left().await, [], "{answer:?}");
        // The last accepted request is kept for `waymark status`, and a refusal until a request is accepted.
        let remembered = bench.pause().await.map(|pause| {
            assert!(
                pause.until <= bench.now(),
                "{answer:?}: a refusal is no pause"
            );
            let refused = pause.refused.map(|refused| (refused.status, refused.urls));
            (refused, pause.sent.unwrap())
        });
        let (refused, sent) = remembered.unwrap();
        let expected = match &answer {
            Answer::Status(status @ 400.., _) => Some((*status, 1)),
            _ => {
                last = bench.now();
                None
            }
        };
        assert_eq!(refused, expected, "{answer:?}");
        assert_eq!(sent, Sent { urls: 1, at: last }, "{answer:?}");
    }
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_taken_now_is_kept_for_a_pause() {
    let bench = Bench::start().await;
    let mut taken = None;
    let later = |status, seconds: i64, text: &str| {
        let header = format!("retry-after: {text}\r\n");
        (Answer::Status(status, header), seconds)
    };
    let answers = [
        // First, while the clock is at NOW: four hours later.
        later(503, 4 * 3_600, "Fri, 15 Jan 2027 12:00:00 GMT"),
        later(429, 300, "300"),
        later(429, 60, "5"),
        later(503, 3_601, "3601"),
        later(503, 21_600, "1000000"),
        later(429, 60, "soon"),
        (Answer::Hang, 60),
        (Answer::Half, 60),
        (Answer::Close, 60),
    ];
    let statuses = [429, 500, 502, 503].map(|status| (Answer::status(status), 60));
    for (answer, seconds) in answers.into_iter().chain(statuses) {
        let slow = matches!(answer, Answer::Hang | Answer::Half);
        let limit = if slow { SHORT } else { LONG };
        let endpoint = bench.engine.endpoint.clone().with_timeout(limit);
        let at = bench.now() - 100;
        bench.changed(&["/a"], 100).await;
        bench.engine.answer(answer.clone());
        bench.sweep_to(&endpoint).await;
        assert_eq!(bench.told(), [[url("/a")]], "{answer:?}");
        assert_eq!(bench.left().await, [(url("/a"), at)], "{answer:?}");
        let until = bench.now() + seconds;
        let sent = taken.map(|at| Sent { urls: 1, at });
        let expected = Pause {
            sent,
            ..paused(1, until)
        };
        assert_eq!(bench.pause().await, Some(expected), "{answer:?}");
        bench.world.clock.advance(seconds - 1);
        bench.sweep().await;
        assert!(
            !bench.engine.was_called(),
            "{answer:?}: before the pause is over"
        );
        bench.world.clock.advance(1);
        bench.sweep().await;
        assert_eq!(bench.told(), [[url("/a")]], "{answer:?}");
        assert_eq!(bench.left().await, [], "{answer:?}");
        taken = Some(bench.now());
        let ended = bench.pause().await.unwrap();
        assert_eq!((ended.tries, ended.sent.map(|sent| sent.at)), (0, taken));
    }
    bench.stop().await;
}

fn paused(tries: u32, until: i64) -> Pause {
    Pause {
        tries,
        until,
        refused: None,
        sent: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pauses_grow_while_nobody_listens() {
    let bench = Bench::start().await;
    // A port that is bound without a listener, then an engine that fails.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = format!("http://{}/", held.local_addr().unwrap());
    let nobody = Endpoint::parse(&nobody).unwrap();
    bench.changed(&["/a"], 100).await;
    bench.sweep_to(&nobody).await;
    for (tries, seconds) in [(1, 60), (2, 120), (3, 240), (4, 480)] {
        let until = bench.now() + seconds;
        assert_eq!(bench.pause().await, Some(paused(tries, until)));
        bench.world.clock.advance(seconds);
        bench.engine.answer(Answer::status(500));
        bench.sweep().await;
        assert_eq!(bench.told().len(), 1);
    }
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let bench = Bench::start().await;
    bench.changed(&["/a"], 100).await;
    for status in [301, 307, 308] {
        bench
            .engine
            .answer(Answer::Status(status, "location: /other\r\n".to_owned()));
        bench.sweep().await;
        assert_eq!(bench.told().len(), 1, "{status}");
        assert_eq!(bench.left().await.len(), 1, "{status}");
        bench.world.clock.advance(3_600);
    }
    bench.stop().await;
}
