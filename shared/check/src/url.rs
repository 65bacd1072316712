//! Checks a listed URL, by itself and by where it is listed, and compares URLs by their digests.

use std::hash::{DefaultHasher, Hasher};

use sitemap::loc::{Loc, MAX_LOC_BYTES, normalized};

use crate::rules::Rule;
use crate::text::quoted;
use crate::xsd;

/// The fewest characters of a loc in the schema.
const MIN_LOC_CHARS: usize = 12;
/// The most characters of a loc in the schema: one more than sitemaps.org allows.
const MAX_SCHEMA_CHARS: usize = 2_048;
/// Query parameters that name a visit or a campaign, not a page.
const TRACKING: [&str; 12] = [
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "gclid",
    "fbclid",
    "msclkid",
    "phpsessid",
    "jsessionid",
    "sessionid",
    "mc_eid",
];

/// The URLs that a sitemap may list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Scheme and host, such as `https://www.example.com`. If there is none, any host is allowed.
    pub origins: Vec<String>,
    /// The folder that must contain its pages, with a slash at both ends. `None` if robots.txt names the sitemap.
    pub folder: Option<String>,
}

impl Scope {
    /// Returns the scope of a sitemap that was found at this URL, not through robots.txt.
    #[must_use]
    pub fn of(url: &str) -> Self {
        let Some(parts) = Parts::of(url) else {
            return Self::default();
        };
        let path = parts.path.split('?').next().unwrap_or_default();
        let folder = &path[..path.rfind('/').map_or(0, |slash| slash + 1)];
        Self {
            origins: vec![parts.origin.to_owned()],
            folder: (folder.len() > 1).then(|| folder.to_owned()),
        }
    }
}

/// The place of a URL relative to a [`Scope`].
enum Place<'a> {
    Inside,
    OtherHost,
    OtherFolder(&'a str),
}

impl Scope {
    /// Returns the place of a URL. Most URLs are spelled like the scope. Others are compared in their normal form.
    fn place(&self, url: &str, parts: Parts<'_>) -> Place<'_> {
        let is_here = |parts: Parts<'_>| {
            self.origins.is_empty() || self.origins.iter().any(|known| known == parts.origin)
        };
        let is_below = |parts: Parts<'_>| {
            let folder = self.folder.as_deref();
            folder.is_none_or(|folder| parts.path.starts_with(folder))
        };
        // Dot segments may lead out of the folder.
        let is_plain = self.folder.is_none() || !parts.path.contains("/.");
        if is_plain && is_here(parts) && is_below(parts) {
            return Place::Inside;
        }
        let url = normalized(url);
        let Some(parts) = Parts::of(&url) else {
            return Place::OtherHost;
        };
        let is_this = |known: &String| {
            let known = normalized(known);
            Parts::of(&known).is_some_and(|known| known.origin == parts.origin)
        };
        if !self.origins.is_empty() && !self.origins.iter().any(is_this) {
            return Place::OtherHost;
        }
        match &self.folder {
            Some(folder) if !is_below(parts) => Place::OtherFolder(folder),
            _ => Place::Inside,
        }
    }

    /// Returns scheme and host of a URL whose host is none of these. Another scheme or port is the same host, whose robots.txt
    /// adds nothing.
    pub(crate) fn other_host<'u>(&self, url: &'u str) -> Option<&'u str> {
        let origin = origin_of(url)?;
        let host = host_of(origin)?;
        let is_it = |own: &String| host_of(own).is_some_and(|own| own.eq_ignore_ascii_case(host));
        let is_other = !self.origins.iter().any(is_it);
        (!self.origins.is_empty() && is_other).then_some(origin)
    }
}

/// Returns the host of a scheme and host, without a port.
fn host_of(origin: &str) -> Option<&str> {
    let host = origin.split_once("://")?.1;
    let port = host.rfind(':').filter(|at| !host[*at..].contains(']'));
    Some(&host[..port.unwrap_or(host.len())])
}

/// A URL's parts, as they are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    /// Scheme and host.
    pub(crate) origin: &'a str,
    /// The rest, with its slash.
    pub(crate) path: &'a str,
}

impl<'a> Parts<'a> {
    pub(crate) fn of(url: &'a str) -> Option<Self> {
        let rest = after_scheme(url)?;
        let end = memchr::memchr3(b'/', b'?', b'#', rest.as_bytes()).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        (!host.is_empty()).then(|| Self {
            origin: &url[..url.len() - path.len()],
            path,
        })
    }
}

fn after_scheme(url: &str) -> Option<&str> {
    ["https://", "http://"].iter().find_map(|scheme| {
        let (start, rest) = url.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// Returns the part after scheme and host: a path with its query, or `/` if both are empty.
#[must_use]
pub fn path_of(url: &str) -> Option<&str> {
    let path = Parts::of(url)?.path;
    Some(if path.is_empty() { "/" } else { path })
}

/// Returns scheme and host of a URL, as they are written.
#[must_use]
pub fn origin_of(url: &str) -> Option<&str> {
    Some(Parts::of(url)?.origin)
}

/// A problem: the rule, the message, and whether the schema refuses the URL.
pub(crate) type Problem = (Rule, String, bool);

/// Adds the problems of a trimmed `<loc>`. If its form is invalid, nothing else is checked.
pub(crate) fn problems(loc: &str, scope: &Scope, outside: Rule, found: &mut Vec<Problem>) {
    if loc.len() < MIN_LOC_CHARS {
        let chars = loc.chars().count();
        if chars < MIN_LOC_CHARS {
            let text = if loc.is_empty() {
                "is empty".to_owned()
            } else {
                format!(
                    "{} has {chars} characters, fewer than {MIN_LOC_CHARS}",
                    quoted(loc)
                )
            };
            found.push((Rule::LocLength, text, true));
            return;
        }
    }
    if loc.len() > MAX_LOC_BYTES {
        let chars = loc.chars().count();
        found.push((
            Rule::LocLength,
            format!(
                "{} has {chars} characters, more than {MAX_LOC_BYTES}",
                quoted(loc)
            ),
            chars > MAX_SCHEMA_CHARS,
        ));
    }
    let Form { wrong, unusual } = Form::of(loc);
    if !wrong.is_empty() {
        let text = format!("{} {}", quoted(loc), wrong.join(", "));
        found.push((Rule::LocForm, text, !xsd::is_any_uri(loc)));
        return;
    }
    if !unusual.is_empty() {
        let text = format!("{} {}", quoted(loc), unusual.join(", "));
        found.push((Rule::LocSpelling, text, false));
    }
    let Some(parts) = Parts::of(loc) else {
        return;
    };
    match scope.place(loc, parts) {
        Place::Inside => {}
        Place::OtherHost => {
            let text = format!("{} is not on {}", quoted(loc), scope.origins.join(" or "));
            found.push((outside, text, false));
        }
        Place::OtherFolder(folder) => {
            let text = format!(
                "{} is not below {folder}, where the sitemap is",
                quoted(loc)
            );
            found.push((outside, text, false));
        }
    }
    if parts.path.contains('%') {
        let twice = |at: usize| {
            let escape = parts.path.as_bytes().get(at + 3..at + 5);
            escape.is_some_and(|escape| escape.iter().all(u8::is_ascii_hexdigit))
        };
        if parts.path.match_indices("%25").any(|(at, _)| twice(at)) {
            let text = format!("{} is percent-encoded twice", quoted(loc));
            found.push((Rule::LocDoubleEncoded, text, false));
        }
    }
    if let Some(name) = tracking(parts.path) {
        let text = format!("{} has the parameter {name}", quoted(loc));
        found.push((Rule::LocTracking, text, false));
    }
}

fn tracking(path: &str) -> Option<&'static str> {
    let query = memchr::memchr2(b'?', b';', path.as_bytes())?;
    path[query + 1..].split(['&', ';', '?']).find_map(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        TRACKING
            .iter()
            .copied()
            .find(|known| name.eq_ignore_ascii_case(known))
    })
}

/// The problems of an absolute URL's form, and its valid but unusual properties.
#[derive(Debug, Default)]
pub(crate) struct Form {
    /// Readers drop the URL, or disagree about it.
    pub(crate) wrong: Vec<&'static str>,
    /// It is a URL or an IRI (RFC 3987) that protocol and schema allow, but not in its normal form.
    pub(crate) unusual: Vec<&'static str>,
}

impl Form {
    pub(crate) fn of(url: &str) -> Self {
        let mut form = Self::default();
        let add = |to: &mut Vec<_>, text| {
            if !to.contains(&text) {
                to.push(text);
            }
        };
        let Some(rest) = after_scheme(url) else {
            form.wrong.push("is not an absolute http or https URL");
            return form;
        };
        if !url.starts_with("http") {
            form.unusual.push("has a scheme in upper case");
        }
        let end = memchr::memchr3(b'/', b'?', b'#', rest.as_bytes()).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        if host.contains('@') {
            form.wrong.push("has a user name or a password");
        } else if !is_host(host) {
            if is_host(&host.to_ascii_lowercase()) {
                form.unusual.push("has a host in upper case");
            } else if !host.is_ascii() && Loc::parse_any(&url[..url.len() - path.len()]).is_ok() {
                form.unusual.push("has a host that is not in punycode");
            } else {
                form.wrong.push("has no valid host");
            }
        }
        let bytes = path.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'%' => {
                    let escape = bytes.get(at + 1..at + 3);
                    if !escape.is_some_and(|escape| escape.iter().all(u8::is_ascii_hexdigit)) {
                        add(&mut form.wrong, "has a % that begins no escape");
                    }
                }
                b'#' => add(
                    &mut form.unusual,
                    "has a fragment, which no crawler asks for",
                ),
                0..=b' '
                | b'<'
                | b'>'
                | b'"'
                | b'{'
                | b'}'
                | b'|'
                | b'\\'
                | b'^'
                | b'`'
                | b'['
                | b']'
                | 0x7f => {
                    add(
                        &mut form.wrong,
                        "has a character that is to be percent-encoded",
                    );
                }
                0x80.. => add(
                    &mut form.unusual,
                    "has a letter that is not ASCII and not percent-encoded",
                ),
                _ => {}
            }
        }
        if form.wrong.is_empty() && !form.unusual.is_empty() && !xsd::is_any_uri(url) {
            form.wrong.push("is not an address");
        }
        form
    }
}

/// Returns whether a text is a host's name in lower case and punycode, or an IP address, with or without a port.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) => {
                let address_is_right = !address.is_empty()
                    && address
                        .bytes()
                        .all(|byte| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.');
                return address_is_right
                    && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
            }
            None => return false,
        },
        None => host
            .split_once(':')
            .map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let in_names = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'_')
    };
    !name.is_empty() && name.bytes().all(in_names) && port.is_none_or(is_port)
}

fn is_port(port: &str) -> bool {
    !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// The digests by which URLs are compared. All forms of one page share `page`, and only spellings of one address share both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Digest {
    /// The digest of the normal form without scheme, www, the case of words, and the slash at its end.
    pub(crate) page: u64,
    /// The digest of the normal form.
    pub(crate) exact: u64,
}

impl Digest {
    pub(crate) fn of(url: &str, scratch: &mut Vec<u8>) -> Self {
        let url = normalized(url);
        scratch.clear();
        let rest = after_scheme(&url).unwrap_or(&url);
        without_case(rest, scratch);
        let page = scratch.strip_prefix(b"www.").unwrap_or(scratch);
        let page = page.strip_suffix(b"/").unwrap_or(page);
        Self {
            page: digest(page),
            exact: digest(url.as_bytes()),
        }
    }
}

/// Writes words of host and path in lower case, as in `/About-Us/`. Other texts may be ids, such as `/p/aB3` or any query, and
/// ids that differ in case are different pages.
fn without_case(rest: &str, out: &mut Vec<u8>) {
    let bytes = rest.as_bytes();
    let path = memchr::memchr3(b'/', b'?', b'#', bytes).unwrap_or(bytes.len());
    let query = memchr::memchr2(b'?', b'#', bytes).unwrap_or(bytes.len());
    out.extend(bytes[..path].iter().map(u8::to_ascii_lowercase));
    for run in
        bytes[path..query].chunk_by(|a, b| a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric())
    {
        // A word is in lower case after its first letter, or all in upper case.
        let is_word = run.iter().all(u8::is_ascii_alphabetic)
            && (run[1..].iter().all(u8::is_ascii_lowercase)
                || run.iter().all(u8::is_ascii_uppercase));
        match is_word {
            true => out.extend(run.iter().map(u8::to_ascii_lowercase)),
            false => out.extend(run),
        }
    }
    out.extend(&bytes[query..]);
}

/// Returns the digest of an address, which all its spellings share.
pub(crate) fn digest_of(url: &str) -> u64 {
    digest(normalized(url).as_bytes())
}

/// Returns a digest that is the same in every run, so that two runs sample the same pages.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests;
