//! Tests an audit of a site that changes all the time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use sim::deployment::PLAIN;
use sim::history::SITES;
use sim::runtime::Sim;
use sim::world::{Options, World};

/// The seconds between two edits: less than publishing one takes, with the pause between the audit's looks.
const EVERY: Duration = Duration::from_secs(1);
const EDITED: u64 = 5;
const AUDITS: u64 = 40;

#[test]
fn what_is_being_published_is_no_finding() {
    let sim = Sim::new(1);
    let inner = sim.clone();
    sim.run(async move {
        let mut world = World::new(&inner, Options::sound(2), PLAIN);
        world.begin();
        let put = async |id: u64, edit: u64| {
            let url = format!("https://{}/{id}/", SITES[0]);
            let record = json!({"id": format!("post/{id}"), "type": "post", "url": url, "title": format!("Edit {edit}"),
                "modified_at": format!("2026-01-{:02}", 1 + edit % 28)});
            world.put(&record).await;
        };
        for id in 0..EDITED {
            put(id, 0).await;
        }
        world.settle().await.unwrap();
        let ended = AtomicBool::new(false);
        let edits = async {
            let mut edit = 0;
            while !ended.load(Ordering::Relaxed) {
                edit += 1;
                assert!(edit < 100_000, "the audits do not end");
                put(edit % EDITED, edit).await;
                inner.sleep(EVERY).await;
            }
            edit
        };
        let audits = async {
            let mut audited = 0;
            while audited < AUDITS {
                // No result while the sites are being scanned.
                let Some(findings) = world.audit(false).await.unwrap() else {
                    inner.sleep(EVERY).await;
                    continue;
                };
                audited += 1;
                assert_eq!(findings, [], "audit {audited}");
            }
            ended.store(true, Ordering::Relaxed);
        };
        let (edits, ()) = futures::join!(edits, audits);
        assert!(edits > AUDITS, "{edits} edits");
    });
}
