//! Runs a deployment with everything that users, crawlers, the clock and losses make it do.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use bytes::Bytes;
use engine::content::SourceTable;
use engine::keys::prefix;
use engine::regenerate::index::IndexLimits;
use harness::calls::Calls;
use harness::{SITE, World, post, settings, until, with};
use http::{Method, Response};
use http_body_util::Empty;
use hyper::service::service_fn;
use local::loopback::Server;
use local::stack::Options;
use objects::PUBLISHED_PREFIX;
use serde_json::{Value, json};
use sitemap::time::When;
use sweep::Endpoint;

use super::SOURCE;

/// Seconds from one audit to the next.
const A_DAY: i64 = 86_400;
/// Seconds after a change after which notices are sent.
const SETTLED: i64 = 61;
/// The most sitemaps of one index here.
const LINES: u32 = 2;
const OTHER: &str = "de.example.net";
const KEY: &str = "0123456789abcdef";

/// Makes a deployment do everything.
pub(super) async fn does_everything(calls: &Calls) {
    let engine = Engine::start();
    let options = Options {
        observer: Some(Arc::new(calls.clone())),
        indexnow: Some(engine.endpoint()),
        index_limits: IndexLimits {
            lines: LINES,
            ..IndexLimits::default()
        },
        source: Some(source()),
        ..Options::default()
    };
    let world = World::with(options, &content()).await;
    let theirs = json!({"id": "1", "url": format!("https://{SITE}/theirs/")});
    world.put_into(SOURCE, &theirs).await;
    edits(&world).await;
    crawlers(&world).await;
    notices(&world, &engine).await;
    time(&world).await;
    losses(&world).await;
    other_settings(&world).await;
    world.drop_sitemap_table().await;
    until("the table is built again", async || {
        world.settle().await;
        !world.crawler.index().await.is_empty() && !world.rows(prefix::INDEX).await.is_empty()
    })
    .await;
    world.stop().await;
    engine.server.stop().await;
}

fn source() -> SourceTable {
    let mapping =
        json!({"key": [{"id": "S"}], "fields": {"type": {"constant": "post"}, "url": "url"}});
    SourceTable::new(SOURCE.to_owned(), &mapping.to_string()).unwrap()
}

fn site(fields: Value) -> Value {
    let usual =
        json!({"entries_per_sitemap": 2, "indexnow_key": KEY, "news_name": "N", "language": "en"});
    settings(with(&usual, fields))
}

fn group(path: &str, language: &str) -> Value {
    with(
        &post(path, 9),
        json!({"language": language, "translation_group": "g"}),
    )
}

fn content() -> Vec<Value> {
    let now = When::at(Options::default().clock.now()).to_string();
    let elsewhere = json!({"url": format!("https://{OTHER}/ueber")});
    let archive = json!({"type": "tag", "archive_of": {"taxonomy": "tag", "term": "t"}});
    let video = json!({"title": "v", "thumbnail_url": "https://i.example.net/1.jpg",
        "content_url": "https://v.example.net/1.mp4"});
    vec![
        site(json!({})),
        post("/a", 1),
        post("/b", 2),
        post("/c", 3),
        with(&post("/a", 4), json!({"id": "twin"})),
        with(&post("/page", 5), json!({"type": "page"})),
        with(&post("/draft", 6), json!({"status": "draft"})),
        with(&post("/tag/t", 7), archive),
        with(
            &post("/long/", 8),
            json!({"pages": 3, "terms": {"tag": ["t"]}, "videos": [video]}),
        ),
        with(
            &post("/news", 9),
            json!({"published_at": now, "modified_at": now, "title": "Now", "news": {}}),
        ),
        group("/en", "en"),
        with(&group("/ueber", "de"), elsewhere),
    ]
}

async fn edits(world: &World) {
    // An edit, one that changes nothing, one that moves the page, and a deleted page with a waiter for its address.
    world
        .put(&with(&post("/b", 12), json!({"title": "Edited"})))
        .await;
    world.put(&post("/c", 3)).await;
    world
        .put(&with(&post("/elsewhere", 3), json!({"id": "post/c"})))
        .await;
    world.delete("post/a").await;
    world
        .put(&with(&post("/long/", 10), json!({"pages": 2})))
        .await;
    world.put(&group("/fr", "fr")).await;
    world.settle().await;
    world.delete("post/en").await;
    for n in 0..6 {
        let fields = json!({"type": format!("t{n}")});
        world.put(&with(&post(&format!("/{n}"), 1), fields)).await;
    }
    world.settle().await;
    for n in 0..4 {
        world.delete(&format!("post/{n}")).await;
    }
    world.settle().await;
    world.put(&post("/late", 1)).await;
    world.settle().await;
}

async fn crawlers(world: &World) {
    world.listed().await;
    let get = |path| world.crawler.request(Method::GET, path, &[]);
    let etag = get("/sitemap_index.xml").await.headers["etag"].clone();
    let current = [("if-none-match", etag.to_str().unwrap())];
    let person = [
        ("sec-fetch-dest", "document"),
        ("user-agent", "Mozilla/5.0"),
    ];
    for (method, path, headers, status) in [
        (Method::GET, "/sitemap_index.xml", &current[..], 304),
        (Method::HEAD, "/sitemap_index.xml", &[], 200),
        (Method::GET, "/sitemap_index.xml", &person[..], 200),
        (Method::GET, "/sitemap.xml", &[], 301),
        (Method::GET, "/robots.txt", &[], 200),
        (Method::GET, "/feed.atom", &[], 200),
        (Method::GET, "/post-sitemap.txt", &[], 200),
        (Method::GET, "/post-sitemap.xml.gz", &[], 200),
        (Method::GET, "/no-such-sitemap.xml", &[], 404),
        (Method::GET, "/whatever", &[], 404),
    ] {
        let answer = world.crawler.request(method, path, headers).await;
        assert_eq!(answer.status, status, "{path}");
    }
}

/// Sends notices to a search engine that fails at first.
async fn notices(world: &World, engine: &Engine) {
    engine.status.store(429, Ordering::SeqCst);
    world
        .put(&with(&post("/b", 13), json!({"title": "Again"})))
        .await;
    world.settle().await;
    world.clock.advance(SETTLED);
    let paused = async || {
        let rows = world.rows(prefix::NOTICE).await;
        rows.values()
            .any(|row| row.get("tries").is_some_and(|tries| tries != "0"))
    };
    until("nobody is told for a while", paused).await;
    engine.status.store(200, Ordering::SeqCst);
    world.clock.advance(A_DAY / 2);
    let told = async || {
        let rows = world.rows(prefix::NOTICE).await;
        rows.keys().all(|(pk, _)| pk.ends_with("#pause"))
    };
    until("everything was told", told).await;
}

/// Advances the clock and waits for a sweep.
async fn pass(world: &World, seconds: i64) {
    world.clock.advance(seconds);
    let due = |sk: &str| sk.split_once('#')?.0.parse::<i64>().ok();
    let is_due = |sk: &str| due(sk).is_some_and(|due| due <= world.clock.now());
    let rung = async || !world.rows("TIMER#").await.keys().any(|(_, sk)| is_due(sk));
    until("the sweep has rung the timers", rung).await;
}

async fn time(world: &World) {
    let at = |seconds: i64| When::at(world.clock.now() + seconds).to_string();
    let fields = json!({"published_at": at(4_000), "expires_at": at(90_000)});
    world.put(&with(&post("/scheduled", 1), fields)).await;
    world.settle().await;
    pass(world, 4_001).await;
    pass(world, A_DAY).await;
    pass(world, 2 * A_DAY).await;
    world.settle().await;
}

/// Loses a row of each kind, makes one of each kind unreadable, and loses objects.
async fn losses(world: &World) {
    let mut seen = BTreeSet::new();
    for (pk, sk) in world.rows("").await.into_keys() {
        if seen.insert(pk.split('#').next().map(str::to_owned)) {
            world.delete_row(&pk, &sk).await;
        }
    }
    audited(world).await;
    for (kind, attribute) in [
        (prefix::LEDGER, "body"),
        (prefix::SEGMENT, "version"),
        (prefix::LOC, "owner"),
        (prefix::SERIES, "next_n"),
        (prefix::INDEX, "generation"),
        (prefix::SITE, "epoch"),
    ] {
        let (pk, sk) = world.rows(kind).await.into_keys().next().unwrap();
        world.damage((&pk, &sk), attribute, None).await;
    }
    audited(world).await;
    let names = ["post-sitemap.xml", "sitemap_index.xml", "robots.txt"];
    for (how, name) in names.into_iter().enumerate() {
        let key = format!("{PUBLISHED_PREFIX}{SITE}/{name}");
        world.lose_object(&key, how).await;
    }
    audited(world).await;
}

/// Waits for an audit that begins now, and for its consequences.
async fn audited(world: &World) {
    world.settle().await;
    world.clock.advance(A_DAY);
    let since = world.clock.now();
    let table = &world.stack.reconciler.table;
    until("an audit has ended", async || {
        let audit = table.audit().await.unwrap();
        audit.is_some_and(|audit| audit.began >= since && audit.step.is_none())
    })
    .await;
    world.settle().await;
}

async fn other_settings(world: &World) {
    for fields in [
        json!({"entries_per_sitemap": 1}),
        json!({"types": {"post": {"public": false}}}),
        json!({"public": false}),
        json!({}),
    ] {
        world.put(&site(fields)).await;
        world.settle().await;
    }
}

/// A search engine that accepts every request, or answers with another status.
struct Engine {
    server: Server,
    status: Arc<AtomicU16>,
}

impl Engine {
    fn start() -> Self {
        let status = Arc::new(AtomicU16::new(200));
        let answered = status.clone();
        let service = service_fn(move |_| {
            let status = answered.load(Ordering::SeqCst);
            let answer = Response::builder().status(status);
            async move { Ok::<_, Infallible>(answer.body(Empty::<Bytes>::new()).unwrap()) }
        });
        let server = Server::start("a search engine", 0, service).unwrap();
        Self { server, status }
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::parse(&format!("http://{}/indexnow", self.server.address)).unwrap()
    }
}
