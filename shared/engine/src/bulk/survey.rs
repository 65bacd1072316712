//! The pass that finds the facts about other pages that plans depend on.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use sitemap::eligibility::Newest;
use sitemap::plan::Term;
use sitemap::time::When;

use super::planner::{Facts, Owner, Owners, Planned, PlannedPage, Planner};
use crate::rows::term::{term_member, term_partition};

/// Finds out who has which address, the newest pages of archives, and the members of translation groups.
#[derive(Debug, Default)]
pub struct Survey {
    facts: Facts,
    owners: Owners,
    /// The first page that departed from each address. It has the address only if no listed page wants it.
    departed: Owners,
    /// The sort keys of the newest pages so far.
    newest: BTreeMap<Term, (String, Option<When>)>,
    /// Archives that had no page at their own turn, by the partition of their term and their ids.
    empty: Vec<(String, Term, Planned)>,
}

impl Survey {
    /// Takes a record that was planned without knowing of others, in its turn.
    pub fn see(&mut self, planner: &Planner, planned: Planned) {
        let depends = Planned::depends(&planned.record);
        for page in &planned.pages {
            if depends {
                let again = planner.plan_page(&planned, page.part, &self.facts, None);
                self.list(&planned, &again);
            } else {
                self.list(&planned, page);
            }
        }
        if let Some(archive) = &planned.record.archive_of {
            let term = Term {
                site: planned.record.site.clone(),
                taxonomy: archive.taxonomy.clone(),
                term: archive.term.clone(),
            };
            if !self.facts.newest.contains_key(&term) {
                self.empty.push((term_partition(&term), term, planned));
            }
        }
    }

    /// Lists a page, unless another one has its address.
    fn list(&mut self, planned: &Planned, page: &PlannedPage) {
        let Some(wanted) = page.wanted else { return };
        let own = Owner {
            at: planned.at,
            part: page.part,
        };
        let ledger = page.plan.ledger.as_ref();
        if ledger.is_some_and(|ledger| ledger.departed.is_some()) {
            self.departed.entry(wanted).or_insert(own);
            return;
        }
        match self.owners.entry(wanted) {
            Entry::Occupied(_) => return,
            Entry::Vacant(place) => drop(place.insert(own)),
        }
        let Some(ledger) = &page.plan.ledger else {
            return;
        };
        for (term, lastmod) in &ledger.terms {
            let key = term_member(term, *lastmod, &planned.record.id).sk;
            let newest = self.newest.entry(term.clone()).or_default();
            if key > newest.0 {
                *newest = (key, *lastmod);
                let newest = Newest::Page(*lastmod);
                self.facts.newest.insert(term.clone(), newest);
            }
        }
        if let Some((group, translation)) = &ledger.group {
            let members = self.facts.groups.entry(group.clone()).or_default();
            members.insert(planned.record.id.clone(), translation.clone());
        }
    }

    /// Ends the pass: returns the planner for the next one.
    #[must_use]
    pub fn finish(mut self, mut planner: Planner) -> Planner {
        let mut empty = std::mem::take(&mut self.empty);
        let place = |(partition, _, planned): &(String, Term, Planned)| {
            (partition.clone(), planned.record.id.clone())
        };
        empty.sort_by_cached_key(place);
        for (_, term, planned) in empty {
            if self.facts.newest.contains_key(&term) {
                let page = planner.plan_page(&planned, 1, &self.facts, None);
                self.list(&planned, &page);
            }
        }
        for (wanted, own) in self.departed {
            self.owners.entry(wanted).or_insert(own);
        }
        self.facts.owners = Some(self.owners);
        planner.facts = self.facts;
        planner
    }
}
