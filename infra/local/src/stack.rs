//! The stack: the embedded servers, the functions behind their event sources, the sweep, and the sites over HTTP.
//!
//! [`Stack::start`] starts the servers and creates tables and bucket. Then content is loaded. [`Stack::run`] starts the
//! functions. So a first load takes one pass over the content, because no record is reconciled before the scan begins. In an empty
//! stack, a caller that has placed all content itself may [import](Stack::import) the tables' contents instead.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use aws::environment::{content, sitemap_table};
use aws::{Aws, S3Objects};
use aws_sdk_dynamodb::config::SharedInterceptor;
use engine::content::SourceTable;
use engine::error::EngineError;
use engine::metrics::Metrics;
use engine::reconcile::Reconciler;
use engine::regenerate::Regenerator;
use engine::sweep::notices::SearchEngines;
use engine::sweep::{AuditTimes, sweep};
use futures::FutureExt;
use objects::{Objects, all_sites};
use tokio::task::JoinHandle;

use crate::dynamodb::DynamoDb;
use crate::dynamodb::client;
use crate::dynamodb::expiry::{expire, expire_for_ever};
use crate::dynamodb::idempotency::without_tokens;
use crate::event_source::{
    EventSource, FailureQueue, Filter, Handler, Mapping, Progress, QUIET, Watch,
};
use crate::invocation::{INGEST, REGENERATE, SWEEP, invoke};
use crate::loopback::Server;
use crate::s3::S3;
use crate::tables::{self, BUCKET, CONTENT_TABLE, SITEMAP_TABLE};

mod error;
mod folder;
mod front;
mod import;
mod options;

pub use error::StackError;
pub use front::local_address;
pub use import::Import;
pub use options::Options;

use front::Hosts;
use front::serve_sites;

/// The name of the event source of the user's table, which calls [`INGEST`].
const INGEST_SOURCE: &str = "ingest of the user's table";
/// The period of the sweep, which is a minute on AWS.
const SWEEP_PERIOD: Duration = Duration::from_secs(1);
/// The same if no function has had an event for [`QUIET`]. Timers may then be late by this time.
const QUIET_SWEEP_PERIOD: Duration = Duration::from_secs(5);
/// The times of audits. The second check follows soon, because events are handled at once here.
pub const AUDIT_TIMES: AuditTimes = AuditTimes {
    period: AuditTimes::DAILY,
    second_look: Duration::from_millis(500),
};
/// The most stream records of one invocation.
const BATCH: usize = 500;
/// The time for which a batch waits to fill.
const WINDOW: Duration = Duration::from_millis(50);
/// The functions' time limit, which is that of `regenerate` in `template.yaml`.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The time limit of a sweep in `template.yaml`.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(60);
/// The most scans of sites that are named in a message about waiting.
const SCANS_SHOWN: u32 = 10;

/// The running functions.
struct Running {
    ingest: EventSource,
    /// The event source of the user's table. `None` if there is none.
    ingest_source: Option<EventSource>,
    regenerate: EventSource,
    sweep: JoinHandle<()>,
    /// DynamoDB's deletion of expired rows.
    expiry: JoinHandle<()>,
}

impl Running {
    /// Returns the event sources of content.
    fn ingests(&self) -> impl Iterator<Item = &EventSource> + Clone {
        std::iter::once(&self.ingest).chain(&self.ingest_source)
    }

    fn sources(&self) -> impl Iterator<Item = &EventSource> {
        self.ingests().chain([&self.regenerate])
    }
}

/// A stack.
pub struct Stack {
    /// The clients.
    pub aws: Aws,
    /// Both tables.
    pub reconciler: Reconciler,
    /// The bucket.
    pub objects: Arc<dyn Objects>,
    /// Stream batches that were given up.
    pub failed: FailureQueue,
    /// DynamoDB's endpoint.
    pub dynamodb_endpoint: String,
    /// S3's endpoint.
    pub s3_endpoint: String,
    /// The sites' endpoint.
    pub site_endpoint: String,
    /// S3, for its counts.
    pub s3: S3,
    /// Whether an earlier first load in the folder was cut short, so that its sitemaps begin anew.
    pub was_cut: bool,
    /// Both tables and the bucket as the functions use them, through the interceptor.
    functions: (Reconciler, Arc<dyn Objects>),
    dynamodb: DynamoDb,
    options: Options,
    server: Server,
    hosts: Hosts,
    reading: Reading,
    running: Option<Running>,
    /// The folder, which is released together with the stack.
    _folder: folder::Held,
}

/// Reads the progress of the content's streams, once the functions run.
pub type Reading = Arc<OnceLock<Vec<Watch>>>;

impl Stack {
    /// Starts the servers, and creates tables and bucket.
    ///
    /// # Errors
    ///
    /// If a port is in use or the folder cannot be used.
    pub async fn start(options: Options) -> Result<Self, StackError> {
        let (folder, held) = folder::at(options.data.as_deref())?;
        let dynamodb = DynamoDb::start(options.dynamodb_port, &folder)?;
        let s3 = S3::start(
            options.s3_port,
            options.data.is_some().then_some(folder.as_path()),
        )?;
        let plain = Aws::on_loopback(&dynamodb.endpoint, &s3.endpoint, Vec::new());
        let http = client::client(&plain, &dynamodb.calls).await;
        let clients = |interceptors: [Option<SharedInterceptor>; 2]| {
            let interceptors = std::iter::once(without_tokens())
                .chain(interceptors.into_iter().flatten())
                .collect();
            Aws::on_loopback(&dynamodb.endpoint, &s3.endpoint, interceptors)
                .with_dynamodb_http(http.clone())
        };
        let aws = clients([None, None]);
        tables::create(&aws).await?;
        let was_cut = import::clear_up(&aws, &folder).await?;
        if let Some(source) = &options.source {
            tables::create_source(&aws, source).await?;
        }
        let env = options.clock.env();
        let ports = |aws: &Aws, metrics| -> (Reconciler, Arc<dyn Objects>) {
            let reconciler = Reconciler {
                content: content(aws, CONTENT_TABLE.to_owned(), options.source.clone(), &env),
                table: sitemap_table(aws, SITEMAP_TABLE.to_owned(), &env),
                known: options.known.clone(),
                env: env.clone(),
                metrics,
            };
            let objects = S3Objects::new(aws.clone(), BUCKET.to_owned());
            (reconciler, Arc::new(objects))
        };
        let (reconciler, objects) = ports(&aws, Metrics::default());
        let observed = options.observer.as_ref().map(|seen| seen.interceptor());
        let functions = clients([options.interceptor.clone(), observed.clone()]);
        let functions = ports(&functions, options.metrics.clone());
        let (_, published) = ports(&clients([None, observed]), Metrics::default());
        let hosts = Hosts::default();
        let server = serve_sites(&options, published, hosts.clone())?;
        Ok(Self {
            reconciler,
            objects,
            functions,
            failed: FailureQueue::default(),
            dynamodb_endpoint: dynamodb.endpoint.clone(),
            s3_endpoint: s3.endpoint.clone(),
            site_endpoint: format!("http://{}", server.address),
            aws,
            s3,
            was_cut,
            dynamodb,
            options,
            server,
            hosts,
            reading: Reading::default(),
            running: None,
            _folder: held,
        })
    }

    /// Starts the functions.
    ///
    /// # Errors
    ///
    /// If the bucket fails.
    pub async fn run(&mut self) -> Result<(), StackError> {
        let (reconciler, objects) = self.functions.clone();
        let ingesting = reconciler.clone();
        let observer = self.options.observer.clone();
        let handler: Handler = Arc::new(move |event| {
            let (reconciler, observer) = (ingesting.clone(), observer.clone());
            let running = async move { Ok(ingest::ingest(&reconciler, &event).await) };
            invoke(INGEST, observer, running).boxed()
        });
        let all: Filter = Arc::new(|_| true);
        let ingest = self.source(INGEST, (CONTENT_TABLE, "id"), all.clone(), handler.clone());
        let ingest_source = self.options.source.as_ref().map(|source| {
            let partition_key = &source.mapping().key()[0].name;
            self.source(INGEST_SOURCE, (source.name(), partition_key), all, handler)
        });
        let ingests = std::iter::once(&ingest).chain(&ingest_source);
        self.reading
            .get_or_init(|| ingests.map(EventSource::watch).collect());
        // The scan begins with the first event of the sitemap table's stream. Until the content's streams are read, `ingest`
        // leaves the records of a first load to it.
        for ingest in std::iter::once(&ingest).chain(&ingest_source) {
            ingest.caught_up().await?;
        }
        let regenerator = Regenerator {
            reconciler: reconciler.clone(),
            objects: objects.clone(),
            limits: self.options.index_limits,
        };
        let filter = Arc::new(|record: &_| {
            engine::regenerate::subject(&aws::stream::record(record)).is_some()
        });
        let observer = self.options.observer.clone();
        let regenerate = self.source(
            REGENERATE,
            (SITEMAP_TABLE, "pk"),
            filter,
            Arc::new(move |event| {
                let (regenerator, observer) = (regenerator.clone(), observer.clone());
                let running = async move { Ok(regenerate::regenerate(&regenerator, &event).await) };
                invoke(REGENERATE, observer, running).boxed()
            }),
        );
        let (hosts, options) = (self.hosts.clone(), self.options.clone());
        let sources = [&ingest, &regenerate].into_iter().chain(&ingest_source);
        let sweep = tokio::spawn(sweep_for_ever(
            (reconciler, objects),
            self.objects.clone(),
            hosts,
            sources.map(EventSource::watch).collect(),
            options,
        ));
        let expiry = expire_for_ever(
            self.dynamodb.calls.clone(),
            self.options.clock.clone(),
            self.options.expiry,
        );
        self.running = Some(Running {
            ingest,
            ingest_source,
            regenerate,
            sweep,
            expiry: tokio::spawn(expiry),
        });
        Ok(())
    }

    fn source(
        &self,
        name: &str,
        (table, partition_key): (&str, &str),
        filter: Filter,
        handler: Handler,
    ) -> EventSource {
        let mapping = Mapping {
            name: name.to_owned(),
            table: table.to_owned(),
            batch_size: BATCH,
            window: WINDOW,
            filter,
            retries: self.options.retries,
            bisect: true,
            timeout: TIMEOUT,
            stream_shards: self.options.stream_shards,
            partition_key: partition_key.to_owned(),
            parallel: self.options.parallel,
        };
        EventSource::start(
            &self.dynamodb,
            mapping,
            handler,
            self.options.faults.clone(),
            self.failed.clone(),
        )
    }

    /// Waits until every event is handled, nothing is left to scan and no site is on hold. It does not wait for future timers. It
    /// waits for events that keep failing, and never returns if they are never given up. So the caller sets a limit, and
    /// [`Stack::waits_for`] describes what was missing.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or a part of the stack has panicked.
    pub async fn settled(&self) -> Result<(), StackError> {
        let Some(running) = &self.running else {
            return Ok(());
        };
        let progress =
            || -> Vec<Progress> { running.sources().map(EventSource::progress).collect() };
        let ingests = running.ingests();
        loop {
            if running.sweep.is_finished() {
                return Err(StackError::Panicked {
                    part: "the sweep",
                    reason: "its task has ended".to_owned(),
                });
            }
            let before = progress();
            // All sources have polled once more, one after the other, and none has found anything that another may have written.
            for source in ingests
                .clone()
                .chain([&running.regenerate])
                .chain(ingests.clone())
            {
                source.caught_up().await?;
            }
            if before == progress() && !self.reconciler.table.is_scanning().await? {
                return self.refresh_hosts().await;
            }
        }
    }

    /// Describes what [`Stack::settled`] is waiting for.
    pub async fn waits_for(&self) -> String {
        let Some(running) = &self.running else {
            return "nothing: the functions do not run".to_owned();
        };
        let table = &self.reconciler.table;
        let content = table.content_scan().await;
        let sites = table.site_scans(None, SCANS_SHOWN).await;
        let scan = format!("the scan of all content is {content:?}, those of sites are {sites:?}");
        let sources = running.sources().map(EventSource::waits_for);
        sources.chain([scan]).collect::<Vec<_>>().join("; ")
    }

    /// Checks that no function has panicked. The local stack retries after a panic, as Lambda does, but a test must not.
    ///
    /// # Errors
    ///
    /// The message of the first panic.
    pub fn check_panics(&self) -> Result<(), StackError> {
        let mut panicked = self
            .running
            .iter()
            .flat_map(Running::sources)
            .filter_map(EventSource::panicked);
        panicked.next().map_or(Ok(()), |reason| {
            Err(StackError::Panicked {
                part: "a function",
                reason: reason.to_owned(),
            })
        })
    }

    /// Delivers every batch that was given up to its function again, as an operator does from the failure bucket. Returns the
    /// number of batches. A batch that fails again is given up again.
    pub async fn redrive(&self) -> usize {
        let Some(running) = &self.running else {
            return 0;
        };
        let batches = self.failed.drain();
        let count = batches.len();
        for batch in batches {
            let source = match (batch.function.as_str(), &running.ingest_source) {
                (INGEST, _) => &running.ingest,
                (INGEST_SOURCE, Some(ingest)) => ingest,
                _ => &running.regenerate,
            };
            source.redeliver(batch.event).await;
        }
        count
    }

    /// Deletes the expired rows that are due now, as DynamoDB does in its own time.
    ///
    /// # Errors
    ///
    /// If DynamoDB fails.
    pub async fn expire(&self) -> Result<(), EngineError> {
        let Options { clock, expiry, .. } = &self.options;
        let expired = expire(&self.dynamodb.calls, clock, *expiry).await;
        expired.map_err(|message| EngineError::Service {
            operation: "time to live",
            message,
        })
    }

    /// Returns a reader of the content streams' progress.
    #[must_use]
    pub fn reading(&self) -> Reading {
        self.reading.clone()
    }

    /// Returns the number of records in the content's tables, settings included.
    ///
    /// # Errors
    ///
    /// If a table cannot be described.
    pub async fn count_records(&self) -> Result<u64, EngineError> {
        let source = self.options.source.as_ref().map(SourceTable::name);
        let mut records = 0;
        for table in std::iter::once(CONTENT_TABLE).chain(source) {
            records += tables::count(&self.aws, table).await?;
        }
        Ok(records)
    }

    /// Returns the port of the sites.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.address.port()
    }

    /// Returns the hosts of the published sites, in order.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.hosts
            .read()
            .map(|hosts| hosts.clone())
            .unwrap_or_default()
    }

    async fn refresh_hosts(&self) -> Result<(), StackError> {
        let hosts = all_sites(&*self.objects).await.map_err(EngineError::from)?;
        remember(&self.hosts, hosts);
        Ok(())
    }

    /// Stops everything, the functions first.
    ///
    /// # Errors
    ///
    /// If DynamoDB has failed.
    pub async fn stop(self) -> Result<(), StackError> {
        if let Some(running) = self.running {
            running.sweep.abort();
            running.expiry.abort();
            running.ingest.stop().await;
            if let Some(ingest) = running.ingest_source {
                ingest.stop().await;
            }
            running.regenerate.stop().await;
        }
        self.server.stop().await;
        self.s3.stop().await;
        self.dynamodb.stop().await?;
        Ok(())
    }
}

async fn sweep_for_ever(
    (reconciler, objects): (Reconciler, Arc<dyn Objects>),
    own: Arc<dyn Objects>,
    hosts: Hosts,
    sources: Vec<Watch>,
    options: Options,
) {
    if !options.sweeps {
        return std::future::pending().await;
    }
    let (mut before, mut moved) = (Vec::new(), Instant::now());
    loop {
        let progress: Vec<_> = sources.iter().map(|progress| progress()).collect();
        if progress != before {
            (before, moved) = (progress, Instant::now());
        }
        let is_quiet = moved.elapsed() > QUIET;
        let period = if is_quiet {
            QUIET_SWEEP_PERIOD
        } else {
            SWEEP_PERIOD
        };
        tokio::time::sleep(period).await;
        // This is not a call of the function.
        match all_sites(&*own).await {
            Ok(published) => remember(&hosts, published),
            Err(error) => tracing::error!(%error, "the sites were not listed"),
        }
        let swept = async {
            let engines = options.indexnow.as_ref();
            let engines = engines.map(|endpoint| endpoint as &dyn SearchEngines);
            sweep(&reconciler, &*objects, AUDIT_TIMES, engines).await
        };
        let swept = invoke(SWEEP, options.observer.clone(), swept);
        match tokio::time::timeout(SWEEP_TIMEOUT, swept).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::error!(%error, "a sweep failed"),
            Err(_) => tracing::error!("a sweep was stopped at its time limit of {SWEEP_TIMEOUT:?}"),
        }
    }
}

fn remember(hosts: &Hosts, published: Vec<String>) {
    if let Ok(mut hosts) = hosts.write() {
        *hosts = published;
    }
}
