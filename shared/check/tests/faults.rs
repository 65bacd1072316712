//! Tests of each rule. A document with a single fault breaks this rule and no other, and valid documents break none.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use check::document::{About, Document, Kind, read};
use check::findings::Policy;
use check::page::response::{End, Response};
use check::rules::{Profile, Rule};
use check::site::{Listing, Site};
use check::url::Scope;

/// 2026-11-24T20:00:00Z
const NOW: i64 = 1_795_550_400;
const ORIGIN: &str = "https://www.example.com";

fn about(file: &str) -> About {
    let url = format!("{ORIGIN}/{file}");
    let mut about = About::new(&url, Arc::new(Policy::of(&Profile::ALL)), NOW);
    about.scope = Scope::of(&url);
    about.is_fetched = true;
    about
}

fn rules(document: &Document) -> Vec<Rule> {
    let kept = document.findings.kept();
    kept.iter().map(|finding| finding.rule).collect()
}

#[track_caller]
fn check(body: &[u8], expected: &[Rule]) -> Document {
    let document = read(body, &about("sitemap.xml"));
    let shown = String::from_utf8_lossy(&body[..body.len().min(600)]);
    let found = document.findings.kept();
    assert_eq!(rules(&document), expected, "{shown}\n{found:#?}");
    document
}

fn urlset(entries: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\" \
         xmlns:news=\"http://www.google.com/schemas/sitemap-news/0.9\" \
         xmlns:video=\"http://www.google.com/schemas/sitemap-video/1.1\" \
         xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n{entries}\n</urlset>\n"
    )
}

fn index(entries: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{entries}</sitemapindex>"
    )
}

/// Returns an entry with this text after its loc.
fn entry(rest: &str) -> String {
    urlset(&format!("<url><loc>{ORIGIN}/a/</loc>{rest}</url>"))
}

fn loc(text: &str) -> String {
    urlset(&format!("<url><loc>{text}</loc></url>"))
}

const VIDEO: &str = "<video:thumbnail_loc>https://i.example/1.jpg</video:thumbnail_loc>\
    <video:title>A film</video:title><video:description>About it</video:description>\
    <video:content_loc>https://v.example/1.mp4</video:content_loc>";

fn video(rest: &str) -> String {
    entry(&format!("<video:video>{VIDEO}{rest}</video:video>"))
}

fn news(language: &str, date: &str, rest: &str) -> String {
    format!(
        "<news:news><news:publication><news:name>N</news:name><news:language>{language}</news:language>\
         </news:publication><news:publication_date>{date}</news:publication_date><news:title>T</news:title>{rest}\
         </news:news>"
    )
}

fn link(language: &str, path: &str) -> String {
    format!("<xhtml:link rel=\"alternate\" hreflang=\"{language}\" href=\"{ORIGIN}{path}\"/>")
}

/// Returns a sitemap whose elements have a prefix.
fn prefixed(body: &str) -> String {
    let body = body.replace("xmlns=", "xmlns:sm=");
    ["urlset", "url", "loc"].iter().fold(body, |body, name| {
        let body = body.replace(&format!("<{name}>"), &format!("<sm:{name}>"));
        let body = body.replace(&format!("<{name} "), &format!("<sm:{name} "));
        body.replace(&format!("</{name}>"), &format!("</sm:{name}>"))
    })
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn sound_documents_give_nothing() {
    for body in [
        loc("https://www.example.com/?a=1&amp;b=%C3%A4"),
        entry("<lastmod>2026-11-20</lastmod>"),
        entry("<lastmod>2026-11-20T10:00:00+01:00</lastmod>"),
        entry("<image:image><image:loc>https://i.example/1.jpg</image:loc></image:image>"),
        entry(&news("en", "2026-11-24T10:00:00Z", "")),
        entry(&news(
            "zh-cn",
            "2026-11-23",
            "<news:keywords>a, b</news:keywords>",
        )),
        entry(&(link("de", "/a/") + &link("en-GB", "/en/a/") + &link("x-default", "/"))),
        entry(
            "<xhtml:link rel=\"alternate\" media=\"handheld\" href=\"https://m.example.com/a/\"/>",
        ),
        video(""),
        video(
            "<video:duration>60</video:duration><video:rating>4.5</video:rating><video:tag>a</video:tag>\
             <video:tag>b</video:tag><video:restriction relationship=\"deny\">DE AT</video:restriction>\
             <video:uploader info=\"https://v.example/me\">Me</video:uploader><video:live>no</video:live>",
        ),
        index(
            "<sitemap><loc>https://www.example.com/post-sitemap.xml</loc><lastmod>2026-11-20</lastmod></sitemap>",
        ),
        "https://www.example.com/a\r\nhttps://www.example.com/b\r\n".to_owned(),
        "<rss version=\"2.0\"><channel><title>t</title><link>x</link><item><title>t</title>\
         <link>https://www.example.com/a</link></item></channel></rss>"
            .to_owned(),
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><link href=\"x\"/><entry>\
         <link rel=\"edit\" href=\"y\"/><link href=\"https://www.example.com/a\"/>\
         <updated>2026-11-20T10:00:00Z</updated></entry></feed>"
            .to_owned(),
        urlset("<!-- a comment --><?php x ?><url>\n<loc>https://www.example.com/b/</loc></url>"),
    ] {
        let document = check(body.as_bytes(), &[]);
        assert!(document.is_whole && document.entries == 1 || document.kind == Kind::Text);
        assert_eq!(document.bytes, body.len() as u64);
    }
}

#[test]
fn each_fault_of_a_document_gives_its_rule_alone() {
    let many = |count: usize, rest: &str| {
        let mut entries = String::new();
        for n in 0..count {
            write!(entries, "<url><loc>{ORIGIN}/{n}/</loc>{rest}</url>").unwrap();
        }
        urlset(&entries)
    };
    let images =
        "<image:image><image:loc>https://i.example/1.jpg</image:loc></image:image>".repeat(1_001);
    let long = "a".repeat(2_100);
    let small = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">";
    for (body, rule) in [
        (String::new(), Rule::FileWellformed),
        ("{\"a\": 1}".into(), Rule::FileWellformed),
        (
            "<!DOCTYPE html><html><body>no</body></html>".into(),
            Rule::FileHtml,
        ),
        (
            "<!-- x --><html><body>no</body></html>".into(),
            Rule::FileHtml,
        ),
        (format!("\u{feff}{}", entry("")), Rule::FileBom),
        (format!("\u{feff}{ORIGIN}/a\n"), Rule::FileBom),
        (format!("\n{}", entry("")), Rule::FileWellformed),
        (
            entry("").replace("UTF-8", "ISO-8859-1"),
            Rule::FileWellformed,
        ),
        (entry("").replace("</url>", "</urll>"), Rule::FileWellformed),
        (
            entry("<lastmod>&nbsp;</lastmod>")
                .replace("<lastmod>&nbsp;</lastmod>", "<!--&nbsp;-->&nbsp;"),
            Rule::FileWellformed,
        ),
        (entry("<!-- a -- b -->"), Rule::FileWellformed),
        (
            entry("").replace("<url>", "<url a=1>"),
            Rule::FileWellformed,
        ),
        (format!("{}<x/>", entry("")), Rule::FileWellformed),
        (format!("{}text", entry("")), Rule::FileWellformed),
        (
            loc("https://www.example.com/\u{1}/").replace('\u{1}', "a") + "&amp;",
            Rule::FileWellformed,
        ),
        (
            format!(
                "<!DOCTYPE urlset [<!ENTITY a \"b\">]>{small}<url><loc>{ORIGIN}/&a;</loc></url></urlset>"
            ),
            Rule::FileEntity,
        ),
        (
            entry("").replace("<urlset", "<!DOCTYPE urlset SYSTEM \"x\"><urlset"),
            Rule::FileDtd,
        ),
        (
            entry(&(link("de", "/a/") + &link("en", "/b/?c&c;d")))
                .replace("<urlset", "<!DOCTYPE urlset [<!ENTITY c \"\">]><urlset"),
            Rule::FileEntity,
        ),
        (
            entry("").replace("</url>\n</urlset>\n", ""),
            Rule::FileTruncated,
        ),
        (
            entry("").replace("</urlset>\n", "</url"),
            Rule::FileTruncated,
        ),
        (video("<video:rating>6</video:rating>"), Rule::FileSchema),
        (entry("<width>1</width>"), Rule::FileSchema),
        (
            entry("<loc>https://www.example.com/b/</loc>"),
            Rule::FileSchema,
        ),
        (entry("text"), Rule::FileSchema),
        (
            urlset("<url a=\"b\"><loc>https://www.example.com/</loc></url>"),
            Rule::FileSchema,
        ),
        (
            urlset("<url><lastmod>2026-11-20</lastmod></url>"),
            Rule::FileSchema,
        ),
        (
            entry("").replace("sitemap/0.9", "sitemap/0.8"),
            Rule::FileSchema,
        ),
        ("<list><url/></list>".into(), Rule::FileSchema),
        (urlset(""), Rule::IndexEmpty),
        (index(""), Rule::IndexEmpty),
        (many(50_001, ""), Rule::FileLimits),
        (many(47_501, ""), Rule::FileNear),
        (loc("https://example.com/b/c/"), Rule::LocHost),
        (loc("https://www.example.com/a b"), Rule::LocForm),
        (loc("https://www.example.com/caf\u{e9}/"), Rule::LocSpelling),
        (loc("https://WWW.example.com/a/"), Rule::LocSpelling),
        (loc("https://www.example.com/a/#top"), Rule::LocSpelling),
        (
            loc("<![CDATA[https://www.example.com/a]]>"),
            Rule::LocEscape,
        ),
        (loc("https://www.example.com/&#97;"), Rule::LocEscape),
        (loc(" https://www.example.com/a\n"), Rule::LocEscape),
        (loc("https://www.example.com/a<!-- a -->b"), Rule::LocEscape),
        (loc("https://www.example.com/a<?a b?>b"), Rule::LocEscape),
        (
            prefixed(&loc("https://www.example.com/a")),
            Rule::FilePrefix,
        ),
        (
            "<rss version=\"2.0\"><channel><item><title>t</title></item></channel></rss>".into(),
            Rule::LocAbsent,
        ),
        (
            loc("https://www.example.com/a%2520b"),
            Rule::LocDoubleEncoded,
        ),
        (
            loc(&format!("https://www.example.com/{long}")),
            Rule::LocLength,
        ),
        (loc(""), Rule::LocLength),
        (
            urlset(&format!(
                "<url><loc>{ORIGIN}/a/</loc></url><url><loc>{ORIGIN}/a/</loc></url>"
            )),
            Rule::LocDup,
        ),
        (
            loc("https://www.example.com/?utm_source=x"),
            Rule::LocTracking,
        ),
        (entry("<lastmod>2026-11</lastmod>"), Rule::LastmodW3c),
        (
            entry("<lastmod>2026-11-20T10:20Z</lastmod>"),
            Rule::LastmodW3c,
        ),
        (
            entry("<lastmod>2026-11-20+01:00</lastmod>"),
            Rule::LastmodW3c,
        ),
        (entry("<lastmod>yesterday</lastmod>"), Rule::LastmodW3c),
        (entry("<lastmod>2026-11-27</lastmod>"), Rule::LastmodFuture),
        (
            entry("<lastmod>2026-11-20T10:20:30</lastmod>"),
            Rule::LastmodZone,
        ),
        (many(50, "<lastmod>2026-11-20</lastmod>"), Rule::LastmodSame),
        (
            many(3, "<lastmod>2026-11-24T19:59:58Z</lastmod>"),
            Rule::LastmodNow,
        ),
        (entry(&images), Rule::ExtImage),
        (
            entry("<image:image><image:loc>/1.jpg</image:loc></image:image>"),
            Rule::ExtImage,
        ),
        (entry("<image:image></image:image>"), Rule::ExtImage),
        (
            entry(
                "<image:image><image:loc>https://i.example/1</image:loc><image:title>t</image:title></image:image>",
            ),
            Rule::ExtImageDead,
        ),
        (
            entry(
                "<image:image><image:loc>https://i.example/1</image:loc></image:image><lastmod>2026-11-20</lastmod>",
            ),
            Rule::ExtOrder,
        ),
        (
            video("<video:live>no</video:live><video:duration>6</video:duration>"),
            Rule::ExtOrder,
        ),
        (
            video("").replace("<video:title>A film</video:title>", ""),
            Rule::ExtVideoRequired,
        ),
        (
            video("").replace(
                "<video:content_loc>https://v.example/1.mp4</video:content_loc>",
                "",
            ),
            Rule::ExtVideoRequired,
        ),
        (
            video("<video:duration>28801</video:duration>"),
            Rule::FileSchema,
        ),
        (
            video("<video:platform>web</video:platform>"),
            Rule::FileSchema,
        ),
        (
            video(&"<video:tag>a</video:tag>".repeat(33)),
            Rule::FileSchema,
        ),
        (
            video("<video:category>a</video:category>"),
            Rule::ExtVideoDead,
        ),
        (entry(&news("en", "2026-11-20", "")), Rule::ExtNewsAge),
        (
            many(1_001, &news("en", "2026-11-24", "")),
            Rule::ExtNewsCount,
        ),
        (
            entry(&news("en-GB", "2026-11-24", "")),
            Rule::ExtNewsLanguage,
        ),
        (
            entry(&(link("de", "/a/") + &link("en_GB", "/en/"))),
            Rule::ExtHreflangCode,
        ),
        (
            entry(&(link("de", "/a/") + &link("xx", "/en/"))),
            Rule::ExtHreflangCode,
        ),
        (
            entry(&(link("de", "/a/") + &link("en-UK", "/en/"))),
            Rule::ExtHreflangCode,
        ),
        (
            entry("<xhtml:link rel=\"alternate\" href=\"https://www.example.com/en/\"/>"),
            Rule::ExtHreflangCode,
        ),
        (
            entry("<xhtml:link rel=\"alternate\" hreflang=\"en\"/>"),
            Rule::ExtLink,
        ),
        (
            entry("<xhtml:link rel=\"alternate\" media=\"handheld\"/>"),
            Rule::ExtLink,
        ),
        (entry(&link("de", "/b/")), Rule::ExtHreflangSelf),
        (
            entry(&(link("de-AT", "/a/") + &link("de-at", "/b/"))),
            Rule::ExtHreflangTwo,
        ),
        (
            urlset(&format!(
                "<script xmlns=\"urn:x\"/><url><loc>{ORIGIN}/a/</loc></url>"
            )),
            Rule::ExtForeign,
        ),
        (entry("<a xmlns=\"urn:x\">b</a>"), Rule::ExtForeign),
        (entry("<priority>0.5</priority>"), Rule::ExtIgnored),
        (
            index("<sitemap><loc>https://a.example/sitemap.xml</loc></sitemap>"),
            Rule::IndexScope,
        ),
        (
            index(&"<sitemap><loc>https://www.example.com/a.xml</loc></sitemap>".repeat(2)),
            Rule::IndexDup,
        ),
    ] {
        let document = read(body.as_bytes(), &about("sitemap.xml"));
        let mut found = rules(&document);
        // One fault may be reported twice, like an element that is not closed.
        found.dedup();
        let shown = &body[..body.floor_char_boundary(600)];
        assert_eq!(found, [rule], "{shown}\n{:#?}", document.findings.kept());
    }
}

#[test]
fn what_does_no_harm_is_told_to_those_who_ask() {
    let body = entry("<changefreq>daily</changefreq><priority>0.5</priority>");
    for (profiles, expected) in [(&Profile::DEFAULT[..], 0), (&[Profile::Waymark], 1)] {
        let mut about = about("sitemap.xml");
        about.policy = Arc::new(Policy::of(profiles));
        let document = read(body.as_bytes(), &about);
        assert_eq!(document.findings.count(Rule::ExtIgnored), expected);
    }
}

#[test]
fn a_place_is_a_line_and_a_column_of_characters() {
    let body = urlset("<!-- ü\u{2028} --><url><loc>https://www.example.com/a b</loc>\n</url>");
    let document = check(body.as_bytes(), &[Rule::LocForm]);
    let at = document.findings.kept()[0].at.unwrap();
    assert_eq!((at.line, at.column), (3, 17));
}

#[test]
fn gzip_is_one_whole_layer_that_says_so() {
    let body = entry("");
    let packed = gzip(body.as_bytes());
    let twice = gzip(&packed);
    let two = [&packed[..], &packed[..]].concat();
    let trailing = [&packed[..], b"xx"].concat();
    let cut = &packed[..packed.len() - 20];
    let mut damaged = packed.clone();
    let at = damaged.len() - 6;
    damaged[at] ^= 1;
    for (bytes, encoded, named, expected) in [
        (&packed[..], true, false, &[][..]),
        (&packed, false, true, &[]),
        (body.as_bytes(), false, true, &[]),
        (&packed, false, false, &[Rule::FileGzip]),
        (body.as_bytes(), true, false, &[Rule::FileGzip]),
        (&twice, true, true, &[Rule::FileGzip]),
        (&twice, false, true, &[Rule::FileGzip]),
        (&trailing, false, true, &[Rule::FileGzip]),
        (&damaged, false, true, &[Rule::FileGzip]),
        (cut, false, true, &[Rule::FileTruncated]),
        (cut, true, false, &[Rule::FileTruncated]),
    ] {
        let mut about = about("a.xml");
        about.transfer.is_encoded = encoded;
        about.is_named_gz = named;
        let document = read(bytes, &about);
        assert_eq!(rules(&document), expected, "{:?}", document.findings.kept());
    }
    // The whole file has two roots.
    let document = read(&two[..], &about("a.xml.gz"));
    assert!(rules(&document).contains(&Rule::FileGzip));
}

#[test]
fn what_has_no_end_is_read_to_a_limit() {
    // 100 MB of the letter a, as one text, in 100 kB.
    let bomb = gzip(&[entry("").into_bytes(), vec![b'a'; 100_000_000]].concat());
    let document = read(&bomb[..], &about("a.xml.gz"));
    assert!(rules(&document).contains(&Rule::FileLimits));
    assert!(document.bytes < 3_000_000, "{}", document.bytes);

    let endless = std::io::Read::chain(
        &b"<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"[..],
        Repeat(b"<url><loc>https://www.example.com/a/b</loc></url>\n", 0),
    );
    let mut about = about("a.xml");
    about.max_bytes = 1_000_000;
    let document = read(endless, &about);
    assert!(rules(&document).contains(&Rule::FileLimits));
    assert!(document.bytes < 1_200_000 && !document.is_whole);

    let deep = format!("<urlset>{}", "<a>".repeat(100_000));
    let deep = deep.replace(
        "<urlset>",
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">",
    );
    let document = read(deep.as_bytes(), &self::about("a.xml"));
    assert!(rules(&document).contains(&Rule::FileLimits));
}

/// An endless repetition of these bytes.
struct Repeat(&'static [u8], usize);

impl std::io::Read for Repeat {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        for byte in out.iter_mut() {
            *byte = self.0[self.1];
            self.1 = (self.1 + 1) % self.0.len();
        }
        Ok(out.len())
    }
}

#[track_caller]
fn check_site(documents: &[(&str, String)], listing: Option<&str>, expected: &[Rule]) {
    let mut site = Site::new(
        Arc::new(Policy::of(&Profile::DEFAULT)),
        std::env::temp_dir(),
    );
    for (file, body) in documents {
        let listing = listing.map(|lastmod| Listing {
            index: "index.xml".into(),
            at: None,
            lastmod: lastmod.parse().ok(),
        });
        site.add(read(body.as_bytes(), &about(file)), listing.as_ref())
            .unwrap();
    }
    let (findings, totals) = site.finish(&ORIGIN.into(), None).unwrap();
    let rules: Vec<_> = findings.kept().iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, expected, "{:#?}", findings.kept());
    assert_eq!(totals.sitemaps + totals.indexes, documents.len() as u64);
}

#[test]
fn each_fault_between_documents_gives_its_rule_alone() {
    let page = |path: &str, rest: &str| {
        urlset(&format!(
            "<url><loc>{ORIGIN}{path}</loc><lastmod>2026-11-20T10:00:00Z</lastmod>{rest}</url>"
        ))
    };
    check_site(
        &[("a.xml", page("/a/", "")), ("b.xml", page("/b/", ""))],
        None,
        &[],
    );
    check_site(
        &[("a.xml", page("/a/", "")), ("b.xml", page("/a/", ""))],
        None,
        &[Rule::LocDupAcross],
    );
    // Sitemaps of videos and of news list pages again. Two of the same kind must not, nor must they list a page again that has a
    // video.
    let video = "<video:video><video:thumbnail_loc>https://www.example.com/a.jpg</video:thumbnail_loc><video:title>A</video:title>\
        <video:description>A</video:description><video:content_loc>https://www.example.com/a.mp4</video:content_loc></video:video>";
    let plain = page("/a/", "");
    let films = page("/a/", video);
    let mixed = urlset(&format!(
        "<url><loc>{ORIGIN}/a/</loc><lastmod>2026-11-20T10:00:00Z</lastmod>{video}</url>\
         <url><loc>{ORIGIN}/b/</loc><lastmod>2026-11-20T10:00:01Z</lastmod></url>"
    ));
    let files = |texts: &[&String]| -> Vec<(&'static str, String)> {
        let names = ["a.xml", "b.xml", "c.xml"];
        let texts = texts.iter().map(|text| (*text).clone());
        names.into_iter().zip(texts).collect()
    };
    for (documents, expected) in [
        (files(&[&plain, &films]), &[][..]),
        (files(&[&films, &plain]), &[]),
        (files(&[&films, &plain, &plain]), &[Rule::LocDupAcross]),
        (files(&[&films, &films]), &[Rule::LocDupAcross]),
        (files(&[&plain, &mixed]), &[Rule::LocDupAcross]),
    ] {
        check_site(&documents, None, expected);
    }
    check_site(
        &[("a.xml", page("/a/", "")), ("b.xml", page("/A", ""))],
        None,
        &[Rule::LocVariants],
    );
    // Ids that differ in case are different pages.
    check_site(
        &[("a.xml", page("/p/aB3", "")), ("b.xml", page("/p/Ab3", ""))],
        None,
        &[],
    );
    // A sitemap lists itself, another one that was read, or one that an index names.
    let names_c = || index("<sitemap><loc>https://www.example.com/c.xml</loc></sitemap>");
    check_site(&[("a.xml", page("/a.xml", ""))], None, &[Rule::LocSitemap]);
    check_site(
        &[("a.xml", page("/b.xml", "")), ("b.xml", page("/b/", ""))],
        None,
        &[Rule::LocSitemap],
    );
    check_site(
        &[("a.xml", page("/c.xml", "")), ("i.xml", names_c())],
        None,
        &[Rule::LocSitemap],
    );
    check_site(
        &[("a.xml", page("/d.xml", "")), ("i.xml", names_c())],
        None,
        &[],
    );
    check_site(&[("a.xml", entry(""))], None, &[Rule::LastmodAbsent]);
    let set = link("de", "/a/") + &link("en", "/b/");
    check_site(
        &[("a.xml", page("/a/", &set)), ("b.xml", page("/b/", &set))],
        None,
        &[],
    );
    check_site(
        &[("a.xml", page("/a/", &set)), ("b.xml", page("/b/", ""))],
        None,
        &[Rule::ExtHreflangReturn],
    );
    // The links of a page that is not listed are not known.
    check_site(&[("a.xml", page("/a/", &set))], None, &[]);
    for (lastmod, expected) in [
        ("2026-11-20T10:00:00Z", &[][..]),
        ("2026-11-20", &[]),
        ("2026-11-21", &[]),
        ("2026-11-19", &[Rule::IndexLastmod]),
        ("2026-11-20T09:59:59Z", &[Rule::IndexLastmod]),
    ] {
        check_site(&[("a.xml", page("/a/", ""))], Some(lastmod), expected);
    }
    let nested = index("<sitemap><loc>https://www.example.com/c.xml</loc></sitemap>");
    check_site(
        &[("a.xml", nested)],
        Some("2026-11-20"),
        &[Rule::IndexNested],
    );
}

#[test]
fn each_fault_of_an_answer_gives_its_rule_alone() {
    let good = Response {
        content_type: Some("text/xml; charset=UTF-8".to_owned()),
        content_length: Some(500),
        received: 500,
        seconds: 1,
        ..Response::new(200)
    };
    let whole = read(entry("").as_bytes(), &about("a.xml"));
    let part = read(&entry("").as_bytes()[..350], &about("a.xml"));
    let check = |response: Response, document: &Document, expected: &[Rule]| {
        let mut findings = check::findings::Findings::new(Arc::new(Policy::default()));
        response.judge(&"a.xml".into(), Some(document), &mut findings);
        let rules: Vec<_> = findings.kept().iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, expected, "{response:?}");
    };
    check(good.clone(), &whole, &[]);
    let cut = End::Cut("it ended".to_owned());
    for (response, document, rule) in [
        (
            Response {
                content_type: None,
                ..good.clone()
            },
            &whole,
            Rule::FileCtype,
        ),
        (
            Response {
                content_type: Some("text/html".to_owned()),
                ..good.clone()
            },
            &whole,
            Rule::FileCtype,
        ),
        (
            Response {
                content_type: Some("text/xml; charset=latin1".to_owned()),
                ..good.clone()
            },
            &whole,
            Rule::FileCtype,
        ),
        (
            Response {
                redirects: vec!["https://a.example/".to_owned()],
                ..good.clone()
            },
            &whole,
            Rule::FileRedirect,
        ),
        (
            Response {
                seconds: 11,
                ..good.clone()
            },
            &whole,
            Rule::FileSlow,
        ),
        (
            Response {
                content_encoding: Some("br".to_owned()),
                ..good.clone()
            },
            &whole,
            Rule::FileGzip,
        ),
        (
            Response {
                end: cut.clone(),
                ..good.clone()
            },
            &whole,
            Rule::FileLength,
        ),
        (
            Response {
                end: cut,
                ..good.clone()
            },
            &part,
            Rule::FileTruncated,
        ),
    ] {
        check(response, document, &[rule]);
    }
}

#[test]
fn what_is_on_other_hosts_stays_apart_until_they_are_asked() {
    let mut about = about("sitemap.xml");
    about.asks_others = true;
    let entry = |loc: &str| format!("<url><loc>{loc}</loc></url>");
    let other = |n: usize| format!("https://{n}.example.com/a/");
    let mut entries: String = (0..20).map(|n| entry(&other(n))).collect();
    entries += &entry("http://www.example.com/another-scheme/");
    entries += &entry(&other(0));
    let document = read(urlset(&entries).as_bytes(), &about);
    let apart: Vec<_> = document.elsewhere.iter().collect();
    // Further hosts than eight, and another scheme, are reported at once.
    assert_eq!(apart.len(), 8);
    assert_eq!(document.findings.count(Rule::LocHost), 12 + 1);
    let (origin, findings) = apart[0];
    assert_eq!(
        (origin.as_str(), findings.count(Rule::LocHost)),
        ("https://0.example.com", 2)
    );
    let moved = findings.moved_to(Rule::ScopeUnknown, ", perhaps");
    assert_eq!(
        (moved.count(Rule::LocHost), moved.count(Rule::ScopeUnknown)),
        (0, 2)
    );
    assert!(moved.kept()[0].message.ends_with(", perhaps"));
    // A finding that no robots.txt cancels is reported.
    let mut site = Site::new(Arc::new(Policy::default()), std::env::temp_dir());
    site.add(document, None).unwrap();
    assert_eq!(site.findings().count(Rule::LocHost), 22);
}
