//! Tests that the audit finds and repairs every kind of loss and damage of every kind of row and object.
//!
//! Calls do not fail here. Generated histories lose a few rows and objects each, among faults.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::keys::{self, Key, Mark, prefix};
use serde_json::Value as Json;
use sitemap::plan::Series;
use table::Item;

use crate::audit::kind;
use crate::cases::number;
use crate::deployment::{Deployment, PLAIN};
use crate::history::{
    Changed, DEFAULT, Film, PAGE, Page, RECORDED, SITES, Settings, Spelling, State, Step, TYPES,
};
use crate::run::Run;
use crate::run::losses::GARBAGE;
use crate::runtime::Sim;
use crate::world::Options;

/// The kinds of rows, except notices, and sites' scans, whose rows exist only while they run.
const KINDS: usize = 14;

/// Kinds of damage of an object, besides its loss.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Truncated,
    Overwritten,
    FlippedBit,
    WithoutMetadata,
    Exchanged,
}

/// Runs `then` on a site with a row of each kind: several shards, a free slot, a duplicate that waits, a timer and an archive,
/// and also a page of two parts, a translation group, a video and an edit for the feed. Addresses have each kind of spelling.
pub(crate) fn in_a_full_world<F: Future<Output = ()> + Send>(
    then: impl FnOnce(Run) -> F + Send + 'static,
) {
    in_a_full_world_of(PLAIN, then);
}

fn in_a_full_world_of<F: Future<Output = ()> + Send>(
    deployment: Deployment,
    then: impl FnOnce(Run) -> F + Send + 'static,
) {
    let sim = Sim::new(number("WAYMARK_SEED").unwrap_or(1));
    let inner = sim.clone();
    sim.run(async move {
        let mut run = Run::new(&inner, Options::sound(2), deployment);
        run.world.begin();
        let settings = Settings {
            capacity: 2,
            told: deployment.endpoint,
            llms: Some(0),
            ..DEFAULT
        };
        let timed = Page {
            path: 8,
            until: Some(1_000_000),
            ..PAGE
        };
        let archive = Page {
            path: 3,
            spelling: Spelling::Unreserved,
            kind: 1,
            archive: Some(2),
            ..PAGE
        };
        let in_parts = Page {
            path: 4,
            spelling: Spelling::Lower,
            parts: 2,
            terms: 0b100,
            film: Film::Plain,
            ..PAGE
        };
        let translated = |path, x_default| Page {
            path,
            language: Some(path - 5),
            group: Some(0),
            x_default,
            ..PAGE
        };
        let draft = Page {
            path: 7,
            state: State::Draft,
            ..PAGE
        };
        let edited = Page {
            titled: true,
            ..timed
        };
        let mut pages = vec![timed, archive, in_parts, draft];
        pages.extend([translated(5, true), translated(6, false)]);
        pages.extend((0..3).map(|path| Page { path, ..PAGE }));
        // The same address once more.
        pages.push(Page {
            spelling: Spelling::Lower,
            ..PAGE
        });
        pages.push(Page {
            path: 9,
            state: State::Moved,
            ..PAGE
        });
        let written = pages.into_iter().enumerate();
        let written = written.map(|(id, page)| Step::Put(id, page));
        let mut steps = vec![Step::Site(0, Some(settings))];
        steps.extend(written);
        steps.extend([
            Step::Rest,
            Step::Delete(8),
            Step::Put(0, edited),
            Step::Rest,
        ]);
        for step in &steps {
            run.step(step).await.expect("what happens to a sound site");
        }
        then(run).await;
    });
}

/// Fails if the clock's audit, which looks only at suspected rows, finds nothing where an audit of everything does.
async fn is_found_by_the_clock(run: &Run, what: &str) {
    let suspected = run.world.daily_audit(false).await.expect("an audit");
    let all = run.world.audit(false).await.expect("an audit");
    let [suspected, all] = [suspected, all].map(|found| found.expect("no scan is under way"));
    assert!(
        !suspected.is_empty() || all.is_empty(),
        "{what}: not found, but by an audit of everything: {all:#?}"
    );
}

/// Runs the audit until it has repaired the losses, and compares everything.
pub(crate) async fn is_made_good(run: &mut Run, what: &str) {
    run.lost = true;
    if let Err(violation) = run.rest().await {
        panic!("{what}: {violation}");
    }
}

pub(crate) fn name(item: &Item) -> String {
    let text = |name| item.text(name).expect("a key");
    format!("{} {}", text("pk"), text("sk"))
}

/// Returns the current row with this name, which an earlier repair may have changed.
async fn row(run: &Run, called: &str) -> Option<Item> {
    let items = run.world.items().await;
    items.into_iter().find(|item| name(item) == called)
}

#[test]
fn each_row_that_is_lost_is_made_good() {
    in_a_full_world(async |mut run| {
        let mut kinds = BTreeSet::new();
        for item in run.world.items().await {
            let name = name(&item);
            kinds.insert(kind(&name).to_owned());
            let (pk, sk) = name.split_once(' ').expect("two keys");
            run.world.lose_row(pk, sk).await;
            is_found_by_the_clock(&run, &name).await;
            is_made_good(&mut run, &name).await;
        }
        assert_eq!(kinds.len(), KINDS, "{kinds:?}");
    });
}

/// Tests lost marks, which have no other visible effect: an old feed or notice may only be waiting for its time.
#[test]
fn a_mark_that_is_lost_is_made_good() {
    const HANDLED: Duration = Duration::from_secs(25);
    const QUIET: Duration = Duration::from_secs(120);
    let deployment = Deployment {
        endpoint: true,
        ..PLAIN
    };
    in_a_full_world_of(deployment, async |mut run| {
        let edits = [1, 2].map(|images| Page {
            path: 1,
            images,
            changed: Changed::Day(1 + images),
            ..PAGE
        });
        // After an earlier publication within a minute, the first edit would leave the marks, and a sweep would remove them.
        run.world.sim.sleep(QUIET).await;
        for edited in edits {
            let put = run.step(&Step::Put(7, edited)).await;
            put.expect("an edit");
            run.world.sim.sleep(HANDLED).await;
        }
        let marks = [Mark::Notices, Mark::Feed, Mark::Llms].map(|mark| keys::mark(mark, SITES[0]));
        for Key { pk, sk } in &marks {
            let called = format!("{pk} {sk}");
            assert!(row(&run, &called).await.is_some(), "{called}");
            run.world.lose_row(pk, sk).await;
        }
        is_made_good(&mut run, "marks").await;
        run.notify().await.expect("search engines are told");
    });
}

/// Tests the loss of a site's row and objects, so that neither a page nor an object leads to the row.
#[test]
fn the_lost_row_of_a_site_with_nothing_but_settings_is_made_good() {
    in_a_full_world(async |mut run| {
        for step in [Step::Site(RECORDED, Some(DEFAULT)), Step::Rest] {
            run.step(&step).await.expect("a new site");
        }
        let row = keys::site(SITES[RECORDED]);
        run.world.lose_row(&row.pk, &row.sk).await;
        let objects = run.world.published().await.into_keys();
        let objects: Vec<_> = objects
            .filter(|key| key.site() == SITES[RECORDED])
            .collect();
        assert!(!objects.is_empty());
        for key in &objects {
            run.world.lose_object(key, 0).await;
        }
        is_made_good(&mut run, "the site's row").await;
    });
}

#[test]
fn each_attribute_that_is_lost_or_damaged_is_made_good() {
    in_a_full_world(async |mut run| {
        let mut seen = BTreeSet::new();
        for item in run.world.items().await {
            let called = name(&item);
            for (attribute, _) in item
                .iter()
                .filter(|(name, _)| !["pk", "sk"].contains(&&***name))
            {
                // Two kinds of rows share a prefix.
                let is_llms = called.contains("#llms ");
                if !seen.insert((kind(&called).to_owned(), is_llms, attribute.clone())) {
                    continue;
                }
                for garbage in [None, Some(GARBAGE)] {
                    let Some(mut item) = row(&run, &called).await else {
                        continue;
                    };
                    match garbage {
                        None => drop(item.remove(attribute)),
                        Some(garbage) => item.set(attribute.clone(), garbage),
                    }
                    run.world.damage_row(item).await;
                    let what = format!("{called} {attribute}: {garbage:?}");
                    is_found_by_the_clock(&run, &what).await;
                    is_made_good(&mut run, &what).await;
                }
            }
        }
        assert!(seen.len() > 15, "{seen:?}");
    });
}

/// Tests ledgers that do not name some of their rows, although these exist.
#[test]
fn each_thing_that_a_ledger_has_forgotten_is_made_good() {
    in_a_full_world(async |mut run| {
        let body = |item: &Item| -> Json {
            let body = item.text("body").expect("a ledger's body");
            serde_json::from_str(body).expect("JSON")
        };
        let mut forgotten = BTreeMap::new();
        for item in run.world.items().await {
            if name(&item).starts_with(prefix::LEDGER) {
                for field in body(&item).as_object().expect("an object").keys() {
                    forgotten.insert(field.clone(), name(&item));
                }
            }
        }
        let mut removed = 0;
        for (field, ledger) in &forgotten {
            let mut item = row(&run, ledger).await.expect("the ledger");
            let mut body = body(&item);
            let fields = body.as_object_mut().expect("an object");
            removed += usize::from(fields.remove(field).is_some());
            item.set("body", body.to_string());
            run.world.damage_row(item).await;
            let what = format!("{field} of {ledger}");
            is_found_by_the_clock(&run, &what).await;
            is_made_good(&mut run, &what).await;
        }
        assert!(removed > 8, "{removed} of {forgotten:?}");
    });
}

#[test]
fn each_object_that_is_lost_or_damaged_is_made_good() {
    use Damage::{Exchanged, FlippedBit, Overwritten, Truncated, WithoutMetadata};
    in_a_full_world(async |mut run| {
        let keys: Vec<_> = run.world.published().await.into_keys().collect();
        assert!(keys.len() >= 6, "{keys:?}");
        for key in &keys {
            let damages = [
                Truncated,
                Overwritten,
                FlippedBit,
                WithoutMetadata,
                Exchanged,
            ];
            for damage in [None].into_iter().chain(damages.map(Some)) {
                let objects = run.world.published().await;
                let (meta, bytes) = &objects[key];
                let (mut document, mut body) = (meta.document.clone(), bytes.to_vec());
                let length = body.len();
                match damage {
                    None | Some(WithoutMetadata) => document = None,
                    Some(Truncated) => body.truncate(length / 2),
                    Some(Overwritten) => body.fill(b'#'),
                    Some(FlippedBit) => body[length * 3 / 4] ^= 1,
                    Some(Exchanged) => {
                        let differs = |(_, other): &&(_, bytes::Bytes)| other != bytes;
                        let (meta, bytes) = objects.values().find(differs).expect("another");
                        (document, body) = (meta.document.clone(), bytes.to_vec());
                    }
                }
                match damage {
                    None => run.world.lose_object(key, 0).await,
                    Some(_) => run.world.damage_object(key, &body, document),
                }
                let what = format!("{key}: {damage:?}");
                let found = run.world.audit(false).await.expect("an audit");
                assert!(
                    found.is_some_and(|found| !found.is_empty()),
                    "{what} is not found"
                );
                is_made_good(&mut run, &what).await;
            }
        }
    });
}

#[test]
fn a_series_of_which_stubs_alone_are_left_gets_its_row_again() {
    in_a_full_world(|mut run| async move {
        // The only page with a video. Its sitemap stays for a while, with a removed entry.
        run.step(&Step::Delete(2)).await.expect("a sound site");
        run.step(&Step::Rest).await.expect("a sound site");
        let of_videos = Series {
            site: SITES[0].to_owned(),
            name: "video".to_owned(),
        };
        let series = keys::series(&of_videos);
        let free = keys::free_partition(&of_videos);
        let rows = run.world.items().await;
        let free: Vec<_> = rows
            .iter()
            .filter(|row| row.text("pk") == Some(&free))
            .collect();
        assert!(!free.is_empty());
        for row in free {
            let sk = row.text("sk").expect("a key");
            run.world.lose_row(row.text("pk").expect("a key"), sk).await;
        }
        run.world.lose_row(&series.pk, &series.sk).await;
        is_made_good(&mut run, "a series' row").await;
        let called = format!("{} {}", series.pk, series.sk);
        assert!(row(&run, &called).await.is_some(), "{called}");
    });
}

/// Changes settings while the row of a series is lost: the scan passes by the series' pages. A page that comes later writes the row
/// again, so that no row shows the loss any more.
#[test]
fn regression_settings_that_a_scan_did_not_apply_to_a_lost_series_are_made_good() {
    let changes: [fn(&mut Settings); 7] = [
        |settings| settings.feed = false,
        |settings| settings.llms = None,
        |settings| settings.public = false,
        |settings| settings.hidden = Some(0),
        |settings| settings.capacity = 1,
        |settings| settings.series = 1,
        |settings| settings.part_url = Some((0, 1)),
    ];
    for change in changes {
        in_a_full_world(async move |mut run| {
            let series = keys::series(&Series {
                site: SITES[0].to_owned(),
                name: TYPES[0].to_owned(),
            });
            run.world.lose_row(&series.pk, &series.sk).await;
            let mut settings = Settings {
                capacity: 2,
                llms: Some(0),
                ..DEFAULT
            };
            change(&mut settings);
            let later = [9, 10, 11, 12].map(|path| Step::Put(path, Page { path, ..PAGE }));
            for step in [Step::Site(0, Some(settings))].iter().chain(&later) {
                run.step(step).await.expect("a sound site");
                run.world.settle().await.expect("the end of the scan");
            }
            let what = format!("{settings:?}");
            is_found_by_the_clock(&run, &what).await;
            is_made_good(&mut run, &what).await;
        });
    }
}
