//! The sites of a build, and how messages name them.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use serde::Serialize;

use crate::redirects::{Findings, Made};
use crate::status::exclusions::shown;
use crate::terminal::text::counted;

/// Files and sites that a message names.
const MAX_NAMED: usize = 20;
/// The hosts of sites. Of each: how many records have a page that is listed, and the first of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(pub Vec<(String, (u64, Option<String>))>);

impl Display for Hosts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|(host, (count, example))| match example {
            Some(page) => format!(
                "{host} ({}, such as {})",
                counted(*count, "page"),
                shown(page)
            ),
            None => host.clone(),
        });
        f.write_str(&some(&shown.collect::<Vec<_>>()))
    }
}

/// Formats the first of some names, and how many more there are.
#[must_use]
pub fn some(names: &[String]) -> String {
    let first = &names[..names.len().min(MAX_NAMED)];
    match names.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// A site that was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Site {
    /// Its host.
    pub host: String,
    /// Where it is.
    pub folder: PathBuf,
    /// Its sitemaps.
    pub sitemaps: u64,
    /// Their entries: a page that has videos or is news has one for each.
    pub entries: u64,
    /// Files that were written.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Files in the folder that earlier builds made and this one does not, and others that have the name of a sitemap.
    pub stale: Vec<String>,
    /// The files of redirects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<Made>,
    /// The problems of the moves of its pages.
    #[serde(skip_serializing_if = "Findings::is_empty")]
    pub moves: Findings,
}
