//! `waymark import`

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use aws::Clock;
use clap::{Args, ValueEnum};
use sitemap::language::{LanguageError, check_language};
use sitemap::mapping::ExportMapping;
use sitemap::time::Zone;
use tokio::runtime::Handle;

use crate::deployment::source_table::MappingFileError;
use crate::error::COMMAND_FAILED;
use crate::fetch::args::Requests;
use crate::fetch::client::Client;
use crate::files::record_file::{self, Out};
use crate::files::{is_folder, read};
use crate::import::{Options, Place, Report, STDIN_NAME, SourceKind, import};
use crate::terminal::output::{Format, Output, note};
use crate::terminal::text::json_escaped;
use crate::values::{host, map, origin, since, url};

/// What becomes of the alternates of a sitemap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Alternates {
    /// Keep them in each record
    Keep,
    /// Turn pages that all list each other into a translation group
    Group,
}

#[derive(Args)]
pub(crate) struct Import {
    /// A site with its scheme (https://host/), a URL, a folder of sitemaps, a file, or - for standard input
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
    /// Format of the sources: sitemap, wxr, csv, json, jsonl, feed, urls or redirects [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = from)]
    from: Option<SourceKind>,
    /// Field mapping for csv, json and jsonl (docs/MAPPING.md; without key, optionally with items and id)
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Write the records to this file, gzipped if it ends in .gz [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write the report to this file, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Replace the prefix A of addresses by B (repeatable)
    #[arg(long, value_name = "A=B", value_parser = map_url)]
    map_url: Vec<(String, String)>,
    /// Import only pages of this host; relative addresses belong to it
    #[arg(long, value_name = "HOST", value_parser = host)]
    site: Option<String>,
    /// Language for records without one
    #[arg(long, value_name = "CODE", value_parser = language)]
    language: Option<String>,
    /// Import only pages changed since this time or day, or without a date
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<i64>,
    /// Handling of a sitemap's alternates
    #[arg(long, value_enum, default_value = "keep")]
    alternates: Alternates,
    /// Import only these WordPress post types, such as post,page,product [default: those that seem public]
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Time zone of WordPress dates that are not in GMT, such as Europe/Berlin or +01:00
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    zone: Option<Zone>,
    /// Also write records for a WordPress export's front page and term archives
    #[arg(long)]
    archives: bool,
    /// Address pattern of a taxonomy's archives, such as category=/topics/{path}/ (repeatable)
    #[arg(long, value_name = "TAXONOMY=PATH", value_parser = archive_url, requires = "archives")]
    archive_url: Vec<(String, String)>,
    /// Also write each site's settings record
    #[arg(long)]
    settings: bool,
    /// Fetch what is at origin A from origin B, such as `https://www.example.com=http://127.0.0.1:8080` (repeatable)
    #[arg(long, value_name = "A=B", value_parser = map)]
    map: Vec<(String, String)>,
    #[command(flatten)]
    requests: Requests,
}

fn from(text: &str) -> Result<SourceKind, String> {
    let known = SourceKind::ALL.into_iter().find(|from| from.name() == text);
    known.ok_or_else(|| {
        format!(
            "is not one of {}",
            SourceKind::ALL.map(SourceKind::name).join(", ")
        )
    })
}

fn language(text: &str) -> Result<String, LanguageError> {
    check_language(text)?;
    Ok(text.to_owned())
}

fn zone(text: &str) -> Result<Zone, &'static str> {
    Zone::parse(text).ok_or("is not a time zone such as Europe/Berlin, UTC or +01:00")
}

fn map_url(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("is not A=B")?;
    for url in [from, to] {
        sitemap::loc::Loc::parse_any(url).map_err(|error| format!("{url}: {error}"))?;
    }
    let bare = |url: &str| url.trim_end_matches('/').to_owned();
    Ok((bare(from), bare(to)))
}

fn archive_url(text: &str) -> Result<(String, String), &'static str> {
    let (taxonomy, path) = text.split_once('=').ok_or("is not TAXONOMY=PATH")?;
    let is_place = path.starts_with('/')
        && ["{path}", "{slug}", "{id}"]
            .iter()
            .any(|part| path.contains(part));
    match is_place {
        true => Ok((taxonomy.to_owned(), path.to_owned())),
        false => Err("the path must begin with / and contain {path}, {slug} or {id}"),
    }
}

impl Import {
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let is_json = output.format() != Format::Text;
        if is_json && self.output.is_none() {
            let text = "--json needs --output FILE: the report and the records cannot both go to standard output; or \
                        give --report FILE instead of --json";
            return Err(anyhow!(text));
        }
        let places = self.places()?;
        let options = self.options()?;
        let origins = places.iter().filter_map(|(_, place)| match place {
            Place::Site(origin) => Some(origin.clone()),
            Place::Url(url) => check::url::origin_of(url).map(str::to_owned),
            _ => None,
        });
        let client = Client::new(self.requests.asking(origins, &self.map)?);
        let mut out = match &self.output {
            Some(path) => Out::file(path, false)?,
            None => Out::stdout(false),
        };
        let runtime = Handle::current();
        let importing = tokio::task::spawn_blocking(move || {
            let report = import(&places, &options, client, runtime, &mut out);
            report.map(|report| (report, out))
        });
        let (report, out) = importing.await??;
        if let Some(path) = &self.output {
            out.finish(path)?;
        }
        if let Some(path) = &self.report {
            let text = serde_json::to_string_pretty(&report).map_err(io::Error::from)?;
            record_file::write(path, format!("{}\n", json_escaped(&text)).as_bytes())?;
        }
        if is_json {
            output.json(&report)?;
        } else {
            for line in str::lines(&report.text()) {
                note(line);
            }
        }
        Ok(status(&report))
    }

    fn places(&self) -> Result<Vec<(String, Place)>> {
        let mut places = Vec::new();
        for name in &self.sources {
            let place = if name == STDIN_NAME {
                Place::Stdin
            } else if let Some(url) = url(name) {
                let url = url?;
                match origin(url.as_str()) {
                    Ok(origin) => Place::Site(origin),
                    Err(_) => Place::Url(url.as_str().to_owned()),
                }
            } else {
                let path = PathBuf::from(name);
                match is_folder(name)? {
                    true => Place::Folder(path),
                    false => Place::File(path),
                }
            };
            places.push((name.clone(), place));
        }
        Ok(places)
    }

    fn options(&self) -> Result<Options> {
        let mapping = match &self.mapping {
            Some(file) => Some(ExportMapping::parse(&read(file)?).map_err(|error| {
                let file = file.clone();
                MappingFileError::Mapping { file, error }
            })?),
            None => None,
        };
        Ok(Options {
            from: self.from,
            mapping,
            map_urls: self.map_url.clone(),
            site: self.site.clone(),
            language: self.language.clone(),
            since: self.since,
            groups: self.alternates == Alternates::Group,
            types: self.types.iter().cloned().collect(),
            zone: self.zone.clone(),
            archives: self.archives,
            archive_urls: self.archive_url.iter().cloned().collect(),
            settings: self.settings,
            now: Clock::system().now(),
        })
    }
}

/// Returns the exit status: 2 if no record came of any source, 1 if one of them was not whole.
fn status(report: &Report) -> ExitCode {
    match (report.is_nothing(), report.is_whole()) {
        (true, _) => ExitCode::from(COMMAND_FAILED),
        (false, false) => ExitCode::FAILURE,
        (false, true) => ExitCode::SUCCESS,
    }
}
