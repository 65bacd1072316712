//! `waymark redrive`

use std::io;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::deployment::args::{Deployed, Purpose, no_deployment};
use crate::redrive::{Outcome, Redriven, redrive};
use crate::terminal::output::{Format, Output};
use crate::terminal::text::Tone;

#[derive(Args)]
pub(crate) struct Redrive {
    #[command(flatten)]
    deployed: Deployed,
    /// Replay even if the stack's version differs from this command's
    #[arg(long)]
    ignore_version: bool,
    /// Print each object's outcome as a JSON line at once, then the summary
    #[arg(long, conflicts_with = "json")]
    pub(crate) jsonl: bool,
}

/// What redriving came to, in the command's JSON. As lines, it is the last one.
#[derive(Serialize)]
struct Summary {
    /// Objects that are left.
    left: usize,
    /// What came of each. As lines, these come before.
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<Vec<Redriven>>,
}

impl Redrive {
    /// Replays the failed batches. Status 0: the failure bucket is empty, or has only what came to it meanwhile. 1: something is left. 2:
    /// nothing was replayed.
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let purpose = Purpose::Change {
            ignore_version: self.ignore_version,
        };
        let located = self.deployed.locate(purpose).await?;
        let located = located.ok_or_else(no_deployment)?.readable().await?;
        let failures = located.failures()?;
        let format = output.format();
        let mut written: io::Result<()> = Ok(());
        let mut objects = Vec::new();
        let report = |key: &str, outcome: &Outcome| {
            let tone = match outcome {
                Outcome::Left(_) => Tone::Bad,
                _ => Tone::Good,
            };
            // A full disk does not keep a batch from being replayed.
            let line = match format {
                Format::Text => output.toned(tone, format!("{key}: {outcome}")),
                Format::Json => {
                    objects.push(Redriven::of(key, outcome));
                    Ok(())
                }
                Format::JsonLines => output.json(&Redriven::of(key, outcome)),
            };
            if written.is_ok() {
                written = line;
            }
        };
        let left = redrive(&located.target, &failures, report).await?;
        written?;
        match format {
            Format::Text => output.line(format!("left: {left}"))?,
            format => output.json(&Summary {
                left,
                objects: (format == Format::Json).then_some(objects),
            })?,
        }
        Ok(ExitCode::from(u8::from(left > 0)))
    }
}
