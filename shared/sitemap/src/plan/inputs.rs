//! What a plan is made from, and what has to be read for it.

use super::ledger::{Address, Ledger, Slot, Term};
use super::translation::Translations;
use crate::eligibility::{self, Newest};
use crate::loc::Loc;
use crate::record::ContentRecord;
use crate::series::Series;
use crate::site::{SITE_TYPE, SiteSettings};

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
    pub page: Page<'a>,
    /// What was placed for it.
    pub ledger: &'a Ledger,
    /// The newest page of [`Page::wanted_term`].
    pub newest: Newest,
    /// The claim of [`Page::wanted_address`].
    pub claim: &'a Claim,
    /// What [`Page::wanted_group`] holds, the page's own row perhaps among it.
    pub group: &'a Translations,
    /// A slot that the record has to leave, since its shard is over its byte limit.
    pub evict: Option<(&'a Series, Slot)>,
    /// Whether a change is shown in the feed and search engines are notified: not on a site's first load, and not when settings
    /// are applied.
    pub notify: bool,
    /// Whether the row of the feed that the ledger names is lost: then it is written again.
    pub feed_lost: bool,
    /// The highest part beyond [`Page::last_part`] that has a ledger; 0 if none has.
    pub left: u32,
}

/// The members of no group.
static NO_TRANSLATIONS: Translations = Translations::new();

impl<'a> Inputs<'a> {
    /// The inputs of a page that is neither an archive nor in a translation group, and whose changes are not sent to search
    /// engines.
    #[must_use]
    pub fn of(page: Page<'a>, ledger: &'a Ledger, claim: &'a Claim) -> Self {
        Self {
            page,
            ledger,
            newest: Newest::Unread,
            claim,
            group: &NO_TRANSLATIONS,
            evict: None,
            notify: false,
            feed_lost: false,
            left: 0,
        }
    }
}

impl<'a> Page<'a> {
    /// The record, unless nothing is to be remembered of it: it is gone, or has fewer parts, or is a site's settings, which
    /// are no page, in a place where they are found.
    pub(super) fn shown(&self) -> Option<&'a ContentRecord> {
        self.record.filter(|record| {
            let settings = record.type_name == SITE_TYPE && record.closing_problem().is_none();
            !settings && self.part <= record.pages
        })
    }

    fn eligible(&self, newest: Newest, now: i64) -> Option<(&'a ContentRecord, Loc)> {
        let record = self.shown()?;
        let loc = eligibility::eligible(record, self.part, self.site, newest, now).ok()?;
        Some((record, loc))
    }

    /// The archive whose newest page must be read before anything else of the page is known.
    #[must_use]
    pub fn wanted_term(&self, now: i64) -> Option<Term> {
        let (record, _) = self.eligible(Newest::Unread, now)?;
        let archive = record.archive_of.as_ref()?;
        Some(Term {
            site: self.site?.host.clone(),
            taxonomy: archive.taxonomy.clone(),
            term: archive.term.clone(),
        })
    }

    /// The address whose claim must be read before planning: the one the page wants and does not own.
    #[must_use]
    pub fn wanted_address(&self, newest: Newest, ledger: &Ledger, now: i64) -> Option<Address> {
        let (_, loc) = self.eligible(newest, now)?;
        let site = self.site?.host.clone();
        let address = Address { site, loc };
        (ledger.claim.as_ref() != Some(&address)).then_some(address)
    }

    /// The last part of a page whose ledger says that there may be ledgers of later ones: whether there are must be read
    /// before planning.
    #[must_use]
    pub fn last_part(&self, ledger: &Ledger) -> Option<u32> {
        let pages = self.shown().map_or(0, |record| record.pages);
        (self.part == 1 && ledger.parts > pages).then_some(pages.max(1))
    }

    /// The translation group that must be read before planning.
    #[must_use]
    pub fn wanted_group(&self, newest: Newest, now: i64) -> Option<&'a str> {
        let (record, _) = self.eligible(newest, now)?;
        let group = record.translation_group.as_deref();
        group.filter(|_| self.part == 1)
    }
}
