//! Deletes expired items as DynamoDB's time to live does: some time after they have expired, with a stream record that names the
//! service as who did it.
//!
//! dynoxide deletes at once, or never, whatever has expired by the system's clock (`Database::sweep_ttl`). Here an item goes up to
//! two days later, at a time that is drawn from its key, by the clock of the stack.

use std::time::{Duration, Instant};

use aws::Clock;
use dynoxide::Database;
use dynoxide::actions::delete_item::DeleteItemRequest;
use dynoxide::types::{AttributeValue, Item};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use super::calls::Calls;
use super::watch::{key_schema, quoted};

/// An item that expired longer ago than this is never deleted: five years.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html>
const OLDEST_SECONDS: i64 = 5 * 365 * 86_400;
/// Who deletes, in a stream record.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html>
const SERVICE: &str = r#"{"type":"Service","principalId":"dynamodb.amazonaws.com"}"#;
/// The same in the API's answers to other programs. Lambda's events have small letters, and so has dynoxide.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Identity.html>
const SERVICE_OF_THE_API: &str = r#"{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"}"#;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// The time of one look, after which the functions' calls come first: half a hundredth of the pause.
const LOOK: Duration = Duration::from_millis(5);
/// Items read at once.
const PAGE: i64 = 250;

/// A table whose items expire.
struct Expiring {
    name: String,
    attribute: String,
}

/// The place behind the last item that was read: table, and its two texts.
type Place = Option<(String, [String; 2])>;

/// Returns the answer to `GetRecords` as DynamoDB gives it. Returns `None` if it stays as it is. No text within it looks like
/// this, because JSON escapes quotes.
pub(super) fn answer(body: &[u8]) -> Option<Vec<u8>> {
    let told = |service| format!(r#""userIdentity":{service}"#);
    let body = std::str::from_utf8(body).ok()?;
    let by_service = told(SERVICE);
    body.contains(&by_service).then(|| {
        body.replace(&by_service, &told(SERVICE_OF_THE_API))
            .into_bytes()
    })
}

/// Looks for expired items for ever.
pub(crate) async fn expire_for_ever(calls: Calls, clock: Clock, latest: Duration) {
    let mut place = None;
    loop {
        tokio::time::sleep(PAUSE).await;
        place = match look(&calls, &clock, latest, place, LOOK).await {
            Ok(place) => place,
            Err(error) => {
                tracing::warn!(error, "DynamoDB: expired items were not deleted");
                None
            }
        };
    }
}

/// Deletes all items that are due.
///
/// # Errors
///
/// If the database fails.
pub(crate) async fn expire(calls: &Calls, clock: &Clock, latest: Duration) -> Result<(), String> {
    look(calls, clock, latest, None, Duration::MAX).await?;
    Ok(())
}

/// Deletes the items that are due, from a place on, and returns the place for the next look.
async fn look(
    calls: &Calls,
    clock: &Clock,
    latest: Duration,
    place: Place,
    time: Duration,
) -> Result<Place, String> {
    let (beside, now) = (calls.beside.clone(), clock.now());
    let look = move |database: &Database| {
        let look = Look {
            now,
            latest,
            database,
            by: Instant::now().checked_add(time),
        };
        beside.with(|connection| look.run(connection, place))
    };
    calls.run(look).await.ok_or("DynamoDB has stopped")?
}

struct Look<'d> {
    now: i64,
    latest: Duration,
    database: &'d Database,
    by: Option<Instant>,
}

impl Look<'_> {
    fn run(&self, connection: &Connection, mut place: Place) -> Result<Place, String> {
        for table in expiring(connection).map_err(told)? {
            let mut after = match &place {
                Some((at, _)) if *at > table.name => continue,
                Some((at, after)) if *at == table.name => after.clone(),
                _ => Default::default(),
            };
            loop {
                let rows = page(connection, &table, &after).map_err(told)?;
                let Some(([pk, sk], _)) = rows.last() else {
                    break;
                };
                after = [pk.clone(), sk.clone()];
                for (_, item) in rows {
                    self.delete_if_due(connection, &table, item)?;
                }
                if self.by.is_some_and(|by| Instant::now() >= by) {
                    return Ok(Some((table.name, after)));
                }
            }
            place = None;
        }
        Ok(None)
    }

    fn delete_if_due(
        &self,
        connection: &Connection,
        table: &Expiring,
        item: Option<String>,
    ) -> Result<(), String> {
        let item = item.and_then(|item| serde_json::from_str::<Item>(&item).ok());
        let Some(item) = item else { return Ok(()) };
        let Some(AttributeValue::N(expires)) = item.get(&table.attribute) else {
            return Ok(());
        };
        // A number of Unix seconds. Others never expire.
        let Ok(expires) = expires.parse::<i64>() else {
            return Ok(());
        };
        let mut key = Item::new();
        for element in key_schema(connection, &table.name).map_err(told)? {
            if let Some(value) = item.get(&element.attribute_name) {
                key.insert(element.attribute_name, value.clone());
            }
        }
        if !self.is_due(&key, expires) {
            return Ok(());
        }
        let last = last_record(connection).map_err(told)?;
        let request = DeleteItemRequest {
            table_name: table.name.clone(),
            key,
            ..DeleteItemRequest::default()
        };
        self.database.delete_item(request).map_err(told)?;
        connection
            .execute(
                "UPDATE _stream_records SET user_identity = ?1 WHERE id > ?2",
                params![SERVICE, last],
            )
            .map_err(told)?;
        Ok(())
    }

    fn is_due(&self, key: &Item, expires: i64) -> bool {
        let late = self.now.saturating_sub(expires);
        (1..=OLDEST_SECONDS).contains(&late) && late > drawn(key, expires, self.latest)
    }
}

/// Returns the seconds by which an item's deletion is late. They are the same at each look.
fn drawn(key: &Item, expires: i64, latest: Duration) -> i64 {
    let mut parts: Vec<_> = key
        .iter()
        .map(|(name, value)| (name, value.to_key_string()))
        .collect();
    parts.sort_unstable();
    let hash = Sha256::digest(format!("{parts:?} {expires}"));
    let drawn = hash[..4]
        .iter()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    i64::try_from(drawn % (latest.as_secs() + 1)).unwrap_or(i64::MAX)
}

fn expiring(connection: &Connection) -> rusqlite::Result<Vec<Expiring>> {
    let mut statement = connection.prepare_cached(
        "SELECT table_name, ttl_attribute FROM _tables
         WHERE ttl_enabled = 1 AND ttl_attribute IS NOT NULL ORDER BY table_name",
    )?;
    let tables = statement.query_map([], |row| {
        Ok(Expiring {
            name: row.get(0)?,
            attribute: row.get(1)?,
        })
    })?;
    tables.collect()
}

/// Returns the next items' places, and the items that may expire.
fn page(
    connection: &Connection,
    table: &Expiring,
    [pk, sk]: &[String; 2],
) -> rusqlite::Result<Vec<([String; 2], Option<String>)>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT pk, sk, CASE WHEN instr(item_json, ?3) THEN item_json END FROM {}
         WHERE (pk, sk) > (?1, ?2) ORDER BY pk, sk LIMIT ?4",
        quoted(&table.name)
    ))?;
    let name = serde_json::Value::from(table.attribute.as_str()).to_string();
    let rows = statement.query_map(params![pk, sk, name, PAGE], |row| {
        Ok(([row.get(0)?, row.get(1)?], row.get(2)?))
    })?;
    rows.collect()
}

fn last_record(connection: &Connection) -> rusqlite::Result<i64> {
    let mut statement =
        connection.prepare_cached("SELECT COALESCE(MAX(id), 0) FROM _stream_records")?;
    statement.query_row([], |row| row.get(0))
}

fn told(error: impl std::error::Error) -> String {
    error.to_string()
}
