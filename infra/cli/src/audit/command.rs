//! `waymark audit`

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use engine::sweep::audit::{Finding, Problem};
use serde::Serialize;

use crate::audit::{Ended, audit};
use crate::deployment::args::Place;
use crate::deployment::args::Purpose;
use crate::deployment::target::Sizes;
use crate::error::COMMAND_FAILED;
use crate::error::no_signals;
use crate::terminal::output::{Format, Output, note};
use crate::terminal::text::Tone;

/// Longer than a change takes from its event to the bucket.
const PAUSE: Duration = Duration::from_secs(4);

#[derive(Args)]
pub(crate) struct Audit {
    /// Repair the differences found
    #[arg(long)]
    repair: bool,
    /// Repair even if the stack's version differs from this command's
    #[arg(long, requires = "repair")]
    ignore_version: bool,
    /// Report only this problem, such as object_lost (repeatable)
    #[arg(long, value_name = "PROBLEM", value_parser = PossibleValuesParser::new(Problem::ALL.map(Problem::name)),
        conflicts_with = "repair", hide_possible_values = true)]
    only: Vec<String>,
    /// Print each finding as a JSON line at once, then the summary
    #[arg(long, conflicts_with = "json")]
    pub(crate) jsonl: bool,
    #[command(flatten)]
    place: Place,
}

/// A finding in the command's JSON.
#[derive(Serialize)]
struct Found {
    problem: &'static str,
    what: String,
    detail: String,
    harmless: bool,
}

impl Found {
    fn of(finding: &Finding) -> Self {
        Self {
            problem: finding.problem.name(),
            what: finding.what.clone(),
            detail: finding.detail.clone(),
            harmless: finding.problem.is_harmless(),
        }
    }
}

/// What the audit came to, in the command's JSON. As lines, it is the last one.
#[derive(Serialize)]
struct Summary {
    /// Whether everything is as it should be, by now.
    ok: bool,
    /// What is wrong, by problem.
    wrong: BTreeMap<&'static str, u64>,
    /// What was repaired, by problem.
    repaired: BTreeMap<&'static str, u64>,
    /// All that was found, in the order in which it was. As lines, these come before.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<Found>>,
}

impl Audit {
    /// Runs the audit. Status 0: nothing is wrong, or nothing any more. 1: something is wrong. 2: nothing was looked at.
    pub(crate) async fn run(self, output: &mut Output) -> Result<ExitCode> {
        let repair = self.repair;
        tokio::select! {
            done = self.audit(output) => done,
            interrupt = tokio::signal::ctrl_c() => {
                interrupt.map_err(no_signals)?;
                note(match repair {
                    false => "interrupted: nothing was changed; run the same command to start again",
                    true => "interrupted: finished repairs are kept; run the same command again to repair the rest",
                });
                Ok(ExitCode::from(COMMAND_FAILED))
            }
        }
    }

    fn reports(&self, problem: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == problem)
    }

    async fn audit(self, output: &mut Output) -> Result<ExitCode> {
        let purpose = match self.repair {
            false => Purpose::Read,
            true => Purpose::Change {
                ignore_version: self.ignore_version,
            },
        };
        let mut located = self.place.locate(purpose).await?;
        located.target.sizes = Sizes::of(&located.clients, &located.target).await;
        let format = output.format();
        let mut written: io::Result<()> = Ok(());
        let mut found = BTreeSet::new();
        let mut findings = Vec::new();
        let report = |finding: &Finding| {
            // Each round of a repair finds what the one before has left.
            if !self.reports(finding.problem.name()) || !found.insert(name(finding)) {
                return;
            }
            // A full disk does not keep anything from being repaired.
            let line = match format {
                Format::Text if finding.problem.is_harmless() => {
                    output.toned(Tone::Notable, format!("{finding} (harmless)"))
                }
                Format::Text => output.toned(Tone::Bad, finding),
                Format::Json => {
                    findings.push(Found::of(finding));
                    Ok(())
                }
                Format::JsonLines => output.json(&Found::of(finding)),
            };
            if written.is_ok() {
                written = line;
            }
        };
        let ended = audit(&located.target, self.repair, PAUSE, report).await?;
        written?;
        let left = match ended {
            Ended::Whole(left) => left,
            Ended::Misread(misread) => return Err(located.misread(misread)),
            Ended::Busy => {
                note(
                    "waymark: nothing was compared: a scan is running; audit again when `waymark status` shows idle",
                );
                return Ok(ExitCode::from(COMMAND_FAILED));
            }
        };
        let remaining: BTreeSet<_> = left.iter().map(name).collect();
        let wrong = left.iter().filter(|finding| !finding.problem.is_harmless());
        let wrong = wrong.filter(|finding| self.reports(finding.problem.name()));
        let wrong: Vec<_> = wrong.map(name).collect();
        let repaired = if self.repair {
            counted(found.difference(&remaining))
        } else {
            BTreeMap::new()
        };
        let wrong = counted(&wrong);
        let ok = wrong.is_empty();
        if format == Format::Text {
            if !repaired.is_empty() {
                output.toned(Tone::Good, format!("repaired: {}", listed(&repaired)))?;
            }
            if ok && !self.only.is_empty() {
                let only = self.only.join(", ");
                output.toned(Tone::Good, format!("found no {only}"))?;
            } else if ok {
                output.toned(Tone::Good, "everything is as it should be")?;
            } else {
                output.toned(Tone::Bad, format!("wrong: {}", listed(&wrong)))?;
            }
        } else {
            output.json(&Summary {
                ok,
                wrong,
                repaired,
                findings: (format == Format::Json).then_some(findings),
            })?;
        }
        Ok(ExitCode::from(u8::from(!ok)))
    }
}

/// A finding in any round: its details may change from one to the next.
type Name = (&'static str, String);

fn name(finding: &Finding) -> Name {
    (finding.problem.name(), finding.what.clone())
}

/// Counts the findings by their problem.
fn counted<'a>(findings: impl IntoIterator<Item = &'a Name>) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for (problem, _) in findings {
        *counts.entry(*problem).or_default() += 1;
    }
    counts
}

/// Formats the counts as one line: `object_lost 1, row_lost 2`.
fn listed(counts: &BTreeMap<&'static str, u64>) -> String {
    let counts = counts.iter();
    let counts = counts.map(|(problem, count)| format!("{problem} {count}"));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_counted_by_problem() {
        let names = [("row_lost", "a"), ("object_lost", "x"), ("row_lost", "b")];
        let names = names.map(|(problem, what)| (problem, what.to_owned()));
        assert_eq!(listed(&counted(&names)), "object_lost 1, row_lost 2");
    }
}
