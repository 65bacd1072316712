//! The transaction that applies a plan.

use std::collections::BTreeSet;

use sitemap::plan::{Address, Change, Holding, Placement, Plan, Rendered, Reuse};
use table::{Action, Condition, Item, Update};

use crate::rows::claim::YIELDS;
use crate::rows::keys::{self, Key, RowKey};
use crate::rows::ledger::ledger_body;
use crate::rows::{feed, holding, llms};

/// The actions of a transaction that is being built. Every condition is on the item that it protects.
#[derive(Default)]
pub(super) struct Actions {
    actions: Vec<Action>,
    /// The rows that the actions name. A transaction may name each row once.
    keys: BTreeSet<Key>,
}

impl Actions {
    pub(super) fn len(&self) -> usize {
        self.actions.len()
    }

    pub(super) fn into_actions(self) -> Vec<Action> {
        self.actions
    }

    fn push(&mut self, key: &Key, action: Action) {
        let is_first = self.keys.insert(key.clone());
        // DynamoDB would refuse the whole transaction on every try.
        debug_assert!(is_first, "{key:?} is named twice in one transaction");
        self.actions.push(action);
    }

    pub(super) fn take_free(&mut self, key: &Key) {
        self.push(key, Action::delete(key).when(Condition::has("pk")));
    }

    pub(super) fn ledger(&mut self, id: &str, token: &str, plan: &Plan) {
        let key = keys::ledger(id);
        let action = match &plan.ledger {
            Some(ledger) => Action::update(&key, Update::new().set("body", ledger_body(ledger))),
            None => Action::delete(&key),
        };
        self.push(&key, action.when(Condition::equals("token", token)));
    }

    /// Deletes a row that should not exist (`Fenced::strays`).
    pub(super) fn delete_stray(&mut self, id: &str, key: &Key) {
        if self.keys.contains(key) {
            return;
        }
        let mut action = Action::delete(key);
        if let Some(RowKey::Claim | RowKey::Departed(..)) = RowKey::parse(&key.pk, &key.sk) {
            action = action.when(nobodys_or(id));
        }
        self.push(key, action);
    }

    /// Adds the actions of a change. `fresh` means that the entry is written into a new slot of the counter.
    pub(super) fn change(&mut self, id: &str, change: &Change, fresh: bool) {
        match change {
            Change::Replace(placement, rendered) => {
                self.write_entry(id, placement, rendered, fresh)
            }
            Change::Insert(series, _) => {
                panic!("{id} has no slot in {series:?}: Plan::place was not called")
            }
            Change::Remove(placement, reuse) => self.remove_entry(id, placement, *reuse),
            Change::Hold(holding) => {
                let put = Action::put(holding::item(id, holding));
                let put = match holding {
                    // The same transaction puts the claim, under its condition. Who has that may write over what another page left
                    // whose claim was lost: it would be in the way until the audit comes.
                    Holding::Departed(..) => put,
                    _ => of_nobody_else(put, id, holding),
                };
                self.push(&holding::key(id, holding), put);
            }
            Change::Release(holding) => {
                let key = holding::key(id, holding);
                self.push(&key, of_nobody_else(Action::delete(&key), id, holding));
            }
            Change::Take(address, owner) => self.take_claim(id, address, owner),
            Change::Require(Address { site, loc }, owner) => {
                let key = keys::claim(site, loc.as_str());
                let owned = Condition::equals("owner", owner);
                self.push(&key, Action::check(&key, owned));
            }
            Change::Feed(at, item) => {
                let key = keys::feed(&item.address.site, *at, id);
                self.push(&key, Action::put(feed::row(*at, id, item)));
            }
            Change::Llms(item) => {
                let key = keys::llms(&item.site, item.lastmod, id);
                self.push(&key, Action::put(llms::row(id, item)));
            }
            Change::Notify(Address { site, loc }, at) => {
                // Keeps the time of the first unsent change, so that a URL that keeps changing is sent too.
                let update = Update::new()
                    .set("loc", loc.as_str())
                    .set("at", *at)
                    .set_missing("since", *at);
                let key = keys::notice(site, loc.as_str());
                self.push(&key, Action::update(&key, update));
            }
        }
    }

    /// Adds the actions that take an address from a page that departed from it. The row with its id is the event that calls it, so a run
    /// may end behind the transaction.
    fn take_claim(&mut self, id: &str, address: &Address, owner: &str) {
        let key = keys::claim(&address.site, address.loc.as_str());
        let yields = Condition::equals("owner", owner).and(Condition::has(YIELDS));
        let claim = holding::item(id, &Holding::Claim(address.clone()));
        self.push(&key, Action::put(claim).when(yields));
        let departed = keys::departed(&address.site, address.loc.as_str());
        self.push(&departed, Action::delete(&departed));
        let ousted = keys::ousted(&address.site, address.loc.as_str(), owner);
        self.push(&ousted, Action::put(Item::from(&ousted)));
    }

    fn write_entry(&mut self, id: &str, placement: &Placement, rendered: &Rendered, fresh: bool) {
        let update = Update::new()
            .set("owner", id)
            .set("xml", rendered.xml.as_str())
            .set_or_remove("lastmod", rendered.lastmod.map(|at| at.to_string()))
            .add("version", 1);
        let condition = if fresh {
            // A new slot of the counter has no row, unless the audit found it unused and gave it back meanwhile.
            Condition::lacks("pk").or(Condition::equals("owner", id))
        } else {
            nobodys_or(id)
        };
        let key = keys::entry(&placement.series, placement.slot);
        self.push(&key, Action::update(&key, update).when(condition));
    }

    /// Adds the actions that empty an entry's row. The row remains as a stub, because its version must keep rising. Otherwise a
    /// segment's stamp could repeat.
    fn remove_entry(&mut self, id: &str, placement: &Placement, reuse: Reuse) {
        let update = Update::new()
            .remove("owner")
            .remove("xml")
            .remove("lastmod")
            .add("version", 1);
        let key = keys::entry(&placement.series, placement.slot);
        self.push(&key, Action::update(&key, update).when(nobodys_or(id)));
        if reuse == Reuse::Free {
            let free = keys::free(&placement.series, placement.slot);
            self.push(&free, Action::put(Item::from(&free)));
        }
    }
}

/// Makes the write or deletion of a claim, or the deletion of what became of its page, conditional: it must be free or this record's.
fn of_nobody_else(action: Action, id: &str, holding: &Holding) -> Action {
    match holding {
        Holding::Claim(_) | Holding::YieldingClaim(_) | Holding::Departed(..) => {
            action.when(nobodys_or(id))
        }
        _ => action,
    }
}

/// Returns the condition that a row has no owner, or this record as its owner.
fn nobodys_or(id: &str) -> Condition {
    Condition::lacks("owner").or(Condition::equals("owner", id))
}
