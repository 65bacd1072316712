//! Tests the scan of a first load, with concurrent changes.

use std::sync::Arc;

use engine::rows::scan::Step;
use engine::rows::site::Hold;

use super::{Bench, day, index, object, says};
use crate::records::SITE;
use crate::scenarios::calls::{Gate, overtaken};
use crate::scenarios::harness::simulated;

impl Bench {
    /// Returns whether the current pass has reconciled everything and published nothing.
    async fn is_loaded(&self) -> bool {
        let scan = self.fast.reconciler.table.content_scan().await.unwrap();
        let pass = scan.and_then(|scan| scan.pass);
        pass.is_some_and(|pass| pass.step == Step::Sites { after: None })
    }
}

#[test]
fn a_change_behind_the_scans_back_is_published_before_the_release() {
    simulated(async |sim| {
        let bench = Bench::with(&sim, &[day(1)]).await;
        bench.ingest(&[day(1)]).await;
        bench.scan_until(Bench::is_loaded).await;
        let gate = Arc::new(Gate::behind("PUT", object().path()));
        let slow = bench.slow(&gate);
        let slow = async { slow.scan_content().await.unwrap() };
        let fast = async {
            bench.edit(&day(2)).await;
            bench.regenerate().await;
        };
        overtaken(&gate, slow, fast).await;
        let row = bench
            .fast
            .reconciler
            .table
            .site(SITE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(row.hold, Hold::Released);
        assert!(says(&bench.document(&object()).await, 2));
    });
}

#[test]
fn a_record_that_changes_behind_the_scans_back_is_reconciled_by_its_event() {
    simulated(async |sim| {
        let bench = Bench::with(&sim, &[day(1)]).await;
        bench.ingest(&[day(1)]).await;
        let scanned = async |bench: &Bench| {
            let scan = bench.fast.reconciler.table.content_scan().await.unwrap();
            scan.and_then(|scan| scan.pass)
                .is_some_and(|pass| pass.records > 0)
        };
        bench.scan_until(scanned).await;
        bench.edit(&day(2)).await;
        bench.scan_until(async |_| false).await;
        assert!(says(&bench.document(&object()).await, 2));
    });
}

#[test]
fn no_shard_is_published_while_a_site_loads_and_no_index_before_its_release() {
    simulated(async |sim| {
        let bench = Bench::with(&sim, &[day(1)]).await;
        bench.ingest(&[day(1)]).await;
        bench.scan_until(Bench::is_loaded).await;
        bench.regenerate().await;
        let objects = &bench.fast.objects;
        assert_eq!(objects.head(&object()).await.unwrap(), None);
        let table = &bench.fast.reconciler.table;
        table
            .move_hold(SITE, Hold::Loading, Hold::Publishing)
            .await
            .unwrap();
        bench.regenerate().await;
        assert!(objects.head(&object()).await.unwrap().is_some());
        bench.fast.publish_index(SITE, None).await.unwrap();
        assert_eq!(objects.head(&index()).await.unwrap(), None);
    });
}
