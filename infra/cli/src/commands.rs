//! The command's verbs, one a file. Status 0: it is so. 1: it is not. 2: it could not be told.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::check::sort::SortError;
use aws::environment::EnvironmentError;
use clap::{Args, Parser, Subcommand};
use cli::build::BuildError;
use cli::content::{LineProblem, LoadError, STDIN_NAME, Source};
use cli::diff::DiffError;
use cli::export::ExportError;
use cli::import::ImportError;
use cli::load::publish::PublishError;
use cli::mapping::{self as mappings, ItemError};
use cli::output::{Color, Format, Output, note};
use cli::probe::NoStack;
use cli::purge::PurgeError;
use cli::samconfig::SamconfigError;
use cli::stack::{Difference, StackError};
use cli::target::Misread;
use engine::content::SourceTable;
use engine::error::EngineError;
use sitemap::mapping::{MappingError, MappingProblem};

mod audit;
mod build;
mod check;
mod denied;
mod diff;
mod explain;
mod export;
mod import;
mod load;
mod mapping;
mod out;
mod place;
mod purge;
mod redrive;
mod requests;
mod sample;
#[cfg(feature = "serve")]
mod serve;
mod shell;
mod status;

use place::Place;
pub(crate) use requests::without_passwords;

/// Problems of content files that are shown; the rest is counted.
const MAX_PROBLEMS_SHOWN: usize = 50;

#[derive(Parser)]
#[command(name = "waymark", about = "Keeps a site's sitemaps true")]
#[command(version, long_version = env!("WAYMARK_VERSION"))]
pub(crate) struct Cli {
    /// Print the result as one JSON document; nothing is printed if the status is 2
    #[arg(long, global = true)]
    json: bool,
    /// When to colour text: auto, on a terminal unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_parser = color, default_value = "auto")]
    color: Color,
    #[command(subcommand)]
    command: Option<Command>,
    #[cfg(feature = "serve")]
    #[command(flatten)]
    serve: serve::Serve,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything on this machine: DynamoDB, S3, the functions and the sites over HTTP (the default)
    #[cfg(feature = "serve")]
    Serve(serve::Serve),
    #[cfg(not(feature = "serve"))]
    #[command(hide = true, disable_help_flag = true)]
    Serve {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        _options: Vec<std::ffi::OsString>,
    },
    /// Check every row and every object against what it was made from; status 1 if something is wrong
    Audit(audit::Audit),
    /// Publish content files into a folder, for any web server; status 1 if a line was malformed
    Build(build::Build),
    /// Check the sitemaps of any site, file or folder; status 1 if something is wrong
    Check(Box<check::Check>),
    /// Compare what two sitemaps, sites, folders or content files list; status 1 if it differs
    Diff(Box<diff::Diff>),
    /// Explain why pages are listed, or why not; status 1 if no record has an address or an id
    Explain(explain::Explain),
    /// Make content records of a site's sitemaps, or of what another system exports; status 1 if a source was not whole
    Import(Box<import::Import>),
    /// Write content into the table, in bulk; status 1 if a line was malformed
    Load(Box<load::Load>),
    /// Print the records of the content table as JSON Lines
    Export(Box<export::Export>),
    /// Show the state of each site and what goes on, or wait until it is published; status 1 if it is not
    Status(status::Status),
    /// Check a field mapping for a table of your own, and print it in the form for a parameter; status 1 if it is malformed
    Mapping(mapping::Mapping),
    /// Replay failed batches from a deployment's failure bucket; status 1 if some are left
    Redrive(redrive::Redrive),
    /// Have CloudFront forget what it keeps of a site, for a takedown
    Purge(purge::Purge),
    /// Print the sample site's content, with its latest dates as of now
    Sample,
    /// Print a script that completes this command in a shell
    Completions(shell::Completions),
    /// Print the manual page, or write one for each verb
    Man(shell::Man),
}

fn color(text: &str) -> Result<Color, &'static str> {
    match text {
        "auto" => Ok(Color::Auto),
        "always" => Ok(Color::Always),
        "never" => Ok(Color::Never),
        _ => Err("it is auto, always or never"),
    }
}

impl Cli {
    /// Threads for its tasks; nothing for one a core. Those of `check` are short: to wake another thread takes longer than they do
    /// (docs/BENCHMARKS.md). What is long has a thread of its own.
    pub(crate) fn workers(&self) -> Option<usize> {
        matches!(self.command, Some(Command::Check(_))).then_some(1)
    }

    /// Does what was asked for.
    pub(crate) async fn run(self) -> Result<ExitCode, Failure> {
        let lines = match &self.command {
            Some(Command::Audit(audit)) => audit.jsonl,
            Some(Command::Redrive(redrive)) => redrive.jsonl,
            Some(Command::Status(status)) => status.jsonl,
            _ => false,
        };
        let is_json = match &self.command {
            Some(Command::Explain(explain)) => self.json || explain.is_json(),
            _ => self.json,
        };
        let format = match (is_json, lines) {
            (_, true) => Format::JsonLines,
            (true, _) => Format::Json,
            _ => Format::Text,
        };
        let colours = format == Format::Text && self.color.is_on();
        let mut output = Output::new(format, colours);
        match self.command {
            Some(Command::Audit(audit)) => audit.run(&mut output).await,
            Some(Command::Build(build)) => build.run(&mut output).await,
            Some(Command::Check(check)) => check.run(&mut output).await,
            Some(Command::Diff(diff)) => diff.run(&mut output).await,
            Some(Command::Explain(explain)) => explain.run(&mut output).await,
            Some(Command::Import(import)) => import.run(&mut output).await,
            Some(Command::Load(load)) => load.run(&mut output).await,
            Some(Command::Export(export)) => export.run(&mut output).await,
            Some(Command::Status(status)) => status.run(&mut output).await,
            Some(Command::Mapping(mapping)) => mapping.run(&mut output),
            Some(Command::Redrive(redrive)) => redrive.run(&mut output).await,
            Some(Command::Purge(purge)) => purge.run(&mut output).await,
            Some(Command::Sample) => sample::run(&mut output),
            Some(Command::Completions(completions)) => completions.run(&mut output),
            Some(Command::Man(man)) => man.run(&mut output),
            #[cfg(feature = "serve")]
            Some(Command::Serve(serve)) => serve.run(&mut output).await,
            #[cfg(feature = "serve")]
            None => self.serve.run(&mut output).await,
            #[cfg(not(feature = "serve"))]
            Some(Command::Serve { .. }) | None => Err(Failure::NoServe),
        }
    }
}

/// Why a command could not tell.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[cfg(feature = "serve")]
    #[error(transparent)]
    Stack(#[from] local::stack::StackError),
    #[cfg(not(feature = "serve"))]
    #[error(
        "this build has no `serve`, the default: choose another subcommand (`waymark --help`), or build with `cargo build --bin waymark`"
    )]
    NoServe,
    #[error(transparent)]
    NoStack(#[from] NoStack),
    #[error(transparent)]
    Deployment(#[from] StackError),
    #[error(transparent)]
    Samconfig(#[from] SamconfigError),
    #[error("stack {name} in {region}: its parameters: {error}")]
    Parameters {
        name: String,
        region: String,
        error: aws::environment::SourceError,
    },
    #[error("{0}, or give --ignore-version. Nothing was changed")]
    Version(Difference),
    #[error("{0}. If the stack's parameters were changed just now, try again in a minute")]
    MisreadStack(String),
    #[error(
        "--region and --profile are for a deployment: give --stack NAME, --config-env ENV or --deployment too"
    )]
    NoPlace,
    #[error(
        "there is no site {0} here: `waymark status` without --site shows those that there are"
    )]
    NoSite(String),
    #[error("redrive looks at a deployment: give --stack NAME, --config-env ENV or --deployment")]
    NoDeployment,
    #[error(
        "purge is for the CDN of a deployment: give --stack NAME or --config-env ENV. The local stack has none: its answers are \
         not kept anywhere but in a browser"
    )]
    NoCdn,
    #[error(
        "stack {name} in {region} has no distribution of its own (parameter Distribution): purge your CDN, of what has the tag \
         site:{site} or the site's paths (docs/CDN.md)"
    )]
    NoDistribution {
        name: String,
        region: String,
        site: String,
    },
    #[error(transparent)]
    Purge(#[from] PurgeError),
    #[error("{}", denied::told(.0))]
    Store(#[from] EngineError),
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    #[error("{}: {error}", file.display())]
    File { file: PathBuf, error: io::Error },
    #[error("{}: {}", file.display(), problems(error).join("; "))]
    Mapping { file: PathBuf, error: MappingError },
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Diff(#[from] DiffError),
    #[error(transparent)]
    Sort(#[from] SortError),
    #[error(transparent)]
    Item(#[from] ItemError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Misread(#[from] Misread),
    #[error("cannot wait for signals: {0}")]
    Signal(io::Error),
    #[error("cannot start threads: {0}")]
    Runtime(io::Error),
    #[error("the command broke off: {0}")]
    Panic(#[from] tokio::task::JoinError),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

/// What is wrong with a mapping, a line each.
fn problems(error: &MappingError) -> Vec<String> {
    let problems = error.problems().iter();
    let line = |problem: &MappingProblem| format!("{}: {}", problem.place, problem.reason);
    problems.map(line).collect()
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
    mappings::read(table, &read_file(file)?).map_err(|error| Failure::Mapping {
        file: file.to_owned(),
        error,
    })
}

fn read_file(file: &Path) -> Result<String, Failure> {
    cli::files::text(file).map_err(|error| Failure::File {
        file: file.to_owned(),
        error,
    })
}

/// Content of a file, or of standard input.
fn source(file: &Path) -> Source {
    match file.as_os_str() == STDIN_NAME {
        true => Source::Stdin,
        false => Source::File(file.to_owned()),
    }
}

/// Says what is wrong with content files.
fn show_problems(problems: &[LineProblem]) {
    for problem in problems.iter().take(MAX_PROBLEMS_SHOWN) {
        note(problem);
    }
    if let Some(more @ 1..) = problems.len().checked_sub(MAX_PROBLEMS_SHOWN) {
        note(format!("… and {more} more problems"));
    }
}

/// The local stack's usual ports.
const DYNAMODB_PORT: u16 = 8000;
const S3_PORT: u16 = 9000;

#[cfg(all(test, not(feature = "serve")))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_serve_it_and_the_default_say_so() {
        for arguments in [&["waymark"][..], &["waymark", "serve", "--port", "0"]] {
            let failure = Cli::parse_from(arguments).run().await.unwrap_err();
            assert!(matches!(failure, Failure::NoServe), "{failure}");
        }
    }
}
