//! What a check leaves out is told: findings beyond the caps, the rest of broken documents, what is beyond a limit, and a site that
//! names another host.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Outcome, index, robots, send, serve, urlset, waymark, waymark_in, xml};

const ORIGIN: &str = "https://www.example.com";

fn json_of(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.output)
        .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.output, outcome.errors))
}

/// Returns a sitemap with this text in the loc of its third entry of ten, a line each.
fn broken(text: &str) -> String {
    let mut xml = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n".to_owned();
    for number in 1..=10 {
        let text = if number == 3 { text } else { "" };
        writeln!(xml, "<url><loc>{ORIGIN}/{number}{text}</loc></url>").unwrap();
    }
    xml + "</urlset>\n"
}

#[test]
fn a_noisy_document_and_a_noisy_rule_are_cut_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let spaces: Vec<_> = (0..70).map(|number| format!("/{number} x")).collect();
    let spaces: Vec<_> = spaces.iter().map(String::as_str).collect();
    fs::write(folder.path().join("a.xml"), urlset(ORIGIN, &spaces)).unwrap();
    fs::write(folder.path().join("b.xml"), urlset(ORIGIN, &["/b c"])).unwrap();
    fs::write(
        folder.path().join("c.xml"),
        urlset("http://c.example", &["/1"]),
    )
    .unwrap();
    let arguments = [
        "a.xml", "b.xml", "c.xml", "--origin", ORIGIN, "--skip", "lastmod.",
    ];
    let outcome = waymark_in(path, &arguments);
    assert_eq!(outcome.status, 1);
    let line = "and 20 more of loc.form in a.xml";
    assert!(
        outcome.output.lines().any(|one| one == line),
        "{}",
        outcome.output
    );
    assert!(
        outcome.output.contains("/b c\" has a character"),
        "{}",
        outcome.output
    );
    assert!(outcome.output.contains("c.xml:1:"), "{}", outcome.output);
    let report = json_of(&waymark_in(path, &[&arguments[..], &["--json"]].concat()));
    assert_eq!(report["counts"]["loc.form"], 71);
    assert_eq!(report["findings"].as_array().unwrap().len(), 52);
    let omitted = json!([{"rule": "loc.form", "file": "a.xml", "count": 20}]);
    assert_eq!(report["omitted"], omitted);
    // What is not shown is in the baseline, and fails.
    let baseline = ["--baseline", "baseline.json"];
    let written = [&arguments[..], &baseline, &["--write-baseline"]].concat();
    assert_eq!(waymark_in(path, &written).status, 0);
    let known = waymark_in(path, &[&arguments[..], &baseline].concat());
    assert_eq!(known.status, 0, "{}", known.output);
    assert!(
        known.output.contains("72 known findings"),
        "{}",
        known.output
    );
    let none = waymark_in(path, &[&arguments[..], &["--max-findings", "0"]].concat());
    assert_eq!(none.status, 1);
    assert!(
        none.output.contains("and 70 more of loc.form in a.xml"),
        "{}",
        none.output
    );
}

#[test]
fn an_error_of_xml_says_how_many_urls_it_costs_and_how_to_fix_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let check = |text: &str| {
        fs::write(folder.path().join("a.xml"), text).unwrap();
        waymark_in(path, &["a.xml", "--json"])
    };
    for (text, is_estimate, cause) in [
        ("?a=1&b=2", true, "& is written &amp;"),
        ("?a=1 & b", true, "& is written &amp;"),
        ("?a=1&b=2;", false, "& is written &amp;"),
        ("?a<b", true, "< is written &lt;"),
        ("?a < b", true, "< is written &lt;"),
        (
            "&nbsp;",
            false,
            "XML does not know the entity \"nbsp\": write the character itself",
        ),
        (
            "\u{8}",
            false,
            "XML forbids a control character in it: remove the character",
        ),
        (
            "</loc><x:y/><loc>",
            false,
            "a prefix in it is not declared: add its xmlns attribute to the root element",
        ),
    ] {
        let outcome = check(&broken(text));
        let report = json_of(&outcome);
        assert_eq!(outcome.status, 1, "{text}");
        let about = if is_estimate { "about " } else { "" };
        let message =
            format!("{about}8 of 10 URLs of a.xml could not be read after line 4: {cause}");
        assert_eq!(report["broken"][0]["message"], message, "{report}");
        assert_eq!(report["broken"][0]["after"], 8);
        assert_eq!(report["broken"].as_array().unwrap().len(), 1);
    }
    let whole = broken("");
    let outcome = check(&whole[..whole.len() - 30]);
    let report = json_of(&outcome);
    let told = &report["broken"][0];
    assert_eq!(
        (&told["cause"], told.get("after")),
        (&json!("the document is cut off"), None)
    );
    assert_eq!(told["before"], 9, "{told}");
    let outcome = waymark_in(path, &["a.xml"]);
    let line = "  the rest of a.xml after line 11 could not be read, 9 URLs before it could: the document is cut off";
    assert!(
        outcome.output.lines().any(|one| one == line),
        "{}",
        outcome.output
    );
    // A sound one costs nothing.
    assert_eq!(json_of(&check(&whole))["broken"], json!([]));
}

#[test]
fn a_limit_is_told_with_its_value_and_its_option() {
    let origin = serve(|path, origin, stream| match path {
        "/robots.txt" => robots(stream, origin),
        "/sitemap.xml" => xml(stream, &index(origin, &["/a.xml", "/b.xml"])),
        "/a.xml" | "/b.xml" => xml(stream, &urlset(origin, &[path, "/2/"])),
        _ => {
            let page = b"<!doctype html><html><head></head><body></body></html>";
            send(stream, "200 OK", "content-type: text/html\r\n", page);
        }
    });
    let target = format!("{origin}/");
    for (option, value, rest) in [
        ("--max-sitemaps", "2", "the other sitemaps were not checked"),
        ("--max-urls", "1", "the other sitemaps were not checked"),
        (
            "--max-bytes",
            "200",
            "the rest of the document was not read",
        ),
        ("--pages", "1", "the other pages were not fetched"),
    ] {
        let arguments = [&target[..], option, value, "--rate", "0", "--json"];
        let report = json_of(&waymark(&arguments));
        let limit = &report["limits"][0];
        assert_eq!(limit["option"], option, "{report}");
        assert_eq!(limit["limit"].to_string(), value);
        assert_eq!(limit["rest"], rest);
        let text = waymark(&arguments[..5]).output;
        let message = limit["message"].as_str().unwrap();
        assert!(
            text.contains(&format!("not checked:\n  {message}\n")),
            "{text}"
        );
    }
    let report = json_of(&waymark(&[&target, "--rate", "0", "--json"]));
    assert_eq!(report["limits"], json!([]));
}

#[test]
fn a_limit_that_no_option_raises_is_told_too() {
    let nested = serve(|path, origin, stream| match path {
        "/robots.txt" => robots(stream, origin),
        _ => xml(stream, &index(origin, &[&format!("{path}x")])),
    });
    let redirects = serve(|path, origin, stream| match path {
        "/robots.txt" => robots(stream, origin),
        _ => {
            let location = format!("location: {origin}{path}x\r\n");
            send(stream, "302 Found", &location, b"");
        }
    });
    let long = serve(|path, origin, stream| match path {
        "/robots.txt" => {
            let text = format!("Sitemap: {origin}/sitemap.xml\n{}", "#\n".repeat(300_000));
            let headers = "content-type: text/plain\r\n";
            send(stream, "200 OK", headers, text.as_bytes());
        }
        _ => xml(stream, &urlset(origin, &["/1"])),
    });
    let deep = serve(|path, origin, stream| match path {
        "/robots.txt" => robots(stream, origin),
        _ => {
            let nest = format!("<url>{}</url>", "<a xmlns=\"urn:a\">".repeat(100));
            let text = urlset(origin, &["/1"]).replace("</urlset>", &nest);
            xml(stream, &text);
        }
    });
    for (origin, value, unit) in [
        (nested, 3, "nested indexes"),
        (redirects, 10, "redirects"),
        (long, 512_000, "bytes of a robots.txt"),
        (deep, 64, "nested elements"),
    ] {
        let report = json_of(&waymark(&[&format!("{origin}/"), "--rate", "0", "--json"]));
        let limit = &report["limits"][0];
        assert_eq!(
            (&limit["limit"], &limit["unit"]),
            (&json!(value), &json!(unit)),
            "{report}"
        );
        assert_eq!(limit.get("option"), None);
    }
}

#[test]
fn a_check_that_ran_out_of_time_says_what_raises_the_limit() {
    let origin = serve(|path, origin, stream| match path {
        "/robots.txt" => robots(stream, origin),
        "/sitemap.xml" => xml(stream, &index(origin, &["/a.xml"])),
        _ => std::thread::sleep(super::LIMIT * 2),
    });
    let target = format!("{origin}/");
    for option in ["--max-time", "--timeout"] {
        let arguments = [&target[..], option, "2s", "--retries", "0", "--json"];
        let report = json_of(&waymark(&arguments));
        let limit = &report["limits"][0];
        let told = (&limit["limit"], &limit["option"]);
        assert_eq!(told, (&json!(2), &json!(option)), "{report}");
    }
}

/// Returns the hints of a check, and the text's.
fn hints(arguments: &[&str]) -> Vec<String> {
    let quick = ["--retries", "0", "--rate", "0", "--timeout", "2s"];
    let arguments = [arguments, &quick].concat();
    let report = json_of(&waymark(&[&arguments[..], &["--json"]].concat()));
    let hints = report["hints"].as_array().unwrap().iter();
    let hints: Vec<_> = hints
        .map(|hint| hint.as_str().unwrap().to_owned())
        .collect();
    let text = waymark(&arguments).output;
    let lines: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("hint: "))
        .collect();
    assert_eq!(lines, hints, "{text}");
    hints
}

#[test]
fn a_site_that_names_its_public_host_is_told_once_how_to_check_it() {
    // No name server knows a host of .invalid.
    let public = "https://www.example.invalid";
    let expected = |origin: &str, path: &str| {
        format!(
            "If {origin} serves what is at {public}, check it with: waymark check {public}{path} --map {public}={origin}"
        )
    };
    let sites = [
        // robots.txt names sitemaps of another host.
        serve(move |path, _, stream| match path {
            "/robots.txt" => robots(stream, public),
            _ => xml(stream, &urlset(public, &["/1", "/2"])),
        }),
        // An index lists sitemaps of another host.
        serve(move |path, origin, stream| match path {
            "/robots.txt" => robots(stream, origin),
            _ => xml(stream, &index(public, &["/a.xml", "/b.xml"])),
        }),
        // A sitemap lists pages of another host.
        serve(move |path, origin, stream| match path {
            "/robots.txt" => robots(stream, origin),
            _ => xml(stream, &urlset(public, &["/1", "/2"])),
        }),
        // All of it redirects to another host.
        serve(move |path, _, stream| {
            let location = format!("location: {public}{path}\r\n");
            send(stream, "301 Moved", &location, b"");
        }),
    ];
    for (case, origin) in sites.iter().enumerate() {
        let target = format!("{origin}/");
        let told = hints(&[&target, &target]);
        assert_eq!(told.len(), 1, "{case}: {told:?}");
        assert!(
            told[0].ends_with(&expected(origin, "/")),
            "{case}: {told:?}"
        );
    }
    // What it says is right, whatever the case.
    for origin in &sites[..3] {
        let map = format!("{public}={origin}");
        assert_eq!(hints(&[&format!("{public}/"), "--map", &map]), [""; 0]);
    }
    // A sitemap is checked by its own address.
    let sitemap = format!("{}/sitemap.xml", sites[2]);
    let told = hints(&[&sitemap]);
    assert!(
        told[0].ends_with(&expected(&sites[2], "/sitemap.xml")),
        "{told:?}"
    );
}

#[test]
fn files_that_name_another_host_are_told_which_origin_to_give() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let check = |arguments: &[&str]| {
        let outcome = waymark_in(path, &[arguments, &["--json"]].concat());
        json_of(&outcome)["hints"].clone()
    };
    let write = |name: &str, text: &str| fs::write(Path::new(path).join(name), text).unwrap();
    write("sitemap.xml", &index(ORIGIN, &["/a.xml"]));
    write("a.xml", &urlset(ORIGIN, &["/1"]));
    let staging = "https://staging.example.com";
    assert_eq!(
        check(&[".", "--origin", staging]),
        json!([format!(
            "the documents of . name {ORIGIN}, not {staging}. If they will be served there, give --origin {ORIGIN}"
        )])
    );
    assert_eq!(check(&[".", "--origin", ORIGIN]), json!([]));
    assert_eq!(
        check(&["sitemap.xml"]),
        json!([format!(
            "the sitemaps that sitemap.xml lists were not read. To read them beside it, add --origin {ORIGIN}"
        )])
    );
    assert_eq!(check(&["sitemap.xml", "--origin", ORIGIN]), json!([]));
    assert_eq!(check(&["a.xml"]), json!([]));
}
