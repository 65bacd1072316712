//! What search engines are told of, and what becomes of it if they do not listen.
//!
//! The sweep is called by hand, on a clock that stands still.

mod endpoint;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ::sweep::Endpoint;
use aws::Clock;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use endpoint::{Answer, Engine};
use engine::content::NO_SOURCE;
use engine::keys::{self, Mark};
use engine::notices::{Pause, Sent};
use engine::reconcile::{KnownSites, Reconciler};
use engine::sites::Hold;
use engine::sweep::notices::SearchEngines;
use engine::sweep::sweep;
use harness::{SITE, World, post, settings, until};
use local::stack::{AUDIT_TIMES, Options};
use local::tables::SITEMAP_TABLE;
use serde_json::json;
use sitemap::site::SiteSettings;
use tokio::sync::Semaphore;

use crate::metrics::Meter;

/// A host that is a site in some tests.
const OTHER: &str = "blog.example.com";
const KEY: &str = "0123456789abcdef";
/// Where the clock stands at first, in Unix seconds.
const NOW: i64 = 1_800_000_000;
/// A time limit for engines that hang.
const SHORT: Duration = Duration::from_millis(300);
/// One for those that do not.
const LONG: Duration = Duration::from_secs(60);

/// A stack whose functions do not run, with a released site that has a key.
struct Bench {
    world: World,
    engine: Engine,
}

impl Bench {
    async fn start() -> Self {
        let bench = Self::on_hold(json!({"indexnow_key": KEY})).await;
        bench.release(SITE).await;
        bench
    }

    async fn on_hold(fields: serde_json::Value) -> Self {
        let options = Options {
            clock: Clock::stopped(NOW),
            ..Options::default()
        };
        let bench = Self {
            world: World::idle(options).await,
            engine: Engine::start().await,
        };
        bench.create(SITE, fields).await;
        bench
    }

    /// Makes a host a site.
    async fn create(&self, host: &str, fields: serde_json::Value) {
        let mut record = settings(fields);
        record["id"] = json!(format!("site/{host}"));
        self.world.put(&record).await;
        let settings = SiteSettings::parse(host, &record).unwrap();
        let table = &self.world.stack.reconciler.table;
        table.create_site(&settings, NO_SOURCE, NOW).await.unwrap();
    }

    async fn release(&self, host: &str) {
        let table = &self.world.stack.reconciler.table;
        for (from, to) in [
            (Hold::Loading, Hold::Publishing),
            (Hold::Publishing, Hold::Released),
        ] {
            table.move_hold(host, from, to).await.unwrap();
        }
    }

    fn now(&self) -> i64 {
        self.world.clock.now()
    }

    /// Writes the notices of a change of these paths so many seconds ago.
    async fn changed(&self, paths: &[&str], seconds_ago: i64) {
        let urls: Vec<String> = paths.iter().map(|path| url(path)).collect();
        self.put_notices(SITE, &urls, self.now() - seconds_ago)
            .await;
    }

    async fn put_notices(&self, host: &str, urls: &[String], at: i64) {
        let client = self.world.stack.aws.dynamodb().await;
        let text = |text: &str| AttributeValue::S(text.to_owned());
        for urls in urls.chunks(25) {
            let put = |loc: &String| {
                let key = keys::notice(host, loc);
                let put = PutRequest::builder()
                    .item("pk", text(&key.pk))
                    .item("sk", text(&key.sk))
                    .item("loc", text(loc))
                    .item("at", AttributeValue::N(at.to_string()));
                WriteRequest::builder()
                    .put_request(put.build().unwrap())
                    .build()
            };
            let puts = urls.iter().map(put).collect();
            let request = client.batch_write_item().request_items(SITEMAP_TABLE, puts);
            request.send().await.unwrap();
        }
        // As `regenerate` does when it publishes the change.
        let key = keys::mark(Mark::Notices, host);
        let mark = client.put_item().table_name(SITEMAP_TABLE);
        let mark = mark.item("pk", text(&key.pk)).item("sk", text(&key.sk));
        mark.item("token", text("t")).send().await.unwrap();
    }

    async fn sweep(&self) {
        self.sweep_to(Some(&self.engine.endpoint.clone().with_timeout(LONG)))
            .await;
    }

    async fn sweep_to(&self, endpoint: Option<&Endpoint>) {
        self.sweep_and_count(endpoint).await;
    }

    /// Sweeps, and says what the metrics are.
    async fn sweep_and_count(&self, endpoint: Option<&Endpoint>) -> BTreeMap<String, u64> {
        let (stack, meter) = (&self.world.stack, Meter::default());
        let reconciler = Reconciler {
            known: KnownSites::Only(vec![SITE.to_owned(), OTHER.to_owned()]),
            metrics: meter.metrics(),
            ..stack.reconciler.clone()
        };
        let engines = endpoint.map(|endpoint| endpoint as &dyn SearchEngines);
        let swept = sweep(&reconciler, &*stack.objects, AUDIT_TIMES, engines);
        assert!(swept.await.unwrap(), "another sweep is under way");
        meter.take()
    }

    /// The URLs that are still to be told of, and since when.
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

    /// The URLs of the requests since it was last asked.
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
        let counted = bench.sweep_and_count(Some(&endpoint)).await;
        let refused = matches!(&answer, Answer::Status(400.., _));
        let metric = if refused {
            "NoticesRefused"
        } else {
            "NoticesSent"
        };
        assert_eq!(counted, [(metric.to_owned(), 1)].into(), "{answer:?}");
        assert_eq!(bench.told(), [[url("/a")]], "{answer:?}");
        assert_eq!(bench.left().await, [], "{answer:?}");
        // What was taken last is remembered, for `waymark status`, and a refusal until something is taken.
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
        // First, while the clock stands at NOW: four hours later.
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
        bench.sweep_to(Some(&endpoint)).await;
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
    // A port that is bound, where nobody listens, then an engine that fails.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = format!("http://{}/", held.local_addr().unwrap());
    let nobody = Endpoint::parse(&nobody).unwrap();
    bench.changed(&["/a"], 100).await;
    bench.sweep_to(Some(&nobody)).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_changes_while_it_is_told_of_is_told_of_again() {
    let bench = Bench::start().await;
    bench.changed(&["/a", "/b"], 100).await;
    let gate = Arc::new(Semaphore::new(0));
    bench.engine.answer(Answer::Held(gate.clone()));
    let change = async {
        until("the engine is called", async || bench.engine.was_called()).await;
        bench.changed(&["/a"], 0).await;
        gate.add_permits(1);
    };
    tokio::join!(bench.sweep(), change);
    assert_eq!(bench.told(), [[url("/a"), url("/b")]]);
    assert_eq!(bench.left().await, [(url("/a"), NOW)]);
    bench.world.clock.advance(60);
    bench.sweep().await;
    assert_eq!(bench.told(), [[url("/a")]]);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_changes_often_is_told_of_once() {
    let bench = Bench::start().await;
    for seconds_ago in [900, 300, 100] {
        bench.changed(&["/a"], seconds_ago).await;
    }
    bench.sweep().await;
    assert_eq!(bench.told(), [[url("/a")]]);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_tells_of_more_than_10_000_urls() {
    let bench = Bench::start().await;
    let urls: BTreeSet<String> = (0..10_500).map(|n| url(&format!("/{n}"))).collect();
    let list: Vec<String> = urls.iter().cloned().collect();
    bench.put_notices(SITE, &list, NOW - 100).await;
    let mut told = Vec::new();
    let mut sweeps = 0;
    while told.len() < urls.len() {
        bench.sweep().await;
        sweeps += 1;
        assert!(sweeps < 10, "{} told of", told.len());
        for request in bench.told() {
            assert!((1..=10_000).contains(&request.len()), "{}", request.len());
            told.extend(request);
        }
    }
    assert_eq!(told.len(), urls.len(), "each once");
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), urls);
    assert_eq!(bench.left().await, []);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_on_hold() {
    let bench = Bench::on_hold(json!({"indexnow_key": KEY})).await;
    bench.changed(&["/a"], 100).await;
    bench.sweep().await;
    assert!(!bench.engine.was_called());
    assert_eq!(bench.left().await.len(), 1);
    bench.release(SITE).await;
    bench.sweep().await;
    assert_eq!(bench.told(), [[url("/a")]]);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_may_be_told_of_is_dropped() {
    let keyed = || json!({"indexnow_key": KEY});
    for (fields, endpoint) in [
        (json!({}), true),
        (json!({"indexnow_key": KEY, "public": false}), true),
        (keyed(), false),
    ] {
        let bench = Bench::on_hold(fields).await;
        bench.release(SITE).await;
        let paths: Vec<String> = (0..50).map(|n| format!("/{n}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        bench.changed(&paths, 100).await;
        let endpoint = endpoint.then_some(&bench.engine.endpoint);
        bench.sweep_to(endpoint).await;
        assert!(!bench.engine.was_called());
        assert_eq!(bench.left().await, []);
        // Nothing more is looked for on the site.
        bench.sweep_to(endpoint).await;
        let marks = bench
            .world
            .rows(&keys::marks_partition(Mark::Notices))
            .await;
        assert!(marks.is_empty(), "{marks:?}");
        bench.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_longer_news_is_dropped_untold() {
    let bench = Bench::start().await;
    bench.changed(&["/old"], 48 * 3_600 + 1).await;
    bench.changed(&["/new"], 48 * 3_600).await;
    bench.sweep().await;
    assert_eq!(bench.told(), [[url("/new")]]);
    assert_eq!(bench.left().await, []);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_site_is_told_of_by_its_own_key_and_none_holds_up_another() {
    let bench = Bench::start().await;
    bench
        .create(OTHER, json!({"indexnow_key": "another-key"}))
        .await;
    bench.release(OTHER).await;
    bench.changed(&["/a"], 100).await;
    bench.engine.answer(Answer::status(429));
    bench.sweep().await;
    assert_eq!(bench.told(), [[url("/a")]]);
    let other = format!("https://{OTHER}/x");
    bench
        .put_notices(OTHER, std::slice::from_ref(&other), NOW - 100)
        .await;
    bench.sweep().await;
    let requests = bench.engine.requests();
    assert_eq!(requests.len(), 1, "the first site's pause is its own");
    assert_eq!(requests[0].urls(), [other]);
    assert_eq!(requests[0].json["host"], OTHER);
    assert_eq!(requests[0].json["key"], "another-key");
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_notice_harms_no_other() {
    let bench = Bench::start().await;
    bench.changed(&["/a", "/b"], 100).await;
    let key = keys::notice(SITE, &url("/a"));
    bench
        .world
        .damage((&key.pk, &key.sk), "at", Some("yesterday"))
        .await;
    bench.sweep().await;
    assert_eq!(bench.told(), [[url("/b")]]);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_a_new_page_and_a_removal_are_told_of_and_a_first_load_is_not() {
    let engine = Engine::start().await;
    let clock = Clock::stopped(NOW);
    let options = Options {
        indexnow: Some(engine.endpoint.clone()),
        clock: clock.clone(),
        ..Options::default()
    };
    let key = settings(json!({"indexnow_key": KEY}));
    let records = [key, post("/a", 1), post("/b", 1), post("/same", 1)];
    let world = World::with(options, &records).await;
    clock.advance(3_600);
    world.put(&post("/a", 2)).await;
    world.put(&post("/c", 1)).await;
    world.put(&post("/same", 1)).await;
    world.delete("post/b").await;
    world.settle().await;
    let bench = Bench { world, engine };
    assert_eq!(bench.left().await.len(), 3);
    clock.advance(60);
    until("the engine is told", async || bench.left().await.is_empty()).await;
    assert_eq!(bench.told(), [[url("/a"), url("/b"), url("/c")]]);
    bench.stop().await;
}
