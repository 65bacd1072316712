//! The forms in which servers see an address.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::chain::Redirect;
use super::reason::Reason;
use crate::record::Departure;

/// An address without its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address<'a> {
    /// The path, encoded. It begins with a slash.
    pub(super) path: &'a str,
    /// The query behind its question mark.
    pub(super) query: Option<&'a str>,
}

impl<'a> Address<'a> {
    /// Reads the normal form of a URL.
    pub(super) fn of(normal: &'a str) -> Self {
        let begin = normal.find("://").map_or(0, |at| at + 3);
        let path = normal[begin..]
            .find('/')
            .map_or("/", |at| &normal[begin + at..]);
        match path.split_once('?') {
            Some((path, query)) => Self {
                path,
                query: Some(query),
            },
            None => Self { path, query: None },
        }
    }

    /// Returns path and query, encoded.
    pub(super) fn encoded(self) -> String {
        self.with(self.path)
    }

    /// Returns another form of the path with the query.
    pub(super) fn with(self, path: &str) -> String {
        match self.query {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        }
    }

    /// Returns the path as a server sees it that decodes it and joins slashes, if no other address has the same.
    pub(super) fn decoded(self) -> Result<Cow<'a, [u8]>, Reason> {
        for (escape, reason) in [
            ("%2F", Reason::EncodedSlash),
            ("%3F", Reason::EncodedQuestionMark),
            ("%00", Reason::Null),
            ("//", Reason::DoubleSlash),
        ] {
            if self.path.contains(escape) {
                return Err(reason);
            }
        }
        if self.query == Some("") {
            return Err(Reason::EmptyQuery);
        }
        Ok(percent_decode_str(self.path).into())
    }
}

/// Returns the path of a target on the same site.
pub(super) fn on_site<'a>(redirect: &Redirect, target: &'a str) -> Option<&'a str> {
    let begin = redirect.normal.find("://")? + 3;
    let end = begin + redirect.normal[begin..].find('/')?;
    let rest = target.strip_prefix(&redirect.normal[..end])?;
    rest.starts_with('/').then_some(rest)
}

/// Returns a target as a header has it: in a fragment, what RFC 3986 (3.5) does not allow there is encoded.
pub(super) fn location(target: &str) -> Cow<'_, str> {
    let Some((address, fragment)) = target.split_once('#') else {
        return Cow::Borrowed(target);
    };
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte);
    if fragment.bytes().all(is_allowed) {
        return Cow::Borrowed(target);
    }
    let mut text = format!("{address}#");
    for byte in fragment.bytes() {
        if is_allowed(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    Cow::Owned(text)
}

/// Returns where a page moved to, for targets without a status 410.
pub(super) fn moved(redirect: &Redirect) -> Result<Cow<'_, str>, Reason> {
    match &redirect.answer {
        Departure::MovedTo(target) => Ok(location(target)),
        Departure::Gone => Err(Reason::Gone),
    }
}

/// Writes a text for a regular expression that is itself alone: each character that is no letter, digit or slash by its number.
/// `byte` formats such a byte.
pub(super) fn literal(text: &[u8], byte: impl Fn(u8) -> String) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    for &one in text {
        if one.is_ascii_alphanumeric() || one == b'/' {
            pattern.push(char::from(one));
        } else {
            pattern.push_str(&byte(one));
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_path_and_perhaps_a_query() {
        let of = |url| {
            let Address { path, query } = Address::of(url);
            (path, query)
        };
        assert_eq!(of("https://a.example/b/c?d?e"), ("/b/c", Some("d?e")));
        assert_eq!(of("http://a.example:81/"), ("/", None));
        assert_eq!(of("http://a.example/?"), ("/", Some("")));
    }

    #[test]
    fn what_a_server_cannot_tell_apart_is_refused() {
        let decoded = |path| Address { path, query: None }.decoded().map(Cow::into_owned);
        assert_eq!(decoded("/%E6%97%A5%20b"), Ok("/日 b".into()));
        assert_eq!(decoded("/a%2Fb"), Err(Reason::EncodedSlash));
        assert_eq!(decoded("/a%3Fb"), Err(Reason::EncodedQuestionMark));
        assert_eq!(decoded("/a//b"), Err(Reason::DoubleSlash));
        assert_eq!(decoded("/a%00"), Err(Reason::Null));
        let empty = Address {
            path: "/a",
            query: Some(""),
        };
        assert_eq!(empty.decoded(), Err(Reason::EmptyQuery));
    }

    #[test]
    fn a_fragment_is_encoded_as_the_standard_has_it() {
        let url = "https://a.example/?a=b$c";
        assert_eq!(location(url), url);
        assert_eq!(
            location("https://a.example/#a%20b$"),
            "https://a.example/#a%20b$"
        );
        let encoded = "https://a.example/#%22%7B%24%7D%5C%60";
        assert_eq!(location("https://a.example/#\"{%24}\\`"), encoded);
    }
}
