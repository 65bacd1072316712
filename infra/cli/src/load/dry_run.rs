//! `waymark load --dry-run`: predicts the effect of a load, without a table.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;
use serde::Serialize;
use sitemap::eligibility::Newest;
use sitemap::plan::Term;
use sitemap::record::ContentRecord;
use sitemap::site::{SiteSettings, host_of_site_id};

use crate::content::attributes::size;
use crate::content::forecast::{Predicted, Prediction, digest};
use crate::content::{Line, LoadError, Parsed, Source, read_lines};
use crate::deployment::args::Located;

/// Bytes of a write unit (DynamoDB).
const UNIT_BYTES: u64 = 1_024;
/// Write units that a page costs in the sitemap table when it is first listed, without terms and for each term: counted in
/// a first load (docs/OPERATIONS.md).
const UNITS_OF_PAGE: f64 = 11.0;
const UNITS_OF_TERM: f64 = 1.4;
/// Dollars of a write unit, on demand, in us-east-1 (docs/COSTS.md). A test holds it to the price of the simulated costs.
pub const WRITE_UNIT: f64 = 0.625e-6;

/// What a load would do.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DryRun {
    /// Records that would be written.
    pub records: u64,
    /// Lines that are malformed.
    pub malformed: u64,
    /// Write units of the content table.
    pub content_units: u64,
    /// Write units of the sitemap table, about.
    pub sitemap_units: u64,
    /// What both cost, about, in US dollars.
    pub dollars: f64,
    /// Archives that are counted as `empty_archive` only because no page in the files has their term: a table was not asked.
    pub archives_not_looked_up: u64,
    /// What would be listed if the table had nothing else.
    #[serde(flatten)]
    pub predicted: Predicted,
}

/// Reads sources twice: the settings of a site apply to records before them, too. Of two lines with one id the later one counts.
/// Archives that no page in the sources is in are looked up in the sitemap table, if `locate` finds a stack.
///
/// # Errors
///
/// If a file or the table cannot be read.
pub(crate) async fn dry_run(
    sources: &[Source],
    now: i64,
    locate: impl AsyncFnOnce() -> Result<Option<Located>>,
) -> Result<DryRun> {
    let mut prediction = Prediction::new(now);
    let mut last = HashMap::new();
    for (at, source) in sources.iter().enumerate() {
        each(source, |line| {
            let Ok(Parsed {
                id, record, value, ..
            }) = &line.parsed
            else {
                return;
            };
            last.insert(digest(&[id]), (at, line.number));
            if record.is_settings()
                && let Some(host) = host_of_site_id(id)
                && let Ok(settings) = SiteSettings::parse(host, value)
            {
                prediction.set_site(settings);
            }
        })
        .await?;
    }
    let (mut run, mut units) = (DryRun::default(), 0.0);
    for (at, source) in sources.iter().enumerate() {
        each(source, |line| match &line.parsed {
            Ok(Parsed {
                id, record, item, ..
            }) => {
                run.records += 1;
                run.content_units += size(item).div_ceil(UNIT_BYTES);
                let is_last = last.get(&digest(&[id])) == Some(&(at, line.number));
                if is_last && !record.is_settings() {
                    prediction.add(record);
                    units += cost(record);
                }
            }
            Err(_) => run.malformed += 1,
        })
        .await?;
    }
    let empty: BTreeSet<Term> = prediction.empty_archives().cloned().collect();
    // Without such archives no stack is needed.
    let located = match empty.is_empty() {
        true => None,
        false => locate().await?,
    };
    match located {
        Some(located) => {
            for term in &empty {
                let table = &located.target.reconciler.table;
                if let Newest::Page(_) = table.newest(term).await? {
                    prediction.add_term(term);
                }
            }
        }
        None => run.archives_not_looked_up = empty.len() as u64,
    }
    run.predicted = prediction.finish();
    run.sitemap_units = units as u64;
    run.dollars = (run.content_units as f64 + units) * WRITE_UNIT;
    Ok(run)
}

/// Estimates the write units of the sitemap table for a record's pages.
fn cost(record: &ContentRecord) -> f64 {
    let terms: usize = record.terms.values().map(Vec::len).sum();
    f64::from(record.pages) * UNITS_OF_PAGE + terms as f64 * UNITS_OF_TERM
}

async fn each(source: &Source, mut take: impl FnMut(&Line)) -> Result<(), LoadError> {
    let name = source.name();
    let failed = |error| LoadError::File {
        file: name.clone(),
        error,
    };
    let (reader, _) = source.open().map_err(failed)?;
    let mut lines = read_lines(reader).map_err(failed)?;
    while let Some(line) = lines.recv().await {
        take(&line.map_err(failed)?);
    }
    Ok(())
}
