//! A table and a bucket whose calls take time and fail.

use std::hash::Hash;

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

    fn call<'a, R, T, F>(
        &'a self,
        fate: (Fate, bool),
        operation: &'static str,
        request: R,
        call: impl Fn(MemoryTable, R) -> F + Copy + Send + Sync + 'static,
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
        let table = self.table.clone();
        let call = move || call(table.clone(), request.clone());
        Box::pin(carried(
            &self.faults,
            fate,
            noted,
            call,
            unavailable,
            throttled,
        ))
    }
}

/// Carries a call to a service and its answer back, as it is drawn: what becomes of it, and whether the client tries again.
/// `noted` is the request's part of the digest.
async fn carried<T, E, F>(
    faults: &Faults,
    (fate, is_tried_again): (Fate, bool),
    noted: u64,
    call: impl Fn() -> F + Clone + Send + Sync + 'static,
    unavailable: impl Fn() -> E,
    throttled: impl Fn() -> E,
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
    faults.way().await;
    sim.note(digest_of(&(fate, &answer)));
    answer
}

impl Table for SimTable {
    fn get(&self, key: Item) -> Reply<'_, Option<Item>> {
        self.call(
            self.faults.draw(),
            "GetItem",
            key,
            |table, key| async move { table.get(key).await },
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
            (keys, attributes, left),
            |table, (keys, attributes, left)| async move {
                let (found, mut more) = table.batch_get(keys, attributes).await?;
                more.extend(left);
                Ok((found, more))
            },
        )
    }

    fn query(&self, query: Query) -> Reply<'_, Page> {
        self.call(
            self.faults.draw(),
            "Query",
            query,
            |table, query| async move { table.query(query).await },
        )
    }

    fn scan(&self, scan: Scan) -> Reply<'_, Page> {
        self.call(self.faults.draw(), "Scan", scan, |table, scan| async move {
            table.scan(scan).await
        })
    }

    fn put(&self, item: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        self.call(
            self.faults.draw(),
            "PutItem",
            (item, condition),
            |table, (item, condition)| async move { table.put(item, condition).await },
        )
    }

    fn update(&self, key: Item, update: Update, condition: Option<Condition>) -> Reply<'_, Item> {
        let (fate, is_tried_again) = self.faults.draw();
        let fate = (fate, is_tried_again && !update.once);
        self.call(
            fate,
            "UpdateItem",
            (key, update, condition),
            |table, (key, update, condition)| async move { table.update(key, update, condition).await },
        )
    }

    fn delete(&self, key: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        self.call(
            self.faults.draw(),
            "DeleteItem",
            (key, condition),
            |table, (key, condition)| async move { table.delete(key, condition).await },
        )
    }

    fn transact(&self, actions: Vec<Action>) -> Reply<'_, ()> {
        // Another write of one of the items is under way.
        let conflict = self.faults.conflicts();
        self.call(
            self.faults.draw(),
            "TransactWriteItems",
            (actions, conflict),
            |table, (actions, conflict)| async move {
                if conflict {
                    let mut reasons = vec![Reason::Innocent; actions.len()];
                    reasons[0] = Reason::Conflict;
                    return Err(TableError::Cancelled { reasons });
                }
                table.transact(actions).await
            },
        )
    }
}

impl SimObjects {
    /// This bucket.
    #[must_use]
    pub fn new(objects: MemoryObjects, faults: Faults) -> Self {
        Self { objects, faults }
    }

    fn call<'a, R, T, F>(
        &'a self,
        operation: &'static str,
        request: R,
        call: impl Fn(MemoryObjects, R) -> F + Copy + Send + Sync + 'static,
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
        ))
    }
}

impl Objects for SimObjects {
    fn head<'a>(&'a self, key: &'a ObjectKey) -> objects::Reply<'a, Option<ObjectMeta>> {
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
        self.call(
            "PutObject",
            (key.clone(), body, document.clone(), precondition.clone()),
            |objects, (key, body, document, precondition)| async move {
                objects.put(&key, body, &document, &precondition).await
            },
        )
    }

    fn list<'a>(&'a self, site: &'a str) -> objects::Reply<'a, Vec<ObjectKey>> {
        self.call(
            "ListObjectsV2",
            site.to_owned(),
            |objects, site| async move { objects.list(&site).await },
        )
    }

    fn sites(&self) -> objects::Reply<'_, Vec<String>> {
        self.call("ListObjectsV2", (), |objects, ()| async move {
            objects.sites().await
        })
    }
}
