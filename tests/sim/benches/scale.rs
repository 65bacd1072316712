//! Runs the large scenarios, and prints a line for each figure.
//!
//! `cargo bench -p waymark-sim --bench scale -- [--pages N] [NAME]...`

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use clap::Parser;
use sim::scale::{Job, Size, Trouble, jobs};
use sim::template::TEMPLATE;

/// With the C library's allocator, freeing the values of a million pages takes minutes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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

/// The result of a scenario: its lines, and the number of its figures that miss their aim.
type Printed = (String, u32);

#[expect(
    clippy::disallowed_methods,
    reason = "how long a scenario takes here is no part of its world"
)]
fn printed((name, run): Job, slack: f64) -> Printed {
    let begun = Instant::now();
    // The other scenarios continue, and so does the process, which waits for all of them.
    let figures = catch_unwind(AssertUnwindSafe(run));
    let figures = figures.unwrap_or_else(|_| Err("it panics".to_owned()));
    let figures = match figures {
        Ok(figures) => figures,
        Err(error) => return (format!("{name}: MISSED: {error}"), 1),
    };
    let seconds = begun.elapsed().as_secs_f64();
    let missed = figures
        .iter()
        .filter(|figure| !figure.is_within(slack))
        .count();
    let lines = figures.iter().map(|figure| format!("\n  {figure}"));
    let lines: String = lines.collect();
    (
        format!("{name} ({seconds:.1} s here){lines}"),
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
    println!(
        "sites of {pages} pages, unless a scenario has its own; ParallelizationFactor {factor}"
    );
    let size = Size {
        pages,
        factor,
        trouble,
    };
    let jobs: Vec<(Mutex<Option<Job>>, OnceLock<Printed>)> = jobs(size, &names)
        .into_iter()
        .map(|job| (Mutex::new(Some(job)), OnceLock::new()))
        .collect();
    if jobs.len() < names.len() {
        eprintln!("not all of these are scenarios, or one is named twice: {names:?}");
        return ExitCode::FAILURE;
    }
    let next = AtomicUsize::new(0);
    let missed = thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((job, done)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let job = job.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let job = job.expect("each job is taken once");
                    let _is_first = done.set(printed(job, f64::from(slack) / 100.0));
                }
            });
        }
        let mut missed = 0;
        for (_, done) in &jobs {
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
