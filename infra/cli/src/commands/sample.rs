//! `waymark sample`

use std::process::ExitCode;

use aws::Clock;
use cli::output::{Format, Output};
use cli::sample::sample;
use serde_json::Value;

use super::Failure;

pub(super) fn run(output: &mut Output) -> Result<ExitCode, Failure> {
    let text = sample(Clock::system().now());
    match output.format() {
        Format::Text => output.document(&text)?,
        // The lines are JSON already: here they are one document.
        _ => {
            let records = text.lines().map(serde_json::from_str);
            let records: Result<Vec<Value>, _> = records.collect();
            output.json(&records.map_err(std::io::Error::from)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
