//! Checks that the reference in `docs/reference` agrees with the code: fields, settings, reasons to exclude a page, limits.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sitemap::eligibility::NEWS_SECONDS;
use sitemap::loc::MAX_LOC_BYTES;
use sitemap::record::schema::{FIELDS, Role};
use sitemap::site::SiteSettings;
use sitemap::{departures, feed, llms, mapping, plan, record, redirects, site, video};

/// Returns the rows of the first table after `heading`, each as its cells.
fn table<'t>(text: &'t str, heading: &str) -> Vec<Vec<&'t str>> {
    let (_, section) = text.split_once(heading).expect(heading);
    let rows = section.lines().skip_while(|line| !line.starts_with("|--"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let cells = |row: &'t str| row.split('|').skip(1).map(str::trim).collect();
    rows.map(cells).collect()
}

/// Returns the names in a cell: "`changefreq`, `priority`".
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn the_reference_lists_every_field_and_marks_those_that_decide() {
    let reference = include_str!("../../../docs/reference/record.md");
    let mut listed = BTreeMap::new();
    for row in table(reference, "\n## Fields\n") {
        listed.extend(names(row[0]).map(|name| (name, row[1] == "!")));
    }
    let fields = FIELDS
        .iter()
        .map(|field| (field.name, field.role != Role::Adds));
    let expected: BTreeMap<&str, bool> = fields.chain([("id", true)]).collect();
    assert_eq!(listed, expected);
}

#[test]
fn the_reference_lists_every_setting() {
    let reference = include_str!("../../../docs/reference/settings.md");
    let rows = table(reference, "\n## Settings\n");
    let listed: BTreeSet<&str> = rows.iter().flat_map(|row| names(row[0])).collect();
    assert_eq!(listed, site::SETTINGS.into_iter().collect());
}

#[test]
fn the_examples_of_robots_txt_are_settings_without_a_problem() {
    let guide = include_str!("../../../docs/guide/robots.md");
    let mut examples = 0;
    for block in guide
        .split("\n\n")
        .filter(|block| block.starts_with("    {"))
    {
        let item: Value = serde_json::from_str(block).expect(block);
        let settings = SiteSettings::parse("www.example.com", &item).expect(block);
        assert_eq!(settings.problems, [], "{block}");
        if let Some(given) = item.get("robots") {
            assert_eq!(*given, Value::from(settings.robots), "{block}");
        } else {
            assert!(settings.llms.is_some(), "{block}");
        }
        examples += 1;
    }
    assert_eq!(examples, 5);
}

#[test]
fn the_reference_lists_every_reason_to_exclude_a_page() {
    let reference = include_str!("../../../docs/reference/exclusions.md");
    let rows = table(reference, "# Exclusions\n");
    let listed: Vec<&str> = rows.iter().flat_map(|row| names(row[0])).collect();
    // A match over an enum with data, whose names cannot be listed otherwise.
    let source = include_str!("../src/eligibility.rs");
    let (_, body) = source.split_once("pub fn name(&self)").expect("the names");
    let (body, _) = body.split_once("\n    }\n").expect("their end");
    let expected: BTreeSet<&str> = body.split('"').skip(1).step_by(2).collect();
    assert_eq!(listed.len(), expected.len());
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), expected);
}

/// Returns a constant from the source of a crate on which this one does not depend.
fn constant(source: &str, name: &str) -> u64 {
    let (_, value) = source
        .split_once(&format!("const {name}: usize = "))
        .expect("the constant");
    let (value, _) = value.split_once(';').expect("its end");
    value.replace('_', "").parse().expect("a number")
}

fn urls_a_request() -> u64 {
    constant(
        include_str!("../../engine/src/sweep/notices.rs"),
        "MAX_URLS",
    )
}

fn keys_an_update() -> u64 {
    constant(include_str!("../../edge/src/port.rs"), "MAX_CHANGED_KEYS")
}

#[test]
fn the_limits_are_those_of_the_code() {
    let reference = include_str!("../../../docs/reference/limits.md");
    let rows = table(reference, "# Limits\n");
    let listed: BTreeMap<&str, u64> = rows
        .iter()
        .map(|row| (row[0], row[1].replace(',', "").parse().expect(row[0])))
        .collect();
    let size = |size: usize| size as u64;
    let expected = [
        (
            "entries a sitemap, sitemaps an index",
            u64::from(site::MAX_ENTRIES),
        ),
        ("bytes a sitemap or index, uncompressed", site::MAX_BYTES),
        ("characters of a URL, encoded", size(MAX_LOC_BYTES)),
        ("images a page", size(record::MAX_IMAGES)),
        ("entries a news sitemap", u64::from(site::MAX_NEWS_ENTRIES)),
        (
            "hours for which a page is news",
            NEWS_SECONDS.unsigned_abs() / 3_600,
        ),
        (
            "characters of a video's title",
            size(video::MAX_TITLE_CHARS),
        ),
        (
            "characters of a video's description",
            size(video::MAX_DESCRIPTION_CHARS),
        ),
        ("tags of a video", size(video::MAX_TAGS)),
        ("seconds of a video", video::MAX_DURATION),
        ("bytes of an entry", size(plan::MAX_ENTRY_BYTES)),
        ("bytes of a record's id", size(record::MAX_ID_BYTES)),
        (
            "bytes of a taxonomy, a term, a group",
            size(record::MAX_TERM_BYTES),
        ),
        ("terms a page", size(record::MAX_TERMS)),
        ("alternates a page", size(record::MAX_ALTERNATES)),
        ("pages of a translation group", size(plan::MAX_GROUP)),
        ("parts a page", u64::from(record::MAX_PARTS)),
        ("entries of the feed", size(feed::MAX_FEED_ENTRIES)),
        ("bytes of the feed", size(feed::MAX_FEED_BYTES)),
        ("pages of llms.txt", size(llms::MAX_LLMS_PAGES)),
        ("bytes of llms.txt", size(llms::MAX_LLMS_BYTES)),
        ("types of llms.txt", size(site::MAX_LLMS_TYPES)),
        ("URLs a request of IndexNow", urls_a_request()),
        (
            "moved or gone pages a site",
            size(departures::MAX_OF_A_SITE),
        ),
        (
            "moved or gone pages a file",
            size(departures::MAX_IN_A_FILE),
        ),
        (
            "moves that are followed for one answer",
            size(departures::MAX_HOPS),
        ),
        (
            "bytes of a site's own page for 404",
            size(site::MAX_NOT_FOUND_BYTES),
        ),
        (
            "redirects that Cloudflare's `_redirects` takes",
            size(redirects::CLOUDFLARE_RULES),
        ),
        (
            "characters of a line of it",
            size(redirects::CLOUDFLARE_LINE),
        ),
        (
            "redirects from which Netlify advises other means",
            size(redirects::NETLIFY_ADVISED),
        ),
        (
            "redirects that `vercel.json` takes",
            size(redirects::VERCEL_RULES),
        ),
        (
            "bytes of a CloudFront KeyValueStore",
            size(redirects::MAX_STORE_BYTES),
        ),
        ("bytes of a key in it", size(redirects::MAX_KEY_BYTES)),
        ("bytes of a value in it", size(redirects::MAX_VALUE_BYTES)),
        ("keys of one update of it", keys_an_update()),
        (
            "characters of a line of Apache's text map",
            size(redirects::APACHE_LINE),
        ),
        (
            "characters of a parameter of nginx",
            size(redirects::NGINX_PARAMETER),
        ),
        ("bytes of a field mapping", size(mapping::MAX_MAPPING_BYTES)),
    ];
    assert_eq!(listed, BTreeMap::from(expected));
}
