//! The costs of a deployment: counts the calls to AWS in runs of the local stack, and multiplies them by list prices.
//!
//!     cargo bench --bench costs
//!
//! prints the tables of `docs/COSTS.md`.

mod count;
mod price;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws::Aws;
use aws::S3Objects;
use count::{Counter, Tallies, Tally};
use engine::keys::prefix;
use engine::metrics::Metrics;
use front::{SITE_HOST_HEADER, SiteFront};
use harness::{SITE, World, post, with};
use http::{Method, Request};
use http_body_util::BodyExt;
use http_function::{respond, site_front};
use local::invocation::{HTTP, Observer, SWEEP, invoke};
use local::stack::Options;
use local::tables::{BUCKET, SITEMAP_TABLE};
use serde_json::{Value, json};

/// The pages of the two sites. The costs of a change must not depend on it.
const SMALL: u32 = 1_000;
const LARGE: u32 = 20_000;
/// The number of changes that are made one after the other.
const CHANGES: u32 = 20;
/// The number of changes that are made as fast as they can be written.
const BATCH: u32 = 2_000;
/// The number of requests of each kind.
const REQUESTS: u32 = 1_000;
/// The number of sweeps that find nothing to do.
const SWEEPS: u32 = 5;
/// Seconds from one audit to the next.
const A_DAY: i64 = 86_400;
const GLANCE: Duration = Duration::from_millis(50);

/// The counts of a site.
struct Site {
    pages: f64,
    first_load: Tallies,
    change: Tallies,
    batch: Tallies,
    sweep: Tallies,
    audit: Tallies,
    /// A listed page that moves or is gone, and one that moves on.
    departure: Tallies,
    move_on: Tallies,
    /// The bytes of the row of a page that departed, and of an entry.
    departed_row: (f64, f64),
    /// The kinds of requests, with the bytes of an answer's body.
    requests: Vec<(&'static str, Tallies, f64)>,
    /// The bytes of all rows, and their number.
    rows: f64,
    items: f64,
    /// The bytes of all objects.
    objects: f64,
    /// The rows that the index reads, one for each sitemap, and their bytes.
    summaries: (f64, f64),
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        check_units().await;
        let small = site(SMALL).await;
        let large = site(LARGE).await;
        tables::print(&small, &large);
    });
}

/// Returns a typical page of a blog: a kilobyte of content, two terms, a picture.
fn page(n: u32, title: &str) -> Value {
    let fields = json!({
        "title": format!("{title} {n}"), "description": "d".repeat(300),
        "images": [{"url": format!("https://images.example.com/{n}.jpg")}],
        "terms": {"category": [format!("c{}", n % 10)], "tag": [format!("t{}", n % 50)]},
        "modified_at": format!("2026-01-{:02}T12:00:00Z", n % 28 + 1),
    });
    with(
        &post(&format!("/{}/a-page-of-the-site-{n}/", n % 100), 1),
        fields,
    )
}

fn edited(n: u32) -> Value {
    with(
        &page(n, "Edited"),
        json!({"modified_at": "2026-02-01T00:00:00Z"}),
    )
}

/// Returns the n-th page that departs: elsewhere, to a page of the site, or gone. In another round it has another target.
fn departed(n: u32, pages: u32, round: usize) -> Value {
    let left = page(n * (pages / CHANGES), "Page");
    let fields = match n % 3 {
        0 => json!({"moved_to": format!("https://elsewhere.example/{round}/{n}")}),
        1 => json!({"moved_to": format!("/listed/{round}/{n}")}),
        _ => json!({"gone": true, "title": format!("Gone {round}")}),
    };
    with(&left, fields)
}

/// Returns the path of a page.
fn path(record: &Value) -> String {
    let url = record["url"].as_str().expect("a URL");
    url.split_once(SITE).expect("of the site").1.to_owned()
}

async fn site(pages: u32) -> Site {
    let counter = Counter::default();
    let options = Options {
        observer: Some(Arc::new(counter.clone())),
        ..Options::default()
    };
    let mut world = World::idle(options).await;
    for n in 0..pages {
        world.put(&page(n, "Page")).await;
    }
    world.begin().await;
    world.settle().await;
    let first_load = without_sweep(counter.take());

    // Each waits for the previous one, so that none shares an invocation.
    for n in 0..CHANGES {
        world.put(&edited(n * (pages / CHANGES))).await;
        world.settle().await;
    }
    let change = per(without_sweep(counter.take()), f64::from(CHANGES));
    for n in 0..BATCH {
        world.put(&page(n % pages, &format!("Round {n}"))).await;
    }
    world.settle().await;
    let batch = per(without_sweep(counter.take()), f64::from(BATCH));

    let begun = counter.seen(SWEEP);
    counter.take();
    while counter.seen(SWEEP) < begun + u64::from(SWEEPS) {
        tokio::time::sleep(GLANCE).await;
    }
    let sweep = only(counter.take(), SWEEP);
    let sweeps = sweep[SWEEP].invocations;
    let sweep = per(sweep, sweeps);

    world.clock.advance(A_DAY);
    let since = world.clock.now();
    let table = &world.stack.reconciler.table;
    loop {
        let audit = table.audit().await.expect("read");
        if let Some(audit) = audit
            && audit.began >= since
            && audit.step.is_none()
        {
            assert!(audit.found.is_empty(), "{:?}", audit.found);
            break;
        }
        tokio::time::sleep(GLANCE).await;
    }
    let mut audit = only(counter.take(), SWEEP);
    let idle = sweep[SWEEP].times(audit[SWEEP].invocations);
    audit.insert(SWEEP, audit[SWEEP] - idle);

    let mut departures = [Tallies::new(), Tallies::new()];
    for (round, tallies) in departures.iter_mut().enumerate() {
        counter.take();
        for n in 0..CHANGES {
            world.put(&departed(n, pages, round)).await;
            world.settle().await;
        }
        *tallies = per(without_sweep(counter.take()), f64::from(CHANGES));
    }
    let [departure, move_on] = departures;
    let a_row = async |prefix: &str| {
        let rows = world.rows(prefix).await.len() as f64;
        bytes_of(&world, prefix).await / rows
    };
    let departed_row = (a_row(prefix::MOVED).await, a_row(prefix::SEGMENT).await);
    let requests = requests(&world, &counter, pages).await;
    let rows = bytes_of(&world, "").await;
    let items = world.rows("").await.len() as f64;
    let summaries = world.rows(prefix::INDEX).await.len();
    let summaries = (summaries as f64, bytes_of(&world, prefix::INDEX).await);
    let objects = objects(&world).await;
    world.stop().await;
    Site {
        pages: f64::from(pages),
        first_load,
        change,
        batch,
        sweep,
        audit,
        departure,
        move_on,
        departed_row,
        requests,
        rows,
        items,
        objects,
        summaries,
    }
}

fn only(tallies: Tallies, function: &'static str) -> Tallies {
    let mut only = Tallies::new();
    only.insert(function, tallies.get(function).copied().unwrap_or_default());
    only
}

fn without_sweep(mut tallies: Tallies) -> Tallies {
    tallies.remove(SWEEP);
    tallies
}

fn per(tallies: Tallies, count: f64) -> Tallies {
    let tallies = tallies.into_iter();
    tallies
        .map(|(name, tally)| (name, tally.per(count)))
        .collect()
}

/// Returns the bytes of rows, by DynamoDB's sizes of names and texts. Numbers are a little smaller there.
async fn bytes_of(world: &World, prefix: &str) -> f64 {
    let rows = world.rows(prefix).await;
    let attributes = rows.values().flatten();
    let bytes: usize = attributes
        .map(|(name, value)| name.len() + value.len())
        .sum();
    bytes as f64
}

async fn objects(world: &World) -> f64 {
    let list = world.stack.aws.s3().await.list_objects_v2().bucket(BUCKET);
    let objects = list.send().await.expect("listed");
    let sizes = objects.contents().iter().filter_map(|object| object.size());
    sizes.sum::<i64>() as f64
}

/// Sends requests to the function itself, as the CDN does if it has no copy.
async fn requests(
    world: &World,
    counter: &Counter,
    pages: u32,
) -> Vec<(&'static str, Tallies, f64)> {
    let stack = &world.stack;
    let interceptors = vec![counter.interceptor()];
    let aws = Aws::on_loopback(&stack.dynamodb_endpoint, &stack.s3_endpoint, interceptors);
    let objects = Arc::new(S3Objects::new(aws, BUCKET.to_owned()));
    let fresh = || site_front(objects.clone(), world.clock.clone(), Metrics::default());
    let front = fresh();
    let observer: Arc<dyn Observer> = Arc::new(counter.clone());
    let ask_of = async |front: &SiteFront, path: &str, headers: &[(&str, &str)]| {
        let mut request = Request::builder().method(Method::GET).uri(path);
        for (name, value) in [(SITE_HOST_HEADER, SITE)].iter().chain(headers) {
            request = request.header(*name, *value);
        }
        let request = request.body(()).expect("a request");
        let running = async {
            let response = respond(front, request).await;
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await.expect("a whole body").to_bytes();
            (parts, bytes.len())
        };
        invoke(HTTP, Some(observer.clone()), running).await
    };
    let ask = async |path: &str, headers: &[(&str, &str)]| ask_of(&front, path, headers).await;
    let gzip = [("accept-encoding", "gzip")];
    let (head, _) = ask("/post-sitemap.xml", &gzip).await;
    let etag = head.headers["etag"].to_str().expect("a text").to_owned();
    let current = [gzip[0], ("if-none-match", etag.as_str())];
    let mut kinds = Vec::new();
    let [elsewhere, on_site, gone] = [0, 1, 2].map(|n| path(&departed(n, pages, 0)));
    for (kind, path, headers, status) in [
        ("index", "/sitemap_index.xml", &gzip[..], 200),
        ("sitemap, gzip", "/post-sitemap.xml", &gzip[..], 200),
        ("sitemap, plain", "/post-sitemap.xml", &[], 200),
        ("sitemap, 304", "/post-sitemap.xml", &current[..], 304),
        ("redirect", "/sitemap.xml", &[], 301),
        ("unknown sitemap", "/page-sitemap.xml", &gzip[..], 404),
        ("unknown path", "/whatever", &[], 404),
        ("page that moved elsewhere", &*elsewhere, &[], 301),
        ("page that moved on the site", &on_site, &[], 301),
        ("page that is gone", &gone, &[], 410),
    ] {
        counter.take();
        let mut bytes = 0;
        for _ in 0..REQUESTS {
            let (head, length) = ask(path, headers).await;
            assert_eq!(head.status, status, "{path}");
            bytes += length;
        }
        let tallies = per(only(counter.take(), HTTP), f64::from(REQUESTS));
        kinds.push((kind, tallies, bytes as f64 / f64::from(REQUESTS)));
    }
    for (kind, path, headers, status) in [
        (
            "first answer: sitemap, gzip",
            "/post-sitemap.xml",
            &gzip[..],
            200,
        ),
        (
            "first answer: page that moved elsewhere",
            &*elsewhere,
            &[],
            301,
        ),
    ] {
        counter.take();
        let mut bytes = 0;
        for _ in 0..REQUESTS {
            let (head, length) = ask_of(&fresh(), path, headers).await;
            assert_eq!(head.status, status, "{path}");
            bytes += length;
        }
        let tallies = per(only(counter.take(), HTTP), f64::from(REQUESTS));
        kinds.push((kind, tallies, bytes as f64 / f64::from(REQUESTS)));
    }
    kinds
}

/// Compares the consumption that the embedded DynamoDB reports with units that were computed by hand.
async fn check_units() {
    use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem};
    let counter = Counter::default();
    let world = World::idle(Options::default()).await;
    let stack = &world.stack;
    let interceptors = vec![counter.interceptor()];
    let aws = Aws::on_loopback(&stack.dynamodb_endpoint, &stack.s3_endpoint, interceptors);
    let client = aws.dynamodb().await;
    let text = |text: &str| AttributeValue::S(text.to_owned());
    // pk and 1 byte, sk and 1 byte, x and 5,000: 5,007 bytes.
    let item = |sk: &str| {
        let fields = [
            ("pk", text("p")),
            ("sk", text(sk)),
            ("x", text(&"x".repeat(5_000))),
        ];
        fields.map(|(name, value)| (name.to_owned(), value)).into()
    };
    let put = |sk: &str| {
        let put = Put::builder()
            .table_name(SITEMAP_TABLE)
            .set_item(Some(item(sk)));
        let put = put.build().expect("a complete action");
        TransactWriteItem::builder().put(put).build()
    };
    let key = |sk: &str| BTreeMap::from([("pk", text("p")), ("sk", text(sk))]);
    let mut checks: Vec<(&str, Tally, (f64, f64))> = Vec::new();
    let observer: Arc<dyn Observer> = Arc::new(counter.clone());
    macro_rules! check {
        ($what:literal, $request:expr, $units:expr) => {
            let request = $request;
            let sent = async { request.send().await.expect("answered") };
            invoke(SWEEP, Some(observer.clone()), sent).await;
            checks.push(($what, counter.take()[SWEEP], $units));
        };
    }
    let puts = || client.put_item().table_name(SITEMAP_TABLE);
    check!("a put", puts().set_item(Some(item("1"))), (5.0, 0.0));
    let two = client.transact_write_items().transact_items(put("2"));
    check!(
        "a transaction of two",
        two.transact_items(put("3")),
        (20.0, 0.0)
    );
    let smaller = puts().item("pk", text("p")).item("sk", text("3"));
    check!("a put over something larger", smaller, (5.0, 0.0));
    let update = client.update_item().table_name(SITEMAP_TABLE);
    let update = update.set_key(Some(
        key("9")
            .into_iter()
            .map(|(n, v)| (n.to_owned(), v))
            .collect(),
    ));
    check!("an update of nothing", update, (1.0, 0.0));
    let get = || {
        client
            .get_item()
            .table_name(SITEMAP_TABLE)
            .key("pk", text("p"))
    };
    let consistent = get().key("sk", text("1")).consistent_read(true);
    check!("a consistent read", consistent, (0.0, 2.0));
    check!("a read", get().key("sk", text("1")), (0.0, 1.0));
    check!("a read of nothing", get().key("sk", text("8")), (0.0, 0.5));
    let query = client
        .query()
        .table_name(SITEMAP_TABLE)
        .consistent_read(true);
    let query = query.key_condition_expression("pk = :pk");
    // Two of 5,007 bytes, and two of 6: three blocks of 4,096.
    check!(
        "a query",
        query.expression_attribute_values(":pk", text("p")),
        (0.0, 3.0)
    );
    check!(
        "a scan",
        client.scan().table_name(SITEMAP_TABLE),
        (0.0, 1.5)
    );
    for (what, counted, (writes, reads)) in checks {
        assert_eq!(
            (counted.write_units, counted.read_units),
            (writes, reads),
            "{what}"
        );
        assert_eq!(
            (counted.dynamodb, counted.invocations),
            (1.0, 1.0),
            "{what}"
        );
    }
    world.stop().await;
}
