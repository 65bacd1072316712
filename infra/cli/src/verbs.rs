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
    audit, build, check, completions, diff, explain, export, import, load, mapping, purge, redrive,
    sample, status,
};

#[cfg(not(feature = "serve"))]
const NO_SERVE: &str = "this build has no `serve`, the default: choose another subcommand (`waymark --help`), or build with `cargo \
                        build --bin waymark`";

/// What was asked for.
#[derive(Parser)]
#[command(name = "waymark", about = "Keeps a site's sitemaps true")]
#[command(version, long_version = env!("WAYMARK_VERSION"))]
pub struct Cli {
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
    Audit(audit::command::Audit),
    /// Publish content files into a folder, for any web server; status 1 if a line was malformed
    Build(build::command::Build),
    /// Check the sitemaps of any site, file or folder; status 1 if something is wrong
    Check(Box<check::command::Check>),
    /// Compare what two sitemaps, sites, folders or content files list; status 1 if it differs
    Diff(Box<diff::command::Diff>),
    /// Explain why pages are listed, or why not; status 1 if no record has an address or an id
    Explain(explain::command::Explain),
    /// Make content records of a site's sitemaps, or of what another system exports; status 1 if a source was not whole
    Import(Box<import::command::Import>),
    /// Write content into the table, in bulk; status 1 if a line was malformed
    Load(Box<load::command::Load>),
    /// Print the records of the content table as JSON Lines
    Export(Box<export::command::Export>),
    /// Show the state of each site and what goes on, or wait until it is published; status 1 if it is not
    Status(status::command::Status),
    /// Check a field mapping for a table of your own, and print it in the form for a parameter; status 1 if it is malformed
    Mapping(mapping::command::Mapping),
    /// Replay failed batches from a deployment's failure bucket; status 1 if some are left
    Redrive(redrive::command::Redrive),
    /// Have CloudFront forget what it keeps of a site, for a takedown
    Purge(purge::command::Purge),
    /// Print the sample site's content, with its latest dates as of now
    Sample,
    /// Print a script that completes this command in a shell
    Completions(completions::Completions),
    /// Print the manual page, or write one for each verb
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
