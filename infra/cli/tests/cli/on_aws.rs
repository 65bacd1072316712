//! `waymark check` and `diff` of a bucket, and `check` of a deployment by its stack's name. S3 and CloudFormation are doubles on
//! loopback.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::limited::Limited as _;

use crate::double::{Double, REGION, members};
use crate::loopback::{Loopback, respond};
use crate::site::serve;

/// Serves a double of S3, with path-style addresses: one bucket, `b`, whose objects these are.
fn s3(objects: Vec<(String, String, &'static str)>) -> String {
    Loopback::bind().serve(move |request, stream| {
        let path = request.path();
        let object = objects.iter().find(|(key, ..)| path == format!("/b/{key}"));
        let error =
            |code: &str| format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>");
        let (status, media, body) = match object {
            Some((_, body, media)) => ("200 OK", *media, body.clone()),
            None if request.target.contains("list-type=2")
                && !request.target.contains("delimiter=") =>
            {
                let (_, prefix) = request.target.split_once("prefix=").unwrap_or_default();
                let prefix = prefix.split('&').next().unwrap_or_default();
                let prefix = prefix.replace("%2F", "/");
                let mut list = "<ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
                for (key, ..) in objects.iter().filter(|(key, ..)| key.starts_with(&prefix)) {
                    list.push_str(&format!("<Contents><Key>{key}</Key></Contents>"));
                }
                list.push_str("</ListBucketResult>");
                ("200 OK", "application/xml", list)
            }
            None if request.target.contains("list-type=2") => (
                "200 OK",
                "application/xml",
                "<ListBucketResult><IsTruncated>false</IsTruncated><CommonPrefixes>\
                 <Prefix>published/www.example.com/</Prefix></CommonPrefixes></ListBucketResult>"
                    .to_owned(),
            ),
            None if path.contains("secret") => {
                ("403 Forbidden", "application/xml", error("AccessDenied"))
            }
            None if path.starts_with("/b/") => {
                ("404 Not Found", "application/xml", error("NoSuchKey"))
            }
            None => ("404 Not Found", "application/xml", error("NoSuchBucket")),
        };
        let headers = format!("content-type: {media}\r\n");
        respond(stream, status, &headers, body.as_bytes())
    })
}

/// Runs a check. Returns the counts of findings, the status, and what was written.
fn check(s3: &str, cloudformation: &str, arguments: &[&str]) -> (Value, Option<i32>, String) {
    check_without("", s3, cloudformation, arguments)
}

/// Runs a check as [`check`] does, where one of AWS's variables is not set.
fn check_without(
    variable: &str,
    s3: &str,
    cloudformation: &str,
    arguments: &[&str],
) -> (Value, Option<i32>, String) {
    let usual = ["check", "--json", "--rate", "0", "--retries", "0"];
    let (status, text) = waymark(variable, s3, cloudformation, &[&usual, arguments].concat());
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    (json["counts"].clone(), status, text)
}

/// Runs the command. Returns its status, and what was written.
fn waymark(
    variable: &str,
    s3: &str,
    cloudformation: &str,
    arguments: &[&str],
) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_waymark"))
        .args(arguments)
        .stdin(Stdio::null())
        .env_clear()
        .envs([
            ("AWS_ENDPOINT_URL", cloudformation),
            ("AWS_ENDPOINT_URL_S3", s3),
            ("AWS_ACCESS_KEY_ID", "x"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_REGION", REGION),
            ("AWS_EC2_METADATA_DISABLED", "true"),
            ("AWS_CONFIG_FILE", "/dev/null"),
            ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"),
        ])
        .env_remove(if variable.is_empty() {
            "NOTHING"
        } else {
            variable
        })
        .output_in_time();
    let text =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

#[test]
fn a_bucket_is_checked_as_what_it_will_be_served_as() {
    let origin = "https://www.example.com";
    let urlset = |path: &str| {
        format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>{origin}{path}</loc>\
             <lastmod>2026-01-02</lastmod></url></urlset>"
        )
    };
    let index = |names: &[&str]| {
        let entries: String = names
            .iter()
            .map(|name| format!("<sitemap><loc>{origin}/{name}</loc></sitemap>"))
            .collect();
        format!(
            "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{entries}</sitemapindex>"
        )
    };
    let robots = format!("Sitemap: {origin}/sitemap.xml\n");
    let object = |key: &str, body: &str, media| (key.to_owned(), body.to_owned(), media);
    let s3 = s3(vec![
        object("out/robots.txt", &robots, "text/plain"),
        object(
            "out/sitemap.xml",
            &index(&["a%20b.xml", "b.xml"]),
            "application/xml",
        ),
        object("out/a%20b.xml", &urlset("/1"), "application/xml"),
        object("out/b.xml", &urlset("/2"), "binary/octet-stream"),
        object(
            "bad/sitemap.xml",
            &index(&["gone.xml", "secret.xml"]),
            "application/xml",
        ),
    ]);
    let run = |arguments: &[&str]| check(&s3, "http://127.0.0.1:9", arguments);
    let (counts, status, text) = run(&["s3://b/out/", "--origin", origin]);
    assert_eq!(
        (counts, status),
        (serde_json::json!({"file.ctype": 1}), Some(0)),
        "{text}"
    );
    let (counts, ..) = run(&[
        "s3://b/out/b.xml",
        "--origin",
        origin,
        "--skip",
        "file.ctype",
    ]);
    assert_eq!(counts, serde_json::json!({}));
    let (counts, status, text) = run(&["s3://b/bad", "--origin", origin]);
    let expected = serde_json::json!({"index.dead": 1, "file.status": 1});
    assert_eq!((counts, status), (expected, Some(1)), "{text}");
    assert!(
        text.contains("no permission for s3:GetObject on s3://b/bad/secret.xml"),
        "{text}"
    );
    // Who may read objects and not list them is told nothing of what is missing.
    let (counts, _, text) = run(&["s3://b/secret", "--origin", origin]);
    let expected = serde_json::json!({"index.reachable": 1, "robots.status": 1});
    assert_eq!(counts, expected, "{text}");
    assert!(
        text.contains("no permission for s3:GetObject on s3://b/secret/sitemap.xml")
            && text.contains("unknown what it disallows: no permission for s3:GetObject on s3://b/secret/robots.txt \
                              (or it does not exist"),
        "{text}"
    );
    let (counts, _, text) = run(&["s3://other", "--origin", origin]);
    assert_eq!(counts, serde_json::json!({"index.reachable": 1}), "{text}");
    assert!(text.contains("NoSuchBucket"), "{text}");
    for (variable, expected) in [
        (
            "AWS_REGION",
            "waymark: cannot read s3://b: no region is set: give --region",
        ),
        (
            "AWS_ACCESS_KEY_ID",
            "waymark: cannot read s3://b: no AWS credentials: ",
        ),
    ] {
        let arguments = ["s3://b/out", "--origin", origin];
        let (_, status, text) = check_without(variable, &s3, "http://127.0.0.1:9", &arguments);
        assert!(status == Some(2) && text.starts_with(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    let (_, status, text) = run(&["s3://b/out"]);
    assert!(status == Some(2) && text.contains("--origin"), "{text}");
    let (_, status, text) = run(&["s3://", "--origin", origin]);
    assert!(
        status == Some(2) && text.contains("s3://bucket/prefix"),
        "{text}"
    );
}

#[test]
fn a_bucket_is_compared_with_a_folder() {
    let namespace = "http://www.sitemaps.org/schemas/sitemap/0.9";
    let urlset = |path: &str| {
        format!(
            "<urlset xmlns=\"{namespace}\"><url><loc>https://www.example.com{path}</loc></url></urlset>"
        )
    };
    let index = format!(
        "<sitemapindex xmlns=\"{namespace}\"><sitemap><loc>https://www.example.com/a-sitemap.xml</loc></sitemap>\
         <sitemap><loc>https://www.example.com/b-sitemap.xml</loc></sitemap></sitemapindex>"
    );
    let folder = tempfile::tempdir().unwrap();
    let object = |key: &str, body: &str| (key.to_owned(), body.to_owned(), "application/xml");
    let mut objects = Vec::new();
    for (name, body) in [
        (
            "robots.txt",
            "Sitemap: https://www.example.com/sitemap.xml\n".to_owned(),
        ),
        ("sitemap.xml", index.clone()),
        ("a-sitemap.xml", urlset("/1")),
        ("b-sitemap.xml", urlset("/2")),
    ] {
        std::fs::write(folder.path().join(name), &body).unwrap();
        objects.push(object(&format!("out/{name}"), &body));
    }
    objects.push(object("older/sitemap.xml", &index));
    objects.push(object("older/a-sitemap.xml", &urlset("/1")));
    objects.push(object("older/b-sitemap.xml", &urlset("/old")));
    objects.push(object("cut/sitemap.xml", &index));
    objects.push(object("cut/a-sitemap.xml", &urlset("/1")));
    let s3 = s3(objects);
    let path = folder.path().to_str().unwrap();
    let diff = |arguments: &[&str]| {
        waymark(
            "",
            &s3,
            "http://127.0.0.1:9",
            &[&["diff"], arguments].concat(),
        )
    };
    let same = "2 the same, 0 gone, 0 new, 0 changed\n".to_owned();
    assert_eq!(diff(&[path, "s3://b/out/"]), (Some(0), same.clone()));
    assert_eq!(diff(&["s3://b/out/sitemap.xml", path]), (Some(0), same));
    // Without a robots.txt, the usual names.
    let (status, text) = diff(&["s3://b/older", "s3://b/out", "--json"]);
    let compared: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &compared["a"]), (Some(1), &"s3://b/older/".into()));
    let gone = &compared["changes"][1];
    assert_eq!(gone["sitemap_a"], "s3://b/older/b-sitemap.xml", "{text}");
    for (arguments, expected) in [
        (
            &["s3://b/cut", path][..],
            "waymark: s3://b/cut/b-sitemap.xml: s3://b/cut/b-sitemap.xml does not exist",
        ),
        (
            &["s3://b/none", path],
            "waymark: s3://b/none/: found no sitemap in robots.txt",
        ),
        (&["s3://other", path], "waymark: s3://other/robots.txt: "),
        // It may name sitemaps.
        (
            &["s3://b/secret", path],
            "waymark: s3://b/secret/robots.txt: no permission for s3:GetObject on s3://b/secret/robots.txt (or it does not exist",
        ),
        (&["s3://", path], "waymark: s3://: has no bucket: "),
        (
            &[path, path, "--region", "eu-west-1"],
            "waymark: --region and --profile are only for ",
        ),
    ] {
        let (status, text) = diff(arguments);
        assert!(status == Some(2) && text.starts_with(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    let (status, text) = waymark(
        "AWS_REGION",
        &s3,
        "http://127.0.0.1:9",
        &["diff", path, "s3://b"],
    );
    let expected = "waymark: cannot read s3://b: no region is set: give --region";
    assert!(status == Some(2) && text.starts_with(expected), "{text}");
}

#[test]
fn logs_of_a_bucket_are_read_below_a_prefix() {
    let line = |second: u8, path: &str| {
        format!(
            "66.249.66.1 - - [01/Nov/2026:00:00:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"Googlebot/2.1\"\n"
        )
    };
    let object = |key: &str, body: String| (key.to_owned(), body, "text/plain");
    let s3 = s3(vec![
        object("cdn/2026/11/a", line(0, "/1") + &line(1, "/2")),
        object("cdn/2026/11/b", line(2, "/1")),
        object("cdn/2026/12/c", line(3, "/3")),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("sitemap.txt");
    std::fs::write(
        &list,
        "https://www.example.com/1\nhttps://www.example.com/3\n",
    )
    .unwrap();
    let list = list.to_str().unwrap();
    let crawl = |arguments: &[&str]| {
        let usual = ["crawl", "--sitemaps", list, "--json"];
        waymark("", &s3, "http://127.0.0.1:9", &[&usual, arguments].concat())
    };
    let (status, text) = crawl(&["s3://b/cdn/2026/11/"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &report["logs"]["files"]),
        (Some(0), &2.into()),
        "{text}"
    );
    assert_eq!(report["logs"]["lines"], 3);
    assert_eq!(
        (&report["total"]["listed"], &report["total"]["never"]),
        (&2.into(), &1.into())
    );
    let (status, text) = crawl(&["s3://b/cdn/2025/"]);
    assert_eq!(status, Some(2));
    assert!(text.contains("there is no log"), "{text}");
}

#[test]
fn a_deployments_sites_are_checked_at_their_public_addresses() {
    let outputs = [
        ("ContentTableName", "c"),
        ("SitemapTableName", "s"),
        ("SitemapBucketName", "b"),
        ("FailureBucketName", "f"),
        ("Version", env!("CARGO_PKG_VERSION")),
    ];
    let parameters = [
        ("Sites", "www.example.com"),
        ("SourceTable", ""),
        ("SourceMapping", ""),
    ];
    let stack = members("Output", &outputs) + &members("Parameter", &parameters);
    let double = Double::start(vec![("prod", "UPDATE_COMPLETE", stack)]);
    let s3 = s3(Vec::new());
    let public = "https://www.example.com";
    let site = serve(|site| {
        let robots = site.robots.replace(&site.origin, public);
        site.put("/robots.txt", 200, "text/plain", robots);
        let body = site
            .urlset(2)
            .replace(&site.origin, public)
            .replace("/soup/", "/a b/");
        site.put_xml("/sitemap_index.xml", body);
    });
    let map = format!("{public}={}", site.origin);
    let (counts, status, text) = check(&s3, &double.url, &["--stack", "prod", "--map", &map]);
    assert_eq!(
        (counts, status),
        (serde_json::json!({"loc.form": 1}), Some(1)),
        "{text}"
    );
    assert_eq!(double.asked().len(), 1);
    let (_, status, text) = check(&s3, &double.url, &["--stack", "other"]);
    assert!(
        status == Some(2) && text.starts_with("waymark: no stack other in"),
        "{text}"
    );
    let (_, status, text) = check(
        &s3,
        &double.url,
        &["https://a.example/", "--region", "eu-west-1"],
    );
    assert!(
        status == Some(2) && text.contains("--region and --profile are only for"),
        "{text}"
    );
}
