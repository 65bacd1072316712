//! Reading a stream: its shards, parents before children, each with a reader of its own.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;
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
/// Records for the function that are read ahead, and a page more: less than 50 MB.
const READ_AHEAD: usize = 50_000;

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

/// Reads one lane, and ahead of what is delivered: a slice of a scan writes a hundred thousand records before the one that
/// has the next slice begin.
async fn read_lane(client: Client, position: Position, lane: Lane, delivery: Arc<Delivery>) {
    let mut reader = LaneReader {
        client,
        position,
        lane,
        delivery: Arc::clone(&delivery),
        pending: VecDeque::new(),
        since: Instant::now(),
        last_found: Instant::now(),
        ended: false,
    };
    loop {
        let Some(found) = reader.read().await else {
            tokio::time::sleep(LONG_PAUSE).await;
            continue;
        };
        let found_nothing = !found && reader.pending.is_empty();
        while let Some(batch) = reader.batch() {
            let mut delivered = pin!(delivery.deliver(batch));
            loop {
                tokio::select! {
                    () = &mut delivered => break,
                    () = reader.read_ahead() => {}
                }
            }
            // As if what is pending had been read now: what belongs to it may follow, and is handled with it.
            reader.since = Instant::now();
        }
        if reader.ended {
            return;
        }
        if found_nothing {
            let counters = &delivery.counters;
            if counters.overlapping.load(Ordering::SeqCst) == 0 {
                counters.with_idle_polls(|polls| {
                    *polls.entry(reader.lane.clone()).or_default() += 1;
                });
                counters.changed.notify_waiters();
            }
            let is_quiet = reader.last_found.elapsed() > QUIET;
            let pause = if is_quiet { QUIET_PAUSE } else { IDLE_PAUSE };
            tokio::time::sleep(pause).await;
        } else if !reader.pending.is_empty() {
            tokio::time::sleep(IDLE_PAUSE.min(delivery.mapping.window)).await;
        }
    }
}

/// A reader of one lane of a shard.
struct LaneReader {
    client: Client,
    position: Position,
    lane: Lane,
    delivery: Arc<Delivery>,
    /// What was read and is not delivered yet.
    pending: VecDeque<EventRecord>,
    /// When the first of these was read.
    since: Instant,
    /// When anything for the function was last read.
    last_found: Instant,
    /// Whether the shard has no more records.
    ended: bool,
}

impl LaneReader {
    /// Reads the next records, and says whether there were any; nothing if that failed.
    async fn read(&mut self) -> Option<bool> {
        let mapping = &self.delivery.mapping;
        let page = match poll(&self.client, &mut self.position, mapping.starting).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(function = mapping.name, error, "a poll failed");
                return None;
            }
        };
        let records = page.records.unwrap_or_default();
        let found = !records.is_empty();
        for record in records {
            let change = record.dynamodb.as_ref();
            let number = change.and_then(|change| change.sequence_number.clone());
            self.position.last = number.or(self.position.last.take());
            let record = event_record(record, &self.position.stream);
            if mapping.is_read_by(&self.lane, &record) && (mapping.filter)(&record) {
                self.delivery.counters.read.fetch_add(1, Ordering::SeqCst);
                self.last_found = Instant::now();
                if self.pending.is_empty() {
                    self.since = self.last_found;
                }
                self.pending.push_back(record);
            }
        }
        self.position.iterator = page.next_shard_iterator;
        self.ended = self.position.iterator.is_none();
        Some(found)
    }

    /// Reads the next records unless many are pending. It may be dropped at any time: then nothing was read.
    async fn read_ahead(&mut self) {
        if self.ended || self.pending.len() >= READ_AHEAD {
            return std::future::pending().await;
        }
        match self.read().await {
            Some(true) => {}
            Some(false) => tokio::time::sleep(IDLE_PAUSE).await,
            None => tokio::time::sleep(LONG_PAUSE).await,
        }
    }

    /// The next batch, if there is one that is full or has waited long enough.
    fn batch(&mut self) -> Option<Vec<EventRecord>> {
        let mapping = &self.delivery.mapping;
        let is_ready = self.ended
            || self.pending.len() >= mapping.batch_size
            || self.since.elapsed() >= mapping.window;
        if self.pending.is_empty() || !is_ready {
            return None;
        }
        let most = self.pending.len().min(mapping.batch_size);
        Some(self.pending.drain(..most).collect())
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
