//! What servers do with a document's headers, conditions, methods, encodings, browsers and queries.

use std::io::Read as _;

use check::rules::Rule;

use super::asker::Asker;
use crate::fetch::client::Answer;

const IDENTITY: (&str, &str) = ("accept-encoding", "identity");
const GZIP: (&str, &str) = ("accept-encoding", "gzip");
/// Headers that HEAD has as GET has them.
const OF_HEAD: [&str; 8] = [
    "content-type",
    "content-encoding",
    "content-length",
    "etag",
    "last-modified",
    "cache-control",
    "x-robots-tag",
    "vary",
];
/// What crawlers accept, as they say it.
const ACCEPTED: [&str; 4] = [
    "text/html,application/xhtml+xml,application/signed-exchange;v=b3,application/xml;q=0.9,*/*;q=0.8",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "*/*",
    "text/html",
];
/// The most of a document that is inflated to be compared.
const MAX_BYTES: u64 = sitemap::site::MAX_BYTES;

/// Looks at a document.
pub(super) async fn check(asker: &mut Asker<'_>, url: &str) {
    let identity = asker.get(url, &[IDENTITY]).await;
    let gzip = asker.get(url, &[GZIP]).await;
    plain(asker, url, &identity);
    if asker.wants("hdr.304") {
        let problems = conditional(asker, url, &identity, &gzip).await;
        asker.found(Rule::Hdr304, url, &problems);
    }
    if asker.wants("hdr.head") {
        let problems = head(asker, url, &identity, &gzip).await;
        asker.found(Rule::HdrHead, url, &problems);
    }
    encodings(asker, url, &identity, &gzip).await;
    views(asker, url, &identity, &gzip).await;
    if asker.wants("route.query") {
        let answer = asker.get(&format!("{url}?v=1"), &[IDENTITY]).await;
        if answer.status != 200 || answer.body != identity.body {
            let problem = format!("with ?v=1 it is {}, another document", answer.status_text());
            asker.found(Rule::RouteQuery, url, &[problem]);
        }
    }
}

fn plain(asker: &mut Asker<'_>, url: &str, answer: &Answer) {
    let one = |name: &str, is_right: bool| {
        let header = answer.header(name);
        let problem = if header.is_empty() {
            format!("has no {name}")
        } else {
            format!("{name} is \"{header}\"")
        };
        Vec::from_iter((!is_right).then_some(problem))
    };
    let header = answer.header("x-robots-tag").to_ascii_lowercase();
    let mut tag: Vec<_> = header.split(',').map(str::trim).collect();
    tag.sort_unstable();
    let problems = one("x-robots-tag", tag == ["follow", "noindex"]);
    asker.found(Rule::HdrRobotsTag, url, &problems);
    let mut problems = one("etag", is_etag(&answer.header("etag")));
    problems.extend(one(
        "last-modified",
        is_http_date(&answer.header("last-modified")),
    ));
    asker.found(Rule::HdrValidators, url, &problems);
    let cache = answer.header("cache-control").to_ascii_lowercase();
    let is_right = cache.split(',').map(str::trim).any(|directive| {
        matches!(directive, "no-cache" | "no-store")
            || ["max-age=", "s-maxage="].iter().any(|name| {
                let age = directive.strip_prefix(name);
                age.is_some_and(|age| !age.is_empty() && age.bytes().all(|c| c.is_ascii_digit()))
            })
    });
    asker.found(Rule::HdrCache, url, &one("cache-control", is_right));
    let nosniff = answer.header("x-content-type-options");
    let is_right = nosniff.eq_ignore_ascii_case("nosniff");
    asker.found(
        Rule::HdrNosniff,
        url,
        &one("x-content-type-options", is_right),
    );
}

/// Returns whether a text is an entity tag (RFC 9110, 8.8.3).
fn is_etag(text: &str) -> bool {
    let tag = text.strip_prefix("W/").unwrap_or(text);
    let inner = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    inner.is_some_and(|inner| inner.chars().all(|c| c > ' ' && c != '"' && c != '\u{7f}'))
}

/// Returns whether a text has the form of a date that RFC 9110, 5.6.7 prefers: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn is_http_date(text: &str) -> bool {
    let form = "aaa, 00 aaa 0000 00:00:00 GMT";
    text.len() == form.len()
        && text
            .bytes()
            .zip(form.bytes())
            .all(|(byte, form)| match form {
                b'a' => byte.is_ascii_alphabetic(),
                b'0' => byte.is_ascii_digit(),
                form => byte == form,
            })
}

async fn conditional(
    asker: &Asker<'_>,
    url: &str,
    identity: &Answer,
    gzip: &Answer,
) -> Vec<String> {
    let mut problems = Vec::new();
    for (first, encoding) in [(identity, IDENTITY), (gzip, GZIP)] {
        let (etag, modified) = (first.header("etag"), first.header("last-modified"));
        let form = encoding.1;
        if !etag.is_empty() {
            let weak = if etag.starts_with("W/") {
                etag.clone()
            } else {
                format!("W/{etag}")
            };
            for tag in [&etag, &format!("\"nope\", {etag}"), &weak, "*"] {
                let answer = asker.get(url, &[encoding, ("if-none-match", tag)]).await;
                let length = answer.header("content-length");
                if answer.status != 304 {
                    let status = answer.status_text();
                    problems.push(format!("If-None-Match {tag} is {status} ({form})"));
                } else if !answer.body.is_empty()
                    || !(matches!(length.as_str(), "" | "0")
                        || length == first.header("content-length"))
                {
                    problems.push(format!("a 304 with a body ({form})"));
                } else if strong(&answer.header("etag")) != strong(&etag) {
                    let other = answer.header("etag");
                    problems.push(format!("a 304 has the ETag {other}, the 200 {etag}"));
                } else if answer.header("cache-control") != first.header("cache-control") {
                    problems.push("a 304 has another Cache-Control than the 200".to_owned());
                }
            }
            let other = ("if-none-match", "\"nope\"");
            let answer = asker.get(url, &[encoding, other]).await;
            if answer.status != 200 {
                problems.push(format!("another If-None-Match is {}", answer.status_text()));
            }
            if !modified.is_empty() {
                let since = ("if-modified-since", modified.as_str());
                let answer = asker.get(url, &[encoding, other, since]).await;
                if answer.status != 200 {
                    problems.push("If-Modified-Since comes before If-None-Match".to_owned());
                }
            }
        }
        if !modified.is_empty() {
            for (date, expected) in [
                (modified.as_str(), 304),
                ("Thu, 01 Jan 1970 00:00:00 GMT", 200),
            ] {
                let answer = asker
                    .get(url, &[encoding, ("if-modified-since", date)])
                    .await;
                if answer.status != expected {
                    let status = answer.status_text();
                    problems.push(format!("If-Modified-Since {date} is {status} ({form})"));
                }
            }
        }
        if etag.is_empty() && modified.is_empty() {
            problems.push(format!("has nothing to compare ({form})"));
        }
    }
    problems
}

fn strong(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}

async fn head(asker: &Asker<'_>, url: &str, identity: &Answer, gzip: &Answer) -> Vec<String> {
    let mut problems = Vec::new();
    for (full, encoding) in [(identity, IDENTITY), (gzip, GZIP)] {
        let answer = asker.ask("HEAD", url, &[encoding]).await;
        if answer.status != full.status {
            problems.push(format!(
                "HEAD is {}, GET {}",
                answer.status_text(),
                full.status_text()
            ));
        }
        for name in OF_HEAD {
            let (of_head, of_get) = (answer.header(name), full.header(name));
            if of_head != of_get && !(name == "content-length" && of_head.is_empty()) {
                let form = encoding.1;
                problems.push(format!(
                    "{name} is \"{of_head}\" of HEAD and \"{of_get}\" of GET ({form})"
                ));
            }
        }
        if !answer.body.is_empty() {
            problems.push("HEAD has a body".to_owned());
        }
    }
    problems
}

async fn encodings(asker: &mut Asker<'_>, url: &str, identity: &Answer, gzip: &Answer) {
    let none = asker.get(url, &[]).await;
    let refused = asker
        .get(url, &[("accept-encoding", "gzip;q=0, identity")])
        .await;
    let mut problems = Vec::new();
    let document = identity.decoded();
    for (who, answer, accepts) in [
        ("identity", identity, false),
        ("gzip", gzip, true),
        ("no Accept-Encoding", &none, false),
        ("gzip;q=0", &refused, false),
    ] {
        let encoding = answer.header("content-encoding");
        if answer.status != 200 {
            problems.push(format!("for {who} it is {}", answer.status_text()));
        } else if !accepts && !matches!(encoding.as_str(), "" | "identity") {
            problems.push(format!("Content-Encoding is {encoding} for {who}"));
        } else if answer.decoded() != document {
            problems.push(format!("the document for {who} is another one"));
        }
    }
    let differs = identity.header("content-encoding") != gzip.header("content-encoding");
    let vary = format!("{},{}", gzip.header("vary"), identity.header("vary"));
    if differs && !varies(&vary, "accept-encoding") {
        problems.push("has no Vary: Accept-Encoding".to_owned());
    }
    asker.found(Rule::HdrIdentity, url, &problems);
    let etag = identity.header("etag");
    if differs && etag == gzip.header("etag") && !etag.is_empty() && !etag.starts_with("W/") {
        let problem = format!("both have {etag}");
        asker.found(Rule::HdrEtagVariants, url, &[problem]);
    }
}

fn varies(vary: &str, header: &str) -> bool {
    let mut names = vary.split(',').map(str::trim);
    names.any(|name| name.eq_ignore_ascii_case(header))
}

/// Checks what crawlers and browsers get.
async fn views(asker: &mut Asker<'_>, url: &str, identity: &Answer, gzip: &Answer) {
    if asker.wants("hdr.crawler_accept") {
        let mut problems = Vec::new();
        for accept in ACCEPTED {
            let answer = asker.get(url, &[IDENTITY, ("accept", accept)]).await;
            if answer.status != 200 || answer.body != identity.body {
                let media = answer.header("content-type");
                let status = answer.status_text();
                problems.push(format!("for Accept {accept} it is {status} {media}"));
            }
        }
        asker.found(Rule::HdrCrawlerAccept, url, &problems);
    }
    if !asker.wants("hdr.browser_view") {
        return;
    }
    let navigation = [
        (
            "accept",
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        ),
        GZIP,
        ("sec-fetch-dest", "document"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-site", "none"),
        ("upgrade-insecure-requests", "1"),
    ];
    let answer = asker.get(url, &navigation).await;
    let body = answer.decoded();
    let begin = String::from_utf8_lossy(&body[..body.len().min(2_048)]).into_owned();
    let media = answer.header("content-type").to_ascii_lowercase();
    let mut problems = Vec::new();
    if answer.status != 200 {
        problems.push(format!("a navigation is {}", answer.status_text()));
    } else if media.starts_with("text/html") {
        let says = |answer: &Answer| {
            let vary = answer.header("vary");
            varies(&vary, "sec-fetch-dest") || varies(&vary, "accept")
        };
        if !says(&answer) || !says(identity) {
            problems.push("both forms lack Vary: Sec-Fetch-Dest".to_owned());
        }
        let etag = answer.header("etag");
        if !etag.is_empty()
            && [identity, gzip]
                .iter()
                .any(|other| other.header("etag") == etag)
        {
            problems.push(format!("the view and the XML share the ETag {etag}"));
        }
    } else if let Some(href) = stylesheet(&begin) {
        let to = url::Url::parse(url).and_then(|url| url.join(&href));
        let sheet = match to {
            Ok(to) => asker.get(to.as_str(), &[]).await,
            Err(_) => Answer::default(),
        };
        let media = sheet.header("content-type").to_ascii_lowercase();
        let is_sheet = [
            "text/css",
            "text/xsl",
            "application/xslt",
            "text/xml",
            "application/xml",
        ];
        if sheet.status != 200 || !is_sheet.iter().any(|one| media.starts_with(one)) {
            problems.push(format!(
                "the stylesheet {href} is {} {media}",
                sheet.status_text()
            ));
        }
    } else {
        problems.push(format!("a navigation gets bare {media}"));
    }
    asker.found(Rule::HdrBrowserView, url, &problems);
}

/// Returns the address of a document's stylesheet.
fn stylesheet(begin: &str) -> Option<String> {
    let (_, rest) = begin.split_once("<?xml-stylesheet")?;
    let (instruction, _) = rest.split_once("?>")?;
    let (_, rest) = instruction.split_once("href=")?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (href, _) = rest[1..].split_once(quote)?;
    Some(href.to_owned())
}

impl Answer {
    /// Joins all values of a header. The text is empty if there are none.
    pub(super) fn header(&self, name: &str) -> String {
        let values = self.headers.iter();
        let values = values.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let values: Vec<_> = values.map(|(_, value)| value.as_str()).collect();
        values.join(", ")
    }

    /// Formats the status, or why there is none.
    pub(super) fn status_text(&self) -> String {
        match self.status {
            0 => format!("no answer ({})", String::from_utf8_lossy(&self.body)),
            status => status.to_string(),
        }
    }

    /// Decodes the body by its Content-Encoding, as far as it can be read.
    fn decoded(&self) -> Vec<u8> {
        if !self.header("content-encoding").eq_ignore_ascii_case("gzip") {
            return self.body.clone();
        }
        let mut text = Vec::new();
        let mut reader = flate2::read::MultiGzDecoder::new(&self.body[..]).take(MAX_BYTES);
        // What is damaged is another document.
        let _ = reader.read_to_end(&mut text);
        text
    }
}
