//! Rows, their events, and a store, in memory. Each call of the table and the store is a moment at which others may go on, and each
//! update may fail before or after it happened.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::task::Poll;
use std::time::Duration;

use edge::entry::Place;
use edge::{Changes, Described, Keeper, MemoryStore, Pairs, Reply, Store, StoreError};
use engine::stream::{EventName, StreamRecord};
use engine::{Env, Environment, SitemapTable, keys};
use futures::future::BoxFuture;
use objects::{Document, MemoryObjects, ObjectKey, Objects, Precondition, Put};
use serde_json::{Value, json};
use sitemap::site::SiteSettings;
use table::{Action, Condition, Item, MemoryTable, Name, Page, Query, Scan, Schema, Table, Update};

/// The only site of a world.
pub(crate) const SITE: &str = "www.example.com";

/// Ends when it is polled again.
async fn pause() {
    let mut is_first = true;
    poll_fn(move |context| {
        if std::mem::take(&mut is_first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

/// A time that only the test changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(pub(crate) Arc<AtomicI64>);

impl Environment for Clock {
    fn now(&self) -> i64 {
        1_800_000_000
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.0.load(Ordering::Relaxed)).unwrap_or_default())
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(pause())
    }

    fn random(&self) -> u64 {
        7
    }
}

/// A table that lets others go on before and after each read.
#[derive(Clone)]
struct Rows(MemoryTable);

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows")
    }
}

impl Table for Rows {
    fn get(&self, key: Item) -> table::Reply<'_, Option<Item>> {
        Box::pin(async move {
            pause().await;
            let item = self.0.get(key).await;
            pause().await;
            item
        })
    }

    fn query(&self, query: Query) -> table::Reply<'_, Page> {
        Box::pin(async move {
            pause().await;
            let page = self.0.query(query).await;
            pause().await;
            page
        })
    }

    fn batch_get(
        &self,
        keys: Vec<Item>,
        attributes: Option<Vec<Name>>,
    ) -> table::Reply<'_, (Vec<Item>, Vec<Item>)> {
        self.0.batch_get(keys, attributes)
    }

    fn scan(&self, scan: Scan) -> table::Reply<'_, Page> {
        self.0.scan(scan)
    }

    fn put(&self, item: Item, condition: Option<Condition>) -> table::Reply<'_, ()> {
        self.0.put(item, condition)
    }

    fn update(
        &self,
        key: Item,
        update: Update,
        condition: Option<Condition>,
    ) -> table::Reply<'_, Item> {
        self.0.update(key, update, condition)
    }

    fn delete(&self, key: Item, condition: Option<Condition>) -> table::Reply<'_, ()> {
        self.0.delete(key, condition)
    }

    fn transact(&self, actions: Vec<Action>) -> table::Reply<'_, ()> {
        self.0.transact(actions)
    }
}

/// What becomes of the next update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fault {
    None,
    /// It fails, and does not happen.
    Before,
    /// It happens, and its answer is lost.
    After,
}

/// A store that lets others go on, and fails once on demand.
#[derive(Debug)]
struct Flaky {
    store: MemoryStore,
    fault: Arc<AtomicU8>,
}

impl Store for Flaky {
    fn describe(&self) -> Reply<'_, Described> {
        Box::pin(async {
            pause().await;
            let described = self.store.describe().await;
            pause().await;
            described
        })
    }

    fn update<'a>(&'a self, etag: &'a str, changes: &'a Changes) -> Reply<'a, Described> {
        Box::pin(async move {
            pause().await;
            let fault = self.fault.swap(Fault::None as u8, Ordering::Relaxed);
            let failed = || StoreError::Unavailable {
                operation: "UpdateKeys",
                message: "a test's fault".to_owned(),
            };
            if fault == Fault::Before as u8 {
                return Err(failed());
            }
            let updated = self.store.update(etag, changes).await;
            pause().await;
            if fault == Fault::After as u8 {
                Err(failed())
            } else {
                updated
            }
        })
    }

    fn list(&self, after: Option<String>) -> Reply<'_, (Pairs, Option<String>)> {
        Box::pin(async move {
            pause().await;
            self.store.list(after).await
        })
    }
}

/// How a site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Open,
    Private,
    OnHold,
    WithoutDepartures,
    Http,
    Absent,
}

/// Rows, the events of their changes, and a store.
pub(crate) struct World {
    rows: MemoryTable,
    pub(crate) store: MemoryStore,
    pub(crate) fault: Arc<AtomicU8>,
    pub(crate) clock: Clock,
    pub(crate) keeper: Keeper,
    /// The events that were not yet delivered.
    pub(crate) events: Vec<StreamRecord>,
    /// How many events there were.
    sequence: usize,
    /// What the rows ask for.
    pub(crate) wanted: BTreeMap<String, String>,
}

impl World {
    pub(crate) fn new(store: MemoryStore) -> Self {
        let (fault, clock) = (Arc::new(AtomicU8::new(0)), Clock::default());
        let rows = MemoryTable::new(Schema::of_texts(&["pk", "sk"]));
        let env = Env::new(clock.clone());
        let flaky = Flaky {
            store: store.clone(),
            fault: Arc::clone(&fault),
        };
        let keeper = Keeper {
            table: SitemapTable::new(Arc::new(Rows(rows.clone())), env.clone()),
            store: Arc::new(flaky),
            env,
        };
        Self {
            rows,
            store,
            fault,
            clock,
            keeper,
            events: Vec::new(),
            sequence: 0,
            wanted: BTreeMap::new(),
        }
    }

    fn happened(&mut self, key: &keys::Key) {
        self.sequence += 1;
        self.events.push(StreamRecord {
            key: Item::from(key),
            event: EventName::Modify,
            sequence_number: self.sequence.to_string(),
            ..StreamRecord::default()
        });
    }

    /// Writes the row of an address: to a departure as rows have it, or `None` to delete the row.
    pub(crate) async fn departs(&mut self, loc: &str, departure: Option<Value>) {
        let key = keys::departed(SITE, loc);
        let place = Place::of_address(SITE, loc).key();
        match departure {
            None => {
                self.rows
                    .delete(Item::from(&key), None)
                    .await
                    .expect("in memory");
                self.wanted.remove(&place);
            }
            Some(departure) => {
                let value = match departure["moved_to"].as_str() {
                    Some(target) => target.to_owned(),
                    None => "gone".to_owned(),
                };
                let row = Item::from(&key).with("owner", "page/1").with("loc", loc);
                let row = row.with("departure", departure.to_string());
                self.rows.put(row, None).await.expect("in memory");
                if value.len() <= 1_024 && loc.starts_with("https:") {
                    self.wanted.insert(place, value);
                } else {
                    self.wanted.remove(&place);
                }
            }
        }
        self.happened(&key);
    }

    /// Writes a row that has a file of departures published.
    pub(crate) async fn calls(&mut self) {
        let key = keys::departure_call(SITE, 1);
        self.rows
            .put(Item::from(&key).with("token", "t"), None)
            .await
            .expect("in memory");
        self.happened(&key);
    }

    /// Writes the site's row.
    pub(crate) async fn site(&mut self, kind: Kind, max_age: u32) {
        let key = keys::site(SITE);
        self.wanted.remove(SITE);
        if kind == Kind::Absent {
            self.rows
                .delete(Item::from(&key), None)
                .await
                .expect("in memory");
            self.happened(&key);
            return;
        }
        let mut record = json!({"moved_max_age": max_age, "public": kind != Kind::Private});
        if kind == Kind::Http {
            record["base_url"] = json!(format!("http://{SITE}"));
        }
        let settings = SiteSettings::parse(SITE, &record).expect("in memory");
        assert!(settings.problems.is_empty(), "{:?}", settings.problems);
        let mut row = Item::from(&key)
            .with("epoch", 1)
            .with("version", 1)
            .with("render", 1)
            .with(
                "settings",
                serde_json::to_string(&settings).expect("in memory"),
            )
            .with("closings", "{}");
        if kind == Kind::OnHold {
            row = row.with("hold", "publishing");
        }
        if kind != Kind::WithoutDepartures {
            row = row.with("departures", true);
        }
        self.rows.put(row, None).await.expect("in memory");
        if kind == Kind::Open {
            self.wanted.insert(SITE.to_owned(), max_age.to_string());
        }
        self.happened(&key);
    }

    /// Spoils the row of the site or of an address.
    pub(crate) async fn damage(&mut self, key: &keys::Key) {
        self.rows
            .put(Item::from(key).with("epoch", "x"), None)
            .await
            .expect("in memory");
        self.happened(key);
    }

    /// Returns a bucket with an object of the site, by which a repair finds it.
    pub(crate) async fn bucket() -> MemoryObjects {
        let objects = MemoryObjects::default();
        let site = SITE.to_owned();
        let document = Document {
            digest: String::new(),
            changed: 0,
            bytes: 1,
            entries: 0,
            stamp: "0-1".to_owned(),
        };
        let key = ObjectKey::SiteFile { site };
        let put = objects.put(&key, "x".into(), &document, &Precondition::Absent);
        assert_eq!(put.await.expect("in memory"), Put::Done);
        objects
    }
}
