//! `waymark mapping`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use aws::Clock;
use aws::environment::content;
use clap::{Arg, Args};
use engine::content::SourceTable;
use serde::Serialize;
use sitemap::loc::Origin;

use super::archives::{Paths, SLUG, archives};
use super::sample::{self, Key};
use super::suggest::suggest;
use super::survey::{Survey, survey};
use crate::deployment::args::{Deployed, Ports, Purpose};
use crate::deployment::source_table::{MappingFileError, problems, read_mapping};
use crate::files::read;
use crate::mapping::{self, Form, Item, MappedItem, compact, items_of, map_item, map_items};
use crate::terminal::output::{Format, Output, note};
use crate::terminal::text::{counted, json_escaped};

/// The options that say where the table of `--archives` or `--table` is.
const OF_A_TABLE: [&str; 7] = [
    "stack",
    "config_env",
    "deployment",
    "region",
    "profile",
    "dynamodb_port",
    "s3_port",
];

#[derive(Args)]
#[command(mut_args(of_a_table))]
pub(crate) struct Mapping {
    /// Field mapping, a JSON file
    #[arg(value_name = "FILE", required_unless_present = "suggest")]
    file: Option<PathBuf>,
    /// Show the records made from these items: JSON from `aws dynamodb scan`, query or get-item, or one in plain JSON
    #[arg(long, value_name = "FILE")]
    item: Option<PathBuf>,
    /// Print a record for each archive of this table's pages that has none, as JSON Lines for `waymark load`
    #[arg(long, value_name = "TABLE", group = READS, conflicts_with = "item")]
    archives: Option<String>,
    /// Path of a taxonomy's archives on their site, such as category=/category/{slug}/ (repeatable)
    #[arg(long, value_name = "TAXONOMY=PATH", value_parser = archive_url, requires = "archives")]
    archive_url: Vec<(String, String)>,
    /// Count for each field how many of these items have it: as for --item, a list, or JSON Lines
    #[arg(long, value_name = "FILE", group = SAMPLE, conflicts_with_all = ["item", "archives"])]
    items: Option<PathBuf>,
    /// Count the same for the first items of this table
    #[arg(long, value_name = "NAME", groups = [SAMPLE, READS], conflicts_with_all = ["item", "archives"])]
    table: Option<String>,
    /// Items to read of the table
    #[arg(long, value_name = "N", default_value_t = 100, requires = "table", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    sample: u32,
    /// Propose a mapping for the items, and say what is unsure
    #[arg(long, requires = SAMPLE, conflicts_with = "file")]
    suggest: bool,
    /// Scheme and host of the pages, for a proposal
    #[arg(long, value_name = "URL", requires = "suggest", value_parser = origin)]
    origin: Option<String>,
    #[command(flatten)]
    deployed: Deployed,
    #[command(flatten)]
    ports: Ports,
}

/// The options that read a table, and those that name a sample.
const READS: &str = "reads";
const SAMPLE: &str = "a sample";

fn of_a_table(arg: Arg) -> Arg {
    match OF_A_TABLE.contains(&arg.get_id().as_str()) {
        true => arg.requires(READS),
        false => arg,
    }
}

fn origin(text: &str) -> Result<String, String> {
    let origin = Origin::parse(text).map_err(|error| error.to_string())?;
    Ok(origin.as_str().to_owned())
}

fn archive_url(text: &str) -> Result<(String, String), &'static str> {
    let (taxonomy, path) = text.split_once('=').ok_or("is not TAXONOMY=PATH")?;
    let rest = path.replace(SLUG, "");
    let is_path = path.starts_with('/') && !path.starts_with("//");
    match is_path && rest != path && !rest.contains(['{', '}', '#']) {
        true => Ok((taxonomy.to_owned(), path.to_owned())),
        false => Err("the path must begin with / and contain {slug}, which is the term"),
    }
}

/// What is said of a mapping in the command's JSON.
#[derive(Serialize)]
struct Checked {
    /// Whether it can be used.
    valid: bool,
    /// What is wrong with it.
    problems: Vec<String>,
    /// It in the form for a parameter; `null` if it cannot be used.
    parameter: Option<String>,
}

fn surveyed(source: &SourceTable, items: Vec<Item>) -> Survey {
    let now = Clock::system().now();
    let mapped = items.into_iter().map(|item| map_item(source, item, now));
    let mapped: Vec<MappedItem> = mapped.collect();
    survey(source.mapping().field_names(), &mapped)
}

impl Mapping {
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let is_json = output.format() != Format::Text;
        let Some(file) = &self.file else {
            return self.suggest(output).await;
        };
        // Unless a table is read, any name will do.
        let table = self.archives.as_ref().or(self.table.as_ref());
        let table = table.map_or("source", String::as_str);
        let source = match read_mapping(table, file) {
            Ok(source) => source,
            Err(MappingFileError::Mapping { error, .. }) if is_json => {
                output.json(&Checked {
                    valid: false,
                    problems: problems(&error),
                    parameter: None,
                })?;
                return Ok(ExitCode::FAILURE);
            }
            Err(MappingFileError::Mapping { file, error }) => {
                note(format!("waymark: {}: malformed", file.display()));
                for problem in problems(&error) {
                    note(format!("  {problem}"));
                }
                return Ok(ExitCode::FAILURE);
            }
            Err(error) => return Err(error.into()),
        };
        if self.archives.is_some() {
            return self.archives(source, output).await;
        }
        if let Some((items, _)) = self.items().await? {
            let survey = surveyed(&source, items);
            match is_json {
                true => output.json(&survey)?,
                false => output.text(&survey.text())?,
            }
            return Ok(ExitCode::from(u8::from(survey.is_bad())));
        }
        match self.item {
            Some(item) => {
                let now = Clock::system().now();
                let (mapped, form) = map_items(&source, &read(&item)?, now)?;
                match (is_json, form, mapped.as_slice()) {
                    (true, Form::One, [mapped]) => output.json(mapped)?,
                    (true, ..) => output.json(&mapped)?,
                    (false, ..) => {
                        for mapped in &mapped {
                            output.text(&mapped.text())?;
                        }
                    }
                }
                if mapped.iter().any(MappedItem::is_bad) {
                    return Ok(ExitCode::FAILURE);
                }
            }
            None if is_json => output.json(&Checked {
                valid: true,
                problems: Vec::new(),
                parameter: Some(compact(&read(file)?)),
            })?,
            None => output.document(&format!("{}\n", compact(&read(file)?)))?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Reads the sample, and the key of its table. Returns `None` if none is given.
    async fn items(&self) -> Result<Option<(Vec<Item>, Option<Key>)>> {
        if let Some(file) = &self.items {
            return Ok(Some((items_of(&read(file)?)?, None)));
        }
        let Some(table) = &self.table else {
            return Ok(None);
        };
        let located = match self.deployed.locate(Purpose::Read).await? {
            Some(located) => located,
            None => self.ports.locate(None).await?,
        };
        let client = located.clients.dynamodb().await;
        let key = sample::key(client, table).await?;
        let items = sample::items(client, table, self.sample as usize).await?;
        Ok(Some((items, Some(key))))
    }

    async fn suggest(self, output: &mut Output) -> Result<ExitCode> {
        let (items, key) = self.items().await?.unwrap_or_default();
        let suggestion = suggest(&items, key, self.origin.as_deref());
        let Some(suggestion) = suggestion else {
            return Err(anyhow!("there are no items to propose a mapping for"));
        };
        if output.format() != Format::Text {
            output.json(&suggestion)?;
            return Ok(ExitCode::SUCCESS);
        }
        output.document(&format!("{:#}\n", suggestion.mapping))?;
        note("unsure:");
        for unsure in &suggestion.unsure {
            note(format!("  {unsure}"));
        }
        let source = mapping::read("source", &suggestion.mapping.to_string());
        let source = source.map_err(|error| anyhow!("the proposal is no mapping: {error}"))?;
        let Survey { items, listed, .. } = surveyed(&source, items);
        let items = counted(items, "item");
        note(format!(
            "with it, {} of {items} would be listed",
            listed.count
        ));
        Ok(ExitCode::SUCCESS)
    }

    async fn archives(self, source: SourceTable, output: &mut Output) -> Result<ExitCode> {
        let located = match self.deployed.locate(Purpose::Read).await? {
            Some(located) => located,
            None => self.ports.locate(None).await?,
        };
        let (target, table) = (&located.target, source.name().to_owned());
        if [&target.content_table, &target.sitemap_table].contains(&&table) {
            return Err(anyhow!(
                "{table} is one of Waymark's own tables: give the name of your own"
            ));
        }
        let env = &target.reconciler.env;
        let own = target.content_table.clone();
        let content = content(&located.clients, own, Some(source), env);
        let paths: Paths = self.archive_url.into_iter().collect();
        let Some(archives) = archives(&content, &paths).await? else {
            return Err(anyhow!("{table}: no item is a page by this mapping"));
        };
        if output.format() == Format::Text {
            for record in &archives.records {
                let line = json_escaped(&record.to_string()).into_owned();
                output.document(&format!("{line}\n"))?;
            }
            archives.notes().iter().for_each(note);
        } else {
            output.json(&archives)?;
        }
        let is_whole = archives.without_url.is_empty();
        Ok(ExitCode::from(u8::from(!is_whole)))
    }
}
