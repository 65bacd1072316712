//! The progress of scans.

use engine::error::EngineError;
use engine::rows::scan::{self, ContentScan, SiteStep, Step};
use serde::Serialize;
use sitemap::time::When;

/// How far the scan of all content is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scan {
    /// What it does: `waiting`, `reading` or `publishing`.
    pub step: &'static str,
    /// Records that it has processed.
    pub records: u64,
    /// The last of them.
    pub last: Option<String>,
    /// When it was last seen to go on; `null` before it has begun.
    pub at: Option<When>,
}

/// How far the scan of a site is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SiteScan {
    /// The site's host.
    pub host: String,
    /// What it does: `left_out`, `listed` or `publishing`. `null` if its row cannot be read.
    pub step: Option<&'static str>,
    /// The record, the sitemap or the object that it is at; `null` at the beginning.
    pub last: Option<String>,
    /// When it was last seen to go on.
    pub at: Option<When>,
    /// Why its row cannot be read.
    pub error: Option<String>,
    /// In words.
    #[serde(skip)]
    pub(super) said: String,
}

pub(super) fn content_scan(scan: &ContentScan) -> Option<Scan> {
    let Some(pass) = &scan.pass else {
        return scan.is_active().then_some(Scan {
            step: "waiting",
            records: 0,
            last: None,
            at: None,
        });
    };
    let (step, last) = match &pass.step {
        Step::Content { after } => ("reading", after.clone()),
        Step::Sites { .. } => ("publishing", None),
    };
    Some(Scan {
        step,
        records: pass.records,
        last,
        at: Some(When::at(pass.at)),
    })
}

impl Scan {
    /// Formats the progress in words.
    pub(super) fn said(&self) -> String {
        let Some(at) = self.at else {
            return "about to begin".to_owned();
        };
        let records = self.records;
        let step = match (self.step, &self.last) {
            ("publishing", _) => format!("{records} records processed, publishing"),
            (_, None) => "about to read records".to_owned(),
            (_, Some(id)) => format!("{records} records processed, the last is {id}"),
        };
        format!("{step}, at {at}")
    }
}

pub(super) fn site_scan(host: String, scan: Result<scan::SiteScan, EngineError>) -> SiteScan {
    match scan {
        Ok(scan) => readable(host, &scan),
        Err(error) => SiteScan {
            host,
            step: None,
            last: None,
            at: None,
            error: Some(error.to_string()),
            said: error.to_string(),
        },
    }
}

fn readable(host: String, scan: &scan::SiteScan) -> SiteScan {
    let (step, last, said) = match &scan.step {
        SiteStep::LeftOut { after: None } | SiteStep::LeftOutAgain { after: None } => (
            "left_out",
            None,
            "about to process excluded pages, or waiting for the scan of all content".to_owned(),
        ),
        SiteStep::LeftOut { after: Some(id) } | SiteStep::LeftOutAgain { after: Some(id) } => (
            "left_out",
            Some(id.clone()),
            format!("processing excluded pages, the last is {id}"),
        ),
        SiteStep::Entries { after: None } => {
            ("listed", None, "about to process listed pages".to_owned())
        }
        SiteStep::Entries {
            after: Some((series, n, _)),
        } => (
            "listed",
            Some(format!("{series} {n}")),
            format!("processing the pages of sitemap {n} of {series}"),
        ),
        SiteStep::Publish { after: None } => ("publishing", None, "about to publish".to_owned()),
        SiteStep::Publish { after: Some(path) } => (
            "publishing",
            Some(path.clone()),
            format!("published up to {path}"),
        ),
    };
    let at = When::at(scan.at);
    SiteScan {
        host,
        step: Some(step),
        last,
        at: Some(at),
        error: None,
        said: format!("{said}, at {at}"),
    }
}
