//! What a plan is made from, and what has to be read for it.

use super::ledger::{Address, Ledger, Slot, Term};
use super::translation::Translations;
use crate::eligibility::{self, Newest, Refusal};
use crate::record::ContentRecord;
use crate::series::Series;
use crate::site::SiteSettings;

/// Who has the claim of the address that a record wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The record wants no address, or its ledger says that it has the claim.
    Unread,
    /// Nobody.
    Free,
    /// The record with this id.
    Other(String),
}

/// What is to be planned: a record's own page, or another part of it.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The record as it is, or nothing if it is gone.
    pub record: Option<&'a ContentRecord>,
    /// 1 for the page itself.
    pub part: u32,
    /// The settings of the record's site, or of the one where its page was listed if it is gone. Nothing if that site is
    /// not known.
    pub site: Option<&'a SiteSettings>,
}

/// All that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The page.
    pub page: &'a Assessed<'a>,
    /// What was placed for it.
    pub ledger: &'a Ledger,
    /// The newest page of [`Assessed::wanted_term`].
    pub newest: Newest,
    /// The claim of [`Assessed::wanted_address`].
    pub claim: &'a Claim,
    /// What [`Assessed::wanted_group`] holds, the page's own row perhaps among it.
    pub group: &'a Translations,
    /// A slot that the record has to leave, since its shard is over its byte limit.
    pub evict: Option<(&'a Series, Slot)>,
    /// Whether a change is shown in the feed and search engines are notified: not on a site's first load, and not when settings
    /// are applied.
    pub notify: bool,
    /// Whether the site is still on hold, and this is the change's own event. Then nobody is told of the change, now or later.
    pub first_load: bool,
    /// The site where the page was listed before, if it is a different one and search engines must be notified that the page left.
    pub former: Option<&'a SiteSettings>,
    /// Whether the row of the feed that the ledger names is lost: then it is written again.
    pub feed_lost: bool,
    /// The highest part beyond [`Assessed::last_part`] that has a ledger; 0 if none has.
    pub left: u32,
}

/// The members of no group.
static NO_TRANSLATIONS: Translations = Translations::new();

impl<'a> Inputs<'a> {
    /// Returns the inputs of a page that is neither an archive nor in a translation group, and whose changes are not sent to search
    /// engines.
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
    /// Returns whether the page is to be listed at `now` (Unix seconds), as far as its record and its site say.
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
        Assessed {
            part,
            site,
            now,
            verdict,
        }
    }
}

/// The site and the address of a page that is to be listed, or why it is not.
type Listed<'a, A> = Result<(&'a SiteSettings, A), Refusal>;

/// A page, and whether it is to be listed: once known, all that a round needs is asked of it.
#[derive(Clone, Debug)]
pub struct Assessed<'a> {
    pub(super) part: u32,
    pub(super) site: Option<&'a SiteSettings>,
    pub(super) now: i64,
    /// The record, unless nothing is to be remembered of it: it is gone, or has fewer parts, or is a site's settings, which
    /// are no page, in a place where they are found.
    verdict: Option<(&'a ContentRecord, Listed<'a, Address>)>,
}

impl<'a> Assessed<'a> {
    /// Returns the record, unless nothing is to be remembered of it, and where it is to be listed.
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

    /// Returns the archive whose newest page must be read before anything else of the page is known.
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

    /// Returns the address whose claim must be read before planning: the one the page wants and does not own.
    #[must_use]
    pub fn wanted_address(&self, newest: Newest, ledger: &Ledger) -> Option<&Address> {
        let (_, address) = self.listed(newest)?;
        let owned = ledger.claim.as_ref();
        (!owned.is_some_and(|owned| owned.is_equivalent(address))).then_some(address)
    }

    /// Returns the page's last part if its ledger says that later parts may have ledgers. Whether they have must be read before
    /// planning.
    #[must_use]
    pub fn last_part(&self, ledger: &Ledger) -> Option<u32> {
        let pages = self.verdict.as_ref().map_or(0, |(record, _)| record.pages);
        (self.part == 1 && ledger.parts > pages).then_some(pages.max(1))
    }

    /// Returns the translation group that must be read before planning.
    #[must_use]
    pub fn wanted_group(&self, newest: Newest) -> Option<&'a str> {
        let (record, _) = self.listed(newest)?;
        let group = record.translation_group.as_deref();
        group.filter(|_| self.part == 1)
    }
}
