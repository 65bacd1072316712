//! `waymark load`

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use aws::Clock;
use clap::Args;
use serde::Serialize;

use crate::content::args::{show_problems, source};
use crate::content::{Lined, Loaded, Source};
use crate::deployment::args::{Place, Purpose};
use crate::error::COMMAND_FAILED;
use crate::error::no_signals;
use crate::export::Scope;
use crate::files::failed;
use crate::load::delete::{Deleted, Limit, delete_missing};
use crate::load::dry_run::{DryRun, dry_run};
use crate::load::publish::{Held, publish};
use crate::load::{Loader, malformed_path};
use crate::terminal::output::{Format, Output, note};
use crate::terminal::text::counted;
use crate::values::host;
use crate::values::{Rate, duration, rate};

#[derive(Args)]
#[command(mut_arg("stack", |stack| stack.help("Write into this CloudFormation stack's content table instead of the local one")))]
pub(crate) struct Load {
    /// Content files: JSON Lines, plain or gzipped; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// Write nothing; show what would be written, listed and excluded, and the cost
    #[arg(long)]
    dry_run: bool,
    /// Maximum records written per second; 0 for no limit
    #[arg(long, value_name = "N/s", value_parser = rate, default_value = "0")]
    rate: Rate,
    /// Batches of 25 records to write in parallel; fewer while the table throttles
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Skip records that are in the table unchanged
    #[arg(long)]
    if_changed: bool,
    /// Delete the table's records in --scope that are not in the files
    #[arg(long, requires = "scope")]
    delete_missing: bool,
    /// Records that --delete-missing may delete, such as type=post,site=www.example.com
    #[arg(long, value_name = "SCOPE", value_parser = scope, requires = "delete_missing")]
    scope: Option<Scope>,
    /// Delete nothing if more records are missing: a number, or a share of --scope such as 5%
    #[arg(long, value_name = "N|N%", value_parser = limit, default_value = "5%")]
    max_deletes: Limit,
    /// Load into this table instead; its primary key must be id
    #[arg(long, value_name = "NAME", conflicts_with = "publish")]
    table: Option<String>,
    /// First load: write HOST's settings after all records are processed, then wait until it is live
    #[arg(long, value_name = "HOST", value_parser = host, conflicts_with = "dry_run")]
    publish: Option<String>,
    /// Maximum wait for --publish, such as 90m or 4h
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "240m", requires = "publish")]
    timeout: Duration,
}

fn scope(text: &str) -> Result<Scope, String> {
    let mut scope = Scope::default();
    for part in text.split(',') {
        match part.split_once('=') {
            Some(("type", name)) => scope.type_name = Some(name.to_owned()),
            Some(("site", name)) => scope.site = Some(host(name)?),
            _ => return Err(format!("{part:?} is neither type=TYPE nor site=HOST")),
        }
    }
    Ok(scope)
}

fn limit(text: &str) -> Result<Limit, &'static str> {
    let wrong = "is neither a number of records nor a share such as 5%";
    match text.strip_suffix('%') {
        Some(percent) => match percent.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Limit::Percent(percent)),
            _ => Err(wrong),
        },
        None => text.parse().map(Limit::Records).map_err(|_| wrong),
    }
}

/// What a load came to, as JSON.
#[derive(Serialize)]
struct Done<'a> {
    records: u64,
    unchanged: u64,
    malformed: u64,
    problems: Vec<String>,
    deleted: Option<u64>,
    missing: Option<u64>,
    table: &'a str,
    published: Option<&'a str>,
}

impl Load {
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        if self.dry_run {
            return self.forecast(output).await;
        }
        tokio::select! {
            done = self.load(output) => done,
            interrupt = tokio::signal::ctrl_c() => {
                interrupt.map_err(no_signals)?;
                note("interrupted: run the same command again to resume");
                Ok(ExitCode::from(COMMAND_FAILED))
            }
        }
    }

    async fn load(&self, output: &mut Output) -> Result<ExitCode> {
        let located = self.place.locate(Purpose::Read).await?;
        let table = self.table.as_ref().unwrap_or(&located.target.content_table);
        let client = located.clients.dynamodb().await;
        let mut loader = Loader::new(client, table);
        loader.concurrency = usize::from(self.concurrency);
        loader.rate = self.rate;
        loader.if_changed = self.if_changed;
        loader.keeps_side_files = true;
        let mut loaded = Loaded::default();
        let mut held = self.publish.as_deref().map(Held::of);
        let sources: Vec<Source> = self.files.iter().map(|file| source(file)).collect();
        for source in &sources {
            loaded.add(loader.load_holding(source, held.as_mut()).await?);
        }
        show_problems(&loaded.problems);
        if let Some(none) = loaded.no_records(&sources, "load -") {
            note(format!("nothing was loaded: {none}"));
        }
        let mut is_ok = loaded.malformed == 0;
        let deleted = match &self.scope {
            Some(_) if !is_ok => {
                note(
                    "nothing was deleted: a malformed line may be a record that seems to be missing",
                );
                None
            }
            Some(scope) => {
                let limit = self.max_deletes;
                Some(delete_missing(client, table, &loaded, scope, limit).await?)
            }
            None => None,
        };
        if let Some(deleted) = &deleted {
            is_ok &= deleted.missing <= deleted.limit;
        }
        if let (Some(host), Some(held)) = (&self.publish, held) {
            let publishing = publish(&located.target, client, table, host, held, self.timeout);
            publishing.await?;
        }
        if output.format() == Format::Text {
            self.say(output, &loaded, deleted.as_ref())?;
            if let Some(host) = &self.publish {
                output.line(format_args!("published {host}"))?;
            }
        } else {
            output.json(&Done {
                records: loaded.records,
                unchanged: loaded.unchanged,
                malformed: loaded.malformed,
                problems: loaded.problems.iter().map(ToString::to_string).collect(),
                deleted: deleted.as_ref().map(|deleted| deleted.deleted),
                missing: deleted.as_ref().map(|deleted| deleted.missing),
                table,
                published: self.publish.as_deref(),
            })?;
        }
        Ok(ExitCode::from(u8::from(!is_ok)))
    }

    fn say(
        &self,
        output: &mut Output,
        loaded: &Loaded,
        deleted: Option<&Deleted>,
    ) -> io::Result<()> {
        output.line(format_args!("loaded {}", counted(loaded.records, "record")))?;
        if self.if_changed {
            output.line(format_args!("  {} were there already", loaded.unchanged))?;
        }
        if loaded.malformed > 0 {
            output.line(format_args!(
                "malformed {}",
                counted(loaded.malformed, "line")
            ))?;
            for file in self.files.iter().map(|file| malformed_path(file)) {
                if file.exists() {
                    output.line(format_args!("  they are in {}", file.display()))?;
                }
            }
        }
        let Some(deleted) = deleted else {
            return Ok(());
        };
        let Deleted {
            in_scope,
            missing,
            limit,
            deleted,
        } = deleted;
        if missing > limit {
            return output.line(format_args!(
                "deleted nothing: the files lack {missing} of {in_scope} records in the scope, and --max-deletes \
                 allows {limit}"
            ));
        }
        output.line(format_args!(
            "deleted {deleted} of {in_scope} records in the scope"
        ))
    }

    async fn forecast(&self, output: &mut Output) -> Result<ExitCode> {
        let mut sources: Vec<Source> = self.files.iter().map(|file| source(file)).collect();
        let mut spools = Vec::new();
        for source in &mut sources {
            // They are read twice, and a pipe can be read once.
            let is_file = match source {
                Source::File(path) => {
                    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
                }
                _ => false,
            };
            if is_file {
                continue;
            }
            let name = source.name();
            let (reader, _) = source
                .open()
                .map_err(|error| failed(name.as_ref(), error))?;
            let spool = tempfile::NamedTempFile::new()?;
            let mut file = spool.reopen()?;
            let mut body = Lined { reader, since: 0 };
            let copied = tokio::task::spawn_blocking(move || io::copy(&mut body, &mut file));
            copied
                .await?
                .map_err(|error| failed(name.as_ref(), error))?;
            *source = Source::File(spool.path().to_owned());
            spools.push(spool);
        }
        let locate = async || match self.place.is_given() {
            true => self.place.locate(Purpose::Read).await.map(Some),
            false => Ok(None),
        };
        let run = dry_run(&sources, Clock::system().now(), locate).await?;
        if output.format() == Format::Text {
            say_dry_run(output, &run)?;
            if run.archives_not_looked_up > 0 {
                note(format!(
                    "{} counted as empty_archive, since no page in these files has the term. Pages in tables are not \
                     known here: --stack NAME, or --source-table and --source-mapping for the local stack, looks there",
                    match run.archives_not_looked_up {
                        1 => "1 archive is".to_owned(),
                        count => format!("{count} archives are"),
                    }
                ));
            }
        } else {
            output.json(&run)?;
        }
        Ok(ExitCode::from(u8::from(run.malformed > 0)))
    }
}

fn say_dry_run(output: &mut Output, run: &DryRun) -> io::Result<()> {
    let mut count = |name: &str, count: u64| output.line(format_args!("{name:<40} {count:>9}"));
    count("records", run.records)?;
    count("malformed lines", run.malformed)?;
    let predicted = &run.predicted;
    count("would be listed", predicted.listed)?;
    count("further parts of them", predicted.parts)?;
    count("sitemaps", predicted.sitemaps.values().sum())?;
    let left_out = predicted.left_out.values();
    count("would be left out", left_out.map(|tally| tally.count).sum())?;
    for (reason, tally) in &predicted.left_out {
        count(&format!("  {reason}"), tally.count)?;
    }
    count("write units, content table", run.content_units)?;
    count("write units, sitemap table, about", run.sitemap_units)?;
    output.line(format_args!(
        "{:<40} {:>9}",
        "dollars for both, about",
        format!("{:.2}", run.dollars)
    ))
}
