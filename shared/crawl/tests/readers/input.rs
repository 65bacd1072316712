//! How logs are packed, and where their lines end.

use std::io::{self, Read, Write};

use crawl::input::{Lines, MAX_LINE_BYTES};
use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn all<R: Read>(reader: R) -> (Vec<Vec<u8>>, Lines<R>) {
    let mut lines = Lines::open(reader).expect("memory");
    let mut all = Vec::new();
    while let Some(line) = lines.next().expect("memory") {
        all.push(line.to_vec());
    }
    assert_eq!(all.len() as u64, lines.number());
    (all, lines)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text).expect("memory");
    packed.finish().expect("memory")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

/// Returns a text of some hundred kilobytes which does not pack well, and its lines.
fn text() -> (Vec<u8>, Vec<Vec<u8>>) {
    let lines: Vec<Vec<u8>> = (0..9_000_usize)
        .map(|n| {
            format!("{n} {}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                .repeat(1 + n % 5)
                .into_bytes()
        })
        .collect();
    (lines.join(&b'\n'), lines)
}

#[test]
fn several_members_and_frames_are_one_text() {
    let (text, lines) = text();
    for pack in [gzip as fn(&[u8]) -> Vec<u8>, zstd] {
        let packed: Vec<u8> = text.chunks(10_007).flat_map(pack).collect();
        let (read, after) = all(&packed[..]);
        assert!(read == lines);
        assert_eq!(after.stop(), None);
    }
    assert!(all(&text[..]).0 == lines);
}

#[test]
fn frames_to_be_skipped_are_skipped() {
    let mut packed = b"\x5f\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    packed.extend(zstd(b"a\n"));
    packed.extend(b"\x50\x2a\x4d\x18\0\0\0\0");
    packed.extend(zstd(b"b"));
    assert_eq!(all(&packed[..]).0, [b"a", b"b"]);
}

#[test]
fn whole_lines_before_a_damage_are_read() {
    let (text, lines) = text();
    for pack in [gzip as fn(&[u8]) -> Vec<u8>, zstd] {
        let mut packed = pack(&text);
        packed.extend(pack(b"\nlast"));
        let packed = packed;
        for end in [packed.len() - 1, packed.len() - 5, packed.len() / 2, 40, 11] {
            let (read, after) = all(&packed[..end]);
            assert!(lines.starts_with(&read), "{end}");
            let stop = after.stop().expect("a reason").to_string();
            assert!(stop.contains("damaged or end early"), "{stop}");
        }
        let half = all(&packed[..packed.len() / 2]).0.len();
        assert!(half > 1_000, "{half}");
        // Garbage after the end.
        let mut longer = pack(b"a\nb\n");
        longer.extend(b"garbage");
        let (read, after) = all(&longer[..]);
        assert_eq!(read, [b"a", b"b"]);
        assert!(after.stop().is_some());
    }
}

#[test]
fn ends_of_lines_and_a_mark_are_no_part_of_them() {
    let (read, _) = all(&b"\xef\xbb\xbfa\r\n\r\n\nb\rc\n\xef\xbb\xbfd"[..]);
    let expected: [&[u8]; 5] = [b"a", b"", b"", b"b\rc", b"\xef\xbb\xbfd"];
    assert_eq!(read, expected);
    for empty in [&b""[..], b"\xef\xbb\xbf", &gzip(b"")] {
        assert!(all(empty).0.is_empty());
    }
    assert_eq!(all(&b"\x1f"[..]).0, [b"\x1f"]);
}

#[test]
fn a_line_over_the_limit_is_cut_and_counted() {
    for long in [
        MAX_LINE_BYTES + 1,
        3 * MAX_LINE_BYTES,
        9 * MAX_LINE_BYTES + 5,
    ] {
        for before in [0, 100, MAX_LINE_BYTES, 4 * MAX_LINE_BYTES - 2] {
            let mut text = vec![b'b'; before];
            text.push(b'\n');
            text.extend(vec![b'x'; MAX_LINE_BYTES]);
            text.push(b'\n');
            text.extend(vec![b'y'; long]);
            text.extend(b"\nend");
            let (read, after) = all(&text[..]);
            assert_eq!(read.len(), 4, "{long} {before}");
            assert_eq!(read[1], vec![b'x'; MAX_LINE_BYTES]);
            assert_eq!(read[2], vec![b'y'; MAX_LINE_BYTES]);
            assert_eq!(read[3], b"end");
            let cut = 1 + u64::from(before > MAX_LINE_BYTES);
            assert_eq!(after.cut(), cut, "{long} {before}");
        }
    }
}

/// Gives one byte a call, is interrupted, and fails in the end if it is told to.
struct Slow<'t>(&'t [u8], bool, bool);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        match self.0.split_first() {
            _ if self.1 => Err(io::ErrorKind::Interrupted.into()),
            None if self.2 => Err(io::Error::other("the disk is gone")),
            None => Ok(0),
            Some((first, rest)) => {
                into[0] = *first;
                self.0 = rest;
                Ok(1)
            }
        }
    }
}

#[test]
fn pieces_make_no_difference_and_a_reader_that_fails_is_no_damage() {
    for packed in [b"a\nbc\n".to_vec(), gzip(b"a\nbc\n"), zstd(b"a\nbc\n")] {
        let (read, _) = all(Slow(&packed, false, false));
        assert_eq!(read, [&b"a"[..], b"bc"]);
        let mut lines = Lines::open(Slow(&packed[..packed.len() - 1], false, true));
        let error = loop {
            match lines.as_mut().map(Lines::next) {
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None)) => panic!("an end"),
                Ok(Err(error)) => break error.to_string(),
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(error, "the disk is gone");
    }
}

#[test]
fn the_head_takes_nothing() {
    let (text, lines) = text();
    let mut reader = Lines::open(&text[..]).expect("memory");
    assert_eq!(reader.next().expect("memory"), Some(&lines[0][..]));
    let head = reader.head().expect("memory").to_vec();
    assert!(text[lines[0].len() + 1..].starts_with(&head));
    assert_eq!(head.len(), crawl::input::HEAD_BYTES);
    assert_eq!(reader.next().expect("memory"), Some(&lines[1][..]));
}
