//! Invariants that hold at every moment, and not only at rest. They are checked after each write of the functions, before
//! anything else happens.
//!
//! - *Rows*: each row that a ledger names exists and belongs to the ledger's page. No slot is both free and taken. A page
//!   begins to wait for an address only while another page owns it. A series' counter, a site's hold, its settings and the
//!   scans only go forward. A fence's token is never written again. A site on hold writes neither feed rows nor notices.
//!   No audit begins before its time after one that has repaired nothing.
//! - *Objects*: no sitemap is put while its site is loading. Each sitemap that an index lists exists and is not a 404. Each
//!   further index that robots.txt names exists. A put never removes a sitemap that should be listed from all indexes of its
//!   site.
//! - Between a loss and its repair, only one invariant is checked: no sound claim is taken from a page whose ledger names it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::SitemapTable;
use engine::keys::{self, ALONE, Key, OUSTED, RowKey, prefix};
use engine::rows::claim::YIELDS;
use engine::rows::holding::rows_of;
use engine::rows::scan::{ContentScan, Pass, SiteStep, Step};
use engine::rows::site::{Hold, SiteRow};
use engine::sweep::AuditTimes;
use engine::sweep::audit::AuditProgress;
use flate2::read::GzDecoder;
use objects::{Closure, MemoryObjects, ObjectKey, Objects, SiteFile, stamp};
use sitemap::plan::Ledger;
use table::{Change, Item, MemoryTable, Table};

use crate::crawler::is_own;
use crate::history::SITES;
use crate::runtime::Sim;

/// The seconds between the beginnings of two audits that did not know of each other, because their sweeps ran concurrently.
const BESIDE: i64 = 600;

/// The rows that were written since the last check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    noted: Arc<Mutex<Vec<Changed>>>,
    /// Whether something is lost and not yet repaired.
    is_blind: Arc<AtomicBool>,
    /// Whether functions with different mappings have run.
    is_remapped: Arc<AtomicBool>,
}

/// A row before and after a write.
#[derive(Debug)]
struct Changed {
    key: Key,
    old: Option<Item>,
    new: Option<Item>,
}

/// The settings of a site's record in the order in which they were written, and the position of those that its row has. They are
/// `None` if the record was deleted, because the row's settings depend on the earlier ones then.
#[derive(Clone, Debug)]
struct Said {
    settings: Vec<Option<String>>,
    at: usize,
}

/// The files that a site's indexes list: by the index's number, its ETag and the file names.
type Listed = BTreeMap<u32, (String, BTreeSet<String>)>;

/// Checks a sitemap table and a bucket. Clones share their state.
#[derive(Clone)]
pub(crate) struct Watch {
    sim: Sim,
    changes: Changes,
    rows: MemoryTable,
    table: SitemapTable,
    objects: MemoryObjects,
    /// The times of the clock's audits.
    audits: AuditTimes,
    said: Arc<Mutex<[Said; SITES.len()]>>,
    /// Tokens of earlier fences, which rows no longer have.
    retired: Arc<Mutex<BTreeSet<(Key, String)>>>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Changes {
    /// Notes the change of a write.
    pub(crate) fn note(&self, change: &Change<'_>) {
        let text = |name| change.key.text(name).unwrap_or_default().to_owned();
        let (pk, sk) = (text("pk"), text("sk"));
        let key = Key { pk, sk };
        if self.is_blind.load(Ordering::Relaxed) && !is_sound_claim(&key, change.old) {
            return;
        }
        let (old, new) = (change.old.cloned(), change.new.cloned());
        self.noted().push(Changed { key, old, new });
    }

    fn noted(&self) -> MutexGuard<'_, Vec<Changed>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Returns a watch of this table, which notes its writes in `changes`, and of this bucket.
    pub(crate) fn new(
        sim: &Sim,
        changes: Changes,
        rows: &MemoryTable,
        objects: &MemoryObjects,
        audits: AuditTimes,
    ) -> Self {
        let nothing = Said {
            settings: Vec::new(),
            at: 0,
        };
        Self {
            sim: sim.clone(),
            changes,
            rows: rows.clone(),
            table: SitemapTable::new(Arc::new(rows.clone()), sim.env()),
            objects: objects.clone(),
            audits,
            said: Arc::new(Mutex::new(std::array::from_fn(|_| nothing.clone()))),
            retired: Arc::default(),
        }
    }

    /// Notes that functions with different mappings run.
    pub(crate) fn set_remapped(&self) {
        self.changes.is_remapped.store(true, Ordering::Relaxed);
    }

    /// Stops checking while something is lost, or starts again.
    pub(crate) fn set_blind(&self, is_blind: bool) {
        self.changes.is_blind.store(is_blind, Ordering::Relaxed);
        self.forget();
    }

    /// Notes the settings that a site's row should have from now on.
    pub(crate) fn site_says(&self, site: usize, settings: Option<String>) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said[site].settings.push(settings);
    }

    /// Drops noted writes that the functions did not make.
    pub(crate) fn forget(&self) {
        self.changes.noted().clear();
    }

    /// Checks the rows that a call has written.
    ///
    /// # Panics
    ///
    /// If an invariant does not hold.
    pub(crate) async fn look_at_rows(&self) {
        let changes = std::mem::take(&mut *self.changes.noted());
        for change in &changes {
            self.look_at_row(change).await;
        }
    }

    /// Returns whether a listed page took an address from a page that departed from it, which is called. The key is that of the claim of
    /// the address, or of what became of the page.
    async fn is_ousted(&self, key: &Key, owner: &str) -> bool {
        let claim_pk = match RowKey::parse(&key.pk, &key.sk) {
            Some(RowKey::Claim) => Some(key.pk.clone()),
            Some(RowKey::Departed(..)) => {
                let site = key.pk.strip_prefix(prefix::MOVED);
                let site = site.and_then(|rest| rest.split_once('#'));
                site.map(|(site, _)| format!("{}{site}#{}", prefix::LOC, key.sk))
            }
            _ => None,
        };
        let Some(pk) = claim_pk else { return false };
        let sk = format!("{OUSTED}{owner}");
        let rows = self.table.rows_with(&[Key { pk, sk }]).await;
        rows.is_ok_and(|rows| !rows.is_empty())
    }

    async fn look_at_row(&self, change: &Changed) {
        let Changed { key, old, new } = change;
        let text = |item: &Option<Item>, name| {
            let text = item.as_ref().and_then(|item| item.text(name));
            text.map(str::to_owned)
        };
        let is_blind = self.is_blind();
        let (was, is) = (text(old, "owner"), text(new, "owner"));
        if let Some(owner) = was.filter(|owner| Some(owner) != is.as_ref()) {
            let ledger = match self.table.ledger(&owner).await {
                Err(_) if is_blind => None,
                ledger => ledger.expect("a sound ledger"),
            };
            let named = ledger.map(|ledger| rows_of(&owner, &ledger, self.sim.now()));
            let is_named = named.is_some_and(|named| named.contains(key));
            let yielded = RowKey::parse(&key.pk, &key.sk) != Some(RowKey::Claim)
                || old.as_ref().is_some_and(|item| item.get(YIELDS).is_some());
            assert!(
                !is_named || (yielded && self.is_ousted(key, &owner).await),
                "{key:?} is taken off {owner}, whose ledger names it"
            );
        }
        if is_blind {
            return;
        }
        let kind = RowKey::parse(&key.pk, &key.sk);
        // A retried request may write a mark or a site's scan again, with its old token. That only repeats finished work.
        let is_fence = matches!(
            kind,
            Some(RowKey::Ledger(_) | RowKey::Site(_) | RowKey::ContentScan)
        );
        let (was, is) = (text(old, "token"), text(new, "token"));
        if is_fence && was != is {
            let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
            let comes_back = is.is_some_and(|token| retired.contains(&(key.clone(), token)));
            assert!(!comes_back, "an old token of {key:?} comes back");
            retired.extend(was.map(|token| (key.clone(), token)));
        }
        let is = text(new, "owner");
        match kind {
            Some(RowKey::Ledger(page)) => {
                let (was, is) = (text(old, "body"), text(new, "body"));
                if let Some(body) = is.filter(|body| was.as_ref() != Some(body)) {
                    let ledger = serde_json::from_str(&body).expect("a ledger");
                    self.look_at_ledger(&page, &ledger).await;
                }
            }
            Some(RowKey::Entry(series, slot)) if is.is_some() => {
                let free = self.row(&keys::free(&series, slot)).await;
                assert!(free.is_none(), "{key:?} is taken, and free");
            }
            Some(RowKey::Free(series, slot)) if new.is_some() => {
                let entry = self.row(&keys::entry(&series, slot)).await;
                let owner = text(&entry, "owner");
                assert!(owner.is_none(), "{key:?} is free, and {owner:?} has it");
            }
            Some(RowKey::Waiter(page)) if old.is_none() && new.is_some() => {
                let sk = ALONE.to_owned();
                let claim = self.row(&Key { sk, ..key.clone() }).await;
                assert!(
                    claim.is_some(),
                    "{page} waits for an address that nobody owns: {key:?}"
                );
            }
            Some(RowKey::Series(_)) => {
                let next = |item: &Option<Item>| {
                    let item = item.as_ref()?;
                    Some((item.number::<u32>("next_n"), item.number::<u32>("next_i")))
                };
                let (was, is) = (next(old), next(new));
                assert!(was <= is, "{key:?} goes back from {was:?} to {is:?}");
            }
            Some(RowKey::Notice(site) | RowKey::Feed(site, ..)) if new.is_some() => {
                let row = self.site(&site).await;
                let is_released = row.is_some_and(|row| row.hold == Hold::Released);
                assert!(is_released, "news of a site on hold: {key:?}");
            }
            Some(RowKey::Site(host)) => self.look_at_site(&host, change).await,
            Some(RowKey::ContentScan) => look_at_pass(change),
            Some(RowKey::Audit) => look_at_audit(change, self.audits.period),
            Some(RowKey::SiteScan(_)) => {
                let step = |item: &Option<Item>| {
                    let step = text(item, "step")?;
                    Some(serde_json::from_str::<SiteStep>(&step).expect("a step"))
                };
                if let (Some(was), Some(is)) = (step(old), step(new)) {
                    assert!(
                        is == SiteStep::BEGINNING || place(&was) <= place(&is),
                        "{key:?} goes back from {was:?} to {is:?}"
                    );
                }
            }
            _ => {}
        }
    }

    /// Checks that each row that a ledger names exists and belongs to its page. A page from which an address was taken may write its
    /// ledger once more before its call: whatever else changed, it knows nothing of that yet.
    async fn look_at_ledger(&self, page: &str, ledger: &Ledger) {
        for key in rows_of(page, ledger, self.sim.now()) {
            // Parts are placed later.
            if key.pk.starts_with(prefix::LEDGER) {
                continue;
            }
            let row = self.row(&key).await;
            if row
                .as_ref()
                .is_none_or(|row| row.text("owner") != Some(page))
                && self.is_ousted(&key, page).await
            {
                continue;
            }
            let Some(row) = row else {
                panic!("the ledger of {page} names {key:?}, which is not there");
            };
            let has_owner = key.pk.starts_with(prefix::SEGMENT) || key.sk == ALONE;
            let is_its = !has_owner || row.text("owner") == Some(page);
            assert!(is_its, "the ledger of {page} names {key:?}: {row:?}");
        }
        let (id, part) = keys::page_parts(page);
        if part > 1 && !rows_of(page, ledger, self.sim.now()).is_empty() {
            let whole = self.table.ledger(&keys::page(id, 1)).await;
            let parts = whole.expect("a sound ledger").map(|whole| whole.parts);
            assert!(
                parts.is_some_and(|parts| parts >= part),
                "{page} has rows, and its page knows of {parts:?} parts"
            );
        }
    }

    async fn look_at_site(&self, host: &str, change: &Changed) {
        let order = |item: &Item| match item.text("hold") {
            Some("loading") => 0,
            Some("publishing") => 1,
            _ => 2,
        };
        let (was, is) = (
            change.old.as_ref().map_or(0, order),
            change.new.as_ref().map_or(0, order),
        );
        assert!(
            was == is || was + 1 == is,
            "the hold of {host} goes from {was} to {is}"
        );
        if (was, is) == (0, 1) {
            let scan = self.table.content_scan().await.expect("a sound scan");
            let row = self.site(host).await.expect("the row");
            // A late request may have requested another pass after the site's scan has looked. Or a function with another mapping
            // may have begun one.
            let is_read = scan.is_some_and(|scan| {
                let wanted = false;
                self.changes.is_remapped.load(Ordering::Relaxed)
                    || ContentScan { wanted, ..scan }.is_complete(&row.source)
            });
            assert!(
                is_read,
                "{host} is published before all content was scanned"
            );
        }
        let settings = |item: &Option<Item>| {
            let text = item.as_ref().and_then(|item| item.text("settings"));
            text.map(str::to_owned)
        };
        let (was, is) = (settings(&change.old), settings(&change.new));
        let Some(site) = SITES.iter().position(|site| *site == host) else {
            return;
        };
        if was != is {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            let Said { settings, at } = &mut said[site];
            let left = &settings[*at..];
            let next = left.iter().position(|said| said.is_none() || *said == is);
            let Some(next) = next else {
                panic!("{host} goes back to what its record said before: {is:?}");
            };
            *at += next;
        }
    }

    /// Returns the files that the indexes of the object's site list. They are empty for an object that is not an index.
    pub(crate) async fn listed(&self, key: &ObjectKey) -> Listed {
        let mut listed = Listed::new();
        if self.is_blind() || !matches!(key, ObjectKey::Index { .. }) {
            return listed;
        }
        for key in self.objects.list(key.site()).await.expect("a listing") {
            if let ObjectKey::Index { n, .. } = key
                && let Some((meta, body)) = self.objects.get(&key).await.expect("an object")
            {
                let mut text = String::new();
                let inflated = GzDecoder::new(&*body).read_to_string(&mut text);
                inflated.expect("an index");
                let locs = text.split("<loc>").skip(1);
                let locs = locs.filter_map(|rest| rest.split_once("</loc>"));
                // The bucket has no sitemaps of others.
                let own = locs.filter(|(loc, _)| is_own(key.site(), loc));
                let names = own.filter_map(|(loc, _)| loc.rsplit('/').next());
                listed.insert(n, (meta.etag, names.map(str::to_owned).collect()));
            }
        }
        listed
    }

    /// Checks an object that was put. `before` are the files that the site's indexes listed before the put.
    ///
    /// # Panics
    ///
    /// If an invariant does not hold.
    pub(crate) async fn look_at_object(&self, key: &ObjectKey, before: &Listed) {
        if self.is_blind() {
            return;
        }
        let site = key.site();
        let row = self.site(site).await;
        let hold = row.as_ref().map_or(Hold::Loading, |row| row.hold);
        match key {
            ObjectKey::Shard { .. } => {
                assert!(hold != Hold::Loading, "{key} is put while {site} loads");
            }
            ObjectKey::Index { n, .. } => {
                let now = self.listed(key).await;
                let Some((etag, names)) = now.get(n) else {
                    return;
                };
                // The put lost to another one, or wrote the same object.
                if before.get(n).is_some_and(|(before, _)| before == etag) || names.is_empty() {
                    return;
                }
                assert!(
                    hold == Hold::Released,
                    "{key} is put while {site} is on hold"
                );
                self.are_answered(key, names).await;
                if let Some(row) = row {
                    self.are_listed_still(key, &row, before, &now).await;
                }
            }
            ObjectKey::Robots { .. } => {
                let object = self.objects.get(key).await.expect("an object");
                let text = object.map(|(_, body)| String::from_utf8_lossy(&body).into_owned());
                let lines = text.as_deref().unwrap_or_default().lines();
                let named = lines.filter_map(|line| line.strip_prefix("Sitemap: "));
                let names = named.filter_map(|loc| loc.rsplit('/').next());
                let there = self.there(site).await;
                // The first index is named before it lists anything.
                let n = 1;
                let site = site.to_owned();
                let first = ObjectKey::Index { site, n }.file_name();
                for name in names.filter(|name| *name != first) {
                    assert!(
                        there.contains_key(name),
                        "{key} names {name}, which is not there"
                    );
                }
            }
            _ => {}
        }
    }

    /// Checks that these files of a site exist and are not a 404.
    async fn are_answered(&self, key: &ObjectKey, names: &BTreeSet<String>) {
        let site = key.site().to_owned();
        let there = self.there(&site).await;
        let file = self.objects.get(&ObjectKey::SiteFile { site }).await;
        let file = file.expect("an object").map(|(_, body)| body);
        let file: Option<SiteFile> = file.and_then(|body| serde_json::from_slice(&body).ok());
        let Some(file) = file else {
            panic!("{key} lists {names:?}, and there is no site file");
        };
        for name in names {
            let Some(listed) = there.get(name) else {
                panic!("{key} lists {name}, which is not there");
            };
            let series = match listed {
                ObjectKey::Shard { series, .. } => Some(series.as_str()),
                _ => None,
            };
            let is_over = match file.closure(series) {
                Closure::Open(_) => false,
                Closure::Closed(since) => {
                    since.is_none_or(|since| self.sim.now() - since > file.emptied_grace_seconds)
                }
            };
            assert!(
                !is_over,
                "{key} lists {name}, which the site file has closed: {file:?}"
            );
        }
    }

    /// Checks that each sitemap that was listed, and should be, is still in an index. An index of older rows is not checked.
    async fn are_listed_still(
        &self,
        key: &ObjectKey,
        row: &SiteRow,
        before: &Listed,
        now: &Listed,
    ) {
        let there = self.there(key.site()).await;
        let shards = |listed: &Listed| -> BTreeSet<String> {
            let names = listed.values().flat_map(|(_, names)| names);
            let is_shard =
                |name: &&String| matches!(there.get(*name), Some(ObjectKey::Shard { .. }));
            names.filter(is_shard).cloned().collect()
        };
        let [was, is] = [before, now].map(shards);
        if was.is_subset(&is) {
            return;
        }
        let summaries = self.table.summaries(key.site()).await;
        let summaries = summaries.expect("sound summaries");
        let generations = summaries.values().map(|summary| summary.generation);
        let current = stamp(row.epoch, row.version + generations.sum::<u64>());
        let meta = self.objects.head(key).await.expect("an object");
        let document = meta.and_then(|meta| meta.document);
        if document.is_none_or(|document| document.stamp != current) {
            return;
        }
        let hidden = row.settings.hidden_series();
        let wanted = summaries.iter().filter(|(shard, summary)| {
            row.settings.public && summary.entries > 0 && !hidden.contains(&shard.series.name)
        });
        let wanted: BTreeSet<String> = wanted
            .map(|(shard, _)| shard.object().file_name())
            .collect();
        let lost: Vec<_> = was
            .difference(&is)
            .filter(|name| wanted.contains(*name))
            .collect();
        assert!(
            lost.is_empty(),
            "{key} is put, and {lost:?} are in no index any more"
        );
    }

    /// Returns the objects of a site by file name.
    async fn there(&self, site: &str) -> BTreeMap<String, ObjectKey> {
        let keys = self.objects.list(site).await.expect("a listing");
        let named = keys.into_iter().map(|key| (key.file_name(), key));
        named.collect()
    }

    fn is_blind(&self) -> bool {
        self.changes.is_blind.load(Ordering::Relaxed)
    }

    async fn row(&self, key: &Key) -> Option<Item> {
        self.rows.get(Item::from(key)).await.expect("a row")
    }

    async fn site(&self, host: &str) -> Option<SiteRow> {
        self.table.site(host).await.expect("a sound row")
    }
}

/// Returns whether this is the unchanged row of a page's claim of an address.
fn is_sound_claim(key: &Key, row: Option<&Item>) -> bool {
    let loc = row.and_then(|row| row.text("loc"));
    key.sk == ALONE && loc.is_some_and(|loc| keys::is_claim_of(key, loc))
}

/// Checks that an audit begins only after the period since one that has repaired nothing, or concurrently with it.
fn look_at_audit(change: &Changed, period: Duration) {
    let progress = |item: &Option<Item>| -> Option<AuditProgress> {
        serde_json::from_str(item.as_ref()?.text("progress")?).ok()
    };
    if let (Some(was), Some(is)) = (progress(&change.old), progress(&change.new)) {
        let begins = was.step.is_none() && is.step.is_some() && was.repaired == 0;
        let passed = is.began - was.began;
        assert!(
            !begins || passed < BESIDE || passed >= period.as_secs().cast_signed(),
            "an audit begins {passed} s after one that has repaired nothing: {:?}",
            was.found
        );
    }
}

/// Checks that the scan of all content does not go back, and that a requested pass is not lost.
fn look_at_pass(change: &Changed) {
    let pass = |item: &Option<Item>| -> Option<Pass> {
        let pass = item.as_ref()?.text("pass")?;
        Some(serde_json::from_str(pass).expect("a pass"))
    };
    let is_wanted = |item: &Option<Item>| {
        let item = item.as_ref();
        item.is_some_and(|item| item.get("wanted").is_some())
    };
    let Changed { old, new, .. } = change;
    let (was, is) = (pass(old), pass(new));
    let begins = is
        .as_ref()
        .is_some_and(|pass| pass.step == Step::Content { after: None });
    let goes_on = match (&was, &is) {
        (Some(was), Some(is)) => begins || was.records <= is.records,
        _ => true,
    };
    assert!(
        goes_on,
        "the scan of all content goes back from {was:?} to {is:?}"
    );
    assert!(
        begins || is_wanted(new) || !is_wanted(old),
        "the pass that is wanted is forgotten: {change:?}"
    );
}

/// Returns the order of a site scan's steps.
fn place(step: &SiteStep) -> (u32, Option<char>, Option<(String, u32, u32)>) {
    let of = |after: &Option<String>| {
        let digit = after.as_deref().map(keys::hash_digit);
        (digit, after.clone().map(|after| (after, 0, 0)))
    };
    let (number, (digit, after)) = match step {
        SiteStep::LeftOut { after } => (0, of(after)),
        SiteStep::Entries { after } => (1, (None, after.clone())),
        SiteStep::LeftOutAgain { after } => (2, of(after)),
        SiteStep::Publish { after } => (3, (None, after.clone().map(|after| (after, 0, 0)))),
    };
    (number, digit, after)
}
