//! Checks the answer for a listed page: status, redirects, noindex, canonical, alternates, its own date.
//!
//! Only the parts of the HTML that crawlers use are read: `<meta>` and `<link>` of the head, and `dateModified` in JSON-LD.

use url::Url;

use crate::document::sample::Page;
use crate::findings::{Finding, Findings, Limited, Unchecked};
use crate::rules::Rule;
use crate::text::quoted;
use crate::url::digest_of;
use sitemap::loc::normalized;
use sitemap::time::When;

mod date;
mod html;
mod links;
pub mod response;
mod robots;
mod soft;

pub use soft::{Nonsense, nonsense};

use date::DAY;
use html::{Html, MAX_LINKS};
use links::Link;
use response::Response;
use robots::Reading;

/// The most bytes that are read of a page. The parts for search engines are in its head.
pub const MAX_PAGE_BYTES: usize = 1024 * 1024;
/// The seconds by which a page's own date and its lastmod may differ, because they are written one after the other.
const SLACK: i64 = 60;

/// The state of the canonical page that a page names instead of itself.
#[derive(Clone, Debug)]
pub enum Canonical {
    /// It was not requested.
    Unasked,
    /// It was not requested, because its robots.txt cannot be read for this reason.
    Unknown(String),
    /// robots.txt disallows it for this crawler, by this rule.
    Blocked(String, String),
    /// The answer for it.
    Answered(Response),
    /// There was no answer for this reason.
    Silent(String),
}

/// Ends messages about a page of a host that the user did not name. Nothing of such a page is quoted.
const UNSHOWN: &str = ", which is not shown, because its host was not named";

/// Adds findings for the problems of a page. `nonsense` is the answer of its host for an address without a page, if it is known.
/// `now` is the time in Unix seconds.
///
/// Returns the address of the canonical page that it names instead of itself. [`elsewhere`] adds the finding for it, because that
/// includes the answer for that address.
#[must_use]
pub fn judge(
    page: &Page,
    response: &Response,
    body: &[u8],
    nonsense: Option<&Nonsense>,
    now: i64,
    findings: &mut Findings,
) -> Option<String> {
    let mut judge = Judge { page, findings };
    let is_foreign = response.is_foreign;
    if response.status != 200 {
        judge.redirect(response);
        let message = format!("{} {}", judge.loc(), answers(response.status));
        judge.found(Rule::PageStatus, message);
        return None;
    }
    if judge.redirect_to_nowhere(response, nonsense) {
        return None;
    }
    judge.redirect(response);
    if !response.redirects.is_empty() {
        // The answer belongs to another page, and so does its content.
        return None;
    }
    let url = Url::parse(&page.loc).ok()?;
    if let Some(nonsense) = nonsense.filter(|nonsense| nonsense.equals(&url, body)) {
        let message = format!(
            "{} answers like {}, an address without a page",
            judge.loc(),
            quoted(&nonsense.url)
        );
        judge.found(Rule::PageSoft404, message);
    }
    let media = response.content_type.as_deref().unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    let is_html = ["text/html", "application/xhtml+xml"]
        .iter()
        .any(|html| media.eq_ignore_ascii_case(html));
    let html = is_html.then(|| Html::read(&String::from_utf8_lossy(body)));
    let html = html.unwrap_or_default();
    if html.has_more_links {
        judge.findings.leave(Unchecked::Limited(Limited {
            place: page.loc.as_str().into(),
            rest: "the other links were not read",
            value: MAX_LINKS as u64,
            unit: "links of a page",
            option: None,
        }));
    }
    judge.noindex(response, &html, now);
    let mut links = Vec::new();
    for link in links::of_header(response.link.as_deref().unwrap_or_default()) {
        links.push((url.clone(), link));
    }
    let base = html.base.as_deref().and_then(|base| url.join(base).ok());
    let base = base.unwrap_or_else(|| url.clone());
    links.extend(html.links.into_iter().map(|link| (base.clone(), link)));
    judge.alternates(&links, is_foreign);
    judge.older(html.modified.as_deref());
    let canonical = canonical(&url, &links)?;
    if is_foreign {
        let message = format!("{} names another canonical page{UNSHOWN}", judge.loc());
        judge.found(Rule::PageCanonical, message);
        return None;
    }
    Some(canonical)
}

/// Adds a finding that a page names another canonical page, with the state of that.
pub fn elsewhere(page: &Page, url: &str, canonical: &Canonical, findings: &mut Findings) {
    let what = match canonical {
        Canonical::Unasked => String::new(),
        Canonical::Unknown(failure) => {
            format!(", which was not fetched, because its robots.txt cannot be read: {failure}")
        }
        Canonical::Blocked(agent, rule) => {
            format!(", which is disallowed for {agent} by {}", quoted(rule))
        }
        Canonical::Silent(failure) => format!(", which has no answer: {failure}"),
        Canonical::Answered(response) => match response.redirects.last() {
            _ if response.status != 200 => format!(", which {}", answers(response.status)),
            Some(last) if normalized(last) == normalized(&page.loc) => {
                ", which leads back to it".to_owned()
            }
            Some(last) => format!(", which leads to {}", quoted(last)),
            None => String::new(),
        },
    };
    let mut judge = Judge { page, findings };
    let message = format!(
        "{} names another canonical page: {}{what}",
        judge.loc(),
        quoted(url)
    );
    judge.found(Rule::PageCanonical, message);
}

/// Adds a finding that there was no answer for a page.
pub fn silent(page: &Page, failure: &str, findings: &mut Findings) {
    let mut judge = Judge { page, findings };
    let message = format!("{} has no answer: {failure}", judge.loc());
    judge.found(Rule::PageStatus, message);
}

/// Adds a finding that robots.txt disallows a page.
pub fn blocked(page: &Page, agent: &str, rule: &str, findings: &mut Findings) {
    let mut judge = Judge { page, findings };
    let message = format!(
        "{} is disallowed for {agent} by {} of its robots.txt",
        judge.loc(),
        quoted(rule)
    );
    judge.found(Rule::PageBlocked, message);
}

/// Returns the meaning of a status other than 200 for a page.
fn answers(status: u16) -> String {
    let meaning = match status {
        404 | 410 => ": it is gone",
        401 | 403 => ": access is forbidden, or bot protection blocks this command",
        429 => ": too many requests, see --rate",
        408 | 500.. => ": the server failed, perhaps temporarily",
        _ => "",
    };
    format!("answers {status}{meaning}")
}

/// Returns the first canonical page that is not the page itself: its address, or its text if it is not an address.
fn canonical(page: &Url, links: &[(Url, Link)]) -> Option<String> {
    let own = normalized(page.as_str());
    let mut canonicals = links.iter().filter(|(_, link)| link.is_canonical());
    canonicals.find_map(|(base, link)| match link.address(base) {
        Some(canonical) if normalized(canonical.as_str()) == own => None,
        Some(canonical) => Some(canonical.into()),
        None => Some(link.href.trim().to_owned()),
    })
}

struct Judge<'a> {
    page: &'a Page,
    findings: &'a mut Findings,
}

impl Judge<'_> {
    fn loc(&self) -> String {
        quoted(&self.page.loc)
    }

    fn found(&mut self, rule: Rule, message: String) {
        let page = self.page;
        self.findings.add(rule, || Finding {
            rule,
            file: page.file.clone(),
            at: page.at,
            message,
            invalid: false,
        });
    }

    fn redirect(&mut self, response: &Response) {
        if let Some(last) = response.redirects.last() {
            let steps = response.redirects.len();
            let message = format!("{} leads to {} in {steps} steps", self.loc(), quoted(last));
            self.found(Rule::PageRedirect, message);
        }
    }

    /// Adds a finding if a page redirects to a home page, or to where an address without a page does. Returns whether it added
    /// one.
    fn redirect_to_nowhere(&mut self, response: &Response, nonsense: Option<&Nonsense>) -> bool {
        let Some(last) = response.redirects.last() else {
            return false;
        };
        if self.findings.policy().level(Rule::PageSoft404).is_none() {
            return false;
        }
        let why = if soft::leads_home(&self.page.loc, last) {
            "a home page, which search engines treat as a missing page".to_owned()
        } else if let Some(nonsense) = nonsense.filter(|nonsense| nonsense.leads_to(last)) {
            format!("like {}, an address without a page", quoted(&nonsense.url))
        } else {
            return false;
        };
        let message = format!("{} leads to {}, {why}", self.loc(), quoted(last));
        self.found(Rule::PageSoft404, message);
        true
    }

    fn noindex(&mut self, response: &Response, html: &Html, now: i64) {
        let reading = Reading {
            policy: self.findings.policy(),
            now,
        };
        let header = response.robots_tags.iter().find_map(|tag| {
            let ban = reading.header(tag)?;
            let agent = ban.agent.as_ref().map(|agent| format!(" for {agent}"));
            Some((format!("X-Robots-Tag{}", agent.unwrap_or_default()), ban))
        });
        let meta = || {
            html.robots.iter().find_map(|(name, content)| {
                let ban = reading.meta(name, content)?;
                Some((format!("its <meta name=\"{name}\">"), ban))
            })
        };
        if let Some((place, ban)) = header.or_else(meta) {
            let after = ban.after.map(|date| match response.is_foreign {
                true => " after a date".to_owned(),
                false => format!(" after {}", quoted(&date)),
            });
            let after = after.unwrap_or_default();
            let message = format!("{} is not to be indexed{after}, says {place}", self.loc());
            self.found(Rule::PageNoindex, message);
        }
    }

    /// Compares the page's own alternates with the sitemap's, if both have some.
    fn alternates(&mut self, links: &[(Url, Link)], is_foreign: bool) {
        let mut own: Vec<(String, u64)> = Vec::new();
        for (base, link) in links.iter().filter(|(_, link)| link.is("alternate")) {
            if let (Some(language), Some(to)) = (&link.language, link.address(base)) {
                let to = digest_of(to.as_str());
                own.push((language.trim().to_ascii_lowercase(), to));
            }
        }
        let listed = &self.page.alternates;
        if own.is_empty() || listed.is_empty() {
            return;
        }
        let only_own = own.iter().find(|one| !listed.contains(one));
        let only_listed = listed.iter().find(|one| !own.contains(one));
        if let Some((language, _)) = only_own.or(only_listed) {
            let language = match is_foreign {
                true => UNSHOWN.to_owned(),
                false => format!(", as of the language {}", quoted(language)),
            };
            let message = format!(
                "{} itself has other alternates than the sitemap has{language}",
                self.loc()
            );
            self.found(Rule::PageAlternates, message);
        }
    }

    fn older(&mut self, modified: Option<&str>) {
        let modified = modified.and_then(|text| When::parse(text.trim()).ok());
        let (Some(lastmod), Some(modified)) = (self.page.lastmod, modified) else {
            return;
        };
        let is_older = if lastmod.is_date() || modified.is_date() {
            lastmod.seconds().div_euclid(DAY) < modified.seconds().div_euclid(DAY)
        } else {
            lastmod.seconds() + SLACK < modified.seconds()
        };
        if is_older {
            let message = format!(
                "{} was modified on {modified}, says the page, and the lastmod is {lastmod}",
                self.loc()
            );
            self.found(Rule::PageOlder, message);
        }
    }
}

#[cfg(test)]
mod tests;
