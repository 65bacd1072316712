//! The view for people: a page that fetches its own path as XML and shows it as a table.
//!
//! Only a browser that opens a sitemap, an index, the feed or what is not there gets the view. Only browsers send
//! `Sec-Fetch-Dest: document`, and only for navigations. A program that drives a browser is recognized by its User-Agent, or by
//! `SIGNATURE_AGENT`; one that imitates a browser's headers may be recognized by an Accept without text/html. With it Accept says nothing,
//! because crawlers ask for text/html too.
//!
//! - The page is the same for all of them, even for an address where there is nothing (a 404). It contains nothing of a document or a
//!   request, so there is nothing to escape. Its script reads the XML and makes elements of it.
//! - No cache stores the page, nor the XML that a navigation gets. So no cache can give the answer for a person to a crawler, or
//!   the reverse. The page's own request is not a navigation, and its answer is cached as for every crawler.

use std::sync::LazyLock;

use http::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, USER_AGENT, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use crate::asset::Asset;
use crate::representation::VARY_VALUE;

/// The Cache-Control of an answer to a navigation.
pub(crate) const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-store");

/// The query that asks for XML in a browser. In other requests it has no effect.
const XML_QUERY: &str = "view=xml";

/// Parts of crawlers' names, in lower case. Crawlers that run a browser send its headers, but are to read the XML. A person whose
/// browser has one of these in its name sees the XML, with its style sheet.
const BOTS: [&str; 7] = [
    "bot",     // Googlebot, bingbot, Applebot, YandexBot, GPTBot and most others
    "crawl",   // others that call themselves crawlers
    "spider",  // Baiduspider, Bytespider
    "slurp",   // Yahoo
    "google-", // Google-InspectionTool, Google-Read-Aloud
    "googleother",
    "mediapartners", // Google's for advertisements
];

/// The header with the operator of a program that signs its requests ([Web Bot
/// Auth](https://datatracker.ietf.org/doc/draft-meunier-http-message-signatures-directory/)). The signature is not checked,
/// because the header only leads to the XML, which is public.
const SIGNATURE_AGENT: &str = "signature-agent";

/// Allows nothing from other hosts and nothing inline. The page's script never makes markup of texts, and this policy prevents
/// it.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
);

/// The page. The addresses of its script and style contain their digests, so they change with a deployment, and no browser
/// combines the new page with an old script.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let named = |page: String, asset: Asset| {
        let versioned = format!("{}?v={}", asset.path(), asset.digest());
        page.replace(asset.path(), &versioned)
    };
    let page = include_str!("assets/sitemap-view.html").to_owned();
    named(named(page, Asset::ViewCss), Asset::ViewScript)
});

/// The reader of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A program.
    Program,
    /// A navigation of a browser that is to get the document: that of a crawler, or of a person who asks for the XML.
    Browser,
    /// A person in a browser, who is to see the page instead of the document.
    Person,
}

impl Reader {
    /// Returns the reader of the answer to this request.
    pub(crate) fn of(request: &Parts) -> Self {
        let headers = &request.headers;
        let dest = headers.get("sec-fetch-dest");
        if dest.is_none_or(|dest| dest != "document") {
            return Self::Program;
        }
        let query = request.uri.query().unwrap_or_default();
        let asks_for_xml = query.split('&').any(|pair| pair == XML_QUERY);
        let is_program =
            is_bot(headers) || headers.contains_key(SIGNATURE_AGENT) || !takes_html(headers);
        if asks_for_xml || is_program {
            Self::Browser
        } else {
            Self::Person
        }
    }

    /// Returns whether a browser shows the answer, as the view or as XML.
    pub(crate) fn is_navigation(self) -> bool {
        self != Self::Program
    }
}

/// Returns whether Accept has text/html, as in each navigation of a browser, or is not there: a CDN need not hand it on.
fn takes_html(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().peekable();
    accepted.peek().is_none()
        || accepted.any(|one| {
            let one = one.as_bytes().to_ascii_lowercase();
            memchr::memmem::find(&one, b"text/html").is_some()
        })
}

fn is_bot(headers: &HeaderMap) -> bool {
    headers.get_all(USER_AGENT).iter().any(|agent| {
        let agent = agent.as_bytes().to_ascii_lowercase();
        BOTS.iter()
            .any(|bot| memchr::memmem::find(&agent, bot.as_bytes()).is_some())
    })
}

/// Returns the page's text, and its headers without those that every answer to a navigation has.
pub(crate) fn page() -> (HeaderMap, &'static str) {
    let page = PAGE.as_str();
    let headers = HeaderMap::from_iter([
        (CONTENT_LENGTH, HeaderValue::from(page.len())),
        (CONTENT_SECURITY_POLICY, POLICY),
        (
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        ),
        (VARY, VARY_VALUE),
    ]);
    (headers, page)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const CHROME: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";

    fn wanted(query: &str, dest: &str, agent: &str) -> bool {
        let request = Request::builder()
            .uri(format!("/post-sitemap.xml{query}"))
            .header("sec-fetch-dest", dest)
            .header(USER_AGENT, agent);
        Reader::of(&request.body(()).unwrap().into_parts().0) == Reader::Person
    }

    #[test]
    fn a_person_who_opens_a_sitemap_sees_the_view() {
        for query in [
            "",
            "?",
            "?page=2&q=view",
            "?view=html",
            "?xview=xml",
            "?q=view=xml",
        ] {
            assert!(wanted(query, "document", CHROME), "{query}");
        }
        assert!(wanted("", "document", ""));
    }

    #[test]
    fn anybody_else_gets_the_document() {
        for dest in ["", "empty", "iframe", "Document", "document, empty", "xslt"] {
            assert!(!wanted("", dest, CHROME), "{dest}");
        }
        for query in ["?view=xml", "?page=2&view=xml"] {
            assert!(!wanted(query, "document", CHROME), "{query}");
        }
        for agent in [
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/140.0.0.0 Safari/537.36",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0) Chrome/140.0.0.0 Safari/537.36",
            "Mozilla/5.0 (compatible; Baiduspider-render/2.0)",
            "Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)",
            "GoogleOther",
            "Mozilla/5.0 (compatible; Yahoo! Slurp)",
        ] {
            assert!(!wanted("", "document", agent), "{agent}");
        }
    }

    #[test]
    fn an_agent_that_signs_gets_the_document_whatever_it_calls_itself() {
        for agent in [
            "\"https://agent.example\"",
            "sig1=\"https://agent.example\"",
            "",
        ] {
            let request = Request::builder()
                .uri("/post-sitemap.xml")
                .header("sec-fetch-dest", "document")
                .header(USER_AGENT, CHROME)
                .header("signature-agent", agent);
            let (request, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(Reader::of(&request), Reader::Browser, "{agent}");
        }
    }

    #[test]
    fn a_program_that_imitates_a_browser_and_takes_no_html_gets_the_document() {
        for (accepted, reader) in [
            (
                &["text/html,application/xhtml+xml,*/*;q=0.8"][..],
                Reader::Person,
            ),
            (&["TEXT/HTML"], Reader::Person),
            (&["*/*", "text/html"], Reader::Person),
            (&["*/*"], Reader::Browser),
            (&["application/xml"], Reader::Browser),
            (&[""], Reader::Browser),
        ] {
            let mut request = Request::builder()
                .uri("/post-sitemap.xml")
                .header("sec-fetch-dest", "document")
                .header(USER_AGENT, CHROME);
            for one in accepted {
                request = request.header("accept", *one);
            }
            let (request, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(Reader::of(&request), reader, "{accepted:?}");
        }
    }

    #[test]
    fn the_page_names_its_files_by_what_is_in_them() {
        let (_, page) = page();
        for asset in [Asset::ViewCss, Asset::ViewScript] {
            let named = format!("\"{}?v={}\"", asset.path(), asset.digest());
            assert_eq!(page.matches(&named).count(), 1, "{named}");
            assert_eq!(page.matches(asset.path()).count(), 1);
        }
        assert!(!page.contains("<style") && !page.contains(" style="));
        assert_eq!(page.matches("<script").count(), 1);
    }
}
