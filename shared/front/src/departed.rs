//! Answers for the addresses of pages that moved or are gone.
//!
//! A moved page may have moved on: [`find`] follows at most [`MAX_HOPS`] moves on the site, and reads one published file for each address.

use std::fmt::Write as _;

use futures::TryStreamExt;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Response, StatusCode};
use objects::{ObjectError, ObjectKey, Objects, SiteFile};
use sitemap::departures::{Departures, MAX_HOPS, file_of};
use sitemap::loc::{Loc, Origin};
use sitemap::record::Departure;
use tracing::warn;

use crate::body::{self, Body};

/// The most bytes that are read of a file: far more than the most departures of a file have with addresses of usual length.
const MAX_FILE_BYTES: usize = 16 * 1024 * 1024;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const NO_SOURCES: HeaderValue = HeaderValue::from_static("default-src 'none'");

/// Marks a response whose X-Robots-Tag is its own: a redirect has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IsMove;

/// Returns what became of the page at a path of a site, or `None` if no page departed from it.
pub(crate) async fn find(
    objects: &dyn Objects,
    file: &SiteFile,
    path: &str,
) -> Result<Option<Departure>, ObjectError> {
    let Ok(origin) = Origin::parse(&file.origin) else {
        return Ok(None);
    };
    let on_site = |url: &str| Loc::parse(url.split('#').next().unwrap_or_default(), &origin).ok();
    let Some(first) = on_site(&format!("{}{path}", file.origin)) else {
        return Ok(None);
    };
    let (mut visited, mut found) = (vec![first], None);
    while let Some(at) = visited.last().filter(|_| visited.len() <= MAX_HOPS) {
        let Some(departure) = read(objects, &file.site, at).await? else {
            break;
        };
        let Departure::MovedTo(target) = &departure else {
            return Ok(Some(departure));
        };
        let next = on_site(target);
        found = Some(departure);
        let Some(next) = next else { break };
        if visited.iter().any(|before| before.is_equivalent(&next)) {
            warn!(
                site = file.site,
                path, "moved pages lead back to themselves"
            );
            return Ok(None);
        }
        visited.push(next);
    }
    Ok(found)
}

/// Returns what became of the page at an address, by the site's published file.
async fn read(
    objects: &dyn Objects,
    site: &str,
    loc: &Loc,
) -> Result<Option<Departure>, ObjectError> {
    let key = ObjectKey::Departures {
        site: site.to_owned(),
        file: file_of(loc.as_str()),
    };
    let Some((_, mut stored)) = objects.open(&key).await? else {
        return Ok(None);
    };
    let damaged = |message: &str| ObjectError::Damaged {
        what: key.path(),
        message: message.to_owned(),
    };
    let mut text = Vec::new();
    while let Some(chunk) = stored.try_next().await? {
        if text.len() + chunk.len() > MAX_FILE_BYTES {
            return Err(damaged("it is too long"));
        }
        text.extend_from_slice(&chunk);
    }
    let departures = Departures::parse(&text).ok_or_else(|| damaged("it cannot be read"))?;
    Ok(departures.get(loc.as_str()).cloned())
}

/// Returns the answer: 301 or 410, each with a sentence for people. Caches may keep it for `max_age` seconds.
pub(crate) fn response(departure: &Departure, max_age: u32) -> Response<Body> {
    let (status, title, sentence) = match departure {
        Departure::MovedTo(target) => {
            let target = escaped(target);
            let sentence = format!("This page has moved to <a href=\"{target}\">{target}</a>.");
            (StatusCode::MOVED_PERMANENTLY, "Moved", sentence)
        }
        Departure::Gone => (
            StatusCode::GONE,
            "Gone",
            "This page is gone for good.".to_owned(),
        ),
    };
    let page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n<p>{sentence}</p>\n"
    );
    let mut response = Response::new(body::full(page));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HTML);
    headers.insert(CONTENT_SECURITY_POLICY, NO_SOURCES);
    let cached = format!("public, max-age={max_age}, s-maxage={max_age}");
    if let Ok(cached) = HeaderValue::try_from(cached) {
        headers.insert(CACHE_CONTROL, cached);
    }
    if let Departure::MovedTo(target) = departure {
        // A target is printable ASCII, so this always works.
        if let Ok(target) = HeaderValue::try_from(target) {
            headers.insert(LOCATION, target);
        }
        response.extensions_mut().insert(IsMove);
    }
    response
}

/// Returns a text in which no character has a meaning in HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' | '<' | '>' | '"' | '\'' => {
                let _ = write!(escaped, "&#{};", u32::from(character));
            }
            character => escaped.push(character),
        }
    }
    escaped
}
