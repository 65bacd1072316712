//! Counts the entries of a document, and the elements that are not entries.

use super::element::Element;

/// Counts the entries of a document, so that no document passes of which no entry could be read.
#[derive(Debug)]
pub struct Entries {
    name: &'static str,
    count: u64,
    with_address: u64,
    passed_over: u64,
    /// The first element that was skipped.
    other: Option<String>,
}

/// The names of entries of sitemaps and of feeds.
const ENTRIES: [&str; 4] = ["url", "sitemap", "item", "entry"];

impl Entries {
    /// Begins to count. `name` is an entry's name without a prefix.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            count: 0,
            with_address: 0,
            passed_over: 0,
            other: None,
        }
    }

    /// Counts an element. Returns whether it is an entry.
    pub fn add(&mut self, element: &Element, has_address: bool) -> bool {
        let is_entry = element.local() == self.name;
        if is_entry {
            self.count += 1;
            self.with_address += u64::from(has_address);
        } else if self.passes_over(element) {
            self.passed_over += 1;
            let other = || element.local().to_owned();
            self.other.get_or_insert_with(other);
        }
        is_entry
    }

    /// Returns whether an element is not an entry, in a place for entries only. A feed has many other elements that describe it.
    #[must_use]
    pub fn passes_over(&self, element: &Element) -> bool {
        let is_feed = matches!(self.name, "item" | "entry");
        let is = |name: &&str| element.local().eq_ignore_ascii_case(name);
        element.local() != self.name && (!is_feed || ENTRIES.iter().any(is))
    }

    /// Returns the number of skipped elements.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of entries without an address.
    #[must_use]
    pub fn without_address(&self) -> u64 {
        self.count - self.with_address
    }

    /// Returns what the document lacks, if it has content but no readable entry.
    #[must_use]
    pub fn lacking(&self) -> Option<String> {
        let Self { name, count, .. } = self;
        match &self.other {
            Some(other) if *count == 0 => Some(format!("no <{name}>, but <{other}>")),
            _ if *count > 0 && self.with_address == 0 => {
                Some(format!("no <{name}> with an address, of {count}"))
            }
            _ => None,
        }
    }
}
