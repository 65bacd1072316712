//! `waymark status`

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use engine::error::EngineError;
use serde::Serialize;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::deployment::args::{Located, Named, Place, Purpose, no_site};
use crate::deployment::target::Sizes;
use crate::error::COMMAND_FAILED;
use crate::error::{self, no_signals};
use crate::status::exclusions::LeftOut;
use crate::status::wait::{Goal, Waited, until};
use crate::status::{Look, look};
use crate::terminal::output::{Format, Output, note};
use crate::terminal::text::{Text, Tone};
use crate::values::duration;
use crate::values::host;

/// Examples of each reason with `--left-out`.
const EXAMPLES: &str = "20";

/// How often it looks what changes next by the clock: that takes more calls than the rest.
const CLOCK_EVERY: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Status {
    /// Show only this site
    #[arg(long, value_name = "HOST", value_parser = host)]
    site: Option<String>,
    /// Count listed and excluded pages, by reason; reads both tables completely
    #[arg(long, conflicts_with = "site")]
    count: bool,
    /// Like --count, with N examples of each reason [default: 20]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = EXAMPLES,
        conflicts_with = "site")]
    left_out: Option<usize>,
    /// Repeat at this interval until Ctrl-C [default: 5s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "5s",
        value_parser = duration, conflicts_with_all = ["count", "left_out", "until"])]
    watch: Option<Duration>,
    /// Print each --watch result as a JSON line
    #[arg(long, requires = "watch")]
    pub(crate) jsonl: bool,
    /// Wait for this state; exit with 1 if --timeout passes first
    #[arg(long, value_name = "STATE")]
    until: Option<State>,
    /// Maximum wait for --until, such as 90s or 30m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30m", requires = "until")]
    timeout: Duration,
    /// Exit with 1 if there are problems that need a person
    #[arg(long, value_name = "WHAT")]
    fail_on: Option<FailOn>,
    #[command(flatten)]
    place: Place,
}

/// What `--until` waits for.
#[derive(Clone, Copy, ValueEnum)]
enum State {
    /// Every record written so far is in the sitemaps
    Published,
    /// No scan or first load is running
    Idle,
}

/// What status 1 is for.
#[derive(Clone, Copy, ValueEnum)]
enum FailOn {
    /// Invalid settings, URLs refused by IndexNow, unreadable scans, batches in the failure bucket
    Problems,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    /// The command's version.
    version: &'static str,
    /// The stack; `null` if none was named.
    stack: Option<Named<'a>>,
    #[serde(flatten)]
    status: &'a crate::status::Status,
    /// How `--until` ended.
    until: Option<&'a Waited>,
    /// What is left out, with `--count` or `--left-out`.
    left_out: Option<&'a LeftOut>,
}

impl Status {
    /// Shows the status. Status 0: it is so. 1: it is not, with `--until` or `--fail-on`. 2: it is not known.
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        if self.watch.is_some() && output.format() == Format::Json {
            let text = "--json prints one document, and --watch never ends: give --jsonl for a document each time";
            return Err(anyhow!(text));
        }
        let running = async {
            let mut located = self.place.locate(Purpose::Read).await?;
            if matches!(self.until, Some(State::Published)) {
                // What is made from other content would look wrong for ever.
                located = located.readable().await?;
            }
            let reads_tables = self.count || self.left_out.is_some();
            if reads_tables || matches!(self.until, Some(State::Published)) {
                located.target.sizes = Sizes::of(&located.clients, &located.target).await;
            }
            match self.watch {
                Some(period) => self.watch(&located, period, output).await,
                None => self.once(&located, output).await,
            }
        };
        if self.watch.is_some() {
            // It ends itself at Ctrl-C, with what it saw last.
            return running.await;
        }
        tokio::select! {
            done = running => done,
            interrupt = tokio::signal::ctrl_c() => {
                interrupt.map_err(no_signals)?;
                note("interrupted: nothing was changed");
                Ok(ExitCode::from(COMMAND_FAILED))
            }
        }
    }

    async fn once(&self, located: &Located, output: &mut Output) -> Result<ExitCode> {
        let target = &located.target;
        let waited = match self.until {
            Some(state) => {
                let goal = match state {
                    State::Published => Goal::Published,
                    State::Idle => Goal::Idle,
                };
                Some(until(target, goal, self.site.as_deref(), self.timeout).await?)
            }
            None => None,
        };
        let status = self.look(located, true).await?;
        let is_text = output.format() == Format::Text;
        if is_text {
            // It is there at once. What is left out takes longer.
            output.text(&self.text(located, &status))?;
        }
        let examples = match (self.left_out, self.count) {
            (Some(examples), _) => Some(examples),
            (None, true) => Some(0),
            (None, false) => None,
        };
        let left_out = match examples {
            Some(examples) => {
                let rows = target.sizes.rows;
                Some(LeftOut::of_about(&target.reconciler, examples, rows).await?)
            }
            None => None,
        };
        if is_text {
            if let Some(left_out) = &left_out {
                let LeftOut { listed, parts, .. } = left_out;
                output.line(format_args!(
                    "listed: {listed} pages, {parts} further parts"
                ))?;
                output.text(&left_out.text())?;
            }
            if let Some(waited) = &waited {
                output.text(&outcome(waited))?;
            }
        } else {
            let answer = Answer {
                until: waited.as_ref(),
                left_out: left_out.as_ref(),
                ..self.answer(located, &status)
            };
            output.json(&answer)?;
        }
        let is_reached = waited.is_none_or(|waited| waited.reached);
        Ok(ExitCode::from(u8::from(!is_reached || self.fails(&status))))
    }

    /// Looks, with `clock` also at what changes next by the clock.
    async fn look(&self, located: &Located, clock: bool) -> Result<crate::status::Status> {
        let what = Look {
            site: self.site.clone(),
            clock,
        };
        let mut status = look(&located.target, &what).await?;
        if let Some(host) = self.site.as_ref().filter(|_| status.sites.is_empty())
            && self.until.is_none()
        {
            return Err(no_site(host));
        }
        status.failures_waiting = match located.failures_if_any() {
            None => None,
            Some(bucket) => match bucket.waiting().await {
                Ok(waiting) => Some(waiting),
                Err(error) => {
                    let error = anyhow::Error::from(EngineError::from(error));
                    if self.fail_on.is_some() {
                        return Err(error);
                    }
                    let why = error::message(&error);
                    note(format!("the failure bucket was not checked: {why}"));
                    None
                }
            },
        };
        Ok(status)
    }

    fn answer<'a>(&self, located: &'a Located, status: &'a crate::status::Status) -> Answer<'a> {
        Answer {
            version: env!("CARGO_PKG_VERSION"),
            stack: located.named(),
            status,
            until: None,
            left_out: None,
        }
    }

    fn text(&self, located: &Located, status: &crate::status::Status) -> Text {
        let mut text = status.text();
        let command = env!("CARGO_PKG_VERSION");
        if let Some(stack) = &located.stack {
            let version = stack.version.as_deref().unwrap_or("unknown version");
            let (name, region) = (&stack.name, &stack.region);
            text.line(format!(
                "stack {name} in {region}: {version}; this command: {command}"
            ));
        }
        text
    }

    fn fails(&self, status: &crate::status::Status) -> bool {
        let problems = status.problems();
        let fails = self.fail_on.is_some() && !problems.is_empty();
        if fails {
            note(format!("problems: {}", problems.join(", ")));
        }
        fails
    }

    /// Prints a picture that is drawn again on a terminal, and elsewhere a line a look, until it is interrupted.
    async fn watch(
        &self,
        located: &Located,
        period: Duration,
        output: &mut Output,
    ) -> Result<ExitCode> {
        let is_drawn = output.format() == Format::Text && std::io::stdout().is_terminal();
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut clock: Option<(Instant, crate::status::Status)> = None;
        let mut fails = false;
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        loop {
            let looking = async {
                ticks.tick().await;
                let is_due = |(at, _): &(Instant, _)| at.elapsed() >= CLOCK_EVERY;
                let looks_at_clock = clock.as_ref().is_none_or(is_due);
                let status = self.look(located, looks_at_clock).await?;
                Ok::<_, anyhow::Error>((status, looks_at_clock))
            };
            let (mut status, looked_at_clock) = tokio::select! {
                looked = looking => looked?,
                interrupted = &mut interrupt => {
                    interrupted.map_err(no_signals)?;
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

/// Formats how waiting ended, as lines for people.
fn outcome(waited: &Waited) -> Text {
    let Waited {
        goal,
        reached,
        seconds,
        left,
        left_count,
    } = waited;
    let mut text = Text::default();
    if *reached {
        text.toned(Tone::Good, format!("{} after {seconds:.1} s", goal.name()));
        return text;
    }
    text.toned(
        Tone::Bad,
        format!("not {} after {seconds:.1} s. Left:", goal.name()),
    );
    for what in left {
        text.line(format!("  {what}"));
    }
    if let Some(more @ 1..) = left_count.checked_sub(left.len()) {
        text.line(format!("  … and {more} more"));
    }
    text
}
