//! Ledgers, claims and entries: what a reconcile reads and the one transaction in which it writes.

use std::collections::{BTreeMap, BTreeSet};

use sitemap::loc::normalized;
use sitemap::plan::{Address, Change, Claim, Ledger, Plan};
use table::{Condition, Item, MAX_ACTIONS, Query, Update};

use self::actions::Actions;
use crate::error::EngineError;
use crate::keys::{self, Key, RowKey};
use crate::sitemap_table::{SitemapTable, Transacted, damaged, item_key};
use crate::slots::Offer;

mod actions;
pub(crate) mod holding;
mod verify;

/// Rows that one repair adds to those that the ledger knows, so that it stays one transaction. The next audit adds the
/// next rows.
const MAX_STRAYS: usize = 10;
/// Tries of a transaction that was throttled or that conflicts with another. One more costs less than a new round, which fences and reads
/// again.
const COMMIT_TRIES: u32 = 5;

/// A ledger under a fence: until another fence, its owner alone can commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fenced {
    /// The fence's token: random, never a counter, since a ledger may be deleted and come back.
    pub token: String,
    /// What it holds; the default if there was none, which a plan without a ledger deletes again. After
    /// [`SitemapTable::fence_verified`], what of it is true.
    pub ledger: Ledger,
    /// Whether there was none.
    pub new: bool,
    /// Whether some of what it held was untrue.
    pub untrue: bool,
    /// Whether the row of the feed that it names is lost. The ledger keeps its time: the row comes back under that.
    pub feed_lost: bool,
    /// Rows that should not be: the record's that its ledger does not know, and free slots that it is about to write into. A
    /// commit deletes those that it does not write.
    pub strays: Vec<Key>,
}

impl Fenced {
    fn new(token: String, ledger: Option<Ledger>) -> Self {
        Self {
            token,
            new: ledger.is_none(),
            ledger: ledger.unwrap_or_default(),
            untrue: false,
            feed_lost: false,
            strays: Vec::new(),
        }
    }
}

/// What a page of the table has of ledgers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerPage {
    /// Ledgers by their pages.
    pub ledgers: Vec<(String, Ledger)>,
    /// Rows that were read, of all kinds.
    pub rows: u64,
    /// Where the next page begins; nothing at the end.
    pub next: Option<Key>,
}

/// How a commit ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Commit {
    /// Everything is written.
    Done,
    /// Nothing is written, because another run or page has the fence, a slot or the claim by now. Start again.
    Lost {
        /// The offers whose slots hold another page's entry.
        occupied: Vec<Offer>,
    },
}

/// A ledger's body; nothing if there is only a fence's token.
pub(crate) fn read_ledger(key: &Key, item: &Item) -> Result<Option<Ledger>, EngineError> {
    let Some(body) = item.text("body") else {
        return Ok(None);
    };
    serde_json::from_str(body)
        .map(Some)
        .map_err(|_| damaged(key, "body"))
}

/// What [`read_ledger`] reads.
pub(crate) fn ledger_body(ledger: &Ledger) -> String {
    serde_json::to_string(ledger).expect("a ledger has text keys alone")
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Puts a fresh token into the page's ledger and returns what it holds. Must precede every other read.
    pub async fn fence(&self, id: &str) -> Result<Fenced, EngineError> {
        let key = keys::ledger(id);
        let (token, item) = self.fence_row(&key, None).await?.unwrap_or_default();
        Ok(Fenced::new(token, read_ledger(&key, &item)?))
    }

    /// Like [`SitemapTable::fence`], and then compares the ledger with the rows: it loses what they do not confirm. `found` are rows
    /// that seem to be the record's; those that are, it takes in. A ledger that cannot be read counts as lost.
    pub async fn fence_verified(&self, id: &str, found: &[Key]) -> Result<Fenced, EngineError> {
        let key = keys::ledger(id);
        let (token, item) = self.fence_row(&key, None).await?.unwrap_or_default();
        let mut fenced = match read_ledger(&key, &item) {
            Ok(ledger) => Fenced::new(token, ledger),
            Err(_) => {
                // Only what was read: a request that arrives late must not delete a ledger that was written since.
                let damaged = Condition::equals("body", item.text("body").unwrap_or_default());
                self.delete_if(&key, damaged).await?;
                self.fence(id).await?
            }
        };
        let now = self.env.now();
        let known = rows_of(id, &fenced.ledger, now);
        let found = found
            .iter()
            .filter(|key| !known.contains(key))
            .take(MAX_STRAYS);
        let found: Vec<&Key> = found.collect();
        let wanted: BTreeSet<&Key> = known.iter().chain(found.iter().copied()).collect();
        let rows = self.rows_with(wanted).await?;
        verify::verify(id, &mut fenced, &rows, &found, now);
        Ok(fenced)
    }

    /// The ledgers among up to `limit` rows behind a place. Not read consistently, and nothing else of the rows is read. A ledger that
    /// cannot be read is left out: an audit finds it.
    pub async fn ledgers(
        &self,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<LedgerPage, EngineError> {
        let attributes = vec!["pk".into(), "sk".into(), "body".into()];
        let (items, next) = self.scan(after, limit, Some(attributes)).await?;
        let ledgers = items.iter().filter_map(|item| {
            let key = item_key(item)?;
            let RowKey::Ledger(page) = RowKey::parse(&key.pk, &key.sk)? else {
                return None;
            };
            Some((page, read_ledger(&key, item).ok()??))
        });
        Ok(LedgerPage {
            ledgers: ledgers.collect(),
            rows: items.len() as u64,
            next,
        })
    }

    /// The token of the fence that a page's ledger is under; nothing if there is no such row. Read consistently.
    pub async fn token(&self, id: &str) -> Result<Option<String>, EngineError> {
        let item = self.item(&keys::ledger(id)).await?;
        Ok(item.and_then(|item| item.text("token").map(str::to_owned)))
    }

    /// The highest part of a record's page that has a ledger, even one with nothing but a fence; 0 if there is none. Read
    /// consistently.
    pub async fn highest_part(&self, id: &str) -> Result<u32, EngineError> {
        let items = self.partition(&keys::ledger(id).pk).await?;
        let parts = items
            .iter()
            .filter_map(|item| item.text("sk")?.parse().ok());
        Ok(parts.max().unwrap_or(0))
    }

    /// Which other page than `id` has the claim of an address.
    pub async fn claim(&self, address: &Address, id: &str) -> Result<Claim, EngineError> {
        let item = self.item(&claim_key(address)).await?;
        read_claim(item.as_ref(), address, id)
    }

    /// The same for several pages in one call, in their order; of a page without an address [`Claim::Unread`].
    pub async fn claims(
        &self,
        wanted: &[Option<(&Address, &str)>],
    ) -> Vec<Result<Claim, EngineError>> {
        // Pages may want the same address.
        let addresses = wanted.iter().flatten();
        let keys: BTreeSet<Key> = addresses.map(|(address, _)| claim_key(address)).collect();
        let found = self.items(&keys).await;
        let found = found.map(|items| {
            let keyed = items.into_iter();
            let keyed = keyed.filter_map(|item| Some((item_key(&item)?, item)));
            keyed.collect::<BTreeMap<_, _>>()
        });
        let claim = |wanted: &Option<(&Address, &str)>| match (wanted, &found) {
            (None, _) => Ok(Claim::Unread),
            (Some(_), Err(error)) => Err(error.shared()),
            (Some((address, id)), Ok(found)) => {
                read_claim(found.get(&claim_key(address)), address, id)
            }
        };
        wanted.iter().map(claim).collect()
    }

    /// Whether anybody has the address of a claim's partition.
    pub async fn is_claimed(&self, claim_pk: &str) -> Result<bool, EngineError> {
        let claim = Key {
            pk: claim_pk.to_owned(),
            sk: keys::ALONE.to_owned(),
        };
        Ok(self.item(&claim).await?.is_some())
    }

    /// The first records that wait for an address, behind this one.
    pub async fn waiters(
        &self,
        claim_pk: &str,
        after: Option<&str>,
        most: u32,
    ) -> Result<Vec<String>, EngineError> {
        let after = after.map(|id| waiter(claim_pk, id));
        let query = Query {
            after: after.as_ref().map(Item::from),
            ..Query::of(claim_pk)
                .beginning_with(keys::WAITER)
                .limited(most)
        };
        let items = self.first(query).await?;
        let keys = items.iter().filter_map(|item| item.text("sk"));
        let ids = keys.filter_map(|sk| sk.strip_prefix(keys::WAITER));
        Ok(ids.map(str::to_owned).collect())
    }

    /// Writes the row of a page that waits for an address, which makes an event. Returns `false` if the page no longer waits.
    pub async fn call_waiter(&self, claim_pk: &str, id: &str) -> Result<bool, EngineError> {
        let update = Update::new().add("calls", 1);
        let waits = Condition::has("pk");
        let called = self.update_if(&waiter(claim_pk, id), update, waits).await?;
        Ok(called.is_some())
    }

    /// Why a page is left out: the reason's name and its text. If the page waits for an address, the address's owner is read now,
    /// because a waiting page does not hear of each new owner.
    pub async fn refusal(
        &self,
        page: &str,
        ledger: &Ledger,
    ) -> Result<Option<(String, String)>, EngineError> {
        let mut refused = ledger.refused.clone();
        if let (Some((_, reason)), Some(address)) = (&mut refused, &ledger.waits)
            && let Claim::Other(owner) = self.claim(address, page).await?
        {
            *reason = format!("record {owner} has the same address");
        }
        Ok(refused)
    }

    /// Applies a plan in one transaction, if the ledger's token is still the fence's.
    pub async fn commit(
        &self,
        id: &str,
        fenced: &Fenced,
        plan: &Plan,
        offers: &[Offer],
    ) -> Result<Commit, EngineError> {
        let mut actions = Actions::default();
        actions.ledger(id, &fenced.token, plan);
        let mut insertions = Vec::new();
        for change in &plan.changes {
            let offered = offers.iter().find(|offer| {
                matches!(change, Change::Replace(at, _) if at.slot == offer.slot && at.series == offer.series)
            });
            if let Some(offer) = offered {
                insertions.push((actions.len(), offer));
            }
            actions.change(id, change, offered.is_some_and(|offer| !offer.given_back));
        }
        for stray in &fenced.strays {
            actions.delete_stray(id, stray);
        }
        for offer in offers.iter().filter(|offer| offer.given_back) {
            actions.take_free(&keys::free(&offer.series, offer.slot));
        }
        assert!(
            actions.len() <= MAX_ACTIONS,
            "a reconcile is one transaction: {} actions",
            actions.len()
        );
        let actions = actions.into_actions();
        let mut tries = 1;
        let failed = loop {
            match self.transact(actions.clone()).await? {
                Transacted::Done => return Ok(Commit::Done),
                Transacted::Failed(failed) => break failed,
                // The plan holds for as long as the token does, which the transaction checks.
                Transacted::Contended if tries < COMMIT_TRIES => {
                    tries += 1;
                    self.env.backoff(tries).await;
                }
                Transacted::Contended => break Vec::new(),
            }
        };
        let occupied = insertions.into_iter();
        let occupied = occupied.filter(|(at, _)| failed.contains(at));
        let occupied = occupied.map(|(_, offer)| offer.clone()).collect();
        Ok(Commit::Lost { occupied })
    }

    /// A record's ledger, without a fence.
    pub async fn ledger(&self, id: &str) -> Result<Option<Ledger>, EngineError> {
        let key = keys::ledger(id);
        match self.item(&key).await? {
            Some(item) => read_ledger(&key, &item),
            None => Ok(None),
        }
    }
}

/// The row of one that waits for an address.
fn claim_key(address: &Address) -> Key {
    keys::claim(&address.site, address.loc.as_str())
}

/// Which other page than `id` has an address, by the row of its claim.
fn read_claim(item: Option<&Item>, address: &Address, id: &str) -> Result<Claim, EngineError> {
    let Some(item) = item else {
        return Ok(Claim::Free);
    };
    let damaged = |name| damaged(&claim_key(address), name);
    let owner = item.text("owner").ok_or_else(|| damaged("owner"))?;
    // The key holds a hash: two addresses under one key would be one of SHA-256's collisions, or a damaged item. The owner may
    // spell the address in its own way.
    let loc = item.text("loc").map(normalized);
    if loc != Some(address.loc.normalized()) {
        return Err(damaged("loc"));
    }
    Ok(if owner == id {
        Claim::Free
    } else {
        Claim::Other(owner.to_owned())
    })
}

fn waiter(claim_pk: &str, id: &str) -> Key {
    Key {
        pk: claim_pk.to_owned(),
        sk: format!("{}{id}", keys::WAITER),
    }
}

/// The rows that a ledger says there are, beside itself.
#[must_use]
pub fn rows_of(id: &str, ledger: &Ledger, now: i64) -> Vec<Key> {
    let rows = ledger.holdings(now);
    rows.map(|row| holding::key(id, &row)).collect()
}
