//! The rows of a page, as a commit from an empty ledger writes them.

use sitemap::plan::{Change, Plan};
use table::Item;

use crate::rows::keys;
use crate::rows::ledger::ledger_body;
use crate::rows::{holding, llms};

/// Returns the rows of a page that was placed with its rows kept. The ledger has this token.
#[must_use]
pub fn rows_of(page: &str, plan: &Plan, token: &str) -> Vec<Item> {
    let Some(ledger) = &plan.ledger else {
        return Vec::new();
    };
    let row = Item::from(&keys::ledger(page))
        .with("token", token)
        .with("body", ledger_body(ledger));
    let mut rows = vec![row];
    for change in &plan.changes {
        rows.extend(match change {
            Change::Replace(at, rendered) => {
                let mut row = Item::from(&keys::entry(&at.series, at.slot))
                    .with("owner", page)
                    .with("xml", rendered.xml.as_str())
                    .with("version", 1);
                if let Some(lastmod) = rendered.lastmod {
                    row.set("lastmod", lastmod.to_string());
                }
                Some(row)
            }
            Change::Hold(holding) => Some(holding::item(page, holding)),
            Change::Llms(item) => Some(llms::row(page, item)),
            // A condition, and what a first load does not ask for.
            Change::Require(..)
            | Change::Take(..)
            | Change::Insert(..)
            | Change::Remove(..)
            | Change::Release(_)
            | Change::Feed(..)
            | Change::Notify(..) => None,
        });
    }
    rows
}
