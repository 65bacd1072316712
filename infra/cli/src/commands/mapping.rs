//! `waymark mapping`

use std::path::PathBuf;
use std::process::ExitCode;

use aws::Clock;
use clap::Args;
use cli::mapping::{compact, tell};
use cli::output::{Output, note};

use super::{Failure, problems, read_file, read_mapping};

#[derive(Args)]
pub(super) struct Mapping {
    /// The mapping, JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print what becomes of this item instead: JSON as `aws dynamodb get-item` prints it, or plain
    #[arg(long, value_name = "FILE")]
    item: Option<PathBuf>,
}

impl Mapping {
    pub(super) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        // No table is read: any name will do.
        let source = match read_mapping("source", &self.file) {
            Ok(source) => source,
            Err(Failure::Mapping { file, error }) => {
                note(format!("waymark: {}: malformed", file.display()));
                for problem in problems(&error) {
                    note(format!("  {problem}"));
                }
                return Ok(ExitCode::FAILURE);
            }
            Err(failure) => return Err(failure),
        };
        match self.item {
            Some(item) => {
                let now = Clock::system().now();
                output.text(&tell(&source, &read_file(&item)?, now)?)?;
            }
            None => output.document(&format!("{}\n", compact(&read_file(&self.file)?)))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
