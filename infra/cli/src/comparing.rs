//! How far an audit is, with an estimate: of rows, records and sitemaps, one after the other.

use aws::Aws;
use engine::error::EngineError;
use engine::rows::{AuditProgress, Reading};
use engine::sweep::audit::{Audit, Finding};
use objects::all_sites;

use crate::progress::{Progress, Unit};
use crate::target::Target;

/// Sites whose sitemaps are counted for an estimate: a query each.
const MAX_SITES: usize = 100;

/// About how many items the tables have, for estimates. DynamoDB counts them each six hours
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html>).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The sitemap table's; nothing if that is not known.
    pub rows: Option<u64>,
    /// The content table's, with those of the user's table.
    pub records: Option<u64>,
}

impl Sizes {
    /// Asks for them. Without the right to, there is no estimate.
    pub async fn of(aws: &Aws, target: &Target) -> Self {
        let source = target.reconciler.content.source();
        let (rows, own, source) = futures::join!(
            items(aws, &target.sitemap_table),
            items(aws, &target.content_table),
            async {
                match source {
                    Some(source) => items(aws, source.name()).await,
                    None => Some(0),
                }
            },
        );
        Self {
            rows,
            records: own.zip(source).map(|(own, source)| own + source),
        }
    }
}

async fn items(aws: &Aws, table: &str) -> Option<u64> {
    let request = aws.dynamodb().await.describe_table().table_name(table);
    let table = request.send().await.ok()?.table?;
    table.item_count?.try_into().ok()
}

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

    /// The next page of an audit.
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

    /// How many sitemaps there are; nothing if that would take long, or cannot be told: the audit itself meets what is wrong.
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
