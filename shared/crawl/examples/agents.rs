//! Counts the bots that agents name: one a line on standard input. `agents TIMES` looks for them so many times, to be timed:
//!
//! ```text
//! time cargo run --release -p waymark-crawl --example agents -- 100 < AGENTS
//! ```

use std::io::Read;

fn main() -> std::io::Result<()> {
    let times: u64 = std::env::args()
        .nth(1)
        .and_then(|times| times.parse().ok())
        .unwrap_or(1);
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text)?;
    let lines: Vec<&[u8]> = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    let bots = crawl::bots::Bots::built_in();
    let mut counts = vec![0_u64; bots.all().len()];
    for _ in 0..times {
        for line in &lines {
            if let Some(bot) = bots.named(line) {
                counts[bot.index()] += 1;
            }
        }
    }
    println!("{} agents", times * lines.len() as u64);
    for (bot, count) in bots
        .all()
        .iter()
        .zip(&counts)
        .filter(|(_, count)| **count > 0)
    {
        println!("{count:>12}  {} ({})", bot.name, bot.purpose.name());
    }
    Ok(())
}
