//! Tables and a bucket in memory, and the engine over them, in the order of a first load.
//!
//! - A site is on hold until all pages are placed, as at any first load: so nothing is published twice, and no search engine is
//!   notified.
//! - Pages are placed in the order in which they come. The scan of all content, which would take them in the table's order, is
//!   done before there is any.
//! - One thread does all of it, no time goes by and no number is drawn, so the same content gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::content::Content;
use engine::keys::{self, Subject};
use engine::metrics::Metrics;
use engine::reconcile::{KnownSites, Reconciler};
use engine::regenerate::index::IndexLimits;
use engine::regenerate::{Regenerator, subject};
use engine::stream::{Handled, StreamRecord};
use engine::{Env, Environment, SitemapTable};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use objects::{MemoryObjects, Objects};
use serde_json::Value as Json;
use sitemap::record::schema::FIELDS;
use sitemap::site::host_of_site_id;
use table::{Item, MemoryTable, Schema, Table, TableError, Value};

use super::error::BuildError;

/// Rounds of following changes. A few are needed. More mean that the changes never end, which is a bug.
const MAX_ROUNDS: usize = 1_000;

/// What follows from changes, each once.
type Changes = Arc<Mutex<BTreeMap<Subject, StreamRecord>>>;

/// A deployment in memory.
#[derive(Debug)]
pub struct World {
    content: MemoryTable,
    changes: Changes,
    regenerator: Regenerator,
    now: i64,
    /// The hosts that have a record of settings.
    settled: BTreeSet<String>,
}

/// A world without time and chance.
#[derive(Debug)]
struct Still {
    now: i64,
    counted: AtomicU64,
}

impl Environment for Still {
    fn now(&self) -> i64 {
        self.now
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    /// Numbers that look drawn (Steele, Lea and Flood: SplitMix): tokens have to differ, and slots are offered by chance.
    fn random(&self) -> u64 {
        let mut number = self
            .counted
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }
}

impl World {
    pub(super) async fn begin(now: i64) -> Result<Self, BuildError> {
        let env = Env::new(Still {
            now,
            counted: AtomicU64::new(1),
        });
        let changes = Changes::default();
        let noted = changes.clone();
        let rows = MemoryTable::watched(Schema::of_texts(&["pk", "sk"]), move |change| {
            let record = StreamRecord::from(&change);
            if let Some(subject) = subject(&record) {
                let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
                noted.insert(subject, record);
            }
        });
        let content = MemoryTable::new(Schema::of_texts(&["id"]));
        let world = Self {
            regenerator: Regenerator {
                reconciler: Reconciler {
                    content: Content::new(Arc::new(content.clone()), env.clone()),
                    table: SitemapTable::new(Arc::new(rows), env.clone()),
                    known: KnownSites::Any,
                    env,
                    metrics: Metrics::default(),
                },
                objects: Arc::new(MemoryObjects::default()),
                limits: IndexLimits::default(),
            },
            content,
            changes,
            now,
            settled: BTreeSet::new(),
        };
        let table = &world.regenerator.reconciler.table;
        table.begin_content_scan(None).await?;
        world.follow(|_| true).await?;
        Ok(world)
    }

    /// Writes a record. An error is why the table does not take it.
    pub(super) fn put(&self, record: &Json) -> Result<(), String> {
        // Whatever is in memory answers at once.
        match self.content.put(item(record), None).now_or_never() {
            Some(Ok(())) => Ok(()),
            Some(Err(TableError::Refused { message, .. })) => Err(message),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("the table in memory does not answer".to_owned()),
        }
    }

    /// Takes over settings.
    pub(super) async fn settle(&mut self, ids: &[String]) -> Result<(), BuildError> {
        for id in ids {
            if let Some(host) = host_of_site_id(id) {
                self.settled.insert(host.to_owned());
                self.regenerator.reconciler.reconcile_site(host).await?;
            }
        }
        self.place(ids).await
    }

    /// Reconciles records, as the scan of a first load does.
    pub(super) async fn place(&self, ids: &[String]) -> Result<(), BuildError> {
        let pages: Vec<String> = ids.iter().map(|id| keys::page(id, 1)).collect();
        let outcomes = self.regenerator.reconciler.reconcile_quietly(&pages).await;
        for (id, outcome) in ids.iter().zip(outcomes) {
            match outcome {
                // As everywhere: it holds up no other.
                Err(error) if error.is_permanent() => {
                    crate::terminal::output::note(format!(
                        "waymark: {id} cannot be listed: {error}"
                    ));
                }
                outcome => drop(outcome?),
            }
        }
        Ok(())
    }

    /// Publishes all that was placed.
    pub(super) async fn publish(&self) -> Result<(), BuildError> {
        // First what pages are to each other, while their sites are on hold.
        self.follow(|subject| {
            !matches!(
                subject,
                Subject::Segment(..)
                    | Subject::Summary(_)
                    | Subject::Site(_)
                    | Subject::SiteScan(_)
            )
        })
        .await?;
        // A site's scan publishes every shard, from rows that it reads after this.
        self.lock()
            .retain(|subject, _| !matches!(subject, Subject::Segment(..)));
        self.follow(|subject| matches!(subject, Subject::SiteScan(_)))
            .await?;
        self.follow(|_| true).await
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Subject, StreamRecord>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the changes of some kind and what follows from them, until no change of that kind is left.
    async fn follow(&self, is_due: impl Fn(&Subject) -> bool) -> Result<(), BuildError> {
        for _ in 0..MAX_ROUNDS {
            let due: Vec<StreamRecord> = {
                let mut changes = self.lock();
                let due = changes.extract_if(.., |subject, _| is_due(subject));
                due.map(|(_, record)| record).collect()
            };
            if due.is_empty() {
                return Ok(());
            }
            // Nothing fails in memory for a reason that passes.
            if self.regenerator.regenerate(&due).await != Handled::All {
                return Err(BuildError::Stuck(due.len()));
            }
        }
        Err(BuildError::Stuck(self.lock().len()))
    }

    /// Returns the reconciler, which has the tables.
    #[must_use]
    pub fn reconciler(&self) -> &Reconciler {
        &self.regenerator.reconciler
    }

    /// Returns the bucket.
    #[must_use]
    pub fn objects(&self) -> Arc<dyn Objects> {
        self.regenerator.objects.clone()
    }

    /// Returns the hosts that have a record of settings.
    pub(super) fn settled(&self) -> &BTreeSet<String> {
        &self.settled
    }

    pub(super) fn now(&self) -> i64 {
        self.now
    }
}

/// Converts a record to an item. A known field name takes no memory.
fn item(record: &Json) -> Item {
    let fields = record.as_object().into_iter().flatten();
    let field = |(name, field): (&String, &Json)| {
        let known = FIELDS.iter().find(|known| known.name == name);
        let name = known.map_or_else(|| name.clone().into(), |known| known.name.into());
        (name, value(field))
    };
    fields.map(field).collect()
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::number(number),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(values) => Value::List(values.iter().map(value).collect()),
        Json::Object(fields) => {
            let field = |(name, field): (&String, &Json)| (name.clone(), value(field));
            Value::Map(fields.iter().map(field).collect())
        }
    }
}
