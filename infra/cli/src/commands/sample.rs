//! `waymark sample`

use std::process::ExitCode;

use aws::Clock;
use cli::output::Output;
use cli::sample::sample;

use super::Failure;

pub(super) fn run(output: &mut Output) -> Result<ExitCode, Failure> {
    output.document(&sample(Clock::system().now()))?;
    Ok(ExitCode::SUCCESS)
}
