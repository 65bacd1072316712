//! Calls functions one at a time, on a stack with stopped event sources. So each function that reconciles meets every change of a
//! record, and the states that a race or a crash leaves.

use std::collections::BTreeSet;
use std::sync::Arc;

use aws::Aws;
use aws::describe;
use aws::failures::FailureBucket;
use aws_lambda_events::event::dynamodb::{Event, EventRecord};
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use aws_sdk_dynamodb::types::AttributeValue;
use engine::SitemapTable;
use engine::error::EngineError;
use engine::keys::{self, Key, prefix};
use engine::metrics::{Metrics, Monitoring};
use engine::regenerate::Regenerator;
use engine::rows::scan::{ContentScan, Pass, Step};
use engine::rows::series::Room;
use engine::rows::site::Hold;
use engine::sweep::sweep;
use harness::calls::Calls;
use harness::{SITE, World, post, settings, until, with};
use local::invocation::{INGEST, Observer, REGENERATE, SWEEP, invoke};
use local::stack::{AUDIT_TIMES, Options};
use local::tables::{BUCKET, SITEMAP_TABLE};
use objects::PUBLISHED_PREFIX;
use serde_json::{Value, json};
use sitemap::plan::Series;
use sitemap::site::SiteSettings;

use super::{FAILURES_BUCKET, SOURCE};

/// Seconds from one audit to the next.
const A_DAY: i64 = 86_400;
/// Seconds after which a scan without progress is woken.
const A_WHILE: i64 = 1_000;
/// The most sweeps of one audit, and for timers that are due.
const SWEEPS: u32 = 100;

/// The function that reconciles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Ingest,
    Regenerate,
    Sweep,
}

/// Makes each function that reconciles do all that reconciling can do, and its own other work.
pub(super) async fn does_everything(calls: &Calls) {
    for who in [Who::Ingest, Who::Regenerate, Who::Sweep] {
        let hands = Hands::new(calls).await;
        hands.reconcile_everything(who).await;
        hands.world.stop().await;
    }
    let hands = Hands::new(calls).await;
    hands.mend_everything().await;
    hands.see_to_the_rest().await;
    hands.world.stop().await;
}

/// A stack with stopped event sources, and its functions.
struct Hands {
    world: World,
    aws: Aws,
    observer: Arc<dyn Observer>,
    functions: Regenerator,
}

impl Hands {
    async fn new(calls: &Calls) -> Self {
        let world = World::idle(Options::default()).await;
        let stack = &world.stack;
        let interceptors = vec![calls.interceptor()];
        let aws = Aws::on_loopback(&stack.dynamodb_endpoint, &stack.s3_endpoint, interceptors);
        Self {
            functions: harness::functions(&aws, &world.clock),
            aws,
            observer: Arc::new(calls.clone()),
            world,
        }
    }

    async fn ingest(&self, ids: &[&str]) {
        let records = ids.iter().map(|id| ("MODIFY", json!({"id": {"S": id}})));
        let event = event(records);
        let running = ingest::ingest(&self.functions.reconciler, &event);
        done(invoke(INGEST, Some(self.observer.clone()), running).await);
    }

    /// Calls `regenerate` with changes of rows, each with the name of its event and its key.
    async fn regenerate(&self, rows: &[(&str, Key)]) {
        let records = rows.iter().map(|(name, Key { pk, sk })| {
            let keys = json!({"pk": {"S": pk}, "sk": {"S": sk}});
            (*name, keys)
        });
        let event = event(records);
        let running = regenerate::regenerate(&self.functions, &event);
        done(invoke(REGENERATE, Some(self.observer.clone()), running).await);
    }

    /// Runs a sweep. Only unreadable rows may make it fail, which the audit at its end repairs.
    async fn sweep(&self) {
        let Regenerator {
            reconciler,
            objects,
            ..
        } = &self.functions;
        let running = sweep(reconciler, &**objects, AUDIT_TIMES, None);
        let swept = invoke(SWEEP, Some(self.observer.clone()), running).await;
        assert!(
            matches!(swept, Ok(true) | Err(EngineError::Damaged { .. })),
            "{swept:?}"
        );
    }

    /// Sweeps until an audit that begins now has ended.
    async fn audit(&self) {
        self.sweep().await;
        self.world.clock.advance(A_DAY);
        let since = self.world.clock.now();
        let table = &self.world.stack.reconciler.table;
        for _ in 0..SWEEPS {
            self.scan().await;
            self.sweep().await;
            let audit = table.audit().await.unwrap();
            if audit.is_some_and(|audit| audit.began >= since && audit.step.is_none()) {
                return;
            }
        }
        panic!("an audit does not end");
    }

    /// Makes the calls for features that the local stack lacks: the failure bucket, and the check of a mapping at a stack's
    /// deployment.
    async fn see_to_the_rest(&self) {
        let s3 = self.world.stack.aws.s3().await;
        let bucket = s3.create_bucket().bucket(FAILURES_BUCKET);
        bucket.send().await.unwrap();
        let failures = FailureBucket::new(self.aws.clone(), FAILURES_BUCKET.to_owned());
        let watched = Metrics::of("test", Monitoring::Full, |_| ());
        let running = async {
            sweep::count_failures(&watched, &failures).await;
            // The table does not exist here, but the call is the same.
            describe(&self.aws, SOURCE).await.is_ok()
        };
        assert!(!invoke(SWEEP, Some(self.observer.clone()), running).await);
    }

    /// Runs the scans to their end.
    async fn scan(&self) {
        let table = &self.world.stack.reconciler.table;
        let ended = async || {
            let is_active = |scan: ContentScan| scan.is_active();
            // An unreadable scan waits for the audit.
            let content = table.content_scan().await.ok().flatten();
            let site = table.site_scan(SITE).await.ok().flatten();
            if content.is_some_and(is_active) {
                self.regenerate(&[("MODIFY", keys::content_scan())]).await;
            } else if site.is_some() {
                self.regenerate(&[("MODIFY", keys::site_scan(SITE))]).await;
            } else {
                return true;
            }
            false
        };
        until("the scan has ended", ended).await;
    }

    /// Makes a function reconcile records, by the event that makes it do so.
    async fn reconcile(&self, who: Who, ids: &[&str]) {
        match who {
            Who::Ingest => self.ingest(ids).await,
            Who::Regenerate => {
                // It is called for records that wait for an address.
                let (site, loc) = (SITE, "https://www.example.com/nobody-s");
                for id in ids {
                    self.write(&keys::waiter(site, loc, id), &[]).await;
                }
                self.regenerate(&[("REMOVE", keys::claim(site, loc))]).await;
                // It is also called for timers that a sweep has left.
                self.write(&keys::ringing('0'), &[("token", "t")]).await;
                self.regenerate(&[("MODIFY", keys::ringing('0'))]).await;
            }
            Who::Sweep => {
                // It is called for records whose timers are due.
                let now = self.world.clock.now();
                self.table().set_cursor(now / 3_600).await.unwrap();
                for id in ids {
                    self.write(&keys::timer(now, id), &[]).await;
                }
                self.sweep().await;
                // It rings for a second, and leaves the rest to `regenerate`. On a busy machine that is not all.
                for _ in 0..SWEEPS {
                    let left = self.left_to_regenerate().await;
                    if left.is_empty() {
                        return;
                    }
                    for key in &left {
                        self.delete(key).await;
                    }
                    self.sweep().await;
                }
                panic!("timers of {ids:?} are left after {SWEEPS} sweeps");
            }
        }
    }

    /// Returns the rows by which a sweep leaves timers to `regenerate`.
    async fn left_to_regenerate(&self) -> Vec<Key> {
        let rows = self.world.rows("").await;
        let keys = keys::HASH_DIGITS.map(keys::ringing).into_iter();
        keys.filter(|key| rows.contains_key(&(key.pk.clone(), key.sk.clone())))
            .collect()
    }

    /// Returns the sitemap table for the test's own calls, which are not recorded.
    fn table(&self) -> &SitemapTable {
        &self.world.stack.reconciler.table
    }

    async fn write(&self, key: &Key, attributes: &[(&str, &str)]) {
        let client = self.world.stack.aws.dynamodb().await;
        let mut put = client.put_item().table_name(SITEMAP_TABLE);
        for (name, text) in [("pk", key.pk.as_str()), ("sk", key.sk.as_str())]
            .iter()
            .chain(attributes)
        {
            put = put.item(*name, AttributeValue::S((*text).to_owned()));
        }
        put.send().await.unwrap();
    }

    async fn delete(&self, key: &Key) {
        self.world.delete_row(&key.pk, &key.sk).await;
    }

    /// Creates a released site with a key, so that every change makes a notice.
    async fn begin(&self) {
        let record = settings(json!({"indexnow_key": "0123456789abcdef"}));
        self.world.put(&record).await;
        let settings = SiteSettings::parse(SITE, &record).unwrap();
        let table = self.table();
        let now = self.world.clock.now();
        let source = self.functions.reconciler.content.revision();
        table.create_site(&settings, source, now).await.unwrap();
        for (from, to) in [
            (Hold::Loading, Hold::Publishing),
            (Hold::Publishing, Hold::Released),
        ] {
            table.move_hold(SITE, from, to).await.unwrap();
        }
        self.delete(&keys::site_scan(SITE)).await;
        let wanted = table.content_scan().await.unwrap().unwrap();
        let done = ContentScan {
            done: Some(source.to_owned()),
            ..ContentScan::default()
        };
        let advance = table.advance_content_scan(&wanted, &done);
        assert!(advance.await.unwrap());
        // The sweep checks the sites that have objects.
        let s3 = self.world.stack.aws.s3().await;
        let key = format!("{PUBLISHED_PREFIX}{SITE}/robots.txt");
        let put = s3.put_object().bucket(BUCKET).key(key);
        put.send().await.unwrap();
    }

    async fn reconcile_everything(&self, who: Who) {
        self.begin().await;
        // Records are added, changed, deleted, and added again to the slots that were given back.
        for records in [records(), changed(), Vec::new(), records()] {
            for id in IDS {
                self.world.delete(id).await;
            }
            // Twice, because an archive waits for a page, and the record with another's address must come second.
            let (twin, others): (Vec<_>, Vec<_>) =
                records.iter().partition(|record| record["id"] == "twin");
            for records in [others, twin] {
                for record in records {
                    self.world.put(record).await;
                }
                self.reconcile(who, &IDS).await;
            }
        }
        let entries = self.world.rows(prefix::SEGMENT).await;
        let owners = entries.values().filter_map(|row| row.get("owner"));
        let owners: Vec<&String> = owners.collect();
        assert_eq!(owners.len(), ENTRIES, "{who:?}: {owners:?}");
        // A claim was lost, and another record has it by now. So the ledger is compared with the rows.
        let loc = format!("https://{SITE}/owner");
        let owner = [("owner", "another"), ("loc", &loc)];
        self.write(&keys::claim(SITE, &loc), &owner).await;
        self.world.delete("owner").await;
        self.reconcile(who, &["owner"]).await;
        // The first record of a site, and of a table.
        self.delete(&keys::content_scan()).await;
        let url = "https://new.example/";
        let first = with(&post("/", 1), json!({"id": "first", "url": url}));
        self.world.put(&first).await;
        self.reconcile(who, &["first"]).await;
        assert_eq!(self.world.rows("SITE#new.example").await.len(), 1);
    }

    /// Makes sweeps find and repair every kind of problem.
    async fn mend_everything(&self) {
        self.begin().await;
        for record in records() {
            self.world.put(&record).await;
        }
        self.ingest(&IDS).await;
        self.world.delete("gone").await;
        self.ingest(&["gone"]).await;
        self.publish().await;
        self.audit().await;
        // Rows of each kind are made unreadable, then lost.
        let rows = self.world.rows("").await;
        let mut seen = BTreeSet::new();
        for (pk, sk) in rows.keys() {
            let kind = pk.split('#').next().map(str::to_owned);
            let attribute = DAMAGES.iter().find(|(kind, _)| pk.starts_with(kind));
            if let Some((_, name)) = attribute
                && seen.insert((kind.clone(), true))
            {
                self.world.damage((pk, sk), name, None).await;
                self.audit().await;
            } else if seen.insert((kind, false)) {
                self.world.delete_row(pk, sk).await;
                self.audit().await;
            }
        }
        for scan in [keys::content_scan(), keys::site_scan(SITE)] {
            self.write(&scan, &[]).await;
            self.audit().await;
        }
        self.write(&keys::notice(SITE, "https://www.example.com/"), &[])
            .await;
        self.audit().await;
        // An object that was replaced by another one's bytes.
        self.world
            .lose_object(&format!("{PUBLISHED_PREFIX}{SITE}/post-sitemap.xml"), 0)
            .await;
        self.audit().await;
        // Slots that were offered and never used.
        let series = Series {
            site: SITE.to_owned(),
            name: "post".to_owned(),
        };
        let room = Room {
            positions: 1_000,
            bytes: 1_000_000,
        };
        self.table()
            .offer(&series, &[1; 3], room, None)
            .await
            .unwrap();
        self.publish().await;
        self.audit().await;
        // Stalled scans, and a site on hold without a scan.
        let scan = self.table().content_scan().await.unwrap().unwrap();
        let pass = Pass {
            revision: self.functions.reconciler.content.revision().to_owned(),
            step: Step::Content { after: None },
            records: 0,
            at: self.world.clock.now(),
        };
        let pass = ContentScan {
            pass: Some(pass),
            ..scan.clone()
        };
        let advance = self.table().advance_content_scan(&scan, &pass);
        assert!(advance.await.unwrap());
        let now = self.world.clock.now();
        self.table().begin_site_scan(SITE, now).await.unwrap();
        self.world.clock.advance(A_WHILE);
        self.sweep().await;
        self.scan().await;
        self.delete(&keys::site(SITE)).await;
        self.sweep().await;
        for scan in [keys::content_scan(), keys::site_scan(SITE)] {
            self.delete(&scan).await;
        }
        self.sweep().await;
        self.scan().await;
    }

    /// Publishes everything.
    async fn publish(&self) {
        let rows = self.world.rows("").await.into_keys();
        let changes = rows.map(|(pk, sk)| ("MODIFY", Key { pk, sk }));
        let changes: Vec<_> = changes.collect();
        self.regenerate(&changes).await;
        let site = ("MODIFY", keys::site(SITE));
        self.regenerate(&[site]).await;
    }
}

/// The ids of the records.
const IDS: [&str; 7] = [
    "twin", "owner", "archive", "other", "parts", "gone", "departed",
];
/// The number of all their entries: four pages, one of them in two parts, and an archive.
const ENTRIES: usize = 6;
/// By kind of row, an attribute without which it is unreadable.
const DAMAGES: [(&str, &str); 9] = [
    (prefix::LEDGER, "body"),
    (prefix::SEGMENT, "version"),
    (prefix::LOC, "owner"),
    (prefix::MOVED, "departure"),
    (prefix::SERIES, "next_n"),
    (prefix::INDEX, "generation"),
    (prefix::GROUP, "href"),
    (prefix::FEED, "loc"),
    (prefix::SITE, "epoch"),
];

fn record(id: &str, path: &str, fields: Value) -> Value {
    with(&with(&post(path, 9), json!({"id": id})), fields)
}

fn records() -> Vec<Value> {
    vec![
        record(
            "owner",
            "/owner",
            json!({"terms": {"tag": ["t"]}, "language": "en", "translation_group": "g",
                "expires_at": "2999-01-01T00:00:00Z", "title": "One"}),
        ),
        record("twin", "/owner", json!({})),
        record(
            "archive",
            "/tag/t",
            json!({"type": "tag", "archive_of": {"taxonomy": "tag", "term": "t"}}),
        ),
        record(
            "other",
            "/other",
            json!({"language": "de", "translation_group": "g"}),
        ),
        record("parts", "/parts/", json!({"pages": 2})),
        record("gone", "/gone", json!({})),
        record("departed", "/departed", json!({"moved_to": "/owner"})),
    ]
}

/// Returns the same records, with every other kind of row.
fn changed() -> Vec<Value> {
    vec![
        record("owner", "/moved", json!({"title": "Two"})),
        record("twin", "/other", json!({})),
        record(
            "archive",
            "/tag/u",
            json!({"type": "tag", "archive_of": {"taxonomy": "tag", "term": "u"}}),
        ),
        record("other", "/other", json!({"language": "de"})),
        record("parts", "/parts/", json!({"pages": 3})),
    ]
}

fn event<'a>(records: impl Iterator<Item = (&'a str, Value)>) -> Event {
    let record = |(number, (name, keys)): (usize, (&str, Value))| {
        let record = json!({"awsRegion": "local", "eventID": "1", "eventName": name, "dynamodb": {
            "ApproximateCreationDateTime": 0, "Keys": keys, "SequenceNumber": number.to_string(),
            "SizeBytes": 1}});
        serde_json::from_value::<EventRecord>(record).unwrap()
    };
    let mut event = Event::default();
    event.records = records.enumerate().map(record).collect();
    event
}

fn done(response: DynamoDbEventResponse) {
    assert!(response.batch_item_failures.is_empty(), "{response:?}");
}
