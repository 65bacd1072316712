//! `waymark build` as its users run it. It also holds `docs/cli/build.md` to what the command prints.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};
use sitemap::time::When;

mod folder;
#[cfg(unix)]
mod unix;

use crate::limited::waymark;

/// Far longer than anything here takes, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(300);
/// The builds' own folder in an output's.
const OWN: &str = ".waymark-build";
/// When everything here is built: now, since the sample's dates are as of now, but once and for all.
static AT: LazyLock<String> = LazyLock::new(|| {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    When::at(since.try_into().unwrap()).to_string()
});

/// Builds content in a folder, which has to succeed.
fn build(folder: &Path, content: &str, out: &str) {
    let outcome = waymark(folder, &["build", content, "--out", out, "--at", &AT]);
    assert_eq!(outcome.status, 0, "{}{}", outcome.output, outcome.errors);
}

/// Returns the files of a folder and of its folders, but for the builds' own.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name == OWN {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            let inner = self::files(&entry.path()).into_iter();
            files.extend(inner.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    files
}

fn sample(folder: &Path) {
    let sample = waymark(folder, &["sample"]);
    fs::write(folder.join("sample.jsonl"), sample.output).unwrap();
}

/// Returns the `<url>` elements of sitemaps, sorted, by series.
fn entries(files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<String>> {
    let mut series: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, bytes) in files {
        let Some((name, _)) = name
            .strip_suffix(".xml")
            .and_then(|stem| stem.rsplit_once("-sitemap"))
        else {
            continue;
        };
        let mut text = String::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            MultiGzDecoder::new(&bytes[..])
                .read_to_string(&mut text)
                .unwrap();
        } else {
            text = String::from_utf8(bytes).unwrap();
        }
        let of_series = series.entry(name.to_owned()).or_default();
        let elements = text.split("<url>").skip(1);
        of_series
            .extend(elements.map(|element| element.split_once("</url>").unwrap().0.to_owned()));
    }
    for entries in series.values_mut() {
        entries.sort();
    }
    series.retain(|_, entries| !entries.is_empty());
    series
}

#[test]
fn the_sample_passes_the_check_and_is_the_same_twice() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sample(folder);
    build(folder, "sample.jsonl", "one");
    build(folder, "sample.jsonl", "two");
    let one = files(&folder.join("one"));
    assert!(one.len() > 20);
    assert_eq!(one, files(&folder.join("two")));
    for name in [
        "robots.txt",
        "sitemap_index.xml",
        "sitemap_index.xml.gz",
        "feed.atom",
        "sitemap.css",
    ] {
        assert!(one.contains_key(name), "{name}");
    }
    for (name, plain) in &one {
        if let Some(gzip) = one.get(&format!("{name}.gz")) {
            let mut text = Vec::new();
            MultiGzDecoder::new(&gzip[..])
                .read_to_end(&mut text)
                .unwrap();
            assert_eq!(text, *plain, "{name}");
        }
    }
    let origin = "https://www.lantern-and-larch.example";
    let checked = waymark(folder, &["check", "one", "--origin", origin, "--json"]);
    assert_eq!(checked.status, 0, "{}", checked.output);
    // A sitemap that is there already and that this build does not write is told.
    fs::write(folder.join("two/post-sitemap9.xml"), "").unwrap();
    fs::write(folder.join("two/my-own.xml"), "").unwrap();
    let again = waymark(
        folder,
        &["build", "sample.jsonl", "--out", "two", "--at", &AT],
    );
    assert!(
        again
            .errors
            .contains("nor lists in an index: post-sitemap9.xml. Delete"),
        "{}",
        again.errors
    );
    // What was built differs in nothing from its content.
    let outcome = waymark(folder, &["diff", "sample.jsonl", "one"]);
    assert_eq!(outcome.status, 0, "{}{}", outcome.output, outcome.errors);
}

/// Returns pages of a site without settings, more than one sitemap takes.
fn pages(count: usize) -> String {
    let page = |n: usize| {
        let day = 1 + n % 28;
        json!({
            "id": format!("post/{n}"), "type": "post", "url": format!("https://www.example.com/{n}/"),
            "modified_at": format!("2026-01-{day:02}"),
        })
        .to_string()
    };
    (0..count).map(|n| page(n) + "\n").collect()
}

#[test]
fn pages_are_placed_in_the_order_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("a.jsonl"), pages(2_500)).unwrap();
    build(folder, "a.jsonl", "a");
    let mut found = Vec::new();
    for name in ["post-sitemap.xml", "post-sitemap2.xml", "post-sitemap3.xml"] {
        let text = fs::read_to_string(folder.join("a").join(name)).unwrap();
        let locs = text.split("<loc>https://www.example.com/").skip(1);
        found.extend(locs.map(|rest| rest.split('/').next().unwrap().parse::<usize>().unwrap()));
    }
    assert_eq!(found, (0..2_500).collect::<Vec<_>>());
    let check = [
        "check",
        "a",
        "--origin",
        "https://www.example.com",
        "--json",
    ];
    let checked = waymark(folder, &check);
    assert_eq!(checked.status, 0, "{}", checked.output);
    // Gzipped, from two files and with settings behind the pages: the same pages.
    let file = fs::File::create(folder.join("b.jsonl.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    gzip.write_all(pages(2_500).as_bytes()).unwrap();
    gzip.finish().unwrap();
    let settings =
        json!({"id": "site/www.example.com", "type": "site", "entries_per_sitemap": 10_000});
    fs::write(folder.join("settings.jsonl"), settings.to_string()).unwrap();
    let arguments = [
        "build",
        "b.jsonl.gz",
        "settings.jsonl",
        "--out",
        "b",
        "--json",
    ];
    let built = waymark(folder, &arguments);
    assert_eq!(built.status, 0, "{}", built.errors);
    let built: Value = serde_json::from_str(&built.output).unwrap();
    let site = &built["sites"][0];
    assert_eq!(
        (&site["sitemaps"], &site["entries"], &built["records"]),
        (&json!(1), &json!(2_500), &json!(2_501))
    );
    assert_eq!(
        entries(files(&folder.join("a"))),
        entries(files(&folder.join("b")))
    );
}

#[test]
fn of_lines_with_one_id_the_last_that_is_a_record_counts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let page = |id: &str, path: &str, more: &str| {
        let url = format!("https://www.example.com/{path}");
        format!(r#"{{"id": "{id}", "type": "post", "url": "{url}"{more}}}"#)
    };
    // No table takes such a number, and nothing has such a letter. Neither is seen at first sight.
    let (number, letter) = (r#", "n": 1e300"#, r#", "title": "\ud800""#);
    let lines = [
        page("moved", "first", ""),
        page("stays", "stays", ""),
        page("late", "no", letter),
        page("late", "late", ""),
        page("never", "never", number),
        page("moved", "moved", ""),
        page("stays", "no", number),
        page("late", "no", number),
        page("site/www.example.com", "was-a-page", ""),
        page("site/blog.example", "is-a-page", ""),
        r#"{"id": "site/www.example.com", "type": "site", "name": "A"}"#.to_owned(),
        r#"{"id": "site/www.example.com", "type": "site", "entries_per_sitemap": 2}"#.to_owned(),
        r#"{"id": "odd", "type": "site"}"#.to_owned(),
        page("odd", "odd", ""),
    ];
    fs::write(folder.join("content.jsonl"), lines.join("\n")).unwrap();
    let built = waymark(
        folder,
        &["build", "content.jsonl", "--out", "out", "--json"],
    );
    assert_eq!(built.status, 1, "{}", built.errors);
    let told: Value = serde_json::from_str(&built.output).unwrap();
    assert_eq!(
        (&told["records"], &told["malformed"]),
        (&json!(6), &json!(4))
    );
    for line in [3, 5, 7, 8] {
        let place = format!("content.jsonl:{line}: ");
        assert!(built.errors.contains(&place), "{place}{}", built.errors);
    }
    let listed = |name: &str| {
        let text = fs::read_to_string(folder.join("out").join(name)).unwrap();
        let paths = text.split("<loc>https://www.example.com/").skip(1);
        let paths = paths.map(|rest| rest.split('<').next().unwrap().to_owned());
        paths.collect::<Vec<_>>()
    };
    // Each is where the first record with its id is.
    assert_eq!(listed("post-sitemap.xml"), ["moved", "stays"]);
    assert_eq!(listed("post-sitemap2.xml"), ["late", "is-a-page"]);
    assert_eq!(listed("post-sitemap3.xml"), ["odd"]);
}

#[test]
fn bad_lines_make_the_status_1_and_what_cannot_be_built_2() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let lines = [
        json!({"id": "a", "type": "post", "url": "https://a.example/1"}).to_string(),
        "oops".to_owned(),
        json!({"id": "a", "type": "post", "url": "https://a.example/2"}).to_string(),
    ];
    fs::write(folder.join("content.jsonl"), lines.join("\n")).unwrap();
    let outcome = waymark(folder, &["build", "content.jsonl", "--out", "out"]);
    assert_eq!(outcome.status, 1, "{}{}", outcome.output, outcome.errors);
    assert!(
        outcome.errors.contains("content.jsonl:2: not JSON"),
        "{}",
        outcome.errors
    );
    assert!(
        outcome
            .output
            .starts_with("a.example: 1 sitemap, 1 entry; "),
        "{}",
        outcome.output
    );
    let text = fs::read_to_string(folder.join("out/post-sitemap.xml")).unwrap();
    assert!(text.contains("<loc>https://a.example/2</loc>") && !text.contains("/1<"));
    fs::write(folder.join("pages.csv"), "url\nhttps://a.example/1\n").unwrap();
    for (arguments, told) in [
        (
            &["build", "nowhere.jsonl", "--out", "x"][..],
            "nowhere.jsonl: No such file",
        ),
        (
            &["build", "/dev/null", "--out", "x"],
            "nothing was built: no record belongs to a site",
        ),
        (
            &["build", "pages.csv", "--out", "x"],
            "nothing was built: pages.csv: not JSON Lines: no line is a record. Convert CSV, sitemaps or another \
             system's export first: `waymark import pages.csv | waymark build - --out DIR`",
        ),
        (
            &["build", "content.jsonl", "--out", "content.jsonl"],
            "failed to write content.jsonl",
        ),
        (&["build", "content.jsonl"], "--out"),
    ] {
        let outcome = waymark(folder, arguments);
        assert_eq!(
            (outcome.status, outcome.output.as_str()),
            (2, ""),
            "{arguments:?}"
        );
        assert!(outcome.errors.contains(told), "{}", outcome.errors);
    }
}

#[test]
fn the_documentation_shows_what_the_command_prints() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sample(folder);
    let few = ["published", "draft", "published"].iter().enumerate().map(|(n, status)| {
        json!({"id": format!("{n}"), "type": "post", "url": format!("https://www.example.com/{n}/"), "status": status}).to_string()
    });
    fs::write(folder.join("few.jsonl"), few.collect::<Vec<_>>().join("\n")).unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli/build.md");
    let page = fs::read_to_string(page).unwrap();
    let mut lines = page.lines().map(|line| line.strip_prefix("    "));
    let mut count = 0;
    let mut next = lines.next();
    while let Some(line) = next {
        next = lines.next();
        let Some(command) = line.and_then(|line| line.strip_prefix("$ waymark ")) else {
            continue;
        };
        let mut shown = String::new();
        while let Some(Some(line)) =
            next.filter(|line| line.is_some_and(|line| !line.starts_with("$ ")))
        {
            shown.push_str(line);
            shown.push('\n');
            next = lines.next();
        }
        let (command, file) = command
            .split_once(" > ")
            .map_or((command, None), |(command, file)| (command, Some(file)));
        let outcome = waymark(folder, &command.split(' ').collect::<Vec<_>>());
        match file {
            Some(file) => fs::write(folder.join(file), outcome.output).unwrap(),
            None => assert_eq!(outcome.output + &outcome.errors, shown, "{command}"),
        }
        count += 1;
    }
    assert!(count >= 3, "the documentation shows {count} commands");
    let help = waymark(folder, &["build", "--help"]).output;
    for flag in help
        .split_whitespace()
        .filter(|word| word.starts_with("--"))
    {
        let flag = flag
            .trim_matches([',', '.', ']'])
            .split(['[', '='])
            .next()
            .unwrap();
        let is_general = matches!(flag, "--json" | "--color" | "--help" | "--version" | "--");
        assert!(
            is_general || page.contains(&format!("`{flag}")),
            "{flag} is not in the documentation"
        );
    }
}

/// Compares entries as a set, by series: in the local stack, slots follow arrival.
#[cfg(feature = "serve")]
#[test]
fn the_local_stack_publishes_the_same_entries_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sample(folder);
    let built = waymark(folder, &["build", "sample.jsonl", "--out", "out"]);
    assert_eq!(built.status, 0, "{}", built.errors);
    let ports = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"];
    let serve = [
        "serve",
        "--content",
        "sample.jsonl",
        "--once",
        "--data",
        "data",
    ];
    let served = waymark(folder, &[&serve[..], &ports].concat());
    assert_eq!(served.status, 0, "{}{}", served.output, served.errors);
    // The stack's bucket is a file an object: a line of JSON, which names the object, and its body.
    let stored = files(&folder.join("data/s3/waymark-sitemaps")).into_values();
    let published = stored.map(|file| {
        let end = file.iter().position(|byte| *byte == b'\n').unwrap();
        let head: Value = serde_json::from_slice(&file[..end]).unwrap();
        let name = head["key"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned();
        (name, file[end + 1..].to_vec())
    });
    let (published, built) = (
        entries(published.collect()),
        entries(files(&folder.join("out"))),
    );
    assert!(built.len() >= 10 && built["post"].len() > 40);
    assert_eq!(published, built);
}
