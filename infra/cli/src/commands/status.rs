//! `waymark status`

use std::process::ExitCode;

use clap::Args;
use cli::left_out::LeftOut;
use cli::output::{Format, Output};
use cli::status::status;
use serde::Serialize;

use super::place::{Named, Purpose};
use super::{Failure, Place};

#[derive(Args)]
pub(super) struct Status {
    /// Show also what is left out, by reason, with N examples of each [default: 20]. Reads the whole sitemap table
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "20")]
    left_out: Option<usize>,
    #[command(flatten)]
    place: Place,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    /// The command's version.
    version: &'static str,
    /// The stack; `null` if none was named.
    stack: Option<Named<'a>>,
    #[serde(flatten)]
    status: &'a cli::status::Status,
    /// What is left out, with `--left-out`.
    left_out: Option<&'a LeftOut>,
}

impl Status {
    pub(super) async fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let located = self.place.locate(Purpose::Read).await?;
        let target = &located.target;
        let status = status(target).await?;
        let is_text = output.format() == Format::Text;
        if is_text {
            // It is there at once. What is left out takes longer.
            output.text(&status.text())?;
        }
        let left_out = match self.left_out {
            Some(examples) => Some(LeftOut::of(&target.reconciler, examples).await?),
            None => None,
        };
        match &left_out {
            Some(left_out) if is_text => output.text(&left_out.text())?,
            _ if is_text => {}
            left_out => output.json(&Answer {
                version: env!("CARGO_PKG_VERSION"),
                stack: located.named(),
                status: &status,
                left_out: left_out.as_ref(),
            })?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
