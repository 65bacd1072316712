//! `waymark redrive`

use std::io;
use std::process::ExitCode;

use aws::Aws;
use aws::environment;
use clap::Args;
use cli::output::Output;
use cli::redrive::{Outcome, redrive};
use cli::target::{TIMEOUTS, Target};

use super::{Failure, readable};

#[derive(Args)]
pub(super) struct Redrive {
    /// The deployment that the environment names (CONTENT_TABLE, SITEMAP_TABLE, BUCKET_NAME, SITES, SOURCE_TABLE,
    /// SOURCE_MAPPING, FAILURE_BUCKET, and AWS's own variables)
    #[arg(long, required = true)]
    deployment: bool,
}

impl Redrive {
    /// Status 0: the failure bucket is empty, or holds only what came to it meanwhile. 1: something is left. 2: nothing
    /// was replayed.
    pub(super) async fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let target = readable(Target::from_environment()?).await?;
        let failures = environment::failures(&Aws::of_operator(TIMEOUTS))?;
        let mut written: io::Result<()> = Ok(());
        let report = |key: &str, outcome: &Outcome| {
            // A full disk does not keep a batch from being replayed.
            let line = output.line(format!("{key}: {outcome}"));
            if written.is_ok() {
                written = line;
            }
        };
        let left = redrive(&target, &failures, report).await?;
        written?;
        output.line(format!("left: {left}"))?;
        Ok(ExitCode::from(u8::from(left > 0)))
    }
}
