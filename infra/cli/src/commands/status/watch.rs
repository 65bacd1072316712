//! `waymark status --watch`: a picture that is drawn again on a terminal, elsewhere a line a look.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use cli::output::{Format, Output};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{Failure, Located, Status};

/// How often it looks what changes next by the clock: that takes more calls than the rest.
const CLOCK_EVERY: Duration = Duration::from_secs(60);

impl Status {
    pub(super) async fn watch(
        &self,
        located: &Located,
        period: Duration,
        output: &mut Output,
    ) -> Result<ExitCode, Failure> {
        let is_drawn = output.format() == Format::Text && std::io::stdout().is_terminal();
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut clock: Option<(Instant, cli::status::Status)> = None;
        let mut fails = false;
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        loop {
            let looking = async {
                ticks.tick().await;
                let is_due = |(at, _): &(Instant, _)| at.elapsed() >= CLOCK_EVERY;
                let looks_at_clock = clock.as_ref().is_none_or(is_due);
                let status = self.look(located, looks_at_clock).await?;
                Ok::<_, Failure>((status, looks_at_clock))
            };
            let (mut status, looked_at_clock) = tokio::select! {
                looked = looking => looked?,
                interrupted = &mut interrupt => {
                    interrupted.map_err(Failure::Signal)?;
                    return Ok(ExitCode::from(u8::from(fails)));
                }
            };
            if looked_at_clock {
                clock = Some((Instant::now(), status.clone()));
            } else if let Some((_, before)) = &clock {
                status.remember_clock(before);
            }
            match output.format() {
                Format::Text if is_drawn => output.redraw(&self.text(located, &status))?,
                Format::Text => output.line(status.line())?,
                _ => output.json(&self.answer(located, &status))?,
            }
            if output.is_closed() {
                return Ok(ExitCode::from(u8::from(fails)));
            }
            fails = self.fail_on.is_some() && !status.problems().is_empty();
        }
    }
}
