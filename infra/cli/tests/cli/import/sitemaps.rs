//! Sitemaps in files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::import::{counts, expected, find, import, urlset, write};
use crate::limited::Limited as _;

#[test]
fn an_entry_keeps_its_extensions() {
    let folder = tempfile::tempdir().unwrap();
    let xml = urlset(
        "<url><loc> https://www.example.com/a?x=1&amp;y=2 </loc><lastmod>2026-11-01T10:00+01:00</lastmod>\
         <changefreq>daily</changefreq><priority>0.9</priority>\
         <image:image><image:loc><![CDATA[https://img.example/a&b.jpg]]></image:loc><image:title>x</image:title></image:image>\
         <video:video><video:thumbnail_loc>https://img.example/t.jpg</video:thumbnail_loc><video:title>V</video:title>\
         <video:description>D</video:description><video:content_loc>https://img.example/v.mp4</video:content_loc>\
         <video:duration>90</video:duration><video:rating>4.5</video:rating><video:family_friendly>yes</video:family_friendly>\
         <video:restriction relationship='deny'>DE AT</video:restriction><video:tag>a</video:tag><video:tag>b</video:tag>\
         <video:uploader info='https://www.example.com/u'>U</video:uploader></video:video>\
         <xhtml:link rel='alternate' hreflang='de' href='https://www.example.com/de/a'/></url>\
         <url><lastmod>2026-11-01</lastmod></url>\
         <url><loc>https://www.example.com/b</loc><lastmod>yesterday</lastmod></url>",
    );
    let (records, report, status) = import(&[&write(&folder, "page-sitemap.xml", &xml)]);
    let first = json!({
        "id": "www.example.com/a?x=1&y=2", "type": "page", "url": "https://www.example.com/a?x=1&y=2",
        "modified_at": "2026-11-01T10:00:00+01:00",
        "images": [{"url": "https://img.example/a&b.jpg"}],
        "videos": [{"thumbnail_loc": "https://img.example/t.jpg", "title": "V", "description": "D",
            "content_loc": "https://img.example/v.mp4", "duration": 90, "rating": 4.5, "family_friendly": true,
            "restriction": {"deny": ["DE", "AT"]}, "tags": ["a", "b"],
            "uploader": {"name": "U", "info": "https://www.example.com/u"}}],
        "alternates": [{"hreflang": "de", "url": "https://www.example.com/de/a"}],
    });
    assert_eq!((&records[0], records.len(), status), (&first, 2, 0));
    let notes = [
        ("lastmod", 1),
        ("<changefreq>", 1),
        ("<priority>", 1),
        ("<image:title>", 1),
    ];
    assert_eq!(counts(&report["notes"]), expected(notes));
    assert_eq!(
        counts(&report["skipped"]),
        expected([("it has no address", 1)])
    );
    let sitemaps = json!({"www.example.com page": 1, "www.example.com video": 1});
    assert_eq!(report["sitemaps"], sitemaps);
}

#[test]
fn videos_and_news_of_sitemaps_of_their_own_are_added_to_their_pages() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |path: &str, more: &str| {
        format!("<url><loc>https://www.example.com/{path}</loc>{more}</url>\n")
    };
    let video = "<video:video><video:thumbnail_loc>https://i.example/t.jpg</video:thumbnail_loc><video:title>V</video:title>\
        <video:player_loc>https://i.example/v</video:player_loc></video:video>";
    let news = "<news:news><news:publication><news:name>The Times</news:name><news:language>en</news:language>\
        </news:publication><news:publication_date>2026-11-24</news:publication_date><news:title>N</news:title></news:news>";
    write(
        &folder,
        "post-sitemap.xml",
        &urlset(&(entry("a", "") + &entry("b", ""))),
    );
    write(
        &folder,
        "video-sitemap.xml",
        &urlset(&(entry("a", video) + &entry("alone", video))),
    );
    write(&folder, "news-sitemap.xml", &urlset(&entry("b", news)));
    let (records, _, status) = import(&[folder.path().to_str().unwrap(), "--settings"]);
    assert_eq!((records.len(), status), (4, 0));
    assert_eq!(
        find(&records, "www.example.com/a")["videos"][0]["title"],
        "V"
    );
    let b = find(&records, "www.example.com/b");
    assert_eq!(
        (&b["type"], &b["published_at"]),
        (&json!("post"), &json!("2026-11-24"))
    );
    assert_eq!(b["news"], json!({"title": "N", "language": "en"}));
    assert_eq!(find(&records, "www.example.com/alone")["type"], "page");
    assert_eq!(
        find(&records, "site/www.example.com")["news_name"],
        "The Times"
    );
}

#[test]
fn the_entries_of_one_address_make_one_record_however_each_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |path: &str, more: &str| {
        format!("<url><loc>https://www.example.com{path}</loc>{more}</url>\n")
    };
    let link = |code: &str, path: &str| {
        format!(
            "<xhtml:link rel='alternate' hreflang='{code}' href='https://www.example.com{path}'/>"
        )
    };
    let links = link("en", "/%C3%A9/") + &link("fr", "/fr/") + &link("de", "/de/");
    let image = "<image:image><image:loc>https://i.example/1.jpg</image:loc></image:image>";
    let video = "<video:video><video:thumbnail_loc>https://i.example/t.jpg</video:thumbnail_loc><video:title>V</video:title>\
        <video:description>D</video:description><video:player_loc>https://i.example/v</video:player_loc></video:video>";
    // As a site of Django's lists its pages once without languages and once with them.
    let sitemaps = [
        (
            "post-sitemap.xml",
            entry("/%c3%a9/", "<lastmod>2026-01-02</lastmod>") + &entry("", image),
        ),
        (
            "i18n-sitemap.xml",
            entry("/%C3%A9/", &format!("<lastmod>2026-03-01</lastmod>{links}"))
                + &entry("/", image)
                + &entry("/fr/", &links),
        ),
        ("video-sitemap.xml", entry("/\u{e9}/", video)),
        (
            "news-sitemap.xml",
            entry("/%C3%A9/", "<lastmod>2026-02-01</lastmod>"),
        ),
    ];
    let mut index = String::new();
    for (name, entries) in &sitemaps {
        write(&folder, name, &urlset(entries));
        let loc = format!("https://www.example.com/{name}");
        writeln!(index, "<sitemap><loc>{loc}</loc></sitemap>").unwrap();
    }
    let index = format!(
        "<sitemapindex {}>{index}</sitemapindex>",
        crate::import::NAMESPACES
    );
    let index = write(&folder, "index.xml", &index);
    let (records, report, status) = import(&[&index]);
    let ids: Vec<_> = records
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        (ids, status),
        (
            vec![
                "www.example.com/%c3%a9/",
                "www.example.com/",
                "www.example.com/fr/"
            ],
            0
        )
    );
    let alternate = |code: &str, path: &str| json!({"hreflang": code, "url": format!("https://www.example.com{path}")});
    let first = json!({
        "id": "www.example.com/%c3%a9/", "type": "post", "url": "https://www.example.com/%c3%a9/",
        "modified_at": "2026-03-01",
        "alternates": [alternate("en", "/%C3%A9/"), alternate("fr", "/fr/"), alternate("de", "/de/")],
        "videos": [{"thumbnail_loc": "https://i.example/t.jpg", "title": "V", "description": "D",
            "player_loc": "https://i.example/v"}],
    });
    assert_eq!(records[0], first);
    assert_eq!(
        records[1]["images"],
        json!([{"url": "https://i.example/1.jpg"}])
    );
    assert_eq!(
        (&report["joined"], &report["records"]),
        (&json!(4), &json!(3))
    );
    assert_eq!(report["skipped"], json!({}));
    let sitemaps =
        json!({"www.example.com i18n": 1, "www.example.com post": 1, "www.example.com video": 1});
    assert_eq!(report["sitemaps"], sitemaps);
    // The languages are a group once all of its pages are there, under whatever spelling.
    let german = write(&folder, "de-sitemap.xml", &urlset(&entry("/de/", &links)));
    let (records, _, _) = import(&[&index, &german, "--alternates", "group"]);
    let groups: BTreeSet<_> = ["%c3%a9/", "fr/", "de/"]
        .map(|path| find(&records, &format!("www.example.com/{path}")))
        .map(|record| record["translation_group"].as_str().unwrap())
        .into();
    assert_eq!(groups.len(), 1, "{records:#?}");
}

#[test]
fn a_sitemap_is_read_in_whatever_form_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let protocol = "http://www.sitemaps.org/schemas/sitemap/0.9";
    let url =
        |loc: &str| format!("<urlset xmlns='{protocol}'><url><loc>{loc}</loc></url></urlset>");
    let plain = url("https://www.example.com/?a&amp;b");
    let prefixed = plain
        .replace("<", "<sm:")
        .replace("<sm:/", "</sm:")
        .replace("xmlns=", "xmlns:sm=");
    let foreign = expected([("the namespace of sitemaps", 1)]);
    for (document, notes) in [
        (plain.clone(), expected([])),
        (
            format!("\u{feff}<?xml version='1.0'?>\n<!-- <html> --> {prefixed}"),
            expected([]),
        ),
        (
            url(" <![CDATA[ https://www.example.com/?a&b ]]>\n"),
            expected([]),
        ),
        (
            url("https://www.example.com/<!-- here -->?a&#038;b"),
            expected([]),
        ),
        (
            url("https://www.example.com/<?php?>?a&#x26;b"),
            expected([]),
        ),
        ("HTTPS://www.example.com/?a&b\n".to_owned(), expected([])),
        (plain.replace("/0.9", "/0.9/"), foreign.clone()),
        (
            plain.replace(protocol, "https://www.example.com/own"),
            foreign.clone(),
        ),
        (
            prefixed.replace(protocol, "https://www.example.com/own"),
            foreign.clone(),
        ),
        (plain.replace(&format!(" xmlns='{protocol}'"), ""), foreign),
    ] {
        let file = write(&folder, "page-sitemap.xml", &document);
        let (records, report, status) = import(&[&file]);
        let ids: Vec<_> = records
            .iter()
            .filter_map(|record| record["id"].as_str())
            .collect();
        assert_eq!(
            (ids, status),
            (vec!["www.example.com/?a&b"], 0),
            "{document}: {report:#}"
        );
        assert_eq!(counts(&report["notes"]), notes, "{document}");
    }
    let index = "<sm:sitemapindex xmlns:sm='https://a.example/own'><sm:sitemap><sm:loc>https://www.example.com/page-sitemap.xml\
        </sm:loc></sm:sitemap></sm:sitemapindex>";
    let (records, _, status) = import(&[&write(&folder, "index.xml", index)]);
    assert_eq!((records.len(), status), (1, 0));
}

#[test]
fn a_sitemap_of_which_nothing_can_be_read_is_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let good = urlset("<url><loc>https://www.example.com/</loc></url>");
    for (document, problem) in [
        (good.replace("url>", "page>"), "it has no <url>, but <page>"),
        (
            good.replace("loc>", "location>"),
            "it has no <url> with an address, of 1",
        ),
        (
            format!(
                "<sitemapindex {}><sitemap/><sitemap/></sitemapindex>",
                crate::import::NAMESPACES
            ),
            "it has no <sitemap> with an address, of 2",
        ),
        (good.clone() + &good, "after the end of its root element"),
    ] {
        let (_, report, status) = import(&[&write(&folder, "page-sitemap.xml", &document)]);
        let problems = report["sources"][0]["problems"].to_string();
        let is_read = u64::from(problem.contains("after the end"));
        assert_eq!(report["sources"][0]["entries"], is_read);
        assert!(
            problems.contains(problem) && status == 2 - is_read as i32,
            "{document}: {report:#}"
        );
    }
    // One of a folder that lists nothing is not wrong.
    write(&folder, "page-sitemap.xml", &good);
    write(&folder, "post-sitemap.xml", &urlset(""));
    assert_eq!(import(&[folder.path().to_str().unwrap()]).2, 0);
}

#[test]
fn alternates_that_all_pages_of_a_set_have_become_a_group() {
    let folder = tempfile::tempdir().unwrap();
    let links = |links: &[(&str, &str)]| {
        let mut text = String::new();
        for (code, path) in links {
            write!(text, "<xhtml:link rel='alternate' hreflang='{code}' href='https://www.example.com/{path}'/>").unwrap();
        }
        text
    };
    let whole = links(&[("en", "en/a"), ("de", "de/a"), ("x-default", "en/a")]);
    let half = links(&[("en", "en/b"), ("de", "de/b")]);
    let nobody = links(&[("en", "en/c"), ("de", "de/c"), ("x-default", "c")]);
    let mut entries = String::new();
    for (path, links) in [
        ("en/a", &whole),
        ("en/b", &half),
        ("de/a", &whole),
        ("de/b", &String::new()),
        ("en/c", &nobody),
        ("de/c", &nobody),
    ] {
        writeln!(
            entries,
            "<url><loc>https://www.example.com/{path}</loc>{links}</url>"
        )
        .unwrap();
    }
    let file = write(&folder, "page-sitemap.xml", &urlset(&entries));
    let (records, _, status) = import(&[&file, "--alternates", "group"]);
    assert_eq!((records.len(), status), (6, 0));
    let page = |id: &str| find(&records, &format!("www.example.com/{id}"));
    let group = &page("en/a")["translation_group"];
    assert!(
        group.is_string() && *group == page("de/a")["translation_group"],
        "{records:#?}"
    );
    assert_eq!(
        (&page("en/a")["language"], &page("en/a")["x_default"]),
        (&json!("en"), &json!(true))
    );
    assert_eq!(
        (&page("de/a")["language"], &page("de/a")["alternates"]),
        (&json!("de"), &Value::Null)
    );
    // The other page does not link back; and x-default is no page of the set.
    for id in ["en/b", "en/c", "de/c"] {
        assert!(
            page(id)["alternates"].is_array() && page(id)["translation_group"].is_null(),
            "{id}"
        );
    }
    let (kept, _, _) = import(&[&file]);
    assert!(
        kept.iter()
            .all(|record| record["translation_group"].is_null())
    );
}

#[test]
fn a_site_that_is_imported_and_published_is_the_same_in_the_same_sitemaps() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    fs::create_dir(&old).unwrap();
    let entry = |path: &str, at: usize| {
        let lastmod = format!(
            "2025-{:02}-{:02}T05:06:{:02}+00:00",
            at % 11 + 1,
            at % 28 + 1,
            at % 60
        );
        let image = match at % 3 {
            0 => format!(
                "\t\t<image:image>\n\t\t\t<image:loc>https://www.example.com/wp-content/uploads/{at}.jpg</image:loc>\n\t\t</image:image>\n"
            ),
            _ => String::new(),
        };
        format!(
            "\t<url>\n\t\t<loc>https://www.example.com/{path}</loc>\n\t\t<lastmod>{lastmod}</lastmod>\n{image}\t</url>\n"
        )
    };
    // Yoast's names, and its 1,000 to a sitemap.
    let posts = |posts: std::ops::Range<usize>| {
        posts
            .map(|at| entry(&format!("post-{at}/?a=1&amp;b={at}"), at))
            .collect::<String>()
    };
    let sitemaps = [
        ("post-sitemap.xml", posts(0..1_000)),
        ("post-sitemap2.xml", posts(1_000..1_203)),
        ("page-sitemap.xml", entry("", 3) + &entry("about/", 4)),
        (
            "product_cat-sitemap.xml",
            entry("product-category/soups/", 5),
        ),
        ("author-sitemap.xml", entry("author/me/", 6)),
    ];
    let mut index = String::new();
    for (name, entries) in &sitemaps {
        fs::write(old.join(name), urlset(entries)).unwrap();
        write!(
            index,
            "<sitemap><loc>https://www.example.com/{name}</loc></sitemap>"
        )
        .unwrap();
    }
    let index = format!(
        "<sitemapindex {}>{index}</sitemapindex>",
        crate::import::NAMESPACES
    );
    fs::write(old.join("sitemap_index.xml"), index).unwrap();
    let run = |arguments: &[&str]| {
        let output = crate::import::waymark(arguments)
            .current_dir(folder.path())
            .output_in_time();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            crate::import::errors(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["import", "old", "--settings", "--output", "records.jsonl"]);
    run(&["build", "records.jsonl", "--out", "new"]);
    assert_eq!(
        run(&["diff", "old", "new"]),
        "1,207 the same, 0 gone, 0 new, 0 changed\n"
    );
    let names = |folder: &Path| {
        let names = fs::read_dir(folder).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|name| name.contains("sitemap") && name.ends_with(".xml"));
        names.collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&folder.path().join("new")), names(&old));
}

#[test]
fn a_cut_sitemap_gives_what_there_is_and_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let xml = urlset(
        "<url><loc>https://www.example.com/a</loc></url>\n<url><loc>https://www.example.com/b</loc></url>",
    );
    let cut = xml.replace("/b</loc></url></urlset>", "/b</lo");
    let (records, report, status) = import(&[&write(&folder, "post-sitemap.xml", &cut)]);
    assert_eq!((records.len(), status), (1, 1));
    let problem = report["sources"][0]["problems"][0].as_str().unwrap();
    assert!(
        problem.contains("line 3") && problem.contains("cut"),
        "{problem}"
    );
    // A gzipped one.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let many: String = (0..5_000).fold(String::new(), |mut text, at| {
        writeln!(
            text,
            "<url><loc>https://www.example.com/{at}-{}</loc></url>",
            at * 7_919
        )
        .unwrap();
        text
    });
    gzip.write_all(urlset(&many).as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let path = folder.path().join("post-sitemap.xml.gz");
    fs::write(&path, &gzip[..gzip.len() / 2]).unwrap();
    let (records, report, status) = import(&[path.to_str().unwrap()]);
    assert!(
        records.len() > 100 && records.len() < 5_000 && status == 1,
        "{report:#}"
    );
    // What is there, of two sources of which one is nothing.
    let html = write(&folder, "a.html", "<!doctype html><html></html>");
    let good = write(&folder, "page-sitemap.xml", &xml);
    assert_eq!(import(&[&html, &good]).2, 1);
    assert_eq!(import(&[&html]).2, 2);
}

#[test]
fn addresses_are_replaced_and_sites_and_days_are_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let xml = urlset(
        "<url><loc>https://staging.example.com/a</loc><lastmod>2026-11-01</lastmod></url>\
         <url><loc>https://staging.example.com.evil/b</loc><lastmod>2026-11-01</lastmod></url>\
         <url><loc>https://staging.example.com/c</loc><lastmod>2026-01-01</lastmod></url>\
         <url><loc>https://staging.example.com/d</loc></url>",
    );
    let file = write(&folder, "post-sitemap.xml", &xml);
    let (records, report, _) = import(&[
        &file,
        "--map-url",
        "https://staging.example.com/=https://www.example.com/",
        "--site",
        "www.example.com",
        "--since",
        "2026-06-01",
    ]);
    let urls: Vec<_> = records
        .iter()
        .map(|record| record["url"].as_str().unwrap())
        .collect();
    assert_eq!(
        urls,
        ["https://www.example.com/a", "https://www.example.com/d"]
    );
    let skipped = expected([
        ("it is not on www.example.com (--site)", 1),
        ("it is older than --since", 1),
    ]);
    assert_eq!(counts(&report["skipped"]), skipped);
}

#[test]
fn a_site_with_http_needs_its_settings() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder, "urls.txt", "http://www.example.com/a\n");
    let (_, report, _) = import(&[&file]);
    assert_eq!(
        (&report["listed"], counts(&report["left_out"])),
        (&json!(0), expected([("foreign_url", 1)]))
    );
    let (records, report, _) = import(&[&file, "--settings"]);
    assert_eq!(report["listed"], 1);
    assert_eq!(records[1]["base_url"], "http://www.example.com");
}

/// Returns the most memory that a process had, in KiB.
#[cfg(target_os = "linux")]
fn peak(process: &mut std::process::Child) -> u64 {
    let mut most = 0;
    while process.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", process.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        most = most.max(number.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    most
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_source_takes_little_memory() {
    const URLS: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let mut entries = String::new();
    for at in 0..URLS {
        let page = format!("https://www.example.com/2026/11/a-page-about-something-{at}/");
        writeln!(
            entries,
            "<url><loc>{page}</loc><lastmod>2026-11-20</lastmod></url>"
        )
        .unwrap();
    }
    let file = write(&folder, "post-sitemap.xml", &urlset(&entries));
    let out = folder.path().join("records.jsonl");
    let begun = std::time::Instant::now();
    let arguments = ["import", &file, "--output", out.to_str().unwrap()];
    let mut process = crate::import::waymark(&arguments).spawn().unwrap();
    let most = peak(&mut process);
    let seconds = begun.elapsed().as_secs_f64();
    println!("{URLS} URLs in {seconds:.1} s, unoptimised, in {most} KiB");
    let text = fs::read_to_string(&out).unwrap();
    assert_eq!(text.lines().count() as u64, URLS);
    // The source has 13 MB, and the records 16.
    assert!((10_000..64 * 1_024).contains(&most), "{most} KiB");
}
