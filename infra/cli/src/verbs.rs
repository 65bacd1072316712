//! The command line: its verbs, each with a module, and the options that all of them have.

use std::process::ExitCode;

use anyhow::Result;
#[cfg(not(feature = "serve"))]
use anyhow::anyhow;
use clap::{CommandFactory as _, Parser, Subcommand};

#[cfg(feature = "serve")]
use crate::serve;
use crate::terminal::output::{Color, Format, Output};
use crate::{
    audit, build, check, completions, crawl, diff, explain, export, import, load, mapping, purge,
    redrive, sample, status,
};

#[cfg(not(feature = "serve"))]
const NO_SERVE: &str = "this build has no `serve`, the default: choose another subcommand (`waymark --help`), or build with `cargo \
                        build --bin waymark`";

/// Returns the table of exit statuses that ends a verb's `--help`.
fn exit(success: &str, negative: &str, failure: &str) -> String {
    format!("Exit status:\n  0  {success}\n  1  {negative}\n  2  {failure}")
}

/// Command line.
#[derive(Parser)]
#[command(
    name = "waymark",
    about = "Publish sitemaps from a content table, and check the sitemaps of any site"
)]
#[command(version, long_version = env!("WAYMARK_VERSION"))]
pub struct Cli {
    /// Print the result as one JSON document (none if the exit status is 2)
    #[arg(long, global = true)]
    json: bool,
    /// Colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)
    #[arg(long, global = true, value_name = "WHEN", value_parser = color, default_value = "auto")]
    color: Color,
    #[command(subcommand)]
    command: Option<Command>,
    #[cfg(feature = "serve")]
    #[command(flatten, next_help_heading = "Options of serve, the default command")]
    serve: serve::Serve,
}

#[derive(Subcommand)]
enum Command {
    /// Run DynamoDB, S3, the functions and the sites on this machine (the default)
    #[cfg(feature = "serve")]
    #[command(after_help = exit("all is published, or the stack was stopped", "a line was malformed (--once)", "the command failed"))]
    Serve(serve::Serve),
    #[cfg(not(feature = "serve"))]
    #[command(hide = true, disable_help_flag = true)]
    Serve {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        _options: Vec<std::ffi::OsString>,
    },
    /// Compare every row and published file with its source, and repair differences
    #[command(after_help = exit("nothing is wrong or all is repaired", "something is wrong", "nothing was compared"))]
    Audit(audit::command::Audit),
    /// Publish content files into a folder for any web server
    #[command(after_help = exit("all is published", "a line was malformed", "nothing was published"))]
    Build(build::command::Build),
    /// Check the sitemaps of any site, folder, file or bucket
    #[command(after_help = exit("nothing fails", "a finding is at least as severe as --fail-on", "nothing could be checked"))]
    Check(Box<check::command::Check>),
    /// Join access logs with what is listed: which pages crawlers fetched, and when
    #[command(after_help = exit("the logs are joined", "fewer pages were fetched than --fail-under, or a log was not read to its end", "nothing was joined"))]
    Crawl(Box<crawl::command::Crawl>),
    /// Compare the pages that two sites, sitemaps, folders or content files list
    #[command(after_help = exit("they list the same pages", "they differ, or more pages are gone than --max-removed", "one could not be read to its end"))]
    Diff(Box<diff::command::Diff>),
    /// Explain why a page is in the sitemaps, or why not
    #[command(after_help = exit("each page has a record", "one has none", "the command failed"))]
    Explain(explain::command::Explain),
    /// Make content records from a site's sitemaps or another system's export
    #[command(after_help = exit("every source was read to its end", "one was not", "no record was made"))]
    Import(Box<import::command::Import>),
    /// Write content files into the content table in bulk
    #[command(after_help = exit("every line is in the table", "a line was malformed or --max-deletes was exceeded", "the load stopped"))]
    Load(Box<load::command::Load>),
    /// Print the records of the content table as JSON Lines
    Export(Box<export::command::Export>),
    /// Show each site's state and running scans, or wait until it is published
    #[command(after_help = exit("the state is shown, or reached with --until", "--until timed out or --fail-on found problems", "the command failed"))]
    Status(status::command::Status),
    /// Check the field mapping of your own table, and print it as a stack parameter
    #[command(after_help = exit("the mapping is valid", "it is not, or a record is not whole", "the command failed"))]
    Mapping(mapping::command::Mapping),
    /// Replay failed batches from a deployment's failure bucket
    #[command(after_help = exit("the bucket is empty", "some batches are left", "nothing was replayed"))]
    Redrive(redrive::command::Redrive),
    /// Invalidate a site's cached files in CloudFront
    #[command(after_help = exit("CloudFront accepted it (with --wait: finished it)", "--wait timed out", "nothing was invalidated"))]
    Purge(purge::command::Purge),
    /// Print the records of the sample site, with recent dates
    Sample,
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write the pages of all verbs
    Man(completions::Man),
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
    /// Returns how many threads run its tasks. Returns `None` for one a core. The tasks of `check` are short: waking another thread takes
    /// longer than they do (docs/BENCHMARKS.md). Long work has a thread of its own.
    pub fn workers(&self) -> Option<usize> {
        matches!(self.command, Some(Command::Check(_))).then_some(1)
    }

    /// Runs the command that was asked for, and returns the exit status.
    ///
    /// # Errors
    ///
    /// If it could not be done: [`crate::error::message`] says why.
    pub async fn run(self) -> Result<ExitCode> {
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
            Some(Command::Crawl(crawl)) => crawl.run(&mut output).await,
            Some(Command::Diff(diff)) => diff.run(&mut output).await,
            Some(Command::Explain(explain)) => explain.run(&mut output).await,
            Some(Command::Import(import)) => import.run(&mut output).await,
            Some(Command::Load(load)) => load.run(&mut output).await,
            Some(Command::Export(export)) => export.run(&mut output).await,
            Some(Command::Status(status)) => status.run(&mut output).await,
            Some(Command::Mapping(mapping)) => mapping.run(&mut output).await,
            Some(Command::Redrive(redrive)) => redrive.run(&mut output).await,
            Some(Command::Purge(purge)) => purge.run(&mut output).await,
            Some(Command::Sample) => sample::run(&mut output),
            Some(Command::Completions(completions)) => {
                completions.run(Self::command(), &mut output)
            }
            Some(Command::Man(man)) => man.run(Self::command(), &mut output),
            #[cfg(feature = "serve")]
            Some(Command::Serve(serve)) => serve.run(&mut output).await,
            #[cfg(feature = "serve")]
            None => self.serve.run(&mut output).await,
            #[cfg(not(feature = "serve"))]
            Some(Command::Serve { .. }) | None => Err(anyhow!(NO_SERVE)),
        }
    }
}

#[cfg(all(test, not(feature = "serve")))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_serve_it_and_the_default_say_so() {
        for arguments in [&["waymark"][..], &["waymark", "serve", "--port", "0"]] {
            let failure = Cli::parse_from(arguments).run().await.unwrap_err();
            assert_eq!(failure.to_string(), NO_SERVE);
        }
    }
}
