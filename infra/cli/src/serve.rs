//! `waymark serve`: the local stack.

use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::content::{Loaded, Source};
use crate::load::load;
use crate::status::exclusions::LeftOut;
use crate::terminal::output::{Format, Output, note};
use clap::Args;
use local::s3::Unread;
use local::stack::{Options, Stack, StackError, local_address};
use local::tables::CONTENT_TABLE;
use serde::Serialize;
use sweep::Endpoint;

use crate::content::args::{show_problems, source};
use crate::deployment::args::{DYNAMODB_PORT, S3_PORT};
use crate::deployment::source_table::SourceArgs;
use crate::error::COMMAND_FAILED;
use crate::error::no_signals;
use crate::values::duration;

mod fill;
mod publishing;
mod report;
mod signals;

use fill::fill;
use publishing::Publishing;
use report::Report;
use signals::Ends;

/// Pages left out that are shown after a load.
const MAX_LEFT_OUT_SHOWN: usize = 20;

#[derive(Args, Clone)]
pub(crate) struct Serve {
    /// Load this content file: JSON Lines, plain or gzipped; - reads standard input (repeatable) [default: a sample site,
    /// if there is no content]
    #[arg(long, value_name = "FILE")]
    content: Vec<PathBuf>,
    /// Port of the sites; 0 takes any free port
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Port of DynamoDB; 0 takes any free port
    #[arg(long, default_value_t = DYNAMODB_PORT)]
    dynamodb_port: u16,
    /// Port of S3; 0 takes any free port
    #[arg(long, default_value_t = S3_PORT)]
    s3_port: u16,
    /// Keep tables and bucket in this folder between runs [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Notify this IndexNow endpoint of changes on sites with a key: https, or a server on 127.0.0.1 [default: none]
    #[arg(long, value_name = "URL", value_parser = Endpoint::parse)]
    indexnow_endpoint: Option<Endpoint>,
    /// Delete an expired row at most this much later, as DynamoDB's time to live does: 48h, 10m or 1s
    #[arg(long, value_name = "TIME", default_value = "48h", value_parser = duration)]
    ttl_delay: Duration,
    #[command(flatten)]
    source: SourceArgs,
    /// Exit with a summary once everything is published
    #[arg(long)]
    once: bool,
}

impl Serve {
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let options = Options {
            port: self.port,
            dynamodb_port: self.dynamodb_port,
            s3_port: self.s3_port,
            data: self.data.clone(),
            indexnow: self.indexnow_endpoint.clone(),
            source: self.source.read()?,
            expiry: self.ttl_delay,
            ..Options::default()
        };
        // Before there is a temporary folder: a signal must not leave it behind.
        let mut ends = Ends::listen().map_err(no_signals)?;
        let mut stack = tokio::select! {
            stack = Stack::start(options) => stack?,
            () = ends.wait() => return Ok(self.interrupted()),
        };
        say_unread(&stack);
        if stack.was_cut {
            note(
                "waymark: an earlier first load was cut short: its sitemaps are made anew from the records that it had loaded",
            );
        }
        let outcome = tokio::select! {
            outcome = self.publish(&mut stack, output) => outcome,
            () = ends.wait() => Ok(self.interrupted()),
        };
        stack.stop().await?;
        outcome
    }

    /// Returns the status of a run that a signal has ended: that is how to end a stack, but no summary was printed.
    fn interrupted(&self) -> ExitCode {
        ExitCode::from(if self.once { COMMAND_FAILED } else { 0 })
    }

    /// Loads, publishes, and serves. Returns with `--once`, and when the reader has closed the output.
    async fn publish(&self, stack: &mut Stack, output: &mut Output) -> Result<ExitCode> {
        let begun = Instant::now();
        let is_text = output.format() == Format::Text;
        if is_text {
            output.line(format!("dynamodb {}", stack.dynamodb_endpoint))?;
            output.line(format!("s3 {}", stack.s3_endpoint))?;
            output.line(format!("site {}", stack.site_endpoint))?;
        }
        if output.is_closed() {
            return Ok(ExitCode::SUCCESS);
        }
        let (loaded, counted) = self.load(stack).await?;
        let malformed = loaded.problems.iter().any(|problem| problem.closes);
        let status = ExitCode::from(u8::from(malformed));
        if is_text {
            output.line(summary(&loaded))?;
        }
        if output.is_closed() {
            return Ok(status);
        }
        let publishing = Publishing::of(stack).await?;
        tokio::select! {
            published = run(stack) => published?,
            failed = publishing.show() => match failed? {},
        }
        if is_text {
            self.say_ready(stack, output)?;
        }
        if output.is_closed() {
            return Ok(status);
        }
        let mut report = None;
        if self.once || loaded.records > 0 {
            let left_out = match counted {
                Some(counted) => counted,
                None => LeftOut::of(&stack.reconciler, MAX_LEFT_OUT_SHOWN).await?,
            };
            if is_text {
                self.say_left_out(stack, &left_out, output)?;
            }
            if self.once || !is_text {
                report = Some(Report::of(stack, left_out).await?);
            }
        }
        if !is_text {
            output.json(&served(stack, &loaded, report.as_ref()))?;
        }
        if self.once {
            if let Some(report) = report.filter(|_| is_text) {
                output.line("")?;
                output.text(&report.text(loaded.malformed))?;
                let seconds = begun.elapsed().as_secs_f64();
                output.line(format!("{:<40} {seconds:>9.1}s", "time"))?;
            }
            return Ok(status);
        }
        if is_text {
            output.line("change a record through DynamoDB and look again; Ctrl-C stops")?;
        }
        if output.is_closed() {
            return Ok(status);
        }
        std::future::pending().await
    }

    /// Loads the content. An empty stack is filled in bulk; then what is left out is counted already.
    async fn load(&self, stack: &Stack) -> Result<(Loaded, Option<LeftOut>)> {
        let kept = stack.reconciler.content.scan(None, 1).await?;
        let is_sample = self.content.is_empty()
            && kept.records.is_empty()
            && self.source.source_table.is_none();
        let sources: Vec<Source> = if is_sample {
            vec![Source::Sample(stack.reconciler.env.now())]
        } else {
            self.content.iter().map(|file| source(file)).collect()
        };
        let (mut loaded, mut counted) = (Loaded::default(), None);
        match stack.import().await? {
            Some(import) if !sources.is_empty() => {
                let filled = fill(stack, import, sources.clone()).await?;
                (loaded, counted) = (filled.0, Some(filled.1));
            }
            _ => {
                for source in &sources {
                    let client = stack.aws.dynamodb().await;
                    loaded.add(load(client, CONTENT_TABLE, source).await?);
                }
            }
        }
        if is_sample && !loaded.problems.is_empty() {
            note("the sample site has mistakes on purpose, to show how they are reported:");
        }
        show_problems(&loaded.problems);
        if let Some(none) = loaded.no_records(&sources, "serve --content -") {
            note(format!("nothing was loaded: {none}"));
        }
        Ok((loaded, counted))
    }

    fn say_ready(&self, stack: &Stack, output: &mut Output) -> Result<()> {
        let hosts = stack.hosts();
        if let [_] = hosts.as_slice() {
            output.line(format!("ready {}/sitemap_index.xml", stack.site_endpoint))?;
            return Ok(());
        }
        output.line(format!("ready {}/", stack.site_endpoint))?;
        for host in hosts {
            let address = local_address(&host, stack.port());
            output.line(format!("  {host} {address}/sitemap_index.xml"))?;
        }
        Ok(())
    }

    fn say_left_out(&self, stack: &Stack, left_out: &LeftOut, output: &mut Output) -> Result<()> {
        let total = left_out.total();
        if total == 0 {
            return Ok(());
        }
        output.line(format!("left out {total}:"))?;
        output.text(&left_out.first(MAX_LEFT_OUT_SHOWN))?;
        let more = total.saturating_sub(MAX_LEFT_OUT_SHOWN as u64);
        if more > 0 && !self.once {
            let place = place(stack);
            output.line(format!(
                "  … and {more} more: see `waymark status --left-out{place}`"
            ))?;
        } else if more > 0 {
            output.line(format!("  … and {more} more"))?;
        }
        Ok(())
    }
}

/// What is printed as JSON once everything is published.
#[derive(Serialize)]
struct Served<'a> {
    /// Where DynamoDB is.
    dynamodb: &'a str,
    /// Where S3 is.
    s3: &'a str,
    /// Where the sites are.
    site: &'a str,
    /// The sites' hosts, and where each is reached.
    sites: Vec<ServedSite>,
    /// Records of the content files that are in the table.
    loaded: u64,
    /// Lines of the content files that could not be loaded.
    malformed: u64,
    /// What is published; `null` if nothing was loaded.
    report: Option<&'a Report>,
}

#[derive(Serialize)]
struct ServedSite {
    host: String,
    index: String,
}

fn served<'a>(stack: &'a Stack, loaded: &Loaded, report: Option<&'a Report>) -> Served<'a> {
    let hosts = stack.hosts();
    let only = hosts.len() == 1;
    let sites = hosts.into_iter().map(|host| {
        // The only site is reached by this machine's own names.
        let address = if only {
            stack.site_endpoint.clone()
        } else {
            local_address(&host, stack.port())
        };
        ServedSite {
            host,
            index: format!("{address}/sitemap_index.xml"),
        }
    });
    Served {
        dynamodb: &stack.dynamodb_endpoint,
        s3: &stack.s3_endpoint,
        site: &stack.site_endpoint,
        sites: sites.collect(),
        loaded: loaded.distinct(),
        malformed: loaded.malformed,
        report,
    }
}

/// Reports what the folder for state has that is not an object, and how to go on without it.
fn say_unread(stack: &Stack) {
    for Unread { file, why } in stack.s3.unread() {
        note(format!(
            "waymark: {}: not an object of S3, so it is skipped: {why}. If an object is missing, `waymark audit \
             --repair{}` publishes it again",
            file.display(),
            place(stack)
        ));
    }
}

/// Returns the options with which other commands find a stack.
fn place(stack: &Stack) -> String {
    let endpoints = [
        ("--dynamodb-port", &stack.dynamodb_endpoint, DYNAMODB_PORT),
        ("--s3-port", &stack.s3_endpoint, S3_PORT),
    ];
    let options = endpoints.iter().filter_map(|(option, endpoint, usual)| {
        let (_, port) = endpoint.rsplit_once(':')?;
        (port != usual.to_string()).then(|| format!(" {option} {port}"))
    });
    options.collect()
}

async fn run(stack: &mut Stack) -> Result<(), StackError> {
    stack.run().await?;
    stack.settled().await
}

fn summary(loaded: &Loaded) -> String {
    let records = loaded.distinct();
    let mut summary = match records {
        1 => "loaded 1 record".to_owned(),
        records => format!("loaded {records} records"),
    };
    match loaded.records - records {
        0 => {}
        1 => summary += "; 1 line was replaced by a later one with the same id",
        lines => {
            summary += &format!("; {lines} lines were replaced by later ones with the same ids")
        }
    }
    match loaded.malformed {
        0 => {}
        1 => summary += "; 1 malformed line was not loaded",
        lines => summary += &format!("; {lines} malformed lines were not loaded"),
    }
    summary
}
