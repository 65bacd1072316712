//! The transaction that applies a plan.

use std::collections::BTreeSet;

use sitemap::plan::{Address, Change, Placement, Plan, Rendered, Reuse};
use table::{Action, Condition, Item, Update};

use crate::keys::{self, Key, RowKey};
use crate::relations::translation_attributes;

/// The actions of a transaction in the making. Every condition is on the item that it protects.
#[derive(Default)]
pub(super) struct Actions {
    actions: Vec<Action>,
    /// The rows that they write: a transaction may write each once.
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
        self.keys.insert(key.clone());
        self.actions.push(action);
    }

    fn put(&mut self, key: &Key) {
        self.push(key, Action::put(Item::from(key)));
    }

    fn delete(&mut self, key: &Key) {
        self.push(key, Action::delete(key));
    }

    pub(super) fn take_free(&mut self, key: &Key) {
        self.push(key, Action::delete(key).when(Condition::has("pk")));
    }

    pub(super) fn ledger(&mut self, id: &str, token: &str, plan: &Plan) {
        let key = keys::ledger(id);
        let action = match &plan.ledger {
            Some(ledger) => {
                let body = serde_json::to_string(ledger).expect("a ledger has text keys alone");
                Action::update(&key, Update::new().set("body", body))
            }
            None => Action::delete(&key),
        };
        self.push(&key, action.when(Condition::equals("token", token)));
    }

    /// Deletes a claim, a waiter or a timer that the record's ledger does not know.
    pub(super) fn delete_stray(&mut self, id: &str, key: &Key) {
        if self.keys.contains(key) {
            return;
        }
        let mut action = Action::delete(key);
        if let Some(RowKey::Claim) = RowKey::parse(&key.pk, &key.sk) {
            action = action.when(nobodys_or(id));
        }
        self.push(key, action);
    }

    /// `fresh` says that the entry is written into a slot of the counter's.
    pub(super) fn change(&mut self, id: &str, change: &Change, fresh: bool) {
        match change {
            Change::Replace(placement, rendered) => {
                self.write_entry(id, placement, rendered, fresh)
            }
            Change::Insert(series, _) => {
                panic!("{id} has no slot in {series:?}: Plan::place was not called")
            }
            Change::Remove(placement, reuse) => self.remove_entry(id, placement, *reuse),
            Change::Claim(Address { site, loc }) => {
                let key = keys::claim(site, loc.as_str());
                let claim = Item::from(&key).with("owner", id).with("loc", loc.as_str());
                self.push(&key, Action::put(claim).when(nobodys_or(id)));
            }
            Change::Release(Address { site, loc }) => {
                let key = keys::claim(site, loc.as_str());
                self.push(&key, Action::delete(&key).when(nobodys_or(id)));
            }
            Change::Wait(Address { site, loc }, owner) => {
                self.put(&keys::waiter(site, loc.as_str(), id));
                // If the owner went in the meantime, nobody would call this waiter.
                let key = keys::claim(site, loc.as_str());
                let others = Condition::equals("owner", owner);
                self.actions.push(Action::check(&key, others));
            }
            Change::StopWaiting(Address { site, loc }) => {
                self.delete(&keys::waiter(site, loc.as_str(), id));
            }
            Change::JoinTerm(term, lastmod) => self.put(&keys::term_member(term, *lastmod, id)),
            Change::LeaveTerm(term, lastmod) => {
                self.delete(&keys::term_member(term, *lastmod, id));
            }
            Change::KeepArchive(term) => self.put(&keys::archive(term, id)),
            Change::DropArchive(term) => self.delete(&keys::archive(term, id)),
            Change::JoinGroup(group, translation) => {
                let key = keys::group_member(group, id);
                let mut member = Item::from(&key);
                member.extend(translation_attributes(translation));
                self.push(&key, Action::put(member));
            }
            Change::LeaveGroup(group) => self.delete(&keys::group_member(group, id)),
            Change::WaitInGroup(group) => self.put(&keys::group_waiter(group, id)),
            Change::StopWaitingInGroup(group) => self.delete(&keys::group_waiter(group, id)),
            Change::Feed(at, item) => {
                let key = keys::feed(&item.address.site, *at, id);
                let mut row = Item::from(&key).with("loc", item.address.loc.as_str());
                let published = item.published.map(|at| at.to_string());
                for (name, value) in [
                    ("title", item.title.as_ref()),
                    ("summary", item.summary.as_ref()),
                    ("published", published.as_ref()),
                ] {
                    if let Some(value) = value {
                        row.set(name, value);
                    }
                }
                self.push(&key, Action::put(row));
            }
            Change::Unfeed(site, at) => self.delete(&keys::feed(site, *at, id)),
            Change::Tell(Address { site, loc }, at) => {
                // The first change that nobody was told of stays: one that goes on changing has its turn too.
                let update = Update::new()
                    .set("loc", loc.as_str())
                    .set("at", *at)
                    .set_missing("since", *at);
                let key = keys::notice(site, loc.as_str());
                self.push(&key, Action::update(&key, update));
            }
            Change::SetTimer(due) => self.put(&keys::timer(*due, id)),
            Change::ClearTimer(due) => self.delete(&keys::timer(*due, id)),
        }
    }

    fn write_entry(&mut self, id: &str, placement: &Placement, rendered: &Rendered, fresh: bool) {
        let update = Update::new()
            .set("owner", id)
            .set("xml", rendered.xml.as_str())
            .set_or_remove("lastmod", rendered.lastmod.map(|at| at.to_string()))
            .add("version", 1);
        let condition = if fresh {
            // A slot of the counter's has no row, unless the audit found it unused and gave it back meanwhile.
            Condition::lacks("pk").or(Condition::equals("owner", id))
        } else {
            nobodys_or(id)
        };
        let key = keys::entry(&placement.series, placement.slot);
        self.push(&key, Action::update(&key, update).when(condition));
    }

    /// The row stays as a stub: its version must go on rising, or a segment's stamp could come back.
    fn remove_entry(&mut self, id: &str, placement: &Placement, reuse: Reuse) {
        let update = Update::new()
            .remove("owner")
            .remove("xml")
            .remove("lastmod")
            .add("version", 1);
        let key = keys::entry(&placement.series, placement.slot);
        self.push(&key, Action::update(&key, update).when(nobodys_or(id)));
        if reuse == Reuse::Free {
            self.put(&keys::free(&placement.series, placement.slot));
        }
    }
}

/// That a row is nobody's or this record's.
fn nobodys_or(id: &str) -> Condition {
    Condition::lacks("owner").or(Condition::equals("owner", id))
}
