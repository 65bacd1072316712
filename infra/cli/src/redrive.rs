//! `waymark redrive`: replays the batches that Lambda gave up, with the same code.
//!
//! - An event says where to look. So it may be old or partly handled, and the functions or another redrive may run meanwhile.
//! - An object is deleted when all of its batch was handled. An object that is no failure of this deployment stays.

use std::fmt;

use aws::failures::FailureBucket;
use aws_lambda_events::event::dynamodb::Event;
use engine::content::SourceTable;
use engine::error::EngineError;
use engine::regenerate::Regenerator;
use engine::regenerate::index::IndexLimits;
use objects::ObjectError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::deployment::target::Target;

pub(crate) mod command;

/// The outcome for an object of the failure bucket.
#[derive(Debug)]
pub enum Outcome {
    /// All its records were handled, and it is deleted.
    Done {
        /// The function whose batch it was.
        function: &'static str,
        /// Records of the batch.
        records: usize,
    },
    /// Somebody else has deleted it.
    Gone,
    /// It is still there.
    Left(Reason),
}

/// Why an object is left.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// It is not what Lambda writes.
    #[error("not a failure record: {0}")]
    Foreign(String),
    /// It is of a stream that this deployment does not follow.
    #[error("a batch of table {0:?}, which is not one of this deployment's tables")]
    OtherTable(String),
    /// Something of it fails as before.
    #[error(
        "{function} failed again, from record {from} of {records} on: the messages above say why"
    )]
    Failed {
        /// The function whose batch it is.
        function: &'static str,
        /// The number of the first record that failed, from 1.
        from: usize,
        /// Records of the batch.
        records: usize,
    },
    /// S3 fails.
    #[error(transparent)]
    Bucket(#[from] ObjectError),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done { function, records } => write!(f, "{function} handled {records} records"),
            Self::Gone => write!(f, "deleted meanwhile"),
            Self::Left(reason) => write!(f, "left: {reason}"),
        }
    }
}

/// An object of the failure bucket and its outcome: a line of the command's JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redriven {
    /// The object's key.
    pub key: String,
    /// `handled`, `gone` or `left`.
    pub outcome: &'static str,
    /// The function that handled it.
    pub function: Option<&'static str>,
    /// Records that were handled.
    pub records: Option<usize>,
    /// Why it is left.
    pub reason: Option<String>,
}

impl Redriven {
    /// Describes the outcome for the object with this key.
    #[must_use]
    pub fn of(key: &str, outcome: &Outcome) -> Self {
        let redriven = Self {
            key: key.to_owned(),
            outcome: "gone",
            function: None,
            records: None,
            reason: None,
        };
        match outcome {
            Outcome::Gone => redriven,
            Outcome::Done { function, records } => Self {
                outcome: "handled",
                function: Some(*function),
                records: Some(*records),
                ..redriven
            },
            Outcome::Left(reason) => Self {
                outcome: "left",
                reason: Some(reason.to_string()),
                ..redriven
            },
        }
    }
}

/// Hands every batch of the failure bucket to its function's code, and returns how many objects are left.
///
/// `report` gets the outcome of each object by its key. Objects that come into the bucket meanwhile are not looked at.
///
/// # Errors
///
/// If the bucket cannot be listed.
pub async fn redrive(
    target: &Target,
    failures: &FailureBucket,
    mut report: impl FnMut(&str, &Outcome),
) -> Result<usize, EngineError> {
    let mut left = 0;
    for key in failures.keys().await? {
        let outcome = hand_over(target, failures, &key).await;
        let outcome = outcome.unwrap_or_else(Outcome::Left);
        left += usize::from(matches!(outcome, Outcome::Left(_)));
        report(&key, &outcome);
    }
    Ok(left)
}

async fn hand_over(
    target: &Target,
    failures: &FailureBucket,
    key: &str,
) -> Result<Outcome, Reason> {
    let Some(bytes) = failures.read(key).await? else {
        return Ok(Outcome::Gone);
    };
    let event = event(&bytes).map_err(Reason::Foreign)?;
    let table = table(&event).map_err(Reason::Foreign)?;
    let reconciler = &target.reconciler;
    let source = reconciler.content.source().map(SourceTable::name);
    let (function, response) = if table == target.content_table || Some(table) == source {
        ("ingest", ingest::ingest(reconciler, &event).await)
    } else if table == target.sitemap_table {
        let regenerator = Regenerator {
            reconciler: reconciler.clone(),
            objects: target.objects.clone(),
            limits: IndexLimits::default(),
        };
        // Boxed: the compiler bounds how deep futures may lie in one another.
        let response = regenerate::regenerate(&regenerator, &event);
        ("regenerate", Box::pin(response).await)
    } else {
        return Err(Reason::OtherTable(table.to_owned()));
    };
    let records = event.records.len();
    if let Some(failure) = response.batch_item_failures.first() {
        let failed = |number: &Option<String>| *number == failure.item_identifier;
        let mut numbers = event
            .records
            .iter()
            .map(|record| &record.change.sequence_number);
        let from = numbers.position(failed).unwrap_or_default() + 1;
        return Err(Reason::Failed {
            function,
            from,
            records,
        });
    }
    failures.delete(key).await?;
    Ok(Outcome::Done { function, records })
}

/// Parses the event of a failure record: the JSON document that Lambda writes into an S3 destination
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>), whose `payload` is the whole event. The page shows it
/// as a text; an object is read, too.
fn event(bytes: &[u8]) -> Result<Event, String> {
    let mut record: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("not JSON: {error}"))?;
    let event = match record.get_mut("payload").map(Value::take) {
        None => return Err("payload: missing".to_owned()),
        Some(Value::String(text)) => serde_json::from_str(&text),
        Some(payload) => Event::deserialize(payload),
    };
    event.map_err(|error| format!("payload: not an event of a DynamoDB stream: {error}"))
}

/// Returns the table whose stream all records of an event are of.
fn table(event: &Event) -> Result<&str, String> {
    let mut tables = event.records.iter().map(|record| {
        let arn = record.event_source_arn.as_deref().unwrap_or_default();
        // arn:aws:dynamodb:<region>:<account>:table/<table>/stream/<label>
        let table = arn.split(":table/").nth(1)?.split("/stream/").next();
        table.filter(|table| !table.is_empty())
    });
    let first = tables.next().ok_or("payload.Records: empty")?;
    let table = first.ok_or("payload.Records: eventSourceARN: not that of a table's stream")?;
    if tables.any(|other| other != Some(table)) {
        return Err("payload.Records: of several tables".to_owned());
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(arn: &str) -> Value {
        json!({"eventID": "1", "eventName": "MODIFY", "awsRegion": "eu-central-1", "eventSourceARN": arn, "dynamodb": {
            "ApproximateCreationDateTime": 1_800_000_000.0, "Keys": {"id": {"S": "a"}}, "SequenceNumber": "100",
            "SizeBytes": 1, "StreamViewType": "KEYS_ONLY"}})
    }

    fn arn(table: &str) -> String {
        format!(
            "arn:aws:dynamodb:eu-central-1:123456789012:table/{table}/stream/2026-11-01T00:00:00.000"
        )
    }

    /// Checks what is read of a failure record with this payload: its table, or what is wrong.
    #[track_caller]
    fn check(payload: Option<Value>, expected: Result<&str, &str>) {
        let mut document =
            json!({"version": "1.0", "requestContext": {}, "DDBStreamBatchInfo": {}});
        if let Some(payload) = payload {
            document["payload"] = payload;
        }
        let found = event(document.to_string().as_bytes());
        let found = found.and_then(|event| table(&event).map(str::to_owned));
        match (found, expected) {
            (Err(problem), Err(expected)) => assert!(problem.contains(expected), "{problem}"),
            (found, expected) => assert_eq!(
                found.as_deref(),
                expected.map_err(ToOwned::to_owned).as_deref()
            ),
        }
    }

    #[test]
    fn what_came_of_an_object_is_json() {
        let done = Outcome::Done {
            function: "ingest",
            records: 2,
        };
        let left = Outcome::Left(Reason::OtherTable("x".to_owned()));
        let shape = |outcome: &str, function, records, reason: Option<String>| json!({"key": "k", "outcome": outcome, "function": function, "records": records, "reason": reason});
        let reason = r#"a batch of table "x", which is not one of this deployment's tables"#;
        for (outcome, expected) in [
            (done, shape("handled", Some("ingest"), Some(2), None)),
            (Outcome::Gone, shape("gone", None, None, None)),
            (left, shape("left", None, None, Some(reason.to_owned()))),
        ] {
            let found = serde_json::to_value(Redriven::of("k", &outcome)).unwrap();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_payload_is_a_text_or_an_object() {
        let event = json!({"Records": [record(&arn("content")), record(&arn("content"))]});
        check(Some(event.clone()), Ok("content"));
        check(Some(event.to_string().into()), Ok("content"));
    }

    #[test]
    fn what_is_no_failure_record_says_which_field_is_wrong() {
        assert!(event(b"").is_err_and(|problem| problem.contains("not JSON")));
        assert!(event(b"[]").is_err_and(|problem| problem.contains("payload")));
        check(None, Err("payload: missing"));
        check(Some(json!("{")), Err("payload: not an event"));
        check(Some(json!({"Records": 1})), Err("payload: not an event"));
        check(Some(json!({"Records": []})), Err("payload.Records: empty"));
        check(
            Some(
                json!({"Records": [record("arn:aws:kinesis:eu-central-1:123456789012:stream/a")]}),
            ),
            Err("eventSourceARN"),
        );
        check(
            Some(json!({"Records": [record(&arn("a")), record(&arn("b"))]})),
            Err("several tables"),
        );
    }
}
