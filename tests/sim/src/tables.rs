//! A table and a bucket whose calls take time and fail.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::stream;
use objects::{
    BodyStream, Document, MemoryObjects, ObjectError, ObjectKey, ObjectMeta, Objects, Precondition,
    Put,
};
use table::{
    Action, Condition, Item, MemoryTable, Name, Page, Query, Reason, Reply, Scan, Table,
    TableError, Update,
};

use crate::faults::{Fate, Faults};
use crate::runtime::digest_of;
use crate::throughput::{Kind, Load, Throughput, cost};
use crate::watch::Watch;

/// The message of a table without throughput.
const TOO_MANY: &str = "the throughput is used up";
/// The cost of reading nothing.
const NOTHING_READ: u64 = 2;
/// The client's retries after throttling.
const TRIES_OF_TOO_MANY: u32 = 2;
const TRANSACTION: &str = "TransactWriteItems";

/// A table behind a network.
#[derive(Clone, Debug)]
pub struct SimTable {
    /// The actual table.
    pub table: MemoryTable,
    faults: Faults,
    throughput: Throughput,
    watch: Option<Watch>,
}

/// A bucket behind a network.
#[derive(Clone, Debug)]
pub struct SimObjects {
    /// The actual bucket.
    pub objects: MemoryObjects,
    faults: Faults,
    asked: Arc<Asked>,
    watch: Option<Watch>,
}

/// The requests of a bucket so far.
#[derive(Debug, Default)]
struct Asked {
    puts: AtomicU64,
    /// Puts that lost to another one.
    lost: AtomicU64,
    /// GET and HEAD, which have the same price.
    reads: AtomicU64,
    lists: AtomicU64,
}

impl SimTable {
    /// Returns a table over this one, with these faults and this throughput.
    #[must_use]
    pub fn new(table: MemoryTable, faults: Faults, throughput: Throughput) -> Self {
        Self {
            table,
            faults,
            throughput,
            watch: None,
        }
    }

    /// Returns the same table, whose writes are checked by `watch`.
    #[must_use]
    pub(crate) fn watched(self, watch: Option<Watch>) -> Self {
        Self { watch, ..self }
    }

    /// Returns the digest of a partition key.
    fn partition(&self, key: &Item) -> u64 {
        digest_of(&key.get(self.table.partition_name()))
    }

    fn read_of<'k>(&self, keys: impl IntoIterator<Item = &'k Item>) -> Load {
        let keys = keys.into_iter().map(|key| (self.partition(key), 0));
        Load {
            kind: Kind::Read,
            keys: keys.collect(),
        }
    }

    /// Returns the cost of an item's write, from the sizes of the item before and approximately after it.
    fn write_cost(&self, key: &Item, bytes: usize) -> (u64, u64) {
        let bytes = bytes.max(self.table.bytes_of(key));
        (self.partition(key), cost(Kind::Write, bytes))
    }

    fn write_of(&self, key: &Item, bytes: usize) -> Load {
        Load {
            kind: Kind::Write,
            keys: vec![self.write_cost(key, bytes)],
        }
    }

    fn transaction_of(&self, actions: &[Action]) -> Load {
        let cost = |action: &Action| {
            let (partition, cost) = match action {
                Action::Put { item, .. } => self.write_cost(item, item.bytes()),
                Action::Update { key, update, .. } => self.write_cost(key, update_bytes(update)),
                Action::Delete { key, .. } | Action::Check { key, .. } => self.write_cost(key, 0),
            };
            // It is prepared, and then executed.
            (partition, 2 * cost)
        };
        Load {
            kind: Kind::Write,
            keys: actions.iter().map(cost).collect(),
        }
    }

    fn call<'a, R, T, F>(
        &'a self,
        fate: (Fate, bool),
        operation: &'static str,
        load: Load,
        request: R,
        call: impl Fn(MemoryTable, R) -> F + Copy + Send + Sync + 'static,
        read: impl Fn(&T) -> u64 + Copy + Send + Sync + 'static,
    ) -> Reply<'a, T>
    where
        R: Clone + Hash + Send + Sync + 'static,
        T: Hash + Send + 'static,
        F: Future<Output = Result<T, TableError>> + Send + 'static,
    {
        let message = || "simulated".to_owned();
        let unavailable = move || TableError::Unavailable {
            operation,
            message: message(),
        };
        let throttled = move || TableError::Throttled {
            operation,
            message: message(),
        };
        let noted = digest_of(&(operation, &request));
        let (table, throughput) = (self.table.clone(), self.throughput.clone());
        let watch = self.watch.clone();
        let call = move || {
            let is_taken = throughput.admits(&load);
            let (throughput, load) = (throughput.clone(), load.clone());
            let watch = watch.clone();
            let call = is_taken.then(|| call(table.clone(), request.clone()));
            async move {
                let Some(call) = call else {
                    return Err(too_many(operation, load.keys.len()));
                };
                if let Some(watch) = &watch {
                    watch.forget();
                }
                let answer = call.await;
                if let Some(watch) = &watch {
                    watch.look_at_rows().await;
                }
                throughput.take(&load, answer.as_ref().map_or(0, read));
                answer
            }
        };
        Box::pin(carried(
            &self.faults,
            fate,
            noted,
            call,
            unavailable,
            throttled,
            |error| matches!(error, TableError::Throttled { message, .. } if message == TOO_MANY),
        ))
    }
}

/// Returns the answer to a call without throughput. A client does not retry a transaction.
fn too_many(operation: &'static str, actions: usize) -> TableError {
    if operation == TRANSACTION {
        let mut reasons = vec![Reason::Innocent; actions];
        reasons[0] = Reason::Throttled;
        return TableError::Cancelled { reasons };
    }
    TableError::Throttled {
        operation,
        message: TOO_MANY.to_owned(),
    }
}

/// Returns the approximate number of bytes that an update writes.
fn update_bytes(update: &Update) -> usize {
    let values = update.set.iter().chain(&update.set_missing);
    values.map(|(name, value)| name.len() + value.bytes()).sum()
}

fn item_cost(item: &Item) -> u64 {
    cost(Kind::Read, item.bytes())
}

/// Returns the cost of a page, which is read as a whole.
fn page_cost(page: &Page) -> u64 {
    cost(Kind::Read, page.items.iter().map(Item::bytes).sum())
}

/// Carries a call to a service and its answer back. The outcome, and whether the client retries, are drawn. `noted` is the
/// request's part of the digest.
async fn carried<T, E, F>(
    faults: &Faults,
    (fate, is_tried_again): (Fate, bool),
    noted: u64,
    call: impl Fn() -> F + Clone + Send + Sync + 'static,
    unavailable: impl Fn() -> E,
    throttled: impl Fn() -> E,
    is_too_many: impl Fn(&E) -> bool,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>> + Send + 'static,
    T: Hash + Send + 'static,
    E: Hash + Send + 'static,
{
    let sim = &faults.sim;
    sim.note_call(noted);
    faults.way().await;
    let answer = match fate {
        Fate::Done => call().await,
        Fate::Throttled => Err(throttled()),
        Fate::FailedBefore => Err(unavailable()),
        Fate::FailedAfter => {
            drop(call().await);
            Err(unavailable())
        }
        Fate::Unanswered => {
            drop(call().await);
            faults.patience().await;
            Err(unavailable())
        }
        Fate::Late => {
            let late = faults.clone();
            let call = call.clone();
            let replaced = faults.replaced();
            drop(sim.spawn(async move {
                late.late().await;
                if late.replaced() == replaced {
                    drop(call().await);
                }
            }));
            faults.patience().await;
            Err(unavailable())
        }
    };
    let mut answer = if is_tried_again {
        faults.pause().await;
        call().await
    } else {
        answer
    };
    for _ in 0..TRIES_OF_TOO_MANY {
        if answer.as_ref().err().is_some_and(&is_too_many) {
            faults.pause().await;
            answer = call().await;
        }
    }
    faults.way().await;
    sim.note(digest_of(&(fate, &answer)));
    answer
}

impl Table for SimTable {
    fn get(&self, key: Item) -> Reply<'_, Option<Item>> {
        self.call(
            self.faults.draw(),
            "GetItem",
            self.read_of([&key]),
            key,
            |table, key| async move { table.get(key).await },
            |item| item.as_ref().map_or(NOTHING_READ, item_cost),
        )
    }

    fn batch_get(
        &self,
        keys: Vec<Item>,
        attributes: Option<Vec<Name>>,
    ) -> Reply<'_, (Vec<Item>, Vec<Item>)> {
        let mut keys = keys;
        // A part is left for another call.
        let left = if keys.len() > 1 && self.faults.happens() {
            keys.split_off(keys.len() / 2)
        } else {
            Vec::new()
        };
        self.call(
            self.faults.draw(),
            "BatchGetItem",
            self.read_of(&keys),
            (keys, attributes, left),
            |table, (keys, attributes, left)| async move {
                let (found, mut more) = table.batch_get(keys, attributes).await?;
                more.extend(left);
                Ok((found, more))
            },
            |(found, _)| found.iter().map(item_cost).sum::<u64>().max(NOTHING_READ),
        )
    }

    fn query(&self, query: Query) -> Reply<'_, Page> {
        self.call(
            self.faults.draw(),
            "Query",
            Load {
                kind: Kind::Read,
                keys: vec![(digest_of(&Some(&query.partition)), 0)],
            },
            query,
            |table, query| async move { table.query(query).await },
            page_cost,
        )
    }

    fn scan(&self, scan: Scan) -> Reply<'_, Page> {
        let is_consistent = scan.consistent;
        self.call(
            self.faults.draw(),
            "Scan",
            self.read_of([]),
            scan,
            |table, scan| async move { table.scan(scan).await },
            move |page| page_cost(page) / if is_consistent { 1 } else { 2 },
        )
    }

    fn put(&self, item: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        self.call(
            self.faults.draw(),
            "PutItem",
            self.write_of(&item, item.bytes()),
            (item, condition),
            |table, (item, condition)| async move { table.put(item, condition).await },
            |()| 0,
        )
    }

    fn update(&self, key: Item, update: Update, condition: Option<Condition>) -> Reply<'_, Item> {
        let (fate, is_tried_again) = self.faults.draw();
        let fate = (fate, is_tried_again && !update.once);
        self.call(
            fate,
            "UpdateItem",
            self.write_of(&key, update_bytes(&update)),
            (key, update, condition),
            |table, (key, update, condition)| async move { table.update(key, update, condition).await },
            |_| 0,
        )
    }

    fn delete(&self, key: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        self.call(
            self.faults.draw(),
            "DeleteItem",
            self.write_of(&key, 0),
            (key, condition),
            |table, (key, condition)| async move { table.delete(key, condition).await },
            |()| 0,
        )
    }

    fn transact(&self, actions: Vec<Action>) -> Reply<'_, ()> {
        // The transaction conflicts with another write of one of the items.
        let conflict = self.faults.conflicts();
        self.call(
            self.faults.draw(),
            TRANSACTION,
            self.transaction_of(&actions),
            (actions, conflict),
            |table, (actions, conflict)| async move {
                if conflict {
                    let mut reasons = vec![Reason::Innocent; actions.len()];
                    reasons[0] = Reason::Conflict;
                    return Err(TableError::Cancelled { reasons });
                }
                table.transact(actions).await
            },
            |()| 0,
        )
    }
}

impl SimObjects {
    /// Returns a bucket over this one, with these faults.
    #[must_use]
    pub fn new(objects: MemoryObjects, faults: Faults) -> Self {
        Self {
            objects,
            faults,
            asked: Arc::default(),
            watch: None,
        }
    }

    /// Returns the same bucket, whose puts are checked by `watch`.
    #[must_use]
    pub(crate) fn watched(self, watch: Option<Watch>) -> Self {
        Self { watch, ..self }
    }

    /// Returns the numbers of puts that succeeded, and that lost to another one.
    #[must_use]
    pub fn puts(&self) -> [u64; 2] {
        let lost = self.asked.lost.load(Ordering::Relaxed);
        [self.asked.puts.load(Ordering::Relaxed) - lost, lost]
    }

    /// Returns the number of requests so far, by their price: PUT and LIST, GET and HEAD.
    #[must_use]
    pub fn requests(&self) -> [u64; 2] {
        let Asked {
            puts, reads, lists, ..
        } = &*self.asked;
        let puts = puts.load(Ordering::Relaxed) + lists.load(Ordering::Relaxed);
        [puts, reads.load(Ordering::Relaxed)]
    }

    fn call<'a, R, T, F>(
        &'a self,
        operation: &'static str,
        request: R,
        call: impl Fn(MemoryObjects, R) -> F + Clone + Send + Sync + 'static,
    ) -> objects::Reply<'a, T>
    where
        R: Clone + Hash + Send + Sync + 'static,
        T: Hash + Send + 'static,
        F: Future<Output = Result<T, ObjectError>> + Send + 'static,
    {
        let unavailable = move || ObjectError::Unavailable {
            operation,
            message: "simulated".to_owned(),
        };
        let noted = digest_of(&(operation, &request));
        let objects = self.objects.clone();
        let call = move || call(objects.clone(), request.clone());
        let fate = self.faults.draw();
        Box::pin(carried(
            &self.faults,
            fate,
            noted,
            call,
            unavailable,
            unavailable,
            |_| false,
        ))
    }
}

impl Objects for SimObjects {
    fn head<'a>(&'a self, key: &'a ObjectKey) -> objects::Reply<'a, Option<ObjectMeta>> {
        self.asked.reads.fetch_add(1, Ordering::Relaxed);
        self.call("HeadObject", key.clone(), |objects, key| async move {
            objects.head(&key).await
        })
    }

    fn open<'a>(
        &'a self,
        key: &'a ObjectKey,
    ) -> objects::Reply<'a, Option<(ObjectMeta, BodyStream)>> {
        Box::pin(async move {
            let found = self.get(key).await?;
            Ok(found.map(|(meta, body)| {
                let body: BodyStream = Box::pin(stream::iter([Ok(body)]));
                (meta, body)
            }))
        })
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> objects::Reply<'a, Option<(ObjectMeta, Bytes)>> {
        self.asked.reads.fetch_add(1, Ordering::Relaxed);
        self.call("GetObject", key.clone(), |objects, key| async move {
            objects.get(&key).await
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a ObjectKey,
        body: Bytes,
        document: &'a Document,
        precondition: &'a Precondition,
    ) -> objects::Reply<'a, Put> {
        self.asked.puts.fetch_add(1, Ordering::Relaxed);
        let watch = self.watch.clone();
        let put = self.call(
            "PutObject",
            (key.clone(), body, document.clone(), precondition.clone()),
            move |objects, (key, body, document, precondition)| {
                let watch = watch.clone();
                async move {
                    let Some(watch) = watch else {
                        return objects.put(&key, body, &document, &precondition).await;
                    };
                    let before = watch.listed(&key).await;
                    let put = objects.put(&key, body, &document, &precondition).await;
                    watch.look_at_object(&key, &before).await;
                    put
                }
            },
        );
        Box::pin(async move {
            let put = put.await?;
            let is_lost = u64::from(put != Put::Done);
            self.asked.lost.fetch_add(is_lost, Ordering::Relaxed);
            Ok(put)
        })
    }

    fn list<'a>(&'a self, site: &'a str) -> objects::Reply<'a, Vec<ObjectKey>> {
        self.asked.lists.fetch_add(1, Ordering::Relaxed);
        self.call(
            "ListObjectsV2",
            site.to_owned(),
            |objects, site| async move { objects.list(&site).await },
        )
    }

    fn sites<'a>(&'a self, after: Option<&'a str>, most: usize) -> objects::Reply<'a, Vec<String>> {
        self.asked.lists.fetch_add(1, Ordering::Relaxed);
        let wanted = (after.map(str::to_owned), most);
        self.call(
            "ListObjectsV2",
            wanted,
            |objects, (after, most)| async move { objects.sites(after.as_deref(), most).await },
        )
    }
}
