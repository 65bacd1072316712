//! `waymark explain`

use std::process::ExitCode;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use cli::explain::explain;
use cli::output::{Format, Output};

use super::place::Purpose;
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
        let located = self.place.locate(Purpose::Read).await?.readable().await?;
        let explanation = explain(&located.target, &self.what).await?;
        match output.format() {
            Format::Text => output.text(&explanation.text)?,
            _ => output.json(&explanation)?,
        }
        Ok(ExitCode::from(u8::from(!explanation.known)))
    }
}
