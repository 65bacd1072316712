//! The sums of an audit: the hashes that rows, records and ledgers add, and how the sums are stored.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sitemap::plan::{Holding, Ledger, Series, Slot};
use table::{Item, Value};

use super::job::Settled;
use crate::error::EngineError;
use crate::rows::claim::YIELDS;
use crate::rows::keys::{self, Key, RowKey};
use crate::rows::ledger::ledger_body;
use crate::rows::row::{Holds, Row};
use crate::rows::series::Extent;
use crate::rows::table::SitemapTable;

/// The number of sums. With a million pages, thirty share one. They take 256 KB of an item, whose limit is 400 KB (DynamoDB).
pub(super) const SUMS: usize = 32_768;

/// The number of the sum to which a page's rows are added.
pub(crate) type SumNumber = u16;

/// The sums of a running audit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sums {
    pub(super) place: Place,
    pub(super) sums: Vec<u64>,
    pub(super) seen: Seen,
    /// Whether they may have a row in the table.
    pub(super) is_stored: bool,
}

/// The state of the summation, without the sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Place {
    /// When the audit began, in Unix seconds.
    pub(super) began: i64,
    /// The random text with which each hash begins.
    pub(super) seed: String,
    pub(super) next: Next,
    /// Sums that are suspected because of a single row.
    pub(super) suspected: BTreeSet<SumNumber>,
    /// Whether a row has to be looked at in any case.
    pub(super) looks_on: bool,
}

/// The next page to add.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Next {
    Rows(Option<(String, String)>),
    Records(Option<String>),
    End,
}

/// The sites and series that were read, for the rest of a slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) sites: BTreeMap<String, Settled>,
    pub(super) extents: BTreeMap<String, BTreeMap<Series, Extent>>,
}

/// The additions of one page.
pub(super) struct Tally<'a> {
    pub(super) place: &'a Place,
    pub(super) added: Vec<(SumNumber, u64)>,
    pub(super) suspected: BTreeSet<SumNumber>,
    pub(super) looks_on: bool,
    /// The number of rows or records that it has read.
    pub(super) read: u64,
}

impl Sums {
    /// Returns the sums of an audit that is never stored.
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

    /// Returns the state as JSON, and the bytes of the sums.
    pub(crate) fn store(&self) -> (String, Vec<u8>) {
        let place = serde_json::to_string(&self.place).expect("a place has text keys alone");
        let sums = self.sums.iter().flat_map(|sum| sum.to_le_bytes());
        (place, sums.collect())
    }

    /// Returns the sums that [`Sums::store`] has stored, or `None` if they are invalid.
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

    /// Adds the hashes of a page.
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

    /// Adds the hash of a row's or a record's content.
    pub(super) fn add(&mut self, ledger: &Key, what: &str, said: &str) {
        let hash = self.hash(ledger, what, said);
        self.added.push((sum_of(ledger), hash));
    }

    /// Subtracts the hash of the content that a page's ledger expects.
    pub(super) fn subtract(&mut self, ledger: &Key, what: &str, said: &str) {
        let hash = self.hash(ledger, what, said);
        self.added.push((sum_of(ledger), hash.wrapping_neg()));
    }

    pub(super) fn suspect(&mut self, key: &Key) {
        self.suspected.insert(sum_of(key));
    }
}

/// Returns the number of the sum for a record's ledgers, of all its parts, or for a row without an owner.
pub(super) fn sum_of(key: &Key) -> SumNumber {
    let hash = Sha256::digest(&key.pk);
    u16::from_le_bytes([hash[0], hash[1]]) % SUMS as u16
}

/// Returns the number of the sum to which a row belongs.
pub(super) fn sum_of_row(row: &Row) -> SumNumber {
    match (&row.kind, owner(row)) {
        (Some(RowKey::Ledger(_)), _) | (_, None) => sum_of(&row.key),
        (_, Some(owner)) => sum_of(&keys::ledger(owner)),
    }
}

/// Returns the page whose ledger names a row.
pub(super) fn owner(row: &Row) -> Option<&str> {
    let named = row.kind.as_ref().and_then(RowKey::owner);
    named.or(row.owner.as_deref())
}

/// Returns the content of a row, without its key.
pub(super) fn said(holds: &Holds) -> String {
    match holds {
        Holds::Entry(Some((_, digest))) => digest.clone(),
        Holds::Translation(translation) => format!("{translation:?}"),
        Holds::Llms(digest) => digest.clone(),
        Holds::Claim(_, true) => YIELDS.to_owned(),
        Holds::Departed(departure) => format!("{departure:?}"),
        _ => String::new(),
    }
}

/// Returns the content of a row as the ledger expects it.
pub(super) fn said_of(holding: &Holding) -> String {
    match holding {
        Holding::Entry(placed) => placed.digest.clone(),
        Holding::GroupMember(_, translation) => format!("{translation:?}"),
        Holding::Llms(_, _, digest) => digest.clone(),
        Holding::YieldingClaim(_) => YIELDS.to_owned(),
        Holding::Departed(_, departure) => format!("{departure:?}"),
        _ => String::new(),
    }
}

/// Returns the part of a ledger that follows from the record: no slots, and nothing that depends on earlier states.
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

/// The name of a ledger's [`face`] in its hash, where rows have their key.
pub(super) const FACE: &str = "";

/// Returns whether a row is looked at if these sums are suspected. Free slots and sites are in no ledger, so they are always
/// looked at.
pub(super) fn is_suspected(row: &Row, suspected: &BTreeSet<SumNumber>) -> bool {
    matches!(row.kind, Some(RowKey::Free(..) | RowKey::Site(_)))
        || suspected.contains(&sum_of_row(row))
}

/// Returns whether a record is looked at if these sums are suspected.
pub(super) fn is_record_suspected(page: &str, suspected: &BTreeSet<SumNumber>) -> bool {
    suspected.contains(&sum_of(&keys::ledger(page)))
}

/// Returns a row's key as one text.
pub(super) fn name(Key { pk, sk }: &Key) -> String {
    format!("{pk} {sk}")
}

impl SitemapTable {
    /// Returns the sums that the last slice of the audit has stored, or `None` if there are none, or if they cannot be read.
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
