//! `waymark`: the local stack, in one command.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use local::audit::Ended;
use local::content::{LineProblem, LoadError, Source, load};
use local::explain;
use local::mapping::{self, ItemError};
use local::redrive::Outcome;
use local::report::Report;
use local::sample::sample;
use local::stack::{Options, Stack, StackError};
use local::tables::CONTENT_TABLE;
use local::target::{Misread, TIMEOUTS, Target};
use sitemap::mapping::{MappingError, MappingProblem};
use store::aws::Aws;
use store::clock::Clock;
use store::content::{Content, SourceTable};
use store::deployment;
use store::error::StoreError;
use sweep::audit::Finding;
use sweep::notices::Endpoint;

/// Problems of content files that are shown; the rest is counted.
const MAX_PROBLEMS_SHOWN: usize = 50;

/// Longer than a change takes from its event to the bucket.
const AUDIT_PAUSE: Duration = Duration::from_secs(4);

#[derive(Parser)]
#[command(about = "Keeps a site's sitemaps true", version)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything on this machine: DynamoDB and S3 embedded, the functions, the sites over HTTP (the default)
    Serve(Serve),
    /// Hold every row and every object against what it was made from; status 1 if something is wrong
    Audit(AuditArgs),
    /// Tell why a page is listed, or why not
    Explain {
        /// Its address, or its record's id
        #[arg(value_name = "URL|ID")]
        what: String,
        #[command(flatten)]
        place: Place,
    },
    /// Tell the state of each site, and how far the background scan is
    Status(Place),
    /// Check a field mapping, for a table of your own, and print it as a parameter takes it; status 1 if it is malformed
    Mapping {
        /// The mapping, JSON
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Print what becomes of this item instead: JSON as `aws dynamodb get-item` prints it, or plain
        #[arg(long, value_name = "FILE")]
        item: Option<PathBuf>,
    },
    /// Hand what Lambda gave up, a deployment's failure bucket, to the same code again; status 1 if something is left
    Redrive {
        /// The deployment that the environment names (CONTENT_TABLE, SITEMAP_TABLE, BUCKET_NAME, SITES, SOURCE_TABLE,
        /// SOURCE_MAPPING, FAILURE_BUCKET, and AWS's own variables)
        #[arg(long, required = true)]
        deployment: bool,
    },
    /// Print the sample site's content, with its latest dates as of now
    Sample,
}

/// A table of the user's own whose items are content too.
#[derive(Args, Clone)]
struct SourceArgs {
    /// A table of your own in the local stack's DynamoDB, created if it does not exist, whose items are content too
    #[arg(long, value_name = "NAME", requires = "source_mapping")]
    source_table: Option<String>,
    /// Its field mapping: see docs/MAPPING.md
    #[arg(long, value_name = "FILE", requires = "source_table")]
    source_mapping: Option<PathBuf>,
}

impl SourceArgs {
    fn read(&self) -> Result<Option<SourceTable>, Failure> {
        let (Some(table), Some(file)) = (&self.source_table, &self.source_mapping) else {
            return Ok(None);
        };
        read_mapping(table, file).map(Some)
    }
}

fn read_mapping(table: &str, file: &Path) -> Result<SourceTable, Failure> {
    mapping::read(table, &read_file(file)?).map_err(|error| Failure::Mapping {
        file: file.to_owned(),
        error,
    })
}

fn read_file(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| Failure::File {
        file: file.to_owned(),
        error,
    })
}

#[derive(Args)]
struct AuditArgs {
    /// Make good what is found
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    place: Place,
}

/// Where to look.
#[derive(Args)]
struct Place {
    /// The deployment that the environment names (CONTENT_TABLE, SITEMAP_TABLE, BUCKET_NAME, SITES, SOURCE_TABLE,
    /// SOURCE_MAPPING, and AWS's own variables) in place of the local stack
    #[arg(long)]
    deployment: bool,
    #[command(flatten)]
    source: SourceArgs,
    /// Port of the local stack's DynamoDB
    #[arg(long, default_value_t = 8000)]
    dynamodb_port: u16,
    /// Port of the local stack's S3
    #[arg(long, default_value_t = 9000)]
    s3_port: u16,
}

#[derive(Args, Clone)]
struct Serve {
    /// Content to load, JSON Lines, plain or .gz; repeatable [default: a sample site, if there is no content yet and no
    /// table of your own]
    #[arg(long, value_name = "FILE")]
    content: Vec<PathBuf>,
    /// Port of the sites; 0 for any that is free
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Port of DynamoDB; 0 for any that is free
    #[arg(long, default_value_t = 8000)]
    dynamodb_port: u16,
    /// Port of S3; 0 for any that is free
    #[arg(long, default_value_t = 9000)]
    s3_port: u16,
    /// Keep state in this folder between runs [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Tell this endpoint of IndexNow what changes on sites that have a key: https, or a server of yours on 127.0.0.1
    /// [default: nobody is told]
    #[arg(long, value_name = "URL", value_parser = Endpoint::parse)]
    indexnow_endpoint: Option<Endpoint>,
    #[command(flatten)]
    source: SourceArgs,
    /// Print a summary and exit once everything is published; status 1 if a line of a content file was malformed
    #[arg(long)]
    once: bool,
}

/// Why `waymark` ends.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Environment(#[from] deployment::EnvironmentError),
    #[error("{}: {error}", file.display())]
    File { file: PathBuf, error: io::Error },
    #[error("{}:{}", file.display(), lines(error))]
    Mapping { file: PathBuf, error: MappingError },
    #[error(transparent)]
    Item(#[from] ItemError),
    #[error(transparent)]
    Misread(#[from] Misread),
    #[error("waiting for Ctrl-C: {0}")]
    Signal(io::Error),
}

/// Each problem of a mapping on a line of its own.
fn lines(error: &MappingError) -> String {
    let problems = error.problems().iter();
    let line = |problem: &MappingProblem| format!("\n  {}: {}", problem.place, problem.reason);
    problems.map(line).collect()
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| "warn,dynoxide=error".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    let cli = Cli::parse();
    let outcome = match cli.command {
        Some(Command::Audit(arguments)) => audit(&arguments).await,
        Some(Command::Explain { what, place }) => match place.readable().await {
            Ok(target) => print(explain::explain(&target, &what)).await,
            Err(failure) => Err(failure),
        },
        Some(Command::Status(place)) => match place.target() {
            Ok(target) => print(explain::status(&target)).await,
            Err(failure) => Err(failure),
        },
        Some(Command::Mapping { file, item }) => tell_mapping(&file, item.as_deref()),
        Some(Command::Redrive { .. }) => redrive().await,
        Some(Command::Sample) => {
            print!("{}", sample(Clock::system().now()));
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Serve(serve)) => run(serve).await,
        None => run(cli.serve).await,
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("waymark: {failure}");
            match failure {
                Failure::Misread(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

impl Place {
    fn target(&self) -> Result<Target, Failure> {
        Ok(if self.deployment {
            Target::from_environment()?
        } else {
            Target::local(self.dynamodb_port, self.s3_port, self.source.read()?)
        })
    }

    /// The same, if it reads the content that its sites are made from.
    async fn readable(&self) -> Result<Target, Failure> {
        readable(self.target()?).await
    }
}

async fn readable(target: Target) -> Result<Target, Failure> {
    match target.misread().await? {
        None => Ok(target),
        Some(misread) => Err(misread.into()),
    }
}

fn tell_mapping(file: &Path, item: Option<&Path>) -> Result<ExitCode, Failure> {
    // No table is asked: any name will do.
    let source = read_mapping("source", file)?;
    match item {
        Some(item) => {
            let now = Clock::system().now();
            print!("{}", mapping::tell(&source, &read_file(item)?, now)?);
        }
        None => println!("{}", mapping::compact(&read_file(file)?)),
    }
    Ok(ExitCode::SUCCESS)
}

async fn print(
    text: impl Future<Output = Result<String, StoreError>>,
) -> Result<ExitCode, Failure> {
    print!("{}", text.await?);
    Ok(ExitCode::SUCCESS)
}

/// Status 0: nothing is wrong, or nothing any more. 1: something is. 2: nothing was looked at.
async fn audit(arguments: &AuditArgs) -> Result<ExitCode, Failure> {
    let target = arguments.place.target()?;
    let report = |finding: &Finding| {
        let harmless = if finding.problem.is_harmless() {
            " (harmless)"
        } else {
            ""
        };
        println!("{finding}{harmless}");
    };
    match local::audit::audit(&target, arguments.repair, AUDIT_PAUSE, report).await? {
        Ended::Busy => {
            eprintln!("waymark: a background scan is under way; audit again when it has ended");
            Ok(ExitCode::from(2))
        }
        Ended::Misread(misread) => Err(misread.into()),
        Ended::Whole(findings) => {
            let wrong = findings
                .iter()
                .filter(|finding| !finding.problem.is_harmless())
                .count();
            match wrong {
                0 => println!("everything is as it should be"),
                wrong => println!("wrong: {wrong}"),
            }
            Ok(ExitCode::from(u8::from(wrong > 0)))
        }
    }
}

/// Status 0: the failure bucket is empty, or what came to it meanwhile is all there is. 1: something is left. 2: nothing
/// was handed over.
async fn redrive() -> Result<ExitCode, Failure> {
    let target = readable(Target::from_environment()?).await?;
    let failures = deployment::failures(&Aws::of_operator(TIMEOUTS))?;
    let report = |key: &str, outcome: &Outcome| println!("{key}: {outcome}");
    let left = local::redrive::redrive(&target, &failures, report).await?;
    println!("left: {left}");
    Ok(ExitCode::from(u8::from(left > 0)))
}

async fn run(serve: Serve) -> Result<ExitCode, Failure> {
    let begun = Instant::now();
    let options = Options {
        port: serve.port,
        dynamodb_port: serve.dynamodb_port,
        s3_port: serve.s3_port,
        data: serve.data.clone(),
        indexnow: serve.indexnow_endpoint.clone(),
        source: serve.source.read()?,
        ..Options::default()
    };
    let mut stack = Stack::start(options).await?;
    println!("dynamodb {}", stack.dynamodb_endpoint);
    println!("s3 {}", stack.s3_endpoint);
    println!("site {}", stack.site_endpoint);
    let outcome = tokio::select! {
        outcome = publish(&mut stack, &serve, begun) => outcome,
        interrupted = tokio::signal::ctrl_c() => interrupted.map(|()| ExitCode::SUCCESS).map_err(Failure::Signal),
    };
    stack.stop().await?;
    outcome
}

/// Loads, publishes, and with `--once` returns; without, it goes on until it is dropped.
async fn publish(stack: &mut Stack, serve: &Serve, begun: Instant) -> Result<ExitCode, Failure> {
    let mut problems = Vec::new();
    let kept = stack.reconciler.content.scan(None, 1).await?;
    let sources: Vec<Source> = match serve.content.as_slice() {
        [] if kept.records.is_empty() && serve.source.source_table.is_none() => {
            vec![Source::Sample(stack.reconciler.clock.now())]
        }
        files => files.iter().cloned().map(Source::File).collect(),
    };
    let mut records = 0;
    for source in &sources {
        let loaded = load(stack.aws.dynamodb().await, CONTENT_TABLE, source).await?;
        records += loaded.records;
        problems.extend(loaded.problems);
    }
    report_problems(&problems);
    println!("loaded {records} records");
    stack.run().await?;
    stack.settled().await?;
    println!("ready {}/sitemap_index.xml", stack.site_endpoint);
    if let hosts @ [_, _, ..] = stack.hosts().as_slice() {
        println!("sites, by Host header: {}", hosts.join(", "));
    }
    if serve.once {
        println!("\n{}", Report::of(stack).await?);
        println!("{:<40} {:>9.1}s", "time", begun.elapsed().as_secs_f64());
        let malformed = problems.iter().any(|problem| problem.closes);
        return Ok(if malformed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        });
    }
    println!("change a record through DynamoDB and look again; Ctrl-C stops");
    std::future::pending().await
}

fn report_problems(problems: &[LineProblem]) {
    for problem in problems.iter().take(MAX_PROBLEMS_SHOWN) {
        eprintln!("{problem}");
    }
    if let Some(more @ 1..) = problems.len().checked_sub(MAX_PROBLEMS_SHOWN) {
        eprintln!("… and {more} more problems");
    }
}
