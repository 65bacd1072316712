//! `waymark`: the local stack and the operator's command.

use std::process::ExitCode;

use anyhow::{Error, anyhow};
use clap::Parser;
use cli::error::{COMMAND_FAILED, message, nowhere};
use cli::terminal::output::{Log, note};
use cli::values::without_passwords;
use cli::verbs::Cli;
use tracing_subscriber::EnvFilter;

/// With it a local load takes 12 % less time than with the C library's.
#[cfg(feature = "serve")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is logged by default. The SDK's warnings print its structs, and its errors say the same.
const LOGGED: &str = "warn,dynoxide=error,aws_config=error";

/// Bytes of a worker's stack. Unoptimised, the futures of the SDK inside ours need more than tokio's 2 MiB.
const STACK_BYTES: usize = 16 * 1024 * 1024;

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| LOGGED.into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false) // what is logged quotes records: every escape sequence in it is foreign
        .with_writer(|| Log)
        .init();
    // What it says may quote what was read.
    std::panic::set_hook(Box::new(|fault| {
        let place = fault
            .location()
            .map_or(String::new(), |place| format!(" ({place})"));
        let what = fault.payload_as_str().unwrap_or("unknown reason");
        note(format!(
            "waymark: internal error{place}: {what}. Please report this bug"
        ));
    }));
    let command = match Cli::try_parse() {
        Ok(command) => command,
        // Help and the version are its own text. An error quotes arguments.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            let text = error.render().to_string();
            for line in without_passwords(text.trim_end()).split('\n') {
                note(line);
            }
            return ExitCode::from(COMMAND_FAILED);
        }
    };
    run(command).unwrap_or_else(|failure| {
        let text = message(&failure);
        let hint = nowhere(&text, std::env::var("AWS_ENDPOINT_URL").ok().as_deref());
        note(without_passwords(&format!(
            "waymark: {text}{}",
            hint.unwrap_or_default()
        )));
        ExitCode::from(COMMAND_FAILED)
    })
}

fn run(command: Cli) -> Result<ExitCode, Error> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.thread_stack_size(STACK_BYTES).enable_all();
    if let Some(workers) = command.workers() {
        runtime.worker_threads(workers);
    }
    let runtime = runtime
        .build()
        .map_err(|error| anyhow!("cannot start threads: {error}"))?;
    // On a worker: the main thread's stack is the system's.
    runtime.block_on(async { tokio::spawn(command.run()).await? })
}
