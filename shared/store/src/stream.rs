//! Batches of stream records: what each is about, and the answer that lets the stream go on behind what succeeded.

use aws_lambda_events::event::dynamodb::{Event, EventRecord};
use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};

/// The subjects of a batch, each once, in the order of their first records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<S> {
    /// Each subject with the position of its first record.
    subjects: Vec<(S, usize)>,
    /// The sequence numbers of the batch's records.
    sequence_numbers: Vec<String>,
    /// When they were written, in Unix seconds.
    times: Vec<i64>,
}

impl<S: Clone + Ord> Batch<S> {
    /// Reads an event. Records that are about nothing are left out: nothing can be done about them.
    pub fn of(event: &Event, subject: impl Fn(&EventRecord) -> Option<S>) -> Self {
        let mut seen = std::collections::BTreeSet::new();
        let mut subjects = Vec::new();
        for (position, record) in event.records.iter().enumerate() {
            match subject(record) {
                Some(subject) if seen.insert(subject.clone()) => subjects.push((subject, position)),
                Some(_) => {}
                None => {
                    tracing::warn!(event = %record.event_id, "a stream record has unknown keys: it is ignored")
                }
            }
        }
        let number =
            |record: &EventRecord| record.change.sequence_number.clone().unwrap_or_default();
        let time = |record: &EventRecord| record.change.approximate_creation_date_time.timestamp();
        Self {
            subjects,
            sequence_numbers: event.records.iter().map(number).collect(),
            times: event.records.iter().map(time).collect(),
        }
    }

    /// The subjects.
    pub fn subjects(&self) -> impl Iterator<Item = &S> {
        self.subjects.iter().map(|(subject, _)| subject)
    }

    /// The answer to the stream when nothing of the batch could be handled.
    #[must_use]
    pub fn all_failed(&self) -> DynamoDbEventResponse {
        self.failed_from(0)
    }

    /// The answer that has the stream deliver again from a record on.
    fn failed_from(&self, position: usize) -> DynamoDbEventResponse {
        let mut failure = DynamoDbBatchItemFailure::default();
        // An empty identifier would fail the whole batch, which is right for a record without a number.
        failure.item_identifier = self.sequence_numbers.get(position).cloned();
        let mut response = DynamoDbEventResponse::default();
        response.batch_item_failures.push(failure);
        response
    }

    /// When the first record of any of these subjects was written, in Unix seconds rounded down: what came after it for
    /// the same subject is younger. Nothing if the stream does not say.
    pub fn oldest<'a>(&self, subjects: impl IntoIterator<Item = &'a S>) -> Option<i64>
    where
        S: 'a,
    {
        let subjects: std::collections::BTreeSet<&S> = subjects.into_iter().collect();
        let asked = self
            .subjects
            .iter()
            .filter(|(subject, _)| subjects.contains(subject));
        asked
            .map(|(_, position)| self.times[*position])
            .filter(|time| *time > 0)
            .min()
    }

    /// The answer to the stream when these subjects have failed: it delivers again from the first record of the first
    /// of them on. Nothing before that record failed, and what succeeded behind it may run twice.
    pub fn response<'a>(&self, failed: impl IntoIterator<Item = &'a S>) -> DynamoDbEventResponse
    where
        S: 'a,
    {
        let failed: std::collections::BTreeSet<&S> = failed.into_iter().collect();
        let first = self
            .subjects
            .iter()
            .find(|(subject, _)| failed.contains(subject));
        first.map_or_else(DynamoDbEventResponse::default, |(_, position)| {
            self.failed_from(*position)
        })
    }
}

/// A text attribute of a stream record's key.
#[must_use]
pub fn key_text<'a>(record: &'a EventRecord, name: &str) -> Option<&'a str> {
    match record.change.keys.get(name)? {
        serde_dynamo::AttributeValue::S(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(ids: &[&str]) -> Event {
        let record = |(at, id): (usize, &&str)| {
            serde_json::json!({"awsRegion": "local", "eventID": at.to_string(), "eventName": "MODIFY", "dynamodb": {
                "ApproximateCreationDateTime": 0, "Keys": {"id": {"S": id}}, "SequenceNumber": (100 + at).to_string(), "SizeBytes": 1}})
        };
        let records: Vec<_> = ids.iter().enumerate().map(record).collect();
        serde_json::from_value(serde_json::json!({"Records": records})).unwrap()
    }

    fn check(ids: &[&str], failed: &[&str], expected: Option<&str>) {
        let batch = Batch::of(&event(ids), |record| {
            key_text(record, "id").map(str::to_owned)
        });
        let failed: Vec<String> = failed.iter().map(|id| (*id).to_owned()).collect();
        let response = batch.response(&failed);
        let reported: Vec<_> = response
            .batch_item_failures
            .iter()
            .map(|failure| failure.item_identifier.as_deref())
            .collect();
        assert_eq!(reported, Vec::from_iter(expected.map(Some)));
    }

    #[test]
    fn the_oldest_record_is_the_first_of_its_subject_that_has_a_time() {
        let mut event = event(&["a", "b", "a", "c"]);
        for (record, at) in event.records.iter_mut().zip([30, 20, 10, 0]) {
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(at * 1_000 + 999);
            record.change.approximate_creation_date_time = at.into();
        }
        let batch = Batch::of(&event, |record| key_text(record, "id").map(str::to_owned));
        let [a, b, c] = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(batch.oldest([&a]), Some(30));
        assert_eq!(batch.oldest([&b, &a]), Some(20));
        assert_eq!(batch.oldest([&c, &a]), Some(30));
        assert_eq!(batch.oldest([&c]), None);
        assert_eq!(batch.oldest([]), None);
    }

    #[test]
    fn records_of_one_key_are_one_subject_and_the_first_failure_is_reported() {
        let batch = Batch::of(&event(&["a", "b", "a"]), |record| {
            key_text(record, "id").map(str::to_owned)
        });
        assert_eq!(batch.subjects().collect::<Vec<_>>(), ["a", "b"]);
        check(&["a", "b", "a"], &[], None);
        check(&["a", "b", "a"], &["b"], Some("101"));
        check(&["a", "b", "a"], &["b", "a"], Some("100"));
        check(&["c", "b", "a", "b"], &["a", "b"], Some("101"));
    }
}
