use std::collections::BTreeMap;
use std::io::Read;

use flate2::bufread::GzDecoder;
use proptest::prelude::*;

use super::directory::Block;
use super::error::damaged;
use super::gzip::{FEXTRA, TRAILER_BYTES, header};
use super::*;
use crate::time::When;

const EPOCH: u64 = 0x0123_4567_89ab_cdef;

/// A segment that owns its XML, as the rows of the table would give it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rows {
    stamp: u64,
    entries: u32,
    newest: Option<When>,
    xml: Vec<u8>,
}

impl Rows {
    fn new(stamp: u64, texts: &[&str]) -> Self {
        Self {
            stamp,
            entries: texts.len() as u32,
            newest: (!texts.is_empty()).then(|| When::at(stamp as i64)),
            xml: texts
                .iter()
                .flat_map(|text| {
                    format!("<url><loc>https://www.example.com/{text}</loc></url>\n").into_bytes()
                })
                .collect(),
        }
    }

    fn never_written() -> Self {
        Self::new(0, &[])
    }

    fn segment(&self) -> Segment<'_> {
        Segment {
            stamp: self.stamp,
            entries: self.entries,
            newest: self.newest,
            xml: &self.xml,
        }
    }
}

fn build(frame: &Frame, rows: &[Rows]) -> Built {
    let mut builder = Builder::new(frame, EPOCH);
    for rows in rows {
        builder.push(&rows.segment());
    }
    builder.finish()
}

fn document(frame: &Frame, rows: &[Rows]) -> Vec<u8> {
    let mut document = frame.prolog.clone();
    for rows in rows {
        document.extend_from_slice(&rows.xml);
    }
    document.extend_from_slice(frame.epilogue);
    document
}

/// Inflates one gzip member, and checks that no bytes follow.
fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut decoder = GzDecoder::new(bytes);
    let mut document = Vec::new();
    decoder.read_to_end(&mut document).unwrap();
    assert!(decoder.into_inner().is_empty());
    document
}

/// Checks the invariants of a built member.
#[track_caller]
fn check(frame: &Frame, rows: &[Rows], built: &Built) {
    let document = document(frame, rows);
    assert_eq!(gunzip(&built.bytes), document);
    let member = Member::parse(&built.bytes).unwrap();
    member.verify().unwrap();
    let directory = member.directory();
    assert_eq!(directory, &built.directory);
    assert_eq!(directory.epoch, EPOCH);
    assert_eq!(directory.document_bytes(), document.len() as u64);
    assert_eq!(
        directory.entries(),
        rows.iter().map(|rows| u64::from(rows.entries)).sum::<u64>()
    );
    assert_eq!(
        directory.generation(),
        rows.iter().map(|rows| rows.stamp).sum::<u64>()
    );
    assert_eq!(
        directory.newest(),
        rows.iter().filter_map(|rows| rows.newest).max()
    );
    let plain = [&PLAIN_HEADER, member.payload()].concat();
    assert_eq!(gunzip(&plain), document);
    assert_eq!(
        payload_offset(&built.bytes[..12]),
        Some(built.bytes.len() - member.payload().len())
    );
}

fn sample() -> Vec<Rows> {
    vec![
        Rows::new(3, &["a", "b", "c"]),
        Rows::never_written(),
        Rows::new(5, &[]),
        Rows::new(7, &["d"]),
    ]
}

#[test]
fn a_member_is_one_gzip_file() {
    for rows in [vec![], sample(), vec![Rows::new(1, &["a"]); MAX_SEGMENTS]] {
        for frame in [
            Frame::urlset(None),
            Frame::urlset(Some("/sitemap.css")),
            Frame::index(None),
        ] {
            check(&frame, &rows, &build(&frame, &rows));
        }
    }
}

#[test]
fn a_long_segment_is_one_block() {
    // Hardly compressible, and longer than zlib's window and the reader's buffer.
    let mut state = 1_u64;
    let mut noise = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    for length in [1, 1_023, 32_767, 32_768, 65_536, 300_001] {
        let rows = [Rows {
            stamp: 1,
            entries: 1,
            newest: None,
            xml: noise.by_ref().take(length).collect(),
        }];
        let frame = Frame::urlset(None);
        check(&frame, &rows, &build(&frame, &rows));
    }
}

#[test]
fn never_written_segments_at_the_end_are_left_out() {
    let frame = Frame::urlset(None);
    let mut rows = sample();
    let short = build(&frame, &rows);
    rows.extend([Rows::never_written(), Rows::never_written()]);
    assert_eq!(build(&frame, &rows), short);
    assert_eq!(short.directory.segments.len(), 4);
    // Empty, but written once, so that its stamp has to be kept.
    rows.push(Rows::new(9, &[]));
    assert_eq!(build(&frame, &rows).directory.segments.len(), 7);
}

#[test]
fn equal_documents_have_equal_digests_and_plain_bytes() {
    let frame = Frame::urlset(None);
    let built = build(&frame, &sample());
    let mut touched = sample();
    touched[0].stamp += 2;
    touched[1].stamp += 1;
    touched.push(Rows::new(1, &[]));
    let mut builder = Builder::new(&frame, EPOCH + 1);
    touched
        .iter()
        .for_each(|rows| builder.push(&rows.segment()));
    let again = builder.finish();
    assert_ne!(again.bytes, built.bytes);
    assert_eq!(again.directory.digest(), built.directory.digest());
    let payload = |built: &Built| Member::parse(&built.bytes).unwrap().payload().to_vec();
    assert_eq!(payload(&again), payload(&built));
    assert_eq!(built.directory.digest().len(), 32);

    touched[3] = Rows::new(8, &["e"]);
    assert_ne!(
        build(&frame, &touched).directory.digest(),
        built.directory.digest()
    );
    let styled = build(&Frame::urlset(Some("/sitemap.css")), &sample());
    assert_ne!(styled.directory.digest(), built.directory.digest());
}

#[test]
fn format_version_1_is_this() {
    // If this changes, raise FORMAT_VERSION, because stored files are read with it.
    let block = |seed: u32| Block {
        size: seed,
        length: seed + 1,
        crc: seed + 2,
        deflated_crc: seed + 3,
        digest: u64::from(seed) << 32,
    };
    let directory = Directory {
        epoch: EPOCH,
        segments: vec![SegmentInfo::new(9, 1, Some(When::at(-1)), block(0x33))],
        prolog: block(0x11),
        epilogue: block(0x22),
    };
    let mut bytes = Vec::new();
    directory.write_header(&mut bytes);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let expected = [
        "1f8b080400000000 00ff 6e00", // header, length of the extra field
        "574d 6a00",                  // subfield
        "01 efcdab8967452301",        // version, epoch
        "11000000 12000000 13000000 14000000 0000000011000000", // prolog
        "22000000 23000000 24000000 25000000 0000000022000000", // epilogue
        "0900000000000000 01000000 02 ffffffffffffffff", // stamp, entries, newest
        "33000000 34000000 35000000 36000000 0000000033000000", // the segment's block
        "c9d18b85",                   // CRC-32
    ];
    assert_eq!(hex, expected.concat().replace(' ', ""));
    assert_eq!(bytes.len(), directory.header_bytes());
    // The public ETag, which must not change for an unchanged document.
    let digest = build(&Frame::urlset(None), &sample()).directory.digest();
    assert_eq!(digest, "23602effba4e48c1e836fc9ff3538867");
}

#[test]
#[should_panic(expected = "more than 100 segments")]
fn a_segment_beyond_the_last_is_refused() {
    build(
        &Frame::urlset(None),
        &vec![Rows::never_written(); MAX_SEGMENTS + 1],
    );
}

#[test]
fn any_changed_byte_is_detected() {
    let frame = Frame::urlset(None);
    let bytes = build(&frame, &sample()).bytes;
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            assert!(
                Member::parse(&damaged).is_err(),
                "byte {at} changed by {change:#x}"
            );
        }
    }
}

#[test]
fn any_other_length_is_detected() {
    let mut bytes = build(&Frame::urlset(None), &sample()).bytes;
    for length in 0..bytes.len() {
        assert!(Member::parse(&bytes[..length]).is_err(), "cut to {length}");
    }
    bytes.push(0);
    assert_eq!(Member::parse(&bytes).unwrap_err(), damaged(Part::Length));
}

#[test]
fn damage_is_named() {
    let built = build(&Frame::urlset(None), &sample());
    let end = built.bytes.len();
    let start = payload_offset(&built.bytes).unwrap();
    let segment = start + built.directory.prolog.length as usize;
    let error = |at: usize| {
        let mut bytes = built.bytes.clone();
        bytes[at] ^= 1;
        Member::parse(&bytes).unwrap_err()
    };
    assert_eq!(error(0), MemberError::NotOurs);
    assert_eq!(error(3), MemberError::NotOurs);
    assert_eq!(error(12), MemberError::NotOurs);
    assert_eq!(
        error(16),
        MemberError::Version {
            found: 0,
            expected: 1
        }
    );
    assert_eq!(error(17), damaged(Part::Directory));
    assert_eq!(error(start), damaged(Part::Prolog));
    assert_eq!(error(segment), damaged(Part::Segment(0)));
    assert_eq!(error(end - TRAILER_BYTES - 1), damaged(Part::Epilogue));
    assert_eq!(error(end - 1), damaged(Part::Trailer));
    assert_eq!(
        damaged(Part::Segment(3)).to_string(),
        "segment 3 is damaged"
    );
}

#[test]
fn foreign_files_are_not_ours() {
    let mut plain = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(7));
    std::io::Write::write_all(&mut plain, b"<urlset/>").unwrap();
    let mut named = flate2::GzBuilder::new()
        .extra(*b"AB\x02\0xy")
        .write(Vec::new(), flate2::Compression::new(7));
    std::io::Write::write_all(&mut named, b"<urlset/>").unwrap();
    for bytes in [
        plain.finish().unwrap(),
        named.finish().unwrap(),
        b"<urlset/>".to_vec(),
        vec![],
    ] {
        assert_eq!(Member::parse(&bytes).unwrap_err(), MemberError::NotOurs);
    }
}

/// Returns a file whose directory is consistent in itself but not with the blocks.
fn with_directory(built: &Built, change: impl FnOnce(&mut Directory)) -> Vec<u8> {
    let start = payload_offset(&built.bytes).unwrap();
    let mut directory = built.directory.clone();
    change(&mut directory);
    let mut bytes = Vec::new();
    directory.write_header(&mut bytes);
    bytes.extend_from_slice(&built.bytes[start..built.bytes.len() - TRAILER_BYTES]);
    bytes.extend_from_slice(&directory.trailer());
    bytes
}

#[test]
fn a_lying_directory_is_detected() {
    let built = build(&Frame::urlset(None), &sample());
    let parsed =
        |change: fn(&mut Directory)| Member::parse(&with_directory(&built, change)).map(|_| ());
    let verified = |change: fn(&mut Directory)| {
        let bytes = with_directory(&built, change);
        Member::parse(&bytes).unwrap().verify()
    };
    assert_eq!(parsed(|_| ()), Ok(()));
    assert_eq!(
        parsed(|d| d.segments[0].length = u32::MAX),
        Err(damaged(Part::Length))
    );
    assert_eq!(parsed(|d| d.prolog.length = 0), Err(damaged(Part::Length)));
    assert_eq!(
        parsed(|d| {
            d.segments[0].length += 1;
            d.segments[3].length -= 1;
        }),
        Err(damaged(Part::Segment(0)))
    );
    assert_eq!(
        parsed(|d| d.segments[3] = SegmentInfo::new(0, 0, None, d.segments[1].block())),
        Err(damaged(Part::Directory))
    );
    assert_eq!(verified(|_| ()), Ok(()));
    assert_eq!(
        verified(|d| d.segments[0].size = u32::MAX),
        Err(damaged(Part::Segment(0)))
    );
    assert_eq!(
        verified(|d| d.segments[0].size -= 1),
        Err(damaged(Part::Segment(0)))
    );
    assert_eq!(
        parsed(|d| d.segments[1].size += 1),
        Err(damaged(Part::Directory))
    );
    assert_eq!(
        verified(|d| d.segments[1].crc += 1),
        Err(damaged(Part::Segment(1)))
    );
    assert_eq!(
        verified(|d| d.segments[3].crc ^= 1),
        Err(damaged(Part::Segment(3)))
    );
    assert_eq!(
        verified(|d| d.segments[3].digest ^= 1),
        Err(damaged(Part::Segment(3)))
    );
    assert_eq!(
        verified(|d| d.prolog.digest ^= 1),
        Err(damaged(Part::Prolog))
    );
    assert_eq!(
        verified(|d| d.epilogue.digest ^= 1),
        Err(damaged(Part::Epilogue))
    );
}

#[test]
fn a_block_that_ends_the_stream_early_is_detected() {
    // The epilogue's block in place of a segment. Each checksum is correct, but decoders would stop there.
    let frame = Frame::urlset(None);
    let built = build(&frame, &[Rows::new(1, &["a"])]);
    let start = payload_offset(&built.bytes).unwrap();
    let (prolog, epilogue) = (built.directory.prolog, built.directory.epilogue);
    let mut directory = built.directory.clone();
    directory.segments[0] = SegmentInfo::new(1, 1, None, epilogue);
    let mut bytes = Vec::new();
    directory.write_header(&mut bytes);
    bytes.extend_from_slice(&built.bytes[start..start + prolog.length as usize]);
    let end = built.bytes.len() - TRAILER_BYTES;
    for _ in 0..2 {
        bytes.extend_from_slice(&built.bytes[end - epilogue.length as usize..end]);
    }
    bytes.extend_from_slice(&directory.trailer());
    let member = Member::parse(&bytes).unwrap();
    assert_eq!(member.verify(), Err(damaged(Part::Segment(0))));
}

/// Returns a file with these deflated bytes in place of its only segment, whose directory entry is that of `content`.
fn with_block(built: &Built, content: &[u8], deflated: &[u8]) -> Vec<u8> {
    let start = payload_offset(&built.bytes).unwrap();
    let segment = start + built.directory.prolog.length as usize;
    let end = segment + built.directory.segments[0].length as usize;
    let mut built = built.clone();
    built.bytes.splice(segment..end, deflated.iter().copied());
    let block = Block::of(content, deflated);
    with_directory(&built, |d| {
        d.segments[0] = SegmentInfo::new(1, 1, None, block);
    })
}

#[test]
fn regression_a_block_that_reaches_into_the_next_is_detected() {
    let built = build(&Frame::urlset(None), &[Rows::new(1, &["a"])]);
    // A stored block of 9 bytes, of which 4 are present. It inflates to these 4 alone, but in the file it takes 5 more bytes.
    let cut = [&[0, 9, 0, 0xf6, 0xff][..], b"abcd"].concat();
    let bytes = with_block(&built, b"abcd", &cut);
    let mut document = Vec::new();
    assert!(
        GzDecoder::new(&bytes[..])
            .read_to_end(&mut document)
            .is_err()
    );
    assert_eq!(
        Member::parse(&bytes).unwrap().verify(),
        Err(damaged(Part::Segment(0)))
    );
    let whole = [&[0, 4, 0, 0xfb, 0xff][..], b"abcd"].concat();
    let bytes = with_block(&built, b"abcd", &whole);
    assert_eq!(Member::parse(&bytes).unwrap().verify(), Ok(()));
}

#[test]
fn regression_a_block_of_nothing_is_not_left_behind() {
    // Marked as never written, although it has a block. If the last segment is removed, this one is removed too, and its block
    // remains.
    let rows = [Rows::new(1, &["a"]), Rows::new(2, &["b"])];
    let built = build(&Frame::urlset(None), &rows);
    let bytes = with_directory(&built, |d| {
        let block = d.segments[0].block();
        d.segments[0] = SegmentInfo::new(0, 0, None, Block { size: 0, ..block });
    });
    assert_eq!(Member::parse(&bytes).unwrap_err(), damaged(Part::Directory));
}

fn rows() -> impl Strategy<Value = Rows> {
    let written =
        (1..1_000_u64, prop::collection::vec("[a-z0-9]{1,40}", 0..8)).prop_map(|(stamp, texts)| {
            Rows::new(stamp, &texts.iter().map(String::as_str).collect::<Vec<_>>())
        });
    prop_oneof![4 => written, 1 => Just(Rows::never_written())]
}

fn frame() -> impl Strategy<Value = Frame> {
    prop::option::of("/[a-z]{1,20}\\.css")
        .prop_map(|stylesheet| Frame::urlset(stylesheet.as_deref()))
}

proptest! {
    #[test]
    fn spliced_is_built_whole(
        first in prop::collection::vec(rows(), 0..10),
        frames in (frame(), frame()),
        steps in prop::collection::vec(prop::collection::btree_map(0..14_u32, rows(), 0..5), 1..6),
    ) {
        let mut model = first;
        let mut stored = build(&frames.0, &model);
        for (step, changes) in steps.iter().enumerate() {
            let frame = if step % 2 == 0 { &frames.0 } else { &frames.1 };
            for (&number, rows) in changes {
                let number = number as usize;
                if model.len() <= number {
                    model.resize(number + 1, Rows::never_written());
                }
                model[number] = rows.clone();
            }
            let changes: BTreeMap<_, _> = changes.iter().map(|(&number, rows)| (number, rows.segment())).collect();
            stored = splice(&Member::parse(&stored.bytes).unwrap(), frame, &changes);
            prop_assert_eq!(&stored, &build(frame, &model));
            check(frame, &model, &stored);
        }
    }

    #[test]
    fn no_bytes_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        extra in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let _ = Member::parse(&bytes);
        // After the magic, the lengths and the directory's checksum.
        let mut ours = header(FEXTRA).to_vec();
        let content = [&[FORMAT_VERSION], &extra[..]].concat();
        ours.extend_from_slice(&(content.len() as u16 + 8).to_le_bytes());
        ours.extend_from_slice(b"WM");
        ours.extend_from_slice(&(content.len() as u16 + 4).to_le_bytes());
        ours.extend_from_slice(&content);
        ours.extend_from_slice(&crc32fast::hash(&content).to_le_bytes());
        ours.extend_from_slice(&bytes);
        if let Ok(member) = Member::parse(&ours) {
            let _ = member.verify();
        }
    }

    #[test]
    fn damaged_blocks_never_panic(
        xml in prop::collection::vec(any::<u8>(), 1..2_000),
        at in any::<prop::sample::Index>(),
        change in 1..=255_u8,
    ) {
        let built = build(&Frame::urlset(None), &[Rows { stamp: 1, entries: 1, newest: None, xml }]);
        let mut bytes = built.bytes.clone();
        let start = payload_offset(&bytes).unwrap() + built.directory.prolog.length as usize;
        let length = built.directory.segments[0].length as usize;
        bytes[start + at.index(length)] ^= change;
        // With a directory that fits the damaged bytes. They may still inflate to the same content, because padding bits have no
        // meaning.
        let deflated_crc = crc32fast::hash(&bytes[start..start + length]);
        let bytes = with_directory(&Built { bytes, ..built }, |d| d.segments[0].deflated_crc = deflated_crc);
        let _ = Member::parse(&bytes).unwrap().verify();
    }
}
