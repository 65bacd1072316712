//! `waymark status`

use std::process::ExitCode;

use clap::Args;
use cli::left_out::LeftOut;
use cli::output::Output;
use cli::status::status;

use super::{Failure, Place};

#[derive(Args)]
pub(super) struct Status {
    /// Show also what is left out, by reason, with N examples of each [default: 20]. Reads the whole sitemap table
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "20")]
    left_out: Option<usize>,
    #[command(flatten)]
    place: Place,
}

impl Status {
    pub(super) async fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let target = self.place.target().await?;
        output.text(&status(&target).await?)?;
        if let Some(examples) = self.left_out {
            let left_out = LeftOut::of(&target.reconciler, examples).await?;
            output.text(&left_out.text())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
