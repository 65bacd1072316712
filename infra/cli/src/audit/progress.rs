//! The progress of an audit, with an estimate: of rows, records and sitemaps, one after the other.

use engine::error::EngineError;
use engine::sweep::audit::{Audit, AuditProgress, Finding, Reading};
use objects::all_sites;

use crate::deployment::target::Target;
use crate::terminal::progress::{Progress, Unit};

/// Sites whose sitemaps are counted for an estimate: a query each.
const MAX_SITES: usize = 100;

/// Shows how far an audit is.
pub(crate) struct Comparing<'a> {
    target: &'a Target,
    /// What the names of its steps begin with.
    begin: &'static str,
    reading: Option<Reading>,
    /// What was read before this.
    before: u64,
}

impl<'a> Comparing<'a> {
    pub(crate) fn new(target: &'a Target, begin: &'static str) -> Self {
        Self {
            target,
            begin,
            reading: None,
            before: 0,
        }
    }

    /// Reads the next page of an audit.
    pub(crate) async fn page(
        &mut self,
        audit: &Audit<'_>,
        at: &mut AuditProgress,
        shown: &mut Progress,
    ) -> Result<Vec<Finding>, EngineError> {
        let reading = at.reading();
        if let Some(now) = reading.filter(|_| reading != self.reading) {
            self.turn(now, shown).await;
            (self.reading, self.before) = (reading, at.read);
        }
        let done = at.read - self.before;
        shown.while_waiting(done, audit.page(at)).await
    }

    async fn turn(&self, reading: Reading, shown: &mut Progress) {
        let (begin, sizes) = (self.begin, self.target.sizes);
        match reading {
            Reading::Rows => {
                let what = format!("{begin}comparing rows");
                shown.turn_about(&what, Unit::Things("rows"), sizes.rows);
            }
            Reading::Records => {
                let what = format!("{begin}comparing records");
                shown.turn_about(&what, Unit::Things("records"), sizes.records);
            }
            Reading::Sitemaps => {
                let what = format!("{begin}comparing published files");
                let sitemaps = self.sitemaps().await;
                shown.turn(&what, Unit::Things("sitemaps"), sitemaps);
            }
        }
    }

    /// Counts the sitemaps. Returns `None` if counting would take long or a read fails: the audit itself meets what is wrong.
    async fn sitemaps(&self) -> Option<u64> {
        let sites = all_sites(&*self.target.objects).await.ok()?;
        if sites.len() > MAX_SITES {
            return None;
        }
        let mut sitemaps = 0;
        for site in &sites {
            let summaries = self.target.reconciler.table.summaries(site).await.ok()?;
            sitemaps += summaries.len() as u64;
        }
        Some(sitemaps)
    }
}
