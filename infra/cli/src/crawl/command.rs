//! `waymark crawl`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use aws::Clock;
use check::listing::Reading as ListingReading;
use check::listing::sort::SortError;
use clap::{Args, ValueEnum};
use crawl::bots::{BotId, Bots, Purpose, Text as BotsText};
use crawl::forms::Form;
use crawl::join::{FinishError, Join, State, Wanted};
use crawl::log::{LogError, Reading};
use crawl::report::Report;
use engine::error::EngineError;
use objects::all_sites;
use sitemap::site::MAX_BYTES;

use super::listed::Listed;
use super::logs::Log;
use super::{csv, reasons, text};
use crate::deployment::args::{Deployed, Purpose as DeployedFor, no_deployment};
use crate::fetch::args::Requests;
use crate::fetch::client::Client;
use crate::files;
use crate::listing::named::{Named, What};
use crate::listing::pages::Pages;
use crate::listing::reader::Reader;
use crate::terminal::output::{Format, Output, note};
use crate::terminal::progress::{Progress, Unit};
use crate::values::duration;

#[derive(Args)]
#[command(mut_arg("stack", |stack| stack.help("Read what this CloudFormation stack lists from its tables")))]
pub(crate) struct Crawl {
    /// Access logs: files, folders, patterns such as '/var/log/nginx/*.gz', s3://bucket/prefix, or - for standard input
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<String>,
    /// Listed pages: a site (https://host/), a sitemap, a folder, a file, s3://bucket/prefix, or content (.jsonl)
    #[arg(long, value_name = "WHAT", required_unless_present_any = ["stack", "config_env", "deployment"],
        conflicts_with_all = ["stack", "config_env", "deployment"])]
    sitemaps: Option<String>,
    /// Site of --stack or content [default: the only one]
    #[arg(long, value_name = "HOST")]
    site: Option<String>,
    /// Do not read why other pages are not listed: saves a scan of the deployment's sitemap table, or a second pass over content
    #[arg(long)]
    no_reasons: bool,
    /// Form of the logs: combined, caddy, cloudfront, cloudfront-json, alb, s3, json, or a list of JSON fields such as
    /// time=ts,url=path,status=status,agent=ua [default: detected]
    #[arg(long, value_name = "FORM", value_parser = Form::parse)]
    from: Option<Form>,
    /// Host of requests whose lines do not say it [default: the host of the listed pages, if there is one]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Count only this bot, such as Googlebot (repeatable)
    #[arg(long, value_name = "NAME")]
    bot: Vec<String>,
    /// Count only bots that fetch for this (repeatable)
    #[arg(long, value_name = "PURPOSE")]
    purpose: Vec<PurposeName>,
    /// Count only requests from addresses that the bot's operator publishes
    #[arg(long)]
    verified: bool,
    /// Folder with newer lists: bots.json, or the operators' files of addresses, such as googlebot.json
    #[arg(long, value_name = "DIR")]
    bots: Option<PathBuf>,
    /// Write the report as a page that stands alone
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the rows of the report as CSV
    #[arg(long, conflicts_with = "urls")]
    csv: bool,
    /// Print only addresses: never fetched, stale (changed since their last fetch), or gone (last answered 404 or 410)
    #[arg(long, value_name = "STATE")]
    urls: Option<StateName>,
    /// Print only addresses that changed within this time, such as 3d: search engines ask not to be sent older ones
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "urls")]
    changed_within: Option<std::time::Duration>,
    /// Exit with 1 if fewer of the listed pages were fetched, such as 80%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_under: Option<u64>,
    #[command(flatten)]
    deployed: Deployed,
    /// Number of sitemaps to read in parallel
    #[arg(long, value_name = "N", default_value_t = 4)]
    jobs: usize,
    #[command(flatten)]
    requests: Requests,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PurposeName {
    Search,
    Answer,
    Training,
    Preview,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StateName {
    Never,
    Stale,
    Gone,
}

fn percent(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse();
    match number {
        Ok(number @ 0..=100) => Ok(number),
        _ => Err("it is a whole number of percent from 0% to 100%".to_owned()),
    }
}

impl PurposeName {
    fn is(self, purpose: Purpose) -> bool {
        let of = match purpose {
            Purpose::Search => Self::Search,
            Purpose::Answer => Self::Answer,
            Purpose::Training => Self::Training,
            Purpose::Preview => Self::Preview,
            Purpose::Other => Self::Other,
        };
        self == of
    }
}

impl Crawl {
    /// Joins. Status 0: done. 1: fewer pages were fetched than `--fail-under`, or a log was not read to its end. 2: nothing was joined.
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let bots = Arc::new(self.table()?);
        let wanted = self.wanted(&bots)?;
        let logs = Log::find(&self.logs, &self.deployed.account(), self.requests.timeout).await?;
        let what = self.what().await?;
        let now = Clock::system().now();
        let folder = std::env::temp_dir();
        let join = Join::new(bots, wanted, &folder, now);
        let mut join = self.list(&what, join, &folder).await?;
        if let Some(host) = &self.host {
            join.set_host(host);
        }
        let (reading, is_whole) = self.read(logs, &mut join).await?;
        let since = self
            .changed_within
            .map(|within| now - i64::try_from(within.as_secs()).unwrap_or(i64::MAX));
        let mut report = tokio::task::block_in_place(|| {
            join.finish(what.name(), |address, state, changed| {
                let is_recent =
                    since.is_none_or(|since| changed.is_some_and(|changed| changed >= since));
                match self.urls {
                    Some(wanted) if wanted.is(state) && is_recent => output.line(address),
                    _ => Ok(()),
                }
            })
        })
        .map_err(|error| match error {
            FinishError::Sort(error) => SortError::new(&folder, error).into(),
            FinishError::Take(error) => anyhow!("cannot write the output: {error}"),
        })?;
        reading.report(&mut report);
        if let Some(file) = &self.html {
            let page = crawl::page::html(&report);
            let written = files::fresh::write(file, page.as_bytes());
            written.map_err(|error| files::failed(file, error))?;
        }
        self.show(&report, output)?;
        let is_under = self
            .fail_under
            .is_some_and(|percent| report.total.ever * 100 < report.total.listed * percent);
        if is_under {
            let (ever, listed) = (report.total.ever, report.total.listed);
            note(format!(
                "{ever} of {listed} listed pages were fetched: fewer than --fail-under"
            ));
        }
        Ok(ExitCode::from(u8::from(is_under || !is_whole)))
    }

    fn show(&self, report: &Report, output: &mut Output) -> Result<()> {
        match (self.urls, output.format()) {
            (Some(_), _) => {
                report.notes.iter().for_each(note);
                Ok(())
            }
            (None, _) if self.csv => Ok(output.document(&csv::rows(report))?),
            (None, Format::Json | Format::JsonLines) => Ok(output.json(report)?),
            (None, Format::Text) => Ok(output.text(&text::report(report))?),
        }
    }

    /// Returns the table of bots, with the user's lists.
    fn table(&self) -> Result<Bots> {
        let Some(folder) = &self.bots else {
            return Ok(Bots::built_in());
        };
        let failed = |error| files::failed(folder, error);
        let mut texts = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|end| end == "json") {
                let text = files::read(&path)?;
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                texts.push((name, text));
            }
        }
        if texts.is_empty() {
            return Err(anyhow!(
                "{}: has no file that ends in .json",
                folder.display()
            ));
        }
        texts.sort();
        let mut lists = Vec::new();
        for (name, text) in &texts {
            lists.push(BotsText { name, text });
        }
        Bots::read(&lists).map_err(|error| anyhow!("{}: {error}", folder.display()))
    }

    fn wanted(&self, bots: &Bots) -> Result<Wanted> {
        let mut ids: Option<Vec<BotId>> = None;
        for name in &self.bot {
            let Some(id) = bots.by_name(name) else {
                return Err(anyhow!(
                    "--bot {name}: the table has no bot of this name; --json shows the names of those that asked"
                ));
            };
            ids.get_or_insert_default().push(id);
        }
        if !self.purpose.is_empty() {
            let of = |id: BotId| {
                self.purpose
                    .iter()
                    .any(|purpose| purpose.is(bots.bot(id).purpose))
            };
            let mut found: Vec<BotId> = bots.ids().filter(|id| of(*id)).collect();
            if let Some(ids) = &ids {
                found.retain(|id| ids.contains(id));
            }
            ids = Some(found);
        }
        Ok(Wanted {
            bots: ids,
            verified_only: self.verified,
        })
    }

    /// Returns what is listed.
    async fn what(&self) -> Result<What> {
        if let Some(sitemaps) = &self.sitemaps {
            let named =
                Named::parse(sitemaps, self.deployed.account(), self.requests.timeout).await?;
            return named.open(|name, sites| self.site_of(name, sites)).await;
        }
        let located = self.deployed.locate(DeployedFor::Read).await?;
        let located = located.ok_or_else(no_deployment)?;
        let sites = all_sites(&*located.target.objects).await;
        let sites = sites.map_err(EngineError::from)?;
        let site = self.site_of("the deployment", &sites)?;
        Ok(What::Table(Box::new(located), site))
    }

    fn site_of(&self, name: &str, sites: &[String]) -> Result<String> {
        match (&self.site, sites) {
            (Some(site), sites) if sites.contains(site) => Ok(site.clone()),
            (None, [only]) => Ok(only.clone()),
            (None, []) => Err(anyhow!("{name} has no site")),
            (site, sites) => {
                let has = match site {
                    Some(site) => format!("no site {site}"),
                    None => "several sites".to_owned(),
                };
                Err(anyhow!(
                    "{name} has {has}: choose one with --site: {}",
                    sites.join(", ")
                ))
            }
        }
    }

    /// Gives the join what is listed.
    async fn list(&self, what: &What, join: Join, folder: &Path) -> Result<Join> {
        let urls = what.origin().map(str::to_owned);
        let client = Client::new(self.requests.asking(urls.into_iter(), &[])?);
        let reader = Reader {
            client: &client,
            reading: Arc::new(ListingReading {
                max_bytes: MAX_BYTES,
                ..ListingReading::default()
            }),
            jobs: self.jobs,
            same_origin: false,
        };
        let listed = Arc::new(Listed::new(join, folder.to_owned(), what.site()));
        let pages: Arc<dyn Pages> = listed.clone();
        what.read(&reader, &pages).await?;
        drop(pages);
        let listed = Arc::into_inner(listed).ok_or(anyhow!("a reader is left"))?;
        let mut join = listed.into_join();
        if !self.no_reasons {
            reasons::tell(what, &mut join).await?;
        }
        Ok(join)
    }

    /// Reads the logs. Returns whether all were read to their ends.
    async fn read(&self, logs: Vec<Log>, join: &mut Join) -> Result<(Reading, bool)> {
        let mut reading = Reading::default();
        let mut progress = Progress::begin(
            "reading logs",
            Unit::Things("logs"),
            Some(logs.len() as u64),
        );
        let (mut read, mut is_whole, count) = (0_u64, true, logs.len());
        let mut last = None;
        for (at, log) in logs.into_iter().enumerate() {
            let name = log.name();
            let done = match log.open().await {
                Err(error) => Err(error),
                Ok(opened) => tokio::task::block_in_place(|| {
                    let read = reading.read(&name, self.from.as_ref(), join, &opened);
                    match read {
                        Err(LogError::Sort(error)) => {
                            Ok(Err(SortError::new(&std::env::temp_dir(), error)))
                        }
                        read => Ok(Ok(read.map_err(|error| anyhow!("{name}: {error}"))?)),
                    }
                }),
            };
            match done {
                Ok(done) => {
                    done?;
                    read += 1;
                }
                // Without one log the others still say something.
                Err(error) if count > 1 => {
                    is_whole = false;
                    note(format!("{error}; it is left out"));
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
            progress.reach(at as u64 + 1);
        }
        if let (0, Some(error)) = (read, last) {
            return Err(error);
        }
        if reading.lacks_host() {
            let hosts: Vec<_> = join.hosts().map(String::from_utf8_lossy).collect();
            return Err(anyhow!(
                "the logs do not say the host of a request, and pages of several hosts are listed: say which it is with --host: \
                 {}",
                hosts.join(", ")
            ));
        }
        for damage in reading.damages() {
            is_whole = false;
            note(damage);
        }
        Ok((reading, is_whole))
    }
}

impl StateName {
    fn is(self, state: State) -> bool {
        match self {
            Self::Never => state == State::Never,
            Self::Stale => state == State::Stale,
            Self::Gone => state == State::Gone,
        }
    }
}
