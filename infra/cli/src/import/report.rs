//! The report of an import.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::content::forecast::{Predicted, Tally};
use crate::terminal::text::{Text, Tone};

/// Columns of names in the report.
const WIDTH: usize = 54;

/// What an import came to, for people or as JSON.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Each source.
    pub sources: Vec<SourceReport>,
    /// Records that were written.
    pub records: u64,
    /// Entries that were added to the record of their address, which another entry had made.
    pub joined: u64,
    /// The records by site and type, as `www.example.com post`.
    pub types: BTreeMap<String, u64>,
    /// What was not made a record, by the reason.
    pub skipped: BTreeMap<String, Tally>,
    /// What records do without, by the reason.
    pub notes: BTreeMap<String, Tally>,
    /// How much of `skipped` the options leave out.
    #[serde(skip)]
    pub chosen_out: u64,
    /// What would be listed of them.
    #[serde(flatten)]
    pub predicted: Predicted,
}

/// What one source came to.
#[derive(Clone, Debug, Serialize)]
pub struct SourceReport {
    /// As it was given.
    pub source: String,
    /// What it was read as; `null` if nothing of it could be read.
    pub from: Option<&'static str>,
    /// Documents that were read.
    pub documents: u64,
    /// Entries of it that became a record, or were added to one.
    pub entries: u64,
    /// Why it could not be read whole; empty if it was.
    pub problems: Vec<String>,
}

impl Report {
    /// Returns whether every source was read whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.sources.iter().all(|source| source.problems.is_empty())
    }

    /// Returns whether no record came of any source, and the options left none out.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.records + self.joined + self.chosen_out == 0
    }

    /// Formats the report as lines for people.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        for source in &self.sources {
            for problem in &source.problems {
                let name = &source.source;
                // A problem of a document names it, and that may be the source itself.
                match problem
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(": "))
                {
                    true => text.toned(Tone::Bad, problem),
                    false => text.toned(Tone::Bad, format_args!("{name}: {problem}")),
                }
            }
        }
        let count = |text: &mut Text, name: &str, count: u64| {
            text.line(format_args!("{name:<WIDTH$} {count:>9}"));
        };
        count(&mut text, "records", self.records);
        for (name, records) in &self.types {
            count(&mut text, &format!("  {name}"), *records);
        }
        if self.joined > 0 {
            let name = "entries joined to the record of their address";
            count(&mut text, name, self.joined);
        }
        tallies(&mut text, "not imported", &self.skipped);
        tallies(&mut text, "imported with notes", &self.notes);
        let predicted = &self.predicted;
        count(&mut text, "would be listed", predicted.listed);
        if predicted.parts > 0 {
            count(&mut text, "further parts of them", predicted.parts);
        }
        tallies(&mut text, "would be left out", &predicted.left_out);
        text
    }
}

fn tallies(text: &mut Text, title: &str, tallies: &BTreeMap<String, Tally>) {
    let total: u64 = tallies.values().map(|tally| tally.count).sum();
    if total == 0 {
        return;
    }
    text.line(format_args!("{title:<WIDTH$} {total:>9}"));
    for (reason, tally) in tallies {
        let reason = format!("  {reason}");
        text.line(format_args!("{reason:<WIDTH$} {:>9}", tally.count));
        for example in &tally.examples {
            text.line(format_args!("    {example}"));
        }
        if tally.count > tally.examples.len() as u64 {
            text.line("    …");
        }
    }
}
