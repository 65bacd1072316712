//! Translations of each other, and who waits to be one. `GROUP#<group>`; `-`, member or waiter.

use super::{ALONE, Key, RowKey, WAITER, escape, id_part, key};

/// Their partitions.
pub const PREFIX: &str = "GROUP#";

/// Sort key prefix of a group's members.
pub const MEMBER: &str = "m#";

/// `GROUP#<group>`.
#[must_use]
pub fn group_partition(group: &str) -> String {
    format!("{}{}", PREFIX, escape(group))
}

/// Where the calls of a group's records go on. It is before all of them.
#[must_use]
pub fn group_calls(group_pk: &str) -> Key {
    key(group_pk.to_owned(), ALONE)
}

/// A member of a group.
#[must_use]
pub fn group_member(group: &str, id: &str) -> Key {
    key(group_partition(group), format!("{MEMBER}{}", id_part(id)))
}

/// A record that waits for room in a group.
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
