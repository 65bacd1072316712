//! Summarizes what is published: entries by series, shards, bytes, records, and pages that are left out with their reasons.

use std::collections::BTreeMap;

use engine::error::EngineError;
use local::stack::Stack;
use serde::{Serialize, Serializer};

use crate::status::exclusions::LeftOut;
use crate::terminal::text::Text;

/// What is published of one series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct SeriesTotal {
    /// Entries.
    entries: u64,
    /// Sitemaps that have one.
    #[serde(rename = "sitemaps")]
    shards: u64,
    /// Their bytes, unencoded.
    bytes: u64,
}

/// The summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    /// Records in the content's tables, settings included.
    records: u64,
    /// By site and series. In JSON, an object a series.
    #[serde(serialize_with = "as_list")]
    series: BTreeMap<(String, String), SeriesTotal>,
    /// What is listed, and what is left out.
    left_out: LeftOut,
}

fn as_list<S: Serializer>(
    series: &BTreeMap<(String, String), SeriesTotal>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Series<'a> {
        site: &'a str,
        series: &'a str,
        #[serde(flatten)]
        total: &'a SeriesTotal,
    }
    let series = series.iter();
    serializer.collect_seq(series.map(|((site, series), total)| Series {
        site,
        series,
        total,
    }))
}

impl Report {
    /// Reads the summary from the tables.
    ///
    /// # Errors
    ///
    /// If a table fails.
    pub(crate) async fn of(stack: &Stack, left_out: LeftOut) -> Result<Self, EngineError> {
        let mut report = Self {
            records: stack.count_records().await?,
            left_out,
            ..Self::default()
        };
        for site in stack.hosts() {
            for (shard, summary) in stack.reconciler.table.summaries(&site).await? {
                if summary.entries > 0 {
                    let total = report
                        .series
                        .entry((site.clone(), shard.series.name))
                        .or_default();
                    total.entries += summary.entries;
                    total.shards += 1;
                    total.bytes += summary.bytes;
                }
            }
        }
        Ok(report)
    }

    /// Formats the summary as lines for people. `malformed` lines of the content files could not be loaded.
    #[must_use]
    pub(crate) fn text(&self, malformed: u64) -> Text {
        let mut text = Text::default();
        let mut row = |name: &str, [entries, shards, bytes]: [&dyn std::fmt::Display; 3]| {
            text.line(format!("{name:<40} {entries:>10} {shards:>9} {bytes:>13}"));
        };
        row("series", [&"entries", &"sitemaps", &"bytes"]);
        let mut sum = SeriesTotal::default();
        for ((site, series), total) in &self.series {
            let SeriesTotal {
                entries,
                shards,
                bytes,
            } = total;
            row(&format!("{site}/{series}"), [entries, shards, bytes]);
            sum.entries += entries;
            sum.shards += shards;
            sum.bytes += bytes;
        }
        row("total", [&sum.entries, &sum.shards, &sum.bytes]);
        text.line("");
        let mut row = |name: &str, count: u64| text.line(format!("{name:<40} {count:>10}"));
        row("records", self.records);
        row("malformed lines, not loaded", malformed);
        row("pages listed", self.left_out.listed);
        row("further parts of them listed", self.left_out.parts);
        row(
            "listed, with something left out",
            self.left_out.incomplete.count,
        );
        row("left out", self.left_out.total());
        for (reason, pages) in &self.left_out.reasons {
            row(&format!("  {reason}"), pages.count);
        }
        text
    }
}
