//! `waymark explain`: why an address is listed, or why not.

use std::collections::BTreeMap;
use std::ops::Deref;

use engine::content::RESERVED_ID;
use engine::error::EngineError;
use engine::keys::{self, ShardId};
use engine::regenerate::feed::FEED_PERIOD;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use sitemap::loc::Loc;
use sitemap::plan::Ledger;
use sitemap::time::When;

use crate::deployment::target::Target;
use crate::status::exclusions::shown;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::text::{Text, Tone};

mod chain;
pub(crate) mod command;
mod find;
pub mod list;

pub use chain::{Chain, End};
use find::{Found, Named, archives, find, one_sided};

/// Lookups at the same time.
const READS: usize = 16;
/// The minutes after which a change is in the published feed. It is published at once, or a minute after the last one by the run of
/// `sweep` that follows.
const FEED_SHOWS_WITHIN_MINUTES: i64 = 2 * FEED_PERIOD / 60;

/// Why an address or a record is listed or left out. Reads as its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The address or the id that was asked for.
    pub asked: String,
    /// Whether any record has the address or the id.
    pub known: bool,
    /// The pages: the one that has the address first, then those that wait for it.
    pub pages: Vec<Page>,
    /// Whether more records wait for the address than these.
    pub more_wait: bool,
    /// Why the item of this id is not a page by the mapping of the user's table.
    pub mismatch: Option<String>,
    /// Records that no function reads because of their ids.
    pub reserved: Vec<String>,
    /// If no record has the address: archives without a record whose term the address ends with.
    pub missing_archives: Vec<TermName>,
    /// In lines for people.
    #[serde(skip)]
    pub text: Text,
}

/// A page: a record's own, or a further part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Page {
    /// The record's id.
    pub id: String,
    /// The number of the part, from 1.
    pub part: u32,
    /// Whether it is listed.
    pub state: State,
    /// Why it is left out.
    pub left_out: Option<Reason>,
    /// The address that it has.
    pub loc: Option<Loc>,
    /// Where it is listed.
    pub entries: Vec<Entry>,
    /// The archives that it is in.
    pub archives: Vec<Archive>,
    /// The translation group that it is in.
    pub translation: Option<Member>,
    /// The full translation group that it waits for room in.
    pub waits_for_group: Option<String>,
    /// Since when it is in the feed.
    pub in_feed_since: Option<When>,
    /// Whether llms.txt lists it, if it is among the newest.
    pub for_llms: bool,
    /// When time alone will change what is listed of it.
    pub next_check: Option<When>,
    /// Where its moves lead, if it has moved.
    pub chain: Option<Chain>,
    /// What else of it is left out, and why.
    pub notes: Vec<String>,
    /// Alternates that do not link back.
    pub one_sided_alternates: Vec<Loc>,
}

/// Whether a page is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// No function has looked at it yet.
    NotLookedAt,
    /// It is listed.
    Listed,
    /// It is left out.
    LeftOut,
}

/// Why a page is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The reason's name.
    pub name: String,
    /// The reason, for people.
    pub reason: String,
}

/// A place in a sitemap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The sitemap's name.
    pub sitemap: String,
    /// The position in it.
    pub position: u32,
}

/// A page of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Archive {
    /// The taxonomy.
    pub taxonomy: String,
    /// The term.
    pub term: String,
    /// The page's lastmod there.
    pub lastmod: Option<When>,
    /// Whether a record that can be listed is the archive's page. Without one the archive is not listed.
    pub has_page: bool,
}

/// A term of a site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TermName {
    /// The taxonomy.
    pub taxonomy: String,
    /// The term.
    pub term: String,
}

/// A member of a translation group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The group.
    pub group: String,
    /// The member's language.
    pub language: String,
}

impl Deref for Explanation {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.text.fmt(f)
    }
}

/// Explains why an address, or the record with an id, is listed or left out.
///
/// # Errors
///
/// If a table fails.
pub async fn explain(target: &Target, what: &str) -> Result<Explanation, EngineError> {
    let mut explained = None;
    explain_all(target, &[what.to_owned()], |explanation| {
        explained = Some(explanation);
    })
    .await?;
    Ok(explained.unwrap_or_else(|| unreachable!("each of them is explained")))
}

/// Explains for each of these, in their order, why it is listed or left out. One search of the records serves all those that no page has.
///
/// # Errors
///
/// If a table fails.
pub async fn explain_all(
    target: &Target,
    asked: &[String],
    mut explained: impl FnMut(Explanation),
) -> Result<(), EngineError> {
    let total = asked.len() as u64;
    let begin = |what| Progress::begin(what, Unit::Things("addresses"), Some(total));
    // A few are there at once.
    let is_long = asked.len() > READS;
    let mut progress = is_long.then(|| begin("looking up"));
    let lookups = stream::iter(asked.to_vec()).map(async |what| find(target, what).await);
    let mut lookups = std::pin::pin!(lookups.buffered(READS));
    let mut found = Vec::new();
    while let Some(one) = lookups.try_next().await? {
        found.push(one);
        if let Some(progress) = &mut progress {
            progress.reach(found.len() as u64);
        }
    }
    drop(progress);
    let nobodys = found.iter().filter_map(|found| match found {
        Found::Nobody(loc) => Some(loc.normalized().into_owned()),
        Found::Pages(..) => None,
    });
    let named = Named::search(target, nobodys.collect()).await?;
    let mut progress = is_long.then(|| begin("explaining"));
    let whats = asked.iter().cloned().zip(found);
    let whats: Vec<(String, Found)> = whats.collect();
    let explanations = stream::iter(whats).map(async |(what, found)| {
        let explanation = explain_found(target, what, found, &named);
        explanation.await
    });
    let mut explanations = std::pin::pin!(explanations.buffered(READS));
    let mut done = 0;
    while let Some(explanation) = explanations.try_next().await? {
        explained(explanation);
        done += 1;
        if let Some(progress) = &mut progress {
            progress.reach(done);
        }
    }
    Ok(())
}

async fn explain_found(
    target: &Target,
    what: String,
    found: Found,
    named: &Named,
) -> Result<Explanation, EngineError> {
    let mut missing_archives = Vec::new();
    let (pages, more, reserved) = match found {
        Found::Pages(pages, more) => {
            let is_id = Loc::parse_any(&what).is_err();
            let is_reserved = is_id && target.reconciler.content.is_reserved(&what).await?;
            (
                pages,
                more,
                is_reserved.then(|| what.clone()).into_iter().collect(),
            )
        }
        Found::Nobody(loc) => {
            let of = |found: &BTreeMap<String, Vec<String>>| {
                let found = found.get(&*loc.normalized());
                found.cloned().unwrap_or_default()
            };
            let pages = of(&named.pages);
            let reserved = match pages.is_empty() {
                true => of(&named.reserved),
                false => Vec::new(),
            };
            if pages.is_empty() && reserved.is_empty() {
                missing_archives = named.missing_archives(&loc);
            }
            (pages, false, reserved)
        }
    };
    let what = &*what;
    let mut explained = Vec::new();
    for page in &pages {
        let ledger = target.reconciler.table.ledger(page).await?;
        let refused = match &ledger {
            Some(ledger) => target.reconciler.table.refusal(page, ledger).await?,
            None => None,
        };
        let one_sided = one_sided(target, page, ledger.as_ref()).await?;
        let archives = archives(target, ledger.as_ref()).await?;
        let chain = chain::chain(target, page, ledger.as_ref()).await?;
        let page = Page::of(page, ledger.as_ref(), refused, archives, one_sided);
        explained.push(Page { chain, ..page });
    }
    let mut explanation = Explanation {
        asked: what.to_owned(),
        known: true,
        more_wait: more,
        // An item that is not a page may still have the ledger of the page that it was.
        mismatch: target.reconciler.content.mismatch(what).await?,
        reserved,
        missing_archives,
        pages: explained,
        text: Text::default(),
    };
    explanation.known = !explanation.pages.is_empty()
        || explanation.mismatch.is_some()
        || !explanation.reserved.is_empty();
    explanation.text = explanation.to_text();
    Ok(explanation)
}

impl Explanation {
    /// Formats the explanation as lines for people.
    fn to_text(&self) -> Text {
        let mut text = Text::default();
        for page in &self.pages {
            page.write(&mut text);
        }
        if self.more_wait {
            text.line("more records have this address: `waymark status --left-out` lists all excluded pages");
        }
        if let Some(reason) = &self.mismatch {
            let asked = &self.asked;
            text.line(format!("{asked}: the mapping excludes this item: {reason}"));
        }
        for id in &self.reserved {
            let line = format!("{id}: left out, bad_field: {RESERVED_ID}");
            text.toned(Tone::Notable, line);
        }
        if !self.known {
            text.toned(Tone::Bad, "no record has this address or this id");
        }
        for TermName { taxonomy, term } in &self.missing_archives {
            text.line(format!(
                "pages have the term {taxonomy} {term}, and no record is the page of its archive: if it is this address, \
                 `waymark mapping --archives` makes the record"
            ));
        }
        text
    }
}

impl Page {
    fn of(
        page: &str,
        ledger: Option<&Ledger>,
        refused: Option<(String, String)>,
        archives: Vec<Archive>,
        one_sided_alternates: Vec<Loc>,
    ) -> Self {
        let (id, part) = keys::page_parts(page);
        let nothing = Ledger::default();
        let state = match (ledger, &refused) {
            (None, _) => State::NotLookedAt,
            (_, None) => State::Listed,
            _ => State::LeftOut,
        };
        let ledger = ledger.unwrap_or(&nothing);
        let entries = ledger.placed.iter().map(|placement| {
            let shard = ShardId {
                series: placement.series.clone(),
                n: placement.slot.n,
            };
            Entry {
                sitemap: shard.object().file_name().to_string(),
                position: placement.slot.i,
            }
        });
        let translation = ledger.group.as_ref().map(|(group, translation)| Member {
            group: group.clone(),
            language: translation.language.to_string(),
        });
        Self {
            id: id.to_owned(),
            part,
            state,
            left_out: refused.map(|(name, reason)| Reason { name, reason }),
            loc: ledger.claim.as_ref().map(|address| address.loc.clone()),
            entries: entries.collect(),
            archives,
            translation,
            waits_for_group: ledger.waits_in.clone(),
            in_feed_since: ledger.feed.map(When::at),
            for_llms: ledger.llms.is_some(),
            next_check: ledger.next_check_at.map(When::at),
            chain: None,
            notes: ledger.notes.clone(),
            one_sided_alternates,
        }
    }

    fn write(&self, text: &mut Text) {
        let page = shown(&keys::page(&self.id, self.part));
        match (self.state, &self.left_out) {
            (State::NotLookedAt, _) => {
                text.toned(Tone::Notable, format!("{page}: not looked at yet"));
                return;
            }
            (_, None) => text.toned(Tone::Good, format!("{page}: listed")),
            (_, Some(Reason { name, reason })) => {
                let line = format!("{page}: left out, {name}: {reason}");
                text.toned(Tone::Notable, line);
            }
        }
        let mut line = |line: String| text.line(format!("  {line}"));
        if let Some(loc) = &self.loc {
            line(format!("as {loc}"));
        }
        for Entry { sitemap, position } in &self.entries {
            line(format!("in {sitemap} at position {position}"));
        }
        for Archive {
            taxonomy,
            term,
            lastmod,
            ..
        } in &self.archives
        {
            let lastmod = lastmod.map_or("no lastmod".to_owned(), |at| at.to_string());
            line(format!("in the archive {taxonomy} {term} with {lastmod}"));
        }
        let without_page = self.archives.iter().filter(|archive| !archive.has_page);
        let without_page =
            without_page.map(|archive| format!("{} {}", archive.taxonomy, archive.term));
        let without_page: Vec<String> = without_page.collect();
        if !without_page.is_empty() {
            let names = without_page.join(", ");
            line(format!(
                "archives without a page that may be listed: {names}"
            ));
        }
        if let Some(Member { group, language }) = &self.translation {
            line(format!("in the translation group {group} as {language}"));
        }
        if let Some(group) = &self.waits_for_group {
            line(format!("waits for room in the translation group {group}"));
        }
        if let Some(at) = self.in_feed_since {
            line(format!(
                "in the feed since {at}; feed.atom shows it within {FEED_SHOWS_WITHIN_MINUTES} minutes of that"
            ));
        }
        if self.for_llms {
            line("in llms.txt, if it is among the newest that fit".to_owned());
        }
        if let Some(at) = self.next_check {
            line(format!("next check at {at}"));
        }
        for chained in self.chain.iter().flat_map(Chain::lines) {
            line(chained);
        }
        for note in &self.notes {
            line(note.clone());
        }
        for href in &self.one_sided_alternates {
            line(format!(
                "alternates: {href} does not link back, so search engines ignore it"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_json_has_the_documented_shape() {
        let ledger = Ledger {
            next_check_at: Some(0),
            notes: vec!["title: cut".to_owned()],
            ..Ledger::default()
        };
        let refused = Some(("noindex".to_owned(), "noindex is set".to_owned()));
        let page = Page::of(
            &keys::page("post/a", 2),
            Some(&ledger),
            refused,
            Vec::new(),
            Vec::new(),
        );
        let explanation = Explanation {
            asked: "post/a".to_owned(),
            known: true,
            pages: vec![page],
            more_wait: false,
            mismatch: None,
            reserved: Vec::new(),
            missing_archives: Vec::new(),
            text: Text::default(),
        };
        let expected = json!({
            "asked": "post/a",
            "known": true,
            "pages": [{
                "id": "post/a",
                "part": 2,
                "state": "left_out",
                "left_out": {"name": "noindex", "reason": "noindex is set"},
                "loc": null,
                "entries": [],
                "archives": [],
                "translation": null,
                "waits_for_group": null,
                "in_feed_since": null,
                "for_llms": false,
                "next_check": "1970-01-01T00:00:00+00:00",
                "chain": null,
                "notes": ["title: cut"],
                "one_sided_alternates": [],
            }],
            "more_wait": false,
            "mismatch": null,
            "reserved": [],
            "missing_archives": [],
        });
        assert_eq!(serde_json::to_value(&explanation).unwrap(), expected);
        let expected = "post/a, part 2: left out, noindex: noindex is set\n  next check at 1970-01-01T00:00:00+00:00\n  title: cut\n";
        assert_eq!(&*explanation.to_text(), expected);
    }
}
