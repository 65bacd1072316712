//! Tests which changes are sent to search engines, and when. `tests/whole/notices.rs` tests failures of the engines over HTTP.
//!
//! The sweep is called directly, with a fixed clock.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use engine::content::NO_SOURCE;
use engine::keys::{self, Mark};
use engine::reconcile::{KnownSites, Reconciler};
use engine::rows::site::Hold;
use engine::sweep::notices::{Answer, SearchEngines};
use engine::sweep::sweep;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use futures::join;
use serde_json::{Value, json};
use sitemap::site::SiteSettings;
use table::Item;

use super::calls::{Poison, Watcher};
use super::harness::{Options, World, simulated};
use crate::deployment::PLAIN;
use crate::records::{SITE, post, settings};
use crate::runtime::{BEGINNING, Sim};

/// A host that is a site in some tests.
const OTHER: &str = "blog.example.com";
const KEY: &str = "0123456789abcdef";
/// The initial time of the clock, in Unix seconds.
const NOW: i64 = BEGINNING;

/// The reply to one request.
#[derive(Debug)]
enum Reply {
    /// This answer.
    AtOnce(Answer),
    /// The request is accepted, once this is sent.
    Held(oneshot::Receiver<()>),
}

/// A search engine. It accepts every request without a prescribed reply.
#[derive(Debug, Default)]
struct Engine {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Value>>,
}

impl Engine {
    /// Prescribes the reply to the next request without one.
    fn answer(&self, reply: Reply) {
        self.replies.lock().unwrap().push_back(reply);
    }

    /// Returns the requests since the last call.
    fn requests(&self) -> Vec<Value> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }

    /// Returns whether there was a request since the last call.
    fn was_called(&self) -> bool {
        !self.requests.lock().unwrap().is_empty()
    }
}

impl SearchEngines for Engine {
    fn post(&self, json: String, _: i64) -> BoxFuture<'_, Answer> {
        let request = serde_json::from_str(&json).unwrap();
        self.requests.lock().unwrap().push(request);
        let reply = self.replies.lock().unwrap().pop_front();
        Box::pin(async {
            match reply {
                None => Answer::Taken,
                Some(Reply::AtOnce(answer)) => answer,
                Some(Reply::Held(sent)) => {
                    sent.await.unwrap();
                    Answer::Taken
                }
            }
        })
    }
}

/// Returns the URLs of a request, in order.
fn urls(request: &Value) -> Vec<String> {
    let urls = request["urlList"].as_array().unwrap().iter();
    let mut urls: Vec<_> = urls.map(|url| url.as_str().unwrap().to_owned()).collect();
    urls.sort();
    urls
}

/// A deployment whose functions do not run, with a released site that has a key.
struct Bench {
    world: World,
    engine: Arc<Engine>,
}

impl Bench {
    async fn start(sim: &Sim) -> Self {
        let bench = Self::on_hold(sim, json!({"indexnow_key": KEY})).await;
        bench.release(SITE).await;
        bench
    }

    async fn on_hold(sim: &Sim, fields: Value) -> Self {
        sim.stop_clock();
        let bench = Self {
            world: World::idle(sim, Options::default()),
            engine: Arc::default(),
        };
        bench.create(SITE, fields).await;
        bench
    }

    /// Makes a host a site.
    async fn create(&self, host: &str, fields: Value) {
        let mut record = settings(fields);
        record["id"] = json!(format!("site/{host}"));
        self.world.put(&record).await;
        let settings = SiteSettings::parse(host, &record).unwrap();
        let table = &self.world.reconciler().table;
        table.create_site(&settings, NO_SOURCE, NOW).await.unwrap();
    }

    async fn release(&self, host: &str) {
        let table = &self.world.reconciler().table;
        for (from, to) in [
            (Hold::Loading, Hold::Publishing),
            (Hold::Publishing, Hold::Released),
        ] {
            table.move_hold(host, from, to).await.unwrap();
        }
    }

    /// Writes the notices of a change of these paths this number of seconds ago.
    async fn changed(&self, paths: &[&str], seconds_ago: i64) {
        let urls: Vec<String> = paths.iter().map(|path| url(path)).collect();
        let at = self.world.clock.now() - seconds_ago;
        self.put_notices(SITE, &urls, at).await;
    }

    async fn put_notices(&self, host: &str, urls: &[String], at: i64) {
        for loc in urls {
            let key = keys::notice(host, loc);
            let row = Item::new().with("pk", key.pk).with("sk", key.sk);
            let row = row.with("loc", loc).with("at", at);
            self.world.put_row(row).await;
        }
        // As `regenerate` does when it publishes the change.
        let key = keys::mark(Mark::Notices, host);
        let mark = Item::new().with("pk", key.pk).with("sk", key.sk);
        self.world.put_row(mark.with("token", "t")).await;
    }

    async fn sweep(&self) {
        self.sweep_to(Some(&*self.engine)).await;
    }

    async fn sweep_to(&self, engines: Option<&dyn SearchEngines>) {
        let reconciler = Reconciler {
            known: KnownSites::Only(vec![SITE.to_owned(), OTHER.to_owned()]),
            ..self.world.reconciler().clone()
        };
        let swept = sweep(
            &reconciler,
            self.world.objects(),
            PLAIN.audit_times(),
            engines,
        );
        assert!(swept.await.unwrap(), "another sweep is under way");
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

    /// Returns the URLs of the requests since the last call.
    fn told(&self) -> Vec<Vec<String>> {
        self.engine.requests().iter().map(urls).collect()
    }

    fn stop(self) {
        self.world.stop();
    }
}

fn url(path: &str) -> String {
    format!("https://{SITE}{path}")
}

#[test]
fn a_url_that_changes_while_it_is_told_of_is_told_of_again() {
    simulated(async |sim| {
        let bench = Bench::start(&sim).await;
        bench.changed(&["/a", "/b"], 100).await;
        let (send, sent) = oneshot::channel();
        bench.engine.answer(Reply::Held(sent));
        let change = async {
            let called = async || bench.engine.was_called();
            bench.world.until("the engine is called", called).await;
            bench.changed(&["/a"], 0).await;
            send.send(()).unwrap();
        };
        join!(bench.sweep(), change);
        assert_eq!(bench.told(), [[url("/a"), url("/b")]]);
        assert_eq!(bench.left().await, [(url("/a"), NOW)]);
        bench.world.clock.leap(60);
        bench.sweep().await;
        assert_eq!(bench.told(), [[url("/a")]]);
        bench.stop();
    });
}

#[test]
fn a_url_that_changes_often_is_told_of_once() {
    simulated(async |sim| {
        let bench = Bench::start(&sim).await;
        for seconds_ago in [900, 300, 100] {
            bench.changed(&["/a"], seconds_ago).await;
        }
        bench.sweep().await;
        assert_eq!(bench.told(), [[url("/a")]]);
        bench.stop();
    });
}

#[test]
fn no_request_tells_of_more_than_10_000_urls() {
    simulated(async |sim| {
        let bench = Bench::start(&sim).await;
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
        bench.stop();
    });
}

#[test]
fn nothing_is_told_on_hold() {
    simulated(async |sim| {
        let bench = Bench::on_hold(&sim, json!({"indexnow_key": KEY})).await;
        bench.changed(&["/a"], 100).await;
        bench.sweep().await;
        assert!(!bench.engine.was_called());
        assert_eq!(bench.left().await.len(), 1);
        bench.release(SITE).await;
        bench.sweep().await;
        assert_eq!(bench.told(), [[url("/a")]]);
        bench.stop();
    });
}

#[test]
fn what_nobody_may_be_told_of_is_dropped() {
    simulated(async |sim| {
        let keyed = || json!({"indexnow_key": KEY});
        for (fields, endpoint) in [
            (json!({}), true),
            (json!({"indexnow_key": KEY, "public": false}), true),
            (keyed(), false),
        ] {
            let bench = Bench::on_hold(&sim, fields).await;
            bench.release(SITE).await;
            let paths: Vec<String> = (0..50).map(|n| format!("/{n}")).collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            bench.changed(&paths, 100).await;
            let engines = endpoint.then_some(&*bench.engine as &dyn SearchEngines);
            bench.sweep_to(engines).await;
            assert!(!bench.engine.was_called());
            assert_eq!(bench.left().await, []);
            // No further notices of the site are read.
            bench.sweep_to(engines).await;
            let marks = bench
                .world
                .rows(&keys::marks_partition(Mark::Notices))
                .await;
            assert!(marks.is_empty(), "{marks:?}");
            bench.stop();
        }
    });
}

#[test]
fn what_is_no_longer_news_is_dropped_untold() {
    simulated(async |sim| {
        let bench = Bench::start(&sim).await;
        bench.changed(&["/old"], 48 * 3_600 + 1).await;
        bench.changed(&["/new"], 48 * 3_600).await;
        bench.sweep().await;
        assert_eq!(bench.told(), [[url("/new")]]);
        assert_eq!(bench.left().await, []);
        bench.stop();
    });
}

#[test]
fn each_site_is_told_of_by_its_own_key_and_none_holds_up_another() {
    simulated(async |sim| {
        let bench = Bench::start(&sim).await;
        bench
            .create(OTHER, json!({"indexnow_key": "another-key"}))
            .await;
        bench.release(OTHER).await;
        bench.changed(&["/a"], 100).await;
        let later = Answer::Later {
            reason: "status 429".to_owned(),
            after: None,
        };
        bench.engine.answer(Reply::AtOnce(later));
        bench.sweep().await;
        assert_eq!(bench.told(), [[url("/a")]]);
        let other = format!("https://{OTHER}/x");
        bench
            .put_notices(OTHER, std::slice::from_ref(&other), NOW - 100)
            .await;
        bench.sweep().await;
        let requests = bench.engine.requests();
        assert_eq!(requests.len(), 1, "the first site's pause is its own");
        assert_eq!(urls(&requests[0]), [other]);
        assert_eq!(requests[0]["host"], OTHER);
        assert_eq!(requests[0]["key"], "another-key");
        bench.stop();
    });
}

#[test]
fn a_damaged_notice_harms_no_other() {
    simulated(async |sim| {
        let bench = Bench::start(&sim).await;
        bench.changed(&["/a", "/b"], 100).await;
        let key = keys::notice(SITE, &url("/a"));
        bench
            .world
            .damage((&key.pk, &key.sk), "at", Some("yesterday"))
            .await;
        bench.sweep().await;
        assert_eq!(bench.told(), [[url("/b")]]);
        bench.stop();
    });
}

#[test]
fn an_edit_a_new_page_and_a_removal_are_told_of_and_a_first_load_is_not() {
    simulated(async |sim| {
        sim.stop_clock();
        // Without the clock's sweeps, which notify nobody.
        let options = Options {
            sweeps: false,
            ..Options::default()
        };
        let key = settings(json!({"indexnow_key": KEY}));
        let records = [key, post("/a", 1), post("/b", 1), post("/same", 1)];
        let world = World::with(&sim, options, &records).await;
        sim.leap(3_600);
        world.put(&post("/a", 2)).await;
        world.put(&post("/c", 1)).await;
        world.put(&post("/same", 1)).await;
        world.delete("post/b").await;
        world.settle().await;
        let engine = Arc::default();
        let bench = Bench { world, engine };
        assert_eq!(bench.left().await.len(), 3);
        sim.leap(60);
        bench.sweep().await;
        assert_eq!(bench.left().await, []);
        assert_eq!(bench.told(), [[url("/a"), url("/b"), url("/c")]]);
        bench.stop();
    });
}

/// A removal needs its site's row only to know whether search engines are notified. If the row cannot be read, the removal must wait.
#[test]
fn a_removal_is_told_of_although_its_sites_row_could_not_be_read_at_first() {
    simulated(async |sim| {
        let bench = Bench::start(&sim).await;
        let page = ["post/a".to_owned()];
        let reconcile = async |watcher: Option<Arc<dyn Watcher>>| {
            let functions = bench.world.functions(watcher);
            functions.reconciler.reconcile(&page, None).await
        };
        bench.world.put(&post("/a", 1)).await;
        assert!(reconcile(None).await.iter().all(Result::is_ok));
        for notice in bench.world.rows("NOTICE#").await.into_keys() {
            bench.world.delete_row(&notice.0, &notice.1).await;
        }
        bench.world.delete("post/a").await;
        let poison = Poison {
            operation: "GetItem",
            names: format!("SITE#{SITE}"),
        };
        assert!(
            reconcile(Some(Arc::new(poison)))
                .await
                .iter()
                .all(Result::is_err)
        );
        assert!(reconcile(None).await.iter().all(Result::is_ok));
        assert_eq!(bench.left().await, [(url("/a"), NOW)]);
        bench.stop();
    });
}
