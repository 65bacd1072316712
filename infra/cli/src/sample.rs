//! `waymark sample`

use std::process::ExitCode;

use anyhow::Result;
use aws::Clock;
use serde_json::Value;

use crate::content::sample::sample;
use crate::terminal::output::{Format, Output};

pub(crate) fn run(output: &mut Output) -> Result<ExitCode> {
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
