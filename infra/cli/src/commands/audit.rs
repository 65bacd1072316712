//! `waymark audit`

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use cli::audit::{Ended, audit};
use cli::output::{Output, note};
use engine::sweep::audit::Finding;

use super::{Failure, Place};
use crate::COULD_NOT_TELL;

/// Longer than a change takes from its event to the bucket.
const PAUSE: Duration = Duration::from_secs(4);

#[derive(Args)]
pub(super) struct Audit {
    /// Repair what is found
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    place: Place,
}

impl Audit {
    /// Status 0: nothing is wrong, or nothing any more. 1: something is. 2: nothing was looked at.
    pub(super) async fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let target = self.place.target().await?;
        let mut written: io::Result<()> = Ok(());
        let mut found = BTreeSet::new();
        let report = |finding: &Finding| {
            // Each round of a repair finds what the one before has left.
            if !found.insert(name(finding)) {
                return;
            }
            let harmless = if finding.problem.is_harmless() {
                " (harmless)"
            } else {
                ""
            };
            // A full disk does not keep anything from being repaired.
            let line = output.line(format!("{finding}{harmless}"));
            if written.is_ok() {
                written = line;
            }
        };
        let ended = audit(&target, self.repair, PAUSE, report).await?;
        written?;
        let left = match ended {
            Ended::Whole(left) => left,
            Ended::Misread(misread) => return Err(misread.into()),
            Ended::Busy => {
                note("waymark: a scan is under way: audit again when it has ended");
                return Ok(ExitCode::from(COULD_NOT_TELL));
            }
        };
        if self.repair {
            let left: BTreeSet<_> = left.iter().map(name).collect();
            let repaired = count(found.difference(&left));
            if !repaired.is_empty() {
                output.line(format!("repaired: {repaired}"))?;
            }
        }
        let wrong = left.iter().filter(|finding| !finding.problem.is_harmless());
        let wrong: Vec<_> = wrong.map(name).collect();
        match wrong.as_slice() {
            [] => output.line("everything is as it should be")?,
            wrong => output.line(format!("wrong: {}", count(wrong)))?,
        }
        Ok(ExitCode::from(u8::from(!wrong.is_empty())))
    }
}

/// A finding in any round: its details may change from one to the next.
type Name = (&'static str, String);

fn name(finding: &Finding) -> Name {
    (finding.problem.name(), finding.what.clone())
}

/// How many there are, by problem: `row_lost 2, object_lost 1`.
fn count<'a>(findings: impl IntoIterator<Item = &'a Name>) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (problem, _) in findings {
        *counts.entry(problem).or_default() += 1;
    }
    let counts = counts
        .iter()
        .map(|(problem, count)| format!("{problem} {count}"));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_counted_by_problem() {
        let names = [("row_lost", "a"), ("object_lost", "x"), ("row_lost", "b")];
        let names = names.map(|(problem, what)| (problem, what.to_owned()));
        assert_eq!(count(&names), "object_lost 1, row_lost 2");
    }
}
