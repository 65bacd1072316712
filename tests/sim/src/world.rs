//! A deployment in a simulated world.

mod ceilings;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use engine::content::Content;
use engine::content::json_of;
use engine::error::EngineError;
use engine::keys::{self, Mark};
use engine::metrics::{DIMENSION, FAILURES_WAITING, Metrics};
use engine::reconcile::{KnownSites, Reconciler};
use engine::regenerate::index::IndexLimits;
use engine::regenerate::{Regenerator, subject};
use engine::rows::feed::EXPIRES;
use engine::rows::notice::Pause;
use engine::rows::scan::{ContentScan, SiteScan};
use engine::stream::{Handled, StreamRecord};
use engine::sweep::audit::{Audit, AuditProgress, AuditStep, Finding, beginning, daily};
use engine::sweep::notices::SearchEngines;
use engine::sweep::{TURN_SECONDS, sweep};
use engine::{Env, SitemapTable};
use objects::{Document, MemoryObjects, ObjectKey, Objects};
use serde_json::Value as Json;
use sitemap::member::{Built, Frame, Member, Part, Segment, splice};
use sitemap::record::schema::FIELDS;
use sitemap::site::SiteSettings;
use sitemap::stylesheet::shard_frame;
use table::{Item, MemoryTable, Scan, Schema, Table, Value};

use crate::audit::{Objects as Published, Row, Rows};
use crate::cloudwatch::CloudWatch;
use crate::deployment::Deployment;
use crate::endpoint::Endpoint;
use crate::event_source::{Function, Stream};
use crate::faults::{Faults, Spell};
use crate::first_load;
use crate::history::{KNOWN, SITES};
use crate::invoker::{Callee, Invoker, Runs};
use crate::latency::{Latency, Stamps};
use crate::price::Usage;
use crate::public::SimPublic;
use crate::runtime::{Sim, mix};
use crate::source;
use crate::tables::{SimObjects, SimTable};
use crate::template::{Mapping, TEMPLATE};
use crate::throughput::{Growth, Kind, Throughput};
use crate::watch::{Changes, Watch};

pub use self::ceilings::Ceiled;

/// One of this number of worlds with faults has an outage of a service.
const OUTAGE_ONE_IN: u64 = 4;
/// The style sheet of a frame that no site has.
const NO_STYLESHEET: &str = "/of-another-release.xsl";
/// The sweeps of the clock for which the sweep after a history waits.
const SWEEPS_WAITED_FOR: i64 = 20;
/// The most seconds after which DynamoDB deletes an expired row ("within a few days").
const MOST_TTL_DELAY: i64 = 48 * 3_600;
/// The longest time in seconds between the deployments of two functions.
const DEPLOYING: u64 = 20;
/// The time limit for coming to rest, in virtual time.
const SETTLES: Duration = Duration::from_secs(86_400);
/// More sites than any world has.
const MOST_SITES: u32 = 10_000;
/// The duration of trouble.
const TROUBLE: Duration = Duration::from_secs(3_600);
/// The pause between two checks whether everything is at rest.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The random properties of a world.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The share of failing calls.
    pub calls: f64,
    /// The share of functions' runs that end or freeze somewhere.
    pub runs: f64,
    /// The number of stream shards.
    pub shards: usize,
    /// The lanes of each stream shard of content.
    pub factor: usize,
    /// The trouble that lasts for an hour. `None` for none.
    pub trouble: Option<Trouble>,
    /// Whether every write of the functions is checked.
    pub watched: bool,
}

/// A kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Only a tenth of the sitemap table's throughput is left.
    Throttled,
    /// The bucket does not answer.
    Bucket,
    /// Runs of functions stop at random.
    Stops,
}

impl Options {
    /// Returns options without failing calls and runs.
    #[must_use]
    pub fn sound(shards: usize) -> Self {
        let (calls, runs) = (0.0, 0.0);
        Self {
            calls,
            runs,
            shards,
            factor: TEMPLATE.content.factor,
            trouble: None,
            watched: false,
        }
    }
}

/// The state of a world at one time: its content, its rows and objects, and the growth of its tables.
#[derive(Debug)]
pub struct Shared {
    elapsed: Duration,
    content: table::Shared,
    sitemap: table::Shared,
    objects: MemoryObjects,
    growth: [[Growth; 2]; 3],
    stamps: Stamps,
}

/// A deployment.
pub struct World {
    /// Its runtime.
    pub sim: Sim,
    content: MemoryTable,
    sitemap: MemoryTable,
    objects: MemoryObjects,
    /// The bucket as the functions use it.
    bucket: SimObjects,
    /// The user's table, as the functions use it, and as the operator does.
    source: Option<MemoryTable>,
    sources: Option<[Arc<dyn Table>; 2]>,
    /// The streams of the content, of the sitemap table, and of the user's table.
    streams: [Stream; 3],
    /// The mappings of these streams.
    mappings: [Mapping; 3],
    /// The tables' throughput.
    throughput: [Throughput; 3],
    /// Calls the functions.
    invoker: Invoker,
    /// The time of the trouble in the options.
    trouble: Spell,
    deployment: Deployment,
    /// The state of `ingest`, `regenerate` and `sweep` as deployed, with calls that take time and fail.
    functions: [Arc<Mutex<Arc<Regenerator>>>; 3],
    /// The operator's code, whose calls take no time and do not fail.
    operator: Regenerator,
    /// The endpoint for notifying search engines of changes.
    endpoint: Option<Endpoint>,
    /// The latencies of changes, if they are measured.
    pub latency: Latency,
    /// Checks each write of the functions.
    watch: Option<Watch>,
    /// The faults of the functions' answers.
    faults: Faults,
    /// When the functions were started.
    begun: Option<Duration>,
    /// The metrics, if they are measured.
    cloudwatch: CloudWatch,
    /// A token that each running sweep of the clock has a reference to, and the clock itself.
    sweeps: Arc<()>,
}

impl World {
    /// Returns a deployment without content, whose functions do not run yet.
    #[must_use]
    pub fn new(sim: &Sim, options: Options, deployment: Deployment) -> Self {
        let of_content = |mapping| Mapping {
            factor: options.factor,
            ..mapping
        };
        let (content, source) = (of_content(TEMPLATE.content), of_content(TEMPLATE.source));
        let mappings = [content, TEMPLATE.sitemap, source];
        let streams = mappings.map(|mapping| Stream::new(sim.clone(), options.shards, &mapping));
        let [changes, rows, items] = streams.clone();
        let content = MemoryTable::watched(Schema::of_texts(&["id"]), move |change| {
            let id = change.key.text("id").unwrap_or_default();
            changes.push(id, StreamRecord::from(&change));
        });
        let endpoint = deployment.endpoint.then(|| Endpoint::new(sim.clone()));
        let (told, latency) = (endpoint.clone(), Latency::new(sim.clone()));
        let changed = latency.clone();
        let changes = options.watched.then(Changes::default);
        let looked_at = changes.clone();
        let sitemap = MemoryTable::watched(Schema::of_texts(&["pk", "sk"]), move |change| {
            let is_notice = |key: &Item| {
                key.text("pk")
                    .is_some_and(|pk| pk.starts_with(keys::prefix::NOTICE))
            };
            if let Some(endpoint) = told.as_ref().filter(|_| is_notice(change.key)) {
                endpoint.watch(&change);
            }
            changed.note(&change);
            if let Some(changes) = &looked_at {
                changes.note(&change);
            }
            let record = StreamRecord::from(&change);
            if subject(&record).is_some() {
                rows.push(change.key.text("pk").unwrap_or_default(), record);
            }
        });
        let source = deployment.source.then(|| {
            MemoryTable::watched(source::schema(), move |change| {
                let partition = change.key.text("pk").unwrap_or_default();
                let table = source::TABLE.to_owned();
                let record = StreamRecord::from(&change);
                items.push(partition, StreamRecord { table, ..record });
            })
        });
        let objects = MemoryObjects::default();
        let watch = changes
            .map(|changes| Watch::new(sim, changes, &sitemap, &objects, deployment.audit_times()));
        let faults = Faults::new(sim.clone(), options.calls);
        // One service may have an outage.
        let down = options.calls > 0.0 && sim.below(OUTAGE_ONE_IN) == 0;
        let service = down.then(|| sim.below(3));
        let faults_of = |number| match service == Some(number) {
            true => faults.clone().with_outage(),
            false => faults.clone(),
        };
        let env = sim.env();
        let limits = deployment.index_limits();
        let trouble = Spell::of(TROUBLE);
        let spell = |wanted| match options.trouble == Some(wanted) {
            true => trouble.clone(),
            false => Spell::never(),
        };
        let throttled = [Spell::never(), spell(Trouble::Throttled), Spell::never()];
        let cloudwatch = CloudWatch::default();
        let mut names = ["ContentTable", "SitemapTable", "SourceTable"].into_iter();
        let throughput = throttled.map(|throttled| {
            let name = names.next().unwrap_or_default();
            Throughput::new(sim.clone(), deployment.throughput)
                .with_throttled(throttled)
                .noted_in(cloudwatch.clone(), name)
        });
        let behind = |number: usize, table: &MemoryTable| -> Arc<dyn Table> {
            // The user's table fails as the content table does.
            let faults = faults_of(number as u64 % 2);
            let throughput = throughput[number].clone();
            let watch = watch.clone().filter(|_| number == 1);
            Arc::new(SimTable::new(table.clone(), faults, throughput).watched(watch))
        };
        let bucket = match options.trouble {
            Some(Trouble::Bucket) => faults_of(2).out_of_order(trouble.clone()),
            _ => faults_of(2),
        };
        let bucket = SimObjects::new(objects.clone(), bucket.of_another()).watched(watch.clone());
        let invoker = Invoker::new(sim.clone(), options.runs, deployment.concurrency);
        let invoker = invoker
            .with_stops(spell(Trouble::Stops))
            .with_stalls(deployment.stalls)
            .noted_in(cloudwatch.clone());
        let sources = source.as_ref().map(|source| {
            [
                behind(2, source),
                Arc::new(source.clone()) as Arc<dyn Table>,
            ]
        });
        let [of_functions, of_operator] = match &sources {
            Some(sources) => sources.clone().map(Some),
            None => [None, None],
        };
        let functions = regenerator(
            behind(0, &content),
            behind(1, &sitemap),
            of_functions,
            Arc::new(bucket.clone()),
            limits,
            &env,
        );
        let functions = Arc::new(functions);
        let functions = [(); 3].map(|()| Arc::new(Mutex::new(Arc::clone(&functions))));
        let operator = regenerator(
            Arc::new(content.clone()),
            Arc::new(sitemap.clone()),
            of_operator,
            Arc::new(objects.clone()),
            limits,
            &env,
        );
        Self {
            sim: sim.clone(),
            content,
            sitemap,
            objects,
            bucket,
            source,
            sources,
            streams,
            mappings,
            throughput,
            invoker,
            trouble,
            deployment,
            functions,
            operator,
            endpoint,
            latency,
            watch,
            faults,
            begun: None,
            cloudwatch,
            sweeps: Arc::default(),
        }
    }

    /// Returns the current state, at rest, for other worlds of the same deployment.
    #[must_use]
    pub fn share(&self) -> Shared {
        let objects = MemoryObjects::default();
        objects.begin_with(&self.objects);
        Shared {
            elapsed: self.sim.elapsed(),
            content: self.content.share(),
            sitemap: self.sitemap.share(),
            objects,
            growth: self.throughput.each_ref().map(Throughput::growth),
            stamps: self.latency.stamps(),
        }
    }

    /// Begins with the state of another world, at its time. Nothing may run yet.
    pub fn begin_with(&self, shared: &Shared) {
        self.sim.go_on_at(shared.elapsed);
        self.content.begin_with(&shared.content);
        self.sitemap.begin_with(&shared.sitemap);
        self.objects.begin_with(&shared.objects);
        for (table, growth) in self.throughput.iter().zip(shared.growth) {
            table.begin_with(growth);
        }
        self.latency.begin_with(shared.stamps.clone());
    }

    /// Publishes the content in bulk, before the functions start. There is nothing in the streams then.
    pub(crate) async fn fill(&self) {
        let records = items_that(&self.content, |_| true).await;
        let records: Vec<Json> = records.into_iter().map(json_of).collect();
        let (rows, _) = first_load::publish(&self.operator, &records).await;
        let filled = MemoryTable::new(Schema::of_texts(&["pk", "sk"]));
        for row in rows {
            let put = filled.put(row, None);
            put.await.expect("a row that the table takes");
        }
        self.sitemap.begin_with(&filled.share());
        self.streams[0].clear();
    }

    /// Starts the trouble in the options, for an hour.
    pub fn begin_trouble(&self) {
        self.trouble.begin(self.sim.elapsed());
    }

    /// Starts the functions. Trouble begins with them.
    pub fn begin(&mut self) {
        self.begin_streams();
        self.begin_clock();
    }

    /// Starts the functions that streams call.
    fn begin_streams(&mut self) {
        self.begin_content();
        self.begin_sitemaps();
        if self.source.is_some() {
            self.connect(2, &self.ingest());
        }
    }

    /// Starts the function that the content's stream calls.
    pub(crate) fn begin_content(&mut self) {
        self.begun = Some(self.sim.elapsed());
        self.begin_trouble();
        self.connect(0, &self.ingest());
    }

    /// Starts the function that the sitemap table's stream calls.
    pub(crate) fn begin_sitemaps(&self) {
        let [_, regenerates, _] = self.functions.clone();
        let regenerate: Function = Arc::new(move |records| {
            let code = deployed(&regenerates);
            Box::pin(async move { code.regenerate(&records).await })
        });
        self.connect(1, &regenerate);
    }

    fn ingest(&self) -> Function {
        let [ingests, ..] = self.functions.clone();
        Arc::new(move |records| {
            let code = deployed(&ingests);
            Box::pin(async move { engine::ingest::ingest(&code.reconciler, &records).await })
        })
    }

    fn connect(&self, stream: usize, function: &Function) {
        let (faults, splits) = (&self.faults, self.deployment.splits);
        let callee = match stream {
            1 => Callee::Regenerate,
            _ => Callee::Ingest,
        };
        let invoker = self.invoker.clone().of(callee);
        self.streams[stream].connect(self.mappings[stream], faults, splits, &invoker, function);
    }

    /// Calls `sweep` regularly from now on, as the clock does.
    pub(crate) fn begin_clock(&self) {
        let [_, _, sweeps] = self.functions.clone();
        let sim = self.sim.clone();
        let invoker = self.invoker.clone().of(Callee::Sweep);
        let endpoint = self.endpoint.clone();
        let (streams, cloudwatch) = (self.streams.clone(), self.cloudwatch.clone());
        let running = Arc::clone(&self.sweeps);
        let (period, timeout) = (TEMPLATE.sweep_period, TEMPLATE.sweep_timeout);
        let audits = self.deployment.audit_times();
        drop(self.sim.spawn(async move {
            loop {
                sim.sleep(period).await;
                let (code, endpoint) = (deployed(&sweeps), endpoint.clone());
                let runs = Arc::clone(&running);
                let swept = async move {
                    let _runs = runs;
                    let Regenerator {
                        reconciler,
                        objects,
                        ..
                    } = &*code;
                    let engines = endpoint
                        .as_ref()
                        .map(|endpoint| endpoint as &dyn SearchEngines);
                    sweep(reconciler, &**objects, audits, engines).await
                };
                // The next sweep does the failed work. A throttled call is retried for a time.
                let begun = sim.elapsed();
                let mut pause = Duration::from_secs(1);
                while sim.elapsed() - begun < TEMPLATE.sweep_event_age {
                    if let Some(place) = invoker.place() {
                        let swept = invoker.invoke(timeout, swept).await;
                        drop(place);
                        if swept.is_some() {
                            let waiting: usize = streams.iter().map(Stream::failures).sum();
                            cloudwatch.note(FAILURES_WAITING.name(), DIMENSION, waiting as f64);
                        }
                        break;
                    }
                    sim.sleep(pause).await;
                    pause *= 2;
                }
            }
        }));
    }

    /// Deploys another mapping of the user's table, if there is one. The functions get it one after another, and running ones
    /// continue with the earlier one. Returns whether there is such a table.
    pub async fn deploy(&mut self, pictured: bool) -> bool {
        let Some([of_functions, of_operator]) = self.sources.clone() else {
            return false;
        };
        if let Some(watch) = &self.watch {
            watch.set_remapped();
        }
        let mapped = |code: &Regenerator, table| {
            let mut code = code.clone();
            let content = code.reconciler.content;
            code.reconciler.content = content.with_source(source::source(pictured), table);
            code
        };
        let first = usize::try_from(self.sim.below(3)).unwrap_or(0);
        for function in 0..self.functions.len() {
            let pause = Duration::from_secs(self.sim.below(DEPLOYING));
            self.sim.sleep(pause).await;
            let function = &self.functions[(first + function) % self.functions.len()];
            let code = mapped(&deployed(function), Arc::clone(&of_functions));
            *function.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(code);
        }
        self.operator = mapped(&self.operator, of_operator);
        true
    }

    /// Returns the public view of the sites.
    #[must_use]
    pub fn public(&self) -> SimPublic {
        let faults = Faults::new(self.sim.clone(), 0.0);
        let objects = SimObjects::new(self.objects.clone(), faults);
        SimPublic::new(&self.sim, Arc::new(objects))
    }

    /// Returns the tables as the functions use them, the content's first, and the bucket.
    #[cfg(test)]
    pub(crate) fn ports(&self) -> ([Arc<dyn Table>; 2], Arc<dyn Objects>) {
        let tables = [(&self.content, 0), (&self.sitemap, 1)];
        let tables = tables.map(|(table, number)| -> Arc<dyn Table> {
            let (faults, throughput) = (self.faults.clone(), self.throughput[number].clone());
            Arc::new(SimTable::new(table.clone(), faults, throughput))
        });
        (tables, Arc::new(self.bucket.clone()))
    }

    /// Returns the actual tables and bucket, whose calls take no time.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> ([MemoryTable; 2], MemoryObjects) {
        let tables = [self.content.clone(), self.sitemap.clone()];
        (tables, self.objects.clone())
    }

    /// Replaces the functions' code and the operator's.
    #[cfg(test)]
    pub(crate) fn replace(&mut self, functions: Regenerator, operator: Regenerator) {
        let functions = Arc::new(functions);
        for function in &self.functions {
            *function.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&functions);
        }
        self.operator = operator;
    }

    /// Returns the operator's code.
    #[cfg(test)]
    pub(crate) fn operator(&self) -> &Regenerator {
        &self.operator
    }

    /// Returns whether every event is handled and no scan is running.
    #[cfg(test)]
    pub(crate) fn is_ingested(&self) -> bool {
        self.streams[0].waiting() == 0
    }

    pub(crate) async fn is_handled(&self) -> bool {
        self.streams.iter().all(|stream| stream.waiting() == 0) && !self.is_scanning().await
    }

    /// Returns the endpoint where search engines are notified of changes.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// Returns the state of the last tries to notify search engines of a site's changes.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn pause(&self, site: &str) -> Result<Option<Pause>, String> {
        let pause = self.operator.reconciler.table.pause(site).await;
        pause.map_err(|error| error.to_string())
    }

    /// Returns the numbers of throttled calls of tables and of functions.
    #[must_use]
    pub fn throttled(&self) -> [u64; 2] {
        let tables = self.throughput.iter().map(Throughput::throttled);
        [tables.sum(), self.invoker.runs().throttled]
    }

    /// Returns the counts of the functions' runs, and the longest since the last call.
    #[must_use]
    pub fn runs(&self) -> Runs {
        self.invoker.runs()
    }

    /// Returns the running scan of all content, and the scans of sites, from their rows.
    ///
    /// # Errors
    ///
    /// If a row cannot be read.
    pub async fn scans(&self) -> Result<(Option<ContentScan>, BTreeMap<String, SiteScan>), String> {
        let table = &self.operator.reconciler.table;
        let text = |error: EngineError| error.to_string();
        let content = table.content_scan().await.map_err(text)?;
        let sites = table.site_scans(None, MOST_SITES).await.map_err(text)?;
        let sites = sites.into_iter();
        let sites = sites.map(|(host, scan)| Ok((host, scan.map_err(text)?)));
        let sites = sites.collect::<Result<_, String>>()?;
        Ok((content.filter(ContentScan::is_active), sites))
    }

    /// Returns the render version in which a site is published.
    pub async fn render_version(&self, host: &str) -> Option<u32> {
        let row = self.operator.reconciler.table.site(host).await;
        row.expect("the operator's own calls").map(|row| row.render)
    }

    /// Returns the file that lists a record's page. Returns `None` if no file does.
    pub async fn sitemap_of(&self, id: &str) -> Option<String> {
        let ledger = self
            .operator
            .reconciler
            .table
            .ledger(&keys::page(id, 1))
            .await;
        let ledger = ledger.expect("the operator's own calls")?;
        let placed = ledger.placed.into_iter().next()?;
        let (series, n) = (placed.series, placed.slot.n);
        Some(keys::ShardId { series, n }.object().file_name())
    }

    /// Returns the number of feeds that the next sweeps publish.
    async fn waiting_feeds(&self) -> usize {
        let marks = self.operator.reconciler.table.marks(Mark::Feed).await;
        marks.expect("the operator's own calls").len()
    }

    async fn is_scanning(&self) -> bool {
        let table = &self.operator.reconciler.table;
        table.is_scanning().await.expect("the operator's own calls")
    }

    /// Returns the number of records that were given up.
    #[must_use]
    pub fn given_up(&self) -> usize {
        self.streams.iter().map(Stream::failures).sum()
    }

    /// Returns the consumed write and read units so far, of the content and of the sitemap table.
    #[must_use]
    pub fn units(&self) -> [[u64; 2]; 2] {
        [0, 1].map(|table| self.throughput[table].taken())
    }

    /// Returns the number of the functions' successful puts so far, and of those that lost to another.
    #[must_use]
    pub fn puts(&self) -> [u64; 2] {
        self.bucket.puts()
    }

    /// Returns the functions' usage of AWS so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let units = self.units();
        let [puts, reads] = self.bucket.requests();
        Usage {
            written: units.iter().map(|[written, _]| written).sum(),
            read: units.iter().map(|[_, read]| read).sum(),
            puts,
            gets: reads,
        }
    }

    /// Returns the objects in the bucket, as they are stored.
    #[must_use]
    pub fn bucket(&self) -> MemoryObjects {
        self.objects.clone()
    }

    /// Returns the id of the record with this name.
    #[must_use]
    pub fn id(&self, name: &str) -> String {
        let id = source::id(name).filter(|_| self.source.is_some());
        id.unwrap_or_else(|| name.to_owned())
    }

    /// Writes a record.
    pub async fn put(&self, record: &Json) {
        let id = record["id"].as_str().unwrap_or_default();
        if let Some((source, key)) = self.source.as_ref().zip(source::key(id)) {
            let put = source.put(item(&source::item(&key, record)), None);
            return put.await.expect("an item that the table takes");
        }
        let put = self.content.put(item(record), None);
        put.await.expect("a record that the table takes");
    }

    /// Grows the sitemap table to this number of write units per second.
    pub(crate) fn grow_to(&self, units: u64) {
        self.throughput[1].grow_to(Kind::Write, units);
    }

    /// Deletes a record.
    pub async fn delete(&self, id: &str) {
        if let Some((source, key)) = self.source.as_ref().zip(source::key(id)) {
            let delete = source.delete(item(&key), None);
            return delete.await.expect("a delete");
        }
        let delete = self.content.delete(Item::new().with("id", id), None);
        delete.await.expect("a delete");
    }

    /// Returns the rows of the sitemap table, as they are stored.
    pub async fn items(&self) -> Vec<Item> {
        self.items_that(|_| true).await
    }

    /// Returns the wanted rows. All rows of a large site would take the same memory again.
    pub async fn items_that(&self, is_wanted: impl Fn(&Item) -> bool) -> Vec<Item> {
        items_that(&self.sitemap, is_wanted).await
    }

    /// Returns the rows of the sitemap table, with their attributes as texts.
    pub async fn rows(&self) -> Rows {
        let items = self.items().await;
        let rows = items.iter().map(|item| {
            let row = row(item);
            ((row["pk"].clone(), row["sk"].clone()), row)
        });
        Rows(rows.collect())
    }

    /// Returns the objects in the bucket.
    pub async fn published(&self) -> Published {
        let mut published = BTreeMap::new();
        for host in SITES {
            for key in self.objects.list(host).await.expect("a listing") {
                if let Some(object) = self.objects.get(&key).await.expect("an object") {
                    published.insert(key, object);
                }
            }
        }
        published
    }

    /// Deletes a row, to simulate a loss.
    pub async fn lose_row(&self, pk: &str, sk: &str) {
        self.watch_nothing();
        self.delete_row(pk, sk).await;
        self.forget_writes();
    }

    async fn delete_row(&self, pk: &str, sk: &str) {
        let key = Item::new().with("pk", pk).with("sk", sk);
        self.sitemap.delete(key, None).await.expect("a delete");
    }

    /// Deletes expired rows as DynamoDB does, each up to two days after its time.
    pub async fn expire(&self) {
        for item in self.items().await {
            let Some(expires) = item.number::<i64>(EXPIRES) else {
                continue;
            };
            let [pk, sk] = ["pk", "sk"].map(|name| item.text(name).unwrap_or_default());
            let drawn = keys::sha256_hex(&format!("{pk} {sk}"));
            let drawn = i64::from_str_radix(&drawn[..12], 16).expect("48 bits");
            if expires + drawn % MOST_TTL_DELAY <= self.sim.now() {
                self.delete_row(pk, sk).await;
            }
        }
    }

    /// Writes a row, to simulate damage.
    pub async fn damage_row(&self, item: Item) {
        self.watch_nothing();
        self.sitemap.put(item, None).await.expect("a put");
        self.forget_writes();
    }

    /// Replaces an object, to simulate damage.
    pub fn damage_object(&self, key: &ObjectKey, body: &[u8], document: Option<Document>) {
        let body = Bytes::copy_from_slice(body);
        self.watch_nothing();
        self.objects.damage(key, body, document);
    }

    /// Loses an object or half of it. Or replaces it by a sitemap that a faulty release could have made: complete, with the same
    /// stamps and counts, but with other addresses in its first segment or in another frame.
    pub async fn lose_object(&self, key: &ObjectKey, how: usize) {
        let found = self.objects.get(key).await.expect("an object");
        let Some((meta, bytes)) = found.filter(|(_, bytes)| !bytes.is_empty()) else {
            return;
        };
        let site = self.operator.reconciler.table.site(key.site()).await;
        let settings = site.ok().flatten().map(|row| row.settings);
        let sitemap = match (key, settings, Member::parse(&bytes)) {
            (ObjectKey::Shard { series, .. }, Some(settings), Ok(member)) => {
                Some((member, shard_frame(&settings, series)))
            }
            _ => None,
        };
        match (how % 4, sitemap, meta.document) {
            (1, ..) => self.damage_object(key, &bytes[..bytes.len() / 2], None),
            (how @ 2..=3, Some((member, frame)), Some(document)) => {
                let built = if how == 2 {
                    with_other_addresses(&member, &frame)
                } else {
                    splice(
                        &member,
                        &Frame::urlset(Some(NO_STYLESHEET)),
                        &BTreeMap::new(),
                    )
                };
                let document = Document {
                    digest: built.directory.digest(),
                    bytes: built.directory.document_bytes(),
                    entries: built.directory.entries(),
                    ..document
                };
                self.damage_object(key, &built.bytes, Some(document));
            }
            _ => {
                self.watch_nothing();
                let _was_there = self.objects.lose(key);
            }
        }
    }

    /// Stops checking most of the functions' writes, because something is lost.
    fn watch_nothing(&self) {
        if let Some(watch) = &self.watch {
            watch.set_blind(true);
        }
    }

    /// Drops the latest noted writes, because the functions did not make them.
    fn forget_writes(&self) {
        if let Some(watch) = &self.watch {
            watch.forget();
        }
    }

    /// Checks the functions' writes again, because all losses are repaired.
    pub fn watch_all(&self) {
        if let Some(watch) = &self.watch {
            watch.set_blind(false);
        }
    }

    /// Notes the settings that a site's row should have from now on. They are `None` if they depend on its earlier ones.
    pub fn site_says(&self, site: usize, settings: Option<&SiteSettings>) {
        if let Some(watch) = &self.watch {
            let text = settings.map(|settings| serde_json::to_string(settings).expect("JSON"));
            watch.site_says(site, text);
        }
    }

    /// Drops the sitemap table together with its stream, and creates a new one, which no earlier run reaches.
    pub fn drop_sitemap_table(&self) {
        self.invoker.end_all();
        self.faults.replace();
        self.sitemap.clear();
        self.streams[1].clear();
    }

    /// Waits until the clock has just called `sweep`, if the functions run.
    pub async fn next_sweep(&self) {
        let Some(begun) = self.begun else { return };
        let since = (self.sim.elapsed() - begun).as_micros() % TEMPLATE.sweep_period.as_micros();
        let since = Duration::from_micros(u64::try_from(since).unwrap_or(0));
        self.sim.sleep(TEMPLATE.sweep_period - since).await;
    }

    /// Waits until nothing is left to do. Returns at once if the functions do not run.
    ///
    /// # Errors
    ///
    /// The remaining work, after a day.
    pub async fn settle(&self) -> Result<(), String> {
        let limit = self.sim.elapsed() + SETTLES;
        if self.begun.is_none() {
            return Ok(());
        }
        loop {
            let [changes, rows, items] = self.streams.each_ref().map(Stream::waiting);
            let changes = changes + items;
            let feeds = self.waiting_feeds().await;
            let is_done = changes + rows + feeds == 0 && !self.is_scanning().await;
            if is_done && !self.redrive().await {
                return Ok(());
            }
            if self.sim.elapsed() > limit {
                let scans = self.scans().await;
                return Err(format!(
                    "not at rest after {SETTLES:?}: {changes} records, {rows} rows and {feeds} feeds are not handled, the scans are {scans:?}"
                ));
            }
            self.sim.sleep(LOOK_EVERY).await;
        }
    }

    /// Replays the records that were given up, as an operator does. Returns whether there were any.
    async fn redrive(&self) -> bool {
        let [mut changes, rows, items] = self.streams.each_ref().map(Stream::take_failures);
        changes.extend(items);
        let is_any = !changes.is_empty() || !rows.is_empty();
        let ingested = engine::ingest::ingest(&self.operator.reconciler, &changes).await;
        let regenerated = self.operator.regenerate(&rows).await;
        assert_eq!((ingested, regenerated), (Handled::All, Handled::All));
        is_any
    }

    /// Sweeps as the clock's next call would, without faults.
    ///
    /// # Errors
    ///
    /// If the sweep fails.
    pub async fn sweep(&self) -> Result<(), String> {
        let Regenerator {
            reconciler,
            objects,
            ..
        } = &self.operator;
        let engines = self
            .endpoint()
            .map(|endpoint| endpoint as &dyn SearchEngines);
        // The clock's own sweeps may be running, or have died, also several of them.
        for _ in 0..=SWEEPS_WAITED_FOR * TURN_SECONDS {
            let audits = self.deployment.audit_times();
            let swept = sweep(reconciler, &**objects, audits, engines).await;
            if swept.map_err(|error| format!("a sweep: {error}"))? {
                return Ok(());
            }
            self.sim.sleep(Duration::from_secs(1)).await;
        }
        Err(format!(
            "{SWEEPS_WAITED_FOR} other sweeps, one after the other, were under way"
        ))
    }

    /// Waits until no sweep of the clock is running, including those that are thought dead.
    ///
    /// # Errors
    ///
    /// If there is always one.
    pub async fn sweeps_end(&self) -> Result<(), String> {
        for _ in 0..SWEEPS_WAITED_FOR * TURN_SECONDS * 10 {
            // This world's own reference, and the clock's.
            if Arc::strong_count(&self.sweeps) <= 2 {
                return Ok(());
            }
            self.sim.sleep(Duration::from_millis(100)).await;
        }
        Err("sweeps of the clock's run all the time".to_owned())
    }

    /// Returns the progress of the clock's audit.
    pub async fn clocks_audit(&self) -> Option<AuditProgress> {
        let audit = self.operator.reconciler.table.audit().await;
        audit.expect("the operator's own calls")
    }

    /// Audits everything, and returns the findings. Without `repair`, harmless ones are omitted. Returns `None` if a scan is
    /// running.
    ///
    /// # Errors
    ///
    /// If it fails.
    pub async fn audit(&self, repair: bool) -> Result<Option<Vec<Finding>>, String> {
        self.audit_from(beginning(self.sim.now()), repair).await
    }

    /// Audits as the clock does, only suspected rows. Without `repair`, each page is a slice of its own. The clock's audit must
    /// not be running then, because it would continue the slices.
    ///
    /// # Errors
    ///
    /// If it fails.
    pub async fn daily_audit(&self, repair: bool) -> Result<Option<Vec<Finding>>, String> {
        self.audit_from(daily(self.sim.now()), repair).await
    }

    async fn audit_from(
        &self,
        mut progress: AuditProgress,
        repair: bool,
    ) -> Result<Option<Vec<Finding>>, String> {
        let text = |error: EngineError| format!("the audit: {error}");
        let Regenerator {
            reconciler,
            objects,
            ..
        } = &self.operator;
        if self.is_scanning().await {
            return Ok(None);
        }
        let audit = Audit {
            reconciler,
            objects: &**objects,
            repair,
            second_look: self.deployment.audit_times().second_look,
        };
        let in_slices = progress.step == Some(AuditStep::Sums) && !repair;
        let mut findings = Vec::new();
        while progress.step.is_some() {
            let page = audit.page(&mut progress).await;
            findings.extend(page.map_err(text)?);
            if in_slices {
                audit.save(&progress).await.map_err(text)?;
                let saved = reconciler.table.audit().await.map_err(text)?;
                progress = saved.ok_or("the audit's progress cannot be read")?;
            }
        }
        // A repair leaves nothing, not even harmless problems.
        findings.retain(|finding| repair || !finding.problem.is_harmless());
        Ok(Some(findings))
    }
}

/// Returns the code of a function's next run.
fn deployed(function: &Mutex<Arc<Regenerator>>) -> Arc<Regenerator> {
    Arc::clone(&function.lock().unwrap_or_else(PoisonError::into_inner))
}

fn regenerator(
    content: Arc<dyn Table>,
    sitemap: Arc<dyn Table>,
    source: Option<Arc<dyn Table>>,
    objects: Arc<dyn Objects>,
    limits: IndexLimits,
    env: &Env,
) -> Regenerator {
    let known = SITES[..KNOWN].iter().map(|site| (*site).to_owned());
    let content = Content::new(content, env.clone());
    let content = match source {
        Some(table) => content.with_source(source::source(true), table),
        None => content,
    };
    Regenerator {
        reconciler: Reconciler {
            content,
            table: SitemapTable::new(sitemap, env.clone()),
            known: KnownSites::Only(known.collect()),
            env: env.clone(),
            metrics: Metrics::default(),
        },
        objects,
        limits,
    }
}

/// Returns a row's attributes as texts.
fn row(item: &Item) -> Row {
    let attributes = item.iter();
    attributes
        .map(|(name, value)| {
            let text = match value {
                Value::Text(text) | Value::Number(text) => text.clone(),
                other => format!("{other:?}"),
            };
            (name.to_string(), text)
        })
        .collect()
}

async fn items_that(table: &MemoryTable, is_wanted: impl Fn(&Item) -> bool) -> Vec<Item> {
    let (mut items, mut after) = (Vec::new(), None);
    loop {
        let scan = Scan {
            after,
            ..Scan::default()
        };
        let page = table.scan(scan).await.expect("a scan");
        items.extend(page.items.into_iter().filter(&is_wanted));
        after = page.next;
        if after.is_none() {
            return items;
        }
    }
}

/// Returns a record as an item.
pub(crate) fn item(record: &Json) -> Item {
    let fields = record.as_object().expect("records are objects");
    let fields = fields.iter();
    fields
        .map(|(name, field)| {
            // A known name takes no memory.
            let known = FIELDS.iter().find(|known| known.name == name);
            let name = known.map_or_else(|| name.clone().into(), |known| known.name.into());
            (name, value(field))
        })
        .collect()
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::number(number),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(values) => Value::List(values.iter().map(value).collect()),
        Json::Object(fields) => {
            let fields = fields.iter();
            Value::Map(
                fields
                    .map(|(name, field)| (name.clone(), value(field)))
                    .collect(),
            )
        }
    }
}

/// Returns a sitemap with the stamps and counts of this one, whose first segment has other addresses.
fn with_other_addresses(sitemap: &Member<'_>, frame: &Frame) -> Built {
    let first = sitemap.directory().segments.first();
    let xml = sitemap.inflated(Part::Segment(0)).unwrap_or_default();
    let xml = String::from_utf8_lossy(&xml);
    let xml = xml.replace("<loc>https", "<loc>httpx");
    let other = first.map(|info| Segment {
        stamp: info.stamp,
        entries: info.entries,
        newest: info.newest,
        xml: xml.as_bytes(),
    });
    splice(sitemap, frame, &(0..).zip(other).collect())
}

/// Returns a digest of rows and objects.
#[must_use]
pub fn digest(rows: &Rows, published: &Published) -> u64 {
    let mut digest = 0;
    let mut note = |text: &str| {
        digest = text
            .bytes()
            .fold(digest, |digest, byte| mix(digest ^ u64::from(byte)));
    };
    for row in rows.0.values() {
        for (name, value) in row {
            note(name);
            note(value);
        }
    }
    for (key, (meta, _)) in published {
        note(&key.path());
        note(&meta.etag);
    }
    digest
}
