//! Runs the scenarios at size, and prints a line a figure: `cargo bench -p waymark-sim --bench scale -- [--pages N] [NAME]...`

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::Parser;
use sim::scale::{SCENARIOS, Scenario, Size, Trouble};
use sim::template::TEMPLATE;

/// Run scenarios at size in the simulated world.
#[derive(Parser)]
struct Arguments {
    /// Pages of a loaded site
    #[arg(long, default_value_t = 10_000)]
    pages: usize,
    /// Batches of one stream shard of content handled at once
    #[arg(long, default_value_t = TEMPLATE.content.factor)]
    factor: usize,
    /// Percent by which a figure may miss what it should be: on small sites the draws decide
    #[arg(long, default_value_t = 0)]
    slack: u8,
    /// What is in trouble for an hour: nothing may be lost, and what was left undone must be done in the end
    #[arg(long, value_parser = trouble)]
    trouble: Option<Trouble>,
    /// Scenarios; without any, all
    names: Vec<String>,
    /// What cargo says to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn trouble(name: &str) -> Result<Trouble, String> {
    match name {
        "throttled" => Ok(Trouble::Throttled),
        "bucket" => Ok(Trouble::Bucket),
        "stops" => Ok(Trouble::Stops),
        _ => Err("throttled, bucket or stops".to_owned()),
    }
}

/// What came of a scenario: its lines, and how many of its figures are not as they should be.
type Outcome = (String, u32);

#[expect(
    clippy::disallowed_methods,
    reason = "how long a scenario takes here is no part of its world"
)]
fn outcome((name, scenario): Scenario, size: Size, slack: f64) -> Outcome {
    let begun = Instant::now();
    // The others go on, and so does the process, which waits for all of them.
    let figures = catch_unwind(|| scenario(size));
    let figures = figures.unwrap_or_else(|_| Err("it panics".to_owned()));
    let figures = match figures {
        Ok(figures) => figures,
        Err(error) => return (format!("{name}, {} pages: MISSED: {error}", size.pages), 1),
    };
    let seconds = begun.elapsed().as_secs_f64();
    let missed = figures
        .iter()
        .filter(|figure| !figure.is_within(slack))
        .count();
    let lines = figures.iter().map(|figure| format!("\n  {figure}"));
    let lines: String = lines.collect();
    (
        format!("{name}, {} pages ({seconds:.1} s here){lines}", size.pages),
        missed as u32,
    )
}

fn main() -> ExitCode {
    let Arguments {
        pages,
        factor,
        slack,
        trouble,
        names,
        ..
    } = Arguments::parse();
    println!("ParallelizationFactor {factor}");
    let size = Size {
        pages,
        factor,
        trouble,
    };
    let wanted =
        |(name, _): &Scenario| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let wanted: Vec<Scenario> = SCENARIOS.into_iter().filter(wanted).collect();
    let next = AtomicUsize::new(0);
    let done: Vec<OnceLock<Outcome>> = wanted.iter().map(|_| OnceLock::new()).collect();
    let missed = thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(n) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < wanted.len())
                {
                    let _is_first = done[n].set(outcome(wanted[n], size, f64::from(slack) / 100.0));
                }
            });
        }
        let mut missed = 0;
        for done in &done {
            let (lines, of_it) = done.wait();
            println!("{lines}");
            missed += of_it;
        }
        missed
    });
    println!("{missed} missed, by more than {slack} %");
    if missed > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
