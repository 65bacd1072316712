//! Stored files: those that were built here, and damaged ones.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::bufread::GzDecoder;
use sitemap::member::{Builder, Frame, MAX_SEGMENTS, Member, Segment, splice};
use sitemap::time::When;

use crate::body::inflates;
use crate::draw::Draw;

/// The offset of the directory in its format: after gzip's ten bytes, the extra field's length, and the subfield's id and length.
const DIRECTORY_OFFSET: usize = 16;
/// The fixed bytes of a directory: version, epoch, and the blocks of prolog and epilogue.
const DIRECTORY_FIXED_BYTES: usize = 1 + 8 + 2 * BLOCK_BYTES;
const BLOCK_BYTES: usize = 24;
const SEGMENT_BYTES: usize = 21 + BLOCK_BYTES;
/// The offsets in a block of its size, its length, its CRC-32, that of its deflated bytes, and its digest.
const SIZE_AT: usize = 0;
const LENGTH_AT: usize = 4;
const CRC_AT: usize = 8;
const DEFLATED_CRC_AT: usize = 12;
const DIGEST_AT: usize = 16;
/// The bytes of the directory's own CRC-32.
const CRC_BYTES: usize = 4;
const TRAILER_BYTES: usize = 8;
/// The most drawn segments. More would make the fuzzer slow without finding more.
const MAX_DRAWN_SEGMENTS: usize = 6;
const MAX_DRAWN_TEXT: usize = 300;

/// Checks the input as a stored file, and then a file that is built from it and damaged.
pub fn check(data: &[u8]) {
    is_believed_as_far_as_it_holds(data, &BTreeMap::new());
    let mut draw = Draw(data);
    let rows = drawn_rows(&mut draw);
    let changes = drawn_changes(&mut draw);
    let mut file = built(&rows);
    is_sound(&file, &rows);
    damage(&mut file, &mut draw);
    is_believed_as_far_as_it_holds(&file, &segments(&changes));
}

/// A segment that owns its text.
#[derive(Clone, Default)]
struct Rows {
    stamp: u64,
    entries: u32,
    newest: Option<When>,
    xml: Vec<u8>,
}

impl Rows {
    fn drawn(draw: &mut Draw<'_>) -> Self {
        let (kind, stamp, word) = (draw.byte(), u64::from(draw.u16()), draw.byte());
        match kind % 4 {
            0 => Self::default(),
            1 => Self {
                stamp,
                ..Self::default()
            },
            _ => Self {
                stamp,
                entries: u32::from(word),
                newest: (kind & 8 != 0).then(|| When::at(draw.u32().into())),
                xml: (0..draw.below(MAX_DRAWN_TEXT) + 1)
                    .map(|at| (at as u8).wrapping_mul(word))
                    .collect(),
            },
        }
    }
}

fn drawn_rows(draw: &mut Draw<'_>) -> Vec<Rows> {
    (0..draw.below(MAX_DRAWN_SEGMENTS))
        .map(|_| Rows::drawn(draw))
        .collect()
}

fn drawn_changes(draw: &mut Draw<'_>) -> BTreeMap<u32, Rows> {
    let number = |draw: &mut Draw<'_>| match draw.byte() {
        0xff => MAX_SEGMENTS as u32 - 1,
        byte => u32::from(byte) % (2 * MAX_DRAWN_SEGMENTS as u32),
    };
    (0..draw.below(3))
        .map(|_| (number(draw), Rows::drawn(draw)))
        .collect()
}

fn segments(rows: &BTreeMap<u32, Rows>) -> BTreeMap<u32, Segment<'_>> {
    rows.iter()
        .map(|(number, rows)| (*number, segment(rows)))
        .collect()
}

fn segment(rows: &Rows) -> Segment<'_> {
    Segment {
        stamp: rows.stamp,
        entries: rows.entries,
        newest: rows.newest,
        xml: &rows.xml,
    }
}

fn frame() -> Frame {
    Frame::urlset(Some("/sitemap.css"))
}

fn built(rows: &[Rows]) -> Vec<u8> {
    let mut builder = Builder::new(&frame(), 7);
    for rows in rows {
        builder.push(&segment(rows));
    }
    builder.finish().bytes
}

fn is_sound(file: &[u8], rows: &[Rows]) {
    let member = Member::parse(file).expect("it was built");
    assert_eq!(member.verify(), Ok(()));
    let frame = frame();
    let document = [
        &frame.prolog[..],
        &rows
            .iter()
            .flat_map(|rows| rows.xml.clone())
            .collect::<Vec<_>>(),
        frame.epilogue,
    ]
    .concat();
    assert_eq!(gunzip(file).as_deref(), Some(&document[..]));
    assert_eq!(
        inflates(member.payload(), document.len() as u64, 31).as_deref(),
        Some(&document[..])
    );
}

/// Checks that reading and splicing any file ends, and that the result is a member again. If the file is valid, other decoders
/// must find the same document.
fn is_believed_as_far_as_it_holds(file: &[u8], changes: &BTreeMap<u32, Segment<'_>>) {
    let Ok(member) = Member::parse(file) else {
        return;
    };
    let directory = member.directory();
    assert!(directory.segments.len() <= MAX_SEGMENTS && member.payload().len() < file.len());
    let verified = member.verify().is_ok();
    if verified {
        let document = gunzip(file).expect("a member that was verified is a gzip file");
        assert_eq!(document.len() as u64, directory.document_bytes());
    }
    if let Some(document) = inflates(
        member.payload(),
        directory.document_bytes().min(1 << 20),
        64,
    ) {
        assert_eq!(gunzip(file), Some(document));
    }
    let spliced = splice(&member, &frame(), changes);
    let again = Member::parse(&spliced.bytes).expect("what was spliced is a member");
    assert_eq!(*again.directory(), spliced.directory);
    assert!(
        !verified || again.verify().is_ok(),
        "a sound member was spliced into a damaged one"
    );
}

fn gunzip(file: &[u8]) -> Option<Vec<u8>> {
    let mut decoder = GzDecoder::new(file);
    let mut document = Vec::new();
    decoder.read_to_end(&mut document).ok()?;
    decoder.into_inner().is_empty().then_some(document)
}

/// Changes bytes, and corrects the checksums over them, so that only the directory's other fields are wrong.
fn damage(file: &mut Vec<u8>, draw: &mut Draw<'_>) {
    let repair = draw.byte();
    while !draw.is_empty() {
        match draw.byte() % 8 {
            0..=1 => {
                let end = directory_end(file);
                if let Some(directory) = file.get_mut(DIRECTORY_OFFSET..end) {
                    let at = draw.below(directory.len().max(1));
                    if let Some(byte) = directory.get_mut(at) {
                        *byte = draw.byte();
                    }
                }
            }
            // A whole field of one block, because hitting all bytes of a number by chance takes long.
            2..=4 => {
                let blocks: Vec<usize> = described(file).collect();
                let block = blocks[draw.below(blocks.len())];
                let at = block + [SIZE_AT, LENGTH_AT, CRC_AT, DIGEST_AT][draw.below(4)];
                let said = word(file, at).unwrap_or_default();
                let lie = [0, 1, u32::MAX, said.wrapping_add(1), said.wrapping_sub(1)];
                set_word(file, at, lie[draw.below(lie.len())]);
            }
            5 => {
                let at = draw.below(file.len().max(1));
                if let Some(byte) = file.get_mut(at) {
                    *byte = draw.byte();
                }
            }
            6 => file.truncate(file.len() - draw.below(file.len().min(64) + 1)),
            _ => {
                let at = draw.below(file.len() + 1);
                file.insert(at, draw.byte());
            }
        }
    }
    if repair & 1 != 0 {
        repair_blocks(file);
    }
    if repair & 2 != 0 {
        repair_directory(file);
    }
    if repair & 4 != 0 {
        repair_trailer(file);
    }
}

/// Returns the offset of the directory's own CRC-32.
fn directory_end(file: &[u8]) -> usize {
    let length = file.get(14..16).map_or(0, |length| {
        usize::from(u16::from_le_bytes([length[0], length[1]]))
    });
    (DIRECTORY_OFFSET + length)
        .saturating_sub(4)
        .clamp(DIRECTORY_OFFSET.min(file.len()), file.len())
}

fn repair_directory(file: &mut [u8]) {
    let end = directory_end(file);
    let crc = file.get(DIRECTORY_OFFSET..end).map_or(0, crc32fast::hash);
    set_word(file, end, crc);
}

/// Returns the offsets of the blocks' descriptions in a file, in their order.
fn described(file: &[u8]) -> impl Iterator<Item = usize> {
    let said = directory_end(file).saturating_sub(DIRECTORY_OFFSET + DIRECTORY_FIXED_BYTES);
    let segments = said / SEGMENT_BYTES;
    let prolog = DIRECTORY_OFFSET + DIRECTORY_FIXED_BYTES - 2 * BLOCK_BYTES;
    let first = DIRECTORY_OFFSET + DIRECTORY_FIXED_BYTES + SEGMENT_BYTES - BLOCK_BYTES;
    std::iter::once(prolog)
        .chain((0..segments).map(move |number| first + number * SEGMENT_BYTES))
        .chain([prolog + BLOCK_BYTES])
}

fn word(file: &[u8], at: usize) -> Option<u32> {
    let bytes = file.get(at..at + 4)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

fn set_word(file: &mut [u8], at: usize, word: u32) {
    if let Some(place) = file.get_mut(at..at + 4) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Corrects the CRC-32s of the deflated bytes as the blocks' lengths cut them, and the epilogue's length, which is the rest.
fn repair_blocks(file: &mut [u8]) {
    let mut start = directory_end(file) + CRC_BYTES;
    let blocks: Vec<usize> = described(file).collect();
    for (number, &block) in blocks.iter().enumerate() {
        if number + 1 == blocks.len() {
            let left = file.len().saturating_sub(TRAILER_BYTES + start);
            set_word(file, block + LENGTH_AT, left as u32);
        }
        let length = word(file, block + LENGTH_AT).unwrap_or_default() as usize;
        let Some(deflated) = file.get(start..start + length) else {
            return;
        };
        let crc = crc32fast::hash(deflated);
        set_word(file, block + DEFLATED_CRC_AT, crc);
        start += length;
    }
}

/// Corrects the CRC-32 and the length of the document, as they follow from the blocks' descriptions.
fn repair_trailer(file: &mut [u8]) {
    let (mut crc, mut size) = (crc32fast::Hasher::new(), 0_u32);
    for block in described(file) {
        let Some((of_block, bytes)) = word(file, block + CRC_AT).zip(word(file, block + SIZE_AT))
        else {
            return;
        };
        crc.combine(&crc32fast::Hasher::new_with_initial_len(
            of_block,
            bytes.into(),
        ));
        size = size.wrapping_add(bytes);
    }
    if let Some(trailer) = file.len().checked_sub(TRAILER_BYTES) {
        set_word(file, trailer, crc.finalize());
        set_word(file, trailer + 4, size);
    }
}
