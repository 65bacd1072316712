//! Tests of compressed, encoded, cut and over-large bodies.

use std::io::Write as _;

use super::*;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    gzip.finish().unwrap()
}

fn lines(body: &[u8]) -> io::Result<Vec<String>> {
    let mut input = Input::open(body, Limits::NONE);
    let (mut line, mut lines) = (Vec::new(), Vec::new());
    while input.read_line(&mut line)? {
        lines.push(String::from_utf8(line.clone()).unwrap());
    }
    assert_eq!(input.line(), 3);
    Ok(lines)
}

#[test]
fn a_body_is_read_by_lines_whatever_its_packing_is() {
    let plain = b"a\r\n\nb";
    let marked = [b"\xef\xbb\xbf", &plain[..]].concat();
    let two = [gzip(&plain[..3]), gzip(&plain[3..])].concat();
    for body in [
        plain,
        &marked[..],
        &gzip(&marked),
        &gzip(&gzip(&marked)),
        &two,
    ] {
        assert_eq!(lines(body).unwrap(), ["a", "", "b"], "{body:?}");
        let mut input = Input::open(body, Limits::NONE);
        assert_eq!(input.head(2), b"a\r");
        assert_eq!(input.head(100), plain);
    }
}

#[test]
fn what_cannot_be_read_to_its_end_never_ends_as_if_it_were_whole() {
    let whole = gzip(
        &(0..100_000_u32)
            .flat_map(u32::to_be_bytes)
            .collect::<Vec<_>>(),
    );
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 0xff;
    damaged[whole.len() / 2 + 1] ^= 0xff;
    let limits = Limits {
        bytes: 3 * 1024 * 1024,
        piece: 2 * 1024 * 1024,
    };
    let long = io::repeat(b'x').take(2 * 1024 * 1024 + 1);
    let cases: [(Box<dyn Read>, Stop, &str); 7] = [
        (Box::new(&whole[..whole.len() - 9]), Stop::CutGzip, ""),
        (Box::new(&whole[..5]), Stop::CutGzip, ""),
        (Box::new(&damaged[..]), Stop::BadGzip, ""),
        (
            Box::new((&whole[..]).chain(&b"junk"[..])),
            Stop::BadGzip,
            "bytes follow the end",
        ),
        (
            Box::new(long.chain(Failing)),
            Stop::LongPiece,
            "a piece of it is longer than 2 MiB",
        ),
        (Box::new(Failing), Stop::Body, "no such disk"),
        (
            Box::new((&b"ab"[..]).chain(Failing)),
            Stop::Body,
            "no such disk",
        ),
    ];
    for (body, stop, message) in cases {
        let mut input = Input::open(body, limits);
        input.head(100);
        let error = io::copy(&mut input, &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains(message), "{stop:?}: {error}");
        assert_eq!(input.stop(), Some(stop), "{error}");
        io::copy(&mut input, &mut io::sink()).unwrap_err();
    }
    let mut input = Input::open(io::repeat(b'\n'), limits);
    let mut line = Vec::new();
    let error = loop {
        match input.read_line(&mut line) {
            Ok(is_line) => assert!(is_line),
            Err(error) => break error,
        }
    };
    assert_eq!(error.to_string(), "it has more than 3 MiB");
    assert_eq!(input.stop(), Some(Stop::TooLarge));
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("no such disk"))
    }
}

/// Returns a document in UTF-16, with or without a byte order mark.
fn utf_16(text: &str, mark: bool, is_big: bool) -> Vec<u8> {
    let mark = mark.then_some('\u{feff}');
    let text: String = mark.into_iter().chain(text.chars()).collect();
    let bytes = |unit: u16| match is_big {
        true => unit.to_be_bytes(),
        false => unit.to_le_bytes(),
    };
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn what_says_its_encoding_is_made_utf_8() {
    let xml = "<?xml version='1.0' encoding='UTF-16'?>\n<a>caf\u{e9} \u{1f525}</a>";
    let long = "https://a.example/\u{e9}\u{20ac}\u{1f525}\n".repeat(9_000);
    let latin = |name: &str, text: &[u8]| {
        let begin = format!("<?xml version=\"1.0\" encoding=\"{name}\"?>");
        [begin.as_bytes(), text].concat()
    };
    let read = |body: &[u8]| {
        let mut input = Input::open(body, Limits::NONE);
        let mut text = String::new();
        input.read_to_string(&mut text).unwrap();
        (text, input.encoding)
    };
    for (mark, is_big, name) in [
        (true, false, "UTF-16LE"),
        (true, true, "UTF-16BE"),
        (false, false, "UTF-16LE"),
        (false, true, "UTF-16BE"),
    ] {
        for text in [xml, &long, "https://a.example/", "id,url\n1,\u{e9}"] {
            let body = utf_16(text, mark, is_big);
            let expected = (text.to_owned(), Some(name));
            assert_eq!(read(&body), expected, "{mark} {is_big}");
            assert_eq!(read(&gzip(&body)), expected, "{mark} {is_big}");
        }
    }
    for (name, text, expected, encoding) in [
        (
            "ISO-8859-1",
            &b"<a>caf\xe9</a>"[..],
            "<a>caf\u{e9}</a>",
            Some("windows-1252"),
        ),
        (
            "windows-1252",
            b"<a>\x80 \x96</a>",
            "<a>\u{20ac} \u{2013}</a>",
            Some("windows-1252"),
        ),
        (
            "iso-8859-15",
            b"<a>\xa4</a>",
            "<a>\u{20ac}</a>",
            Some("ISO-8859-15"),
        ),
        (
            "Shift_JIS",
            b"<a>\x93\xfa</a>",
            "<a>\u{65e5}</a>",
            Some("Shift_JIS"),
        ),
        ("utf-8", "<a>\u{e9}</a>".as_bytes(), "<a>\u{e9}</a>", None),
        // ASCII is a subset of UTF-8, and this cannot be UTF-16.
        (
            "us-ascii",
            "<a>\u{e9}</a>".as_bytes(),
            "<a>\u{e9}</a>",
            None,
        ),
        ("utf-16", "<a>\u{e9}</a>".as_bytes(), "<a>\u{e9}</a>", None),
        ("nobodys", "<a>\u{e9}</a>".as_bytes(), "<a>\u{e9}</a>", None),
    ] {
        let (read, found) = read(&latin(name, text));
        assert_eq!(read.split_once("?>").unwrap().1, expected, "{name}");
        assert_eq!(found, encoding, "{name}");
    }
    // A byte order mark of UTF-8 takes precedence over a declaration.
    let marked = [
        b"\xef\xbb\xbf",
        &latin("ISO-8859-1", "\u{e9}".as_bytes())[..],
    ]
    .concat();
    assert_eq!(read(&marked).1, None);
}

#[test]
fn lines_are_counted_as_they_are_decoded() {
    let mut input = Input::open(Cursor::new(utf_16("\u{e9}a\nb", true, false)), Limits::NONE);
    let mut line = Vec::new();
    assert!(input.read_line(&mut line).unwrap());
    assert_eq!((line.as_slice(), input.line()), ("\u{e9}a".as_bytes(), 2));
    assert!(!input.has_bom());
}

#[test]
fn what_is_not_in_its_encoding_ends_where_that_is_seen() {
    let half = utf_16("<a>\u{1f525}", true, false);
    let shift_jis = b"<?xml version='1.0' encoding='shift_jis'?><a>\x93";
    for (body, name, before) in [
        (&half[..half.len() - 2], "UTF-16LE", "<a>"),
        (&half[..half.len() - 1], "UTF-16LE", "<a>"),
        (&half[..5], "UTF-16LE", "<"),
        (shift_jis, "Shift_JIS", "<a>"),
    ] {
        let mut input = Input::open(body, Limits::NONE);
        let mut text = Vec::new();
        let error = input.read_to_end(&mut text).unwrap_err();
        assert!(text.ends_with(before.as_bytes()), "{text:?}");
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(input.stop(), Some(Stop::BadText(name)));
        input.read_to_end(&mut text).unwrap_err();
    }
    // A body that fails before its encoding is known.
    let mut input = Input::open((&b"<?xml"[..]).chain(Failing), Limits::NONE);
    let error = io::copy(&mut input, &mut io::sink()).unwrap_err();
    assert_eq!(error.to_string(), "no such disk");
    let mut input = Input::open((&b"\xff\xfe<\0a"[..]).chain(Failing), Limits::NONE);
    let error = io::copy(&mut input, &mut io::sink()).unwrap_err();
    assert_eq!(error.to_string(), "no such disk");
}
