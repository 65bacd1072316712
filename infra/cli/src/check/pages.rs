//! Pages that the sitemaps list, asked for as a crawler does.

use std::collections::HashMap;
use std::sync::Arc;

use check::address::{origin_of, path_of};
use check::draw::Page;
use check::finding::Findings;
use check::page::{self, MAX_PAGE_BYTES};
use check::robots::{MAX_ROBOTS_BYTES, Robots};
use futures::StreamExt as _;
use futures::stream;

use super::fetch::Client;
use crate::progress::{Progress, Unit};

/// What robots.txt of a site says, as far as it is known: nothing if it has none.
type Known = HashMap<String, Option<Arc<Robots>>>;

/// Asks for pages, and adds what is wrong with them. `known`: the site whose robots.txt was compared with all that is
/// listed, so that what it disallows was said, and is not asked for. Returns how many were asked for.
pub(super) async fn check(
    pages: Vec<Page>,
    client: &Client,
    jobs: usize,
    known: Option<(&str, Arc<Robots>)>,
    findings: &mut Findings,
) -> u64 {
    if pages.is_empty() {
        return 0;
    }
    let mut robots = Known::new();
    let site = known.map(|(origin, own)| {
        robots.insert(origin.to_owned(), Some(own));
        origin
    });
    let mut allowed = Vec::new();
    for page in pages {
        let (Some(origin), Some(path)) = (origin_of(&page.loc), path_of(&page.loc)) else {
            continue;
        };
        if !robots.contains_key(origin) {
            let own = read_robots(client, origin, findings).await;
            robots.insert(origin.to_owned(), own);
        }
        let own = robots.get(origin).and_then(Option::as_ref);
        match own.and_then(|robots| robots.disallows(path)) {
            None => allowed.push(page),
            Some(_) if site == Some(origin) => {}
            Some((agent, rule)) => page::blocked(&page, agent, rule, findings),
        }
    }
    let count = allowed.len() as u64;
    let mut progress = Progress::begin("pages", Unit::Things("pages"), Some(count));
    let mut asked = 0;
    let mut answers = stream::iter(allowed)
        .map(async |page| {
            let answer = client.text(&page.loc, MAX_PAGE_BYTES).await;
            (page, answer)
        })
        .buffered(jobs.max(1));
    loop {
        let next = progress.while_waiting(asked, answers.next()).await;
        let Some((page, answer)) = next else {
            return count;
        };
        asked += 1;
        match answer {
            Ok((response, body)) => page::judge(&page, &response, &body, findings),
            Err(failure) => page::silent(&page, &failure, findings),
        }
    }
}

/// robots.txt of a page's host. What is wrong with it is not looked at.
async fn read_robots(client: &Client, origin: &str, findings: &Findings) -> Option<Arc<Robots>> {
    let url = format!("{origin}/robots.txt");
    let (response, text) = client.text(&url, MAX_ROBOTS_BYTES).await.ok()?;
    let mut unsaid = Findings::new(Arc::new(findings.policy().clone()));
    let file = url.as_str().into();
    (response.status == 200).then(|| Arc::new(Robots::read(&text, &file, &mut unsaid)))
}
