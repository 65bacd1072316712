//! The list of sites that wait for the scan, when calls come twice.

use super::{Job, Pass, Step};
use crate::doubles::Repeating;
use table::Table;

fn scanning(job: &Job) -> Job {
    Job {
        pass: Some(Pass {
            sites: job.waiting.clone(),
            step: Step::Scan { after: None },
            records: 0,
            at: 0,
        }),
        ..Job::default()
    }
}

/// A slice reads the row, and others do their work; the request that had the first site wait comes once more, since its
/// answer was lost. The slice that has read the row as it was must not end with what it knows.
async fn check(second_is_scanned: bool) {
    let repeating = Repeating::default();
    let table = repeating.engine();
    let job = async || table.job().await.unwrap().unwrap();
    table.enqueue_site("a.example").await.unwrap();
    let first = repeating.last.lock().unwrap().clone();
    let read = job().await;
    assert!(
        table
            .advance_job(&read, Some(&scanning(&read)))
            .await
            .unwrap()
    );
    table.enqueue_site("b.example").await.unwrap();
    if second_is_scanned {
        let second = job().await;
        assert!(
            table
                .advance_job(&second, Some(&scanning(&second)))
                .await
                .unwrap()
        );
    }
    repeating.table.transact(first).await.unwrap();
    assert!(
        !table
            .advance_job(&read, Some(&scanning(&read)))
            .await
            .unwrap()
    );
    let left = job().await;
    let pass = left.pass.iter().flat_map(|pass| &pass.sites);
    assert!(
        pass.chain(&left.waiting).any(|site| site == "b.example"),
        "{left:?}"
    );
    // The slices of what is under way go on.
    assert!(table.advance_job(&left, None).await.unwrap());
}

#[tokio::test]
async fn a_site_is_not_forgotten_when_an_older_request_comes_twice() {
    check(false).await;
    check(true).await;
}

#[tokio::test]
async fn a_slice_loses_to_a_site_that_begins_to_wait() {
    let table = Repeating::default().engine();
    table.enqueue_site("a.example").await.unwrap();
    let read = table.job().await.unwrap().unwrap();
    table.enqueue_site("b.example").await.unwrap();
    let advanced = table.advance_job(&read, Some(&scanning(&read))).await;
    assert!(!advanced.unwrap(), "b.example would be forgotten");
    assert!(!table.advance_job(&read, None).await.unwrap());
    // A site that waits already changes nothing.
    let read = table.job().await.unwrap().unwrap();
    table.enqueue_site("b.example").await.unwrap();
    assert!(
        table
            .advance_job(&read, Some(&scanning(&read)))
            .await
            .unwrap()
    );
}
