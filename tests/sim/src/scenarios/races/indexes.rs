//! Tests several indexes: a sitemap that is added or removed moves others to the next or the previous index.

use std::sync::Arc;

use objects::ObjectKey;
use serde_json::json;

use super::{Bench, day, nth_index, shard_of};
use crate::records::{SITE, post, with};
use crate::scenarios::calls::{Fuse, Gate, overtaken};
use crate::scenarios::harness::simulated;

#[test]
fn a_slow_publisher_of_an_index_leaves_nothing_in_one_that_is_not_needed() {
    simulated(async |sim| {
        let page = with(&post("/page", 1), json!({"type": "page"}));
        let bench = Bench::released(&sim, &[day(1), page.clone()]).await;
        let is_listed = async || bench.document(&nth_index(2)).await.contains("<sitemap>");
        let change = async |status: &str| {
            bench.edit(&with(&page, json!({"status": status}))).await;
            bench
                .fast
                .publish(&shard_of("page"), Some(&[0].into()))
                .await
                .unwrap();
        };
        assert!(is_listed().await);
        // With and without a run that has emptied it before.
        for emptied in [true, false] {
            if emptied {
                change("draft").await;
                bench.fast.publish_index(SITE, None).await.unwrap();
                assert!(!is_listed().await);
            }
            change("published").await;
            let gate = Arc::new(Gate::behind("Query", "INDEX#"));
            let slow = bench.slow(&gate);
            let slow = async { slow.publish_index(SITE, None).await.unwrap() };
            let fast = async {
                change("draft").await;
                bench.fast.publish_index(SITE, None).await.unwrap();
            };
            overtaken(&gate, slow, fast).await;
            assert!(!is_listed().await, "{emptied}");
            let row = bench.fast.reconciler.table.site(SITE).await.unwrap();
            assert_eq!(
                row.map(|row| (row.indexes, row.index_objects)),
                Some((1, 2))
            );
        }
    });
}

#[test]
fn a_sitemap_is_listed_in_another_index_before_it_leaves_the_one_it_was_in() {
    simulated(async |sim| {
        // In the order of their names, this one moves `post` to a later place.
        let page = with(&post("/page", 1), json!({"type": "page"}));
        let bench = Bench::released(&sim, &[day(1), page.clone()]).await;
        for status in ["draft", "published"] {
            bench.edit(&with(&page, json!({"status": status}))).await;
            let page_shard = shard_of("page");
            let published = bench.fast.publish(&page_shard, Some(&[0].into())).await;
            published.unwrap();
            let gate = Arc::new(Gate::behind("PUT", "sitemap_index"));
            let slow = bench.slow(&gate);
            let slow = async { slow.publish_index(SITE, None).await.unwrap() };
            let fast = async {
                let indexes = [1, 2].map(nth_index);
                let mut documents = String::new();
                for index in indexes {
                    documents += &bench.document(&index).await;
                }
                assert!(documents.contains("/post-sitemap.xml"), "{status}");
            };
            overtaken(&gate, slow, fast).await;
        }
    });
}

#[test]
fn an_index_of_a_run_that_died_is_known_and_not_named_before_all_are_there() {
    simulated(async |sim| {
        let page = |status: &str| {
            let fields = json!({"type": "page", "status": status});
            with(&post("/page", 1), fields)
        };
        let mut died = 0;
        for writes in 0.. {
            let fuse = Arc::new(Fuse::default());
            let bench = Bench::released(&sim, &[day(1), page("draft")]).await;
            let change = async |status: &str| {
                bench.edit(&page(status)).await;
                let page_shard = shard_of("page");
                let published = bench.fast.publish(&page_shard, Some(&[0].into())).await;
                published.unwrap();
            };
            change("published").await;
            let dying = bench.slow(&fuse);
            fuse.set(writes);
            let survived = dying.publish_index(SITE, None).await.is_ok();
            bench.fast.publish_robots(SITE).await.unwrap();
            bench.fast.publish_site_file(SITE).await.unwrap();
            let robots = ObjectKey::Robots {
                site: SITE.to_owned(),
            };
            let robots = bench.document(&robots).await;
            let is_there = async |n| {
                bench
                    .fast
                    .objects
                    .head(&nth_index(n))
                    .await
                    .unwrap()
                    .is_some()
            };
            if robots.contains("/sitemap_index2.xml\n") {
                assert!(is_there(2).await, "{writes}");
                assert!(bench.document(&nth_index(2)).await.contains("<sitemap>"));
            }
            change("draft").await;
            bench.fast.publish_index(SITE, None).await.unwrap();
            if is_there(2).await {
                let document = bench.document(&nth_index(2)).await;
                assert!(!document.contains("<sitemap>"), "{writes}");
            }
            if survived {
                break;
            }
            died += 1;
        }
        assert_eq!(died, 5, "the row, the site file, two indexes, the row");
    });
}

/// Tests a run that died and left a sitemap only in an index before older ones. It was removed there before the next index, which
/// was to list it, was put, because that one's first line had moved on.
#[test]
fn regression_a_sitemap_that_a_run_that_died_has_moved_stays_listed() {
    simulated(async |sim| {
        let page = |kind: &str, status: &str| {
            let fields = json!({"type": kind, "status": status});
            with(&post(&format!("/{kind}"), 1), fields)
        };
        let mut listed = 0;
        for writes in 0.. {
            let first = [
                page("a", "published"),
                page("b", "published"),
                page("c", "draft"),
            ];
            let bench = Bench::released(&sim, &first).await;
            let change = async |kind: &str, status: &str| {
                bench.edit(&page(kind, status)).await;
                let published = bench.fast.publish(&shard_of(kind), Some(&[0].into())).await;
                published.unwrap();
            };
            let is_listed = async || {
                let mut documents = String::new();
                for index in [1, 2].map(nth_index) {
                    documents += &bench.document(&index).await;
                }
                documents.contains("/c-sitemap.xml")
            };
            for (kind, status) in [("a", "draft"), ("b", "draft"), ("c", "published")] {
                change(kind, status).await;
            }
            let fuse = Arc::new(Fuse::default());
            let dying = bench.slow(&fuse);
            fuse.set(writes);
            let survived = dying.publish_index(SITE, None).await.is_ok();
            let was_listed = is_listed().await;
            listed += u32::from(was_listed);
            change("a", "published").await;
            let gate = Arc::new(Gate::behind("PUT", "sitemap_index"));
            let slow = bench.slow(&gate);
            let slow = async { slow.publish_index(SITE, None).await.unwrap() };
            let fast = async { assert!(is_listed().await >= was_listed, "{writes}") };
            overtaken(&gate, slow, fast).await;
            assert!(is_listed().await);
            if survived {
                break;
            }
        }
        assert!(listed > 1, "died behind the first put");
    });
}
