//! The rows of a page: their keys, their bodies, and whether they are as a ledger says.

use sitemap::plan::{Address, Holding, Ledger};
use table::Item;

use super::group::translation_attributes;
use super::key::{self as names, Key};
use super::row::{Holds, Row};
use super::{claim, departed, entry, feed, group, ledger, left_out, llms, term, timer};

/// The problem of a row that a ledger names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The row does not exist.
    Missing,
    /// An attribute is missing or wrong.
    Unreadable,
    /// The slot is empty.
    Empty,
    /// It belongs to another record.
    Anothers,
    /// Its content differs. Contains the row's digest if it is an entry, otherwise an empty text.
    Differs(String),
}

/// Returns the key of a row of `page`.
pub(crate) fn key(page: &str, holding: &Holding) -> Key {
    match holding {
        Holding::Entry(placed) => entry::entry(&placed.series, placed.slot),
        Holding::Claim(Address { site, loc }) | Holding::YieldingClaim(Address { site, loc }) => {
            claim::claim(site, loc.as_str())
        }
        Holding::Departed(Address { site, loc }, _) => departed::departed(site, loc.as_str()),
        Holding::Waiter(Address { site, loc }) => claim::waiter(site, loc.as_str(), page),
        Holding::TermMember(term, lastmod) => term::term_member(term, *lastmod, page),
        Holding::Archive(term) => term::archive(term, page),
        Holding::LeftOut(site) => left_out::left_out(site, page),
        Holding::GroupMember(group, _) => group::group_member(group, page),
        Holding::GroupWaiter(group) => group::group_waiter(group, page),
        Holding::Feed(site, at) => feed::feed(site, *at, page),
        Holding::Llms(site, lastmod, _) => llms::llms(site, *lastmod, page),
        Holding::Timer(due) => timer::timer(*due, page),
        Holding::Part(part) => ledger::ledger(&names::page(names::page_parts(page).0, *part)),
    }
}

/// Returns the row to write for `page`.
pub(crate) fn item(page: &str, holding: &Holding) -> Item {
    let item = Item::from(&key(page, holding));
    match holding {
        Holding::Claim(address) => claim::row(page, address, false),
        Holding::YieldingClaim(address) => claim::row(page, address, true),
        Holding::Departed(address, departure) => departed::row(page, address, departure),
        Holding::GroupMember(_, translation) => {
            let mut item = item;
            item.extend(translation_attributes(translation));
            item
        }
        _ => item,
    }
}

/// Returns the problem of a row that the ledger of `page` names, or `None` if it is as the ledger says.
pub(crate) fn loss(page: &str, holding: &Holding, row: Option<&Row>) -> Option<Loss> {
    let Some(row) = row else {
        return Some(Loss::Missing);
    };
    if row.owner.as_ref().is_some_and(|owner| owner != page) {
        return Some(Loss::Anothers);
    }
    match (holding, &row.holds) {
        (_, Err(_)) => Some(Loss::Unreadable),
        (_, Ok(Holds::Entry(None))) => Some(Loss::Empty),
        (Holding::Entry(placed), Ok(Holds::Entry(Some((_, digest))))) => {
            (placed.digest != *digest).then(|| Loss::Differs(digest.clone()))
        }
        (Holding::Claim(_), Ok(Holds::Claim(_, yields))) => {
            yields.then(|| Loss::Differs(String::new()))
        }
        (Holding::YieldingClaim(_), Ok(Holds::Claim(_, yields))) => {
            (!yields).then(|| Loss::Differs(String::new()))
        }
        (Holding::Departed(_, departure), Ok(Holds::Departed(other))) => {
            (departure != other).then(|| Loss::Differs(String::new()))
        }
        (Holding::GroupMember(_, translation), Ok(Holds::Translation(other))) => {
            (translation != other).then(|| Loss::Differs(String::new()))
        }
        (Holding::Llms(_, _, digest), Ok(Holds::Llms(other))) => {
            (digest != other).then(|| Loss::Differs(String::new()))
        }
        _ => None,
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Missing => "is missing",
            Self::Unreadable => "cannot be read",
            Self::Empty => "is empty",
            Self::Anothers => "belongs to another record",
            Self::Differs(_) => "differs from it",
        })
    }
}

/// Returns the keys of the rows that a ledger names, in addition to its own.
#[must_use]
pub fn rows_of(id: &str, ledger: &Ledger, now: i64) -> Vec<Key> {
    let rows = ledger.holdings(now);
    rows.map(|row| key(id, &row)).collect()
}
