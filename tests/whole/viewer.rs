//! Tests the site header of viewers over HTTP.

use harness::{World, post, with};
use http::Method;
use local::stack::Options;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_names_no_other_site_than_its_host_does() {
    let page = |host: &str| {
        let fields = json!({"id": host, "url": format!("https://{host}/p")});
        with(&post("/p", 1), fields)
    };
    let records = ["a.example", "b.example"].map(page);
    let world = World::with(Options::default(), &records).await;
    let headers = [
        ("x-waymark-host", "b.example"),
        ("x-forwarded-host", "b.example"),
    ];
    let crawler = world.crawler.of("a.example");
    let response = crawler.request(Method::GET, "/robots.txt", &headers).await;
    let robots = String::from_utf8(response.body).unwrap();
    assert!(robots.contains("https://a.example/"), "{robots}");
    world.stop().await;
}
