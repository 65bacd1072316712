//! The pages that are excluded from the sitemaps, and why: every ledger of the sitemap table, counted by reason.

use std::collections::BTreeMap;

use engine::content::RESERVED_ID;
use engine::error::EngineError;
use engine::keys;
use engine::reconcile::Reconciler;
use engine::rows::ledger::duplicate_of;
use serde::{Serialize, Serializer};
use sitemap::plan::Ledger;

use crate::terminal::progress::{Progress, Unit};
use crate::terminal::text::Text;

/// The reason of a record that no function reads.
const BAD_FIELD: &str = "bad_field";
/// Rows read at a time.
const PAGE: u32 = 1_000;

/// Pages that have one thing in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pages {
    /// How many there are.
    pub count: u64,
    /// The first of them by name, with what is said of them. In JSON, by the name that people see.
    #[serde(serialize_with = "by_shown")]
    pub examples: BTreeMap<String, Vec<String>>,
}

impl Pages {
    fn add(&mut self, limit: usize, page: &str, said: Vec<String>) {
        self.count += 1;
        self.examples.insert(page.to_owned(), said);
        if self.examples.len() > limit {
            self.examples.pop_last();
        }
    }

    fn write(&self, indent: &str, text: &mut Text) {
        for (page, said) in &self.examples {
            for said in said {
                text.line(format!("{indent}{}: {said}", shown(page)));
            }
        }
        let more = self.count - self.examples.len() as u64;
        // Without any example there is nothing that this would go on.
        if more > 0 && !self.examples.is_empty() {
            text.line(format!("{indent}… and {more} more"));
        }
    }
}

/// Formats a page's name for people: its record's id, and the part if it is not the first.
#[must_use]
pub fn shown(page: &str) -> String {
    match keys::page_parts(page) {
        (id, 1) => id.to_owned(),
        (id, part) => format!("{id}, part {part}"),
    }
}

fn by_shown<S: Serializer>(
    examples: &BTreeMap<String, Vec<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(examples.iter().map(|(page, said)| (shown(page), said)))
}

/// What every ledger says, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Pages that are listed; further parts are not counted.
    pub listed: u64,
    /// Further parts of pages that are listed.
    pub parts: u64,
    /// Pages and parts that are left out, by the reason's name.
    pub reasons: BTreeMap<String, Pages>,
    /// Pages that are listed without something that their record has.
    pub incomplete: Pages,
}

impl LeftOut {
    /// Reads every ledger, and every record that has none since no function reads it. Keeps up to `examples` pages a
    /// reason.
    ///
    /// # Errors
    ///
    /// If a table fails.
    pub async fn of(reconciler: &Reconciler, examples: usize) -> Result<Self, EngineError> {
        Self::of_about(reconciler, examples, None).await
    }

    /// Reads every ledger as [`LeftOut::of`] does, for a sitemap table that has about this many rows.
    ///
    /// # Errors
    ///
    /// If a table fails.
    pub async fn of_about(
        reconciler: &Reconciler,
        examples: usize,
        rows: Option<u64>,
    ) -> Result<Self, EngineError> {
        let Reconciler { content, table, .. } = reconciler;
        let mut found = Self::default();
        let mut after = None;
        let what = "reading the sitemap table";
        let mut progress = Progress::begin(what, Unit::Things("rows"), None);
        progress.turn_about(what, Unit::Things("rows"), rows);
        let mut read = 0;
        loop {
            let scanned = table.ledgers(after.as_ref(), PAGE).await?;
            read += scanned.rows;
            progress.reach(read);
            for (page, mut ledger) in scanned.ledgers {
                if found.shows(&ledger, examples) {
                    ledger.refused = table.refusal(&page, &ledger).await?;
                }
                // A ledger without anything may be a fence's token alone, as a crash leaves it.
                found.add(&page, &ledger, !ledger.placed.is_empty(), examples);
            }
            after = scanned.next;
            if after.is_none() {
                break;
            }
        }
        for (id, _) in content.reserved().await? {
            let pages = found.reasons.entry(BAD_FIELD.to_owned()).or_default();
            pages.add(examples, &keys::page(&id, 1), vec![RESERVED_ID.to_owned()]);
        }
        Ok(found)
    }

    /// Counts a page by its ledger. Returns whether it became an example of its reason.
    pub(crate) fn add(
        &mut self,
        page: &str,
        ledger: &Ledger,
        is_listed: bool,
        examples: usize,
    ) -> bool {
        let Some((name, reason)) = &ledger.refused else {
            if is_listed {
                match keys::page_parts(page) {
                    (_, 1) => self.listed += 1,
                    _ => self.parts += 1,
                }
                if !ledger.notes.is_empty() {
                    self.incomplete.add(examples, page, ledger.notes.clone());
                }
            }
            return false;
        };
        let pages = self.reasons.entry(name.clone()).or_default();
        pages.add(examples, page, vec![reason.clone()]);
        pages.examples.contains_key(page)
    }

    /// Returns whether a page is an example of this reason.
    pub(crate) fn has(&self, reason: &str, page: &str) -> bool {
        let pages = self.reasons.get(reason);
        pages.is_some_and(|pages| pages.examples.contains_key(page))
    }

    /// Says of examples which page has their address.
    pub(crate) fn name_owners(&mut self, owners: &BTreeMap<String, String>) {
        for pages in self.reasons.values_mut() {
            for (page, said) in &mut pages.examples {
                if let Some(owner) = owners.get(page) {
                    *said = vec![duplicate_of(owner)];
                }
            }
        }
    }

    /// Returns whether a page becomes one of the examples of its reason.
    fn shows(&self, ledger: &Ledger, examples: usize) -> bool {
        let pages =
            |(name, _): &(String, String)| self.reasons.get(name).map_or(0, |pages| pages.count);
        let before = ledger.refused.as_ref().map(pages);
        before.is_some_and(|before| before < examples as u64)
    }

    /// Counts the pages and parts that are left out.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.reasons.values().map(|pages| pages.count).sum()
    }

    /// Formats the counts by reason, as lines for people.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        text.line(format!("left out: {}", self.total()));
        for (name, pages) in &self.reasons {
            text.line(format!("  {name}: {}", pages.count));
            pages.write("    ", &mut text);
        }
        if self.incomplete.count > 0 {
            let count = self.incomplete.count;
            text.line(format!("listed, with something left out: {count}"));
            self.incomplete.write("  ", &mut text);
        }
        text
    }

    /// Formats the first `limit` pages that are left out, a line each.
    #[must_use]
    pub fn first(&self, limit: usize) -> Text {
        let mut text = Text::default();
        let pages = self.reasons.iter().flat_map(|(name, pages)| {
            let examples = pages.examples.iter();
            examples.map(move |(page, said)| (name, page, said.join("; ")))
        });
        for (name, page, said) in pages.take(limit) {
            text.line(format!("  {}: {name}: {said}", shown(page)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use sitemap::plan::{Placement, Series, Slot};

    use super::*;

    #[test]
    fn pages_are_counted_by_reason_with_the_first_of_each() {
        let refused = |name: &str| Ledger {
            refused: Some((name.to_owned(), "why\u{1b}".to_owned())),
            ..Ledger::default()
        };
        let placement = Placement {
            series: Series {
                site: "www.example.com".to_owned(),
                name: "post".to_owned(),
            },
            slot: Slot { n: 1, i: 0 },
            digest: String::new(),
        };
        let listed = |notes: &[&str]| Ledger {
            placed: vec![placement.clone()],
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
            ..Ledger::default()
        };
        let mut found = LeftOut::default();
        for (page, ledger) in [
            (keys::page("c", 1), refused("noindex")),
            (keys::page("a", 2), refused("noindex")),
            (keys::page("b", 1), refused("noindex")),
            (keys::page("x", 1), refused("expired")),
            (keys::page("l", 1), listed(&["title: cut", "priority: bad"])),
            (keys::page("l", 2), listed(&[])),
            (keys::page("fence", 1), Ledger::default()),
        ] {
            found.add(&page, &ledger, !ledger.placed.is_empty(), 2);
        }
        assert_eq!((found.listed, found.parts, found.total()), (1, 1, 4));
        let expected = [
            "left out: 4",
            "  expired: 1",
            "    x: why\\u{1b}",
            "  noindex: 3",
            "    b: why\\u{1b}",
            "    c: why\\u{1b}",
            "    … and 1 more",
            "listed, with something left out: 1",
            "  l: title: cut",
            "  l: priority: bad",
            "",
        ];
        assert_eq!(&*found.text(), expected.join("\n"));
        let counted = serde_json::to_value(&found).unwrap();
        assert_eq!(
            counted,
            serde_json::json!({
                "listed": 1,
                "parts": 1,
                "reasons": {
                    "expired": {"count": 1, "examples": {"x": ["why\u{1b}"]}},
                    "noindex": {"count": 3, "examples": {"b": ["why\u{1b}"], "c": ["why\u{1b}"]}},
                },
                "incomplete": {"count": 1, "examples": {"l": ["title: cut", "priority: bad"]}},
            })
        );
        let expected = "  x: expired: why\\u{1b}\n  b: noindex: why\\u{1b}\n";
        assert_eq!(&*found.first(2), expected);
    }
}
