//! Tests a site's row, and the rows of its scans.

use engine::content::NO_SOURCE;
use engine::rows::scan::{ContentScan, Pass, SiteStep, Step};
use engine::rows::site::{Hold, SiteRow};
use sitemap::site::{SiteSettings, Stylesheet};

use crate::records::SITE;
use crate::scenarios::harness::{Options, World, simulated};

#[test]
fn a_site_is_created_once_on_hold_and_its_settings_change_under_a_fence() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let table = &world.reconciler().table;
        let settings = SiteSettings::default_for(SITE).unwrap();
        table
            .create_site(&settings, NO_SOURCE, 1_800_000_000)
            .await
            .unwrap();
        let row = table.site(SITE).await.unwrap().unwrap();
        table
            .create_site(
                &SiteSettings {
                    public: false,
                    ..settings.clone()
                },
                NO_SOURCE,
                1_800_000_000,
            )
            .await
            .unwrap();
        assert_eq!(
            table.site(SITE).await.unwrap().unwrap(),
            row,
            "the first one stands"
        );
        assert_eq!((row.hold, row.version), (Hold::Loading, 1));
        assert_eq!(
            table.cursor().await.unwrap(),
            Some(1_800_000_000 / 3_600 - 1)
        );

        let (old, _) = table.fence_site(SITE).await.unwrap().unwrap();
        let (new, _) = table.fence_site(SITE).await.unwrap().unwrap();
        let private = SiteSettings {
            public: false,
            ..settings
        };
        assert!(
            !table
                .change_site(&old, &private, NO_SOURCE, 0)
                .await
                .unwrap()
        );
        assert!(
            table
                .change_site(&new, &private, NO_SOURCE, 0)
                .await
                .unwrap()
        );
        let changed = table.site(SITE).await.unwrap().unwrap();
        assert_eq!(
            (changed.version, changed.epoch, &changed.settings),
            (2, row.epoch, &private)
        );

        // Objects with other frames have another epoch.
        let (token, _) = table.fence_site(SITE).await.unwrap().unwrap();
        let styled = SiteSettings {
            stylesheet: Stylesheet::None,
            ..private
        };
        // The second request is the first, which arrives once more.
        for expected in [true, false] {
            let changed = table.change_site(&token, &styled, NO_SOURCE, 0).await;
            assert_eq!(changed.unwrap(), expected);
        }
        let styled = table.site(SITE).await.unwrap().unwrap();
        assert_ne!(styled.epoch, row.epoch);

        // Indexes are counted under the version that was read, and the count of objects is never lower than that of indexes.
        assert_eq!((styled.indexes, styled.index_objects), (1, 1));
        assert!(!table.count_indexes(SITE, 2, 2, 2).await.unwrap());
        assert!(table.count_indexes(SITE, 3, 2, 5).await.unwrap());
        let counted = table.site(SITE).await.unwrap().unwrap();
        assert_eq!(
            (counted.version, counted.indexes, counted.index_objects),
            (4, 2, 5)
        );
        assert_eq!(
            SiteRow {
                version: 3,
                indexes: 1,
                index_objects: 1,
                ..counted
            },
            styled
        );

        table
            .move_hold(SITE, Hold::Publishing, Hold::Released)
            .await
            .unwrap();
        assert_eq!(
            table.site(SITE).await.unwrap().unwrap().hold,
            Hold::Loading,
            "not from another hold"
        );
        table
            .move_hold(SITE, Hold::Loading, Hold::Publishing)
            .await
            .unwrap();
        table
            .move_hold(SITE, Hold::Publishing, Hold::Released)
            .await
            .unwrap();
        assert_eq!(
            table.site(SITE).await.unwrap().unwrap().hold,
            Hold::Released
        );

        let scan = async || table.content_scan().await.unwrap().unwrap();
        let wanted = scan().await;
        assert!(wanted.is_to_begin());
        let pass = Pass {
            revision: "r".to_owned(),
            step: Step::Content { after: None },
            records: 0,
            at: 0,
        };
        let next = ContentScan {
            pass: Some(pass),
            ..ContentScan::default()
        };
        let advance = table.advance_content_scan(&wanted, &next);
        assert!(advance.await.unwrap());
        let late = table.advance_content_scan(&wanted, &next);
        assert!(!late.await.unwrap(), "another slice was faster");
        let begun = scan().await;
        assert_eq!((begun.wanted, &begun.pass), (false, &next.pass));
        let done = ContentScan {
            done: Some("r".to_owned()),
            ..ContentScan::default()
        };
        let advance = table.advance_content_scan(&begun, &done);
        assert!(advance.await.unwrap());
        assert!(scan().await.is_complete("r"));

        let scans = table.site_scans(None, 10).await.unwrap();
        let scan = scans[0].1.as_ref().unwrap();
        assert_eq!((scans.len(), scans[0].0.as_str()), (1, SITE));
        assert_eq!(scan.step, SiteStep::BEGINNING, "settings have changed");
        assert_eq!(table.site_scans(Some(SITE), 10).await.unwrap().len(), 0);
        for (next, expected) in [(Some(&SiteStep::BEGINNING), true), (None, false)] {
            let advance = table.advance_site_scan(SITE, scan, next, 1);
            assert_eq!(advance.await.unwrap(), expected, "{next:?}");
        }
        let scan = table.site_scan(SITE).await.unwrap().unwrap();
        assert_eq!(scan.at, 1);
        let advance = table.advance_site_scan(SITE, &scan, None, 1);
        assert!(advance.await.unwrap());
        assert_eq!(table.site_scan(SITE).await.unwrap(), None);
        world.stop();
    });
}
