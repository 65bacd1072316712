//! Exports of WordPress, as sites with other settings, plugins and histories than the example's write them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::import::{import, write};

mod archives;
mod dates;
mod types;

const SITE: &str = "https://www.example.org";

/// A post of an export. Its dates are in GMT+1.
#[derive(Clone, Copy)]
struct Post<'a> {
    id: u32,
    type_name: &'a str,
    status: &'a str,
    /// What is behind the address of the site.
    path: &'a str,
    slug: &'a str,
    parent: u32,
    /// In the zone of the site, and in GMT.
    dates: (&'a str, &'a str),
    author: &'a str,
    more: &'a str,
}

const ZEROS: &str = "0000-00-00 00:00:00";
const DATES: (&str, &str) = ("2026-03-03 10:00:00", "2026-03-03 09:00:00");
const POST: Post<'_> = Post {
    id: 7,
    type_name: "post",
    status: "publish",
    path: "/bread/",
    slug: "bread",
    parent: 0,
    dates: DATES,
    author: "mo",
    more: "",
};
const PAGE: Post<'_> = Post {
    type_name: "page",
    ..POST
};
const FOOD: &str = "<category domain='category' nicename='food'>Food</category>";

fn export(head: &str, posts: &[Post<'_>]) -> String {
    let mut text = format!(
        "<?xml version='1.0' encoding='UTF-8' ?>\n<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/' \
         xmlns:wp='http://wordpress.org/export/1.2/'>\n<channel><title>Harbour</title><link>{SITE}</link>\
         <wp:base_blog_url>{SITE}</wp:base_blog_url>{head}\n"
    );
    for post in posts {
        let Post {
            id,
            type_name,
            status,
            path,
            slug,
            parent,
            dates: (local, gmt),
            author,
            more,
        } = post;
        let title = if more.contains("<title>") {
            ""
        } else {
            "<title>A title</title>"
        };
        writeln!(
            text,
            "<item>{title}<link>{SITE}{}</link><pubDate>Mon, 30 Nov -0001 00:00:00 +0000</pubDate>\
             <dc:creator><![CDATA[{author}]]></dc:creator><wp:post_id>{id}</wp:post_id>\
             <wp:post_date>{local}</wp:post_date><wp:post_date_gmt>{gmt}</wp:post_date_gmt>\
             <wp:post_modified>{local}</wp:post_modified><wp:post_modified_gmt>{gmt}</wp:post_modified_gmt>\
             <wp:post_name>{slug}</wp:post_name><wp:status>{status}</wp:status><wp:post_parent>{parent}</wp:post_parent>\
             <wp:post_type>{type_name}</wp:post_type>{more}</item>",
            path.replace('&', "&amp;"),
        )
        .unwrap();
    }
    text + "</channel></rss>\n"
}

/// Imports one export.
fn read(head: &str, posts: &[Post<'_>], options: &[&str]) -> (Vec<Value>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder, "export.xml", &export(head, posts));
    let mut arguments = vec![file.as_str()];
    arguments.extend(options);
    let (records, report, status) = import(&arguments);
    assert_eq!(status, 0, "{report:#}");
    (records, report)
}

/// Returns what is behind the address of the site in the addresses of the records of a type.
fn paths<'r>(records: &'r [Value], type_name: &str) -> Vec<&'r str> {
    let records = records.iter().filter(|record| record["type"] == type_name);
    let urls = records.map(|record| record["url"].as_str().unwrap());
    urls.map(|url| url.strip_prefix(SITE).unwrap()).collect()
}

fn ids(records: &[Value]) -> Vec<&str> {
    let ids = records.iter().map(|record| record["id"].as_str().unwrap());
    ids.map(|id| id.strip_prefix("www.example.org/").unwrap())
        .collect()
}

const HOME: Post<'_> = Post {
    id: 1,
    path: "/",
    slug: "home",
    ..PAGE
};
