//! Redirects of moved and gone pages: `build --redirects`, `export --redirects`, and what `explain` says of chains.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::limited::waymark;

const SITE: &str = "www.example.com";

/// A record on the site, with more fields.
fn record(id: &str, path: &str, more: &Value) -> String {
    let mut record = json!({"id": id, "type": "post", "url": format!("https://{SITE}{path}")});
    for (name, value) in more.as_object().unwrap() {
        record[name] = value.clone();
    }
    record.to_string()
}

/// A chain, a page that is gone, a loop with what leads into it, two records with one address, and a listed page that has another's.
fn content() -> Vec<String> {
    vec![
        record("new", "/new", &json!({})),
        record("a", "/a", &json!({"moved_to": "/b"})),
        record("b", "/b", &json!({"moved_to": "/new#part"})),
        record("gone", "/recalled?p=1", &json!({"gone": true})),
        record("x", "/x", &json!({"moved_to": "/y"})),
        record("y", "/y", &json!({"moved_to": "/x"})),
        record("z", "/z", &json!({"moved_to": "/y"})),
        record("second", "/a", &json!({"moved_to": "/elsewhere"})),
        record("taken", "/taken", &json!({"moved_to": "/elsewhere"})),
        record("listed", "/taken", &json!({})),
    ]
}

const TABLE: &str = "\
from,to,status,moved_to,hops,record
https://www.example.com/a,https://www.example.com/new#part,301,https://www.example.com/b,2,a
https://www.example.com/b,https://www.example.com/new#part,301,https://www.example.com/new#part,1,b
https://www.example.com/recalled?p=1,,410,,0,gone
";
const LOOP: &str = "moved pages lead back to themselves, so none of them redirects: x, y; these lead into the loop: z";

fn write(folder: &Path, lines: &[String]) {
    fs::write(folder.join("content.jsonl"), lines.join("\n")).unwrap();
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn a_build_writes_the_redirects_beside_the_sitemaps() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, &content());
    let build = ["build", "content.jsonl", "--out", "public"];
    let targets = ["csv", "nginx", "netlify"];
    let options = targets.map(|target| format!("--redirects={target}"));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let built = waymark(folder, &[&build[..], &options].concat());
    assert_eq!(built.status, 0, "{}", built.errors);
    assert!(
        built.errors.contains(&format!("waymark: {SITE}: {LOOP}\n")),
        "{}",
        built.errors
    );
    let left = format!(
        "waymark: {SITE}: left out of netlify, it cannot answer 410: gone (https://{SITE}/recalled?p=1)\n"
    );
    assert!(built.errors.contains(&left), "{}", built.errors);
    assert_eq!(read(folder, "public/redirects.csv"), TABLE);
    let nginx = read(folder, "public/redirects.nginx.map");
    assert!(
        nginx.ends_with(
            "\n\"/a\" \"https://www.example.com/new#part\";\n\"/b\" \"https://www.example.com/new#part\";\n\
             \"/recalled?p=1\" \"gone\";\n"
        ),
        "{nginx}"
    );
    let rules =
        "/a https://www.example.com/new#part 301!\n/b https://www.example.com/new#part 301!\n";
    assert_eq!(read(folder, "public/_redirects"), rules);

    // The files belong to the builds, as the others do.
    let pruned = waymark(folder, &[&build[..], &["--prune", "--json"]].concat());
    assert_eq!(pruned.status, 0, "{}", pruned.errors);
    let json: Value = serde_json::from_str(&pruned.output).unwrap();
    let files = ["_redirects", "redirects.csv", "redirects.nginx.map"];
    assert_eq!(json["pruned"], json!(files));
    let loops = json!({"loops": [{"records": ["x", "y"], "leading": ["z"]}], "long": []});
    assert_eq!(json["sites"][0]["moves"], loops);
    assert!(!folder.join("public/_redirects").exists());
}

#[test]
fn a_build_says_what_a_target_cannot_hold() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let many = (0..2_001).map(|n| {
        record(
            &format!("r{n}"),
            &format!("/{n}"),
            &json!({"moved_to": "/"}),
        )
    });
    write(folder, &many.collect::<Vec<_>>());
    let build = ["build", "content.jsonl", "--out", "public", "--redirects"];
    let refused = waymark(folder, &[&build[..], &["cloudflare"]].concat());
    assert_eq!(refused.status, 2, "{}", refused.errors);
    let text = "nothing was written: the redirects of www.example.com: cloudflare takes at most 2000 redirects, and there \
                are 2001";
    assert!(refused.errors.contains(text), "{}", refused.errors);
    assert!(!folder.join("public/robots.txt").exists());

    let both = [&build[..], &["cloudflare", "--redirects", "netlify"]].concat();
    let both = waymark(folder, &both);
    assert_eq!(both.status, 2);
    assert!(
        both.errors.contains("write the same file, _redirects"),
        "{}",
        both.errors
    );
    let unknown = waymark(folder, &[&build[..], &["iis"]].concat());
    assert_eq!(unknown.status, 2);
    assert!(
        unknown
            .errors
            .contains("is not one of nginx, apache, caddy"),
        "{}",
        unknown.errors
    );
}

/// A site all of whose pages have moved to another one is a site here.
#[test]
fn a_build_writes_redirects_of_a_site_without_pages() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut lines = content();
    let old = json!({"id": "old", "type": "post", "url": "https://old.example/p", "moved_to": format!("https://{SITE}/new")});
    lines.push(old.to_string());
    write(folder, &lines);
    let build = ["build", "content.jsonl", "--out", "public", "--per-site"];
    let plain = waymark(folder, &build);
    assert_eq!(plain.status, 0, "{}", plain.errors);
    assert!(!folder.join("public/old.example").exists());
    let built = waymark(folder, &[&build[..], &["--redirects", "apache"]].concat());
    assert_eq!(built.status, 0, "{}", built.errors);
    assert_eq!(
        read(folder, "public/old.example/redirects.apache.txt"),
        "/p https://www.example.com/new\n"
    );
}

#[cfg(feature = "serve")]
mod on_a_stack {
    use super::*;
    use crate::serve::serve;

    #[test]
    fn an_export_has_the_redirects_of_one_site() {
        let folder = tempfile::tempdir().unwrap();
        let mut lines = content();
        lines.push(
            json!({"id": "other", "type": "post", "url": "https://other.example/p"}).to_string(),
        );
        write(folder.path(), &lines);
        let content = folder.path().join("content.jsonl");
        let stack = serve(&["--content", content.to_str().unwrap()]);

        let (status, out, errors) = stack.run(&["export", "--redirects", "csv"]);
        assert_eq!(
            (status, out.as_str()),
            (Some(1), TABLE.trim_end()),
            "{errors}"
        );
        assert!(
            errors.contains("exported 3 redirects\n") && errors.contains(LOOP),
            "{errors}"
        );
        let file = folder.path().join("redirects.json");
        let file = file.to_str().unwrap();
        let vercel = [
            "export",
            "--redirects",
            "vercel",
            "--site",
            SITE,
            "--output",
            file,
            "--json",
        ];
        let (status, out, errors) = stack.run(&vercel);
        assert_eq!(status, Some(1), "{errors}");
        let json: Value = serde_json::from_str(&out).unwrap();
        let gone = json!({"gone": format!("https://{SITE}/recalled?p=1")});
        let expected = json!({
            "site": SITE, "target": "vercel", "redirects": 2,
            "left_out": {"it cannot answer 410": {"count": 1, "examples": gone}},
            "advice": null,
            "loops": [{"records": ["x", "y"], "leading": ["z"]}], "long": [],
        });
        assert_eq!(json, expected);
        let rules: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(rules["redirects"].as_array().unwrap().len(), 2);

        let other = ["export", "--redirects", "nginx", "--site", "other.example"];
        let (status, out, errors) = stack.run(&other);
        assert_eq!(status, Some(0), "{errors}");
        assert_eq!(out, "# map_hash_bucket_size 64; map_hash_max_size 2048;");
        let none = ["export", "--redirects", "nginx", "--site", "none.example"];
        let (status, _, errors) = stack.run(&none);
        assert_eq!(status, Some(2));
        assert!(
            errors.contains("there is no site none.example here"),
            "{errors}"
        );
        let (status, _, errors) = stack.run(&["export", "--redirects", "csv", "--type", "post"]);
        assert_eq!(status, Some(2));
        assert!(errors.contains("cannot be used with"), "{errors}");

        let explain = |what: &str| {
            let (status, out, errors) = stack.run(&["explain", what]);
            assert_eq!(status, Some(0), "{out}{errors}");
            out
        };
        let a = explain("a");
        let line = "  ends at https://www.example.com/new#part after 2 moves, over b";
        assert!(a.contains(line), "{a}");
        assert!(!explain("b").contains("ends at"));
        let x = explain("https://www.example.com/x");
        let line = "  does not redirect: y leads back to x, in a loop of moves, over y";
        assert!(x.contains(line), "{x}");
        let z = explain("z");
        let line = "  does not redirect: x leads back to y, in a loop of moves, over y, x";
        assert!(z.contains(line), "{z}");
        let gone = explain("gone");
        assert!(
            gone.contains("`waymark export --redirects` has it"),
            "{gone}"
        );
        // The page that waits for an address has no chain.
        assert!(!explain("second").contains("ends at"));
    }

    #[test]
    fn an_export_of_several_sites_needs_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut lines = content();
        let old =
            json!({"id": "old", "type": "post", "url": "https://old.example/p", "gone": true});
        lines.push(old.to_string());
        write(folder.path(), &lines);
        let content = folder.path().join("content.jsonl");
        let stack = serve(&["--content", content.to_str().unwrap()]);
        let (status, out, errors) = stack.run(&["export", "--redirects", "caddy"]);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{errors}");
        let text =
            "several have redirects: old.example, www.example.com. Give one of them with --site";
        assert!(errors.contains(text), "{errors}");
        let old = ["export", "--redirects", "caddy", "--site", "old.example"];
        let (status, out, errors) = stack.run(&old);
        assert_eq!(
            (status, out.as_str()),
            (Some(0), "\"/p\" \"gone\""),
            "{errors}"
        );
    }
}
