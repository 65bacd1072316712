//! `waymark`: the local stack and the operator's command.

use std::process::ExitCode;

use clap::Parser;
use local::output::{Log, note};
use tracing_subscriber::EnvFilter;

mod commands;

/// Status of a command that could not tell: usage, network, permissions, a scan under way.
const COULD_NOT_TELL: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn,dynoxide=error".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false) // what is logged quotes records: every escape sequence in it is foreign
        .with_writer(|| Log)
        .init();
    commands::Cli::parse()
        .run()
        .await
        .unwrap_or_else(|failure| {
            note(format!("waymark: {failure}"));
            ExitCode::from(COULD_NOT_TELL)
        })
}
