//! What should be listed, as a file says: URLs with or without a lastmod.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::address;
use crate::finding::{Finding, Findings};
use crate::rules::Rule;
use crate::schema::quoted;
use sitemap::time::When;

/// What should be listed.
#[derive(Debug, Default)]
pub struct Expected {
    pages: HashMap<u64, Page>,
}

#[derive(Debug)]
struct Page {
    loc: String,
    lastmod: Option<String>,
    met: AtomicU8,
}

const MET: u8 = 1;
const OTHER_LASTMOD: u8 = 2;

impl Expected {
    /// A URL that should be listed, perhaps with a lastmod.
    pub fn add(&mut self, loc: String, lastmod: Option<String>) {
        let page = Page {
            lastmod,
            met: AtomicU8::new(0),
            loc,
        };
        self.pages
            .insert(address::digest(page.loc.as_bytes()), page);
    }

    /// A URL that is listed.
    pub(crate) fn meet(&self, digest: u64, lastmod: Option<&str>) {
        let Some(page) = self.pages.get(&digest) else {
            return;
        };
        let same = |expected: &str| match (When::parse(expected), lastmod.map(When::parse)) {
            (Ok(expected), Some(Ok(lastmod))) => expected == lastmod,
            _ => lastmod == Some(expected),
        };
        let differs = page
            .lastmod
            .as_deref()
            .is_some_and(|expected| !same(expected));
        let met = if differs { MET | OTHER_LASTMOD } else { MET };
        page.met.fetch_or(met, Ordering::Relaxed);
    }

    /// Whether a URL is expected.
    pub(crate) fn has(&self, digest: u64) -> bool {
        self.pages.contains_key(&digest)
    }

    /// What was not met, and what was met with another lastmod, in the order of the URLs.
    pub(crate) fn finish(&self, file: &Arc<str>, findings: &mut Findings) {
        let mut pages: Vec<_> = self.pages.values().collect();
        pages.sort_unstable_by(|a, b| a.loc.cmp(&b.loc));
        for page in pages {
            let met = page.met.load(Ordering::Relaxed);
            let (rule, message) = match met {
                0 => (
                    Rule::SetMissing,
                    format!("{} is not listed", quoted(&page.loc)),
                ),
                met if met & OTHER_LASTMOD != 0 => (
                    Rule::SetLastmod,
                    format!(
                        "{} has another lastmod than {}",
                        quoted(&page.loc),
                        page.lastmod.as_deref().unwrap_or_default()
                    ),
                ),
                _ => continue,
            };
            findings.add(rule, || Finding {
                rule,
                file: file.clone(),
                at: None,
                message,
                invalid: false,
            });
        }
    }
}
