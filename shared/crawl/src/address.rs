//! The form of an address by which requests and pages are joined.
//!
//! It is the form in which Waymark compares addresses ([`sitemap::loc::normalized`]), without the scheme, which few logs say, and with a
//! NUL in place of the `?`. So an address without a query sorts directly before the same one with queries. A fragment never reaches a
//! server, and is dropped.

use sitemap::loc::normalized;

/// Separates the path from the query in a key.
pub const SEPARATOR: u8 = 0;

/// A key, and the room to make one without allocating.
#[derive(Clone, Debug, Default)]
pub struct Key {
    url: String,
    key: Vec<u8>,
}

impl Key {
    /// Makes the key of an absolute `http` or `https` URL. Returns `None` for anything else.
    pub fn of_url(&mut self, url: &str) -> Option<&[u8]> {
        self.url.clear();
        self.url.push_str(url);
        self.make()
    }

    /// Makes the key of what a request asked for: a path with a query, or an absolute URL, in any bytes. `host` is used for a path.
    /// Returns `None` if that is no address, such as `*`, or if its host is not known.
    pub fn of_target(&mut self, host: Option<&[u8]>, target: &[u8]) -> Option<&[u8]> {
        self.url.clear();
        match target {
            [b'/', ..] => {
                self.url.push_str("https://");
                self.push(host?);
                self.push(target);
            }
            _ => self.push(target),
        }
        self.make()
    }

    /// Appends bytes. Those that are not ASCII are encoded, as a browser would have: what they stand for does not matter.
    fn push(&mut self, bytes: &[u8]) {
        if let (true, Ok(text)) = (bytes.is_ascii(), std::str::from_utf8(bytes)) {
            return self.url.push_str(text);
        }
        for byte in bytes {
            match byte {
                0..=0x7f => self.url.push(char::from(*byte)),
                _ => self.url.push_str(&format!("%{byte:02X}")),
            }
        }
    }

    fn make(&mut self) -> Option<&[u8]> {
        let url = &self.url;
        let url = url.split_once('#').map_or(url.as_str(), |(url, _)| url);
        let normal = normalized(url);
        let rest = normal
            .strip_prefix("https://")
            .or_else(|| normal.strip_prefix("http://"))?;
        self.key.clear();
        // The port that a log names may be that of the other scheme.
        let (host, path) = rest.split_once('/')?;
        let host = [":443", ":80"]
            .iter()
            .find_map(|port| host.strip_suffix(port))
            .unwrap_or(host);
        self.key.extend_from_slice(host.as_bytes());
        self.key.push(b'/');
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        self.key.extend_from_slice(path.as_bytes());
        self.key.push(SEPARATOR);
        self.key.extend_from_slice(query.as_bytes());
        // Nothing may be confused with the separator. The parser has encoded it.
        (memchr::memchr_iter(SEPARATOR, &self.key).count() == 1).then_some(&self.key)
    }
}

/// Returns the host of a key.
#[must_use]
pub fn host(key: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'/', key).unwrap_or(key.len());
    &key[..end]
}

/// Returns the first part of a key's path, with its slashes, or `/` for a page that is in no directory.
#[must_use]
pub fn directory(key: &[u8]) -> &[u8] {
    let begin = host(key).len();
    let path = &key[begin..];
    let path = &path[..memchr::memchr(SEPARATOR, path).unwrap_or(path.len())];
    match path.get(1..).and_then(|rest| memchr::memchr(b'/', rest)) {
        Some(end) => &path[..end + 2],
        None => &path[..path.len().min(1)],
    }
}

/// Returns whether a key has a query.
#[must_use]
pub fn has_query(key: &[u8]) -> bool {
    key.last().is_some_and(|byte| *byte != SEPARATOR)
}

/// Returns a key as an address for people, without its query unless `with_query`. The scheme is that of nearly all sites.
#[must_use]
pub fn shown(key: &[u8], with_query: bool) -> String {
    let text = String::from_utf8_lossy(key);
    let (path, query) = text.split_once('\0').unwrap_or((&text, ""));
    match query {
        "" => format!("https://{path}"),
        query if with_query => format!("https://{path}?{query}"),
        _ => format!("https://{path}"),
    }
}

/// Returns a key as [`shown`] does, with another scheme.
pub(crate) fn shown_as(scheme: &str, key: &[u8], with_query: bool) -> String {
    let shown = shown(key, with_query);
    match shown.strip_prefix("https") {
        Some(rest) => format!("{scheme}{rest}"),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn target(host: &str, target: &[u8]) -> Option<String> {
        let mut key = Key::default();
        let key = key.of_target(Some(host.as_bytes()), target)?;
        Some(String::from_utf8(key.to_vec()).unwrap())
    }

    #[test]
    fn requests_for_one_page_have_the_key_of_the_page_however_they_are_spelled() {
        let mut key = Key::default();
        let page = key.of_url("https://www.example.com/caf%C3%A9").unwrap();
        let page = String::from_utf8(page.to_vec()).unwrap();
        assert_eq!(page, "www.example.com/caf%C3%A9\0");
        for (host, asked) in [
            ("www.example.com", &b"/caf%C3%A9"[..]),
            ("www.example.com", b"/caf%c3%a9"),
            ("WWW.Example.com", b"/c%61f\xc3\xa9"),
            ("www.example.com:443", b"/caf%C3%A9"),
            ("www.example.com:80", b"/x/../caf%C3%A9#part"),
            ("", b"http://www.example.com/caf%C3%A9"),
            ("", b"https://www.example.com:443/caf%C3%A9"),
            ("", b"http://www.example.com:80/caf%C3%A9"),
        ] {
            assert_eq!(
                target(host, asked).as_deref(),
                Some(&*page),
                "{host} {asked:?}"
            );
        }
        assert_ne!(
            target("www.example.com", b"/caf%C3%A9/"),
            Some(page.clone())
        );
        assert_ne!(
            target("www.example.com", b"//caf%C3%A9"),
            Some(page.clone())
        );
        assert_ne!(target("example.com", b"/caf%C3%A9"), Some(page));
        assert_eq!(
            target("www.example.com", b"/a?b=1&c=%2f").as_deref(),
            Some("www.example.com/a\0b=1&c=%2F")
        );
    }

    #[test]
    fn what_is_no_address_has_no_key() {
        for asked in [&b"*"[..], b"", b"-", b"example.com:443", b"\x16\x03\x01"] {
            assert_eq!(target("www.example.com", asked), None, "{asked:?}");
        }
        assert_eq!(Key::default().of_target(None, b"/a"), None);
        assert_eq!(Key::default().of_url("/a"), None);
        // A NUL is encoded, so that it is not the separator.
        assert_eq!(
            target("www.example.com", b"/a\0b")
                .as_deref()
                .map(|key| key.matches('\0').count()),
            None
        );
        assert!(target("www.example.com", b"/\xff").is_some());
    }

    #[test]
    fn a_page_sorts_directly_before_its_own_queries() {
        let mut keys: Vec<_> = [&b"/a-b"[..], b"/a?x", b"/a", b"/a/b", b"/a?"]
            .iter()
            .map(|asked| target("h.example", asked).unwrap())
            .collect();
        keys.sort();
        assert_eq!(
            keys[..3],
            ["h.example/a\0", "h.example/a\0", "h.example/a\0x"]
        );
    }

    #[test]
    fn the_directory_is_the_first_part_of_the_path() {
        for (asked, expected) in [
            (&b"/"[..], "/"),
            (b"/a", "/"),
            (b"/a?b/c", "/"),
            (b"/blog/", "/blog/"),
            (b"/blog/2026/a", "/blog/"),
        ] {
            let key = target("h.example", asked).unwrap();
            assert_eq!(directory(key.as_bytes()), expected.as_bytes(), "{asked:?}");
            assert_eq!(host(key.as_bytes()), b"h.example");
        }
        assert_eq!(shown(b"h.example/a\0b=1", false), "https://h.example/a");
        assert_eq!(shown(b"h.example/a\0b=1", true), "https://h.example/a?b=1");
    }
}
