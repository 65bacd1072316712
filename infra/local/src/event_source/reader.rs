//! Reading a stream: its shards, parents before children, each with a reader of its own.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use aws_lambda_events::event::dynamodb::EventRecord;
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::operation::get_records::{GetRecordsError, GetRecordsOutput};
use aws_sdk_dynamodbstreams::types::{Record, Shard, ShardIteratorType};
use futures::future::join_all;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use super::delivery::{Delivery, hash};
use super::{Lane, Mapping, Starting};

/// The pause between polls that find nothing.
const IDLE_PAUSE: Duration = Duration::from_millis(25);
/// The same if nothing for its function has come for [`QUIET`]. The difference is too short to notice when editing by hand.
const QUIET_PAUSE: Duration = Duration::from_millis(250);
/// For so long without records the shorter pause holds: most tests take less.
const QUIET: Duration = Duration::from_secs(20);
/// The pause after a call that failed, and between looks for new shards.
const LONG_PAUSE: Duration = Duration::from_secs(1);
/// Records of one `GetRecords` (DynamoDB).
const PAGE: i32 = 1_000;

type Stopped = watch::Receiver<bool>;

/// Reads a table's latest stream until it is told to stop.
pub(super) async fn read_stream(client: Client, delivery: Arc<Delivery>, mut stopped: Stopped) {
    let mut readers = JoinSet::new();
    tokio::select! {
        error = find_shards(&client, &delivery, &mut readers) => {
            tracing::error!(function = delivery.mapping.name, %error, "a reader of its stream panicked");
            let counters = &delivery.counters;
            let reason = error.to_string();
            counters.broken.get_or_init(|| reason);
            counters.changed.notify_waiters();
        }
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    // Dropping the readers aborts them, and with them the function's invocations.
    readers.shutdown().await;
}

/// Starts a reader for each stream shard, until one of them panics.
///
/// A stream's shards change only when one of them ends. So they are asked for at first, after each end, and when the table
/// has another stream: to describe a stream, dynoxide goes through all of its records.
async fn find_shards(
    client: &Client,
    delivery: &Arc<Delivery>,
    readers: &mut JoinSet<String>,
) -> JoinError {
    let (mut known, mut read) = (HashSet::new(), HashSet::new());
    let mut described = None;
    loop {
        match shards(client, &delivery.mapping.table, described.as_ref()).await {
            Ok(None) => {}
            Ok(Some((stream, shards))) => {
                let ids: HashSet<String> = shards
                    .iter()
                    .filter_map(|shard| shard.shard_id.clone())
                    .collect();
                for shard in &shards {
                    let Some(id) = shard.shard_id.clone() else {
                        continue;
                    };
                    // A child's records come after its parent's.
                    let parent_is_read = shard
                        .parent_shard_id
                        .as_ref()
                        .is_none_or(|parent| read.contains(parent) || !ids.contains(parent));
                    if parent_is_read && known.insert(id.clone()) {
                        readers.spawn(read_shard(
                            client.clone(),
                            stream.clone(),
                            id,
                            delivery.clone(),
                        ));
                    }
                }
                // Not before their children have begun: until then nobody has caught up.
                delivery
                    .counters
                    .with_idle_polls(|polls| polls.retain(|(shard, _), _| !read.contains(shard)));
                described = (!readers.is_empty()).then_some(stream);
            }
            Err(error) => tracing::warn!(
                table = delivery.mapping.table,
                error,
                "its stream was not found"
            ),
        }
        tokio::select! {
            Some(ended) = readers.join_next() => match ended {
                Ok(shard) => {
                    read.insert(shard);
                    described = None;
                }
                Err(error) => return error,
            },
            () = tokio::time::sleep(LONG_PAUSE) => {}
        }
    }
}

/// The table's latest stream and its shards. Returns `None` if the stream is `described` already.
async fn shards(
    client: &Client,
    table: &str,
    described: Option<&String>,
) -> Result<Option<(String, Vec<Shard>)>, String> {
    let streams = client
        .list_streams()
        .table_name(table)
        .send()
        .await
        .map_err(|error| error.into_service_error().to_string())?;
    let arn = streams
        .streams()
        .last()
        .and_then(|stream| stream.stream_arn())
        .ok_or("the table has no stream")?
        .to_owned();
    if described == Some(&arn) {
        return Ok(None);
    }
    let (mut shards, mut after) = (Vec::new(), None);
    loop {
        let request = client
            .describe_stream()
            .stream_arn(&arn)
            .set_exclusive_start_shard_id(after);
        let output = request
            .send()
            .await
            .map_err(|error| error.into_service_error().to_string())?;
        let Some(description) = output.stream_description else {
            return Ok(Some((arn, shards)));
        };
        shards.extend(description.shards.unwrap_or_default());
        after = description.last_evaluated_shard_id;
        if after.is_none() {
            return Ok(Some((arn, shards)));
        }
    }
}

/// Where a reader is in its shard.
struct Position {
    stream: String,
    shard: String,
    iterator: Option<String>,
    /// The last record read.
    last: Option<String>,
}

/// Reads a shard to its end, as the number of shards that the mapping says, and returns its id.
fn read_shard(
    client: Client,
    stream: String,
    shard: String,
    delivery: Arc<Delivery>,
) -> impl Future<Output = String> {
    let lanes: Vec<Lane> = (0..delivery.mapping.stream_shards.max(1) as u64)
        .map(|lane| (shard.clone(), lane))
        .collect();
    delivery
        .counters
        .with_idle_polls(|polls| polls.extend(lanes.iter().map(|lane| (lane.clone(), 0))));
    async move {
        // Each reads all of it: a queue between one reader and several deliveries would have to be bounded, and then
        // the slowest would hold up the others.
        join_all(lanes.into_iter().map(|lane| {
            let position = Position {
                stream: stream.clone(),
                shard: shard.clone(),
                iterator: None,
                last: None,
            };
            read_lane(client.clone(), position, lane, delivery.clone())
        }))
        .await;
        shard
    }
}

async fn read_lane(client: Client, mut position: Position, lane: Lane, delivery: Arc<Delivery>) {
    let mut pending: Vec<EventRecord> = Vec::new();
    let mut since = Instant::now();
    let mut last_found = Instant::now();
    loop {
        let page = match poll(&client, &mut position, delivery.mapping.starting).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(function = delivery.mapping.name, error, "a poll failed");
                tokio::time::sleep(LONG_PAUSE).await;
                continue;
            }
        };
        let records = page.records.unwrap_or_default();
        let found_nothing = records.is_empty() && pending.is_empty();
        for record in records {
            position.last = record
                .dynamodb
                .as_ref()
                .and_then(|change| change.sequence_number.clone())
                .or(position.last);
            let record = event_record(record, &position.stream);
            if delivery.mapping.is_read_by(&lane, &record) && (delivery.mapping.filter)(&record) {
                delivery.counters.read.fetch_add(1, Ordering::SeqCst);
                last_found = Instant::now();
                if pending.is_empty() {
                    since = last_found;
                }
                pending.push(record);
            }
        }
        position.iterator = page.next_shard_iterator;
        let ended = position.iterator.is_none();
        while !pending.is_empty()
            && (ended
                || pending.len() >= delivery.mapping.batch_size
                || since.elapsed() >= delivery.mapping.window)
        {
            let rest = pending.split_off(pending.len().min(delivery.mapping.batch_size));
            delivery
                .deliver(std::mem::replace(&mut pending, rest))
                .await;
        }
        if ended {
            return;
        }
        if found_nothing {
            if delivery.counters.overlapping.load(Ordering::SeqCst) == 0 {
                delivery
                    .counters
                    .with_idle_polls(|polls| *polls.entry(lane.clone()).or_default() += 1);
                delivery.counters.changed.notify_waiters();
            }
            let is_quiet = last_found.elapsed() > QUIET;
            let pause = if is_quiet { QUIET_PAUSE } else { IDLE_PAUSE };
            tokio::time::sleep(pause).await;
        } else if !pending.is_empty() {
            tokio::time::sleep(IDLE_PAUSE.min(delivery.mapping.window)).await;
        }
    }
}

impl Mapping {
    /// Whether a record of a stream shard is this lane's.
    fn is_read_by(&self, (_, lane): &Lane, record: &EventRecord) -> bool {
        let keys = record.change.keys.iter();
        hash(keys.filter(|(name, _)| **name == self.partition_key))
            % self.stream_shards.max(1) as u64
            == *lane
    }
}

async fn poll(
    client: &Client,
    position: &mut Position,
    starting: Starting,
) -> Result<GetRecordsOutput, String> {
    let iterator = match &position.iterator {
        Some(iterator) => iterator.clone(),
        None => {
            let request = client
                .get_shard_iterator()
                .stream_arn(&position.stream)
                .shard_id(&position.shard);
            let request = match (&position.last, starting) {
                (Some(last), _) => request
                    .shard_iterator_type(ShardIteratorType::AfterSequenceNumber)
                    .sequence_number(last),
                (None, Starting::TrimHorizon) => {
                    request.shard_iterator_type(ShardIteratorType::TrimHorizon)
                }
                (None, Starting::Latest) => request.shard_iterator_type(ShardIteratorType::Latest),
            };
            let output = request
                .send()
                .await
                .map_err(|error| error.into_service_error().to_string())?;
            output.shard_iterator.ok_or("no iterator")?
        }
    };
    position.iterator = Some(iterator.clone());
    match client
        .get_records()
        .shard_iterator(iterator)
        .limit(PAGE)
        .send()
        .await
    {
        Ok(page) => Ok(page),
        Err(error) => {
            let error = error.into_service_error();
            // An iterator lives for 15 minutes: another one goes on after the last record read.
            if matches!(
                error,
                GetRecordsError::ExpiredIteratorException(_)
                    | GetRecordsError::TrimmedDataAccessException(_)
            ) {
                position.iterator = None;
            }
            Err(error.to_string())
        }
    }
}

/// A record as Lambda writes it into an event.
fn event_record(record: Record, stream: &str) -> EventRecord {
    let mut event = EventRecord::default();
    event.event_id = record.event_id.unwrap_or_default();
    event.event_name = record
        .event_name
        .map(|name| name.as_str().to_owned())
        .unwrap_or_default();
    event.event_source = Some("aws:dynamodb".to_owned());
    event.event_source_arn = Some(stream.to_owned());
    event.aws_region = record.aws_region.unwrap_or_default();
    if let Some(change) = record.dynamodb {
        event.change.keys = change.keys.unwrap_or_default().into();
        event.change.sequence_number = change.sequence_number;
        event.change.size_bytes = change.size_bytes.unwrap_or_default();
        let written = change.approximate_creation_date_time;
        if let Some(Ok(written)) = written.map(SystemTime::try_from) {
            event.change.approximate_creation_date_time = written.into();
        }
    }
    event
}
