//! Doubles for tests of the protocols.

use std::fmt::{self, Debug, Formatter};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use objects::MemoryObjects;
use table::{
    Action, Condition, Item, MemoryTable, Name, Page, Query, Reply, Scan, Schema, Table,
    TableError, Update,
};

use crate::content::Content;
use crate::env::{Env, Environment};
use crate::metrics::Metrics;
use crate::reconcile::{KnownSites, Reconciler};
use crate::regenerate::Regenerator;
use crate::regenerate::index::IndexLimits;
use crate::rows::table::SitemapTable;

/// An environment whose time is constant, or advances whenever it is read. Its random numbers count up.
#[derive(Debug, Default)]
struct Still {
    random: AtomicU64,
    asked: AtomicU32,
    step: Duration,
    /// Seconds by which the clock has advanced.
    clock: Arc<AtomicI64>,
}

/// The initial time of the clock, in Unix seconds.
pub(crate) const NOW: i64 = 1_800_000_000;

impl Environment for Still {
    fn now(&self) -> i64 {
        NOW + self.clock.load(Ordering::Relaxed)
    }

    fn elapsed(&self) -> Duration {
        self.step * self.asked.fetch_add(1, Ordering::Relaxed)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    fn random(&self) -> u64 {
        self.random.fetch_add(1, Ordering::Relaxed)
    }
}

/// Returns an environment whose time is constant.
pub(crate) fn still() -> Env {
    Env::new(Still::default())
}

/// Returns an environment whose elapsed time advances by `step` whenever it is read.
pub(crate) fn stepping(step: Duration) -> Env {
    Env::new(Still {
        step,
        ..Still::default()
    })
}

/// Returns an environment whose clock has advanced by `clock` seconds.
pub(crate) fn clocked(clock: Arc<AtomicI64>) -> Env {
    Env::new(Still {
        clock,
        ..Still::default()
    })
}

/// A key and the condition of its delete.
type Delete = (Item, Option<Condition>);

/// A table in memory that keeps the last transaction and the last delete, so that a test can repeat them. It may also leave an
/// update unanswered, and execute another writer's update before one.
#[derive(Clone, Debug)]
pub(crate) struct Repeating {
    /// The actual table.
    pub(crate) table: MemoryTable,
    /// The last transaction.
    pub(crate) last: Arc<Mutex<Vec<Action>>>,
    /// The last delete.
    pub(crate) deleted: Arc<Mutex<Option<Delete>>>,
    /// Whether the sender of the next update gives up while it is under way.
    pub(crate) is_held: Arc<AtomicBool>,
    /// The update that is still under way.
    pub(crate) held: Arc<Mutex<Option<(Item, Update)>>>,
    /// Another writer's update that is executed just before the next one.
    pub(crate) overtaking: Arc<Mutex<Option<(Item, Update)>>>,
    /// The action that is executed just before the next transaction.
    pub(crate) before_commit: Arc<Mutex<Happening>>,
}

/// An action of a test, executed once.
#[derive(Default)]
pub(crate) struct Happening(pub(crate) Option<BoxFuture<'static, ()>>);

impl Debug for Happening {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Happening").finish_non_exhaustive()
    }
}

impl Default for Repeating {
    fn default() -> Self {
        Self {
            table: MemoryTable::new(Schema::of_texts(&["pk", "sk"])),
            last: Arc::default(),
            deleted: Arc::default(),
            is_held: Arc::default(),
            held: Arc::default(),
            overtaking: Arc::default(),
            before_commit: Arc::default(),
        }
    }
}

impl Repeating {
    /// Returns the engine's view of the table.
    pub(crate) fn engine(&self) -> SitemapTable {
        SitemapTable::new(Arc::new(self.clone()), still())
    }
}

impl Table for Repeating {
    fn get(&self, key: Item) -> Reply<'_, Option<Item>> {
        self.table.get(key)
    }

    fn batch_get(
        &self,
        keys: Vec<Item>,
        attributes: Option<Vec<Name>>,
    ) -> Reply<'_, (Vec<Item>, Vec<Item>)> {
        self.table.batch_get(keys, attributes)
    }

    fn query(&self, query: Query) -> Reply<'_, Page> {
        self.table.query(query)
    }

    fn scan(&self, scan: Scan) -> Reply<'_, Page> {
        self.table.scan(scan)
    }

    fn put(&self, item: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        self.table.put(item, condition)
    }

    fn update(&self, key: Item, update: Update, condition: Option<Condition>) -> Reply<'_, Item> {
        if self.is_held.swap(false, Ordering::SeqCst) {
            assert!(
                update.once,
                "the client tries it again, and one of both is late"
            );
            *self.held.lock().unwrap() = Some((key, update));
            let operation = "UpdateItem";
            let message = "no answer".to_owned();
            return Box::pin(async move { Err(TableError::Unavailable { operation, message }) });
        }
        let overtaking = self.overtaking.lock().unwrap().take();
        Box::pin(async move {
            if let Some((key, update)) = overtaking {
                self.table.update(key, update, None).await?;
            }
            self.table.update(key, update, condition).await
        })
    }

    fn delete(&self, key: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        *self.deleted.lock().unwrap() = Some((key.clone(), condition.clone()));
        self.table.delete(key, condition)
    }

    fn transact(&self, actions: Vec<Action>) -> Reply<'_, ()> {
        *self.last.lock().unwrap() = actions.clone();
        let before = self.before_commit.lock().unwrap().0.take();
        Box::pin(async move {
            if let Some(before) = before {
                before.await;
            }
            self.table.transact(actions).await
        })
    }
}

/// Returns an empty content table.
pub(crate) fn records() -> MemoryTable {
    MemoryTable::new(Schema::of_texts(&["id"]))
}

/// Returns a reconciler of these records.
pub(crate) fn reconciler(records: MemoryTable, table: SitemapTable, env: Env) -> Reconciler {
    Reconciler {
        content: Content::new(Arc::new(records), env.clone()),
        table,
        known: KnownSites::Any,
        env,
        metrics: Metrics::default(),
    }
}

/// Returns a regenerator of these rows, with a bucket in memory.
pub(crate) fn regenerator(table: SitemapTable, env: Env) -> Regenerator {
    Regenerator {
        reconciler: reconciler(records(), table, env),
        objects: Arc::new(MemoryObjects::default()),
        limits: IndexLimits::default(),
    }
}
