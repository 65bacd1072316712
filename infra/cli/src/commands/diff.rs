//! `waymark diff`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use check::address::origin_of;
use check::compare::{Fields, Side};
use check::page::{Part, Reading};
use clap::{Args, ValueEnum};
use cli::check::fetch::{Asking, Client};
use cli::diff::report::{Format, Report};
use cli::diff::side::Reader;
use cli::diff::{Ignored, MaxRemoved, Pages, Target};
use cli::output::{self, Output};
use objects::all_sites;
use sitemap::loc::{Loc, Origin};
use sitemap::site::MAX_BYTES;

use super::Failure;
use super::check::{Rate, duration, header, map, rate};
use super::place::{Deployed, Located, Purpose};

#[derive(Args)]
pub(super) struct Diff {
    /// What was: a site (https://host/), a sitemap or index (its URL), a folder, or a file. With --stack the only side
    #[arg(value_name = "A")]
    a: String,
    /// What is: the same
    #[arg(value_name = "B", required_unless_present_any = ["stack", "config_env", "deployment"])]
    b: Option<String>,
    /// Compare these alone of a page that both list
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "loc,lastmod,images,alternates,videos,news"
    )]
    fields: Vec<Field>,
    /// Leave out addresses that match, such as '/tag/*'; repeatable
    #[arg(long, value_name = "PATTERN")]
    ignore: Vec<String>,
    /// Take lastmods that are no further apart for the same, such as 1m
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = within)]
    lastmod_within: Duration,
    /// Take addresses at origin A for those at origin B, as of a staging host; repeatable
    #[arg(long, value_name = "A=B", value_parser = map)]
    map: Vec<(String, String)>,
    /// Print the counts alone
    #[arg(long)]
    summary: bool,
    /// The form of the result [default: text; json with --json]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Status 1 only if more pages are gone than this, such as 1% or 100
    #[arg(long, value_name = "N", value_parser = MaxRemoved::parse)]
    max_removed: Option<MaxRemoved>,
    /// The site of --stack that is compared [default: B's host, or the only one]
    #[arg(long, value_name = "HOST")]
    site: Option<String>,
    #[command(flatten)]
    deployed: Deployed,
    /// Read so many sitemaps at once
    #[arg(long, value_name = "N", default_value_t = 4)]
    jobs: usize,
    /// Send at most so many requests a second, such as 10/s; 0 for no limit
    #[arg(long, value_name = "N/s", default_value = "10/s", value_parser = rate)]
    rate: Rate,
    /// Wait so long for a whole answer, such as 30s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    timeout: Duration,
    /// Try again so often what may pass
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// Send a header to the sides' hosts. For a secret name a variable: "Authorization: $TOKEN"; repeatable
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// How to introduce itself
    #[arg(long, value_name = "TEXT", default_value = concat!("waymark-diff/", env!("CARGO_PKG_VERSION")))]
    user_agent: String,
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

fn within(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        text => duration(text),
    }
}

/// A side: a deployment's site, or what anyone can read.
enum What {
    Table(Box<Located>, String),
    Target(Target),
}

impl What {
    fn name(&self) -> String {
        match self {
            Self::Table(_, site) => format!("the tables of {site}"),
            Self::Target(target) => target.name(),
        }
    }
}

impl Diff {
    /// Status 0: no difference, or no more removals than `--max-removed`. 1: there are. 2: a side could not be read whole.
    pub(super) async fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let sides = self.sides().await?;
        let urls = sides.iter().filter_map(|side| match side {
            What::Target(Target::Site(url) | Target::Sitemap(url)) => origin_of(url),
            _ => None,
        });
        let client = Client::new(Asking {
            rate: self.rate,
            timeout: self.timeout,
            retries: self.retries,
            headers: self.header.clone(),
            user_agent: self.user_agent.clone(),
            maps: Vec::new(),
            origins: urls.map(str::to_owned).collect(),
        });
        let reader = Reader {
            client: &client,
            reading: Arc::new(Reading {
                is_encoded: false,
                max_bytes: MAX_BYTES,
                maps: self.map.clone(),
            }),
            jobs: self.jobs,
        };
        let pages = Arc::new(Pages::new(Ignored::new(self.ignore.clone())));
        for (what, side) in sides.iter().zip([Side::A, Side::B]) {
            match what {
                What::Target(target) => reader.read(target, side, &pages).await?,
                What::Table(located, site) => {
                    let table = &located.target.reconciler.table;
                    reader.read_table(table, site, side, &pages).await?;
                }
            }
        }
        let pages = Arc::into_inner(pages).ok_or(Failure::Usage("a reader is left".to_owned()))?;
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

    /// With a deployment, its tables are what was, and A is what is.
    async fn sides(&self) -> Result<[What; 2], Failure> {
        let Some(b) = &self.b else {
            let target = target(&self.a)?;
            let located = self.deployed.locate(Purpose::Read).await?;
            let located = located.ok_or(Failure::NoDeployment)?;
            let site = self.site_of(&located, &target).await?;
            return Ok([What::Table(Box::new(located), site), What::Target(target)]);
        };
        if self.deployed.is_given() {
            return Err(Failure::Usage(
                "--stack, --config-env or --deployment is one of the two sides: give A alone"
                    .to_owned(),
            ));
        }
        Ok([What::Target(target(&self.a)?), What::Target(target(b)?)])
    }

    async fn site_of(&self, located: &Located, target: &Target) -> Result<String, Failure> {
        let sites = all_sites(&*located.target.objects).await;
        let sites = sites.map_err(engine::error::EngineError::from)?;
        let host = match target {
            Target::Site(url) | Target::Sitemap(url) => {
                let origin = origin_of(url).unwrap_or_default();
                origin.split_once("://").map(|(_, host)| host.to_owned())
            }
            Target::Folder(_) | Target::File(_) => None,
        };
        let mapped = host.as_ref().map(|host| {
            let is_of = |(from, _): &&(String, String)| from.ends_with(&format!("://{host}"));
            let to = self
                .map
                .iter()
                .find(is_of)
                .and_then(|(_, to)| to.split_once("://"));
            to.map_or(host.clone(), |(_, host)| host.to_owned())
        });
        let wanted = self.site.clone().or(mapped);
        match (wanted, sites.as_slice()) {
            (Some(host), sites) if sites.contains(&host) => Ok(host),
            (None, [only]) => Ok(only.clone()),
            (wanted, sites) => {
                let wanted =
                    wanted.map_or("several sites".to_owned(), |host| format!("no site {host}"));
                let known = sites.join(", ");
                Err(Failure::Usage(format!(
                    "the deployment has {wanted}: name one by --site, of {known}"
                )))
            }
        }
    }
}

fn target(text: &str) -> Result<Target, Failure> {
    if text.starts_with("http://") || text.starts_with("https://") {
        let url =
            Loc::parse_any(text).map_err(|error| Failure::Usage(format!("{text}: {error}")))?;
        return Ok(match Origin::parse(url.as_str()) {
            Ok(origin) => Target::Site(origin.as_str().to_owned()),
            Err(_) => Target::Sitemap(url.as_str().to_owned()),
        });
    }
    let path = PathBuf::from(text);
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Ok(Target::Folder(path)),
        Ok(_) => Ok(Target::File(path)),
        Err(error) => Err(Failure::File { file: path, error }),
    }
}
