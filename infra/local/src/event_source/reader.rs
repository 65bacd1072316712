//! Reads a stream: one reader for each stream shard of the mapping, a "lane".

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use aws_lambda_events::event::dynamodb::{EventRecord, UserIdentity};
use dynoxide::Database;
use dynoxide::actions::get_records::{GetRecordsRequest, GetRecordsResponse, Record};
use dynoxide::actions::get_shard_iterator::GetShardIteratorRequest;
use dynoxide::actions::list_streams::ListStreamsRequest;
use dynoxide::streams::shard_id;
use dynoxide::types::AttributeValue;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::delivery::{Delivery, hash, share};
use super::mapping::Mapping;
use crate::dynamodb::calls::Calls;

/// The pause after a poll that found nothing.
const IDLE_PAUSE: Duration = Duration::from_millis(25);
/// The same pause after [`QUIET`] without a record for the function. The difference is too short to notice when editing by hand.
const QUIET_PAUSE: Duration = Duration::from_millis(250);
/// After this time without an event, all parts look for work less often. Most tests are shorter.
pub const QUIET: Duration = Duration::from_secs(20);
/// The pause after a failed call.
const LONG_PAUSE: Duration = Duration::from_secs(1);
/// The most records of one `GetRecords` (DynamoDB).
const PAGE: usize = 1_000;
/// The most records for the function that are read ahead, plus one page: less than 50 MB.
const READ_AHEAD: usize = 50_000;

type Stopped = watch::Receiver<bool>;

/// Reads a table's stream until it is stopped, or a reader panics.
pub(super) async fn read_stream(calls: Calls, delivery: Arc<Delivery>, mut stopped: Stopped) {
    // Each reader reads the whole stream. A queue between one reader and several deliveries would need a limit, and then the
    // slowest delivery would block the others.
    let mut readers = JoinSet::new();
    for lane in 0..delivery.mapping.lanes() {
        let stream = Stream {
            calls: calls.clone(),
            table: delivery.mapping.table.clone(),
            place: None,
        };
        readers.spawn(read_lane(stream, lane, delivery.clone()));
    }
    tokio::select! {
        Some(Err(error)) = readers.join_next() => {
            tracing::error!(function = delivery.mapping.name, %error, "a reader of its stream panicked");
            let counters = &delivery.counters;
            let reason = error.to_string();
            counters.broken.get_or_init(|| reason);
            counters.changed.notify_waiters();
        }
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    // Dropping the readers aborts them and the function's running invocations.
    readers.shutdown().await;
}

/// Reads one lane, ahead of the delivery. A slice of a scan writes a hundred thousand records before the one that starts the next
/// slice.
async fn read_lane(stream: Stream, lane: usize, delivery: Arc<Delivery>) -> Infallible {
    let mut reader = LaneReader {
        stream,
        lane,
        delivery: Arc::clone(&delivery),
        pending: VecDeque::new(),
        since: Instant::now(),
        last_found: Instant::now(),
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
            // The pending records count as just read, because records that belong to them may follow and are handled with them.
            reader.since = Instant::now();
        }
        if found_nothing {
            let counters = &delivery.counters;
            if counters.overlapping.load(Ordering::SeqCst) == 0 {
                counters.with_idle_polls(|polls| polls[reader.lane] += 1);
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

/// A reader of one lane.
struct LaneReader {
    stream: Stream,
    lane: usize,
    delivery: Arc<Delivery>,
    /// Records that were read but not delivered yet.
    pending: VecDeque<EventRecord>,
    /// When the first of these was read.
    since: Instant,
    /// When a record for the function was last read.
    last_found: Instant,
}

impl LaneReader {
    /// Reads the next records, and returns whether there were any. Returns `None` if the read failed.
    async fn read(&mut self) -> Option<bool> {
        let mapping = &self.delivery.mapping;
        let records = match self.stream.read().await {
            Ok(records) => records,
            Err(error) => {
                tracing::warn!(function = mapping.name, error, "a poll failed");
                return None;
            }
        };
        let found = !records.is_empty();
        for record in records {
            if mapping.is_read_by(self.lane, &record) && (mapping.filter)(&record) {
                self.delivery.counters.read.fetch_add(1, Ordering::SeqCst);
                self.last_found = Instant::now();
                if self.pending.is_empty() {
                    self.since = self.last_found;
                }
                self.pending.push_back(record);
            }
        }
        Some(found)
    }

    /// Reads the next records unless many are pending. If the future is dropped, nothing was read.
    async fn read_ahead(&mut self) {
        if self.pending.len() >= READ_AHEAD {
            return std::future::pending().await;
        }
        match self.read().await {
            Some(true) => {}
            Some(false) => tokio::time::sleep(IDLE_PAUSE).await,
            None => tokio::time::sleep(LONG_PAUSE).await,
        }
    }

    /// Returns the next batch. Returns `None` if no batch is full or has waited long enough.
    fn batch(&mut self) -> Option<Vec<EventRecord>> {
        let mapping = &self.delivery.mapping;
        let is_ready =
            self.pending.len() >= mapping.batch_size || self.since.elapsed() >= mapping.window;
        if self.pending.is_empty() || !is_ready {
            return None;
        }
        let most = self.pending.len().min(mapping.batch_size);
        Some(self.pending.drain(..most).collect())
    }
}

impl Mapping {
    /// Returns the number of lanes.
    pub(super) fn lanes(&self) -> usize {
        self.stream_shards.max(1)
    }

    /// Returns whether this lane reads a record of the stream.
    fn is_read_by(&self, lane: usize, record: &EventRecord) -> bool {
        let keys = || record.change.keys.iter();
        let of_record = || hash(keys().filter(|(name, _)| **name == self.partition_key));
        share(self.stream_shards, of_record) == lane
    }
}

/// A table's stream, from its oldest record on. In the embedded DynamoDB it is one shard, which never ends.
struct Stream {
    calls: Calls,
    table: String,
    /// `None` before the first read.
    place: Option<Place>,
}

/// A place in a stream.
#[derive(Clone)]
struct Place {
    stream_arn: String,
    shard_iterator: String,
}

impl Stream {
    /// Reads the next records. If the future is dropped, nothing was read.
    async fn read(&mut self) -> Result<Vec<EventRecord>, String> {
        let (table, place) = (self.table.clone(), self.place.clone());
        let call = move |database: &Database| page(database, &table, place);
        let read = self.calls.run(call).await;
        let (page, place) = read.ok_or("DynamoDB has stopped")??;
        let records = page.records.into_iter();
        let records = records.map(|record| event_record(record, &place.stream_arn));
        let records = records.collect();
        self.place = Some(place);
        Ok(records)
    }
}

/// Reads the records after a place, and returns them with the place after them.
fn page(
    database: &Database,
    table: &str,
    place: Option<Place>,
) -> Result<(GetRecordsResponse, Place), String> {
    let mut place = place.map_or_else(|| beginning(database, table), Ok)?;
    let request = GetRecordsRequest {
        shard_iterator: place.shard_iterator.clone(),
        limit: Some(PAGE),
    };
    let mut page = database.get_records(request).map_err(told)?;
    if let Some(next) = page.next_shard_iterator.take() {
        place.shard_iterator = next;
    }
    Ok((page, place))
}

/// Returns the place of the oldest record. It does not describe the stream, because dynoxide would read all of its records for
/// that.
fn beginning(database: &Database, table: &str) -> Result<Place, String> {
    let request = ListStreamsRequest {
        table_name: Some(table.to_owned()),
        ..ListStreamsRequest::default()
    };
    let mut streams = database.list_streams(request).map_err(told)?.streams;
    let stream = streams.pop().ok_or("the table has no stream")?;
    let request = GetShardIteratorRequest {
        stream_arn: stream.stream_arn.clone(),
        shard_id: shard_id(table),
        shard_iterator_type: "TRIM_HORIZON".to_owned(),
        sequence_number: None,
    };
    let answer = database.get_shard_iterator(request).map_err(told)?;
    Ok(Place {
        stream_arn: stream.stream_arn,
        shard_iterator: answer.shard_iterator.ok_or("no iterator")?,
    })
}

fn told(error: impl std::error::Error) -> String {
    error.to_string()
}

/// Converts a record to the form in which Lambda writes it into an event.
fn event_record(record: Record, stream_arn: &str) -> EventRecord {
    let change = record.dynamodb;
    let keys = change.keys.into_iter();
    let keys = keys.filter_map(|(name, value)| Some((name, key_value(value)?)));
    let keys: HashMap<String, serde_dynamo::AttributeValue> = keys.collect();
    let at = Duration::try_from_secs_f64(change.approximate_creation_date_time);
    let mut event = EventRecord::default();
    event.event_id = record.event_id;
    event.event_name = record.event_name;
    event.event_source = Some(record.event_source);
    event.event_source_arn = Some(stream_arn.to_owned());
    event.aws_region = record.aws_region;
    event.user_identity = record.user_identity.map(|who| {
        let mut identity = UserIdentity::default();
        identity.type_ = who.identity_type;
        identity.principal_id = who.principal_id;
        identity
    });
    event.change.keys = keys.into();
    event.change.sequence_number = Some(change.sequence_number);
    event.change.size_bytes = change.size_bytes;
    event.change.approximate_creation_date_time =
        (SystemTime::UNIX_EPOCH + at.unwrap_or_default()).into();
    event
}

/// Converts the value of a key. Returns `None` for a type that keys cannot have.
fn key_value(value: AttributeValue) -> Option<serde_dynamo::AttributeValue> {
    Some(match value {
        AttributeValue::S(text) => serde_dynamo::AttributeValue::S(text),
        AttributeValue::N(number) => serde_dynamo::AttributeValue::N(number),
        AttributeValue::B(bytes) => serde_dynamo::AttributeValue::B(bytes),
        _ => return None,
    })
}
