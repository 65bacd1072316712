//! ETag, Last-Modified and the conditional requests that use them
//! ([RFC 9110, section 13](https://www.rfc-editor.org/rfc/rfc9110#section-13)).

use std::time::{Duration, UNIX_EPOCH};

use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};

/// The last second that an HTTP date can express: the end of the year 9999.
const MAX_HTTP_DATE_SECONDS: i64 = 253_402_300_799;

/// Marks an ETag as weak.
const WEAK: &str = "W/";

/// The validators of a document, with which later requests compare their copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    etag: HeaderValue,
    /// The time of the last change in Unix seconds, between the epoch and [`MAX_HTTP_DATE_SECONDS`]. `None` if it is not known.
    changed: Option<i64>,
}

impl Validators {
    /// Returns the strong ETag `"<tag>"`, and the time of the last change in Unix seconds if it is known. Returns `None` if the
    /// tag is not valid in an ETag.
    #[must_use]
    pub fn new(tag: &str, changed: Option<i64>) -> Option<Self> {
        let is_tag = !tag.is_empty() && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let etag = is_tag.then(|| HeaderValue::try_from(format!("\"{tag}\"")).ok())??;
        let changed = changed.map(|seconds| seconds.clamp(0, MAX_HTTP_DATE_SECONDS));
        Some(Self { etag, changed })
    }

    /// Returns the same with a weak ETag, for bytes that an intermediate server may encode differently. With it a client can
    /// still revalidate its copy, but must not combine parts of two copies.
    #[must_use]
    pub fn weak(mut self) -> Self {
        let weak = [WEAK.as_bytes(), self.opaque()].concat();
        if let Ok(etag) = HeaderValue::try_from(weak) {
            self.etag = etag;
        }
        self
    }

    /// Returns the ETag without the mark of a weak one.
    fn opaque(&self) -> &[u8] {
        let etag = self.etag.as_bytes();
        etag.strip_prefix(WEAK.as_bytes()).unwrap_or(etag)
    }

    /// Returns the ETag.
    #[must_use]
    pub fn etag(&self) -> &HeaderValue {
        &self.etag
    }

    /// Returns the Last-Modified. Returns `None` if the time is not known.
    #[must_use]
    pub fn last_modified(&self) -> Option<HeaderValue> {
        let seconds = u64::try_from(self.changed?).ok()?;
        HeaderValue::try_from(httpdate::fmt_http_date(
            UNIX_EPOCH + Duration::from_secs(seconds),
        ))
        .ok()
    }

    /// Returns whether the copy of a conditional request is current.
    #[must_use]
    pub fn meet(&self, condition: &Condition<'_>) -> bool {
        match condition {
            Condition::Tags(headers) => {
                let mut values = headers.get_all(IF_NONE_MATCH).iter();
                values.any(|value| lists(value.as_bytes(), self.opaque()))
            }
            Condition::Since(since) => {
                matches!((self.changed, since), (Some(changed), Some(since)) if changed <= *since)
            }
        }
    }
}

/// The copy that the sender of a conditional request has.
#[derive(Clone, Copy, Debug)]
pub enum Condition<'r> {
    /// If-None-Match in these headers, with one or more ETags. It takes precedence over If-Modified-Since.
    Tags(&'r HeaderMap),
    /// If-Modified-Since, as a time in Unix seconds. `None` if it is not a valid time.
    Since(Option<i64>),
}

impl<'r> Condition<'r> {
    /// Reads the condition of a request. Returns `None` if it has none.
    #[must_use]
    pub fn of(headers: &'r HeaderMap) -> Option<Self> {
        if headers.contains_key(IF_NONE_MATCH) {
            return Some(Self::Tags(headers));
        }
        let since = headers.get(IF_MODIFIED_SINCE)?;
        let seconds = || {
            let date = httpdate::parse_http_date(since.to_str().ok()?).ok()?;
            i64::try_from(date.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
        };
        Some(Self::Since(seconds()))
    }
}

/// Returns whether an If-None-Match value is `*` or has the opaque tag. The comparison is the weak one that the header
/// prescribes, because caches weaken a tag when they compress.
fn lists(value: &[u8], opaque_tag: &[u8]) -> bool {
    if value.trim_ascii() == b"*" {
        return true;
    }
    let mut rest = value;
    loop {
        while let [b' ' | b'\t' | b',', tail @ ..] = rest {
            rest = tail;
        }
        let tag = rest.strip_prefix(WEAK.as_bytes()).unwrap_or(rest);
        let [b'"', opaque @ ..] = tag else {
            return false;
        };
        let Some(length) = opaque.iter().position(|b| *b == b'"') else {
            return false;
        };
        if tag[..length + 2] == *opaque_tag {
            return true;
        }
        rest = &tag[length + 2..];
    }
}

#[cfg(test)]
mod tests {
    use http::header::HeaderName;

    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const CHANGED: i64 = 784_111_777;

    fn check(name: HeaderName, value: &'static str, expected: bool) {
        let strong = Validators::new("abc-gzip", Some(CHANGED)).expect("a tag");
        assert_eq!(strong.etag(), "\"abc-gzip\"");
        let weak = strong.clone().weak();
        assert_eq!(weak.etag(), "W/\"abc-gzip\"");
        assert_eq!(weak.clone().weak(), weak);
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
        for validators in [strong, weak] {
            let condition = Condition::of(&headers).expect("a condition");
            assert_eq!(validators.meet(&condition), expected, "{headers:?}");
        }
    }

    #[test]
    fn if_none_match_is_a_list_in_weak_comparison() {
        for (value, expected) in [
            ("*", true),
            (" * ", true),
            ("\"abc-gzip\"", true),
            ("W/\"abc-gzip\"", true),
            ("\"x\", \"abc-gzip\"", true),
            ("\"x\",,W/\"abc-gzip\" , \"y\"", true),
            ("\"a,b\", \"abc-gzip\"", true),
            ("\"abc\"", false),
            ("\"abc-gzip\" *", true),
            ("\"x\", *", false),
            ("abc-gzip", false),
            ("\"abc-gzip", false),
            ("w/\"abc-gzip\"", false),
            ("\"\"", false),
            ("", false),
        ] {
            check(IF_NONE_MATCH, value, expected);
        }
    }

    #[test]
    fn if_modified_since_takes_the_three_forms_of_a_date() {
        for (value, expected) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", true),
            ("Sunday, 06-Nov-94 08:49:37 GMT", true),
            ("Sun Nov  6 08:49:37 1994", true),
            ("Sun, 06 Nov 1994 08:49:38 GMT", true),
            ("Sun, 06 Nov 1994 08:49:36 GMT", false),
            ("Thu, 01 Jan 1970 00:00:00 GMT", false),
            ("784111777", false),
            ("", false),
        ] {
            check(IF_MODIFIED_SINCE, value, expected);
        }
    }

    #[test]
    fn if_none_match_wins() {
        let validators = Validators::new("abc", Some(CHANGED)).expect("a tag");
        let headers = HeaderMap::from_iter([
            (IF_NONE_MATCH, HeaderValue::from_static("\"other\"")),
            (
                IF_MODIFIED_SINCE,
                HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT"),
            ),
        ]);
        let condition = Condition::of(&headers).expect("a condition");
        assert!(!validators.meet(&condition));
    }

    #[test]
    fn no_time_and_no_tag_break_a_header() {
        for (seconds, text) in [
            (CHANGED, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (i64::MIN, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (i64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            let validators = Validators::new("abc", Some(seconds)).expect("a tag");
            assert_eq!(validators.last_modified().expect("a date"), text);
        }
        for tag in ["", "a\"b", "a b", "a\nb", "é"] {
            assert_eq!(Validators::new(tag, None), None, "{tag:?}");
        }
    }
}
