//! Calls of tables and of the bucket with a watcher, which may fail, delay or note them.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use futures::join;
use objects::{
    BodyStream, Document, ObjectError, ObjectKey, ObjectMeta, Objects, Precondition, Put,
};
use table::{Action, Condition, Item, Name, Page, Query, Scan, Table, TableError, Update};

/// A call.
#[derive(Debug)]
pub(super) struct Call {
    /// The operation of DynamoDB (`Query`), or the method of S3 (`PUT`).
    operation: &'static str,
    /// The subject of the call: the partition key of a query, or the path of an object.
    request: String,
}

impl Call {
    fn is(&self, operation: &str, names: &str) -> bool {
        self.operation == operation && self.request.contains(names)
    }

    fn is_write(&self) -> bool {
        let writes = [
            "PutItem",
            "UpdateItem",
            "DeleteItem",
            "TransactWriteItems",
            "PUT",
        ];
        writes.contains(&self.operation)
    }
}

/// Watches calls.
pub(super) trait Watcher: fmt::Debug + Send + Sync {
    /// Returns whether a call fails before it takes effect.
    fn fails(&self, call: &Call) -> bool {
        let _ = call;
        false
    }

    /// Delays an answer, so that the caller continues with an old result.
    fn holds_up<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, ()> {
        let _ = call;
        Box::pin(async {})
    }
}

/// Tables or a bucket whose calls are watched.
#[derive(Debug)]
pub(super) struct Seen<P: ?Sized> {
    watcher: Arc<dyn Watcher>,
    port: Arc<P>,
}

impl<P: ?Sized + Send + Sync> Seen<P> {
    pub(super) fn new(port: Arc<P>, watcher: &Arc<dyn Watcher>) -> Self {
        let watcher = Arc::clone(watcher);
        Self { watcher, port }
    }

    fn call<'a, T: Send + 'a, E: Send + 'a>(
        &'a self,
        (operation, request): (&'static str, String),
        failed: impl FnOnce(&'static str, String) -> E + Send + 'a,
        reply: BoxFuture<'a, Result<T, E>>,
    ) -> BoxFuture<'a, Result<T, E>> {
        let call = Call { operation, request };
        Box::pin(async move {
            if self.watcher.fails(&call) {
                return Err(failed(operation, "somebody fails it".to_owned()));
            }
            let answer = reply.await;
            self.watcher.holds_up(&call).await;
            answer
        })
    }
}

fn no_table(operation: &'static str, message: String) -> TableError {
    TableError::Unavailable { operation, message }
}

fn no_bucket(operation: &'static str, message: String) -> ObjectError {
    ObjectError::Unavailable { operation, message }
}

impl Table for Seen<dyn Table> {
    fn get(&self, key: Item) -> table::Reply<'_, Option<Item>> {
        let call = ("GetItem", format!("{key:?}"));
        self.call(call, no_table, self.port.get(key))
    }

    fn batch_get(
        &self,
        keys: Vec<Item>,
        attributes: Option<Vec<Name>>,
    ) -> table::Reply<'_, (Vec<Item>, Vec<Item>)> {
        let call = ("BatchGetItem", format!("{keys:?}"));
        self.call(call, no_table, self.port.batch_get(keys, attributes))
    }

    fn query(&self, query: Query) -> table::Reply<'_, Page> {
        let partition = query.partition.as_text().unwrap_or_default();
        let call = ("Query", partition.to_owned());
        self.call(call, no_table, self.port.query(query))
    }

    fn scan(&self, scan: Scan) -> table::Reply<'_, Page> {
        let call = ("Scan", String::new());
        self.call(call, no_table, self.port.scan(scan))
    }

    fn put(&self, item: Item, condition: Option<Condition>) -> table::Reply<'_, ()> {
        let call = ("PutItem", format!("{item:?}"));
        self.call(call, no_table, self.port.put(item, condition))
    }

    fn update(
        &self,
        key: Item,
        update: Update,
        condition: Option<Condition>,
    ) -> table::Reply<'_, Item> {
        let call = ("UpdateItem", format!("{key:?}"));
        self.call(call, no_table, self.port.update(key, update, condition))
    }

    fn delete(&self, key: Item, condition: Option<Condition>) -> table::Reply<'_, ()> {
        let call = ("DeleteItem", format!("{key:?}"));
        self.call(call, no_table, self.port.delete(key, condition))
    }

    fn transact(&self, actions: Vec<Action>) -> table::Reply<'_, ()> {
        let call = ("TransactWriteItems", format!("{actions:?}"));
        self.call(call, no_table, self.port.transact(actions))
    }
}

impl Objects for Seen<dyn Objects> {
    fn head<'a>(&'a self, key: &'a ObjectKey) -> objects::Reply<'a, Option<ObjectMeta>> {
        self.call(("HEAD", key.path()), no_bucket, self.port.head(key))
    }

    fn open<'a>(
        &'a self,
        key: &'a ObjectKey,
    ) -> objects::Reply<'a, Option<(ObjectMeta, BodyStream)>> {
        self.call(("GET", key.path()), no_bucket, self.port.open(key))
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> objects::Reply<'a, Option<(ObjectMeta, Bytes)>> {
        self.call(("GET", key.path()), no_bucket, self.port.get(key))
    }

    fn put<'a>(
        &'a self,
        key: &'a ObjectKey,
        body: Bytes,
        document: &'a Document,
        precondition: &'a Precondition,
    ) -> objects::Reply<'a, Put> {
        let put = self.port.put(key, body, document, precondition);
        self.call(("PUT", key.path()), no_bucket, put)
    }

    fn list<'a>(&'a self, site: &'a str) -> objects::Reply<'a, Vec<ObjectKey>> {
        let call = ("GET", site.to_owned());
        self.call(call, no_bucket, self.port.list(site))
    }

    fn sites<'a>(&'a self, after: Option<&'a str>, most: usize) -> objects::Reply<'a, Vec<String>> {
        let call = ("GET", String::new());
        self.call(call, no_bucket, self.port.sites(after, most))
    }
}

/// Fails the calls of an operation that contain a text, as a failing service does.
#[derive(Debug)]
pub(super) struct Poison {
    pub(super) operation: &'static str,
    pub(super) names: String,
}

impl Watcher for Poison {
    fn fails(&self, call: &Call) -> bool {
        call.is(self.operation, &self.names)
    }
}

/// Simulates a process that dies: lets a number of writes pass, and fails every later one.
#[derive(Debug)]
pub(super) struct Fuse(AtomicI64);

impl Default for Fuse {
    /// Returns a fuse that never blows.
    fn default() -> Self {
        Self(AtomicI64::new(i64::MAX))
    }
}

impl Fuse {
    /// Lets `writes` more writes pass.
    pub(super) fn set(&self, writes: i64) {
        self.0.store(writes, Ordering::Relaxed);
    }

    /// Lets everything pass. Returns whether it had blown.
    pub(super) fn lift(&self) -> bool {
        self.0.swap(i64::MAX, Ordering::Relaxed) < 0
    }

    /// Returns whether it has blown.
    pub(super) fn blown(&self) -> bool {
        self.0.load(Ordering::Relaxed) < 0
    }
}

impl Watcher for Fuse {
    fn fails(&self, call: &Call) -> bool {
        call.is_write() && self.0.fetch_sub(1, Ordering::Relaxed) <= 0
    }
}

/// Notes the partitions that are queried.
#[derive(Debug, Default)]
pub(super) struct Queries(Mutex<Vec<String>>);

impl Queries {
    /// Returns the partition keys queried since the last call.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Watcher for Queries {
    fn fails(&self, call: &Call) -> bool {
        if call.operation == "Query" {
            self.0.lock().unwrap().push(call.request.clone());
        }
        false
    }
}

/// Delays the answer to the first call of an operation that contains a text, so that the caller continues with an old result.
#[derive(Debug)]
pub(super) struct Gate {
    operation: &'static str,
    names: String,
    /// Reports that a call has arrived, and lets it continue.
    closed: Mutex<Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>>,
    reached: Mutex<Option<oneshot::Receiver<()>>>,
    open: Mutex<Option<oneshot::Sender<()>>>,
}

impl Gate {
    /// Returns a gate after an operation of DynamoDB (`Query`) or a method of S3 (`PUT`), for requests that contain `names`.
    pub(super) fn behind(operation: &'static str, names: impl Into<String>) -> Self {
        let (stands, reached) = oneshot::channel();
        let (open, goes_on) = oneshot::channel();
        Self {
            operation,
            names: names.into(),
            closed: Mutex::new(Some((stands, goes_on))),
            reached: Mutex::new(Some(reached)),
            open: Mutex::new(Some(open)),
        }
    }
}

impl Watcher for Gate {
    fn holds_up<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, ()> {
        let is_it = call.is(self.operation, &self.names);
        let closed = is_it.then(|| self.closed.lock().unwrap().take()).flatten();
        Box::pin(async {
            if let Some((stands, goes_on)) = closed {
                stands.send(()).expect("somebody waits at the gate");
                goes_on.await.expect("the gate is opened");
            }
        })
    }
}

/// Runs `slow` up to a gate, then `fast` to its end, then the rest of `slow`.
pub(super) async fn overtaken(gate: &Gate, slow: impl Future, fast: impl Future<Output = ()>) {
    let reached = gate.reached.lock().unwrap().take().expect("closed");
    let open = gate.open.lock().unwrap().take().expect("closed");
    let overtakes = async {
        reached.await.expect("a call comes to the gate");
        fast.await;
        open.send(()).expect("a call stands at the gate");
    };
    join!(slow, overtakes);
}
