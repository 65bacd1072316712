//! A table and a bucket whose calls take time and fail.

use std::fmt;
use std::sync::Arc;

use ::bytes::Bytes;
use objects::{
    BodyStream, Document, MemoryObjects, ObjectError, ObjectKey, ObjectMeta, Objects, Precondition,
    Put,
};
use table::{
    Action, Condition, Item, MemoryTable, Name, Page, Query, Reason, Reply, Scan, Table,
    TableError, Update,
};

use crate::faults::{Fate, Faults};
use crate::runtime::mix;

/// A table behind a network.
#[derive(Clone, Debug)]
pub struct SimTable {
    /// What is in it.
    pub table: MemoryTable,
    faults: Faults,
}

/// A bucket behind a network.
#[derive(Clone, Debug)]
pub struct SimObjects {
    /// What is in it.
    pub objects: MemoryObjects,
    faults: Faults,
}

impl SimTable {
    /// This table.
    #[must_use]
    pub fn new(table: MemoryTable, faults: Faults) -> Self {
        Self { table, faults }
    }

    fn call<'a, T: fmt::Debug + Send + 'static>(
        &'a self,
        operation: &'static str,
        call: impl Fn(MemoryTable) -> BoxedCall<T> + Clone + Send + Sync + 'static,
    ) -> Reply<'a, T> {
        let unavailable = move || TableError::Unavailable {
            operation,
            message: "simulated".to_owned(),
        };
        let throttled = move || TableError::Throttled {
            operation,
            message: "simulated".to_owned(),
        };
        Box::pin(async move {
            let table = self.table.clone();
            carried(
                &self.faults,
                operation,
                move || call(table.clone()),
                unavailable,
                throttled,
            )
            .await
        })
    }
}

type BoxedCall<T> = futures::future::BoxFuture<'static, Result<T, TableError>>;

/// Carries a call to a service and its answer back.
async fn carried<T, E, F>(
    faults: &Faults,
    operation: &'static str,
    call: impl Fn() -> F + Clone + Send + Sync + 'static,
    unavailable: impl Fn() -> E,
    throttled: impl Fn() -> E,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    let (fate, is_tried_again) = faults.draw();
    let sim = &faults.sim;
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
            drop(sim.spawn(async move {
                late.late().await;
                drop(call().await);
            }));
            faults.patience().await;
            Err(unavailable())
        }
    };
    let answer = if is_tried_again {
        faults.pause().await;
        call().await
    } else {
        answer
    };
    let outcome = u64::from(answer.is_ok());
    let name = operation
        .bytes()
        .fold(0, |name, byte| mix(name ^ u64::from(byte)));
    sim.note(name ^ (fate as u64) << 8 ^ outcome);
    faults.way().await;
    answer
}

impl Table for SimTable {
    fn get(&self, key: Item) -> Reply<'_, Option<Item>> {
        self.call("GetItem", move |table| {
            let key = key.clone();
            Box::pin(async move { table.get(key).await })
        })
    }

    fn batch_get(
        &self,
        keys: Vec<Item>,
        attributes: Option<Vec<Name>>,
    ) -> Reply<'_, (Vec<Item>, Vec<Item>)> {
        let mut keys = keys;
        // A part is left for another call.
        let left = if keys.len() > 1 && self.faults.sim.happens(self.faults.rate()) {
            keys.split_off(keys.len() / 2)
        } else {
            Vec::new()
        };
        self.call("BatchGetItem", move |table| {
            let (keys, attributes, left) = (keys.clone(), attributes.clone(), left.clone());
            Box::pin(async move {
                let (found, mut more) = table.batch_get(keys, attributes).await?;
                more.extend(left);
                Ok((found, more))
            })
        })
    }

    fn query(&self, query: Query) -> Reply<'_, Page> {
        self.call("Query", move |table| {
            let query = query.clone();
            Box::pin(async move { table.query(query).await })
        })
    }

    fn scan(&self, scan: Scan) -> Reply<'_, Page> {
        self.call("Scan", move |table| {
            let scan = scan.clone();
            Box::pin(async move { table.scan(scan).await })
        })
    }

    fn put(&self, item: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        self.call("PutItem", move |table| {
            let (item, condition) = (item.clone(), condition.clone());
            Box::pin(async move { table.put(item, condition).await })
        })
    }

    fn update(&self, key: Item, update: Update, condition: Option<Condition>) -> Reply<'_, Item> {
        self.call("UpdateItem", move |table| {
            let (key, update, condition) = (key.clone(), update.clone(), condition.clone());
            Box::pin(async move { table.update(key, update, condition).await })
        })
    }

    fn delete(&self, key: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        self.call("DeleteItem", move |table| {
            let (key, condition) = (key.clone(), condition.clone());
            Box::pin(async move { table.delete(key, condition).await })
        })
    }

    fn transact(&self, actions: Vec<Action>) -> Reply<'_, ()> {
        // Another write of one of the items is under way.
        let conflict = self.faults.sim.happens(self.faults.rate() / 4.0);
        self.call("TransactWriteItems", move |table| {
            let actions = actions.clone();
            Box::pin(async move {
                if conflict {
                    let mut reasons = vec![Reason::Innocent; actions.len()];
                    reasons[0] = Reason::Conflict;
                    return Err(TableError::Cancelled { reasons });
                }
                table.transact(actions).await
            })
        })
    }
}

impl SimObjects {
    /// This bucket.
    #[must_use]
    pub fn new(objects: MemoryObjects, faults: Faults) -> Self {
        Self { objects, faults }
    }

    fn call<'a, T: Send + 'static>(
        &'a self,
        operation: &'static str,
        call: impl Fn(MemoryObjects) -> futures::future::BoxFuture<'static, Result<T, ObjectError>>
        + Clone
        + Send
        + Sync
        + 'static,
    ) -> objects::Reply<'a, T> {
        let unavailable = move || ObjectError::Unavailable {
            operation,
            message: "simulated".to_owned(),
        };
        Box::pin(async move {
            let objects = self.objects.clone();
            carried(
                &self.faults,
                operation,
                move || call(objects.clone()),
                unavailable,
                unavailable,
            )
            .await
        })
    }
}

impl Objects for SimObjects {
    fn head<'a>(&'a self, key: &'a ObjectKey) -> objects::Reply<'a, Option<ObjectMeta>> {
        let key = Arc::new(key.clone());
        self.call("HeadObject", move |objects| {
            let key = Arc::clone(&key);
            Box::pin(async move { objects.head(&key).await })
        })
    }

    fn open<'a>(
        &'a self,
        key: &'a ObjectKey,
    ) -> objects::Reply<'a, Option<(ObjectMeta, BodyStream)>> {
        let key = Arc::new(key.clone());
        self.call("GetObject", move |objects| {
            let key = Arc::clone(&key);
            Box::pin(async move { objects.open(&key).await })
        })
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> objects::Reply<'a, Option<(ObjectMeta, Bytes)>> {
        let key = Arc::new(key.clone());
        self.call("GetObject", move |objects| {
            let key = Arc::clone(&key);
            Box::pin(async move { objects.get(&key).await })
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a ObjectKey,
        body: Bytes,
        document: &'a Document,
        precondition: &'a Precondition,
    ) -> objects::Reply<'a, Put> {
        let put = Arc::new((key.clone(), body, document.clone(), precondition.clone()));
        self.call("PutObject", move |objects| {
            let put = Arc::clone(&put);
            Box::pin(async move {
                let (key, body, document, precondition) = &*put;
                objects.put(key, body.clone(), document, precondition).await
            })
        })
    }

    fn list<'a>(&'a self, site: &'a str) -> objects::Reply<'a, Vec<ObjectKey>> {
        let site = site.to_owned();
        self.call("ListObjectsV2", move |objects| {
            let site = site.clone();
            Box::pin(async move { objects.list(&site).await })
        })
    }

    fn sites(&self) -> objects::Reply<'_, Vec<String>> {
        self.call("ListObjectsV2", move |objects| {
            Box::pin(async move { objects.sites().await })
        })
    }
}
