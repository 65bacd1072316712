//! Where the moves of a page lead, over the moves of other pages on its site.

use engine::error::EngineError;
use engine::keys;
use serde::Serialize;
use sitemap::departures::MAX_HOPS;
use sitemap::loc::Loc;
use sitemap::plan::{Address, Claim, Ledger};
use sitemap::record::Departure;

use super::find::host;
use crate::deployment::target::Target;

/// Moves that are followed, each by two reads.
const FOLLOWED: usize = 100;

/// Where the moves of a page lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// The number of moves.
    pub moves: usize,
    /// The ids of the moved records after the page's own.
    pub over: Vec<String>,
    /// Where they end.
    pub end: End,
}

/// Where moves end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// At this address, from which no page departed.
    At(String),
    /// At the page of this record, which is gone.
    Gone(String),
    /// Nowhere: the move of the first record leads back to the page of the second.
    Loop(String, String),
    /// Somewhere behind this address: they are not followed further.
    Behind(String),
}

/// Follows the moves of a page. Returns `None` if it has not moved, or if another page has its address.
pub(super) async fn chain(
    target: &Target,
    page: &str,
    ledger: Option<&Ledger>,
) -> Result<Option<Chain>, EngineError> {
    let own = ledger.and_then(|ledger| ledger.claim.clone().zip(ledger.departed.clone()));
    let Some((Address { site, loc }, Departure::MovedTo(mut to))) = own else {
        return Ok(None);
    };
    let table = &target.reconciler.table;
    let mut passed = vec![(keys::page_parts(page).0.to_owned(), loc)];
    let end = loop {
        let address = to.split('#').next().unwrap_or_default();
        let next = Loc::parse_any(address).ok().filter(|loc| host(loc) == site);
        let Some(loc) = next else {
            break End::At(to);
        };
        let before = passed.iter().find(|(_, passed)| passed.is_equivalent(&loc));
        if let (Some((back, _)), Some((closing, _))) = (before, passed.last()) {
            break End::Loop(closing.clone(), back.clone());
        }
        let address = Address {
            site: site.clone(),
            loc,
        };
        let Claim::Departed(owner) = table.claim(&address, "").await? else {
            break End::At(to);
        };
        let departed = table
            .ledger(&owner)
            .await?
            .and_then(|ledger| ledger.departed);
        let record = keys::page_parts(&owner).0.to_owned();
        match departed {
            Some(Departure::MovedTo(_)) if passed.len() == FOLLOWED => break End::Behind(to),
            Some(Departure::MovedTo(further)) => {
                passed.push((record, address.loc));
                to = further;
            }
            Some(Departure::Gone) => break End::Gone(record),
            // It is being reconciled.
            None => break End::At(to),
        }
    };
    Ok(Some(Chain {
        moves: passed.len(),
        over: passed.into_iter().skip(1).map(|(id, _)| id).collect(),
        end,
    }))
}

impl Chain {
    /// Formats the chain as lines for people. A move that ends where the record says has none.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self { moves, over, end } = self;
        let over = match over.is_empty() {
            true => String::new(),
            false => format!(", over {}", over.join(", ")),
        };
        let mut lines = Vec::new();
        match end {
            End::At(_) if *moves == 1 => {}
            End::At(at) => lines.push(format!("ends at {at} after {moves} moves{over}")),
            End::Gone(record) => lines.push(format!(
                "ends at the page of {record}, which is gone, after {}{over}",
                crate::terminal::text::counted(*moves as u64, "move")
            )),
            End::Loop(closing, back) => lines.push(format!(
                "does not redirect: {closing} leads back to {back}, in a loop of moves{over}"
            )),
            End::Behind(at) => lines.push(format!(
                "leads to {at} after {moves} moves, and further; they are not followed"
            )),
        }
        if *moves > MAX_HOPS && !matches!(end, End::Loop(..)) {
            lines.push(format!(
                "one answer follows {MAX_HOPS} moves, so readers are sent on more than once: let the record name the last \
                 address"
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(moves: usize, over: &[&str], end: End) -> Vec<String> {
        let over = over.iter().map(|id| (*id).to_owned()).collect();
        Chain { moves, over, end }.lines()
    }

    #[test]
    fn a_chain_says_where_it_ends_and_a_single_move_nothing() {
        let at = || "https://a.example/z".to_owned();
        assert!(lines(1, &[], End::At(at())).is_empty());
        assert_eq!(
            lines(3, &["b", "c"], End::At(at())),
            ["ends at https://a.example/z after 3 moves, over b, c"]
        );
        assert_eq!(
            lines(1, &[], End::Gone("g".to_owned())),
            ["ends at the page of g, which is gone, after 1 move"]
        );
        assert_eq!(
            lines(2, &["b"], End::Loop("b".to_owned(), "a".to_owned())),
            ["does not redirect: b leads back to a, in a loop of moves, over b"]
        );
        assert_eq!(lines(MAX_HOPS + 1, &["b"], End::At(at())).len(), 2);
        let behind = lines(FOLLOWED, &["b"], End::Behind(at()));
        assert_eq!(
            behind[0],
            "leads to https://a.example/z after 100 moves, and further; they are not followed"
        );
    }
}
