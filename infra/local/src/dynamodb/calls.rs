//! Calls of dynoxide on its database's thread.

use std::sync::Arc;

use dynoxide::Database;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, MutexGuard, mpsc, oneshot};

use super::empty_keys;
use super::watch::Beside;

/// A call that DynamoDB's thread runs.
pub(crate) type Call = Box<dyn FnOnce(&Database) + Send>;

/// Sends calls to DynamoDB's thread.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    pub(super) sender: mpsc::UnboundedSender<Call>,
    pub(super) beside: Beside,
    /// Held while a call of a server runs, which has more than one step. No other call runs then.
    pub(super) turn: Arc<Mutex<()>>,
}

impl Calls {
    /// Returns the answer. Returns `None` if the call failed or can only be made over HTTP.
    pub(super) async fn call(&self, operation: &str, body: Vec<u8>) -> Option<Vec<u8>> {
        match operation {
            "BatchGetItem" => self.ask(body, Database::batch_get_item).await,
            "BatchWriteItem" => self.write(body, Database::batch_write_item).await,
            "DeleteItem" => self.ask(body, Database::delete_item).await,
            "GetItem" => self.ask(body, Database::get_item).await,
            "PutItem" => self.write(body, Database::put_item).await,
            "Query" if empty_keys::refusal(&body).is_some() => None,
            "Query" => self.ask(body, Database::query).await,
            "Scan" => self.ask(body, Database::scan).await,
            "TransactWriteItems" => self.write(body, Database::transact_write_items).await,
            "UpdateItem" => self.write(body, Database::update_item).await,
            _ => None,
        }
    }

    /// Runs one operation on the thread of the database. The thread also parses the request and writes the answer, because the
    /// callers of a load share one task, which has more to do.
    async fn ask<Q, A>(
        &self,
        body: Vec<u8>,
        run: fn(&Database, Q) -> dynoxide::Result<A>,
    ) -> Option<Vec<u8>>
    where
        Q: DeserializeOwned + 'static,
        A: Serialize + 'static,
    {
        let call = move |database: &Database| {
            let question = serde_json::from_slice(&body).ok()?;
            serde_json::to_vec(&run(database, question).ok()?).ok()
        };
        self.run(call).await?
    }

    /// Runs an operation that may modify items.
    async fn write<Q, A>(
        &self,
        body: Vec<u8>,
        run: fn(&Database, Q) -> dynoxide::Result<A>,
    ) -> Option<Vec<u8>>
    where
        Q: DeserializeOwned + 'static,
        A: Serialize + 'static,
    {
        let beside = self.beside.clone();
        let call = move |database: &Database| {
            let question = serde_json::from_slice(&body).ok()?;
            let began = beside.begin();
            let answer = run(database, question);
            beside.end(began);
            serde_json::to_vec(&answer.ok()?).ok()
        };
        self.run(call).await?
    }

    /// Runs a call on DynamoDB's thread. Returns `None` if the thread has ended.
    pub(crate) async fn run<A: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> A + Send + 'static,
    ) -> Option<A> {
        let (answer, answered) = oneshot::channel();
        let call = move |database: &Database| drop(answer.send(call(database)));
        self.send(Box::new(call))?;
        answered.await.ok()
    }

    /// Sends a call without waiting for it. Returns `None` if the thread has ended.
    pub(crate) fn send(&self, call: Call) -> Option<()> {
        self.sender.send(call).ok()
    }

    /// Waits until nothing else writes. Other calls wait until this is dropped.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }
}
