//! A site whose exports are read: collects what its posts show of each other, and makes their records.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use check::document::elements::Element;
use serde_json::{Value, json};

use super::archives::{AUTHOR, Terms, has_archives};
use super::dates::{Offsets, gmt, pub_date, zoned};
use super::permalinks::{self, Parts};
use super::spool::Post;
use super::status::{is_unpublished, status_of};
use super::types::{self, Kind, doubt, kind_of, refusal};
use crate::import::html;
use crate::import::json::fields;
use crate::import::options::ImportError;
use crate::import::writer::{Id, Sink};

/// The type of posts, whose addresses show the site's permalinks.
const POST: &str = "post";
/// The type of pages, which no archive lists.
pub(super) const PAGE: &str = "page";
/// The status of an attachment, which is that of the post it is under.
const INHERIT: &str = "inherit";
/// Pages under each other: a loop has an end.
const MAX_DEPTH: usize = 100;

/// What the exports of a site have shown.
#[derive(Default)]
pub(super) struct Blog {
    terms: Terms,
    permalinks: permalinks::Seen,
    types: types::Seen,
    offsets: Offsets,
    /// Posts that are under another one, or not published.
    tree: HashMap<u64, Node>,
    has_front_page: bool,
}

/// A post that others may be under.
struct Node {
    type_name: String,
    parent: u64,
    status: &'static str,
    has_slug: bool,
}

impl Blog {
    /// Writes the records of the archives.
    pub(super) fn archives(&self, base: &str, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        self.terms.write(base, &self.permalinks, sink)
    }

    /// Returns whether a post is the front page.
    pub(super) fn has_front_page(&self) -> bool {
        self.has_front_page
    }

    /// Takes a term or an author that the export declares.
    pub(super) fn declare(&mut self, element: &Element) {
        let text = |name: &str| element.get(name);
        let (taxonomy, slug, parent) = match element.name() {
            "wp:author" => {
                if let Some(login) = text("wp:author_login") {
                    self.terms.author(login, text("wp:author_id"));
                }
                return;
            }
            "wp:category" => (
                Some("category"),
                text("wp:category_nicename"),
                text("wp:category_parent"),
            ),
            "wp:tag" => (Some("post_tag"), text("wp:tag_slug"), None),
            "wp:term" => (
                text("wp:term_taxonomy"),
                text("wp:term_slug"),
                text("wp:term_parent"),
            ),
            _ => return,
        };
        if let (Some(taxonomy), Some(slug)) = (taxonomy, slug) {
            self.terms
                .declare(taxonomy, slug, text("wp:term_id"), parent);
        }
    }

    /// Reads a post, and notes what it shows of others. Returns `None` if it is not imported.
    pub(super) fn post(&mut self, item: &Element, base: &str, sink: &mut Sink<'_>) -> Option<Post> {
        let text = |name: &str| item.get(name);
        let type_name = text("wp:post_type").unwrap_or(POST);
        let url = text("link").unwrap_or_default();
        let kind = kind_of(type_name, &sink.options.types);
        if let Some(reason) = refusal(kind, type_name) {
            sink.skip(&reason, || url.to_owned());
            sink.report.chosen_out += u64::from(kind == Kind::Unwanted);
            return None;
        }
        let Some(id) = text("wp:post_id") else {
            sink.skip("it has no wp:post_id", || url.to_owned());
            return None;
        };
        let status = text("wp:status").unwrap_or("publish");
        let number = |name: &str| text(name).and_then(|number| number.parse::<u64>().ok());
        let parent = number("wp:post_parent").unwrap_or_default();
        let node = Node {
            type_name: type_name.to_owned(),
            parent,
            status: status_of(status).0,
            has_slug: text("wp:post_name").is_some(),
        };
        if let Some(number) = number("wp:post_id")
            && (parent != 0 || node.status != "published")
        {
            self.tree.insert(number, node);
        }
        let terms = self.terms(item, type_name, url, sink);
        if let Some(path) = behind(base, url) {
            self.look(item, type_name, path, status);
        }
        let mut local = Vec::new();
        let mut date = |field: &str, in_gmt: &str, in_zone: &str| {
            let (given, seen) = (text(in_gmt), text(in_zone));
            if let (Some(given), Some(seen)) = (given, seen) {
                self.offsets.add(seen, given);
            }
            let found = given.and_then(gmt);
            if let (None, Some(seen)) = (&found, seen.filter(|seen| gmt(seen).is_some())) {
                local.push((field.to_owned(), seen.to_owned()));
            }
            // An export of WordPress has the same in pubDate, if there is any. Others may have that alone.
            let is_alone = given.is_none() && seen.is_none() && field == "published_at";
            let alone = text("pubDate").filter(|_| is_alone).and_then(pub_date);
            found.or(alone).map(Value::from)
        };
        let published = date("published_at", "wp:post_date_gmt", "wp:post_date");
        let modified = date("modified_at", "wp:post_modified_gmt", "wp:post_modified");
        let meta = |key: &str| {
            let mut all = item.all("wp:postmeta");
            let own = all.find(|meta| meta.get("wp:meta_key") == Some(key))?;
            own.get("wp:meta_value")
        };
        let rank_math =
            meta("rank_math_robots").is_some_and(|robots| robots.contains("\"noindex\""));
        let yoast = meta("_yoast_wpseo_meta-robots-noindex") == Some("1");
        let canonical = meta("_yoast_wpseo_canonical").or(meta("rank_math_canonical_url"));
        let title = text("title").map(html::text);
        let fields = fields([
            ("type", Some(type_name.into())),
            ("url", text("link").map(Value::from)),
            (
                "title",
                title.filter(|title| !title.is_empty()).map(Value::from),
            ),
            (
                "visibility",
                text("wp:post_password").map(|_| "password".into()),
            ),
            ("published_at", published),
            ("modified_at", modified),
            ("noindex", (yoast || rank_math).then_some(true.into())),
            ("canonical_url", canonical.map(Value::from)),
            ("terms", (!terms.is_empty()).then(|| json!(terms))),
        ]);
        Some(Post {
            id: id.to_owned(),
            type_name: type_name.to_owned(),
            status: status.to_owned(),
            parent,
            local,
            fields,
        })
    }

    /// Notes what an address shows of its type and of the site's permalinks. `path` is the part after the address of the site.
    fn look(&mut self, item: &Element, type_name: &str, path: &str, status: &str) {
        let text = |name: &str| item.get(name).unwrap_or_default();
        if !is_unpublished(status) {
            self.types.add(type_name, path);
        }
        if status_of(status).0 != "published" {
            return;
        }
        self.has_front_page |= path.trim_matches('/').is_empty();
        match type_name {
            POST => {
                let categories = item.all("category");
                let categories =
                    categories.filter(|term| term.attribute("domain") == Some("category"));
                let slugs = categories.filter_map(|term| term.attribute("nicename"));
                let parts = Parts {
                    id: text("wp:post_id"),
                    slug: item.get("wp:post_name").unwrap_or(last_step(path)),
                    date: text("wp:post_date"),
                    categories: slugs
                        .map(|slug| self.terms.path("category", slug))
                        .collect(),
                    author: self.terms.author(text("dc:creator"), None),
                };
                self.permalinks.post(path, &parts);
            }
            PAGE => self.permalinks.page(path),
            _ => {}
        }
    }

    /// Returns the slugs of a post's terms, by taxonomy. Its authors are terms, unless it is a page, which no archive of an author lists.
    fn terms(
        &mut self,
        item: &Element,
        type_name: &str,
        url: &str,
        sink: &mut Sink<'_>,
    ) -> BTreeMap<String, BTreeSet<String>> {
        let mut terms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for term in item.all("category") {
            let (taxonomy, slug) = (term.attribute("domain"), term.attribute("nicename"));
            let (Some(taxonomy), Some(slug)) = (taxonomy, slug) else {
                continue;
            };
            // So Co-Authors Plus calls the authors of a post.
            let slug = match taxonomy {
                AUTHOR => slug.strip_prefix("cap-").unwrap_or(slug),
                _ => slug,
            };
            if has_archives(taxonomy) && !slug.is_empty() {
                let slugs = terms.entry(taxonomy.to_owned()).or_default();
                slugs.insert(slug.to_owned());
            }
        }
        if type_name == PAGE {
            terms.remove(AUTHOR);
        } else if !terms.contains_key(AUTHOR)
            && let Some(login) = item.get("dc:creator")
        {
            match self.terms.author(login, None) {
                Some(slug) => drop(terms.insert(AUTHOR.to_owned(), BTreeSet::from([slug]))),
                None => {
                    let what = "its author, whose slug cannot be told from the login";
                    sink.note(what, || url.to_owned());
                }
            }
        }
        terms
    }

    /// Writes the record of a post, once its export was read.
    pub(super) fn record(
        &mut self,
        mut post: Post,
        sink: &mut Sink<'_>,
    ) -> Result<(), ImportError> {
        let url = post.url().to_owned();
        let kind = kind_of(&post.type_name, &sink.options.types);
        if kind == Kind::Unknown {
            let is_pretty = self.permalinks.is_pretty();
            if let Some(reason) = self.types.refusal(&post.type_name, is_pretty) {
                sink.skip(&reason, || url);
                return Ok(());
            }
        }
        let (mut status, mut is_known) = status_of(&post.status);
        if post.status == INHERIT {
            let above = self.tree.get(&post.parent);
            (status, is_known) = (above.map_or("published", |above| above.status), true);
        }
        if !is_known {
            sink.note("an unknown status, taken for a draft", || {
                format!("{url}: {:?}", post.status)
            });
        }
        if status == "published" && self.is_below_nothing(&post) {
            status = "draft";
            let what = "an address that answers: a draft is above it";
            sink.note(what, || url.clone());
        }
        if status == "published" && kind == Kind::Unknown {
            sink.note(&doubt(&post.type_name), || url.clone());
        }
        self.add_local_dates(&mut post, status, sink);
        if let Some(Value::Object(terms)) = post.fields.get("terms") {
            for (taxonomy, slugs) in terms {
                for slug in slugs
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                {
                    self.terms.meet(taxonomy, slug);
                }
            }
        }
        post.fields.insert("status".to_owned(), status.into());
        let id = format!("{}/{}", post.type_name, post.id);
        sink.record(post.fields, Id::OnSite(&id))
    }

    /// Returns whether a page answers 404 although it is published. WordPress looks for it by the slugs of all pages above it, and a
    /// draft that was never published has none. If a post above it is of another type, the address does not have its slug. Without
    /// permalinks a page's address has its number, and WordPress needs no slug to find it.
    fn is_below_nothing(&self, post: &Post) -> bool {
        if names_page(post.url()) {
            return false;
        }
        let above = |parent: u64| {
            let node = self.tree.get(&parent);
            node.filter(|node| node.type_name == post.type_name)
        };
        std::iter::successors(above(post.parent), |node| above(node.parent))
            .take(MAX_DEPTH)
            .any(|node| !node.has_slug && node.status != "published")
    }

    /// Adds the dates that are not in GMT. A draft has none that means anything.
    fn add_local_dates(&self, post: &mut Post, status: &str, sink: &mut Sink<'_>) {
        if !["published", "scheduled", "private"].contains(&status) {
            return;
        }
        let (mut is_made, mut is_unknown) = (false, false);
        for (field, local) in std::mem::take(&mut post.local) {
            let zone = sink.options.zone.as_ref();
            let date = match zone {
                Some(zone) => zoned(&local, zone),
                None => self.offsets.utc(&local),
            };
            is_made |= date.is_some() && zone.is_none();
            is_unknown |= date.is_none();
            post.fields
                .extend(date.map(|date| (field, Value::from(date))));
        }
        let url = post.url();
        if is_made {
            let what = "dates in GMT (made with the offset of other dates)";
            sink.note(what, || url.to_owned());
        }
        if is_unknown {
            let what = "dates in GMT (--zone makes them of local ones)";
            sink.note(what, || url.to_owned());
        } else if status == "published" && !post.fields.contains_key("published_at") {
            sink.note("a date", || url.to_owned());
        }
    }
}

/// Returns the part of an address after the address of the site, by whatever scheme.
fn behind<'u>(base: &str, url: &'u str) -> Option<&'u str> {
    let bare = |url: &'_ str| {
        url.split_once("://")
            .map_or(0, |(scheme, _)| scheme.len() + 3)
    };
    let (base, url) = (&base[bare(base)..], &url[bare(url)..]);
    let head = url.get(..base.len()).filter(|_| !base.is_empty())?;
    let path = &url[base.len()..];
    let is_end = path.is_empty() || path.starts_with(['/', '?']);
    (head.eq_ignore_ascii_case(base) && is_end).then_some(path)
}

/// Returns whether an address names a page by its number: `/?page_id=7`.
fn names_page(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|part| part.starts_with("page_id="))
}

/// Returns the slug in an address, where an export that is not WordPress's own has it nowhere else.
fn last_step(path: &str) -> &str {
    let step = path.trim_end_matches('/').rsplit('/').next();
    let step = step.unwrap_or_default();
    step.split_once('.').map_or(step, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_on_its_site() {
        for (base, url, expected) in [
            ("https://a.example", "https://a.example/b/", Some("/b/")),
            ("http://A.example", "https://a.example/b/", Some("/b/")),
            (
                "https://a.example/blog",
                "https://a.example/blog/?p=7",
                Some("/?p=7"),
            ),
            ("https://a.example/blog", "https://a.example/blogs/", None),
            ("https://a.example", "https://a.example", Some("")),
            ("https://a.example", "https://b.example/", None),
            ("https://a.example", "/b/", None),
            ("", "https://a.example/", None),
        ] {
            assert_eq!(behind(base, url), expected, "{base} {url}");
        }
    }
}
