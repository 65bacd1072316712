//! `waymark explain`: why an address is listed, or why not.

use std::ops::Deref;

use engine::content::RESERVED_ID;
use engine::error::EngineError;
use engine::keys::{self, ShardId};
use serde::Serialize;
use sitemap::loc::Loc;
use sitemap::plan::{Address, Claim, Ledger};
use sitemap::time::When;

use crate::content::MAX_KEY_BYTES;
use crate::left_out::shown;
use crate::target::Target;
use crate::text::{Text, Tone};

/// Records of one page of the search for an address that is not listed.
const PAGE: u32 = 500;
/// Records that wait for an address and are shown.
const WAITERS: usize = 100;

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
    /// When time alone will change what is listed of it.
    pub next_check: Option<When>,
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

/// Why an address, or the record with an id, is listed or left out.
///
/// # Errors
///
/// If a table fails.
pub async fn explain(target: &Target, what: &str) -> Result<Explanation, EngineError> {
    let (pages, more) = match Loc::parse_any(what) {
        Ok(loc) => pages_at(target, &loc).await?,
        Err(_) => (pages_of(target, what).await?, false),
    };
    let mut explained = Vec::new();
    for page in &pages {
        let ledger = target.reconciler.table.ledger(page).await?;
        let refused = match &ledger {
            Some(ledger) => target.reconciler.table.refusal(page, ledger).await?,
            None => None,
        };
        let one_sided = one_sided(target, page, ledger.as_ref()).await?;
        explained.push(Page::of(page, ledger.as_ref(), refused, one_sided));
    }
    let mut explanation = Explanation {
        asked: what.to_owned(),
        known: true,
        more_wait: more,
        // An item that is not a page may still have the ledger of the page that it was.
        mismatch: target.reconciler.content.mismatch(what).await?,
        reserved: reserved(target, what, pages.is_empty()).await?,
        pages: explained,
        text: Text::default(),
    };
    explanation.known = !explanation.pages.is_empty()
        || explanation.mismatch.is_some()
        || !explanation.reserved.is_empty();
    explanation.text = explanation.told();
    Ok(explanation)
}

impl Explanation {
    /// In lines for people.
    fn told(&self) -> Text {
        let mut text = Text::default();
        for page in &self.pages {
            page.write(&mut text);
        }
        if self.more_wait {
            text.line("more records wait for this address: `waymark status --left-out` lists all that is left out");
        }
        if let Some(reason) = &self.mismatch {
            let asked = &self.asked;
            text.line(format!("{asked}: not a page by the mapping: {reason}"));
        }
        for id in &self.reserved {
            let line = format!("{id}: left out, bad_field: {RESERVED_ID}");
            text.toned(Tone::Notable, line);
        }
        if !self.known {
            text.toned(Tone::Bad, "no record has this address or this id");
        }
        text
    }
}

/// The records with this id, or at this address if nobody else is there, that no function reads because of their ids.
async fn reserved(target: &Target, what: &str, alone: bool) -> Result<Vec<String>, EngineError> {
    let content = &target.reconciler.content;
    match Loc::parse_any(what) {
        Ok(loc) if alone => {
            let reserved = content.reserved().await?.into_iter();
            let here = reserved.filter(|(_, at)| at.as_ref() == Some(&loc));
            Ok(here.map(|(id, _)| id).collect())
        }
        Err(_) if content.is_reserved(what).await? => Ok(vec![what.to_owned()]),
        _ => Ok(Vec::new()),
    }
}

/// The page that has the address, then the first that wait for it; if nobody has it, the records that name it. Also whether
/// more wait for it.
async fn pages_at(target: &Target, loc: &Loc) -> Result<(Vec<String>, bool), EngineError> {
    let address = Address {
        site: host(loc),
        loc: loc.clone(),
    };
    // No page has an empty name, so whoever has the claim is another.
    if let Claim::Other(owner) = target.reconciler.table.claim(&address, "").await? {
        let claim = keys::claim(&address.site, loc.as_str());
        let table = &target.reconciler.table;
        let mut waiters = table.waiters(&claim.pk, None, WAITERS as u32 + 1).await?;
        let more = waiters.len() > WAITERS;
        waiters.truncate(WAITERS);
        return Ok(([vec![owner], waiters].concat(), more));
    }
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = target
            .reconciler
            .content
            .scan(after.as_deref(), PAGE)
            .await?;
        let on_site = page
            .records
            .into_iter()
            .filter(|(_, site)| *site == address.site);
        let ids: Vec<String> = on_site.map(|(id, _)| id).collect();
        let records = target.reconciler.content.records(&ids).await?;
        let named = records
            .values()
            .filter(|record| Loc::parse_any(&record.url).as_ref() == Ok(loc));
        found.extend(named.map(|record| keys::page(&record.id, 1)));
        after = page.next;
        if after.is_none() {
            return Ok((found, false));
        }
    }
}

/// A record's page and its other parts, if there is such a record or a ledger of one that is gone.
async fn pages_of(target: &Target, id: &str) -> Result<Vec<String>, EngineError> {
    if id.is_empty() || id.len() > MAX_KEY_BYTES {
        return Ok(Vec::new());
    }
    let page = keys::page(id, 1);
    let ledger = target.reconciler.table.ledger(&page).await?;
    let content = &target.reconciler.content;
    if ledger.is_none()
        && (content.item(id).await?.is_none() || content.mismatch(id).await?.is_some())
    {
        return Ok(Vec::new());
    }
    let parts = ledger.map_or(0, |ledger| ledger.parts);
    let parts = (2..=parts).map(|part| keys::page(id, part));
    Ok([page].into_iter().chain(parts).collect())
}

/// The alternates that a page's record names and whose pages, if they are ours, do not name it. Of a translation group
/// every member names every other.
async fn one_sided(
    target: &Target,
    page: &str,
    ledger: Option<&Ledger>,
) -> Result<Vec<Loc>, EngineError> {
    let Some(Address { loc, .. }) = ledger.and_then(|ledger| ledger.claim.as_ref()) else {
        return Ok(Vec::new());
    };
    let id = keys::page_parts(page).0.to_owned();
    let mut records = target
        .reconciler
        .content
        .records(std::slice::from_ref(&id))
        .await?;
    let record = records
        .remove(&id)
        .filter(|record| record.translation_group.is_none());
    let mut found = Vec::new();
    for alternate in record.map(|record| record.alternates).unwrap_or_default() {
        let address = Address {
            site: host(&alternate.href),
            loc: alternate.href,
        };
        let Claim::Other(owner) = target.reconciler.table.claim(&address, page).await? else {
            continue;
        };
        let owner = keys::page_parts(&owner).0.to_owned();
        let others = target.reconciler.content.records(&[owner]).await?;
        let mut links = others.values().flat_map(|other| &other.alternates);
        if !links.any(|link| link.href == *loc) {
            found.push(address.loc);
        }
    }
    Ok(found)
}

/// The host, and the port if it is not the scheme's own, by which the site of an address is named.
fn host(loc: &Loc) -> String {
    loc.as_str()
        .split('/')
        .nth(2)
        .unwrap_or_default()
        .to_owned()
}

impl Page {
    fn of(
        page: &str,
        ledger: Option<&Ledger>,
        refused: Option<(String, String)>,
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
        let archives = ledger.terms.iter().map(|(term, lastmod)| Archive {
            taxonomy: term.taxonomy.clone(),
            term: term.term.clone(),
            lastmod: *lastmod,
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
            archives: archives.collect(),
            translation,
            waits_for_group: ledger.waits_in.clone(),
            in_feed_since: ledger.feed.map(When::at),
            next_check: ledger.next_check_at.map(When::at),
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
        } in &self.archives
        {
            let lastmod = lastmod.map_or("no lastmod".to_owned(), |at| at.to_string());
            line(format!("in the archive {taxonomy} {term} with {lastmod}"));
        }
        if let Some(Member { group, language }) = &self.translation {
            line(format!("in the translation group {group} as {language}"));
        }
        if let Some(group) = &self.waits_for_group {
            line(format!("waits for room in the translation group {group}"));
        }
        if let Some(at) = self.in_feed_since {
            line(format!("in the feed since {at}"));
        }
        if let Some(at) = self.next_check {
            line(format!("next check at {at}"));
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
        let page = Page::of(&keys::page("post/a", 2), Some(&ledger), refused, Vec::new());
        let explanation = Explanation {
            asked: "post/a".to_owned(),
            known: true,
            pages: vec![page],
            more_wait: false,
            mismatch: None,
            reserved: Vec::new(),
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
                "next_check": "1970-01-01T00:00:00+00:00",
                "notes": ["title: cut"],
                "one_sided_alternates": [],
            }],
            "more_wait": false,
            "mismatch": null,
            "reserved": [],
        });
        assert_eq!(serde_json::to_value(&explanation).unwrap(), expected);
        let told = "post/a, part 2: left out, noindex: noindex is set\n  next check at 1970-01-01T00:00:00+00:00\n  title: cut\n";
        assert_eq!(&*explanation.told(), told);
    }
}
