//! What is wrong with a listed page, as it was answered: status, redirects, noindex, canonical, alternates, its own date.
//!
//! Of HTML only what a crawler looks for is read: `<meta>` and `<link>` of the head, and `dateModified` in JSON-LD.

use url::Url;

use crate::address;
use crate::draw::Page;
use crate::finding::{Finding, Findings};
use crate::response::Response;
use crate::rules::Rule;
use crate::schema::quoted;
use sitemap::time::When;

mod html;

use html::Html;

/// What is read of a page. What search engines look for is in its head.
pub const MAX_PAGE_BYTES: usize = 1024 * 1024;
/// Seconds by which a page's own date and the lastmod may differ: they are written one after the other.
const SLACK: i64 = 60;
/// Seconds of a day.
const DAY: i64 = 86_400;
/// Crawlers whose own directives count.
const CRAWLERS: [&str; 4] = ["*", "robots", "googlebot", "bingbot"];

/// Adds what is wrong with a page.
pub fn judge(page: &Page, response: &Response, body: &[u8], findings: &mut Findings) {
    let mut judge = Judge { page, findings };
    if let Some(last) = response.redirects.last() {
        let steps = response.redirects.len();
        let message = format!("{} leads to {} in {steps} steps", judge.loc(), quoted(last));
        judge.found(Rule::PageRedirect, message);
    }
    if response.status != 200 {
        let message = format!("{} answers {}", judge.loc(), response.status);
        return judge.found(Rule::PageStatus, message);
    }
    if !response.redirects.is_empty() {
        // The answer is another page's, and so is what it says.
        return;
    }
    let Ok(url) = Url::parse(&page.loc) else {
        return;
    };
    let media = response.content_type.as_deref().unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    let is_html = ["text/html", "application/xhtml+xml"]
        .iter()
        .any(|html| media.eq_ignore_ascii_case(html));
    let html = is_html.then(|| Html::read(&String::from_utf8_lossy(body)));
    let html = html.unwrap_or_default();
    judge.noindex(response, &html);
    let mut links = Vec::new();
    for link in header_links(response.link.as_deref().unwrap_or_default()) {
        links.push((url.clone(), link));
    }
    let base = html.base.as_deref().and_then(|base| url.join(base).ok());
    let base = base.unwrap_or_else(|| url.clone());
    links.extend(html.links.into_iter().map(|link| (base.clone(), link)));
    judge.canonical(&url, &links);
    judge.alternates(&links);
    judge.older(html.modified.as_deref());
}

/// Adds that a page does not answer.
pub fn silent(page: &Page, failure: &str, findings: &mut Findings) {
    let mut judge = Judge { page, findings };
    let message = format!("{} does not answer: {failure}", judge.loc());
    judge.found(Rule::PageStatus, message);
}

/// Adds that robots.txt keeps crawlers from a page.
pub fn blocked(page: &Page, agent: &str, rule: &str, findings: &mut Findings) {
    let mut judge = Judge { page, findings };
    let message = format!(
        "{} is disallowed for {agent} by {} of its robots.txt",
        judge.loc(),
        quoted(rule)
    );
    judge.found(Rule::PageBlocked, message);
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

    fn noindex(&mut self, response: &Response, html: &Html) {
        let header = response.robots_tag.as_deref().unwrap_or_default();
        let place = if header_forbids(header) {
            "X-Robots-Tag"
        } else if html.robots.iter().any(|content| forbids(content)) {
            "its <meta name=\"robots\">"
        } else {
            return;
        };
        let message = format!("{} is not to be indexed, says {place}", self.loc());
        self.found(Rule::PageNoindex, message);
    }

    fn canonical(&mut self, url: &Url, links: &[(Url, Link)]) {
        let own = plain(url);
        let canonicals = links.iter().filter(|(_, link)| link.is("canonical"));
        for (base, link) in canonicals {
            let canonical = base.join(link.href.trim());
            let is_own = canonical.as_ref().is_ok_and(|url| plain(url) == own);
            if !is_own {
                let message = format!(
                    "{} names another canonical page: {}",
                    self.loc(),
                    quoted(link.href.trim())
                );
                return self.found(Rule::PageCanonical, message);
            }
        }
    }

    /// Compares the page's own alternates with the sitemap's, if both have some.
    fn alternates(&mut self, links: &[(Url, Link)]) {
        // A link's address may be written in more ways than one.
        let mut own: Vec<(String, [u64; 3])> = Vec::new();
        for (base, link) in links.iter().filter(|(_, link)| link.is("alternate")) {
            let href = link.href.trim();
            if let (Some(language), Ok(to)) = (&link.language, base.join(href)) {
                let bare = to.as_str().strip_suffix('/').unwrap_or(to.as_str());
                let forms = [href, to.as_str(), bare];
                let forms = forms.map(|form| address::digest(form.as_bytes()));
                own.push((language.trim().to_ascii_lowercase(), forms));
            }
        }
        let listed = &self.page.alternates;
        if own.is_empty() || listed.is_empty() {
            return;
        }
        let only_own = own.iter().find(|(language, forms)| {
            let mut same = listed.iter().filter(|(listed, _)| listed == language);
            !same.any(|(_, to)| forms.contains(to))
        });
        let only_listed = listed.iter().find(|(language, to)| {
            let mut same = own.iter().filter(|(own, _)| own == language);
            !same.any(|(_, forms)| forms.contains(to))
        });
        let only_own = only_own.map(|(language, _)| language);
        let only_listed = only_listed.map(|(language, _)| language);
        if let Some(language) = only_own.or(only_listed) {
            let message = format!(
                "{} itself has other alternates than the sitemap has, as of the language {}",
                self.loc(),
                quoted(language)
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

/// A link that a page has to another one, or to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Link {
    rel: String,
    href: String,
    language: Option<String>,
}

impl Link {
    fn is(&self, rel: &str) -> bool {
        let mut rels = self.rel.split_ascii_whitespace();
        rels.any(|one| one.eq_ignore_ascii_case(rel))
    }
}

/// Links of a header: `<https://…>; rel="canonical", …` (RFC 8288). What is not of this form is passed over.
fn header_links(header: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for piece in header.split('<').skip(1) {
        let Some((href, rest)) = piece.split_once('>') else {
            continue;
        };
        let mut link = Link {
            href: href.to_owned(),
            ..Link::default()
        };
        for parameter in rest.split([';', ',']) {
            let Some((name, value)) = parameter.split_once('=') else {
                continue;
            };
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "rel" => link.rel = value.to_owned(),
                "hreflang" => link.language = Some(value.to_owned()),
                _ => {}
            }
        }
        links.push(link);
    }
    links
}

/// Whether directives keep a page out of the index: `noindex, follow`.
fn forbids(directives: &str) -> bool {
    let mut directives = directives.split([',', ' ']).map(str::trim);
    directives.any(|one| one.eq_ignore_ascii_case("noindex") || one.eq_ignore_ascii_case("none"))
}

/// The same of X-Robots-Tag, which may name a crawler: `otherbot: noindex, nofollow`. The name holds until the next one.
fn header_forbids(header: &str) -> bool {
    let mut counts = true;
    header.split(',').any(|directive| {
        let directive = match directive.split_once(':') {
            Some((name, _)) if is_valued(name) => return false,
            Some((agent, directive)) => {
                let agent = agent.trim().to_ascii_lowercase();
                counts = CRAWLERS.contains(&agent.as_str());
                directive
            }
            None => directive,
        };
        counts && forbids(directive)
    })
}

/// Directives that have a value behind a colon.
fn is_valued(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    name == "unavailable_after" || name.starts_with("max-")
}

/// A URL as it is compared: without its fragment, and with upper-case escapes.
fn plain(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let mut text = String::with_capacity(url.as_str().len());
    let mut escape = 0;
    for character in url.as_str().chars() {
        escape = match character {
            '%' => 3,
            _ => escape - i32::from(escape > 0),
        };
        text.push(if escape > 0 {
            character.to_ascii_uppercase()
        } else {
            character
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::rules::Policy;

    fn page() -> Page {
        let digest = |url: &str| address::digest(url.as_bytes());
        Page {
            loc: "https://www.example.com/a/%c3%A4?b=1".to_owned(),
            file: "a.xml".into(),
            at: None,
            lastmod: When::parse("2026-11-20T10:00:00Z").ok(),
            alternates: vec![
                ("de".to_owned(), digest("https://www.example.com/de/")),
                ("en-gb".to_owned(), digest("https://www.example.com/en/")),
            ],
        }
    }

    fn html() -> Response {
        Response {
            content_type: Some("text/html; charset=UTF-8".to_owned()),
            ..Response::new(200)
        }
    }

    #[track_caller]
    fn check(response: &Response, body: &str, expected: &[Rule]) {
        let mut findings = Findings::new(Arc::new(Policy::default()));
        judge(&page(), response, body.as_bytes(), &mut findings);
        let rules: Vec<_> = findings.kept().iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, expected, "{body}: {:?}", findings.kept());
    }

    #[test]
    fn a_page_breaks_one_rule() {
        for (head, expected) in [
            ("<link rel=canonical href='/a/%C3%a4?b=1'>", &[][..]),
            (
                "<link rel=\"canonical\" href=\"https://www.example.com/a/ä?b=1#top\">",
                &[],
            ),
            ("<link rel=canonical href=/b/>", &[Rule::PageCanonical]),
            ("<base href=/x/><LINK REL=Canonical HREF='../a/ä?b=1'>", &[]),
            ("<meta name=robots content='index, follow'>", &[]),
            (
                "<meta name=robots content='NoIndex,follow'>",
                &[Rule::PageNoindex],
            ),
            ("<META content=none name=GoogleBot>", &[Rule::PageNoindex]),
            ("<meta name=otherbot content=noindex>", &[]),
            ("<!-- <meta name=robots content=noindex> -->", &[]),
            ("<script>'<meta name=robots content=noindex>'</script>", &[]),
            ("<title><meta name=robots content=noindex></title>", &[]),
            (
                "<link rel=alternate hreflang=de href=/de/><link rel=alternate hreflang=en-GB href=/en/>",
                &[],
            ),
            (
                "<link rel=alternate hreflang=de href=/de/>",
                &[Rule::PageAlternates],
            ),
            (
                "<link rel=alternate type=application/rss+xml href=/feed/>",
                &[],
            ),
            (
                "<script type='application/ld+json'>{\"dateModified\": \"2026-11-21T10:00:00Z\"}</script>",
                &[Rule::PageOlder],
            ),
            (
                "<script type='application/ld+json'>{\"dateModified\" : \"2026-11-20T11:00:00+01:00\"}</script>",
                &[],
            ),
            (
                "<meta property='article:modified_time' content='2026-11-20'>",
                &[],
            ),
            (
                "<meta property='article:modified_time' content='2026-11-21'>",
                &[Rule::PageOlder],
            ),
        ] {
            let body = format!("<!doctype html><html><head>{head}</head><body>x</body></html>");
            check(&html(), &body, expected);
        }
        // What is not HTML is not read as such.
        check(
            &Response::new(200),
            "<meta name=robots content=noindex>",
            &[],
        );
        check(&html(), "<body><link rel=canonical href=/b/>", &[]);
    }

    #[test]
    fn headers_speak_for_every_kind_of_page() {
        let tagged = |tag: &str| Response {
            robots_tag: Some(tag.to_owned()),
            ..Response::new(200)
        };
        check(&tagged("noindex"), "", &[Rule::PageNoindex]);
        check(&tagged("nofollow, NONE"), "", &[Rule::PageNoindex]);
        check(&tagged("googlebot: noindex"), "", &[Rule::PageNoindex]);
        check(&tagged("otherbot: noindex, nofollow"), "", &[]);
        check(
            &tagged("otherbot: nofollow, bingbot: noindex"),
            "",
            &[Rule::PageNoindex],
        );
        check(
            &tagged("unavailable_after: 25 Jun 2027 15:00:00 PST"),
            "",
            &[],
        );
        let linked = |link: &str| Response {
            link: Some(link.to_owned()),
            ..Response::new(200)
        };
        check(
            &linked("<https://www.example.com/b/>; rel=\"canonical\""),
            "",
            &[Rule::PageCanonical],
        );
        check(
            &linked("</style.css>; rel=preload, </a/ä?b=1>; rel=canonical"),
            "",
            &[],
        );
    }

    #[test]
    fn what_is_no_page_is_judged_no_further() {
        let gone = Response::new(404);
        check(
            &gone,
            "<meta name=robots content=noindex>",
            &[Rule::PageStatus],
        );
        let moved = Response {
            redirects: vec!["https://www.example.com/b/".to_owned()],
            ..html()
        };
        check(
            &moved,
            "<head><link rel=canonical href=/b/>",
            &[Rule::PageRedirect],
        );
    }
}
