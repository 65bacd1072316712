//! Requests for a scan are not lost, even if calls arrive twice.

use std::collections::BTreeSet;

use table::{Item, Query, Table};

use super::{ContentScan, Pass, SiteStep, Step};
use crate::rows::keys::{self, HASH_DIGITS};
use crate::testing::Repeating;

const NOW: i64 = 1_800_000_000;

fn scanning() -> ContentScan {
    ContentScan {
        pass: Some(Pass {
            revision: "r".to_owned(),
            step: Step::Content { after: None },
            records: 0,
            at: NOW,
        }),
        ..ContentScan::default()
    }
}

/// Lets a slice read the row while other slices work. Then the request that asked for the pass arrives once more, because its
/// answer was lost. The first slice must not write on the basis of the old row.
#[tokio::test]
async fn a_slice_loses_to_those_before_it_when_a_request_comes_twice() {
    let repeating = Repeating::default();
    let table = repeating.engine();
    let scan = async || table.content_scan().await.unwrap().unwrap();
    table.begin_content_scan(None).await.unwrap();
    let request = repeating.last.lock().unwrap().clone();
    let read = scan().await;
    assert!(read.wanted && !read.is_complete("r"));
    let advanced = table.advance_content_scan(&read, &scanning()).await;
    assert!(advanced.unwrap());
    // The request was conditional on a missing row, and now the row exists.
    repeating.table.transact(request).await.unwrap_err();
    let begun = scan().await;
    assert_eq!(begun.pass, scanning().pass);
    let nothing = ContentScan::default();
    let late = table.advance_content_scan(&read, &nothing);
    assert!(!late.await.unwrap(), "the pass would be forgotten");
}

#[tokio::test]
async fn a_slice_loses_to_what_is_asked_for_meanwhile() {
    let table = Repeating::default().engine();
    table.begin_content_scan(None).await.unwrap();
    let read = table.content_scan().await.unwrap().unwrap();
    let advanced = table.advance_content_scan(&read, &scanning()).await;
    assert!(advanced.unwrap());
    let read = table.content_scan().await.unwrap().unwrap();
    let want = table.want_content_scan();
    table.transact_once(vec![want]).await.unwrap();
    let done = ContentScan {
        done: Some("r".to_owned()),
        ..ContentScan::default()
    };
    let advanced = table.advance_content_scan(&read, &done).await;
    assert!(!advanced.unwrap(), "the other mapping would be forgotten");
    let read = table.content_scan().await.unwrap().unwrap();
    assert!(read.wanted && read.pass.is_some());
    // Sending the request again changes nothing.
    let want = table.want_content_scan();
    table.transact_once(vec![want]).await.unwrap();
    let advanced = table.advance_content_scan(&read, &done).await;
    assert!(advanced.unwrap());
    let row = table.content_scan().await.unwrap().unwrap();
    assert!(row.is_complete("r") && !row.is_complete("s"));
}

#[tokio::test]
async fn a_site_s_scan_that_begins_again_is_not_taken_for_the_one_before() {
    let table = Repeating::default().engine();
    let scan = async || table.site_scan("a.example").await.unwrap();
    table.begin_site_scan("a.example", NOW).await.unwrap();
    let read = scan().await.unwrap();
    let again = table.scan_site("a.example", &SiteStep::BEGINNING, NOW);
    table.transact_once(vec![again]).await.unwrap();
    let step = SiteStep::Publish { after: None };
    for next in [Some(&step), None] {
        let advanced = table.advance_site_scan("a.example", &read, next, NOW).await;
        assert!(!advanced.unwrap());
    }
    let read = scan().await.unwrap();
    assert_eq!(read.step, SiteStep::BEGINNING);
    // A running scan is not restarted.
    table.begin_site_scan("a.example", NOW).await.unwrap();
    assert_eq!(scan().await.unwrap(), read);
    let ended = table.advance_site_scan("a.example", &read, None, NOW).await;
    assert!(ended.unwrap());
    assert_eq!(scan().await, None);
}

#[tokio::test]
async fn a_site_s_scan_that_is_woken_has_made_no_progress() {
    let repeating = Repeating::default();
    let table = repeating.engine();
    let scan = async || table.site_scan("a.example").await.unwrap().unwrap();
    table.begin_site_scan("a.example", NOW).await.unwrap();
    assert!(table.is_scanning().await.unwrap());
    table
        .wake_site_scan("a.example", NOW + 1_000)
        .await
        .unwrap();
    let woken = scan().await;
    assert_eq!((woken.at, woken.touched()), (NOW, NOW + 1_000));
    let step = SiteStep::Publish { after: None };
    let now = NOW + 1_001;
    let advanced = table.advance_site_scan("a.example", &woken, Some(&step), now);
    assert!(advanced.await.unwrap());
    assert_eq!((scan().await.at, scan().await.touched()), (now, now));
    // A scan whose row cannot be read blocks nothing: the audit repairs it.
    let row = Item::from(&keys::site_scan("a.example"));
    repeating.table.put(row, None).await.unwrap();
    assert!(!table.is_scanning().await.unwrap());
    table.begin_site_scan("b.example", NOW).await.unwrap();
    assert!(table.is_scanning().await.unwrap());
}

/// Checks that the rest of a partition is read. A table's page ends at 1 MB, and more of it may follow in the same partition.
#[tokio::test]
async fn what_is_left_out_is_found_behind_a_page_that_was_cut() {
    let table = Repeating::default().engine();
    let long = |n: u32| format!("post/{n}/{}", "x".repeat(880));
    let ids = (0..).map(long);
    let mut ids = ids.filter(|id| keys::hash_digit(id) == HASH_DIGITS[3]);
    let all: BTreeSet<String> = ids.by_ref().take(1_200).collect();
    for id in &all {
        let row = Item::from(&keys::left_out("a.example", id));
        table.put(row).await.unwrap();
    }
    let first = Query::of(keys::left_out_partition("a.example", HASH_DIGITS[3]));
    assert!(table.first(first).await.unwrap().len() < all.len());
    let found = table.left_out("a.example", None, 2_000).await.unwrap();
    assert_eq!(found.len(), all.len());
    assert_eq!(BTreeSet::from_iter(found), all);
}

#[tokio::test]
async fn what_is_left_out_is_found_once_whatever_a_page_holds() {
    let table = Repeating::default().engine();
    let all: BTreeSet<String> = (0..60).map(|n| format!("post/{n}")).collect();
    for id in &all {
        let row = Item::from(&keys::left_out("a.example", id));
        table.put(row).await.unwrap();
    }
    for most in [1, 7, 60, 100] {
        let (mut found, mut after) = (Vec::new(), None::<String>);
        loop {
            let ids = table.left_out("a.example", after.as_deref(), most);
            let ids = ids.await.unwrap();
            assert!(ids.len() <= most as usize);
            let is_last = ids.len() < most as usize;
            after = ids.last().cloned().or(after);
            found.extend(ids);
            if is_last {
                break;
            }
        }
        assert_eq!(found.len(), all.len(), "{most} a page");
        assert_eq!(BTreeSet::from_iter(found), all);
    }
}
