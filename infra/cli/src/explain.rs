//! `waymark explain`: why an address is listed, or why not.

use std::ops::Deref;

use engine::content::RESERVED_ID;
use engine::error::EngineError;
use engine::keys::{self, ShardId};
use sitemap::loc::Loc;
use sitemap::plan::{Address, Claim, Ledger};
use sitemap::time::When;

use crate::content::MAX_KEY_BYTES;
use crate::left_out::shown;
use crate::target::Target;
use crate::text::Text;

/// Records of one page of the search for an address that is not listed.
const PAGE: u32 = 500;
/// Records that wait for an address and are shown.
const WAITERS: usize = 100;

/// Why an address or a record is listed or left out. Reads as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// In lines for people.
    pub text: Text,
    /// Whether any record has the address or the id.
    pub known: bool,
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
    let mut text = Text::default();
    for page in &pages {
        let ledger = target.reconciler.table.ledger(page).await?;
        let refused = match &ledger {
            Some(ledger) => target.reconciler.table.refusal(page, ledger).await?,
            None => None,
        };
        describe(page, ledger.as_ref(), refused, &mut text);
        for href in one_sided(target, page, ledger.as_ref()).await? {
            text.line(format!(
                "  alternates: {href} does not link back, so search engines ignore it"
            ));
        }
    }
    if more {
        text.line("more records wait for this address: `waymark status --left-out` lists all that is left out");
    }
    let mut known = !pages.is_empty();
    // An item that is not a page may still have the ledger of the page that it was.
    if let Some(reason) = target.reconciler.content.mismatch(what).await? {
        text.line(format!("{what}: not a page by the mapping: {reason}"));
        known = true;
    }
    for id in reserved(target, what, pages.is_empty()).await? {
        text.line(format!("{id}: left out, bad_field: {RESERVED_ID}"));
        known = true;
    }
    if !known {
        text.line("no record has this address or this id");
    }
    Ok(Explanation { text, known })
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

fn describe(
    page: &str,
    ledger: Option<&Ledger>,
    refused: Option<(String, String)>,
    text: &mut Text,
) {
    let mut line = |indent: &str, line: String| text.line(format!("{indent}{line}"));
    let page = shown(page);
    let Some(ledger) = ledger else {
        line("", format!("{page}: not looked at yet"));
        return;
    };
    match refused {
        None => line("", format!("{page}: listed")),
        Some((name, reason)) => line("", format!("{page}: left out, {name}: {reason}")),
    }
    if let Some(Address { loc, .. }) = &ledger.claim {
        line("  ", format!("as {loc}"));
    }
    for placement in &ledger.placed {
        let shard = ShardId {
            series: placement.series.clone(),
            n: placement.slot.n,
        };
        let file = shard.object().file_name();
        line("  ", format!("in {file} at position {}", placement.slot.i));
    }
    for (term, lastmod) in &ledger.terms {
        let lastmod = lastmod.map_or("no lastmod".to_owned(), |at| at.to_string());
        line(
            "  ",
            format!(
                "in the archive {} {} with {lastmod}",
                term.taxonomy, term.term
            ),
        );
    }
    if let Some((group, translation)) = &ledger.group {
        let language = &translation.language;
        line(
            "  ",
            format!("in the translation group {group} as {language}"),
        );
    }
    if let Some(group) = &ledger.waits_in {
        line(
            "  ",
            format!("waits for room in the translation group {group}"),
        );
    }
    if let Some(at) = ledger.feed {
        line("  ", format!("in the feed since {}", When::at(at)));
    }
    if let Some(at) = ledger.next_check_at {
        line("  ", format!("next check at {}", When::at(at)));
    }
    for note in &ledger.notes {
        line("  ", note.clone());
    }
}
