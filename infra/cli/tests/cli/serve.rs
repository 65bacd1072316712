//! An empty stack that `waymark serve` fills in bulk: it is as the functions would have filled it, and they go on from there.

#![cfg(feature = "serve")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::command::{ANY_PORTS, Running, get, port_of, run, waymark};

/// Far longer than anything here takes, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(240);
const HOST: &str = "www.a.example";

/// Returns content with all that a first load treats in its own way: archives before their pages, translations, parts, one address
/// twice, one id twice, DynamoDB's types, numbers, what is left out, lines that are no records, and settings last.
fn content() -> String {
    let mut lines = vec![
        r#"{"id": "tag/t", "type": "tag", "url": "https://www.a.example/tag/t", "archive_of": {"taxonomy": "tag", "term": "t"}}"#.to_owned(),
        r#"{"id": "tag/none", "type": "tag", "url": "https://www.a.example/tag/none", "archive_of": {"taxonomy": "tag", "term": "none"}}"#.to_owned(),
        r#"{"id": "twice", "type": "post", "url": "https://www.a.example/first"}"#.to_owned(),
        r#"{"id": "same", "type": "post", "url": "https://www.a.example/p/3", "modified_at": "2026-04-11", "terms": {"tag": ["t"]}}"#.to_owned(),
        r#"{"id": {"S": "typed"}, "type": {"S": "page"}, "url": {"S": "https://www.a.example/typed"}, "more": {"SS": ["a", "b"]}, "size": {"N": "12345678901234567890.5"}, "raw": {"B": "AQID"}}"#.to_owned(),
        r#"{"id": "odd", "type": "page", "url": "https://www.a.example/odd", "more": [1, 2.50, -0.0, 1e21, 12345678901234567890, null, {"a": true, "": ""}]}"#.to_owned(),
        r#"{"id": "number", "type": "page", "url": "https://www.a.example/number", "more": 1e200}"#.to_owned(),
        r#"{"id": "parts", "type": "page", "url": "https://www.a.example/parts", "pages": 3}"#.to_owned(),
        r#"{"id": "b", "type": "post", "url": "https://www.b.example:8443/b"}"#.to_owned(),
        r#"{"id": "oops", "#.to_owned(),
        r#"{"id": "@taken", "type": "post", "url": "https://www.a.example/taken"}"#.to_owned(),
    ];
    for (id, language) in [("en", "en"), ("de", "de")] {
        lines.push(format!(
            r#"{{"id": "{id}", "type": "page", "url": "https://www.a.example/{id}", "language": "{language}", "translation_group": "g"}}"#
        ));
    }
    for n in 0..40 {
        let status = ["published", "draft"][usize::from(n % 7 == 0)];
        lines.push(format!(
            r#"{{"id": "post/{n}", "type": "post", "url": "https://www.a.example/p/{n}", "status": "{status}", "modified_at": "2026-0{}-11", "terms": {{"tag": ["t"]}}}}"#,
            n % 9 + 1
        ));
    }
    lines.push(
        r#"{"id": "twice", "type": "post", "url": "https://www.a.example/second"}"#.to_owned(),
    );
    lines.push(
        r#"{"id": "site/www.a.example", "type": "site", "entries_per_sitemap": 10, "llms": {"title": "A", "types": ["post", "page"]}}"#
            .to_owned(),
    );
    lines.join("\n") + "\n"
}

/// A stack that is ready, with the lines that it printed.
pub(crate) struct Ready {
    _running: Running,
    ports: [String; 4],
    site: String,
}

pub(crate) fn serve(arguments: &[&str]) -> Ready {
    let running = Running::start(waymark(&["serve"]).args(arguments).args(ANY_PORTS));
    let lines = running.lines_to("change a record");
    let port = |name: &str| port_of(lines.iter().find(|line| line.starts_with(name)).unwrap());
    Ready {
        ports: [
            "--dynamodb-port".to_owned(),
            port("dynamodb "),
            "--s3-port".to_owned(),
            port("s3 "),
        ],
        site: port("site "),
        _running: running,
    }
}

impl Ready {
    pub(crate) fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let ports: Vec<&str> = self.ports.iter().map(String::as_str).collect();
        run(&[arguments, &ports].concat())
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let (status, body) = get(&self.site, HOST, path);
        assert_eq!(status, "HTTP/1.1 200 OK", "{path}");
        body
    }

    /// Returns the entries of all sitemaps by their series, sorted, and the other files.
    fn published(&self) -> BTreeMap<String, Vec<String>> {
        let mut published = BTreeMap::new();
        let index = self.get("/sitemap_index.xml");
        for part in index.split("<loc>").skip(1) {
            let path = part.split_once("</loc>").unwrap().0;
            let path = path.split_once(HOST).unwrap().1;
            let series = path.split_once("-sitemap").unwrap().0;
            let sitemap = self.get(path);
            let entries = sitemap.split("<url>").skip(1);
            let entries =
                entries.filter_map(|entry| Some(entry.split_once("</url>")?.0.to_owned()));
            let series: &mut Vec<String> = published.entry(series.to_owned()).or_default();
            series.extend(entries);
            series.sort();
        }
        for path in ["/robots.txt", "/llms.txt"] {
            let mut lines: Vec<String> = self.get(path).lines().map(str::to_owned).collect();
            // Of two pages of one day the one with the lesser id is first, and of two with one address either one is listed.
            lines.sort();
            published.insert(path.to_owned(), lines);
        }
        published
    }
}

#[test]
fn a_stack_is_filled_as_the_functions_fill_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let content = write("content.jsonl", &content());
    let filled = serve(&["--content", &content]);
    // A stack with a table of the user's is loaded through the functions.
    let mapping = write(
        "mapping.json",
        r#"{"key": [{"pk": "S"}], "fields": {"type": "type", "url": "url"}}"#,
    );
    let table = ["--source-table", "none", "--source-mapping", &mapping];
    let loaded = serve(&[&["--content", &content], &table[..]].concat());

    let of = |stack: &Ready, arguments: &[&str], table: &[&str]| {
        let (status, out, errors) = stack.run(&[arguments, table].concat());
        assert_eq!(status, Some(0), "{arguments:?}: {out}{errors}");
        let mut lines: Vec<String> = out.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for arguments in [&["export"][..], &["export", "--typed"]] {
        assert_eq!(of(&filled, arguments, &[]), of(&loaded, arguments, &[]));
    }
    let left_out = ["status", "--left-out"];
    let reasons = |lines: Vec<String>| -> Vec<String> {
        let begins = lines.into_iter().filter(|line| line.contains(": "));
        // Which of two pages has their address is by chance in the functions' scan.
        let equal = begins.filter(|line| !line.contains("has the same address"));
        equal.filter(|line| line.starts_with("  ")).collect()
    };
    let found = reasons(of(&filled, &left_out, &[]));
    assert!(found.len() > 5, "{found:#?}");
    assert_eq!(found, reasons(of(&loaded, &left_out, &table)));
    let published = filled.published();
    assert_eq!(published["/post"].len(), 35, "{published:#?}");
    assert_eq!(published, loaded.published());
    of(&filled, &["audit"], &[]);

    // A page that changes, one that goes, one that is new.
    let more = concat!(
        r#"{"id": "post/1", "type": "post", "url": "https://www.a.example/moved"}"#,
        "\n",
        r#"{"id": "post/2", "type": "post", "url": "https://www.a.example/p/2", "status": "draft"}"#,
        "\n",
        r#"{"id": "new", "type": "post", "url": "https://www.a.example/new"}"#,
        "\n",
    );
    let more = write("more.jsonl", more);
    for (stack, table) in [(&filled, &[][..]), (&loaded, &table)] {
        of(stack, &["load", &more], &[]);
        let until = ["status", "--until", "published", "--timeout", "200s"];
        of(stack, &until, table);
    }
    let published = filled.published();
    let posts = published["/post"].concat();
    for (path, listed) in [
        ("moved", true),
        ("new", true),
        ("p/1<", false),
        ("p/2<", false),
    ] {
        let loc = format!("<loc>https://{HOST}/{path}");
        assert_eq!(posts.contains(&loc), listed, "{path}: {posts}");
    }
    assert_eq!(published, loaded.published());
    // A first load is no news, and what follows is.
    for (id, is_news) in [("post/3", false), ("new", true)] {
        let (_, said, _) = filled.run(&["explain", id]);
        assert_eq!(said.contains("in the feed since"), is_news, "{said}");
    }
    of(&filled, &["audit"], &[]);
}

/// The way out: what a stack with a table of the user's publishes can be built from an export.
#[test]
fn an_export_has_the_items_of_a_mapped_table() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let own = r#"{"id": "own", "type": "page", "url": "https://www.a.example/own"}"#;
    let content = write("content.jsonl", own);
    let mapping = write(
        "mapping.json",
        r#"{"key": [{"id": "S"}], "fields": {"type": {"constant": "post"}, "url": {"template": "https://www.a.example/{slug}"}}}"#,
    );
    let items = write(
        "items.jsonl",
        "{\"id\": \"x\", \"slug\": \"one\"}\n{\"id\": \"y\"}\n",
    );
    let table = ["--source-table", "posts", "--source-mapping", &mapping];
    let stack = serve(&[&["--content", &content], &table[..]].concat());
    // As records of the content table they have no address, and are told.
    let (status, _, errors) = stack.run(&["load", &items, "--table", "posts"]);
    assert_eq!(status, Some(0), "{errors}");

    let out = folder.path().join("all.jsonl");
    let out = out.to_str().unwrap();
    let export = ["export", "--output", out];
    let (status, _, errors) = stack.run(&[&export[..], &["--mapped"]].concat());
    assert!(
        status == Some(2) && errors.contains("--source-table"),
        "{errors}"
    );
    let (status, _, errors) = stack.run(&[&export[..], &["--mapped"], &table].concat());
    assert_eq!(status, Some(1), "{errors}");
    for said in [
        "posts/y: url: missing, since the item has no slug: it is not exported",
        "exported 2 records",
        "1 item of your own table is not exported",
    ] {
        assert!(errors.contains(said), "{said}: {errors}");
    }
    let exported = std::fs::read_to_string(out).unwrap();
    assert!(exported.contains(r#""id":"posts/x""#), "{exported}");
    let built = folder.path().join("built");
    let (status, _, errors) = run(&["build", out, "--out", built.to_str().unwrap()]);
    assert_eq!(status, Some(0), "{errors}");
    for (name, path) in [("post-sitemap.xml", "one"), ("page-sitemap.xml", "own")] {
        let sitemap = std::fs::read_to_string(built.join(name)).unwrap();
        let loc = format!("<loc>https://{HOST}/{path}</loc>");
        assert!(sitemap.contains(&loc), "{sitemap}");
    }
    let (status, _, errors) = stack.run(&[&["export", "--output", out], &table[..]].concat());
    assert!(
        status == Some(0) && errors.contains("exported 1 record"),
        "{errors}"
    );
}

/// Returns what a run with `--once` has printed, but for ports and times.
fn once(data: &Path, content: &str) -> (String, String) {
    let data = data.to_str().unwrap();
    let arguments = ["--once", "--data", data, "--content", content];
    let (status, out, errors) = run(&[&arguments[..], &ANY_PORTS].concat());
    assert_eq!(status, Some(0), "{errors}");
    let series = out.find("series").unwrap();
    let time = out.find("\ntime").unwrap();
    (out[series..time].to_owned(), errors)
}

#[test]
fn a_first_load_that_was_killed_begins_its_sitemaps_anew() {
    let folder = tempfile::tempdir().unwrap();
    let content = folder.path().join("content.jsonl");
    // It has to be killed before it is done: on a machine that is too fast it gets more to do.
    for pages in [2_000, 20_000, 200_000] {
        let mut text = String::new();
        for n in 0..pages {
            writeln!(
                text,
                r#"{{"id": "{n}", "type": "post", "url": "https://www.a.example/{n}"}}"#
            )
            .unwrap();
        }
        std::fs::write(&content, &text).unwrap();
        let content = content.to_str().unwrap();
        let data = folder.path().join(format!("data-{pages}"));
        let mark = data.join("first-load");
        let mut command = waymark(&["serve", "--content", content]);
        command
            .args(["--data", data.to_str().unwrap()])
            .args(ANY_PORTS);
        let mut running = Running::start(&mut command);
        let began = Instant::now();
        while !mark.exists() && running.child.0.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < LIMIT, "the first load has not begun");
        }
        std::thread::sleep(Duration::from_millis(50));
        running.signal("KILL");
        running.end();
        if !mark.exists() {
            continue;
        }
        let (report, said) = once(&data, content);
        assert!(
            said.contains("an earlier first load was cut short"),
            "{said}"
        );
        assert!(!mark.exists());
        let (fresh, _) = once(&folder.path().join("fresh"), content);
        assert_eq!(report, fresh);
        // A file of the user's with this name is no mark.
        std::fs::write(&mark, "mine").unwrap();
        let (_, said) = once(&data, content);
        assert!(!said.contains("cut short"), "{said}");
        assert_eq!(std::fs::read(&mark).unwrap(), b"mine");
        let other = folder.path().join("other");
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("first-load"), "mine").unwrap();
        let arguments = [
            "--once",
            "--data",
            other.to_str().unwrap(),
            "--content",
            content,
        ];
        let (status, _, errors) = run(&[&arguments[..], &ANY_PORTS].concat());
        assert!(
            status == Some(2) && errors.contains("first-load: is in the way"),
            "{errors}"
        );
        return;
    }
    panic!("a first load of 200,000 pages was over before it could be killed");
}
