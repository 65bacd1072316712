//! `waymark mapping`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use aws::Clock;
use clap::Args;
use serde::Serialize;

use crate::deployment::source_table::{MappingFileError, problems, read_mapping};
use crate::files::read;
use crate::mapping::{Form, MappedItem, compact, map_items};
use crate::terminal::output::{Format, Output, note};

#[derive(Args)]
pub(crate) struct Mapping {
    /// Field mapping, a JSON file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show the records made from these items: JSON from `aws dynamodb scan`, query or get-item, or one in plain JSON
    #[arg(long, value_name = "FILE")]
    item: Option<PathBuf>,
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
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode> {
        let is_json = output.format() != Format::Text;
        // No table is read: any name will do.
        let source = match read_mapping("source", &self.file) {
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
}
