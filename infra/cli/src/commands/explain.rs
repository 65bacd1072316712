//! `waymark explain`

use std::process::ExitCode;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use cli::explain::explain;
use cli::output::Output;

use super::{Failure, Place};

#[derive(Args)]
pub(super) struct Explain {
    /// Its address, or its record's id
    #[arg(value_name = "URL|ID", value_parser = NonEmptyStringValueParser::new())]
    what: String,
    #[command(flatten)]
    place: Place,
}

impl Explain {
    pub(super) async fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let explanation = explain(&self.place.readable().await?, &self.what).await?;
        output.text(&explanation.text)?;
        Ok(ExitCode::from(u8::from(!explanation.known)))
    }
}
