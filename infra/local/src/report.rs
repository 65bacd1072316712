//! The summary of what is published: records, entries by series, what is left out and why, shards, bytes.

use std::collections::BTreeMap;
use std::fmt;

use aws_sdk_dynamodb::types::AttributeValue;
use sitemap::plan::Ledger;
use store::error::StoreError;
use store::keys::prefix;
use store::segments::Summaries;

use crate::stack::Stack;
use crate::tables::SITEMAP_TABLE;

/// What is published of one series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeriesTotal {
    /// Entries.
    pub entries: u64,
    /// Sitemaps that have one.
    pub shards: u64,
    /// Their bytes, unencoded.
    pub bytes: u64,
}

/// The summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Records that are or were looked at.
    pub records: u64,
    /// By site and series.
    pub series: BTreeMap<(String, String), SeriesTotal>,
    /// Pages left out, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Records listed, of which something else is left out.
    pub noted: u64,
}

impl Report {
    /// Reads the summary from the sitemap table.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn of(stack: &Stack) -> Result<Self, StoreError> {
        let mut report = Self::default();
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
        let ledgers = stack
            .aws
            .dynamodb()
            .await
            .scan()
            .table_name(SITEMAP_TABLE)
            .filter_expression("begins_with(pk, :ledger)")
            .expression_attribute_values(":ledger", AttributeValue::S(prefix::LEDGER.to_owned()))
            .projection_expression("body");
        let mut pages = ledgers.into_paginator().send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| StoreError::Service {
                operation: "Scan",
                message: error.into_service_error().to_string(),
            })?;
            for item in page.items() {
                let body = item.get("body").and_then(|body| body.as_s().ok());
                if let Some(ledger) =
                    body.and_then(|body| serde_json::from_str::<Ledger>(body).ok())
                {
                    report.count(ledger);
                }
            }
        }
        Ok(report)
    }

    fn count(&mut self, ledger: Ledger) {
        self.records += 1;
        match ledger.refused {
            Some((reason, _)) => *self.refused.entry(reason).or_default() += 1,
            None => self.noted += u64::from(!ledger.notes.is_empty()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = |of: fn(&SeriesTotal) -> u64| self.series.values().map(of).sum::<u64>();
        writeln!(
            f,
            "{:<40} {:>10} {:>9} {:>13}",
            "series", "entries", "sitemaps", "bytes"
        )?;
        for (
            (site, series),
            SeriesTotal {
                entries,
                shards,
                bytes,
            },
        ) in &self.series
        {
            writeln!(
                f,
                "{:<40} {entries:>10} {shards:>9} {bytes:>13}",
                format!("{site}/{series}")
            )?;
        }
        let (entries, shards, bytes) = (
            total(|t| t.entries),
            total(|t| t.shards),
            total(|t| t.bytes),
        );
        writeln!(f, "{:<40} {entries:>10} {shards:>9} {bytes:>13}", "total")?;
        let refused: u64 = self.refused.values().sum();
        writeln!(f, "\n{:<40} {:>10}", "records", self.records)?;
        writeln!(f, "{:<40} {refused:>10}", "left out")?;
        for (reason, count) in &self.refused {
            writeln!(f, "{:<40} {count:>10}", format!("  {reason}"))?;
        }
        write!(
            f,
            "{:<40} {:>10}",
            "listed, with something left out", self.noted
        )
    }
}
