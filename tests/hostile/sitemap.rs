//! Foreign sitemaps, pages and robots.txt, as `waymark check` reads them.

use std::io::Read;
use std::sync::Arc;

use check::document::sample::Page;
use check::document::{About, read};
use check::findings::{Findings, Policy};
use check::listing::comparison::{Comparison, Fields, Side};
use check::listing::{self, Listed, Reading};
use check::page::response::Response;
use check::page::{self, Canonical, Nonsense};
use check::robots::Robots;
use check::rules::{Profile, Rule};
use check::site::Site;

/// The most bytes that are inflated of an input, because a bomb may be arbitrarily long.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A reader in pieces of another size each time. The findings must not depend on the pieces.
pub(crate) struct Pieces<'a>(pub(crate) &'a [u8], pub(crate) usize);

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let count = self.1.min(self.0.len()).min(out.len());
        let (piece, rest) = self.0.split_at(count);
        out[..count].copy_from_slice(piece);
        self.0 = rest;
        Ok(count)
    }
}

/// Checks that any document is read to an end, and that the findings do not depend on its transfer.
pub fn check(data: &[u8]) {
    let policy = Arc::new(Policy::of(&Profile::ALL));
    let now = 1_795_550_400;
    let text = Robots::read(
        data,
        &"/robots.txt".into(),
        &mut Findings::new(policy.clone()),
    );
    let mut about = About::new("https://www.example.com/a.xml.gz", policy.clone(), now);
    about.max_bytes = MAX_BYTES;
    about.draw = 3;
    about.robots = Some(Arc::new(text));
    let document = read(data, &about);
    let again = read(Pieces(data, 0), &about);
    // How much of a damaged body is inflated before the damage is detected depends on the pieces.
    if document.is_whole || !data.starts_with(b"\x1f") {
        assert_eq!(document.findings.kept(), again.findings.kept());
        assert_eq!(
            (document.kind, document.entries, document.bytes),
            (again.kind, again.entries, again.bytes)
        );
    }
    for finding in document.findings.kept() {
        assert!(finding.at.is_none_or(|at| at.line > 0 && at.column > 0));
        assert!(!finding.message.is_empty() && finding.message.len() < 100_000);
    }
    // A complete document in UTF-8 without a fault is XML for another parser, or a list of URLs.
    let mut findings = document.findings.kept().iter();
    let is_invalid = findings.any(|one| one.invalid || one.rule == Rule::FileWellformed);
    if document.is_whole && !is_invalid && data.starts_with(b"<") {
        let mut reader = quick_xml::Reader::from_reader(data);
        let mut depth = 0_i64;
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            match reader.read_event_into(&mut buffer).expect("well-formed") {
                quick_xml::events::Event::Start(_) => depth += 1,
                quick_xml::events::Event::End(_) => depth -= 1,
                quick_xml::events::Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(depth, 0);
    }
    compare(data);
    let mut site = Site::new(policy.clone(), std::env::temp_dir());
    site.add(document, None).expect("sorted");
    site.add(again, None).expect("sorted");
    let drawn = site.take_drawn();
    assert!(drawn.len() <= 3);
    site.finish(&"https://www.example.com".into(), None)
        .expect("sorted");
    for page in &drawn {
        judge(page, data, &policy);
    }
}

/// Checks that listed pages do not depend on the transfer, and that a listing does not differ from itself.
fn compare(data: &[u8]) {
    let reading = Reading {
        max_bytes: MAX_BYTES,
        ..Reading::default()
    };
    for is_exact in [false, true] {
        let mut comparison = Comparison::new(std::env::temp_dir(), is_exact);
        let mut read_as = |side, body: &mut dyn Read| {
            let outcome = listing::read(body, &reading, |listed| match listed {
                Listed::Page(page) => comparison.add(side, 0, page),
                Listed::Sitemap(loc) => {
                    assert!(!loc.is_empty());
                    Ok(())
                }
            });
            outcome.map_err(|error| error.to_string())
        };
        let once = read_as(Side::A, &mut { data });
        let again = read_as(Side::B, &mut Pieces(data, 0));
        let counts = comparison.finish(&Fields::default(), |_, _| false, |_, _| Ok(()));
        let counts = counts.expect("sorted");
        // As above, more or less of a damaged body may be inflated.
        if once.is_ok() || !data.starts_with(b"\x1f") {
            assert_eq!(once, again);
            assert_eq!((counts.gone, counts.new, counts.changed), (0, 0, 0));
            assert_eq!(counts.respelled, 0);
        }
    }
}

/// Checks the answer for a page with any body.
fn judge(page: &Page, data: &[u8], policy: &Arc<Policy>) {
    let head = String::from_utf8_lossy(&data[..data.len().min(200)]).into_owned();
    let response = Response {
        content_type: Some("text/html".to_owned()),
        robots_tags: vec![head.clone()],
        link: Some(head),
        ..Response::new(200)
    };
    let mut findings = Findings::new(policy.clone());
    let nonsense = Nonsense {
        url: page::nonsense("https://www.example.com"),
        response: response.clone(),
        body: data.repeat(2),
    };
    let now = 1_800_000_000;
    let canonical = page::judge(page, &response, data, Some(&nonsense), now, &mut findings);
    if let Some(url) = canonical {
        let canonical = Canonical::Answered(response);
        page::elsewhere(page, &url, &canonical, &mut findings);
    }
    assert!(findings.kept().len() <= 5);
}
