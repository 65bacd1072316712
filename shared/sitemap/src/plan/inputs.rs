//! The inputs of a plan, and which of them have to be read.

use super::ledger::{Address, Ledger, Slot, Term};
use super::translation::Translations;
use crate::eligibility::{self, Newest, Refusal};
use crate::loc::Loc;
use crate::record::{ContentRecord, Departure};
use crate::series::Series;
use crate::site::SiteSettings;

/// The owner of the address that a record wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It was not read: the record wants no address, or its ledger has the claim.
    Unread,
    /// The address is free.
    Free,
    /// The record with this id.
    Other(String),
    /// The record with this id, whose page has departed. A page that is listed takes the address from it.
    Departed(String),
}

/// The page to plan: a record's own page, or another part of it.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The record. `None` if it does not exist.
    pub record: Option<&'a ContentRecord>,
    /// The number of the part. 1 is the page itself.
    pub part: u32,
    /// The settings of the record's site, or if the record is gone, of the site that listed its page. `None` if that site is not
    /// known.
    pub site: Option<&'a SiteSettings>,
}

/// The inputs of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The page.
    pub page: &'a Assessed<'a>,
    /// The present ledger.
    pub ledger: &'a Ledger,
    /// The newest page of [`Assessed::wanted_term`].
    pub newest: Newest,
    /// The claim of [`Assessed::wanted_address`].
    pub claim: &'a Claim,
    /// The members of [`Assessed::wanted_group`], which may include the page itself.
    pub group: &'a Translations,
    /// A slot that the page has to leave, because its shard is over the byte limit. `None` if it may stay.
    pub evict: Option<(&'a Series, Slot)>,
    /// Whether a change is reported in the feed and to search engines. It is not on a site's first load, and not when settings
    /// are applied.
    pub notify: bool,
    /// Whether the site is still on hold and this is the change's own event. Then the change is never reported.
    pub first_load: bool,
    /// The site that listed the page before, if it is a different one and search engines must be notified that the page left.
    /// Otherwise `None`.
    pub former: Option<&'a SiteSettings>,
    /// Whether the feed row that the ledger names is lost, so that it has to be written again.
    pub feed_lost: bool,
    /// The highest part beyond [`Assessed::last_part`] that has a ledger. 0 if there is none.
    pub left: u32,
}

/// The empty set of members.
static NO_TRANSLATIONS: Translations = Translations::new();

impl<'a> Inputs<'a> {
    /// Returns the inputs of a page that is neither an archive nor in a translation group, and whose changes are not reported.
    #[must_use]
    pub fn of(page: &'a Assessed<'a>, ledger: &'a Ledger, claim: &'a Claim) -> Self {
        Self {
            page,
            ledger,
            newest: Newest::Unread,
            claim,
            group: &NO_TRANSLATIONS,
            evict: None,
            notify: false,
            first_load: false,
            former: None,
            feed_lost: false,
            left: 0,
        }
    }
}

impl<'a> Page<'a> {
    /// Returns the page with its verdict at `now` (Unix seconds): whether its record and its site allow it to be listed.
    #[must_use]
    pub fn assess(self, now: i64) -> Assessed<'a> {
        let Self { record, part, site } = self;
        let is_good_settings =
            |record: &ContentRecord| record.is_settings() && record.closing_problem().is_none();
        let shown = record.filter(|record| !is_good_settings(record) && part <= record.pages);
        let verdict = shown.map(|record| {
            let listed = eligibility::eligible(record, part, site, now).map(|(site, loc)| {
                let host = site.host.clone();
                (site, Address { site: host, loc })
            });
            (record, listed)
        });
        let departed = match &verdict {
            Some((record, Err(Refusal::Moved(_) | Refusal::Gone))) if part == 1 => {
                site.and_then(|site| {
                    let loc = Loc::parse(&record.url, &site.origin).ok()?;
                    let site = site.host.clone();
                    Some((Address { site, loc }, record.departure.clone()?))
                })
            }
            _ => None,
        };
        Assessed {
            part,
            site,
            now,
            verdict,
            departed,
        }
    }
}

/// The site and the address of a page to list, or why the page is excluded.
type Listed<'a, A> = Result<(&'a SiteSettings, A), Refusal>;

/// A page with its verdict, from which all further inputs of a round follow.
#[derive(Clone, Debug)]
pub struct Assessed<'a> {
    pub(super) part: u32,
    pub(super) site: Option<&'a SiteSettings>,
    pub(super) now: i64,
    /// The record and its verdict. `None` if nothing is to be remembered of the record: it does not exist, has fewer parts, or is
    /// a site's settings.
    verdict: Option<(&'a ContentRecord, Listed<'a, Address>)>,
    /// The address from which the page departed, and what became of it.
    pub(super) departed: Option<(Address, Departure)>,
}

impl<'a> Assessed<'a> {
    /// Returns the record with its verdict, which includes the pages of an archive. Returns `None` if nothing is to be remembered
    /// of the record.
    pub(super) fn verdict(
        &self,
        newest: Newest,
    ) -> Option<(&'a ContentRecord, Listed<'a, &Address>)> {
        let (record, listed) = self.verdict.as_ref()?;
        let listed = match listed {
            Ok(_) if newest.empties(record) => Err(Refusal::EmptyArchive),
            Ok((site, address)) => Ok((*site, address)),
            Err(refusal) => Err(refusal.clone()),
        };
        Some((record, listed))
    }

    fn listed(&self, newest: Newest) -> Option<(&'a ContentRecord, &Address)> {
        let (record, listed) = self.verdict.as_ref()?;
        let (_, address) = listed.as_ref().ok()?;
        (!newest.empties(record)).then_some((record, address))
    }

    /// Returns the archive whose newest page has to be read before the rest of the page is known.
    #[must_use]
    pub fn wanted_term(&self) -> Option<Term> {
        let (record, address) = self.listed(Newest::Unread)?;
        let archive = record.archive_of.as_ref()?;
        Some(Term {
            site: address.site.clone(),
            taxonomy: archive.taxonomy.clone(),
            term: archive.term.clone(),
        })
    }

    /// Returns the address whose claim has to be read before planning: the one that the page wants and does not own.
    #[must_use]
    pub fn wanted_address(&self, newest: Newest, ledger: &Ledger) -> Option<&Address> {
        let listed = self.listed(newest).map(|(_, address)| address);
        let address = listed.or(self.departed.as_ref().map(|(address, _)| address))?;
        let owned = ledger.claim.as_ref();
        (!owned.is_some_and(|owned| owned.is_equivalent(address))).then_some(address)
    }

    /// Returns the page's last part if its ledger says that later parts may have ledgers. Then the highest such part has to be
    /// read before planning.
    #[must_use]
    pub fn last_part(&self, ledger: &Ledger) -> Option<u32> {
        let pages = self.verdict.as_ref().map_or(0, |(record, _)| record.pages);
        (self.part == 1 && ledger.parts > pages).then_some(pages.max(1))
    }

    /// Returns the translation group that has to be read before planning.
    #[must_use]
    pub fn wanted_group(&self, newest: Newest) -> Option<&'a str> {
        let (record, _) = self.listed(newest)?;
        let group = record.translation_group.as_deref();
        group.filter(|_| self.part == 1)
    }
}
