//! The sums of an audit: what rows, records and ledgers add to them, and how they are stored.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sitemap::plan::{Holding, Ledger, Series, Slot};
use table::{Item, Value};

use super::job::Settled;
use crate::error::EngineError;
use crate::rows::keys::{self, Key, RowKey};
use crate::rows::ledger::ledger_body;
use crate::rows::row::{Holds, Row};
use crate::rows::series::Extent;
use crate::rows::table::SitemapTable;

/// Sums. With a million pages thirty share one. They fill 256 KB of an item, which may have 400 KB (DynamoDB).
pub(super) const SUMS: usize = 32_768;

/// Which sum a page's rows are added to.
pub(crate) type SumNumber = u16;

/// The sums of an audit under way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sums {
    pub(super) place: Place,
    pub(super) sums: Vec<u64>,
    pub(super) seen: Seen,
    /// Whether there may be a row of them.
    pub(super) is_stored: bool,
}

/// What is known of the sums beside themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Place {
    /// When the audit began, in Unix seconds.
    pub(super) began: i64,
    /// What each hash begins with.
    pub(super) seed: String,
    pub(super) next: Next,
    /// Suspected for what a row says by itself.
    pub(super) suspected: BTreeSet<SumNumber>,
    /// Whether there is a row that has to be looked at in any case.
    pub(super) looks_on: bool,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Next {
    Rows(Option<(String, String)>),
    Records(Option<String>),
    End,
}

/// What was read of sites and their series, for as long as a slice goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) sites: BTreeMap<String, Settled>,
    pub(super) extents: BTreeMap<String, BTreeMap<Series, Extent>>,
}

/// What a page adds.
pub(super) struct Tally<'a> {
    pub(super) place: &'a Place,
    pub(super) added: Vec<(SumNumber, u64)>,
    pub(super) suspected: BTreeSet<SumNumber>,
    pub(super) looks_on: bool,
    /// Rows or records that it has read.
    pub(super) read: u64,
}

impl Sums {
    /// Returns those of an audit that is never stored.
    pub(super) fn unstored(began: i64, seed: String) -> Self {
        Self {
            is_stored: false,
            ..Self::new(began, seed)
        }
    }

    pub(super) fn new(began: i64, seed: String) -> Self {
        Self {
            place: Place {
                began,
                seed,
                next: Next::Rows(None),
                suspected: BTreeSet::new(),
                looks_on: false,
            },
            sums: vec![0; SUMS],
            seen: Seen::default(),
            is_stored: true,
        }
    }

    /// Returns the checksums as a text and the sums' bytes.
    pub(crate) fn store(&self) -> (String, Vec<u8>) {
        let place = serde_json::to_string(&self.place).expect("a place has text keys alone");
        let sums = self.sums.iter().flat_map(|sum| sum.to_le_bytes());
        (place, sums.collect())
    }

    /// Returns what [`Sums::store`] has stored, or `None` if it is not that.
    pub(crate) fn read(place: &str, sums: &[u8]) -> Option<Self> {
        let (sums, rest) = sums.as_chunks::<8>();
        let sums: Vec<u64> = sums.iter().copied().map(u64::from_le_bytes).collect();
        let is_whole = rest.is_empty() && sums.len() == SUMS;
        is_whole.then_some(())?;
        Some(Self {
            place: serde_json::from_str(place).ok()?,
            sums,
            seen: Seen::default(),
            is_stored: true,
        })
    }

    /// Returns whether all rows are added.
    pub(crate) fn is_at_records(&self) -> bool {
        !matches!(self.place.next, Next::Rows(_))
    }

    /// Takes in what a page adds.
    pub(super) fn take(&mut self, added: Vec<(SumNumber, u64)>) {
        for (number, hash) in added {
            let sum = &mut self.sums[usize::from(number)];
            *sum = sum.wrapping_add(hash);
        }
    }

    /// Returns the sums that are suspected at the end.
    pub(super) fn suspected(&self) -> BTreeSet<SumNumber> {
        let numbers = (0..).zip(&self.sums);
        let differ = numbers.filter(|(_, sum)| **sum != 0);
        let differ = differ.map(|(number, _)| number);
        differ.chain(self.place.suspected.iter().copied()).collect()
    }
}

impl Tally<'_> {
    pub(super) fn hash(&self, ledger: &Key, what: &str, said: &str) -> u64 {
        let mut hasher = Sha256::new();
        let texts = [&self.place.seed, &ledger.pk, &ledger.sk, what, said];
        for text in texts {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        let hash = hasher.finalize();
        u64::from_le_bytes(*hash.first_chunk().expect("32 bytes"))
    }

    /// Adds what a row or a record says of a page.
    pub(super) fn add(&mut self, ledger: &Key, what: &str, said: &str) {
        let hash = self.hash(ledger, what, said);
        self.added.push((sum_of(ledger), hash));
    }

    /// Subtracts what a page's ledger says of it.
    pub(super) fn subtract(&mut self, ledger: &Key, what: &str, said: &str) {
        let hash = self.hash(ledger, what, said);
        self.added.push((sum_of(ledger), hash.wrapping_neg()));
    }

    pub(super) fn suspect(&mut self, key: &Key) {
        self.suspected.insert(sum_of(key));
    }
}

/// Returns the sum of a record's ledgers, of all its parts; or of a row that belongs to none.
pub(super) fn sum_of(key: &Key) -> SumNumber {
    let hash = Sha256::digest(&key.pk);
    u16::from_le_bytes([hash[0], hash[1]]) % SUMS as u16
}

/// Returns the sum that a row belongs to.
pub(super) fn sum_of_row(row: &Row) -> SumNumber {
    match (&row.kind, owner(row)) {
        (Some(RowKey::Ledger(_)), _) | (_, None) => sum_of(&row.key),
        (_, Some(owner)) => sum_of(&keys::ledger(owner)),
    }
}

/// Returns the page whose ledger knows a row.
pub(super) fn owner(row: &Row) -> Option<&str> {
    let named = row.kind.as_ref().and_then(RowKey::owner);
    named.or(row.owner.as_deref())
}

/// Returns what a row says beside its key.
pub(super) fn said(holds: &Holds) -> String {
    match holds {
        Holds::Entry(Some((_, digest))) => digest.clone(),
        Holds::Translation(translation) => format!("{translation:?}"),
        Holds::Llms(digest) => digest.clone(),
        _ => String::new(),
    }
}

/// Returns the same, as a ledger says it.
pub(super) fn said_of(holding: &Holding) -> String {
    match holding {
        Holding::Entry(placed) => placed.digest.clone(),
        Holding::GroupMember(_, translation) => format!("{translation:?}"),
        Holding::Llms(_, _, digest) => digest.clone(),
        _ => String::new(),
    }
}

/// Returns what of a ledger follows from the record: not the slots, and not what depends on what was before.
pub(super) fn face(ledger: &Ledger) -> String {
    let mut ledger = Ledger {
        content_digest: ledger.content_digest.as_ref().map(|_| String::new()),
        feed: None,
        ..ledger.clone()
    };
    for placed in &mut ledger.placed {
        placed.slot = Slot { n: 0, i: 0 };
    }
    ledger.placed.sort_by(|a, b| a.series.cmp(&b.series));
    ledger_body(&ledger)
}

/// Represents a row in the hash of a ledger's [`face`].
pub(super) const FACE: &str = "";

/// Returns whether a row is looked at if these sums are suspected. What has no owner may be wrong beside others that are right.
pub(super) fn is_suspected(row: &Row, suspected: &BTreeSet<SumNumber>) -> bool {
    matches!(row.kind, Some(RowKey::Free(..) | RowKey::Site(_)))
        || suspected.contains(&sum_of_row(row))
}

/// Returns whether a record is looked at.
pub(super) fn is_record_suspected(page: &str, suspected: &BTreeSet<SumNumber>) -> bool {
    suspected.contains(&sum_of(&keys::ledger(page)))
}

/// Returns a row's key as one text.
pub(super) fn name(Key { pk, sk }: &Key) -> String {
    format!("{pk} {sk}")
}

impl SitemapTable {
    /// Returns the sums as a slice of the audit has left them, or `None` if there are none, or they cannot be read.
    pub(super) async fn sums(&self) -> Result<Option<Sums>, EngineError> {
        let item = self.item(&keys::sums()).await?.unwrap_or_default();
        let Some(Value::Bytes(sums)) = item.get("sums") else {
            return Ok(None);
        };
        Ok(item.text("place").and_then(|place| Sums::read(place, sums)))
    }

    /// Stores the sums for the next slice.
    pub(super) async fn note_sums(&self, sums: &Sums) -> Result<(), EngineError> {
        let (place, sums) = sums.store();
        let item = Item::from(&keys::sums()).with("place", place);
        self.put(item.with("sums", Value::Bytes(sums))).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_again_and_nothing_else() {
        let mut sums = Sums::new(7, "seed".to_owned());
        sums.take(vec![(1, 2), (1, u64::MAX), (32_767, 3)]);
        sums.place.next = Next::Records(Some("r".to_owned()));
        sums.place.suspected.insert(9);
        let (place, bytes) = sums.store();
        assert_eq!(Sums::read(&place, &bytes).as_ref(), Some(&sums));
        assert_eq!(sums.suspected(), BTreeSet::from([1, 9, 32_767]));
        assert_eq!(Sums::read(&place, &bytes[1..]), None);
        assert_eq!(Sums::read("{}", &bytes), None);
    }

    #[test]
    fn what_is_said_twice_and_unsaid_twice_is_not_suspected() {
        let mut sums = Sums::new(0, "seed".to_owned());
        let mut tally = Tally {
            place: &sums.place.clone(),
            added: Vec::new(),
            suspected: BTreeSet::new(),
            looks_on: false,
            read: 0,
        };
        let ledger = keys::ledger("r");
        for _ in 0..2 {
            tally.add(&ledger, "a row", "as it is");
            tally.subtract(&ledger, "a row", "as it is");
        }
        tally.add(&ledger, "another", "as it is");
        let mut added = tally.added;
        let last = added.pop().expect("the last");
        sums.take(added);
        assert_eq!(sums.suspected(), BTreeSet::new());
        sums.take(vec![last]);
        assert_eq!(sums.suspected(), BTreeSet::from([sum_of(&ledger)]));
    }
}
