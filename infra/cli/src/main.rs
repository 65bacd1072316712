//! `waymark`: the local stack and the operator's command.

use std::process::ExitCode;

use clap::Parser;
use cli::output::{Log, note};
use tracing_subscriber::EnvFilter;

#[expect(
    clippy::doc_markdown,
    reason = "its documentation is the help text, which is shown without markup"
)]
mod commands;

/// With it a local load takes 12 % less time than with the C library's.
#[cfg(feature = "serve")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Status of a command that could not tell: usage, network, permissions, a scan under way.
const COULD_NOT_TELL: u8 = 2;
/// Bytes of a worker's stack. Unoptimised, the futures of the SDK inside ours need more than tokio's 2 MiB.
const STACK_BYTES: usize = 16 * 1024 * 1024;

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn,dynoxide=error".into());
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
        let what = fault.payload_as_str().unwrap_or("no reason is known");
        note(format!(
            "waymark: a fault of its own{place}: {what}. Please report it"
        ));
    }));
    let command = match commands::Cli::try_parse() {
        Ok(command) => command,
        // Help and the version are its own text. An error quotes arguments.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            let text = error.render().to_string();
            for line in commands::without_passwords(text.trim_end()).split('\n') {
                note(line);
            }
            return ExitCode::from(COULD_NOT_TELL);
        }
    };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.thread_stack_size(STACK_BYTES).enable_all();
    if let Some(workers) = command.workers() {
        runtime.worker_threads(workers);
    }
    let outcome = match runtime.build() {
        // On a worker: the main thread's stack is the system's.
        Ok(runtime) => runtime.block_on(async {
            let running = tokio::spawn(command.run());
            running.await.unwrap_or_else(|error| Err(error.into()))
        }),
        Err(error) => Err(commands::Failure::Runtime(error)),
    };
    outcome.unwrap_or_else(|failure| {
        note(format!("waymark: {failure}"));
        ExitCode::from(COULD_NOT_TELL)
    })
}
