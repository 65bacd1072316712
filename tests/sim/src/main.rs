//! Runs generated histories until they have enough steps, and prints their digest.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use sim::cases::{drawn, drawn_in_bulk, publish_many, run, run_all, shortened};
use sim::run::Report;
use sim::runtime::mix;

/// Worlds allocate and free many small values.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Run histories of the engine in a simulated world.
#[derive(Parser)]
#[command(name = "waymark-sim")]
struct Arguments {
    /// Draw histories and faults from this number
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// End after the history in which this step falls
    #[arg(long, default_value_t = 20_000)]
    steps: u64,
    /// Run this history alone
    #[arg(long)]
    case: Option<u64>,
    /// End at the first violation, and do not look for a shorter history
    #[arg(long)]
    first: bool,
    /// Begin each history with a first load in bulk
    #[arg(long)]
    bulk: bool,
    /// Publish so many pages instead, and say what they take
    #[arg(long)]
    pages: Option<usize>,
    /// Print what the functions log
    #[arg(long)]
    log: bool,
}

fn main() -> ExitCode {
    let Arguments {
        seed,
        steps,
        case,
        first,
        bulk,
        pages,
        log,
    } = Arguments::parse();
    if log {
        tracing_subscriber::fmt().without_time().init();
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "how long a run takes is no part of the simulated world"
    )]
    let begun = Instant::now();
    if let Some(pages) = pages {
        let before = peak_kilobytes();
        let published = publish_many(seed, pages);
        let seconds = begun.elapsed().as_secs_f64();
        let bytes = (peak_kilobytes() - before) * 1_024 / pages.max(1) as u64;
        println!("{seconds:.1} s, peak memory {bytes} bytes a page");
        return match published {
            Ok((calls, virtual_seconds)) => {
                println!(
                    "{pages} pages published in {calls} calls and {virtual_seconds} virtual seconds"
                );
                ExitCode::SUCCESS
            }
            Err(error) => {
                println!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let drawn = if bulk { drawn_in_bulk } else { drawn };
    let outcomes = match case {
        Some(case) => BTreeMap::from([(case, run(&drawn(seed, case)))]),
        None => run_all(drawn, seed, steps, first),
    };
    let (mut total, mut digest, mut violations) = (Report::default(), seed, 0);
    for (case, outcome) in &outcomes {
        total += &outcome.report;
        digest = mix(digest ^ outcome.digest);
        if let Some(violation) = &outcome.violation {
            violations += 1;
            println!("case {case} of seed {seed}: {violation}");
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{total}");
    let milliseconds = seconds * 1_000.0 / total.steps.max(1) as f64;
    let peak = peak_kilobytes() / 1_024;
    println!("{seconds:.1} s, {milliseconds:.2} ms a step, peak memory {peak} MB");
    println!(
        "seed {seed}: {} steps, {} faults, digest {digest:016x}, {violations} violations",
        total.steps, total.faults
    );
    let mut found = outcomes.iter();
    let found = found.find(|(_, outcome)| outcome.violation.is_some());
    if let Some((case, _)) = found.filter(|_| !first) {
        // It may take as long as all of the above.
        println!("shorter: {}", shortened(&drawn(seed, *case)));
    }
    ExitCode::from(u8::from(violations > 0))
}

/// Returns the peak memory of this process in kilobytes, or 0 if the system does not report it.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
