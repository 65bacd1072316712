//! Pages that the sitemaps list, asked for as a crawler does.
//!
//! Beside them one address is asked for of each host at which it has nothing, and each canonical page that a page names instead of
//! itself. What a robots.txt disallows is not asked for, and nothing of a host whose robots.txt cannot be read.

use std::collections::HashMap;

use check::document::sample::Page;
use check::findings::{Finding, Findings};
use check::page::{self, Canonical, MAX_PAGE_BYTES, Nonsense};
use check::robots::Crawler;
use check::rules::Rule;
use check::url::origin_of;
use futures::StreamExt as _;
use futures::stream;
use sitemap::loc::normalized;

use super::limits::{Limit, Limits, over};
use super::robots::{Hosts, Known};
use crate::fetch::client::Client;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::text::counted;

mod gate;

use gate::{Gate, Refusal};

/// Canonical pages that are asked for: a site whose pages all name others has that one fault.
const MAX_CANONICALS: usize = 1_000;

/// Fetches pages, and adds their findings. `site` is the site that was checked. Its robots.txt was compared with all that is listed, so
/// its findings exist already. Returns how many pages were requested.
pub(super) async fn check(
    pages: Vec<Page>,
    client: &Client,
    limits: &Limits,
    known: &Hosts<'_>,
    site: Option<&str>,
    findings: &mut Findings,
) -> u64 {
    if pages.is_empty() {
        return 0;
    }
    let gate = Gate::new(client, known, findings.policy().crawlers());
    let mut hosts = Vec::new();
    for (origin, pages) in by_origin(pages) {
        let allowed = allowed(&gate, &origin, pages, site, findings).await;
        hosts.push((origin, allowed));
    }
    let count = hosts.iter().map(|(_, pages)| pages.len() as u64).sum();
    let mut progress = Progress::begin("pages", Unit::Things("pages"), Some(count));
    let mut elsewhere = Vec::new();
    let mut asked = 0;
    for (origin, pages) in hosts.into_iter().filter(|(_, pages)| !pages.is_empty()) {
        let nonsense = nonsense(&gate, &origin, findings).await;
        let mut answers = stream::iter(pages)
            .map(async |page| {
                let answer = gate.text(&page.loc, MAX_PAGE_BYTES).await;
                (page, answer)
            })
            .buffered(limits.jobs.max(1));
        while let Some((page, answer)) = progress.while_waiting(asked, answers.next()).await {
            if client.is_over() {
                let rest = "the other pages were not fetched";
                over(&origin, "its pages", rest, client, findings);
                return asked;
            }
            asked += 1;
            let (response, body) = match answer {
                Ok(answer) => answer,
                Err(failure) => {
                    page::silent(&page, &failure, findings);
                    continue;
                }
            };
            if body.len() > MAX_PAGE_BYTES {
                let limit = Limit(MAX_PAGE_BYTES as u64, "bytes of a page", None);
                let rest = "the rest of longer pages was not read";
                limit.reached(&origin, rest, findings);
            }
            let (nonsense, now) = (nonsense.as_ref(), limits.now);
            let canonical = page::judge(&page, &response, &body, nonsense, now, findings);
            elsewhere.extend(canonical.map(|url| (page, url)));
        }
    }
    canonicals(&gate, client, limits.jobs, elsewhere, findings).await;
    count
}

/// Groups pages by origin. Both origins and pages stay in the order in which they came.
fn by_origin(pages: Vec<Page>) -> Vec<(String, Vec<Page>)> {
    let mut hosts: Vec<(String, Vec<Page>)> = Vec::new();
    let mut places = HashMap::new();
    for page in pages {
        let Some(origin) = origin_of(&page.loc).map(str::to_owned) else {
            continue;
        };
        let place = *places.entry(origin.clone()).or_insert(hosts.len());
        if place == hosts.len() {
            hosts.push((origin, Vec::new()));
        }
        hosts[place].1.push(page);
    }
    hosts
}

/// Returns the pages of an origin that may be asked for. The others are findings, unless they have been some already.
async fn allowed(
    gate: &Gate<'_>,
    origin: &str,
    pages: Vec<Page>,
    site: Option<&str>,
    findings: &mut Findings,
) -> Vec<Page> {
    let robots = match gate.known(origin).await {
        Known::Absent => return pages,
        Known::Read { robots, .. } => robots,
        Known::Unknown(why) => {
            let why = format!("cannot be read: {why}");
            left_out(
                origin,
                Rule::RobotsStatus,
                &why,
                pages.len() as u64,
                findings,
            );
            return Vec::new();
        }
    };
    let mut allowed = Vec::new();
    // The rule that keeps this program from pages alone, and how many those are.
    let mut own: Option<(String, u64)> = None;
    for page in pages {
        let engines = robots.shuts_out(&page.loc, gate.crawlers());
        let program = robots.shuts_out(&page.loc, &[Crawler::Waymark]);
        match (engines, program) {
            (None, None) => allowed.push(page),
            (Some(_), _) if site == Some(origin) => {}
            (Some((agent, rule)), _) => page::blocked(&page, agent, rule, findings),
            (None, Some((agent, rule))) => {
                let why = || {
                    format!(
                        "disallows a listed page for {agent} by {rule}, unless a group for waymark allows it"
                    )
                };
                own.get_or_insert_with(|| (why(), 0)).1 += 1;
            }
        }
    }
    if let Some((why, count)) = own {
        left_out(origin, Rule::CheckLimits, &why, count, findings);
    }
    allowed
}

/// Adds that so many pages of an origin were not asked for.
fn left_out(origin: &str, rule: Rule, why: &str, count: u64, findings: &mut Findings) {
    let pages = counted(count, "page");
    findings.add(rule, || Finding {
        rule,
        file: format!("{origin}/robots.txt").into(),
        at: None,
        message: format!("{why}: {pages} of --pages not fetched"),
        invalid: false,
    });
}

/// Returns what an origin answers for an address at which it has nothing. Returns `None` if no rule needs it, if the request is not
/// allowed, or if there is no answer.
async fn nonsense(gate: &Gate<'_>, origin: &str, findings: &Findings) -> Option<Nonsense> {
    findings.policy().level(Rule::PageSoft404)?;
    let url = page::nonsense(origin);
    if gate.refusal(&url).await.is_some() {
        return None;
    }
    let (response, body) = gate.text(&url, MAX_PAGE_BYTES).await.ok()?;
    Some(Nonsense {
        url,
        response,
        body,
    })
}

/// Asks for the canonical pages that pages name instead of themselves, each once.
async fn canonicals(
    gate: &Gate<'_>,
    client: &Client,
    jobs: usize,
    elsewhere: Vec<(Page, String)>,
    findings: &mut Findings,
) {
    if elsewhere.is_empty() || findings.policy().level(Rule::PageCanonical).is_none() {
        return;
    }
    let mut known: HashMap<String, Canonical> = HashMap::new();
    let mut waiting = Vec::new();
    for (page, url) in &elsewhere {
        let form = normalized(url).into_owned();
        if known.contains_key(&form) {
            continue;
        }
        if waiting.len() == MAX_CANONICALS {
            more_canonicals(page, findings);
            break;
        }
        let canonical = match gate.refusal(url).await {
            Some(Refusal::Rule(agent, rule)) => Canonical::Blocked(agent, rule),
            Some(Refusal::Unknown(failure)) => Canonical::Unknown(failure),
            None => {
                // Of an address of another scheme nobody is asked.
                if origin_of(url).is_some() {
                    waiting.push((form.clone(), url.clone()));
                }
                Canonical::Unasked
            }
        };
        known.insert(form, canonical);
    }
    let count = Some(waiting.len() as u64);
    let mut progress = Progress::begin("canonical pages", Unit::Things("pages"), count);
    let mut answers = stream::iter(waiting)
        .map(async |(form, url)| (form, gate.text(&url, 0).await))
        .buffered(jobs.max(1));
    let mut asked = 0;
    while let Some((form, answer)) = progress.while_waiting(asked, answers.next()).await {
        asked += 1;
        let canonical = match answer {
            Ok((response, _)) => Canonical::Answered(response),
            Err(failure) => Canonical::Silent(failure),
        };
        known.insert(form, canonical);
    }
    if client.is_over() {
        let origin = elsewhere.first().and_then(|(page, _)| origin_of(&page.loc));
        let rest = "the canonical pages were not checked";
        let name = origin.unwrap_or_default();
        return over(name, "its canonical pages", rest, client, findings);
    }
    for (page, url) in &elsewhere {
        let canonical = known.get(&*normalized(url));
        let canonical = canonical.unwrap_or(&Canonical::Unasked);
        page::elsewhere(page, url, canonical, findings);
    }
}

fn more_canonicals(page: &Page, findings: &mut Findings) {
    let limit = Limit(MAX_CANONICALS as u64, "canonical pages of a target", None);
    let rest = "the other canonical pages were not fetched";
    limit.reached(&page.file, rest, findings);
    let rule = Rule::CheckLimits;
    findings.add(rule, || Finding {
        rule,
        file: page.file.clone(),
        at: page.at,
        message: format!(
            "pages name more than {MAX_CANONICALS} other pages as canonical: only this many were fetched"
        ),
        invalid: false,
    });
}
