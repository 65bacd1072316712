//! Requests in addition to those for documents. They test what servers do with conditions, methods, encodings, browsers, queries and
//! addresses that are not sitemaps. Only the rules `hdr.` and `route.` need them.

use check::document::{Document, Kind};
use check::findings::Findings;
use check::rules::Rule;
use check::site::yoast_names::{Name, Series};
use check::url::origin_of;

use super::limits::Limit;
use crate::fetch::client::Client;

mod asker;
mod headers;
mod routes;

use asker::Asker;

/// Documents whose headers are looked at: the index, the first ones, and the last. Each takes some thirty requests.
const MAX_PROBED: usize = 12;
/// Series whose addresses are tried.
const MAX_SERIES: usize = 20;
/// What may be looked at more closely.
#[derive(Clone, Debug, Default)]
pub(super) struct Probed {
    first: Vec<String>,
    last: Option<String>,
    /// The number of documents between the first ones and the last.
    more: u64,
    /// The first index.
    index: Option<String>,
    series: Series,
}

impl Probed {
    /// Adds a document.
    pub(super) fn add(&mut self, url: &str, depth: u32, document: &Document) {
        match document.kind {
            Kind::Index => {
                self.index.get_or_insert_with(|| url.to_owned());
            }
            Kind::Sitemap => {
                if let Some(name) = Name::of(url).filter(|_| depth > 0) {
                    self.series.add(name);
                }
            }
            _ => return,
        }
        if self.first.len() < MAX_PROBED - 1 {
            self.first.push(url.to_owned());
        } else {
            self.more += u64::from(self.last.is_some());
            self.last = Some(url.to_owned());
        }
    }

    /// Returns whether a rule about headers or routes applies to any of them.
    pub(super) fn is_wanted(&self, findings: &Findings) -> bool {
        let policy = findings.policy();
        let mut rules = Rule::ALL.iter().copied().filter(|rule| {
            let id = rule.id();
            id.starts_with("hdr.") || id.starts_with("route.")
        });
        !self.first.is_empty() && rules.any(|rule| policy.level(rule).is_some())
    }

    /// Looks at the documents' headers and at the routes around them. `name` is the target.
    pub(super) async fn check(&self, name: &str, client: &Client, findings: &mut Findings) {
        let mut asker = Asker { client, findings };
        if asker.wants("hdr.") || asker.wants("route.query") {
            if self.more > 0 {
                let limit = Limit(MAX_PROBED as u64, "documents of a target", None);
                let rest = "the headers of the other documents were not checked";
                limit.reached(name, rest, asker.findings);
            }
            for url in self.first.iter().chain(&self.last) {
                headers::check(&mut asker, url).await;
            }
        }
        let index = self.index.as_ref();
        if let Some((index, origin)) = index.and_then(|index| Some((index, origin_of(index)?)))
            && asker.wants("route.")
        {
            if self.series.each().count() > MAX_SERIES {
                let limit = Limit(MAX_SERIES as u64, "series of sitemaps", None);
                let rest = "the addresses of the other series were not tried";
                limit.reached(name, rest, asker.findings);
            }
            let series = self.series.each().take(MAX_SERIES);
            routes::check(&mut asker, origin, index, series).await;
        }
    }
}
