//! Tests the reader of `diff` and `import`: foreign listings, in any encoding and compression.

use std::io::{Read, Write};

use check::document::elements::{Elements, Oddities, root_of};
use check::document::input::{Input, Limits};
use check::listing::{self, Listed, Outline, Page, PageError, Reading};
use flate2::{Compression, write::GzEncoder};

use crate::draw::Draw;
use crate::sitemap::Pieces;

/// The most bytes that are inflated of an input, because a bomb may be arbitrarily long.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

type Outcome = (Vec<(bool, Page)>, Result<Outline, String>);

/// Checks an input. The first byte says how a body is transferred, the next two are a limit, and the rest is the body.
pub fn check(data: &[u8]) {
    let mut draw = Draw(data);
    let (is_encoded, limit) = (draw.byte() & 1 == 1, u64::from(draw.u16()));
    let body = draw.0;
    let mut reading = Reading {
        max_bytes: MAX_BYTES,
        address: "https://www.example.com/a/b.xml".to_owned(),
        ..Reading::default()
    };
    reading.transfer.is_encoded = is_encoded;
    let once = listed(body, &reading);
    // A damaged gzip stream gives more or less before the damage is detected.
    let is_packed = body.starts_with(b"\x1f");
    if once.1.is_ok() || !is_packed {
        assert_eq!(once, listed(Pieces(body, 0), &reading), "cut differently");
    }
    if !is_packed {
        reading.max_bytes = limit;
        let (begin, outcome) = listed(body, &reading);
        assert!(once.0.starts_with(&begin), "a part is no beginning");
        if let Ok(text) = std::str::from_utf8(body) {
            // With NULs it may be UTF-16 without a mark, which is shorter as the text that the limit counts.
            let is_short = text.len() as u64 <= limit || text.contains('\0');
            assert!(outcome.is_err() || is_short, "a part passes for all of it");
            reading.max_bytes = MAX_BYTES;
            same_in_any_form(text, &once, &reading);
        }
    }
    written_again(&once);
    trees(body);
}

fn listed(body: impl Read, reading: &Reading) -> Outcome {
    let mut all = Vec::new();
    let outline = listing::read(body, reading, |listed| {
        all.push(match listed {
            Listed::Page(page) => (true, page.clone()),
            Listed::Sitemap(loc) => {
                let loc = loc.to_owned();
                let page = Page {
                    loc,
                    ..Page::default()
                };
                (false, page)
            }
        });
        Ok(())
    });
    if let Ok(outline) = &outline {
        assert_eq!(outline.listed, all.len() as u64);
    }
    assert!(all.iter().all(|(_, page)| !page.loc.is_empty()));
    assert!(
        !matches!(&outline, Err(PageError::Take(_) | PageError::Body(_))),
        "{outline:?}"
    );
    (all, outline.map_err(|error| error.to_string()))
}

/// Checks that the same text gives the same result as gzip and in UTF-16, unless it names an encoding itself, or has NULs: with them its
/// own bytes may be UTF-16 without a mark.
fn same_in_any_form(text: &str, once: &Outcome, reading: &Reading) {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).expect("memory");
    let packed = packed.finish().expect("memory");
    assert_eq!(*once, listed(&packed[..], reading), "as gzip");
    if text.contains("encoding") || text.contains('\0') || text.starts_with('\u{feff}') {
        return;
    }
    let marked = || std::iter::once(0xfeff).chain(text.encode_utf16());
    let little: Vec<u8> = marked().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = marked().flat_map(u16::to_be_bytes).collect();
    for wide in [little, big] {
        let (all, outline) = listed(&wide[..], reading);
        assert_eq!((&all, outline.is_ok()), (&once.0, once.1.is_ok()), "UTF-16");
    }
}

/// Checks that the pages, written as a sitemap, are read as the same pages.
fn written_again((all, _): &Outcome) {
    let mut written = String::new();
    // A line break that is written unescaped would be read as a blank or another line break.
    let is_plain = |text: &str| !text.contains(char::is_control) && text.trim() == text;
    let pages: Vec<_> = all.iter().map(|(_, page)| page).collect();
    let pages: Vec<_> = pages
        .into_iter()
        .filter(|page| is_plain(&page.loc) && is_plain(&page.lastmod))
        .collect();
    for page in &pages {
        let (loc, lastmod) = (escaped(&page.loc), escaped(&page.lastmod));
        written.push_str(&format!(
            "<url><loc>{loc}</loc><lastmod>{lastmod}</lastmod></url>"
        ));
    }
    let mut again = Vec::new();
    let reading = Reading {
        max_bytes: u64::MAX,
        ..Reading::default()
    };
    let outline = listing::read_entries(&written, &reading, |listed| {
        if let Listed::Page(page) = listed {
            again.push((page.loc.clone(), page.lastmod.clone()));
        }
        Ok(())
    });
    assert!(outline.is_ok(), "{outline:?}");
    let said = |page: &&Page| (page.loc.clone(), page.lastmod.clone());
    assert_eq!(again, pages.iter().map(said).collect::<Vec<_>>());
}

fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}

/// Checks that a document that is read without tolerating oddities is read the same when they are tolerated.
fn trees(body: &[u8]) {
    let limits = Limits {
        bytes: MAX_BYTES,
        piece: MAX_BYTES / 4,
    };
    let all = |oddities| {
        let mut elements = Elements::open(Input::open(body, limits), oddities).ok()?;
        let mut all = vec![elements.root().to_owned()];
        while let Some(element) = elements.next().ok()? {
            all.push(format!("{element:?}"));
        }
        Some(all)
    };
    if let Some(strict) = all(Oddities::Refused) {
        assert_eq!(Some(strict), all(Oddities::Kept));
    }
    let _ = root_of(&body[..body.len().min(1024)]);
    let mut input = Input::open(body, limits);
    let (mut line, mut at) = (Vec::new(), input.line());
    while let Ok(true) = input.read_line(&mut line) {
        assert!(!line.contains(&b'\n') && input.line() >= at);
        at = input.line();
    }
    assert!(input.read_line(&mut line).is_err() || input.stop().is_none());
}
