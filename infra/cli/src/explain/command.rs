//! `waymark explain`

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::content::STDIN_NAME;
use crate::deployment::args::{Located, Place, Purpose};
use crate::error::COMMAND_FAILED;
use crate::error::no_signals;
use crate::explain::list::{Counts, List, Malformed, Row};
use crate::explain::{Explanation, explain, explain_all};
use crate::files::failed;
use crate::terminal::output::{Format, Output, note};

#[derive(Args)]
pub(crate) struct Explain {
    /// Page to explain: its URL, or the id of its record
    #[arg(value_name = "URL|ID", value_parser = NonEmptyStringValueParser::new(), required_unless_present = "from")]
    what: Option<String>,
    /// Explain each URL or id in a file: one per line, or a CSV column URL; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "what")]
    from: Option<PathBuf>,
    /// Output format with --from
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "table",
        requires = "from"
    )]
    format: ListFormat,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// One line per page
    Table,
    /// Comma-separated values
    Csv,
    /// JSON, like --json
    Json,
}

/// What came of a file, as JSON.
#[derive(Serialize)]
struct Answer {
    known: bool,
    counts: Counts,
    explained: Vec<Explanation>,
    malformed: Vec<Malformed>,
}

impl Explain {
    /// Returns whether its own option asks for JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.from.is_some() && self.format == ListFormat::Json
    }

    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        tokio::select! {
            done = self.explain(output) => done,
            interrupt = tokio::signal::ctrl_c() => {
                interrupt.map_err(no_signals)?;
                note("interrupted: nothing was changed; run the same command to start again");
                Ok(ExitCode::from(COMMAND_FAILED))
            }
        }
    }

    async fn explain(&self, output: &mut Output) -> Result<ExitCode> {
        let list = match &self.from {
            Some(file) => Some(read(file.clone()).await?),
            None => None,
        };
        let located = self.place.locate(Purpose::Read).await?.readable().await?;
        if let Some(list) = list {
            return self.explain_list(&located, list, output).await;
        }
        let what = self.what.as_deref().unwrap_or_default();
        let explanation = explain(&located.target, what).await?;
        match output.format() {
            Format::Text => output.text(&explanation.text)?,
            _ => output.json(&explanation)?,
        }
        Ok(ExitCode::from(u8::from(!explanation.known)))
    }

    async fn explain_list(
        &self,
        located: &Located,
        list: List,
        output: &mut Output,
    ) -> Result<ExitCode> {
        let is_json = output.format() != Format::Text;
        let is_csv = self.format == ListFormat::Csv && !is_json;
        let mut counts = Counts {
            malformed: list.malformed.len() as u64,
            ..Counts::default()
        };
        if is_csv {
            output.document(&format!("{}\n", Row::COLUMNS))?;
        }
        let mut explained = Vec::new();
        let mut written: io::Result<()> = Ok(());
        explain_all(&located.target, &list.asked, |explanation| {
            let row = Row::of(&explanation);
            counts.add(&row);
            let printed = if is_json {
                explained.push(explanation);
                Ok(())
            } else if is_csv {
                output.document(&format!("{}\n", row.csv()))
            } else {
                output.line(row.line())
            };
            if written.is_ok() {
                written = printed;
            }
        })
        .await?;
        written?;
        if is_json {
            output.json(&Answer {
                known: counts.are_known(),
                counts,
                explained,
                malformed: list.malformed,
            })?;
        } else {
            let file = self.from.clone().unwrap_or_default();
            for Malformed { line, reason } in &list.malformed {
                note(format!("{}:{line}: {reason}", file.display()));
            }
            note(counts);
        }
        Ok(ExitCode::from(u8::from(!counts.are_known())))
    }
}

async fn read(file: PathBuf) -> Result<List> {
    let reading = tokio::task::spawn_blocking(move || {
        let opened: io::Result<Box<dyn Read>> = match file.as_os_str() == STDIN_NAME {
            true => Ok(Box::new(io::stdin())),
            false => File::open(&file).map(|file| Box::new(file) as _),
        };
        let list = opened.and_then(List::read);
        list.map_err(|error| failed(&file, error))
    });
    Ok(reading.await??)
}
