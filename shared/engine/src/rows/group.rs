//! Translation groups: their members, and the pages that wait for room. `GROUP#<group>`; `-`, member or waiter.

use sitemap::loc::Loc;
use sitemap::plan::{MAX_GROUP, Translation, Translations};
use table::{Condition, Item, Name, Query, Value};
use tracing::warn;

use super::key::{ALONE, Key, RowKey, WAITER, escape, id_part, key};
use super::table::SitemapTable;
use crate::error::EngineError;

/// Prefix of the partitions of groups.
pub const PREFIX: &str = "GROUP#";

/// Sort key prefix of a group's members.
pub const MEMBER: &str = "m#";

/// Returns the partition of a group: `GROUP#<group>`.
#[must_use]
pub fn group_partition(group: &str) -> String {
    format!("{}{}", PREFIX, escape(group))
}

/// Returns the key of the row that says where the calls of a group's records continue. It sorts before all of them.
#[must_use]
pub fn group_calls(group_pk: &str) -> Key {
    key(group_pk.to_owned(), ALONE)
}

/// Returns the key of a member of a group.
#[must_use]
pub fn group_member(group: &str, id: &str) -> Key {
    key(group_partition(group), format!("{MEMBER}{}", id_part(id)))
}

/// Returns the key of the row of a record that waits for room in a group.
#[must_use]
pub fn group_waiter(group: &str, id: &str) -> Key {
    key(group_partition(group), format!("{WAITER}{}", id_part(id)))
}

pub(super) fn parse(sk: &str) -> Option<RowKey> {
    match sk.strip_prefix(MEMBER) {
        Some(id) => Some(RowKey::GroupMember(id.to_owned())),
        None if sk == ALONE => Some(RowKey::GroupCalls),
        None => Some(RowKey::GroupWaiter(sk.strip_prefix(WAITER)?.to_owned())),
    }
}

/// The most members of a group that are read. It is more than a group may have, because pages that join at the same time do not
/// see each other. Members beyond the limit leave, and are reconciled again when others have left.
const MEMBERS_READ: u32 = 300;
const _: () = assert!(MEMBERS_READ as usize > MAX_GROUP);

/// The records of a group to reconcile when one of them has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRecords {
    /// Where earlier calls continue. `None` if they have ended.
    pub calls: Option<Calls>,
    /// The sort keys and ids of the members, at least as many as a group may have. After them come the waiting pages for which
    /// there is room.
    pub records: Vec<(String, String)>,
}

/// Where the calls of a group's records continue.
#[derive(Clone, Debug, PartialEq)]
pub struct Calls {
    /// The sort key of the next record.
    pub from: String,
    /// Changes with every write. It is random and not a counter, because the row is deleted and created again.
    token: Option<Value>,
}

/// Returns a member's row, or `None` if it is damaged.
pub(crate) fn read_translation(item: &Item) -> Option<Translation> {
    Some(Translation {
        language: item.text("language")?.to_owned(),
        href: Loc::parse_any(item.text("href")?).ok()?,
        x_default: match item.get("x_default") {
            None => false,
            Some(Value::Bool(value)) => *value,
            Some(_) => return None,
        },
    })
}

pub(crate) fn translation_attributes(
    translation: &Translation,
) -> impl Iterator<Item = (Name, Value)> {
    let x_default = translation.x_default.then_some(Value::Bool(true));
    let attributes = [
        ("language", Some(Value::from(&translation.language))),
        ("href", Some(Value::from(translation.href.as_str()))),
        ("x_default", x_default),
    ];
    let attributes = attributes.into_iter();
    attributes.filter_map(|(name, value)| Some((name.into(), value?)))
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns the members of a translation group.
    pub async fn translations(&self, group: &str) -> Result<Translations, EngineError> {
        let pk = group_partition(group);
        let items = self.beginning_with(&pk, MEMBER, Some(MEMBERS_READ)).await?;
        let member = |item: &Item| {
            let id = item.text("sk")?.strip_prefix(MEMBER)?.to_owned();
            let translation = read_translation(item);
            if translation.is_none() {
                warn!(
                    group,
                    id, "the row of a translation is damaged: passed over"
                );
            }
            Some((id, translation?))
        };
        Ok(items.iter().filter_map(member).collect())
    }

    /// Returns the records of a group's partition that are to be reconciled when one of them has changed.
    pub async fn group_records(&self, group_pk: &str) -> Result<GroupRecords, EngineError> {
        // The row of the calls, the members, and as many waiting pages as fit in.
        let items = self
            .first(Query::of(group_pk).limited(1 + MEMBERS_READ))
            .await?;
        let (mut calls, mut records) = (None, Vec::new());
        for item in &items {
            let sk = item.text("sk").unwrap_or_default();
            match parse(sk) {
                Some(RowKey::GroupCalls) => calls = Some(read_calls(item)),
                Some(RowKey::GroupMember(id)) => records.push((sk.to_owned(), id)),
                Some(RowKey::GroupWaiter(id)) if records.len() < MAX_GROUP => {
                    records.push((sk.to_owned(), id));
                }
                _ => {}
            }
        }
        Ok(GroupRecords { calls, records })
    }

    /// Writes where the calls of a group's records continue, or that they have ended, if the row is unchanged since it was read.
    /// The write is the event for the next slice. Returns `false` if the row has changed.
    pub async fn advance_calls(
        &self,
        group_pk: &str,
        before: Option<&Calls>,
        from: Option<&str>,
    ) -> Result<bool, EngineError> {
        let key = group_calls(group_pk);
        let unchanged = match before {
            None => Condition::lacks("pk"),
            Some(Calls {
                token: Some(token), ..
            }) => Condition::equals("token", token.clone()),
            Some(Calls { token: None, .. }) => Condition::lacks("token"),
        };
        match (before, from) {
            (_, Some(from)) => {
                let row = Item::from(&key).with("from", from);
                self.put_if(row.with("token", self.env.token()), unchanged)
                    .await
            }
            (Some(_), None) => self.delete_if(&key, unchanged).await,
            (None, None) => Ok(true),
        }
    }
}

/// Reads where a group's calls continue. If the row does not say it, they begin with the first record.
fn read_calls(item: &Item) -> Calls {
    Calls {
        from: item.text("from").unwrap_or(MEMBER).to_owned(),
        token: item.get("token").cloned(),
    }
}
