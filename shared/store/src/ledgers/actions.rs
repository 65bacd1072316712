//! The transaction that applies a plan.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, TransactWriteItem, Update,
};
use sitemap::plan::{Address, Change, Placement, Plan, Rendered, Reuse};

use crate::keys::{self, Key, RowKey};
use crate::relations::translation_attributes;
use crate::table::{key_item, number, text};

/// The condition on a claim that is to be deleted.
const MINE_OR_NOBODYS: &str = "attribute_not_exists(#name) OR #name = :value";

/// The actions of a transaction in the making. Every condition is on the item that it protects.
pub(super) struct Actions<'a> {
    table: &'a str,
    actions: Vec<TransactWriteItem>,
    /// The rows that they write: a transaction may write each once.
    keys: BTreeSet<Key>,
}

impl<'a> Actions<'a> {
    /// None yet, on this table.
    pub(super) fn of(table: &'a str) -> Self {
        Self {
            table,
            actions: Vec::new(),
            keys: BTreeSet::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.actions.len()
    }

    pub(super) fn into_items(self) -> Vec<TransactWriteItem> {
        self.actions
    }

    fn update(&mut self, key: &Key, build: impl FnOnce(UpdateBuilder) -> UpdateBuilder) {
        self.keys.insert(key.clone());
        let update = build(
            Update::builder()
                .table_name(self.table)
                .set_key(Some(key_item(key))),
        )
        .build();
        self.push(update.map(|update| TransactWriteItem::builder().update(update).build()));
    }

    fn put(
        &mut self,
        key: &Key,
        attributes: impl IntoIterator<Item = (&'static str, AttributeValue)>,
        mine: Option<&str>,
    ) {
        self.keys.insert(key.clone());
        let mut item = key_item(key);
        item.extend(
            attributes
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        let mut put = Put::builder().table_name(self.table).set_item(Some(item));
        if let Some(id) = mine {
            put = put.condition_expression("attribute_not_exists(#owner) OR #owner = :id");
            put = put
                .expression_attribute_names("#owner", "owner")
                .expression_attribute_values(":id", text(id));
        }
        self.push(
            put.build()
                .map(|put| TransactWriteItem::builder().put(put).build()),
        );
    }

    fn delete(&mut self, key: &Key, condition: Option<(&str, &str, AttributeValue)>) {
        self.keys.insert(key.clone());
        let mut delete = Delete::builder()
            .table_name(self.table)
            .set_key(Some(key_item(key)));
        if let Some((expression, name, value)) = condition {
            let values = HashMap::from([(":value".to_owned(), value)]);
            delete = delete
                .condition_expression(expression)
                .expression_attribute_names("#name", name);
            delete = delete.set_expression_attribute_values(Some(values));
        }
        self.push(
            delete
                .build()
                .map(|delete| TransactWriteItem::builder().delete(delete).build()),
        );
    }

    pub(super) fn take_free(&mut self, key: &Key) {
        let delete = Delete::builder()
            .table_name(self.table)
            .set_key(Some(key_item(key)));
        let delete = delete.condition_expression("attribute_exists(pk)").build();
        self.push(delete.map(|delete| TransactWriteItem::builder().delete(delete).build()));
    }

    fn push(&mut self, action: Result<TransactWriteItem, aws_sdk_dynamodb::error::BuildError>) {
        // The builders only check that table, key and item are set.
        self.actions.push(action.expect("a complete action"));
    }

    pub(super) fn ledger(&mut self, id: &str, token: &str, plan: &Plan) {
        let key = keys::ledger(id);
        match &plan.ledger {
            Some(ledger) => {
                let body = serde_json::to_string(ledger).expect("a ledger has text keys alone");
                self.update(&key, |update| {
                    update
                        .update_expression("SET #body = :body")
                        .condition_expression("#token = :token")
                        .expression_attribute_names("#body", "body")
                        .expression_attribute_names("#token", "token")
                        .expression_attribute_values(":body", text(body))
                        .expression_attribute_values(":token", text(token))
                });
            }
            None => self.delete(&key, Some(("#name = :value", "token", text(token)))),
        }
    }

    /// Deletes a claim, a waiter or a timer that the record's ledger does not know.
    pub(super) fn delete_stray(&mut self, id: &str, key: &Key) {
        if !self.keys.contains(key) {
            let condition = matches!(RowKey::parse(&key.pk, &key.sk), Some(RowKey::Claim))
                .then(|| (MINE_OR_NOBODYS, "owner", text(id)));
            self.delete(key, condition);
        }
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
            Change::Claim(address) => {
                let key = keys::claim(&address.site, address.loc.as_str());
                self.put(
                    &key,
                    [("owner", text(id)), ("loc", text(address.loc.as_str()))],
                    Some(id),
                );
            }
            Change::Release(address) => {
                let key = keys::claim(&address.site, address.loc.as_str());
                self.delete(&key, Some((MINE_OR_NOBODYS, "owner", text(id))));
            }
            Change::Wait(address, owner) => {
                self.put(
                    &keys::waiter(&address.site, address.loc.as_str(), id),
                    [],
                    None,
                );
                // If the owner went in the meantime, nobody would call this waiter.
                let key = keys::claim(&address.site, address.loc.as_str());
                let check = ConditionCheck::builder()
                    .table_name(self.table)
                    .set_key(Some(key_item(&key)))
                    .condition_expression("#owner = :owner")
                    .expression_attribute_names("#owner", "owner")
                    .expression_attribute_values(":owner", text(owner))
                    .build();
                self.push(
                    check.map(|check| TransactWriteItem::builder().condition_check(check).build()),
                );
            }
            Change::StopWaiting(address) => {
                self.delete(&keys::waiter(&address.site, address.loc.as_str(), id), None);
            }
            Change::JoinTerm(term, lastmod) => {
                self.put(&keys::term_member(term, *lastmod, id), [], None);
            }
            Change::LeaveTerm(term, lastmod) => {
                self.delete(&keys::term_member(term, *lastmod, id), None);
            }
            Change::KeepArchive(term) => self.put(&keys::archive(term, id), [], None),
            Change::DropArchive(term) => self.delete(&keys::archive(term, id), None),
            Change::JoinGroup(group, translation) => self.put(
                &keys::group_member(group, id),
                translation_attributes(translation),
                None,
            ),
            Change::LeaveGroup(group) => self.delete(&keys::group_member(group, id), None),
            Change::WaitInGroup(group) => self.put(&keys::group_waiter(group, id), [], None),
            Change::StopWaitingInGroup(group) => {
                self.delete(&keys::group_waiter(group, id), None);
            }
            Change::Feed(at, item) => {
                let site = &item.address.site;
                let published = item.published.map(|at| text(at.to_string()));
                let attributes = [
                    ("loc", Some(text(item.address.loc.as_str()))),
                    ("title", item.title.as_ref().map(text)),
                    ("summary", item.summary.as_ref().map(text)),
                    ("published", published),
                ];
                let attributes = attributes.into_iter();
                let attributes = attributes.filter_map(|(name, value)| Some((name, value?)));
                self.put(&keys::feed(site, *at, id), attributes, None);
            }
            Change::Unfeed(site, at) => self.delete(&keys::feed(site, *at, id), None),
            Change::Tell(Address { site, loc }, at) => {
                // The first change that nobody was told of stays: one that goes on changing has its turn too.
                let expression = "SET loc = :loc, #at = :at, #since = if_not_exists(#since, :at)";
                self.update(&keys::notice(site, loc.as_str()), |update| {
                    update
                        .update_expression(expression)
                        .expression_attribute_names("#at", "at")
                        .expression_attribute_names("#since", "since")
                        .expression_attribute_values(":loc", text(loc.as_str()))
                        .expression_attribute_values(":at", number(at))
                });
            }
            Change::SetTimer(due) => self.put(&keys::timer(*due, id), [], None),
            Change::ClearTimer(due) => self.delete(&keys::timer(*due, id), None),
        }
    }

    fn write_entry(&mut self, id: &str, placement: &Placement, rendered: &Rendered, fresh: bool) {
        let mut set = "SET #owner = :id, #xml = :xml".to_owned();
        let lastmod = rendered.lastmod.map(|at| text(at.to_string()));
        set.push_str(if lastmod.is_some() {
            ", #lastmod = :lastmod ADD #version :one"
        } else {
            " REMOVE #lastmod ADD #version :one"
        });
        self.update(&keys::entry(&placement.series, placement.slot), |update| {
            let mut update = entry_update(update, id, &set)
                .expression_attribute_names("#lastmod", "lastmod")
                .expression_attribute_names("#xml", "xml")
                .expression_attribute_values(":xml", text(&rendered.xml));
            if let Some(lastmod) = lastmod {
                update = update.expression_attribute_values(":lastmod", lastmod);
            }
            if fresh {
                // A slot of the counter's has no row, unless the audit found it unused and gave it back meanwhile.
                update = update.condition_expression("attribute_not_exists(pk) OR #owner = :id");
            }
            update
        });
    }

    /// The row stays as a stub: its version must go on rising, or a segment's stamp could come back.
    fn remove_entry(&mut self, id: &str, placement: &Placement, reuse: Reuse) {
        self.update(&keys::entry(&placement.series, placement.slot), |update| {
            entry_update(
                update,
                id,
                "REMOVE #owner, #xml, #lastmod ADD #version :one",
            )
            .expression_attribute_names("#lastmod", "lastmod")
            .expression_attribute_names("#xml", "xml")
        });
        if reuse == Reuse::Free {
            self.put(&keys::free(&placement.series, placement.slot), [], None);
        }
    }
}

/// An update of an entry that is nobody's or this record's. Every one raises the version.
fn entry_update(update: UpdateBuilder, id: &str, expression: &str) -> UpdateBuilder {
    update
        .update_expression(expression)
        .condition_expression("attribute_not_exists(#owner) OR #owner = :id")
        .expression_attribute_names("#owner", "owner")
        .expression_attribute_names("#version", "version")
        .expression_attribute_values(":id", text(id))
        .expression_attribute_values(":one", number(1))
}
