//! Compares the bytes of rendered documents with those of the current `RENDER_VERSION`.
//!
//! The scan renders published entries again only if `RENDER_VERSION` rises. Without a new version, an entry keeps its old bytes
//! until its record changes.
//!
//! - Each document has a test with its literal text, which shows a reviewer what changed.
//! - [`GOLDEN`] has one digest of all documents, and their version. A changed digest needs a new version.
//! - The documents are made from records, settings and times by the crate's public functions, as the engine makes them.
//! - Sitemaps are compared inflated, because another deflate gives the same document. `FORMAT_VERSION` covers the gzip member.
//! - robots.txt and the text form are not here: other crates render them.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sitemap::RENDER_VERSION;
use sitemap::feed::{self, Feed};
use sitemap::index::{self, Count, IndexLine};
use sitemap::loc::Loc;
use sitemap::member::{Builder, Frame, Segment};
use sitemap::plan::{
    self, Change, Claim, Inputs, Ledger, Page, Rendered, Translation, Translations,
};
use sitemap::record::ContentRecord;
use sitemap::site::SiteSettings;
use sitemap::stylesheet::{index_frame, shard_frame};
use sitemap::time::When;

/// The `RENDER_VERSION` and the digest of its [`documents`]. A new document among them, or a new input, needs only a new digest,
/// because the existing documents keep their texts.
const GOLDEN: (u32, &str) = (3, "ee57faff899036a8d98899edc5de66b7");

const HOST: &str = "www.example.com";
/// 2027-01-15T08:00:00+00:00
const NOW: i64 = 1_800_000_000;

#[test]
fn documents_change_only_with_a_new_render_version() {
    let (version, digest) = (RENDER_VERSION, digest(&documents()));
    let (golden_version, golden_digest) = GOLDEN;
    assert!(
        version != golden_version || digest == golden_digest,
        "the bytes of rendered documents changed, and RENDER_VERSION is still {version}: sites would keep what they \
         have published. Raise RENDER_VERSION in shared/sitemap/src/lib.rs, and set GOLDEN in this file to \
         ({}, {digest:?})",
        version + 1
    );
    assert!(
        version == golden_version,
        "RENDER_VERSION is {version}, and GOLDEN is still of version {golden_version}: set GOLDEN in this file to \
         ({version}, {digest:?})"
    );
}

#[test]
fn an_entry_has_its_times_and_images() {
    assert_eq!(
        page(),
        "<url><loc>https://www.example.com/k%C3%A4se?a=1&amp;b=2</loc>\
         <lastmod>2026-01-02T03:04:05+00:00</lastmod><changefreq>weekly</changefreq><priority>0.8</priority>\
         <image:image><image:loc>https://img.example/a.png</image:loc></image:image>\
         <image:image><image:loc>https://img.example/b.png?x&amp;y</image:loc></image:image></url>\n",
    );
}

#[test]
fn an_entry_of_a_date_has_the_date_alone() {
    assert_eq!(
        dated_page(),
        "<url><loc>https://www.example.com/it&apos;s</loc><lastmod>2026-01-02</lastmod></url>\n",
    );
}

#[test]
fn an_entry_names_its_translations() {
    assert_eq!(
        translated_page(),
        "<url><loc>https://www.example.com/a</loc><lastmod>2026-01-02</lastmod>\
         <xhtml:link rel=\"alternate\" hreflang=\"de-AT\" href=\"https://www.example.at/a\"/>\
         <xhtml:link rel=\"alternate\" hreflang=\"en\" href=\"https://www.example.com/a\"/>\
         <xhtml:link rel=\"alternate\" hreflang=\"x-default\" href=\"https://www.example.com/a\"/></url>\n",
    );
}

#[test]
fn an_entry_names_the_alternates_of_its_record() {
    assert_eq!(
        page_with_alternates(),
        "<url><loc>https://www.example.com/a</loc><lastmod>2026-01-02</lastmod>\
         <xhtml:link rel=\"alternate\" hreflang=\"en\" href=\"https://www.example.com/a\"/>\
         <xhtml:link rel=\"alternate\" hreflang=\"fr\" href=\"https://www.example.com/fr?a&amp;b\"/></url>\n",
    );
}

#[test]
fn a_video_has_its_fields_in_the_schemas_order() {
    assert_eq!(
        video(),
        "<url><loc>https://www.example.com/a</loc><lastmod>2026-01-02</lastmod>\
         <video:video><video:thumbnail_loc>https://v.example/1.jpg</video:thumbnail_loc>\
         <video:title>Cats &amp; dogs</video:title><video:description>Both</video:description>\
         <video:content_loc>https://v.example/1.mp4</video:content_loc>\
         <video:player_loc>https://v.example/1?a&amp;b</video:player_loc>\
         <video:duration>60</video:duration>\
         <video:expiration_date>2028-01-01T00:00:00+00:00</video:expiration_date>\
         <video:rating>4.5</video:rating><video:view_count>7</video:view_count>\
         <video:publication_date>2026-01-01</video:publication_date>\
         <video:tag>x</video:tag><video:tag>y</video:tag><video:family_friendly>yes</video:family_friendly>\
         <video:restriction relationship=\"deny\">DE AT</video:restriction>\
         <video:requires_subscription>no</video:requires_subscription>\
         <video:uploader info=\"https://v.example/jane?a&amp;b\">Jane</video:uploader>\
         <video:platform relationship=\"allow\">web tv</video:platform><video:live>no</video:live></video:video>\
         </url>\n",
    );
}

#[test]
fn news_have_a_publication_a_date_and_a_title() {
    assert_eq!(
        news(),
        "<url><loc>https://www.example.com/a</loc><lastmod>2027-01-15T07:00:00+00:00</lastmod>\
         <news:news><news:publication><news:name>The &lt;Lantern&gt;</news:name>\
         <news:language>en</news:language></news:publication>\
         <news:publication_date>2027-01-15T07:00:00+00:00</news:publication_date>\
         <news:title>Now &amp; &quot;then&quot; &gt; it&apos;s</news:title></news:news>\
         <image:image><image:loc>https://img.example/a.png</image:loc></image:image></url>\n",
    );
}

#[test]
fn a_sitemap_is_the_frame_around_the_entries() {
    assert_eq!(
        shard(),
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <?xml-stylesheet type=\"text/css\" href=\"/sitemap.css\"?>\n\
             <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\" \
             xmlns:news=\"http://www.google.com/schemas/sitemap-news/0.9\" \
             xmlns:video=\"http://www.google.com/schemas/sitemap-video/1.1\" \
             xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n\
             {}{}{}</urlset>\n",
            page(),
            dated_page(),
            translated_page()
        ),
    );
}

#[test]
fn an_index_is_the_frame_around_the_lines() {
    assert_eq!(
        index_document(),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <?xml-stylesheet type=\"text/css\" href=\"/sitemap.css\"?>\n\
         <!-- Index 1 of 2. URLs of each sitemap, in brackets those that another one lists, too: 50000 [12] -->\n\
         <sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n\
         <sitemap><loc>https://www.example.com/post-sitemap.xml</loc>\
         <lastmod>2026-01-02T03:04:05+00:00</lastmod></sitemap>\n\
         <sitemap><loc>https://www.example.com/post-sitemap2.xml?a&amp;b</loc></sitemap>\n\
         </sitemapindex>\n",
    );
}

#[test]
fn a_document_names_the_style_sheet_of_its_kind() {
    let css = r#"<?xml-stylesheet type="text/css" href="/sitemap.css"?>"#;
    let xsl = |name: &str| format!(r#"<?xml-stylesheet type="text/xsl" href="/{name}.xsl"?>"#);
    let expected = [
        ("css", css, css, css),
        (
            "xsl",
            &xsl("sitemap"),
            &xsl("video-sitemap"),
            &xsl("news-sitemap"),
        ),
        ("none", "", "", ""),
    ];
    for (choice, pages, videos, news) in expected {
        let instructions = frames(choice).map(|frame| {
            let prolog = text(frame.prolog);
            let line = prolog.lines().nth(1).unwrap_or_default();
            let is_instruction = line.starts_with("<?");
            if is_instruction { line } else { "" }.to_owned()
        });
        assert_eq!(instructions, [pages, videos, news, pages], "{choice}");
    }
}

#[test]
fn a_feed_has_the_changes() {
    assert_eq!(
        feed_document(),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>https://www.example.com/feed.atom</id>\n\
         <title>News &amp; more</title>\n\
         <updated>2027-01-15T08:00:00+00:00</updated>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"https://www.example.com/feed.atom\"/>\n\
         <link rel=\"alternate\" href=\"https://www.example.com/\"/>\n\
         <author><name>News &amp; more</name>\n\
         </author>\n\
         <entry>\n\
         <id>https://www.example.com/a?b&amp;c</id>\n\
         <title>Now &lt; then</title>\n\
         <link rel=\"alternate\" href=\"https://www.example.com/a?b&amp;c\"/>\n\
         <published>2026-01-02T00:00:00+00:00</published>\n\
         <updated>2027-01-15T08:00:00+00:00</updated>\n\
         <summary>A summary</summary>\n\
         </entry>\n\
         <entry>\n\
         <id>https://www.example.com/b</id>\n\
         <title>https://www.example.com/b</title>\n\
         <link rel=\"alternate\" href=\"https://www.example.com/b\"/>\n\
         <updated>2027-01-15T07:59:59+00:00</updated>\n\
         </entry>\n\
         </feed>\n",
    );
}

/// Returns all documents, in a fixed order.
fn documents() -> Vec<String> {
    let frames = ["css", "xsl", "none"].into_iter().flat_map(frames);
    let empty = frames.map(|frame| document(&frame, &[]));
    let written = [
        page(),
        dated_page(),
        translated_page(),
        page_with_alternates(),
        video(),
        news(),
        shard(),
        index_document(),
        feed_document(),
        feed::render(&FEED, &[], NOW).0,
    ];
    written.into_iter().chain(empty).collect()
}

fn page() -> String {
    let fields = json!({
        "url": "https://www.example.com/käse?a=1&b=2", "modified_at": "2026-01-02T04:04:05+01:00",
        "changefreq": "weekly", "priority": 0.8,
        "images": [{"url": "https://img.example/a.png"}, {"url": "https://img.example/b.png?x&y"}],
    });
    entry(fields, "post", &Translations::new())
}

fn dated_page() -> String {
    let fields = json!({"url": "https://www.example.com/it's"});
    entry(fields, "post", &Translations::new())
}

fn translated_page() -> String {
    let austrian = Translation {
        language: "de-AT".to_owned(),
        href: Loc::parse_any("https://www.example.at/a").expect("it is a URL"),
        x_default: false,
    };
    let group = Translations::from([("post/2".to_owned(), austrian)]);
    let fields = json!({"language": "en", "translation_group": "g", "x_default": true});
    entry(fields, "post", &group)
}

fn page_with_alternates() -> String {
    let alternates = json!([
        {"hreflang": "en", "url": "https://www.example.com/a"},
        {"hreflang": "fr", "url": "https://www.example.com/fr?a&b"},
    ]);
    let fields = json!({"alternates": alternates});
    entry(fields, "post", &Translations::new())
}

fn video() -> String {
    let video = json!({
        "thumbnail_url": "https://v.example/1.jpg", "title": "Cats & dogs", "description": "Both",
        "content_url": "https://v.example/1.mp4", "player_url": "https://v.example/1?a&b", "duration": 60,
        "expires_at": "2028-01-01T00:00:00Z", "rating": 4.5, "view_count": 7, "published_at": "2026-01-01",
        "tags": ["x", "y"], "family_friendly": true, "restriction": {"deny": ["DE", "AT"]},
        "requires_subscription": false, "uploader": {"name": "Jane", "info": "https://v.example/jane?a&b"},
        "platform": {"relationship": "allow", "platforms": ["web", "tv"]}, "live": false,
    });
    let fields = json!({"videos": [video]});
    entry(fields, "video", &Translations::new())
}

fn news() -> String {
    let fields = json!({
        "news": {"title": "Now & \"then\" > it's", "language": "en-GB"}, "published_at": "2027-01-15T07:00:00Z",
        "modified_at": null, "images": [{"url": "https://img.example/a.png"}],
    });
    entry(fields, "news", &Translations::new())
}

fn shard() -> String {
    let segments = [page() + &dated_page(), String::new(), translated_page()];
    document(&shard_frame(&settings("css"), "post"), &segments)
}

fn index_document() -> String {
    let modified = When::parse("2026-01-02T03:04:05Z").expect("it is a time");
    let (mut lines, mut counts) = (Vec::new(), Vec::new());
    for (loc, lastmod, urls, is_repeated) in [
        (
            "https://www.example.com/post-sitemap.xml",
            Some(modified),
            50_000,
            false,
        ),
        (
            "https://www.example.com/post-sitemap2.xml?a&b",
            None,
            12,
            true,
        ),
    ] {
        index::render(&IndexLine { loc, lastmod }, &mut lines);
        index::render_count(Some(Count { urls, is_repeated }), &mut counts);
    }
    let frame = index::with_counts(index_frame(&settings("css")), 1, 2, &counts);
    document(&frame, &[text(lines)])
}

const FEED: Feed<'_> = Feed {
    url: "https://www.example.com/feed.atom",
    home: "https://www.example.com/",
    title: "News & more",
};

fn feed_document() -> String {
    let changes = [
        feed::Change {
            loc: "https://www.example.com/a?b&c".to_owned(),
            title: Some("Now < then".to_owned()),
            summary: Some("A \n summary".to_owned()),
            published: Some(When::parse("2026-01-02").expect("it is a date")),
            at: NOW,
        },
        feed::Change {
            loc: "https://www.example.com/b".to_owned(),
            title: None,
            summary: None,
            published: None,
            at: NOW - 1,
        },
    ];
    let (document, entries) = feed::render(&FEED, &changes, 0);
    assert_eq!(entries, changes.len());
    document
}

/// Returns the frames of pages, videos, news and indexes with this kind of style sheet.
fn frames(stylesheet: &str) -> [Frame; 4] {
    let settings = settings(stylesheet);
    let [pages, videos, news] =
        ["post", "video", "news"].map(|series| shard_frame(&settings, series));
    [pages, videos, news, index_frame(&settings)]
}

fn settings(stylesheet: &str) -> SiteSettings {
    let item = json!({"news_name": "The <Lantern>", "stylesheet": stylesheet});
    let settings = SiteSettings::parse(HOST, &item).expect("it is a host");
    assert_eq!(settings.problems, []);
    settings
}

/// Returns the entry of a record in a series. `fields` are added to a post's; `group` has the other translations.
fn entry(fields: Value, series: &str, group: &Translations) -> String {
    let mut item =
        json!({"type": "post", "url": "https://www.example.com/a", "modified_at": "2026-01-02"});
    let all = item.as_object_mut().expect("it is an object");
    all.extend(fields.as_object().expect("fields").clone());
    let record = ContentRecord::parse("post/1", &item);
    assert_eq!(record.problems, []);
    let site = settings("css");
    let page = Page {
        record: Some(&record),
        part: 1,
        site: Some(&site),
    };
    let page = page.assess(NOW);
    let (ledger, claim) = (Ledger::default(), Claim::Free);
    let inputs = Inputs {
        group,
        ..Inputs::of(&page, &ledger, &claim)
    };
    let plan = plan::plan("post/1", &inputs);
    let entry = plan.changes.into_iter().find_map(|change| match change {
        Change::Insert(of, Rendered { xml, .. }) if of.name == series => Some(xml),
        _ => None,
    });
    entry.unwrap_or_else(|| panic!("no entry among {series}: {:?}", plan.ledger))
}

/// Returns the document of a sitemap member, inflated.
fn document(frame: &Frame, segments: &[String]) -> String {
    let mut builder = Builder::new(frame, 7);
    for xml in segments {
        builder.push(&Segment {
            stamp: 1,
            entries: 1,
            newest: None,
            xml: xml.as_bytes(),
        });
    }
    let mut document = String::new();
    GzDecoder::new(&builder.finish().bytes[..])
        .read_to_string(&mut document)
        .expect("it is a gzip file of text");
    document
}

fn digest(documents: &[String]) -> String {
    let mut hasher = Sha256::new();
    for document in documents {
        hasher.update((document.len() as u64).to_le_bytes());
        hasher.update(document);
    }
    let hash = hasher.finalize();
    hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it is text")
}
