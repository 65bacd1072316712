//! A visitor of pages. The sites have none of their own behind the front, so a page that is listed answers 404, and one that departed
//! says so.

use http::Method;
use serde_json::Value;

use crate::crawler::Public;
use crate::oracle::Truth;

/// The statuses of pages that departed.
const MOVED: u16 = 301;
const GONE: u16 = 410;
/// The status of all other pages.
const NOT_FOUND: u16 = 404;

/// Returns the path of a page, if it is on this site and an address of it can be answered: the CDN drops queries.
fn path<'a>(host: &str, loc: &'a str) -> Option<&'a str> {
    let path = loc.strip_prefix("https://")?.strip_prefix(host)?;
    (path.starts_with('/') && !path.contains('?')).then_some(path)
}

/// Returns whether the front answers for a page that departed from this address. `None` if it cannot answer for the address.
///
/// # Panics
///
/// If the answer is none that a page may have.
pub(crate) async fn has_departed(public: &impl Public, host: &str, loc: &str) -> Option<bool> {
    let path = path(host, loc)?;
    let response = public.request(host, Method::GET, path, &[]).await;
    match response.status {
        MOVED | GONE => Some(true),
        NOT_FOUND => Some(false),
        status => panic!("{loc}: status {status}"),
    }
}

/// Visits every page of a site at rest.
///
/// # Errors
///
/// The first page that answers as it should not.
pub(crate) async fn visit(public: &impl Public, host: &str, truth: &Truth) -> Result<(), String> {
    for listed in truth.listed.values().filter(|page| page.address.0 == host) {
        if has_departed(public, host, &listed.loc).await == Some(true) {
            return Err(format!("{} is listed, and answers as departed", listed.loc));
        }
    }
    for ((site, _), (_, loc, departure)) in &truth.departed {
        let Some(path) = path(host, loc).filter(|_| site == host) else {
            continue;
        };
        let expected = match departure.get("moved_to").and_then(Value::as_str) {
            Some(target) => (MOVED, target),
            None => (GONE, ""),
        };
        for method in [Method::GET, Method::HEAD] {
            let response = public.request(host, method, path, &[]).await;
            let found = (response.status, response.header("location"));
            if found != expected {
                return Err(format!("{loc} answers {found:?}, expected {expected:?}"));
            }
        }
    }
    Ok(())
}
