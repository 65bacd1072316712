//! Why records are not listed, where they are known.

use std::collections::BTreeMap;

use anyhow::Result;
use crawl::join::Join;
use engine::SitemapTable;
use engine::content::Content;
use engine::error::EngineError;
use engine::keys::page_parts;

use crate::first_load;
use crate::listing::named::What;
use crate::terminal::progress::{Progress, Unit};

/// Rows of the sitemap table that are read together.
const ROWS: u32 = 1_000;

/// Tells the join of records that are not listed.
///
/// # Errors
///
/// If a table or a file fails.
pub(super) async fn tell(what: &What, join: &mut Join) -> Result<()> {
    match what {
        What::Target(_) => Ok(()),
        What::Table(located, _) => {
            let reconciler = &located.target.reconciler;
            let mut progress = Progress::begin("reading reasons", Unit::Things("rows"), None);
            let mut after = None;
            loop {
                let (refused, rows, next) = page(&reconciler.table, after.as_ref()).await?;
                progress.reach(rows);
                exclude(&reconciler.content, refused, join).await?;
                after = next;
                if after.is_none() {
                    return Ok(());
                }
            }
        }
        What::Records(world, _, file) => {
            let (mut refused, mut after) = (BTreeMap::new(), None);
            loop {
                let (more, _, next) = page(world.table(), after.as_ref()).await?;
                refused.extend(more);
                after = next;
                if after.is_none() {
                    break;
                }
            }
            let mut content = first_load::Content::begin()?;
            content.read(&crate::content::Source::File(file.clone()))?;
            content.each_url(|id, url| match refused.get(id) {
                Some(reason) => join.exclude(url, reason),
                None => Ok(()),
            })?;
            Ok(())
        }
    }
}

/// Reads some ledgers. Returns the reasons of excluded pages by id, the rows that were read, and where to go on.
async fn page(
    table: &SitemapTable,
    after: Option<&engine::keys::Key>,
) -> Result<(BTreeMap<String, String>, u64, Option<engine::keys::Key>), EngineError> {
    let read = table.ledgers(after, ROWS).await?;
    let ledgers = read.ledgers.into_iter();
    let refused = ledgers.filter_map(|(page, ledger)| {
        let (reason, _) = ledger.refused?;
        // A further part has no address of its own in the record.
        let (id, part) = page_parts(&page);
        (part == 1).then(|| (id.to_owned(), reason))
    });
    Ok((refused.collect(), read.rows, read.next))
}

async fn exclude(
    content: &Content,
    refused: BTreeMap<String, String>,
    join: &mut Join,
) -> Result<()> {
    let ids: Vec<String> = refused.keys().cloned().collect();
    for (id, record) in content.records(&ids).await? {
        if let Some(reason) = refused.get(&id) {
            join.exclude(&record.url, reason)?;
        }
    }
    Ok(())
}
