//! Tests how `http` reads a stored member: the inflated document and its text form, in steps.

use std::io::Read;

use bytes::{Bytes, BytesMut};
use flate2::bufread::GzDecoder;
use sitemap::member::PLAIN_HEADER;

use crate::draw::Draw;
use front::inflater::{Inflater, STEP_BYTES, TRAILER_BYTES};
use front::text_form::Locs;

/// The most bytes that are inflated for comparison. A kilobyte of input may contain a megabyte.
const MAX_EXPECTED_BYTES: u32 = 1 << 20;

/// Checks an input. The document's supposed length and the lengths of the chunks are drawn first. The rest is a member's payload,
/// and then a document.
pub fn check(data: &[u8]) {
    let mut draw = Draw(data);
    let expected = u64::from(draw.u32() % MAX_EXPECTED_BYTES);
    let chunk = draw.below(97) + 1;
    let payload = draw.0;
    let whole = inflates(payload, expected, payload.len().max(1));
    assert_eq!(
        whole,
        inflates(payload, expected, chunk),
        "it depends on how the payload is cut"
    );
    assert_eq!(whole, reference(payload, expected));
    let text = locs(payload, payload.len().max(1));
    assert_eq!(
        text,
        locs(payload, chunk),
        "it depends on how the document is cut"
    );
    assert!(text.is_none_or(|(text, _)| text.len() <= payload.len()));
}

/// Returns the document that `http` would send, if it would send the whole.
pub(crate) fn inflates(payload: &[u8], expected: u64, chunk: usize) -> Option<Vec<u8>> {
    let mut inflater = Inflater::new(expected);
    let mut document = Vec::new();
    for chunk in payload.chunks(chunk) {
        let mut chunk = Bytes::copy_from_slice(chunk);
        while let Some(step) = inflater.step(&mut chunk).ok()? {
            assert!(!step.is_empty() && step.len() <= STEP_BYTES);
            document.extend_from_slice(&step);
            assert!(
                document.len() as u64 <= expected,
                "more than the metadata says was sent"
            );
        }
        assert!(chunk.is_empty(), "it wants more input and has not read all");
    }
    inflater.finish().ok()?;
    Some(document)
}

/// Returns the document that flate2's own reader inflates.
fn reference(payload: &[u8], expected: u64) -> Option<Vec<u8>> {
    if payload.len() < TRAILER_BYTES {
        return None;
    }
    let file = [&PLAIN_HEADER, payload].concat();
    let mut decoder = GzDecoder::new(&file[..]);
    let mut document = Vec::new();
    let read = decoder
        .by_ref()
        .take(expected + 1)
        .read_to_end(&mut document);
    let sound =
        read.is_ok() && document.len() as u64 == expected && decoder.into_inner().is_empty();
    sound.then_some(document)
}

/// Returns the locs of a document and their number, if it is a urlset.
fn locs(document: &[u8], chunk: usize) -> Option<(BytesMut, usize)> {
    let (mut locs, mut lines) = (Locs::default(), BytesMut::new());
    for piece in document.chunks(chunk) {
        locs.push(piece, &mut lines).ok()?;
    }
    let found = memchr::memmem::find_iter(document, b"<loc>").count();
    let count = (0..=found).find(|count| locs.finish(*count as u64).is_ok());
    Some((lines, count.expect("no more locs than there are tags")))
}
