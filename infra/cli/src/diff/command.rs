//! `waymark diff`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use aws::Account;
use check::listing::comparison::{Fields, Side};
use check::listing::{Part, Reading};
use clap::{Args, ValueEnum};
use engine::error::EngineError;
use objects::all_sites;
use sitemap::site::MAX_BYTES;

use crate::deployment::args::{Deployed, Purpose, no_deployment};
use crate::diff::MaxRemoved;
use crate::diff::pages::{Ignored, Pages, Sided};
use crate::diff::report::{Format, Report, respelled};
use crate::fetch::args::Requests;
use crate::fetch::client::Client;
use crate::listing;
use crate::listing::named::{Named, What};
use crate::listing::reader::Reader;
use crate::listing::target::Target;
use crate::terminal::output::{self, Output, note};
use crate::values::{duration, map};

#[derive(Args)]
#[command(mut_arg("stack", |stack| stack.help("Compare what the tables of this CloudFormation stack list, as the old side")))]
pub(crate) struct Diff {
    /// Old side: a site (https://host/), a sitemap, a folder, a file, s3://bucket/prefix, or content (.jsonl). With
    /// --stack, the new side
    #[arg(value_name = "A")]
    a: String,
    /// New side, like A; not with --stack
    #[arg(value_name = "B", required_unless_present_any = ["stack", "config_env", "deployment"])]
    b: Option<String>,
    /// Compare only these fields of pages that both sides list
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "loc,lastmod,images,alternates,videos,news"
    )]
    fields: Vec<Field>,
    /// Ignore URLs that match, such as '/tag/*' (repeatable)
    #[arg(long, value_name = "PATTERN")]
    ignore: Vec<String>,
    /// Treat lastmods this close as equal, such as 1m
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = within)]
    lastmod_within: Duration,
    /// Treat URLs at origin A as URLs at origin B, for a staging host (repeatable)
    #[arg(long, value_name = "A=B", value_parser = map)]
    map_url: Vec<(String, String)>,
    /// What earlier builds called --map-url
    #[arg(long, hide = true, value_name = "A=B", value_parser = not_map)]
    map: Option<String>,
    /// Read each side's sitemaps at its own origin, even if it refers to another host
    #[arg(long)]
    same_origin: bool,
    /// Compare URLs byte for byte, without normalizing them
    #[arg(long)]
    exact: bool,
    /// Print only the counts
    #[arg(long)]
    summary: bool,
    /// Output format [default: text; json with --json]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Exit with 1 only if more pages are gone, such as 1% or 100
    #[arg(long, value_name = "N", value_parser = MaxRemoved::parse)]
    max_removed: Option<MaxRemoved>,
    /// Site of --stack to compare [default: the other side's host, or the only site]
    #[arg(long, value_name = "HOST")]
    site: Option<String>,
    #[command(flatten)]
    deployed: Deployed,
    /// Number of sitemaps to read in parallel
    #[arg(long, value_name = "N", default_value_t = 4)]
    jobs: usize,
    #[command(flatten)]
    requests: Requests,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Field {
    Loc,
    Lastmod,
    Images,
    Alternates,
    Videos,
    News,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    Text,
    Json,
    Csv,
    Markdown,
}

fn not_map(_: &str) -> Result<String, &'static str> {
    Err("is for --map-url: --map says where `check` and `import` fetch from")
}

fn within(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        text => duration(text),
    }
}

impl Diff {
    /// Compares the sides. Status 0: no difference, or no more removals than `--max-removed`. 1: there are. 2: a side could not be read
    /// whole.
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let sides = self.sides().await?;
        let urls = sides.iter().filter_map(What::origin).map(str::to_owned);
        let client = Client::new(self.requests.asking(urls, &[])?);
        let reader = Reader {
            client: &client,
            reading: Arc::new(Reading {
                max_bytes: MAX_BYTES,
                maps: self.map_url.clone(),
                is_exact: self.exact,
                ..Reading::default()
            }),
            jobs: self.jobs,
            same_origin: self.same_origin,
        };
        let pages = Arc::new(Pages::new(Ignored::new(self.ignore.clone()), self.exact));
        for (what, side) in sides.iter().zip([Side::A, Side::B]) {
            let sided: Arc<dyn listing::pages::Pages> = Arc::new(Sided(pages.clone(), side));
            what.read(&reader, &sided).await?;
        }
        let pages = Arc::into_inner(pages).ok_or(anyhow!("a reader is left"))?;
        let format = match (self.format, output.format()) {
            (Some(FormatName::Text), _) | (None, output::Format::Text) => Format::Text,
            (Some(FormatName::Json), _) | (None, _) => Format::Json,
            (Some(FormatName::Csv), _) => Format::Csv,
            (Some(FormatName::Markdown), _) => Format::Markdown,
        };
        let fields = self.compared();
        let mut report = Report::new(
            output,
            format,
            [sides[0].name(), sides[1].name()],
            self.summary,
        );
        let comparing = tokio::task::block_in_place(|| {
            pages.compare(&fields, |files, loc, change| {
                report.change(files, loc, change)
            })
        });
        let (counts, _) = comparing?;
        report.end(&counts)?;
        if let Some(text) = respelled(&counts) {
            note(text);
        }
        let fails = match self.max_removed {
            Some(most) => most.is_exceeded(&counts),
            None => counts.gone + counts.new + counts.changed > 0,
        };
        Ok(ExitCode::from(u8::from(fails)))
    }

    fn compared(&self) -> Fields {
        let has = |field: Field| self.fields.contains(&field);
        let of = |part: &Part| match part {
            Part::Images => has(Field::Images),
            Part::Alternates => has(Field::Alternates),
            Part::Videos => has(Field::Videos),
            Part::News => has(Field::News),
        };
        Fields {
            lastmod: has(Field::Lastmod),
            parts: Part::ALL.each_ref().map(of),
            within: self.lastmod_within.as_secs().try_into().unwrap_or(i64::MAX),
        }
    }

    /// Returns the two sides. With a deployment, its tables are the old side, and A is the new side.
    async fn sides(&self) -> Result<[What; 2]> {
        let a = self.named(&self.a).await?;
        let Some(b) = &self.b else {
            let located = self.deployed.locate(Purpose::Read).await?;
            let located = located.ok_or_else(no_deployment)?;
            let sites = all_sites(&*located.target.objects).await;
            let sites = sites.map_err(EngineError::from)?;
            let site = self.site_of("the deployment", &sites, a.host())?;
            let table = What::Table(Box::new(located), site.clone());
            let a = a.open(|side, sites| self.site_of(side, sites, Some(&site)));
            return Ok([table, a.await?]);
        };
        if self.deployed.is_given() {
            return Err(anyhow!(
                "--stack, --config-env or --deployment is the old side: give only the new side"
            ));
        }
        let b = self.named(b).await?;
        let is_bucket = |named: &Named| matches!(named, Named::Target(Target::Bucket(..)));
        if self.deployed.account() != Account::default() && ![&a, &b].into_iter().any(is_bucket) {
            let text =
                "--region and --profile are only for --stack, --config-env, --deployment and s3://";
            return Err(anyhow!(text));
        }
        let hosts = [a.host(), b.host()].map(|host| host.map(str::to_owned));
        let a = a.open(|side, sites| self.site_of(side, sites, hosts[1].as_deref()));
        let b = b.open(|side, sites| self.site_of(side, sites, hosts[0].as_deref()));
        Ok([a.await?, b.await?])
    }

    async fn named(&self, text: &str) -> Result<Named> {
        Named::parse(text, self.deployed.account(), self.requests.timeout).await
    }

    /// Chooses which of a side's sites is compared.
    fn site_of(&self, side: &str, sites: &[String], other: Option<&str>) -> Result<String> {
        let mapped = other.map(|host| {
            let is_of = |(from, _): &&(String, String)| from.ends_with(&format!("://{host}"));
            let to = self
                .map_url
                .iter()
                .find(is_of)
                .and_then(|(_, to)| to.split_once("://"));
            to.map_or(host, |(_, host)| host)
        });
        let wanted = self
            .site
            .as_deref()
            .or(mapped.filter(|host| sites.iter().any(|site| site == host)));
        match (wanted, sites) {
            (Some(host), sites) if sites.iter().any(|site| site == host) => Ok(host.to_owned()),
            (None, [only]) => Ok(only.clone()),
            (None, []) => Err(anyhow!("{side} has no site")),
            (wanted, sites) => {
                let wanted =
                    wanted.map_or("several sites".to_owned(), |host| format!("no site {host}"));
                let known = sites.join(", ");
                Err(anyhow!(
                    "{side} has {wanted}: choose one with --site: {known}"
                ))
            }
        }
    }
}
