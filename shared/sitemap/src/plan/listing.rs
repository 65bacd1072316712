//! The consequences of listing a page.

use super::change::{FeedItem, LlmsItem, digest};
use super::inputs::Inputs;
use super::ledger::{Address, Ledger, Term, is_over};
use super::wanted::Wanted;
use crate::eligibility;
use crate::format::llms;
use crate::loc::Loc;
use crate::record::ContentRecord;
use crate::site::SiteSettings;
use crate::time::When;

/// The most characters of a page's title and description in the feed's row.
const MAX_FEED_CHARS: usize = 1_000;

/// The most characters of them in the row for llms.txt. This is more than llms.txt shows, because white space is removed only
/// then.
const MAX_LLMS_CHARS: usize = 400;
const _: () = assert!(
    MAX_LLMS_CHARS > llms::MAX_TITLE_CHARS && MAX_LLMS_CHARS > llms::MAX_DESCRIPTION_CHARS,
    "a text that was cut is seen to be"
);

/// A page that is listed.
pub(super) struct Listing<'a> {
    pub(super) id: &'a str,
    pub(super) record: &'a ContentRecord,
    pub(super) site: &'a SiteSettings,
    pub(super) loc: &'a Loc,
    pub(super) inputs: &'a Inputs<'a>,
    pub(super) now: i64,
}

impl Listing<'_> {
    /// Adds the rows that a listed page has.
    pub(super) fn fill(&self, after: &mut Ledger, wanted: &mut Wanted, due: &mut Vec<i64>) {
        let Self {
            record,
            site,
            inputs,
            now,
            ..
        } = *self;
        let is_page = inputs.page.part == 1;
        let lastmod = eligibility::lastmod(record, inputs.newest, now);
        if is_page && record.archive_of.is_none() {
            let term = |(taxonomy, term): (&String, &String)| Term {
                site: site.host.clone(),
                taxonomy: taxonomy.clone(),
                term: term.clone(),
            };
            let terms = record.terms.iter();
            let terms =
                terms.flat_map(|(taxonomy, terms)| terms.iter().map(move |term| (taxonomy, term)));
            after.terms = terms.map(|pair| (term(pair), lastmod)).collect();
        } else if is_page && !record.terms.is_empty() {
            // Two archives that were pages of each other would keep each other listed forever.
            after
                .notes
                .push("terms: an archive is not a page of another archive".to_owned());
        }
        let alternates = self.alternates(after);
        self.render(lastmod, &alternates, after, wanted, due);
        self.remember_change(lastmod, after, wanted);
        if let Some(item) = self.llms_item(lastmod).filter(|_| is_page) {
            after.llms = Some((lastmod, LlmsItem::digest_of(&item.page)));
            wanted.llms = Some(item);
        }
    }

    /// Returns the page's row for llms.txt, if the site's settings list the page's type there.
    fn llms_item(&self, lastmod: Option<When>) -> Option<LlmsItem> {
        let Self {
            record, site, loc, ..
        } = *self;
        let types = &site.llms.as_ref()?.types;
        let is_chosen = types.contains(&record.type_name);
        let cut = |text: &Option<String>, most| {
            let text: String = text.as_deref()?.chars().take(most).collect();
            (!text.is_empty()).then_some(text)
        };
        is_chosen.then(|| LlmsItem {
            site: site.host.clone(),
            lastmod,
            page: llms::Page {
                loc: loc.to_string(),
                type_name: record.type_name.clone(),
                title: cut(&record.title, MAX_LLMS_CHARS),
                description: cut(&record.description, MAX_LLMS_CHARS),
            },
        })
    }

    /// Determines whether readers of the page would see a change, and adds the rows that report it.
    fn remember_change(&self, lastmod: Option<When>, after: &mut Ledger, wanted: &mut Wanted) {
        let Self {
            record,
            site,
            loc,
            inputs,
            now,
            ..
        } = *self;
        let lastmod = lastmod.map(|at| at.to_string()).unwrap_or_default();
        let texts =
            [&record.title, &record.description].map(|text| text.as_deref().unwrap_or_default());
        let images = record.images.iter().map(Loc::as_str);
        let alternates = record
            .alternates
            .iter()
            .map(|alternate| alternate.href.as_str());
        let texts = [loc.as_str(), &lastmod].into_iter().chain(texts);
        let content = digest(
            texts
                .chain(images)
                .chain(alternates)
                .flat_map(|text| [text, "\0"]),
        );
        let before = inputs.ledger;
        let changed = before.content_digest.as_ref() != Some(&content) && inputs.notify;
        // If a scan meets a change first, the old digest is kept, so that the change's own event reports it.
        let comes = !inputs.notify && !inputs.first_load;
        after.content_digest = match &before.content_digest {
            Some(before) if comes => Some(before.clone()),
            _ => Some(content),
        };
        let address = Address {
            site: site.host.clone(),
            loc: loc.clone(),
        };
        wanted.notify = (changed && site.indexnow_key.is_some()).then(|| address.clone());
        // The pages of an archive are in the feed themselves.
        if site.feed && inputs.page.part == 1 && record.archive_of.is_none() {
            // A page in the feed was listed, so a missing claim means that its row is lost.
            let claimed = before.claim.as_ref();
            let stays = before.site == site.host
                && claimed.is_none_or(|claimed| claimed.is_equivalent(&address));
            // The row's time is kept even if it is over, because removing it would cost a write for each change.
            let before = before.feed.filter(|_| stays);
            after.feed = if changed { Some(now) } else { before };
            // Without the claim, the address in the feed's row is not known. A row with another spelling is written again under
            // its time.
            let is_other_text = claimed != Some(&address);
            let is_unsure = is_other_text && before.is_some_and(|at| !is_over(at, now));
            let cut = |text: &Option<String>| {
                let text = text.as_deref()?;
                Some(text.chars().take(MAX_FEED_CHARS).collect())
            };
            wanted.feed = (changed || inputs.feed_lost || is_unsure).then(|| FeedItem {
                address,
                title: cut(&record.title),
                summary: cut(&record.description),
                published: record.published_at,
            });
        }
    }
}
