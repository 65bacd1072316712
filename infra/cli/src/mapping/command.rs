//! `waymark mapping`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use aws::Clock;
use aws::environment::content;
use clap::{Arg, Args};
use engine::content::SourceTable;
use serde::Serialize;

use super::archives::{Paths, SLUG, archives};
use crate::deployment::args::{Deployed, Ports, Purpose};
use crate::deployment::source_table::{MappingFileError, problems, read_mapping};
use crate::files::read;
use crate::mapping::{Form, MappedItem, compact, map_items};
use crate::terminal::output::{Format, Output, note};
use crate::terminal::text::json_escaped;

/// The options that say where the table of `--archives` is.
const OF_ARCHIVES: [&str; 7] = [
    "stack",
    "config_env",
    "deployment",
    "region",
    "profile",
    "dynamodb_port",
    "s3_port",
];

#[derive(Args)]
#[command(mut_args(of_archives))]
pub(crate) struct Mapping {
    /// Field mapping, a JSON file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show the records made from these items: JSON from `aws dynamodb scan`, query or get-item, or one in plain JSON
    #[arg(long, value_name = "FILE")]
    item: Option<PathBuf>,
    /// Print a record for each archive of this table's pages that has none, as JSON Lines for `waymark load`
    #[arg(long, value_name = "TABLE", conflicts_with = "item")]
    archives: Option<String>,
    /// Path of a taxonomy's archives on their site, such as category=/category/{slug}/ (repeatable)
    #[arg(long, value_name = "TAXONOMY=PATH", value_parser = archive_url, requires = "archives")]
    archive_url: Vec<(String, String)>,
    #[command(flatten)]
    deployed: Deployed,
    #[command(flatten)]
    ports: Ports,
}

fn of_archives(arg: Arg) -> Arg {
    match OF_ARCHIVES.contains(&arg.get_id().as_str()) {
        true => arg.requires("archives"),
        false => arg,
    }
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

impl Mapping {
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let is_json = output.format() != Format::Text;
        // Without --archives no table is read: any name will do.
        let table = self.archives.as_deref().unwrap_or("source");
        let source = match read_mapping(table, &self.file) {
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
                parameter: Some(compact(&read(&self.file)?)),
            })?,
            None => output.document(&format!("{}\n", compact(&read(&self.file)?)))?,
        }
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
