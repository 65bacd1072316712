//! Runs generated histories until they have had so many steps, and prints their digest.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;
use sim::run::{Outcome, Report, drawn, run};
use sim::runtime::mix;

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
    /// Print what the functions log
    #[arg(long)]
    log: bool,
}

fn main() -> ExitCode {
    let Arguments {
        seed,
        steps,
        case,
        log,
    } = Arguments::parse();
    if log {
        tracing_subscriber::fmt().without_time().init();
    }
    let begun = Instant::now();
    let outcomes = match case {
        Some(case) => BTreeMap::from([(case, outcome(seed, case))]),
        None => all(seed, steps),
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
    println!("{seconds:.1} s");
    println!(
        "seed {seed}: {} steps, {} calls, digest {digest:016x}, {violations} violations",
        total.steps, total.calls
    );
    ExitCode::from(u8::from(violations > 0))
}

fn outcome(seed: u64, case: u64) -> Outcome {
    let (world, history) = drawn(seed, case);
    run(world, &history)
}

/// Histories in the order of their numbers until they have so many steps, on all cores.
fn all(seed: u64, steps: u64) -> BTreeMap<u64, Outcome> {
    // How many there are follows from what is drawn alone, and so does the digest.
    let (mut count, mut drawn_steps) = (0, 0);
    while drawn_steps < steps {
        let (_, history) = drawn(seed, count);
        drawn_steps += history.steps.len() as u64;
        count += 1;
    }
    let (next, outcomes) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= count {
                        return;
                    }
                    let outcome = outcome(seed, case);
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes.insert(case, outcome);
                    }
                }
            });
        }
    });
    outcomes.into_inner().unwrap_or_default()
}
