//! The calls of a load: writing a batch, writing item by item, and reading which items of a batch the table has already.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{KeysAndAttributes, PutRequest, WriteRequest};
use tokio::time::{Instant, sleep};

use super::window::Window;
use crate::content::{Item, LoadError, id_of, refused};
use crate::error::permission;

/// The first pause of a batch that the table does not take, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(10));
/// If the table takes nothing of a batch for this time, the load ends.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// DynamoDB's codes that mean "try again later".
const THROTTLED: [&str; 4] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "InternalServerError",
];

/// What a table did with a batch.
enum Put {
    All,
    /// All but these ids.
    Left(HashSet<String>),
    /// It took nothing, and may take it later.
    Later(String),
    /// It took nothing. Writing item by item shows why.
    Never,
}

/// A line on its way to the table.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) line: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) item: Item,
    /// It is not a site's settings.
    pub(super) is_page: bool,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) lines: Vec<u64>,
    /// Its ids, and whether they are pages'.
    pub(super) ids: Vec<(String, bool)>,
    pub(super) unchanged: u64,
    pub(super) refused: Vec<(Waiting, String)>,
}

/// The calls of one table.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    pub(super) client: Client,
    pub(super) table: String,
}

impl Calls {
    /// Writes a batch of distinct ids until the table has taken it. With `if_changed`, items that the table has already are left out.
    pub(super) async fn write(
        &self,
        batch: Vec<Waiting>,
        window: &Window,
        if_changed: bool,
    ) -> Result<Settled, LoadError> {
        let mut settled = Settled {
            lines: batch.iter().map(|waiting| waiting.line).collect(),
            ids: batch
                .iter()
                .map(|waiting| (id_of(&waiting.item).to_owned(), waiting.is_page))
                .collect(),
            ..Settled::default()
        };
        let mut left = batch;
        if if_changed {
            let known = self.known(&left).await;
            left.retain(|waiting| known.get(id_of(&waiting.item)) != Some(&waiting.item));
            settled.unchanged = (settled.lines.len() - left.len()) as u64;
        }
        let (mut pause, mut deadline) = (PAUSES.0, Instant::now() + PATIENCE);
        while !left.is_empty() {
            let failure = match self.put(&left).await {
                Put::All => break,
                Put::Left(ids) => {
                    let before = left.len();
                    left.retain(|waiting| ids.contains(id_of(&waiting.item)));
                    if left.len() < before {
                        // It takes some: there is no need to wait longer and longer.
                        (pause, deadline) = (PAUSES.0, Instant::now() + PATIENCE);
                    }
                    "it is throttling".to_owned()
                }
                Put::Later(failure) => failure,
                // DynamoDB refuses a whole batch for one bad item (too large, an empty key): item by item it says which.
                Put::Never => {
                    self.one_by_one(left, &mut settled, window).await?;
                    break;
                }
            };
            window.throttled();
            if Instant::now() > deadline {
                let minutes = PATIENCE.as_secs() / 60;
                return Err(LoadError::Table(format!(
                    "{} accepted no write for {minutes} minutes: {failure}",
                    self.table
                )));
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
        window.passed();
        Ok(settled)
    }

    async fn put(&self, batch: &[Waiting]) -> Put {
        let requests = batch.iter().map(|waiting| {
            let item = Some(waiting.item.clone());
            let put = PutRequest::builder().set_item(item).build()?;
            Ok(WriteRequest::builder().put_request(put).build())
        });
        let requests: Result<Vec<_>, aws_sdk_dynamodb::error::BuildError> = requests.collect();
        let Ok(requests) = requests else {
            return Put::Never;
        };
        let output = self
            .client
            .batch_write_item()
            .request_items(&self.table, requests)
            .send()
            .await;
        match output {
            Ok(output) => {
                let left = output.unprocessed_items.into_iter().flatten();
                let left = left.flat_map(|(_, requests)| requests);
                let ids: HashSet<String> = left
                    .filter_map(|request| Some(id_of(&request.put_request?.item).to_owned()))
                    .collect();
                match ids.is_empty() {
                    true => Put::All,
                    false => Put::Left(ids),
                }
            }
            Err(error) => {
                let error = error.into_service_error();
                match error.meta().code() {
                    Some("ValidationException") => Put::Never,
                    Some(code) if THROTTLED.contains(&code) => Put::Later(code.to_owned()),
                    // One by one it is said what it is.
                    _ => Put::Never,
                }
            }
        }
    }

    async fn one_by_one(
        &self,
        batch: Vec<Waiting>,
        settled: &mut Settled,
        window: &Window,
    ) -> Result<(), LoadError> {
        for waiting in batch {
            let (mut pause, deadline) = (PAUSES.0, Instant::now() + PATIENCE);
            loop {
                let put = self.client.put_item().table_name(&self.table);
                let output = put.set_item(Some(waiting.item.clone())).send().await;
                let Err(error) = output else { break };
                let text = permission::dynamodb("PutItem", &self.table, &error);
                let error = error.into_service_error();
                match error.meta().code() {
                    Some("ValidationException") => {
                        let message = error.meta().message().unwrap_or_default();
                        let reason = refused(id_of(&waiting.item), message);
                        settled.refused.push((waiting, reason));
                        break;
                    }
                    Some(code) if THROTTLED.contains(&code) && Instant::now() < deadline => {
                        window.throttled();
                        sleep(pause).await;
                        pause = (pause * 2).min(PAUSES.1);
                    }
                    _ => return Err(LoadError::Table(text)),
                }
            }
        }
        Ok(())
    }

    /// Reads the items that the table has with the ids of a batch. An item that is not returned is written.
    async fn known(&self, batch: &[Waiting]) -> BTreeMap<String, Item> {
        let keys = batch.iter().filter_map(|waiting| {
            let id = waiting.item.get("id")?.clone();
            Some(HashMap::from([("id".to_owned(), id)]))
        });
        let keys = KeysAndAttributes::builder()
            .set_keys(Some(keys.collect()))
            .consistent_read(true)
            .build();
        let Ok(keys) = keys else {
            return BTreeMap::new();
        };
        let output = self
            .client
            .batch_get_item()
            .request_items(&self.table, keys);
        let found = output.send().await.ok().and_then(|output| output.responses);
        let items = found.into_iter().flatten().flat_map(|(_, items)| items);
        items.map(|item| (id_of(&item).to_owned(), item)).collect()
    }
}
