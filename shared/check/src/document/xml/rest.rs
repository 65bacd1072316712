//! The rest of a document after its first error: how many entries it has, and why other parsers do not read them.

use std::borrow::Cow;
use std::io::BufRead as _;

use super::attributes::is_name;
use crate::document::data::Kind;
use crate::document::input::{Input, MAX_PIECE_BYTES, Stop};
use crate::document::reader::Reader;
use crate::findings::{Broken, Limited, Position, Unchecked};
use crate::text::quoted;

pub(super) const AMPERSAND: &str = "& is written &amp;";
pub(super) const LESS_THAN: &str = "< is written &lt;";
pub(super) const CHARACTER: &str = "XML forbids a control character in it: remove the character";
pub(super) const PREFIX: &str =
    "a prefix in it is not declared: add its xmlns attribute to the root element";
pub(in crate::document) const ENCODING: &str = "it is not UTF-8";
pub(super) const CUT: &str = "the document is cut off";

/// The longest name of a tag that is compared. The names of entries have at most seven characters, and prefixes are short.
const MAX_NAME_BYTES: usize = 64;

/// The first error at which other parsers stop.
#[derive(Debug)]
pub(in crate::document) struct FirstError {
    pub(super) at: Position,
    /// The number of entries that were read to their end.
    pub(super) before: u64,
    pub(super) cause: Cow<'static, str>,
}

impl FirstError {
    /// Describes an error after which nothing could be read.
    pub(in crate::document) fn at(at: Position, before: u64, cause: &'static str) -> Self {
        Self {
            at,
            before,
            cause: cause.into(),
        }
    }
}

/// Returns why a reference is unknown. A text such as `a=1&b=2;` was not meant as one.
pub(super) fn of_reference(name: &str) -> Cow<'static, str> {
    if name.starts_with('#') {
        return format!("the reference {} is no character of XML", quoted(name)).into();
    }
    match is_name(name) {
        true => format!(
            "XML does not know the entity {}: write the character itself",
            quoted(name)
        )
        .into(),
        false => AMPERSAND.into(),
    }
}

/// Returns why the value of an attribute is not well-formed.
pub(super) fn of_value(raw: &str) -> Cow<'static, str> {
    if raw.contains('<') {
        return LESS_THAN.into();
    }
    let mut references = raw.split('&').skip(1).map(|rest| rest.split_once(';'));
    let unknown = references.find_map(|reference| match reference {
        None => Some(AMPERSAND.into()),
        Some(("amp" | "lt" | "gt" | "quot" | "apos", _)) => None,
        Some((name, _)) if name.starts_with('#') => None,
        Some((name, _)) => Some(of_reference(name)),
    });
    unknown.unwrap_or(AMPERSAND.into())
}

/// Says what was not read of a document: what follows its first error, its cut, or a limit. `stop` is why the input ended before.
pub(in crate::document) fn tell(
    first_error: Option<FirstError>,
    stop: Option<Stop>,
    source: &mut Input<'_>,
    reader: &mut Reader<'_>,
) {
    let file = reader.about.file.clone();
    let limited = |value, unit, option| {
        Unchecked::Limited(Limited {
            place: file.clone(),
            rest: "the rest of the document was not read",
            value,
            unit,
            option,
        })
    };
    match stop {
        Some(Stop::TooLarge) => {
            let value = reader.about.max_bytes;
            let unit = "bytes of a document, uncompressed";
            let left = limited(value, unit, Some("--max-bytes"));
            reader.document.findings.leave(left);
        }
        Some(Stop::LongPiece) => {
            let left = limited(MAX_PIECE_BYTES, "bytes of a tag or a text", None);
            reader.document.findings.leave(left);
        }
        _ => {}
    }
    let (entries, tags): (_, &[&str]) = match reader.document.kind {
        Kind::Sitemap => ("URLs", &["url"]),
        Kind::Index => ("sitemaps", &["sitemap"]),
        Kind::Rss | Kind::Atom => ("items", &["item", "entry"]),
        Kind::Text => ("URLs", &[]),
        Kind::Html | Kind::Other => return,
    };
    let is_whole = reader.document.is_whole;
    let read = reader.document.entries;
    let cut = |cause: Cow<'static, str>, at| FirstError {
        at,
        before: read,
        cause,
    };
    let at = source.position();
    let first_error = first_error.or_else(|| match stop {
        Some(Stop::CutGzip) => Some(cut("the gzip stream ends in its middle".into(), at)),
        Some(Stop::BadGzip) => Some(cut("the gzip stream is damaged".into(), at)),
        Some(Stop::BadText(encoding)) => Some(cut(format!("it is not {encoding}").into(), at)),
        Some(Stop::Body) if !is_whole => Some(cut("its body ended early".into(), at)),
        _ => None,
    });
    let Some(first_error) = first_error else {
        return;
    };
    let FirstError { at, before, cause } = first_error;
    // What a cut document lacks is unknown.
    let is_cut = cause == CUT || stop.is_some() && before == read;
    let rest = match is_whole || stop.is_some() || tags.is_empty() {
        true => 0,
        false => start_tags(source, tags),
    };
    let after = (!is_cut && !tags.is_empty()).then(|| (read + rest).saturating_sub(before));
    if after == Some(0) {
        return;
    }
    let broken = Broken {
        file,
        at,
        entries,
        before,
        after,
        is_estimate: !is_whole,
        cause,
    };
    reader.document.findings.leave(Unchecked::Broken(broken));
}

/// The part of a document that a byte is in.
enum Part {
    Text,
    /// The name of a tag, or what begins a comment or CDATA.
    Name,
    Comment,
    Cdata,
}

/// Counts the start tags with these names in the rest of a document. It is no parser: markup in comments and CDATA is not counted,
/// but a comment that does not end hides all that follows it. The rest is read in pieces, up to the limit of bytes.
fn start_tags(source: &mut Input<'_>, names: &[&str]) -> u64 {
    let (mut count, mut part) = (0, Part::Text);
    let mut name = Vec::with_capacity(MAX_NAME_BYTES);
    // The last two bytes of a comment or CDATA.
    let mut last = [0; 2];
    loop {
        source.begin_piece();
        let Ok(bytes) = source.fill_buf() else {
            return count;
        };
        let length = bytes.len();
        if length == 0 {
            return count;
        }
        for byte in bytes.iter().copied() {
            match part {
                Part::Text if byte == b'<' => {
                    name.clear();
                    part = Part::Name;
                }
                Part::Text => {}
                Part::Name if byte == b'<' => name.clear(),
                Part::Name if matches!(byte, b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r') => {
                    let local = name.rsplit(|byte| *byte == b':').next();
                    let local = local.unwrap_or_default();
                    count += u64::from(names.iter().any(|name| name.as_bytes() == local));
                    part = Part::Text;
                }
                Part::Name if name.len() < MAX_NAME_BYTES => {
                    name.push(byte);
                    last = [0; 2];
                    match &name[..] {
                        b"!--" => part = Part::Comment,
                        b"![CDATA[" => part = Part::Cdata,
                        _ => {}
                    }
                }
                Part::Name => part = Part::Text,
                Part::Comment | Part::Cdata => {
                    let end = match part {
                        Part::Comment => b'-',
                        _ => b']',
                    };
                    if byte == b'>' && last == [end; 2] {
                        part = Part::Text;
                    }
                    last = [last[1], byte];
                }
            }
        }
        source.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::input::Limits;

    fn count(text: &str) -> u64 {
        start_tags(&mut Input::open(text.as_bytes(), Limits::NONE), &["url"])
    }

    #[test]
    fn start_tags_are_counted_as_they_are_meant() {
        for (text, expected) in [
            ("", 0),
            ("x</loc></url><url><loc>y</loc></url>", 1),
            ("<url>\n<url\n><sm:url ><url/><urls><urlset><a.url>", 4),
            ("<!-- <url> --><url><![CDATA[<url>]]><url>", 2),
            ("<!-- - -- > <url> ---><url>", 1),
            ("a < b <url> << <url>", 2),
            ("<!-- <url><url>", 0),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
        // Pieces and names end anywhere.
        let long = format!("<{}>", "x".repeat(1_000)) + &"<url><loc>x</loc></url>".repeat(20_000);
        assert_eq!(count(&long), 20_000);
    }

    #[test]
    fn the_cause_of_a_value_says_how_to_write_it() {
        for (raw, cause) in [
            ("a<b", LESS_THAN),
            ("/?a=1&b=2", AMPERSAND),
            ("/?a=1&amp;b=2&c;&d", "XML does not know the entity \"c\""),
            ("/?a=1&b=2;c", AMPERSAND),
        ] {
            assert!(of_value(raw).starts_with(cause), "{raw}");
        }
        let unknown = "the reference \"#x0\" is no character of XML";
        assert_eq!(of_reference("#x0"), unknown);
    }
}
