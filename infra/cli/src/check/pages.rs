//! Pages that the sitemaps list, asked for as a crawler does.

use std::collections::BTreeMap;

use check::address::origin_of;
use check::draw::Page;
use check::finding::{Finding, Findings};
use check::page::{self, MAX_PAGE_BYTES};
use check::robots::Crawler;
use check::rules::Rule;
use futures::StreamExt as _;
use futures::stream;

use super::fetch::Client;
use super::robots::{Hosts, Known};
use crate::progress::{Progress, Unit};
use crate::text::counted;

/// Asks for pages, and adds what is wrong with them. `site`: what was checked, whose robots.txt was compared with all that is
/// listed, so that what is wrong with it was said. Returns how many were asked for.
pub(super) async fn check(
    pages: Vec<Page>,
    client: &Client,
    jobs: usize,
    hosts: &Hosts<'_>,
    site: Option<&str>,
    findings: &mut Findings,
) -> u64 {
    if pages.is_empty() {
        return 0;
    }
    let crawlers = findings.policy().crawlers();
    let mut allowed = Vec::new();
    // Of each host whose pages are not asked for, why not and how many there are.
    let mut left_out: BTreeMap<String, (Rule, String, u64)> = BTreeMap::new();
    for page in pages {
        let Some(origin) = origin_of(&page.loc) else {
            continue;
        };
        let known = hosts.of(origin).await;
        if let Known::Unknown(why) = &known {
            let why = format!("cannot be read: {why}");
            let left_out = left_out.entry(origin.to_owned());
            left_out.or_insert((Rule::RobotsStatus, why, 0)).2 += 1;
            continue;
        }
        let robots = known.robots();
        let shut_out = robots.and_then(|robots| robots.shuts_out(&page.loc, crawlers));
        let own = robots.and_then(|robots| robots.shuts_out(&page.loc, &[Crawler::Waymark]));
        match (shut_out, own) {
            (None, None) => allowed.push(page),
            (Some(_), _) if site == Some(origin) => {}
            (Some((agent, rule)), _) => page::blocked(&page, agent, rule, findings),
            (None, Some((agent, rule))) => {
                let why = format!(
                    "disallows a listed page for {agent} by {rule}, unless a group for waymark allows it"
                );
                let left_out = left_out.entry(origin.to_owned());
                left_out.or_insert((Rule::CheckLimits, why, 0)).2 += 1;
            }
        }
    }
    for (origin, (rule, why, count)) in left_out {
        let pages = counted(count, "page");
        findings.add(rule, || Finding {
            rule,
            file: format!("{origin}/robots.txt").into(),
            at: None,
            message: format!("{why}: left out {pages} of --pages"),
            invalid: false,
        });
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
