//! The rest of a document after its first error: how many entries it has, and why other parsers do not read them.

use std::borrow::Cow;
use std::io::BufRead as _;

use super::name::is_name;
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
    at: Position,
    /// The number of entries that were read to their end.
    before: u64,
    cause: Cow<'static, str>,
    /// Whether the document ends there, so that what it lacks is unknown.
    is_end: bool,
}

impl FirstError {
    pub(super) fn new(at: Position, before: u64, cause: Cow<'static, str>) -> Self {
        Self {
            at,
            before,
            cause,
            is_end: false,
        }
    }

    /// Describes an error after which nothing can be read.
    pub(in crate::document) fn end(at: Position, before: u64, cause: Cow<'static, str>) -> Self {
        Self {
            is_end: true,
            ..Self::new(at, before, cause)
        }
    }
}

/// Returns why a document ends early. Returns `None` if a limit ended it.
pub(in crate::document) fn of_stop(stop: Stop) -> Option<Cow<'static, str>> {
    match stop {
        Stop::CutGzip => Some("the gzip stream ends in its middle".into()),
        Stop::BadGzip => Some("the gzip stream is damaged".into()),
        Stop::BadText(encoding) => Some(format!("it is not {encoding}").into()),
        Stop::Body => Some("its body ended early".into()),
        Stop::TooLarge | Stop::LongPiece => None,
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
    let Some(FirstError {
        at,
        before,
        cause,
        is_end,
    }) = first_error
    else {
        return;
    };
    let rest = match is_whole || is_end || stop.is_some() {
        true => 0,
        false => start_tags(source, tags),
    };
    let after = (!is_end).then(|| (read + rest).saturating_sub(before));
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
    use std::io::Write as _;
    use std::sync::Arc;

    use super::*;
    use crate::document::input::Limits;
    use crate::document::{About, read};
    use crate::findings::Policy;

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

    fn unchecked(body: &[u8]) -> Vec<String> {
        let mut about = About::new("a.xml", Arc::new(Policy::default()), 1_800_000_000);
        about.max_bytes = 2_000_000;
        let document = read(body, &about);
        let (unchecked, _) = document.findings.unchecked();
        unchecked.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_a_document_costs_is_told_for_each_kind() {
        let index = "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\n\
            <sitemap><loc>https://a.example/1.xml</loc></sitemap>\n\
            <sitemap><loc>https://a.example/2.xml?a&b</loc></sitemap>\n\
            <sitemap><loc>https://a.example/3.xml</loc></sitemap></sitemapindex>";
        let feed = "<rss><channel>\n<item><link>https://a.example/1</link></item>\n\
            <item><link>https://a.example/2&nbsp;</link></item></channel></rss>";
        let list = b"https://a.example/1\n\xff\nhttps://a.example/2\n";
        for (body, expected) in [
            (
                index.as_bytes(),
                "about 2 of 3 sitemaps of a.xml could not be read after line 3: & is written &amp;",
            ),
            (
                feed.as_bytes(),
                "1 of 2 items of a.xml could not be read after line 3: XML does not know the entity \"nbsp\": write the \
                 character itself",
            ),
            (
                list,
                "the rest of a.xml after line 2 could not be read, 1 URL before it could: it is not UTF-8",
            ),
            (b"<html>", ""),
            (
                b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/> x",
                "",
            ),
        ] {
            assert_eq!(unchecked(body).join("\n"), expected);
        }
    }

    #[test]
    fn what_a_cut_stream_had_is_told_and_a_limit_is_one() {
        let mut text = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\n".to_owned();
        for number in 0..2_000 {
            text += &format!("<url><loc>https://a.example/{number}</loc></url>\n");
        }
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        let packed = encoder.finish().unwrap();
        let told = unchecked(&packed[..packed.len() / 2]).join("");
        let end = "URLs before it could: the gzip stream ends in its middle";
        assert!(
            told.ends_with(end) && told.starts_with("the rest of a.xml after line "),
            "{told}"
        );
        let long = text.clone() + &" ".repeat(1_100_000);
        let told = unchecked(long.as_bytes()).join("");
        assert!(
            told.contains("the limit of 1,048,576 bytes of a tag or a text"),
            "{told}"
        );
        let large = text + &"<!-- -->".repeat(300_000);
        let told = unchecked(large.as_bytes()).join("");
        assert!(told.ends_with("--max-bytes raises the limit"), "{told}");
    }
}
