//! Runs the scenarios at size, and prints a line a figure: `cargo bench -p waymark-sim --bench scale -- [--pages N] [NAME]...`

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use sim::scale::{SCENARIOS, Size, Trouble};
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

#[expect(
    clippy::disallowed_methods,
    reason = "how long a scenario takes here is no part of its world"
)]
fn main() -> ExitCode {
    let Arguments {
        pages,
        factor,
        slack,
        trouble,
        names,
        ..
    } = Arguments::parse();
    let mut missed = 0;
    println!("ParallelizationFactor {factor}");
    for (name, scenario) in SCENARIOS {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        let begun = Instant::now();
        match scenario(Size {
            pages,
            factor,
            trouble,
        }) {
            Ok(figures) => {
                let seconds = begun.elapsed().as_secs_f64();
                println!("{name}, {pages} pages ({seconds:.1} s here)");
                for figure in figures {
                    missed += u32::from(!figure.is_within(f64::from(slack) / 100.0));
                    println!("  {figure}");
                }
            }
            Err(error) => {
                missed += 1;
                println!("{name}, {pages} pages: MISSED: {error}");
            }
        }
    }
    println!("{missed} missed, by more than {slack} %");
    if missed > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
