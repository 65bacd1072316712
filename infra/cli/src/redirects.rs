//! The redirects of a site's departures, read from the rows that the functions keep, and what is told of them.
//!
//! The rows say which record has an address, so nothing is decided here. `export` and `build` write files of them
//! ([`sitemap::redirects`]).

use std::collections::BTreeMap;

use engine::SitemapTable;
use engine::error::EngineError;
use serde::Serialize;
use sitemap::redirects::{self, Joined, Redirect, Refused, Rendered, Target, join};

/// Examples of what a target cannot hold, and records of a loop, that are named.
const MAX_NAMED: usize = 20;

/// Reads a target from an option.
///
/// # Errors
///
/// If it is none.
pub(crate) fn target(text: &str) -> Result<Target, String> {
    let known = Target::ALL.into_iter().find(|target| target.name() == text);
    known.ok_or_else(|| format!("is not one of {}", Target::ALL.map(Target::name).join(", ")))
}

/// Reads the departures of a site, and joins their chains.
///
/// # Errors
///
/// If the table cannot be read.
pub async fn read(table: &SitemapTable, site: &str) -> Result<Joined, EngineError> {
    Ok(join(&table.departures_of(site).await?))
}

/// Moves of records that lead back to themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Loop {
    /// The ids of the records that form the loop.
    pub records: Vec<String>,
    /// The ids of the records whose moves lead into it.
    pub leading: Vec<String>,
}

/// Redirects that a target has no form for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// How many.
    pub count: usize,
    /// The first of them: the addresses by the ids of their records.
    pub examples: BTreeMap<String, String>,
}

/// What came of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Made {
    /// The target.
    pub target: &'static str,
    /// Redirects that the file has.
    pub redirects: usize,
    /// Those that it does not have, by the reason.
    pub left_out: BTreeMap<String, LeftOut>,
    /// What to know of the file.
    pub advice: Option<String>,
}

/// What is wrong with the moves of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Moves that lead back to themselves.
    pub loops: Vec<Loop>,
    /// The ids of records whose chains have more moves than are joined.
    pub long: Vec<String>,
}

impl Findings {
    /// Returns what is wrong with these.
    #[must_use]
    pub fn of(joined: &Joined) -> Self {
        let to_loop = |one: &redirects::Loop| Loop {
            records: one.records.clone(),
            leading: one.leading.clone(),
        };
        let long = joined.redirects.iter().filter(|one| one.goes_on);
        Self {
            loops: joined.loops.iter().map(to_loop).collect(),
            long: long.map(|one| one.record.clone()).collect(),
        }
    }

    /// Returns whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty() && self.long.is_empty()
    }

    /// Formats them as lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for Loop { records, leading } in self.loops.iter().take(MAX_NAMED) {
            let mut line = format!(
                "moved pages lead back to themselves, so none of them redirects: {}",
                some(records)
            );
            if !leading.is_empty() {
                line += &format!("; these lead into the loop: {}", some(leading));
            }
            lines.push(line);
        }
        if self.loops.len() > MAX_NAMED {
            lines.push(format!(
                "{} more loops of moved pages",
                self.loops.len() - MAX_NAMED
            ));
        }
        if !self.long.is_empty() {
            lines.push(format!(
                "moved pages lead over more than {} moves, and are joined over so many: {}",
                sitemap::departures::MAX_HOPS,
                some(&self.long)
            ));
        }
        lines
    }
}

impl Made {
    /// Returns the file of a target, and what came of it.
    ///
    /// # Errors
    ///
    /// If the target cannot hold the file.
    pub fn render(target: Target, redirects: &[Redirect]) -> Result<(String, Self), Refused> {
        let Rendered {
            text,
            written,
            left_out,
            advice,
        } = redirects::render(target, redirects)?;
        let left_out = left_out.into_iter().map(|(reason, which)| {
            let left = LeftOut {
                count: which.len(),
                examples: which.into_iter().take(MAX_NAMED).collect(),
            };
            (reason.to_string(), left)
        });
        let made = Self {
            target: target.name(),
            redirects: written,
            left_out: left_out.collect(),
            advice,
        };
        Ok((text, made))
    }

    /// Formats what is to be said of it as lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (reason, LeftOut { count, examples }) in &self.left_out {
            let names: Vec<String> = examples
                .iter()
                .map(|(record, from)| format!("{record} ({from})"))
                .collect();
            let more = match count - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push(format!(
                "left out of {}, {reason}: {}{more}",
                self.target,
                names.join(", ")
            ));
        }
        lines.extend(self.advice.clone());
        lines
    }
}

/// Formats the first of some ids, and how many more there are.
fn some(ids: &[String]) -> String {
    let first = ids[..ids.len().min(MAX_NAMED)].join(", ");
    match ids.len().saturating_sub(MAX_NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
