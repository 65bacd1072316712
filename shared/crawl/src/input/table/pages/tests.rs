//! Tests pages whose headers say what is not so.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

const DATA: i32 = 0;
const DICTIONARY: i32 = 2;
const PLAIN: i32 = 0;
const RLE_DICTIONARY: i32 = 8;

/// Writes a field of the compact protocol: the step from the field before, and an i32.
fn i32(out: &mut Vec<u8>, step: u8, value: i32) {
    out.push(step << 4 | 5);
    let mut number = (value << 1 ^ value >> 31) as u32;
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Returns a page: its header, and `packed`.
fn page(kind: i32, values: i32, encoding: i32, unpacked: i32, packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    i32(&mut out, 1, kind);
    i32(&mut out, 1, unpacked);
    i32(&mut out, 1, packed.len() as i32);
    out.push(if kind == DATA {
        2 << 4 | 12
    } else {
        4 << 4 | 12
    });
    i32(&mut out, 1, values);
    i32(&mut out, 1, encoding);
    if kind == DATA {
        i32(&mut out, 1, Encoding::RLE as i32);
        i32(&mut out, 1, Encoding::RLE as i32);
    }
    out.extend([0, 0]);
    out.extend(packed);
    out
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Reads all pages of a column of five rows, of a group with a megabyte. Returns how many there are.
fn read(codec: Codec, column: &[u8]) -> std::result::Result<usize, String> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(column).unwrap();
    let chunk = Chunk {
        from: 0,
        to: column.len() as u64,
        codec,
        unpacked: 0,
    };
    let room = Arc::new(AtomicU64::new(1024 * 1024));
    let mut pages = Pages::new(Arc::new(file), &chunk, false, 5, room);
    let mut count = 0;
    while let Some(page) = pages.get_next_page().map_err(|error| error.to_string())? {
        let most = column.len().max(1_000);
        assert!(page.buffer().len() <= most, "{}", page.buffer().len());
        count += 1;
    }
    Ok(count)
}

#[track_caller]
fn refused(codec: Codec, column: &[u8], reason: &str) {
    let error = read(codec, column).unwrap_err();
    assert!(error.contains(reason), "{error}");
}

#[test]
fn a_page_has_as_many_bytes_as_its_header_says() {
    let text = [7; 20];
    let short = "not as long as its header says";
    let bomb = gzip(&vec![0; 10_000_000]);
    for (codec, packed) in [
        (Codec::Gzip, gzip(&text)),
        (Codec::Gzip, bomb),
        (Codec::Zstd, {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress_to_vec(&text[..], level)
        }),
        (
            Codec::Snappy,
            snap::raw::Encoder::new().compress_vec(&text).unwrap(),
        ),
    ] {
        let column = |size| page(DATA, 5, PLAIN, size, &packed);
        if packed.len() < 1_000 {
            assert_eq!(read(codec, &column(20)), Ok(1), "{codec:?}");
        }
        refused(codec, &column(10), short);
        refused(codec, &column(21_000), short);
    }
    let plain = |size| page(DATA, 5, PLAIN, size, &text);
    assert_eq!(read(Codec::None, &plain(20)), Ok(1));
    refused(Codec::None, &plain(19), "has two sizes");
}

#[test]
fn no_room_is_made_for_more_than_the_limits() {
    let mut column = page(DATA, 5, PLAIN, 1_000_000_000, &[0]);
    refused(Codec::Snappy, &column, "too many");
    column = page(DATA, 5, PLAIN, 20, &[7; 20]);
    column.truncate(column.len() - 1);
    refused(Codec::None, &column, "longer than its column");
    let dictionary = |values| page(DICTIONARY, values, PLAIN, 20, &[7; 20]);
    assert_eq!(read(Codec::None, &dictionary(5)), Ok(1));
    refused(Codec::None, &dictionary(6), "more values than its bytes");
    refused(Codec::None, &dictionary(-1), "less than no values");
    let two = [dictionary(5), dictionary(5)].concat();
    refused(Codec::None, &two, "two dictionaries");
}

#[test]
fn values_fit_the_rows_and_the_dictionary_is_there() {
    let of = |values, encoding| page(DATA, values, encoding, 20, &[7; 20]);
    refused(
        Codec::None,
        &of(6, PLAIN),
        "more values than the row group has rows",
    );
    let more = [of(5, PLAIN), of(1, PLAIN)].concat();
    refused(
        Codec::None,
        &more,
        "more values than the row group has rows",
    );
    refused(Codec::None, &of(5, RLE_DICTIONARY), "needs a dictionary");
    refused(Codec::None, &of(5, 99), "an encoding that there is not");
    let dictionary = page(DICTIONARY, 5, PLAIN, 20, &[7; 20]);
    let both = [dictionary, of(5, RLE_DICTIONARY)].concat();
    assert_eq!(read(Codec::None, &both), Ok(2));
}

#[test]
fn a_header_has_an_end() {
    // A text of many bytes, a list of many lists, and structures within each other.
    let long = [[0x18, 0xff, 0xff, 0xff, 0x7f].to_vec(), vec![0; 2_000_000]].concat();
    refused(Codec::None, &long, "has no end");
    refused(
        Codec::None,
        &[0x19, 0xf9, 0xff, 0xff, 0xff, 0x7f],
        "ends within",
    );
    refused(Codec::None, &[0x1c; 100], "nested too deeply");
    refused(Codec::None, &[0x1e, 0], "a type that there is not");
    let mut page = page(DATA, 5, PLAIN, 20, &[7; 20]);
    page[1] = 0xff;
    refused(Codec::None, &page, "");
    refused(Codec::None, &[0], "of no kind");
}
