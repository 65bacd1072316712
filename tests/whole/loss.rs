//! Tests a foreign object in a real bucket: the functions do not read it, and the audit finds nothing wrong. Other losses are
//! tested in `sim::scenarios::loss` and `sim::loss`.

use std::time::Duration;

use aws_sdk_s3::primitives::ByteStream;
use cli::audit::{Ended, audit};
use harness::{SITE, World, post};
use local::stack::Options;
use local::tables::BUCKET;
use objects::PUBLISHED_PREFIX;

/// Longer than a change takes here.
const PAUSE: Duration = Duration::from_millis(150);

/// Audits until no scan is running, and checks that nothing is found.
async fn finds_nothing(world: &World, repair: bool) {
    for _ in 0..50 {
        let ended = audit(&world.target(), repair, PAUSE, |_| ()).await.unwrap();
        if let Ended::Whole(left) = ended {
            assert!(
                left.iter().all(|finding| finding.problem.is_harmless()),
                "{left:#?}"
            );
            return;
        }
        world.settle().await;
        tokio::time::sleep(PAUSE).await;
    }
    panic!("a scan does not end");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_larger_than_any_of_ours_is_replaced_unread() {
    let world = World::with(Options::default(), &[post("/a", 1), post("/b", 2)]).await;
    let s3 = world.stack.aws.s3().await;
    let sitemap = world.listed().await[&format!("https://{SITE}/b")]
        .sitemap
        .clone();
    let key = format!("{PUBLISHED_PREFIX}{SITE}/{sitemap}");
    let bytes = ByteStream::from(vec![0; 70_000_000]);
    let put = s3.put_object().bucket(BUCKET).key(&key).body(bytes);
    put.send().await.unwrap();
    world.put(&post("/b", 11)).await;
    let listed = world.listed().await;
    finds_nothing(&world, true).await;
    assert_eq!(world.listed().await, listed);
    finds_nothing(&world, false).await;
    assert!(s3_bytes(&world, &key).await.len() < 10_000);
    world.stop().await;
}

async fn s3_bytes(world: &World, key: &str) -> Vec<u8> {
    let s3 = world.stack.aws.s3().await;
    let object = s3
        .get_object()
        .bucket(BUCKET)
        .key(key)
        .send()
        .await
        .unwrap();
    object.body.collect().await.unwrap().to_vec()
}
