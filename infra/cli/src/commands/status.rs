//! `waymark status`

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cli::comparing::Sizes;
use cli::left_out::LeftOut;
use cli::output::{Format, Output, note};
use cli::status::{Look, look};
use cli::text::{Text, Tone};
use cli::until::{Goal, Waited, until};
use serde::Serialize;

use super::import::host;
use super::place::{Located, Named, Purpose};
use super::requests::duration;
use super::{Failure, Place};
use crate::COULD_NOT_TELL;

mod watch;

/// Examples of each reason with `--left-out`.
const EXAMPLES: &str = "20";

#[derive(Args)]
pub(super) struct Status {
    /// Look at this site alone
    #[arg(long, value_name = "HOST", value_parser = host)]
    site: Option<String>,
    /// Count what is listed and left out, by reason. Reads the whole sitemap table
    #[arg(long, conflicts_with = "site")]
    count: bool,
    /// The same, with N examples of each reason [default: 20]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = EXAMPLES,
        conflicts_with = "site")]
    left_out: Option<usize>,
    /// Look again and again, until Ctrl-C [default: each 5s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "5s",
        value_parser = duration, conflicts_with_all = ["count", "left_out", "until"])]
    watch: Option<Duration>,
    /// Print each look as a line of JSON
    #[arg(long, requires = "watch")]
    pub(super) jsonl: bool,
    /// Wait until all that was written before is published, or until no scan goes on; status 1 if it is not so in time
    #[arg(long, value_name = "STATE")]
    until: Option<State>,
    /// Wait no longer for --until, such as 90s or 30m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30m", requires = "until")]
    timeout: Duration,
    /// End with status 1 if there are problems: of settings, refused by IndexNow, or batches in the failure bucket
    #[arg(long, value_name = "WHAT")]
    fail_on: Option<FailOn>,
    #[command(flatten)]
    place: Place,
}

/// What `--until` waits for.
#[derive(Clone, Copy, ValueEnum)]
enum State {
    /// Every change that was written before is in the published files
    Published,
    /// No scan goes on, and no site is on its first load
    Idle,
}

/// What status 1 is for.
#[derive(Clone, Copy, ValueEnum)]
enum FailOn {
    /// Anything that is left to a person
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
    status: &'a cli::status::Status,
    /// How `--until` ended.
    until: Option<&'a Waited>,
    /// What is left out, with `--count` or `--left-out`.
    left_out: Option<&'a LeftOut>,
}

impl Status {
    /// Status 0: it is so. 1: it is not, with `--until` or `--fail-on`. 2: it could not be told.
    pub(super) async fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        if self.watch.is_some() && output.format() == Format::Json {
            let text = "--watch has no end, and --json prints one document: give --jsonl, for one each look";
            return Err(Failure::Usage(text.to_owned()));
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
                interrupt.map_err(Failure::Signal)?;
                note("interrupted: nothing was changed. The same command looks again");
                Ok(ExitCode::from(COULD_NOT_TELL))
            }
        }
    }

    async fn once(&self, located: &Located, output: &mut Output) -> Result<ExitCode, Failure> {
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
                output.text(&told(waited))?;
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
    async fn look(&self, located: &Located, clock: bool) -> Result<cli::status::Status, Failure> {
        let what = Look {
            site: self.site.clone(),
            clock,
        };
        let mut status = look(&located.target, &what).await?;
        if let Some(host) = self.site.as_ref().filter(|_| status.sites.is_empty())
            && self.until.is_none()
        {
            return Err(Failure::NoSite(host.clone()));
        }
        status.failures_waiting = match located.failures_if_any() {
            None => None,
            Some(bucket) => match bucket.waiting().await {
                Ok(waiting) => Some(waiting),
                Err(error) => {
                    let error = Failure::Store(error.into());
                    if self.fail_on.is_some() {
                        return Err(error);
                    }
                    note(format!("the failure bucket was not looked at: {error}"));
                    None
                }
            },
        };
        Ok(status)
    }

    fn answer<'a>(&self, located: &'a Located, status: &'a cli::status::Status) -> Answer<'a> {
        Answer {
            version: env!("CARGO_PKG_VERSION"),
            stack: located.named(),
            status,
            until: None,
            left_out: None,
        }
    }

    fn text(&self, located: &Located, status: &cli::status::Status) -> Text {
        let mut text = status.text();
        let command = env!("CARGO_PKG_VERSION");
        if let Some(stack) = &located.stack {
            let version = stack.version.as_deref().unwrap_or("of no version");
            let (name, region) = (&stack.name, &stack.region);
            text.line(format!(
                "stack {name} in {region}: {version}; this command: {command}"
            ));
        }
        text
    }

    fn fails(&self, status: &cli::status::Status) -> bool {
        let problems = status.problems();
        let fails = self.fail_on.is_some() && !problems.is_empty();
        if fails {
            note(format!("problems: {}", problems.join(", ")));
        }
        fails
    }
}

/// How waiting ended, in lines for people.
fn told(waited: &Waited) -> Text {
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
