//! `waymark diff` as its users run it: on folders, files and servers on loopback. It also holds `docs/cli/diff.md` to what the
//! command prints.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

mod sides;

use crate::limited::{Outcome, waymark};
use crate::loopback::{Loopback, respond};

const ORIGIN: &str = "https://www.example.com";

fn diff(folder: &Path, arguments: &[&str]) -> Outcome {
    waymark(folder, &[&["diff"][..], arguments].concat())
}

/// A page: its path, its lastmod, and what else is in its entry.
type Page<'a> = (&'a str, &'a str, &'a str);

fn urlset(pages: &[Page<'_>]) -> String {
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
        xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\">\n"
        .to_owned();
    for (path, lastmod, more) in pages {
        writeln!(
            xml,
            "<url><loc>{ORIGIN}{path}</loc><lastmod>{lastmod}</lastmod>{more}</url>"
        )
        .unwrap();
    }
    xml + "</urlset>\n"
}

fn index(origin: &str, names: &[&str]) -> String {
    let mut xml = "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">".to_owned();
    for name in names {
        write!(xml, "<sitemap><loc>{origin}/{name}</loc></sitemap>").unwrap();
    }
    xml + "</sitemapindex>"
}

fn site(folder: &Path, sitemaps: &[(&str, &[Page<'_>])]) {
    fs::create_dir_all(folder).unwrap();
    for (name, pages) in sitemaps {
        fs::write(folder.join(name), urlset(pages)).unwrap();
    }
    let names: Vec<_> = sitemaps.iter().map(|(name, _)| *name).collect();
    fs::write(folder.join("sitemap.xml"), index(ORIGIN, &names)).unwrap();
}

const IMAGE: &str =
    "<image:image><image:loc>https://www.example.com/a.jpg</image:loc></image:image>";

/// Returns the two sides that the documentation shows.
fn sides() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    site(
        &folder.path().join("before"),
        &[
            (
                "post-sitemap.xml",
                &[
                    ("/2019/old/", "2026-01-01", ""),
                    ("/2025/larch/", "2026-01-02", ""),
                ],
            ),
            (
                "page-sitemap.xml",
                &[("/", "2026-01-01", ""), ("/about/", "2026-11-01", "")],
            ),
        ],
    );
    site(
        &folder.path().join("after"),
        &[
            (
                "post-sitemap.xml",
                &[("/2026/first-snow/", "2026-11-20", "")],
            ),
            ("post-sitemap2.xml", &[("/2025/larch/", "2026-01-02", "")]),
            (
                "page-sitemap.xml",
                &[
                    ("/", "2026-01-01T00:00:00Z", ""),
                    ("/about/", "2026-11-15", IMAGE),
                ],
            ),
        ],
    );
    folder
}

#[test]
fn the_documentation_shows_what_the_command_prints() {
    let sides = sides();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli/diff.md");
    let page = fs::read_to_string(page).unwrap();
    let (mut command, mut shown, mut count) = (None, String::new(), 0);
    for line in page.lines().chain([""]) {
        let line = line.strip_prefix("    ");
        if let (Some(told), true) = (&command, line.is_none_or(|line| line.starts_with("$ "))) {
            let told: &String = told;
            let arguments: Vec<_> = told
                .split(' ')
                .map(|word| word.trim_matches('\''))
                .collect();
            let outcome = waymark(sides.path(), &arguments);
            let printed = outcome.output + &outcome.errors;
            assert_eq!(printed.trim_end(), shown.trim_end(), "{told}");
            (command, count) = (None, count + 1);
        }
        match line.map(|line| line.strip_prefix("$ waymark ").ok_or(line)) {
            Some(Ok(told)) => {
                command = Some(told.to_owned());
                shown.clear();
            }
            Some(Err(line)) => shown.push_str(&format!("{line}\n")),
            None => {}
        }
    }
    assert!(count >= 4, "the documentation shows {count} commands");
    // Each flag is told.
    let help = waymark(sides.path(), &["diff", "--help"]).output;
    for flag in help
        .split_whitespace()
        .filter(|word| word.starts_with("--"))
    {
        let flag = flag.trim_matches([',', '.', ']']);
        let is_general = matches!(flag, "--json" | "--color" | "--help" | "--version" | "--");
        assert!(
            is_general || page.contains(&format!("`{flag}")),
            "{flag} is not in the documentation"
        );
    }
}

#[test]
fn the_status_says_whether_there_is_a_difference() {
    let sides = sides();
    for (arguments, expected) in [
        (&["before", "after"][..], 1),
        (&["before", "before"], 0),
        (&["before", "after", "--max-removed", "25%"], 0),
        (&["before", "after", "--max-removed", "1"], 0),
        (&["before", "after", "--max-removed", "24.9%"], 1),
        (
            &["before", "after", "--ignore", "/20*", "--fields", "videos"],
            0,
        ),
        (&["before", "before/sitemap.xml"], 0),
        (&["before", "nowhere"], 2),
        (&["before"], 2),
    ] {
        let outcome = diff(sides.path(), arguments);
        assert_eq!(
            outcome.status, expected,
            "{arguments:?}: {}{}",
            outcome.output, outcome.errors
        );
        assert!(
            expected != 2 || outcome.output.is_empty(),
            "{}",
            outcome.output
        );
    }
}

#[test]
fn json_has_every_difference_and_the_counts() {
    let sides = sides();
    let outcome = diff(sides.path(), &["before", "after", "--json"]);
    let json: Value = serde_json::from_str(&outcome.output).unwrap();
    let expected = serde_json::json!({
        "a": "before",
        "b": "after",
        "changes": [
            {"change": "gone", "loc": "https://www.example.com/2019/old/", "sitemap_a": "before/post-sitemap.xml"},
            {"change": "new", "loc": "https://www.example.com/2026/first-snow/", "sitemap_b": "after/post-sitemap.xml"},
            {
                "change": "changed",
                "loc": "https://www.example.com/about/",
                "sitemap_a": "before/page-sitemap.xml",
                "sitemap_b": "after/page-sitemap.xml",
                "lastmod": ["2026-11-01", "2026-11-15"],
                "images": {"added": 1, "removed": 0},
            },
        ],
        "summary": {
            "same": 2, "gone": 1, "new": 1, "changed": 1, "moved": 1, "listed_again_a": 0, "listed_again_b": 0,
            "spelled_differently": 0,
        },
    });
    assert_eq!(json, expected);
}

#[test]
fn what_cannot_be_read_whole_is_compared_with_nothing() {
    let sides = sides();
    let after = sides.path().join("after");
    let part = after.join("post-sitemap2.xml");
    let whole = fs::read_to_string(&part).unwrap();
    for (text, told) in [
        (
            Some(&whole[..whole.len() - 10]),
            "post-sitemap2.xml: line 4: ends before the end of its root element",
        ),
        (Some("<html></html>"), "is a web page"),
        (None, "post-sitemap2.xml: No such file"),
    ] {
        match text {
            Some(text) => fs::write(&part, text).unwrap(),
            None => fs::remove_file(&part).unwrap(),
        }
        let outcome = diff(sides.path(), &["before", "after", "--json"]);
        assert_eq!(
            (outcome.status, outcome.output.as_str()),
            (2, ""),
            "{text:?}"
        );
        assert!(outcome.errors.contains(told), "{}", outcome.errors);
        assert!(
            outcome.errors.contains("Nothing was compared"),
            "{}",
            outcome.errors
        );
    }
    // A link out of the folder is not followed.
    fs::write(
        after.join("sitemap.xml"),
        index(ORIGIN, &["../before/page-sitemap.xml"]),
    )
    .unwrap();
    let outcome = diff(sides.path(), &["before", "after"]);
    assert_eq!(outcome.status, 2);
    assert!(
        outcome.errors.contains("is not in after"),
        "{}",
        outcome.errors
    );
}

/// Serves a folder on loopback until the test's process ends, under an origin of its own in its index.
fn serve(folder: PathBuf, cut: Option<&'static str>) -> String {
    serve_as(folder, cut, true)
}

fn serve_as(folder: PathBuf, cut: Option<&'static str>, is_own: bool) -> String {
    let server = Loopback::bind();
    let own = server.origin.clone();
    server.serve(move |request, stream| {
        let path = request.path().trim_start_matches('/');
        let Ok(mut body) = fs::read_to_string(folder.join(path)) else {
            return respond(stream, "404 Not Found", "", b"");
        };
        if is_own && path == "sitemap.xml" {
            body = body.replace(ORIGIN, &own);
        }
        // What is cut has the length of all.
        let length = body.len();
        if cut == Some(path) {
            body.truncate(length - 9);
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ncontent-type: text/xml\r\nconnection: close\r\n\r\n"
        );
        stream.write_all((head + &body).as_bytes())
    })
}

#[test]
fn a_site_is_compared_with_a_folder_and_a_body_that_is_cut_is_told() {
    let sides = sides();
    let origin = serve(sides.path().join("before"), None);
    let quick = ["--rate", "0", "--retries", "0", "--timeout", "20s"];
    let compare = |a: &str, b: &str| diff(sides.path(), &[&[a, b][..], &quick].concat());
    let outcome = compare(&origin, "before");
    assert_eq!(outcome.status, 0, "{}{}", outcome.output, outcome.errors);
    assert_eq!(outcome.output, "4 the same, 0 gone, 0 new, 0 changed\n");
    let outcome = compare(
        &format!("{origin}/page-sitemap.xml"),
        "after/page-sitemap.xml",
    );
    assert_eq!(outcome.status, 1, "{}{}", outcome.output, outcome.errors);
    let cut = serve(sides.path().join("before"), Some("page-sitemap.xml"));
    let outcome = compare(&cut, "before");
    assert_eq!((outcome.status, outcome.output.as_str()), (2, ""));
    assert!(
        outcome.errors.contains("page-sitemap.xml: "),
        "{}",
        outcome.errors
    );
    // A local server that names the public host.
    let local = serve_as(sides.path().join("before"), None, false);
    let both = [&local[..], "before", "--same-origin"];
    let outcome = diff(sides.path(), &[&both[..], &quick].concat());
    assert_eq!(outcome.status, 0, "{}{}", outcome.output, outcome.errors);
    let nothing = serve(sides.path().join("nowhere"), None);
    let outcome = compare(&nothing, "before");
    assert_eq!(outcome.status, 2);
    assert!(
        outcome.errors.contains("found no sitemap in robots.txt"),
        "{}",
        outcome.errors
    );
}

#[test]
fn a_staging_host_is_compared_by_a_map() {
    let sides = sides();
    let staging = sides.path().join("staging");
    fs::create_dir(&staging).unwrap();
    for name in ["sitemap.xml", "post-sitemap.xml", "page-sitemap.xml"] {
        let text = fs::read_to_string(sides.path().join("before").join(name)).unwrap();
        fs::write(
            staging.join(name),
            text.replace(ORIGIN, "https://staging.example.com"),
        )
        .unwrap();
    }
    assert_eq!(
        diff(sides.path(), &["before", "staging", "--summary"]).status,
        1
    );
    let map = format!("https://staging.example.com={ORIGIN}");
    assert_eq!(
        diff(sides.path(), &["before", "staging", "--map-url", &map]).status,
        0
    );
}

#[test]
fn foreign_text_does_not_reach_the_terminal_as_it_is() {
    let sides = sides();
    let page = [("/a", "2026&#x9b;31m", "")];
    fs::write(sides.path().join("a.xml"), urlset(&page)).unwrap();
    fs::write(
        sides.path().join("b.xml"),
        urlset(&[("/a", "2026-01-01", "")]),
    )
    .unwrap();
    for format in ["text", "json", "markdown"] {
        let outcome = diff(sides.path(), &["a.xml", "b.xml", "--format", format]);
        assert_eq!(outcome.status, 1, "{}", outcome.errors);
        assert!(
            !outcome.output.contains('\u{9b}'),
            "{format}: {:?}",
            outcome.output
        );
    }
}

/// Returns pages of one site as two systems write them, and what else is in their entries.
fn spellings() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let image =
        |path: &str| format!("<image:image><image:loc>{ORIGIN}{path}</image:loc></image:image>");
    let (lower, upper) = (image("/%c3%a9.jpg"), image("/%C3%A9.jpg"));
    let sides = [
        (
            "before",
            ["/%e6%97%a5/", "/~joe/", "", "/plain/", "/a+b/"],
            lower,
        ),
        (
            "after",
            ["/%E6%97%A5/", "/%7Ejoe/", "/", "/plain/", "/a+b/"],
            upper,
        ),
    ];
    for (side, paths, image) in sides {
        let pages = paths.map(|path| (path, "2026-01-02", image.as_str()));
        site(&folder.path().join(side), &[("post-sitemap.xml", &pages)]);
    }
    folder
}

#[test]
fn a_page_is_the_same_however_each_side_writes_its_address() {
    let folder = spellings();
    let outcome = diff(folder.path(), &["before", "after"]);
    assert_eq!(outcome.status, 0, "{}{}", outcome.output, outcome.errors);
    assert_eq!(
        outcome.output,
        "5 the same, 0 gone, 0 new, 0 changed; 3 written differently (no difference)\n"
    );
    let note = format!(
        "waymark: 3 addresses are written differently in A and in B, which does not count as a difference: {ORIGIN} \
         is {ORIGIN}/, \
         {ORIGIN}/%e6%97%a5/ is {ORIGIN}/%E6%97%A5/, {ORIGIN}/~joe/ is {ORIGIN}/%7Ejoe/. --exact compares them as they are written\n"
    );
    assert_eq!(outcome.errors, note);
    let outcome = diff(folder.path(), &["before", "after", "--json"]);
    let json: Value = serde_json::from_str(&outcome.output).unwrap();
    assert_eq!(
        (outcome.status, &json["summary"]["spelled_differently"]),
        (0, &3.into())
    );
    let pair = [format!("{ORIGIN}/~joe/"), format!("{ORIGIN}/%7Ejoe/")];
    assert_eq!(json["spellings"][2], serde_json::json!(pair));
    // A side that writes them as the other one does is told nothing.
    let outcome = diff(folder.path(), &["before", "before"]);
    assert_eq!((outcome.status, outcome.errors.as_str()), (0, ""));
}

#[test]
fn exact_compares_what_is_written() {
    let folder = spellings();
    let outcome = diff(folder.path(), &["before", "after", "--exact", "--summary"]);
    assert_eq!(
        (
            outcome.status,
            outcome.output.as_str(),
            outcome.errors.as_str()
        ),
        (1, "0 the same, 3 gone, 3 new, 2 changed\n", "")
    );
    let arguments = [
        "before", "after", "--exact", "--fields", "loc", "--ignore", "/~*",
    ];
    let outcome = diff(folder.path(), &arguments);
    let expected = format!(
        "- {ORIGIN:<52}  post-sitemap.xml\n+ {:<52}  post-sitemap.xml\n+ {:<52}  post-sitemap.xml\n\
         - {:<52}  post-sitemap.xml\n2 the same, 2 gone, 2 new, 0 changed\n",
        format!("{ORIGIN}/"),
        format!("{ORIGIN}/%E6%97%A5/"),
        format!("{ORIGIN}/%e6%97%a5/"),
    );
    assert_eq!(outcome.output, expected);
}

#[test]
fn what_is_read_but_odd_is_told_and_what_lists_nothing_is_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let page = format!("<url><loc>{ORIGIN}/a</loc></url>");
    let prefixed = page.replace("<", "<sm:").replace("<sm:/", "</sm:");
    let namespace = "http://www.sitemaps.org/schemas/sitemap/0.9";
    let good = format!("<urlset xmlns='{namespace}'>{page}</urlset>");
    fs::write(folder.path().join("a.xml"), &good).unwrap();
    let foreign = "its root element is not in the sitemap namespace; it was read anyway";
    for (document, told) in [
        (
            format!("<sm:urlset xmlns:sm='{namespace}'>{prefixed}</sm:urlset>"),
            "",
        ),
        (good.replace("/a<", "<!-- -->/<![CDATA[a]]><?x?><"), ""),
        (
            "HTTPS://WWW.example.com/a\n".to_owned(),
            "one address is written differently",
        ),
        (format!("<urlset>{page}</urlset>"), foreign),
        (
            format!("<urlset xmlns='{namespace}/'>{page}</urlset>"),
            foreign,
        ),
        (
            good.replace("<url>", "<url></url><url>"),
            "1 of its entries have no address",
        ),
    ] {
        fs::write(folder.path().join("b.xml"), &document).unwrap();
        let outcome = diff(folder.path(), &["a.xml", "b.xml"]);
        assert_eq!(
            outcome.status, 0,
            "{document}: {}{}",
            outcome.output, outcome.errors
        );
        assert!(
            outcome.errors.contains(told) && outcome.errors.is_empty() == told.is_empty(),
            "{document}: {}",
            outcome.errors
        );
    }
    for (document, told) in [
        (
            good.replace("loc>", "location>"),
            "has no <url> with an address, of 1",
        ),
        (good.replace("url>", "page>"), "has no <url>, but <page>"),
        (
            format!("{good}<urlset/>"),
            "has <urlset> after the end of its root element",
        ),
    ] {
        fs::write(folder.path().join("b.xml"), &document).unwrap();
        let outcome = diff(folder.path(), &["a.xml", "b.xml"]);
        assert_eq!(
            (outcome.status, outcome.output.as_str()),
            (2, ""),
            "{document}"
        );
        assert!(
            outcome.errors.contains(told),
            "{document}: {}",
            outcome.errors
        );
    }
}

/// Checks that each of many differences is reported once, whatever fits into memory. What is sorted on disk is the sorter's own test.
#[test]
fn each_of_many_differences_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let gz = |name: &str, paths: &mut dyn Iterator<Item = (String, &str)>| {
        let file = fs::File::create(folder.path().join(name)).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        let begin = urlset(&[]);
        gzip.write_all(begin.trim_end_matches("</urlset>\n").as_bytes())
            .unwrap();
        for (path, lastmod) in paths {
            writeln!(
                gzip,
                "<url><loc>{ORIGIN}{path}</loc><lastmod>{lastmod}</lastmod></url>"
            )
            .unwrap();
        }
        gzip.write_all(b"</urlset>").unwrap();
        gzip.finish().unwrap();
    };
    let path = |n: u32| format!("/page/{n}/");
    gz(
        "a.xml.gz",
        &mut (0..40_000).map(|n| (path(n), "2026-01-01")),
    );
    // Of each hundred one is gone, one has changed, and one is new.
    let b = (0..40_000)
        .rev()
        .filter(|n| n % 100 != 7)
        .map(|n| match n % 100 {
            8 => (path(n), "2026-01-02"),
            _ => (path(n), "2026-01-01"),
        });
    gz(
        "b.xml.gz",
        &mut b.chain((0..400).map(|n| (path(1_000_000 + n), "2026-01-01"))),
    );
    let outcome = diff(folder.path(), &["a.xml.gz", "b.xml.gz"]);
    assert_eq!(outcome.status, 1);
    let mut lines: Vec<&str> = outcome.output.lines().collect();
    assert_eq!(
        lines.pop(),
        Some("39,200 the same, 400 gone, 400 new, 400 changed")
    );
    let mut expected: Vec<String> = Vec::new();
    for n in 0..400 {
        expected.push(format!("- {ORIGIN}{}", path(n * 100 + 7)));
        expected.push(format!("~ {ORIGIN}{}", path(n * 100 + 8)));
        expected.push(format!("+ {ORIGIN}{}", path(1_000_000 + n)));
    }
    let told = lines
        .iter()
        .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "));
    let mut told: Vec<String> = told.collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
}

#[test]
fn what_a_robots_txt_says_must_be_known_and_a_folder_is_looked_through() {
    let sides = sides();
    let copy = sides.path().join("copy");
    fs::create_dir_all(copy.join("robots.txt")).unwrap();
    fs::create_dir(copy.join("maps")).unwrap();
    for name in ["post-sitemap.xml", "page-sitemap.xml"] {
        fs::copy(
            sides.path().join("before").join(name),
            copy.join("maps").join(name),
        )
        .unwrap();
    }
    // It may name others.
    let outcome = diff(sides.path(), &["before", "copy"]);
    assert_eq!((outcome.status, outcome.output.as_str()), (2, ""));
    assert!(
        outcome.errors.contains("robots.txt: is not a file"),
        "{}",
        outcome.errors
    );
    fs::remove_dir(copy.join("robots.txt")).unwrap();
    let outcome = diff(sides.path(), &["before", "copy"]);
    assert_eq!(outcome.status, 0, "{}{}", outcome.output, outcome.errors);
    let busy =
        Loopback::bind().serve(|_, stream| respond(stream, "503 Service Unavailable", "", b""));
    let outcome = diff(
        sides.path(),
        &[&busy, "before", "--retries", "0", "--rate", "0"],
    );
    assert_eq!(outcome.status, 2);
    assert!(
        outcome.errors.contains("robots.txt: status 503"),
        "{}",
        outcome.errors
    );
}
