//! Batches of stream records: the subject of each, and the answer that says from where the stream delivers again.

use std::collections::BTreeSet;

use table::{Change, Item};

/// A change of an item as the stream reports it. The item itself is read again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamRecord {
    /// The item's primary key.
    pub key: Item,
    /// The kind of the change.
    pub event: EventName,
    /// The name of its table.
    pub table: String,
    /// The record's sequence number. Empty if the stream does not say.
    pub sequence_number: String,
    /// When the item was changed, in Unix seconds; 0 if the stream does not say.
    pub at: i64,
}

/// Converts a change of a table in memory, which has no name and no sequence numbers.
impl From<&Change<'_>> for StreamRecord {
    fn from(change: &Change<'_>) -> Self {
        Self {
            key: change.key.clone(),
            event: match (change.old, change.new) {
                (None, _) => EventName::Insert,
                (_, None) => EventName::Remove,
                _ => EventName::Modify,
            },
            ..Self::default()
        }
    }
}

/// The kind of a change, in a stream's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventName {
    /// The item is new.
    Insert,
    /// The item existed before.
    #[default]
    Modify,
    /// The item was deleted.
    Remove,
}

/// The outcome of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Handled {
    /// The whole batch was handled.
    All,
    /// The stream delivers again from the record with this sequence number on.
    Before(String),
}

/// The subjects of a batch, each once, in the order of their first records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<S> {
    /// Each subject with the position of its first record.
    subjects: Vec<(S, usize)>,
    /// The sequence numbers of the batch's records.
    sequence_numbers: Vec<String>,
    /// The times of the changes, in Unix seconds.
    times: Vec<i64>,
}

impl<S: Clone + Ord> Batch<S> {
    /// Reads a batch. Records without a subject are ignored, because nothing depends on them.
    pub fn of(records: &[StreamRecord], subject: impl Fn(&StreamRecord) -> Option<S>) -> Self {
        let mut seen = BTreeSet::new();
        let mut subjects = Vec::new();
        for (position, record) in records.iter().enumerate() {
            match subject(record) {
                Some(subject) if seen.insert(subject.clone()) => subjects.push((subject, position)),
                Some(_) => {}
                None => {
                    tracing::warn!(key = ?record.key, "a stream record has unknown keys: it is ignored");
                }
            }
        }
        let number = |record: &StreamRecord| record.sequence_number.clone();
        Self {
            subjects,
            sequence_numbers: records.iter().map(number).collect(),
            times: records.iter().map(|record| record.at).collect(),
        }
    }

    /// Returns the subjects.
    pub fn subjects(&self) -> impl Iterator<Item = &S> {
        self.subjects.iter().map(|(subject, _)| subject)
    }

    /// Returns the answer to the stream if nothing of the batch could be handled.
    pub fn all_failed(&self) -> Handled {
        self.failed_from(0)
    }

    /// Returns the answer that has the stream deliver again from a record on.
    fn failed_from(&self, position: usize) -> Handled {
        // Without a number the whole batch is delivered again, which is correct.
        let number = self.sequence_numbers.get(position);
        Handled::Before(number.cloned().unwrap_or_default())
    }

    /// Returns the time of the first record of any of these subjects, in Unix seconds rounded down. Later records of the same
    /// subject are younger. Returns `None` if the stream does not say.
    pub fn oldest<'a>(&self, subjects: impl IntoIterator<Item = &'a S>) -> Option<i64>
    where
        S: 'a,
    {
        let subjects: BTreeSet<&S> = subjects.into_iter().collect();
        let asked = self
            .subjects
            .iter()
            .filter(|(subject, _)| subjects.contains(subject));
        asked
            .map(|(_, position)| self.times[*position])
            .filter(|time| *time > 0)
            .min()
    }

    /// Returns the answer to the stream if these subjects have failed. The stream delivers again from the first record of the
    /// first failed subject. Later records that succeeded may be handled twice.
    pub fn response<'a>(&self, failed: impl IntoIterator<Item = &'a S>) -> Handled
    where
        S: 'a,
    {
        let failed: BTreeSet<&S> = failed.into_iter().collect();
        let first = self
            .subjects
            .iter()
            .find(|(subject, _)| failed.contains(subject));
        first.map_or(Handled::All, |(_, position)| self.failed_from(*position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(ids: &[&str]) -> Vec<StreamRecord> {
        let record = |(at, id): (usize, &&str)| StreamRecord {
            key: Item::new().with("id", *id),
            sequence_number: (100 + at).to_string(),
            ..StreamRecord::default()
        };
        ids.iter().enumerate().map(record).collect()
    }

    fn batch(records: &[StreamRecord]) -> Batch<String> {
        Batch::of(records, |record| record.key.text("id").map(str::to_owned))
    }

    fn check(ids: &[&str], failed: &[&str], expected: Option<&str>) {
        let failed: Vec<String> = failed.iter().map(|id| (*id).to_owned()).collect();
        let handled = batch(&records(ids)).response(&failed);
        let expected = expected.map(|number| Handled::Before(number.to_owned()));
        assert_eq!(handled, expected.unwrap_or(Handled::All));
    }

    #[test]
    fn the_oldest_record_is_the_first_of_its_subject_that_has_a_time() {
        let mut records = records(&["a", "b", "a", "c"]);
        for (record, at) in records.iter_mut().zip([30, 20, 10, 0]) {
            record.at = at;
        }
        let batch = batch(&records);
        let [a, b, c] = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(batch.oldest([&a]), Some(30));
        assert_eq!(batch.oldest([&b, &a]), Some(20));
        assert_eq!(batch.oldest([&c, &a]), Some(30));
        assert_eq!(batch.oldest([&c]), None);
        assert_eq!(batch.oldest([]), None);
    }

    #[test]
    fn records_of_one_key_are_one_subject_and_the_first_failure_is_reported() {
        let batch = batch(&records(&["a", "b", "a"]));
        assert_eq!(batch.subjects().collect::<Vec<_>>(), ["a", "b"]);
        check(&["a", "b", "a"], &[], None);
        check(&["a", "b", "a"], &["b"], Some("101"));
        check(&["a", "b", "a"], &["b", "a"], Some("100"));
        check(&["c", "b", "a", "b"], &["a", "b"], Some("101"));
    }
}
