//! Tests closing by settings: closed sitemaps are empty and not missing, until no cache can have an index that lists them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use engine::regenerate::feed::FEED_PERIOD;
use engine::regenerate::index::IndexLimits;
use http::Method;
use serde_json::{Value, json};

use super::harness::{Options, World, simulated};
use crate::crawler::{Response, gunzip};
use crate::records::{SITE, post, settings, with};
use crate::runtime::Sim;

/// Longer than the origin caches a site file.
const SITE_FILE_AGE: i64 = 10;
/// Longer than any cache keeps an index.
const GRACE: i64 = 3 * 86_400;
const NAVIGATION: (&str, &str) = ("sec-fetch-dest", "document");
const GZIP: (&str, &str) = ("accept-encoding", "gzip");

/// Creates a post and a page, each in a sitemap and an index of its own.
async fn world(sim: &Sim) -> World {
    let options = Options {
        index_limits: IndexLimits {
            lines: 1,
            ..IndexLimits::default()
        },
        ..Options::default()
    };
    let page = with(&post("/page", 1), json!({"type": "page"}));
    let world = World::with(sim, options, &[settings(json!({})), post("/a", 1), page]).await;
    assert_eq!(world.sitemaps().await, ["page-sitemap.xml"]);
    let second = world.crawler.get("/sitemap_index2.xml").await.index();
    assert_eq!(second[0].0, format!("https://{SITE}/post-sitemap.xml"));
    world
}

/// Reads the forms of a document, and keeps the last answer for each.
#[derive(Default)]
struct Forms {
    /// By path and Accept-Encoding: ETag, Last-Modified and body of the last answer.
    last: BTreeMap<(String, bool), (String, SystemTime, Vec<u8>)>,
}

impl Forms {
    /// Returns the texts of a document's forms. Checks that an earlier copy is current exactly if it is unchanged.
    async fn read(&mut self, world: &World, stem: &str, extensions: &[&str]) -> Vec<String> {
        let mut texts = Vec::new();
        for extension in extensions {
            for gzip in [false, true] {
                let path = format!("{stem}{extension}");
                let encoding: &[(&str, &str)] = if gzip { &[GZIP] } else { &[] };
                let get = async |headers: &[(&str, &str)]| {
                    let headers = [encoding, headers].concat();
                    world.crawler.request(Method::GET, &path, &headers).await
                };
                let answer = get(&[]).await;
                assert_eq!(answer.status, 200, "{path}");
                assert!(!answer.sent.is_empty(), "{path}");
                let body = match *extension {
                    ".xml.gz" | ".txt.gz" => gunzip(&answer.body),
                    _ => answer.body.clone(),
                };
                let modified = modified(&answer);
                let etag = answer.header("etag").to_owned();
                if let Some((tag, time, before)) = self.last.get(&(path.clone(), gzip)) {
                    assert!(*time <= modified, "{path}: Last-Modified goes back");
                    let same = *before == body;
                    assert_eq!(*tag == etag, same, "{path}: {tag}, then {etag}");
                    let since = httpdate::fmt_http_date(*time);
                    for condition in [("if-none-match", &**tag), ("if-modified-since", &*since)] {
                        let again = get(&[condition]).await;
                        assert_eq!(again.status == 304, same, "{path} {condition:?}");
                    }
                }
                let told = (etag, modified, body.clone());
                self.last.insert((path, gzip), told);
                texts.push(String::from_utf8(body).unwrap());
            }
        }
        let path = format!("{stem}.xml");
        let view = world.crawler.request(Method::GET, &path, &[NAVIGATION]);
        let view = view.await;
        assert_eq!(view.status, 200, "{path}");
        assert!(view.header("content-type").starts_with("text/html"));
        texts
    }
}

fn modified(answer: &Response) -> SystemTime {
    httpdate::parse_http_date(answer.header("last-modified")).unwrap()
}

async fn change(world: &World, fields: Value) {
    world.put(&settings(fields)).await;
    world.settle().await;
    world.clock.leap(SITE_FILE_AGE);
}

/// Closes, opens and closes again within a minute, and then waits until no cache can name it.
fn check(closed: &Value) {
    simulated(async |sim| {
        let world = world(&sim).await;
        let (mut sitemaps, mut indexes) = (Forms::default(), Forms::default());
        let forms = [".xml", ".xml.gz", ".txt", ".txt.gz"];
        for is_closed in [false, true, false, true] {
            let fields = if is_closed { closed.clone() } else { json!({}) };
            change(&world, fields).await;
            let texts = sitemaps.read(&world, "/post-sitemap", &forms).await;
            for text in &texts {
                let lists = text.contains(&format!("https://{SITE}/a"));
                assert_eq!(lists, !is_closed, "{text}");
            }
            let is_empty = |text: &String| text == "\n" || text.ends_with("\">\n</urlset>\n");
            assert_eq!(texts.iter().all(is_empty), is_closed, "{texts:?}");
            let texts = indexes.read(&world, "/sitemap_index2", &forms[..2]).await;
            for text in &texts {
                let lists = text.contains("post-sitemap.xml");
                assert_eq!(lists, !is_closed, "{text}");
            }
        }
        world.clock.leap(GRACE);
        let mut gone = forms.map(|form| format!("/post-sitemap{form}")).to_vec();
        gone.push("/sitemap_index2.xml".to_owned());
        for path in gone {
            for headers in [&[][..], &[GZIP], &[NAVIGATION]] {
                let answer = world.crawler.request(Method::GET, &path, headers).await;
                assert_eq!(answer.status, 404, "{path} {headers:?}");
            }
        }
        change(&world, json!({})).await;
        sitemaps.read(&world, "/post-sitemap", &forms).await;
        assert_eq!(
            world.crawler.get("/sitemap_index2.xml").await.index().len(),
            1
        );
        world.stop();
    });
}

#[test]
fn a_type_hidden_shown_and_hidden_again_is_empty_and_never_missing() {
    check(&json!({"types": {"post": {"public": false}}}));
}

#[test]
fn a_site_closed_opened_and_closed_again_is_empty_and_never_missing() {
    check(&json!({"public": false}));
}

#[test]
fn a_type_that_was_private_from_the_beginning_is_not_revealed() {
    simulated(async |sim| {
        let hidden = settings(json!({"types": {"post": {"public": false}}}));
        let page = with(&post("/page", 1), json!({"type": "page"}));
        let world = World::with(&sim, Options::default(), &[hidden, post("/a", 1), page]).await;
        assert_eq!(world.paths().await, ["/page"]);
        for path in [
            "/post-sitemap.xml",
            "/post-sitemap.xml.gz",
            "/post-sitemap.txt",
        ] {
            assert_eq!(world.crawler.get(path).await.status, 404, "{path}");
        }
        world.stop();
    });
}

#[test]
fn a_site_that_is_closed_while_its_row_is_lost_has_its_grace() {
    simulated(async |sim| {
        let world = world(&sim).await;
        // The settings that close it find no row. Only the new row can have the time.
        world.drop_sitemap_table().await;
        change(&world, json!({"types": {"post": {"public": false}}})).await;
        assert_eq!(world.sitemaps().await, ["page-sitemap.xml"]);
        let mut forms = Forms::default();
        let texts = forms.read(&world, "/post-sitemap", &[".txt"]).await;
        assert_eq!(texts, ["\n", "\n"]);
        world.clock.leap(GRACE);
        assert_eq!(world.crawler.get("/post-sitemap.txt").await.status, 404);
        world.stop();
    });
}

/// Returns the validators and bodies of robots.txt and the feed.
async fn texts(world: &World) -> [(String, SystemTime, Vec<u8>); 2] {
    let mut told = Vec::new();
    for path in ["/robots.txt", "/feed.atom"] {
        let answer = world.crawler.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        told.push((
            answer.header("etag").to_owned(),
            modified(&answer),
            answer.body,
        ));
    }
    told.try_into().unwrap()
}

#[test]
fn settings_that_nobody_sees_change_neither_robots_txt_nor_the_feed() {
    simulated(async |sim| {
        let world = world(&sim).await;
        for edited in [false, true] {
            if edited {
                world.clock.leap(FEED_PERIOD);
                world
                    .put(&with(&post("/a", 2), json!({"title": "A"})))
                    .await;
                world.settle().await;
            }
            let [robots, feed] = texts(&world).await;
            for fields in [
                json!({"types": {"page": {"priority": 0.5}}}),
                json!({"byte_limit": 2_000_000}),
                json!({}),
            ] {
                change(&world, fields).await;
                assert_eq!(texts(&world).await, [robots.clone(), feed.clone()]);
            }
            change(
                &world,
                json!({"robots": ["User-agent: *", "Disallow: /x"], "name": "X"}),
            )
            .await;
            let [other_robots, other_feed] = texts(&world).await;
            assert_ne!(other_robots.0, robots.0);
            assert_ne!(other_feed.0, feed.0);
            assert!(other_robots.1 > robots.1 && other_feed.1 > feed.1);
            for text in [&other_robots.2, &other_feed.2] {
                let text = std::str::from_utf8(text).unwrap();
                assert!(!text.contains("# ") && !text.contains("<!--"), "{text}");
            }
            change(&world, json!({})).await;
        }
        world.stop();
    });
}

#[test]
fn an_empty_feed_says_since_when_it_is() {
    simulated(async |sim| {
        let world = world(&sim).await;
        let [_, (_, modified, feed)] = texts(&world).await;
        let since = humantime(modified);
        let feed = String::from_utf8(feed).unwrap();
        assert!(
            feed.contains(&format!("<updated>{since}</updated>")),
            "{feed}"
        );
        assert!(!since.starts_with("1970"), "{since}");
        world.stop();
    });
}

fn humantime(at: SystemTime) -> String {
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    sitemap::time::When::at(seconds.try_into().unwrap()).to_string()
}
