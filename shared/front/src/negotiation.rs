//! Accept-Encoding ([RFC 9110, section 12.5.3](https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3)).
//!
//! Gzip is sent only to clients that ask for it, because several sitemap readers send no Accept-Encoding and expect XML.

use std::str::FromStr;

use http::HeaderMap;
use http::header::ACCEPT_ENCODING;

/// Where gzip is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gzip {
    /// As the encoding of a document, to clients that accept it, and as a file (`.xml.gz`, `.txt.gz`).
    #[default]
    Encoded,
    /// Only as a file, for a server in front of this one that undoes or refuses encodings.
    Files,
}

/// A text that is not the name of a [`Gzip`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not encoded or files")]
pub struct UnknownGzip(String);

impl FromStr for Gzip {
    type Err = UnknownGzip;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "encoded" => Ok(Self::Encoded),
            "files" => Ok(Self::Files),
            _ => Err(UnknownGzip(name.to_owned())),
        }
    }
}

impl Gzip {
    /// Returns whether the answer to a request is gzip-encoded.
    pub(crate) fn encodes(self, headers: &HeaderMap) -> bool {
        match self {
            Self::Encoded => accepts_gzip(headers),
            Self::Files => false,
        }
    }
}

/// A weight in thousandths, because its grammar has at most three decimals.
type Weight = u16;

const FULL_WEIGHT: Weight = 1000;

/// Returns whether to answer with gzip: it is acceptable, and identity is not explicitly preferred to it.
#[must_use]
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut gzip = None;
    let mut identity = None;
    let mut any = None;
    for value in headers.get_all(ACCEPT_ENCODING) {
        let Ok(value) = value.to_str() else { continue };
        for (coding, weight) in value.split(',').filter_map(parse_member) {
            let slot =
                if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
                    &mut gzip
                } else if coding.eq_ignore_ascii_case("identity") {
                    &mut identity
                } else if coding == "*" {
                    &mut any
                } else {
                    continue;
                };
            // If a coding is named twice, the lower weight counts, because every client can read identity.
            *slot = Some(slot.map_or(weight, |earlier: Weight| earlier.min(weight)));
        }
    }
    let gzip = gzip.or(any).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// Returns a coding and its weight. Returns `None` if the member is malformed.
fn parse_member(member: &str) -> Option<(&str, Weight)> {
    let mut parts = member.split(';').map(str::trim);
    let coding = parts.next().filter(|coding| !coding.is_empty())?;
    let weight = match parts.next() {
        None => FULL_WEIGHT,
        Some(parameter) => {
            let (name, value) = parameter.split_once('=')?;
            if !name.trim_end().eq_ignore_ascii_case("q") {
                return None;
            }
            parse_weight(value.trim_start())?
        }
    };
    parts.next().is_none().then_some((coding, weight))
}

/// Parses a weight: `0`, `0.25`, `1`, `1.000`. Returns `None` if the grammar does not allow it.
fn parse_weight(text: &str) -> Option<Weight> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let whole: Weight = match whole {
        "0" => 0,
        "1" => FULL_WEIGHT,
        _ => return None,
    };
    let thousandths: Weight = format!("{decimals:0<3}").parse().ok()?;
    Some(whole + thousandths).filter(|weight| *weight <= FULL_WEIGHT)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn gzip_is_sent_only_where_it_is_asked_for() {
        let cases: &[(&[&str], bool)] = &[
            (&[], false),
            (&[""], false),
            (&["gzip"], true),
            (&["GZip"], true),
            (&["x-gzip"], true),
            (&["gzip, deflate, br, zstd"], true),
            (&["deflate,gzip;q=0.001"], true),
            (&["br", "gzip"], true),
            (&["*"], true),
            (&["*;q=0.1"], true),
            (&["identity"], false),
            (&["deflate, br"], false),
            (&["gzip;q=0"], false),
            (&["gzip;q=0.000, identity"], false),
            (&["gzip;q=0, *"], false),
            (&["gzip;q=0", "gzip"], false),
            (&["*;q=0"], false),
            (&["gzip;q=1, *;q=0"], true),
            (&["identity;q=0, gzip;q=0.5"], true),
            (&["identity;q=0"], false),
            (&["identity;q=1, gzip;q=0.5"], false),
            (&["identity;q=0.5, gzip;q=0.5"], true),
            (&["identity;q=0.5, *;q=0.8"], true),
            (&["gzip ; Q = 0.5"], true),
            (&["gzip;q=1.001"], false),
            (&["gzip;q=2"], false),
            (&["gzip;q=-1"], false),
            (&["gzip;q=0.0001"], false),
            (&["gzip;q="], false),
            (&["gzip;level=9"], false),
            (&["gzip;q=1;q=1"], false),
            (&[",, ,gzip,"], true),
            (&["gzipx"], false),
        ];
        for (values, expected) in cases {
            let mut headers = HeaderMap::new();
            for value in *values {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(value));
            }
            assert_eq!(accepts_gzip(&headers), *expected, "{values:?}");
        }
    }

    #[test]
    fn a_value_that_is_no_text_asks_for_nothing() {
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT_ENCODING,
            HeaderValue::from_bytes(b"gzip\xff").expect("opaque bytes are allowed"),
        );
        assert!(!accepts_gzip(&headers));
    }
}
