//! The text form of a urlset: each page's URL on a line of its own
//! ([sitemaps.org](https://www.sitemaps.org/protocol.html#otherformats)).

use bytes::BytesMut;
use memchr::memmem;

/// In Waymark's documents the sitemap namespace is the default one, and there are no comments and no CDATA. So these tags are
/// only a `<url>`'s own `<loc>`: an image's is `<image:loc>`, and text is escaped.
const OPEN: &[u8] = b"<loc>";
const CLOSE: &[u8] = b"</loc>";

/// The end of each line of the text form, including the last.
pub(crate) const LINE_END: &[u8] = b"\n";

/// The most bytes of an escaped loc: 2,047 bytes, each of which may be an entity of four letters with its two marks.
const MAX_ESCAPED_LOC_BYTES: usize = 2_047 * 6;

const ENTITIES: [(&[u8], u8); 5] = [
    (b"amp;", b'&'),
    (b"lt;", b'<'),
    (b"gt;", b'>'),
    (b"quot;", b'"'),
    (b"apos;", b'\''),
];

/// Finds the locs of a document that arrives in pieces.
#[derive(Debug, Default)]
pub struct Locs {
    /// The end of the last piece, from the first tag on that may continue in the next piece.
    unread: Vec<u8>,
    found: u64,
}

impl Locs {
    /// Appends the locs that this piece completes, each on a line.
    ///
    /// # Errors
    ///
    /// The problem of the document.
    pub fn push(&mut self, piece: &[u8], lines: &mut BytesMut) -> Result<(), &'static str> {
        self.unread.extend_from_slice(piece);
        let mut done = 0;
        loop {
            let rest = &self.unread[done..];
            let Some(open) = memmem::find(rest, OPEN) else {
                // The piece may end within a tag, at most before the tag's last byte.
                done += rest.len().saturating_sub(OPEN.len() - 1);
                break;
            };
            let text = &rest[open + OPEN.len()..];
            let Some(length) = memmem::find(text, CLOSE) else {
                if text.len() > MAX_ESCAPED_LOC_BYTES + CLOSE.len() {
                    return Err("a loc does not end");
                }
                done += open;
                break;
            };
            if length > MAX_ESCAPED_LOC_BYTES {
                return Err("a loc is too long");
            }
            unescape(&text[..length], lines)?;
            lines.extend_from_slice(LINE_END);
            self.found += 1;
            done += open + OPEN.len() + length + CLOSE.len();
        }
        self.unread.drain(..done);
        Ok(())
    }

    /// Checks that the number of locs is right, and that none is incomplete.
    ///
    /// # Errors
    ///
    /// The problem of the document.
    pub fn finish(&self, entries: u64) -> Result<(), &'static str> {
        if self.found == entries {
            Ok(())
        } else {
            Err("it has not as many locs as its metadata says")
        }
    }
}

fn unescape(mut text: &[u8], out: &mut BytesMut) -> Result<(), &'static str> {
    while let Some(at) = memchr::memchr(b'&', text) {
        let (plain, reference) = (&text[..at], &text[at + 1..]);
        let (name, character) = ENTITIES
            .iter()
            .find(|(name, _)| reference.starts_with(name))
            .ok_or("a loc has an unknown entity")?;
        out.extend_from_slice(plain);
        out.extend_from_slice(&[*character]);
        text = &reference[name.len()..];
    }
    out.extend_from_slice(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const URLSET: &str = "<?xml version=\"1.0\"?>\n<urlset>\n\
        <url><loc>https://a.example/?x=1&amp;y=&lt;&gt;&quot;&apos;&amp;amp;</loc><image:image><image:loc>https://b.example/i.png</image:loc></image:image></url>\n\
        <url><loc>https://a.example/</loc></url>\n</urlset>\n";
    const TEXT: &str = "https://a.example/?x=1&y=<>\"'&amp;\nhttps://a.example/\n";

    #[test]
    fn locs_are_found_however_the_document_is_cut() {
        for size in 1..=URLSET.len() {
            let (mut locs, mut lines) = (Locs::default(), BytesMut::new());
            for piece in URLSET.as_bytes().chunks(size) {
                locs.push(piece, &mut lines).expect("a sound document");
            }
            assert_eq!(lines, TEXT, "in pieces of {size}");
            assert_eq!(locs.finish(2), Ok(()));
            assert!(locs.finish(3).is_err());
        }
    }

    #[test]
    fn what_is_no_document_of_ours_is_an_error() {
        let endless = format!("<loc>{}", "x".repeat(MAX_ESCAPED_LOC_BYTES + 10));
        let long = format!("<loc>{}</loc>", "x".repeat(MAX_ESCAPED_LOC_BYTES + 1));
        for text in [
            "<loc>&nbsp;</loc>",
            "<loc>&amp</loc>",
            "<loc>&</loc>",
            "<loc>&#38;</loc>",
            &endless,
            &long,
        ] {
            let mut lines = BytesMut::new();
            assert!(
                Locs::default().push(text.as_bytes(), &mut lines).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn regression_a_loc_that_is_too_long_is_refused_however_it_is_cut() {
        for (bytes, expected) in [
            (MAX_ESCAPED_LOC_BYTES, true),
            (MAX_ESCAPED_LOC_BYTES + 1, false),
        ] {
            let document = format!("<loc>{}</loc>", "x".repeat(bytes));
            for size in [1_000, document.len()] {
                let (mut locs, mut lines) = (Locs::default(), BytesMut::new());
                let mut pieces = document.as_bytes().chunks(size);
                let is_read = pieces.all(|piece| locs.push(piece, &mut lines).is_ok());
                assert_eq!(is_read, expected, "{bytes} bytes in pieces of {size}");
            }
        }
    }
}
