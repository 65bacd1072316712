//! Entries of a sitemap that are on other hosts. The robots.txt of such a host permits them if it names the sitemap or an index above it
//! (<https://www.sitemaps.org/protocol.html#sitemaps_cross_submits>).

use check::document::Document;
use check::rules::Rule;

use super::next::Next;
use crate::check::limits::Limit;
use crate::check::robots::{Hosts, Known};

/// Other hosts, of a target, whose robots.txt is asked for.
const MAX_HOSTS: usize = 16;

/// Whether a host lets a sitemap list its pages.
enum Word {
    Yes,
    No,
    Unknown(String),
    /// The host was not asked, because the limit of hosts was reached.
    Unasked,
}

/// Asks the other hosts on which a document lists URLs. What they allow is not wrong, and is in its scope from now on. Where they do not
/// answer, it is not known whether it is wrong.
pub(super) async fn settle(next: &mut Next, document: &mut Document, hosts: &Hosts<'_>) {
    for (origin, findings) in std::mem::take(&mut document.elsewhere) {
        match ask(next, &origin, hosts).await {
            Word::Yes => {
                next.permitted.push(origin.clone());
                next.scope.origins.push(origin);
            }
            Word::No => document.findings.append(findings),
            Word::Unasked => {
                let why = format!("only {MAX_HOSTS} other hosts are asked");
                let end = unknown(&origin, &why);
                document
                    .findings
                    .append(findings.moved_to(Rule::ScopeUnknown, &end));
                let limit = Limit(MAX_HOSTS as u64, "other hosts of a target", None);
                let rest = "robots.txt of the other hosts was not read";
                limit.reached(&next.url, rest, &mut document.findings);
                next.scope.origins.push(origin);
            }
            Word::Unknown(why) => {
                let end = unknown(&origin, &why);
                document
                    .findings
                    .append(findings.moved_to(Rule::ScopeUnknown, &end));
                // What may be in scope is looked at: a sitemap that nobody read is not right.
                next.scope.origins.push(origin);
            }
        }
    }
}

fn unknown(origin: &str, why: &str) -> String {
    format!(", and it is not known whether {origin}/robots.txt allows it: {why}")
}

async fn ask(next: &Next, origin: &str, hosts: &Hosts<'_>) -> Word {
    if !hosts.has(origin).await && hosts.count().await > MAX_HOSTS {
        return Word::Unasked;
    }
    match hosts.of(origin).await {
        // A host that only leads to the sitemap's own says nothing by itself: `http:` and names without `www.` do so.
        Known::Read { from, .. } if from != origin && next.scope.origins.contains(&from) => {
            Word::No
        }
        Known::Read { robots, .. } => {
            let mut sitemaps = next.above.iter().chain([&next.url]);
            match sitemaps.any(|url| robots.names(url)) {
                true => Word::Yes,
                false => Word::No,
            }
        }
        Known::Absent => Word::No,
        Known::Unknown(why) => Word::Unknown(why),
    }
}
