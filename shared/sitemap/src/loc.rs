//! Absolute URLs, parsed once at the boundary. A [`Loc`] is always valid and written in only one way.
//!
//! URLs are read as browsers read them (<https://url.spec.whatwg.org/>), except where that would hide a mistake: white
//! space around a URL, control characters, user info and fragments are refused, not repaired, and a backslash is a
//! character of the path, not a slash.
//!
//! One address may be spelled in several ways. The text of a [`Loc`] is published. Only [`normalized`] decides whether two URLs
//! are the same address.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

/// The longest published URL, in bytes: "this value must be less than 2,048 characters",
/// <https://www.sitemaps.org/protocol.html>.
pub const MAX_LOC_BYTES: usize = 2_047;

/// Up to this length a host is within all limits of names (RFC 1035, 2.3.4).
const MAX_PLAIN_HOST_BYTES: usize = 63;

/// ASCII characters that must be encoded in a path or a query (RFC 3986, appendix A). The WHATWG parser leaves some of them, but
/// the sitemap schema's `xsd:anyURI` refuses them.
const ENCODED: &[u8] = b" \"<>[\\]^`{|}";

/// The scheme, host and port that all pages of a site share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin {
    text: String,
    /// The offset of the host in `text`.
    host: usize,
}

/// An absolute `http` or `https` URL: ASCII, the host in lower case and punycode, percent-encoded exactly once, without
/// user info and fragment, of at most [`MAX_LOC_BYTES`] bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Loc(String);

/// Why a text is not the URL of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocError {
    /// It does not begin with `http://` or `https://` and a host.
    #[error("not an absolute URL")]
    NotAbsolute,
    /// A scheme other than `http` and `https`.
    #[error("the scheme {scheme} is neither http nor https")]
    Scheme {
        /// The scheme in lower case.
        scheme: String,
    },
    /// It is on another host, port or scheme than the site.
    #[error("{origin} is not the site's {expected}")]
    ForeignOrigin {
        /// The URL's own origin.
        origin: String,
        /// The site's origin.
        expected: String,
    },
    /// It has a fragment, even an empty one, which names a part of a page.
    #[error("has a fragment")]
    Fragment,
    /// It has a user name or a password.
    #[error("has a user name or a password")]
    UserInfo,
    /// It has white space before or after it.
    #[error("has white space before or after it")]
    Whitespace,
    /// It has a control character, tab or line break, which the WHATWG parser would silently drop.
    #[error("has the control character U+{code:04X}")]
    Control {
        /// The character's code point.
        code: u32,
    },
    /// It is longer than search engines allow.
    #[error("is {bytes} bytes long, more than {limit}")]
    TooLong {
        /// Its length in bytes, as published.
        bytes: usize,
        /// [`MAX_LOC_BYTES`].
        limit: usize,
    },
    /// It has a path or a query, and was to be an origin.
    #[error("has more than a scheme and a host")]
    NotAnOrigin,
    /// The host or the port is invalid.
    #[error("{reason}")]
    Invalid {
        /// The parser's message.
        reason: String,
    },
}

impl Origin {
    /// Parses `https://www.example.com`, with or without a slash at the end.
    ///
    /// # Errors
    ///
    /// [`LocError::NotAnOrigin`] if there is a path or a query, otherwise as [`Loc::parse_any`].
    pub fn parse(text: &str) -> Result<Self, LocError> {
        let url = parse(text)?;
        if text.contains('?') || url.path() != "/" {
            return Err(LocError::NotAnOrigin);
        }
        Ok(Self::of(&url))
    }

    /// Returns scheme and host, and the port unless it is the scheme's default: `https://www.example.com`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host, and the port unless it is the scheme's default: `www.example.com`. This is the name of a site.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.text[self.host..]
    }

    fn of(url: &Url) -> Self {
        Self {
            text: url.origin().ascii_serialization(),
            host: url.scheme().len() + "://".len(),
        }
    }
}

impl Loc {
    /// Parses the URL of one of the site's own pages.
    ///
    /// # Errors
    ///
    /// [`LocError::ForeignOrigin`] if scheme, host or port are not the site's, otherwise as [`Loc::parse_any`].
    pub fn parse(raw: &str, site: &Origin) -> Result<Self, LocError> {
        let below = raw.strip_prefix(site.as_str());
        if below.is_some_and(|path| path.starts_with('/'))
            && let Some(plain) = Self::plain(raw)
        {
            return Ok(plain);
        }
        let url = parse(raw)?;
        let origin = Origin::of(&url);
        if origin != *site {
            return Err(LocError::ForeignOrigin {
                origin: origin.text,
                expected: site.text.clone(),
            });
        }
        Self::within_limit(url)
    }

    /// Parses a URL on any host: that of an image, a video or an alternate.
    ///
    /// # Errors
    ///
    /// [`LocError`] names the problem.
    pub fn parse_any(raw: &str) -> Result<Self, LocError> {
        match Self::plain(raw) {
            Some(plain) => Ok(plain),
            None => Self::within_limit(parse(raw)?),
        }
    }

    /// Parses an address that a page contains, as a browser would. A relative one is resolved against the page's own address.
    ///
    /// # Errors
    ///
    /// As [`Loc::parse_any`].
    pub fn resolve(raw: &str, page: &Self) -> Result<Self, LocError> {
        match Self::parse_any(raw) {
            Err(LocError::NotAbsolute) if !raw.is_empty() => {
                let mut relative = String::with_capacity(raw.len());
                encode(raw, &mut relative);
                let page = parse(page.as_str())?;
                let url = page.join(&relative).map_err(invalid)?;
                Self::parse_any(url.as_str())
            }
            parsed => parsed,
        }
    }

    /// Returns the URL as it is published, not yet escaped for XML.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the form in which it is compared with other addresses: see [`normalized`].
    #[must_use]
    pub fn normalized(&self) -> Cow<'_, str> {
        normalized(&self.0)
    }

    /// Returns whether both are the same address, possibly in different spellings.
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self == other || self.normalized() == other.normalized()
    }

    /// Returns the URL if it is already spelled as it would be published. Most URLs are, and parsing takes twenty times as long.
    /// In case of doubt it returns `None`, and the parser decides.
    fn plain(raw: &str) -> Option<Self> {
        Self::plain_host(raw).map(|_| Self(raw.to_owned()))
    }

    /// Returns the host of such a URL. It has no port.
    pub(crate) fn plain_host(raw: &str) -> Option<&str> {
        let scheme = ["https://", "http://"];
        let rest = scheme.iter().find_map(|scheme| raw.strip_prefix(scheme))?;
        let (host, path) = rest.split_once('/')?;
        let plain = raw.len() <= MAX_LOC_BYTES && is_plain_host(host) && is_plain_path(path);
        plain.then_some(host)
    }

    fn within_limit(url: Url) -> Result<Self, LocError> {
        let text = String::from(url);
        if text.len() > MAX_LOC_BYTES {
            return Err(LocError::TooLong {
                bytes: text.len(),
                limit: MAX_LOC_BYTES,
            });
        }
        Ok(Self(text))
    }
}

/// Returns the form in which addresses are compared: two URLs are the same address if and only if their forms are the same text.
///
/// It is the syntax-based and scheme-based normalization of RFC 3986, 6.2.2 and 6.2.3. Scheme and host are in lower case, the
/// host in punycode, without the scheme's own port; an empty path is `/`; dot segments are resolved; hex digits are in upper
/// case; escapes of unreserved characters are decoded; characters that must be encoded are. Nothing else is equal: `%2F` is not
/// `/`, `+` is not a space, and the order of a query and the case of a path matter. A fragment is compared as it is.
///
/// A text that is not an `http` or `https` URL is returned unchanged.
#[must_use]
pub fn normalized(url: &str) -> Cow<'_, str> {
    if is_normal(url) {
        return Cow::Borrowed(url);
    }
    let (address, fragment) = match url.find('#') {
        Some(at) => url.split_at(at),
        None => (url, ""),
    };
    let Ok(parsed) = parse(address) else {
        return Cow::Borrowed(url);
    };
    let mut text = normalize_escapes(parsed.as_str());
    text.push_str(fragment);
    Cow::Owned(text)
}

/// Returns whether a URL is certainly normal already. Most are, and parsing takes twenty times as long.
fn is_normal(url: &str) -> bool {
    let scheme = ["https://", "http://"];
    let rest = scheme.iter().find_map(|scheme| url.strip_prefix(scheme));
    let Some((host, path)) = rest.and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    is_plain_host(host)
        && path.split('%').enumerate().all(|(at, text)| {
            let text = match at {
                0 => Some(text),
                // A reserved or non-ASCII byte, in upper case.
                _ => text.split_at_checked(2).and_then(|(escape, text)| {
                    let is_normal = escape_of(escape.as_bytes())
                        .is_some_and(|byte| !is_unreserved(byte))
                        && !escape.bytes().any(|digit| digit.is_ascii_lowercase());
                    is_normal.then_some(text)
                }),
            };
            text.is_some_and(|text| text.bytes().all(is_plain_byte))
        })
        && !has_dot_segment(path)
}

/// Returns the byte that two hex digits encode.
fn escape_of(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// Returns whether a character means the same encoded and unencoded (RFC 3986, 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Converts the hex digits of escapes to upper case, and decodes escapes of unreserved characters (RFC 3986, 6.2.2.1 and
/// 6.2.2.2).
fn normalize_escapes(url: &str) -> String {
    let mut pieces = url.split('%');
    let mut text = String::with_capacity(url.len());
    text.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        match piece
            .split_at_checked(2)
            .and_then(|(escape, rest)| Some((escape_of(escape.as_bytes())?, rest)))
        {
            Some((byte, rest)) if is_unreserved(byte) => {
                text.push(char::from(byte));
                text.push_str(rest);
            }
            Some((byte, rest)) => {
                text.push_str(percent_encoding::percent_encode_byte(byte));
                text.push_str(rest);
            }
            None => {
                text.push('%');
                text.push_str(piece);
            }
        }
    }
    text
}

/// Returns whether a host is a name in lower case, without punycode, that no parser takes for an IP address.
fn is_plain_host(host: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && !label.contains("--")
            && label
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    host.len() <= MAX_PLAIN_HOST_BYTES
        && host.split('.').all(label)
        && last.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Returns whether a path (without its first slash) and a query need no change.
fn is_plain_path(path: &str) -> bool {
    path.bytes().all(is_plain_byte) && !has_dot_segment(path)
}

/// Returns whether all readers agree that a character may be unencoded in paths and queries.
fn is_plain_byte(byte: u8) -> bool {
    is_unreserved(byte) || b"/!$&()*+,;=:@?".contains(&byte)
}

/// Returns whether a path (without its first slash) may have a segment of dots, which would be resolved.
fn has_dot_segment(path: &str) -> bool {
    path.starts_with('.') || path.contains("/.")
}

fn parse(raw: &str) -> Result<Url, LocError> {
    if raw.trim().len() != raw.len() {
        return Err(LocError::Whitespace);
    }
    if let Some(control) = raw.chars().find(|c| c.is_control()) {
        return Err(LocError::Control {
            code: control.into(),
        });
    }
    if raw.contains('#') {
        return Err(LocError::Fragment);
    }
    let after_scheme = after_scheme(raw)?;
    let rest_at = after_scheme.find(['/', '?']).unwrap_or(after_scheme.len());
    let (authority, rest) = after_scheme.split_at(rest_at);
    if authority.is_empty() {
        return Err(LocError::NotAbsolute);
    }
    if authority.contains('@') {
        return Err(LocError::UserInfo);
    }
    // For browsers a backslash ends the host, for others it does not.
    if authority.contains('\\') {
        return Err(LocError::Invalid {
            reason: "a backslash in the host".to_owned(),
        });
    }
    let mut text = String::with_capacity(raw.len() + raw.len() / 4);
    text.push_str(&raw[..raw.len() - rest.len()]);
    encode(rest, &mut text);
    let url = Url::parse(&text).map_err(invalid)?;
    // The parser accepts quotes and braces in a host.
    let in_hosts = |c: char| c.is_ascii_alphanumeric() || "-._[:]".contains(c);
    if !url
        .host_str()
        .is_some_and(|host| host.chars().all(in_hosts))
    {
        return Err(LocError::Invalid {
            reason: "a character in the host that is in no host's name".to_owned(),
        });
    }
    Ok(url)
}

fn invalid(error: url::ParseError) -> LocError {
    LocError::Invalid {
        reason: error.to_string(),
    }
}

/// Returns what follows `http://` or `https://`.
fn after_scheme(raw: &str) -> Result<&str, LocError> {
    /// The most bytes of a scheme in a message. Registered schemes are far shorter, so a longer text before a colon is not a
    /// scheme.
    const MAX_SCHEME_BYTES: usize = 32;
    let (scheme, rest) = raw.split_once(':').ok_or(LocError::NotAbsolute)?;
    if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") {
        return rest.strip_prefix("//").ok_or(LocError::NotAbsolute);
    }
    let named = scheme.len() <= MAX_SCHEME_BYTES
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if !named {
        return Err(LocError::NotAbsolute);
    }
    Err(LocError::Scheme {
        scheme: scheme.to_ascii_lowercase(),
    })
}

/// Percent-encodes characters that are not encoded yet. An escape stays as it is, and a `%` that begins none becomes `%25`.
fn encode(rest: &str, out: &mut String) {
    let bytes = rest.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let escape = || matches!(bytes.get(at + 1..at + 3), Some([a, b]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
        if !byte.is_ascii() || ENCODED.contains(&byte) || (byte == b'%' && !escape()) {
            out.push_str(percent_encoding::percent_encode_byte(byte));
        } else {
            out.push(char::from(byte));
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl TryFrom<String> for Origin {
    type Error = LocError;

    fn try_from(text: String) -> Result<Self, LocError> {
        Self::parse(&text)
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.text
    }
}

impl TryFrom<String> for Loc {
    type Error = LocError;

    fn try_from(text: String) -> Result<Self, LocError> {
        Self::parse_any(&text)
    }
}

impl From<Loc> for String {
    fn from(loc: Loc) -> Self {
        loc.0
    }
}

#[cfg(test)]
mod tests;
