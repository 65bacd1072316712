//! The events of DynamoDB streams, and the answers to them.

use aws_lambda_events::event::dynamodb::{Event, EventRecord};
use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use engine::stream::{EventName, Handled, StreamRecord};
use serde_dynamo::AttributeValue;
use table::{Item, Name, Value};

/// Returns the records of an event.
#[must_use]
pub fn records(event: &Event) -> Vec<StreamRecord> {
    event.records.iter().map(record).collect()
}

/// Converts a stream record of an event.
#[must_use]
pub fn record(record: &EventRecord) -> StreamRecord {
    let number = record.change.sequence_number.clone();
    StreamRecord {
        key: key(record),
        event: match record.event_name.as_str() {
            "INSERT" => EventName::Insert,
            "REMOVE" => EventName::Remove,
            _ => EventName::Modify,
        },
        table: table_of(record).unwrap_or_default().to_owned(),
        sequence_number: number.unwrap_or_default(),
        at: record.change.approximate_creation_date_time.timestamp(),
    }
}

fn key(record: &EventRecord) -> Item {
    let attributes = record.change.keys.clone().into_inner().into_iter();
    // DynamoDB has no other types of keys.
    let attributes = attributes.filter_map(|(name, value)| {
        let value = match value {
            AttributeValue::S(text) => Value::Text(text),
            AttributeValue::N(number) => Value::Number(number),
            AttributeValue::B(bytes) => Value::Bytes(bytes),
            _ => return None,
        };
        Some((Name::from(name), value))
    });
    attributes.collect()
}

/// Returns the name of the table that a stream record comes from.
fn table_of(record: &EventRecord) -> Option<&str> {
    // arn:aws:dynamodb:<region>:<account>:table/<name>/stream/<label>
    let (_, name) = record.event_source_arn.as_deref()?.split_once(":table/")?;
    name.split('/').next()
}

/// Returns the answer to an event.
#[must_use]
pub fn response(handled: Handled) -> DynamoDbEventResponse {
    let mut response = DynamoDbEventResponse::default();
    if let Handled::Before(number) = handled {
        let mut failure = DynamoDbBatchItemFailure::default();
        // An empty identifier fails the whole batch.
        failure.item_identifier = Some(number);
        response.batch_item_failures.push(failure);
    }
    response
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_has_its_key_its_table_its_number_and_its_time() {
        let arn =
            "arn:aws:dynamodb:eu-central-1:123456789012:table/posts/stream/2026-11-22T00:00:00.000";
        let event = json!({"Records": [
            {"awsRegion": "local", "eventID": "1", "eventName": "REMOVE", "eventSourceARN": arn, "dynamodb": {
                "ApproximateCreationDateTime": 1_800_000_000, "Keys": {"pk": {"S": "a/b"}, "sk": {"N": "-1.5"}},
                "SequenceNumber": "7", "SizeBytes": 1}},
            {"awsRegion": "local", "eventID": "2", "eventName": "MODIFY", "dynamodb": {
                "ApproximateCreationDateTime": 0, "Keys": {"id": {"B": "AQI="}}, "SizeBytes": 1}},
        ]});
        let event: Event = serde_json::from_value(event).unwrap();
        let expected = [
            StreamRecord {
                key: Item::new()
                    .with("pk", "a/b")
                    .with("sk", Value::number("-1.5")),
                event: EventName::Remove,
                table: "posts".to_owned(),
                sequence_number: "7".to_owned(),
                at: 1_800_000_000,
            },
            StreamRecord {
                key: Item::new().with("id", Value::Bytes(vec![1, 2])),
                ..StreamRecord::default()
            },
        ];
        assert_eq!(records(&event), expected);
    }

    #[test]
    fn an_answer_names_where_to_begin_again() {
        let named = |handled| {
            let failures = response(handled).batch_item_failures;
            let failures = failures.into_iter();
            failures
                .map(|failure| failure.item_identifier)
                .collect::<Vec<_>>()
        };
        assert_eq!(named(Handled::All), []);
        assert_eq!(
            named(Handled::Before("7".to_owned())),
            [Some("7".to_owned())]
        );
    }
}
