//! The rows of a page in the sitemap table, besides its ledger.
//!
//! [`Holding`] is the basis of the plan's difference, the transaction, the verification of ledgers and the audit.

use super::ledger::{Address, Ledger, Placement, Term, is_over};
use super::translation::Translation;
use crate::record::Departure;
use crate::time::When;

/// A row of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holding {
    /// An entry in a slot.
    Entry(Placement),
    /// The claim of an address.
    Claim(Address),
    /// The claim of an address from which the page has departed. It yields to a page that is listed under the address.
    YieldingClaim(Address),
    /// What became of the page that was at the address.
    Departed(Address, Departure),
    /// The page waits for an address that another page has claimed.
    Waiter(Address),
    /// The page is in an archive, with this lastmod.
    TermMember(Term, Option<When>),
    /// The page is an archive's own. It is planned again when the archive's newest page changes.
    Archive(Term),
    /// The page is excluded by the site with this host. New settings may list it.
    LeftOut(String),
    /// The page is a member of a translation group.
    GroupMember(String, Translation),
    /// The page waits for room in a translation group.
    GroupWaiter(String),
    /// The page is in a site's feed, as changed at this time (Unix seconds). DynamoDB deletes the row after its time
    /// ([`super::FEED_SECONDS`]), and no change of the plan is needed for that.
    Feed(String, i64),
    /// The page may be listed in a site's llms.txt. Contains its lastmod and the digest of its row.
    Llms(String, Option<When>, String),
    /// The page is planned again at this time (Unix seconds).
    Timer(i64),
    /// The ledger of another part of the page.
    Part(u32),
}

impl Holding {
    /// Returns whether both are the same row, possibly with different content.
    pub(super) fn is_same_row(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Claim(address) | Self::YieldingClaim(address),
                Self::Claim(other) | Self::YieldingClaim(other),
            )
            | (Self::Departed(address, _), Self::Departed(other, _))
            | (Self::Waiter(address), Self::Waiter(other)) => address.is_equivalent(other),
            (Self::GroupMember(group, _), Self::GroupMember(other, _)) => group == other,
            (Self::Llms(site, at, _), Self::Llms(other, when, _)) => (site, at) == (other, when),
            _ => self == other,
        }
    }
}

impl Ledger {
    /// Returns the rows that a ledger names at `now` (Unix seconds).
    pub fn holdings(&self, now: i64) -> impl Iterator<Item = Holding> + '_ {
        let entries = self.placed.iter().cloned().map(Holding::Entry);
        let claim = self.claim.clone().map(match self.departed {
            None => Holding::Claim,
            Some(_) => Holding::YieldingClaim,
        });
        let departed = self.claim.clone().zip(self.departed.clone());
        let departed = departed.map(|(address, departure)| Holding::Departed(address, departure));
        let waiter = self.waits.clone().map(Holding::Waiter);
        let terms = self.terms.iter().cloned();
        let terms = terms.map(|(term, lastmod)| Holding::TermMember(term, lastmod));
        let archive = self.archive.clone().map(Holding::Archive);
        let left_out = self.left_out.then(|| Holding::LeftOut(self.site.clone()));
        let group = self.group.clone();
        let group = group.map(|(group, translation)| Holding::GroupMember(group, translation));
        let group_waiter = self.waits_in.clone().map(Holding::GroupWaiter);
        let feed = self.feed.filter(|at| !is_over(*at, now));
        let feed = feed.map(|at| Holding::Feed(self.site.clone(), at));
        let llms = self.llms.clone();
        let llms = llms.map(|(at, digest)| Holding::Llms(self.site.clone(), at, digest));
        let timer = self.next_check_at.map(Holding::Timer);
        let parts = (2..=self.parts).map(Holding::Part);
        let alone = [
            claim,
            departed,
            waiter,
            archive,
            left_out,
            group,
            group_waiter,
            feed,
            llms,
            timer,
        ];
        entries
            .chain(alone.into_iter().flatten())
            .chain(terms)
            .chain(parts)
    }

    /// Removes a row from the ledger. The number of parts stays, because the existence of parts is always read.
    pub fn forget(&mut self, holding: &Holding) {
        match holding {
            Holding::Entry(placement) => self.placed.retain(|placed| placed != placement),
            Holding::Claim(_) | Holding::YieldingClaim(_) => self.claim = None,
            Holding::Departed(..) => self.departed = None,
            Holding::Waiter(_) => self.waits = None,
            Holding::TermMember(term, lastmod) => {
                self.terms.retain(|(of, at)| (of, at) != (term, lastmod));
            }
            Holding::Archive(_) => self.archive = None,
            Holding::LeftOut(_) => self.left_out = false,
            Holding::GroupMember(..) => self.group = None,
            Holding::GroupWaiter(_) => self.waits_in = None,
            Holding::Feed(..) => self.feed = None,
            Holding::Llms(..) => self.llms = None,
            Holding::Timer(_) => self.next_check_at = None,
            Holding::Part(_) => {}
        }
    }
}
