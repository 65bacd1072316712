//! Keeps a store in step with the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use engine::concurrency::concurrently;
use engine::error::EngineError;
use engine::keys::{HASH_DIGITS, departed_address};
use engine::stream::{Batch, Handled, StreamRecord};
use engine::{Env, SitemapTable};
use objects::{Objects, all_sites};
use sitemap::redirects::{Departed, MAX_STORE_BYTES};
use tracing::{error, info, warn};

use crate::entry::{Place, Unfit, value_of, value_of_site};
use crate::port::{Changes, Described, MAX_CHANGED_KEYS, Store, StoreError};

/// The time after which a batch begins no further update. The rest comes again.
pub const SLICE: Duration = Duration::from_secs(60);
/// The time after which a repair begins no further update. The next repair finds the rest.
pub const REPAIR_TIME: Duration = Duration::from_secs(200);
/// Tries of an update that other writers of the store win. Each of them reads the rows again.
const TRIES: u32 = 8;
/// Rows of one update that are read concurrently.
const CONCURRENT_READS: usize = 16;

/// Keeps a store in step with the rows of departures and sites. Several may do so at once.
#[derive(Clone, Debug)]
pub struct Keeper {
    /// The rows.
    pub table: SitemapTable,
    /// The store.
    pub store: Arc<dyn Store>,
    /// Time and pauses.
    pub env: Env,
}

/// The outcome of a repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Entries that the rows ask for.
    pub wanted: usize,
    /// Entries that differed, and were looked at again.
    pub differing: usize,
    /// Entries for which there was no time.
    pub left: usize,
    /// Entries for which the store has no room.
    pub without_room: usize,
    /// Entries that cannot be in any store.
    pub unfit: usize,
}

/// Why a store was not brought into step.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Rows(#[from] EngineError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("other writers were faster {TRIES} times in a row")]
    Contended,
}

impl From<KeepError> for EngineError {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Rows(error) => error,
            KeepError::Store(error) => Self::Service {
                operation: "a call of the store",
                message: error.to_string(),
            },
            KeepError::Contended => Self::Contended {
                what: "the store".to_owned(),
                tries: TRIES,
            },
        }
    }
}

/// Returns whether nothing depends on a row: it only has a file of departures published.
fn is_call(record: &StreamRecord) -> bool {
    let (Some(pk), Some(sk)) = (record.key.text("pk"), record.key.text("sk")) else {
        return false;
    };
    pk.starts_with(engine::keys::prefix::MOVED) && departed_address(pk, sk).is_none()
}

impl Keeper {
    /// Handles a batch of the sitemap table's stream.
    pub async fn keep(&self, records: &[StreamRecord]) -> Handled {
        let records: Vec<_> = records
            .iter()
            .filter(|one| !is_call(one))
            .cloned()
            .collect();
        let batch = Batch::of(&records, Place::of);
        let places: Vec<&Place> = batch.subjects().collect();
        let until = self.env.deadline(SLICE);
        let mut known = None;
        for (at, chunk) in places.chunks(MAX_CHANGED_KEYS).enumerate() {
            let kept = if until.has_passed() {
                let what = "the store of redirects".to_owned();
                Err(KeepError::Rows(EngineError::Late { what }))
            } else {
                self.bring(chunk, &mut known).await
            };
            if let Err(error) = kept {
                error!(%error, "redirects at the edge were not brought into step");
                // What is behind it comes again with it.
                return batch.response(places[at * MAX_CHANGED_KEYS..].iter().copied());
            }
        }
        Handled::All
    }

    /// Compares the store with all rows, and brings what differs into step. Lists the store only if it must, or if the number of its
    /// entries differs from that of the rows, because listing it is what costs.
    ///
    /// # Errors
    ///
    /// If the table, the bucket or the store fails.
    pub async fn repair(
        &self,
        objects: &dyn Objects,
        must_list: bool,
    ) -> Result<Repaired, EngineError> {
        let until = self.env.deadline(REPAIR_TIME);
        let sites = all_sites(objects).await?;
        let described = self.store.describe().await.map_err(KeepError::Store)?;
        let mut repaired = Repaired::default();
        if !must_list {
            self.each_entry(&sites, &mut repaired, |_, _| {}).await?;
            if repaired.wanted as u64 == described.items {
                return Ok(repaired);
            }
        }
        let mut stored = self.stored().await?;
        let mut room = (MAX_STORE_BYTES as u64).saturating_sub(described.bytes);
        let (mut differing, mut without_room) = (BTreeSet::new(), 0);
        repaired = Repaired::default();
        let compare = |place: Place, value: String| {
            let key = place.key();
            let bytes = (key.len() + value.len()) as u64;
            match stored.remove(&key) {
                Some(is) if is == value => {}
                Some(_) => drop(differing.insert(place)),
                None if bytes > room => without_room += 1,
                None => {
                    room -= bytes;
                    differing.insert(place);
                }
            }
        };
        self.each_entry(&sites, &mut repaired, compare).await?;
        differing.extend(stored.keys().map(|key| Place::at(key)));
        // What the rows say is read again, under the ETag.
        let differing: Vec<&Place> = differing.iter().collect();
        let (mut known, mut done) = (None, 0);
        for chunk in differing.chunks(MAX_CHANGED_KEYS) {
            if until.has_passed() {
                break;
            }
            self.bring(chunk, &mut known).await?;
            done += chunk.len();
        }
        let repaired = Repaired {
            differing: differing.len(),
            left: differing.len() - done,
            without_room,
            ..repaired
        };
        if repaired.differing > 0 {
            let Repaired {
                wanted,
                differing,
                left,
                ..
            } = repaired;
            info!(
                wanted,
                differing, left, "redirects at the edge were repaired"
            );
        }
        if repaired.without_room + repaired.unfit > 0 {
            let Repaired {
                without_room,
                unfit,
                ..
            } = repaired;
            warn!(
                without_room,
                unfit,
                "redirects are not at the edge, and the site answers: the store has no room for them"
            );
        }
        Ok(repaired)
    }

    /// Calls a function with each entry that the rows ask for, and counts them.
    async fn each_entry(
        &self,
        sites: &[String],
        repaired: &mut Repaired,
        mut entry: impl FnMut(Place, String),
    ) -> Result<(), EngineError> {
        for site in sites {
            let place = Place::Site(site.clone());
            if let Some(value) = self.value(&place).await? {
                repaired.wanted += 1;
                entry(place, value);
            }
            for digit in HASH_DIGITS {
                for departed in self.table.departures_under(site, digit).await? {
                    match value_of(&departed) {
                        Ok(value) => {
                            repaired.wanted += 1;
                            entry(Place::of_address(site, &departed.loc), value);
                        }
                        Err(Unfit::Long) => repaired.unfit += 1,
                        Err(Unfit::Scheme) => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns all pairs of the store.
    async fn stored(&self) -> Result<BTreeMap<String, String>, EngineError> {
        let (mut pairs, mut after) = (BTreeMap::new(), None);
        loop {
            let page = self.store.list(after).await;
            let (page, next) = page.map_err(KeepError::Store)?;
            pairs.extend(page);
            after = next;
            if after.is_none() {
                return Ok(pairs);
            }
        }
    }

    /// Makes these entries what their rows say. `known` is a state of the store that was read before now.
    async fn bring(
        &self,
        places: &[&Place],
        known: &mut Option<Described>,
    ) -> Result<(), KeepError> {
        for round in 0..TRIES {
            self.env.backoff(round).await;
            // Before the rows: an update that was computed from older rows changes the ETag, and this one is then computed again.
            let state = match known.take() {
                Some(state) => state,
                None => self.store.describe().await?,
            };
            let changes = self.changes(places).await?;
            *known = self.apply(state, changes.clone()).await?;
            if known.is_some() && self.are_wanted(places, &changes).await? {
                return Ok(());
            }
        }
        Err(KeepError::Contended)
    }

    /// Returns whether the rows of the entries that were put still ask for them.
    ///
    /// A run that read a later state of a row may have had nothing to do, which leaves the ETag as it is: an entry that it was to delete
    /// was not in the store yet. Then nobody but this run, which read an earlier state and has put it, can mend that.
    async fn are_wanted(&self, places: &[&Place], changes: &Changes) -> Result<bool, EngineError> {
        let is_put = |place: &&&Place| changes.get(&place.key()).is_some_and(Option::is_some);
        let put: Vec<&Place> = places.iter().filter(is_put).copied().collect();
        let still = self.changes(&put).await?;
        Ok(still
            .iter()
            .all(|(key, value)| changes.get(key) == Some(value)))
    }

    /// Returns what the rows of these entries ask for.
    async fn changes(&self, places: &[&Place]) -> Result<Changes, EngineError> {
        let values = places.iter().map(|place| self.value(place));
        let values = concurrently(CONCURRENT_READS, values).await;
        let changes = places.iter().zip(values);
        changes
            .map(|(place, value)| Ok((place.key(), value?)))
            .collect()
    }

    /// Returns the value that the row of an entry asks for, or `None` if there is to be no entry.
    async fn value(&self, place: &Place) -> Result<Option<String>, EngineError> {
        match place {
            Place::Site(site) => match self.table.site(site).await {
                Ok(row) => Ok(row.and_then(|row| value_of_site(site, &row))),
                // Nobody knows whether it is open.
                Err(error) if error.is_permanent() => {
                    error!(site, %error, "a site does not redirect at the edge");
                    Ok(None)
                }
                Err(error) => Err(error),
            },
            Place::Address(site, hash) => {
                let departed = self.table.departure(site, hash).await?;
                Ok(departed
                    .as_ref()
                    .and_then(|departed| fitting(site, departed)))
            }
        }
    }

    /// Applies changes to the store if it is still in this state. Returns its new state, or `None` if it was changed meanwhile.
    ///
    /// A refused update is repeated by halves, so that a key which cannot be changed harms no other. What cannot be put is deleted,
    /// because the store may have an older value of it.
    async fn apply(
        &self,
        mut state: Described,
        changes: Changes,
    ) -> Result<Option<Described>, KeepError> {
        let mut left = vec![changes];
        while let Some(changes) = left.pop() {
            let mut changes = with_room(&state, changes);
            match self.store.update(&state.etag, &changes).await {
                Ok(next) => state = next,
                Err(StoreError::Conflict { .. }) => return Ok(None),
                Err(error @ StoreError::Unavailable { .. }) => return Err(error.into()),
                Err(_) if changes.len() > 1 => {
                    let middle = changes.keys().nth(changes.len() / 2).cloned();
                    let second = changes.split_off(&middle.unwrap_or_default());
                    left.extend([second, changes]);
                }
                Err(error) => {
                    // An ETag that is not the store's may be refused in other words.
                    if self.store.describe().await?.etag != state.etag {
                        return Ok(None);
                    }
                    match (changes.pop_first(), error) {
                        (Some((_, None)), StoreError::Missing { .. }) | (None, _) => {}
                        (Some((key, Some(_))), error) => {
                            warn!(key, %error, "a redirect is not at the edge, and the site answers");
                            left.push(Changes::from([(key, None)]));
                        }
                        (Some((key, None)), error) => {
                            error!(key, %error, "a redirect may be out of date at the edge");
                            return Err(error.into());
                        }
                    }
                }
            }
        }
        Ok(Some(state))
    }
}

/// Returns the value of a departure's entry, or `None` if it cannot be in the store.
fn fitting(site: &str, departed: &Departed) -> Option<String> {
    let value = value_of(departed);
    if value == Err(Unfit::Long) {
        let loc = &departed.loc;
        warn!(
            site,
            loc, "a redirect is not at the edge, and the site answers: its target is too long"
        );
    }
    value.ok()
}

/// Returns the changes with deletes in place of the puts for which the store has no room.
fn with_room(state: &Described, mut changes: Changes) -> Changes {
    let mut room = (MAX_STORE_BYTES as u64).saturating_sub(state.bytes);
    let mut without_room = 0;
    for (key, change) in &mut changes {
        let Some(value) = change else { continue };
        let bytes = (key.len() + value.len()) as u64;
        match room.checked_sub(bytes) {
            Some(left) => room = left,
            None => {
                *change = None;
                without_room += 1;
            }
        }
    }
    if without_room > 0 {
        warn!(
            without_room,
            "redirects are not at the edge, and the site answers: the store is full"
        );
    }
    changes
}
