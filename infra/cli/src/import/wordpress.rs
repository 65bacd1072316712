//! A WordPress export (WXR, "Tools, Export"): posts of every type and status, and the archives of their terms.
//!
//! - What WordPress keeps as posts and has no address of its own (menus, revisions, templates) is left out, and so are
//!   attachments, whose pages lead to the file since WordPress 6.4.
//! - A term's address is not in an export. It is made by the usual permalinks, or by a pattern of the user's.

use std::collections::{BTreeMap, BTreeSet};

use check::document::elements::{Element, Elements, Oddities};
use check::document::input::Input;
use serde_json::{Value, json};
use sitemap::loc::Loc;
use sitemap::time::When;

use super::feed::rfc2822;
use super::json::fields;
use super::options::ImportError;
use super::sink::{Id, Sink};

/// Types that are no pages.
const NO_PAGES: [&str; 15] = [
    "attachment",
    "nav_menu_item",
    "revision",
    "custom_css",
    "customize_changeset",
    "oembed_cache",
    "user_request",
    "wp_block",
    "wp_template",
    "wp_template_part",
    "wp_global_styles",
    "wp_navigation",
    "wp_font_family",
    "wp_font_face",
    "patterns_ai_data",
];
/// Taxonomies whose terms have no archives.
const NO_ARCHIVES: [&str; 3] = ["post_format", "nav_menu", "wp_theme"];
/// Where archives are, unless the options say otherwise. `{path}`: the term's slug behind those it is under.
const PERMALINKS: [(&str, &str); 3] = [
    ("category", "/category/{path}/"),
    ("post_tag", "/tag/{slug}/"),
    ("author", "/author/{slug}/"),
];
/// Terms under each other: a loop has an end.
const MAX_PARENTS: usize = 20;

/// A status of WordPress as a record has it, and whether it is one of WordPress's own.
pub(super) fn status_of(status: &str) -> (&'static str, bool) {
    match status {
        "publish" => ("published", true),
        "draft" | "auto-draft" => ("draft", true),
        "pending" => ("pending", true),
        "future" => ("scheduled", true),
        "private" => ("private", true),
        "trash" => ("trash", true),
        _ => ("draft", false),
    }
}

/// A date in GMT: `2026-01-02 03:04:05`. WordPress writes zeros for none.
pub(super) fn gmt(text: &str) -> Option<String> {
    let time = format!("{}Z", text.trim().replacen(' ', "T", 1));
    When::parse(&time).ok().map(|_| time)
}

/// A term of a taxonomy.
type Term = (String, String);

/// What an export says of its site and its terms.
#[derive(Default)]
struct Channel {
    name: Option<String>,
    language: Option<String>,
    base: Option<String>,
    /// The terms that were seen, and those they are under.
    terms: BTreeMap<Term, Option<String>>,
}

/// Reads an export. Returns why it could not be read to its end.
pub(super) fn read(input: Input<'_>, sink: &mut Sink<'_>) -> Result<Option<String>, ImportError> {
    let mut elements = match Elements::open(input, Oddities::Kept) {
        Ok(elements) => elements,
        Err(broken) => return Ok(Some(broken.to_string())),
    };
    let mut channel = Channel::default();
    let broken = loop {
        let element = match elements.next() {
            Ok(Some(element)) => element,
            Ok(None) => break None,
            Err(broken) => break Some(broken.to_string()),
        };
        match element.name() {
            "item" => item(&element, &mut channel, sink)?,
            "title" => channel.name = Some(element.text().to_owned()),
            "language" => channel.language = Some(element.text().to_owned()),
            "link" => channel.base = Some(element.text().to_owned()),
            "wp:base_blog_url" => channel.base = Some(element.text().to_owned()),
            _ => channel.declare(&element),
        }
    };
    if let Some(base) = &channel.base
        && let Ok(loc) = Loc::parse_any(&sink.address(base))
    {
        let facts = sink.site(&host(&loc));
        facts.name = channel.name.clone().filter(|name| !name.is_empty());
        facts.language = channel.language.clone().filter(|code| !code.is_empty());
    }
    if sink.options.archives {
        channel.archives(sink)?;
    }
    Ok(broken)
}

/// The host of a site, with its port if it has one.
fn host(loc: &Loc) -> String {
    let (_, rest) = loc.as_str().split_once("://").unwrap_or_default();
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    host.to_owned()
}

impl Channel {
    /// A term that the export declares.
    fn declare(&mut self, element: &Element) {
        let text = |name: &str| element.get(name).map(str::to_owned);
        let (taxonomy, slug, parent) = match element.name() {
            "wp:category" => (
                Some("category".to_owned()),
                text("wp:category_nicename"),
                text("wp:category_parent"),
            ),
            "wp:tag" => (Some("post_tag".to_owned()), text("wp:tag_slug"), None),
            "wp:term" => (
                text("wp:term_taxonomy"),
                text("wp:term_slug"),
                text("wp:term_parent"),
            ),
            _ => return,
        };
        if let (Some(taxonomy), Some(slug)) = (taxonomy, slug)
            && !NO_ARCHIVES.contains(&taxonomy.as_str())
        {
            self.terms.insert((taxonomy, slug), parent);
        }
    }

    /// The records of the terms' archives.
    fn archives(&self, sink: &mut Sink<'_>) -> Result<(), ImportError> {
        let base = self.base.as_deref().unwrap_or_default();
        let base = base.trim_end_matches('/');
        for (taxonomy, slug) in self.terms.keys() {
            let own = sink.options.archive_urls.get(taxonomy).map(String::as_str);
            let usual = PERMALINKS.iter().find(|(name, _)| name == taxonomy);
            let Some(pattern) = own.or(usual.map(|(_, pattern)| *pattern)) else {
                let reason = format!(
                    "archives of {taxonomy}: --archive-url {taxonomy}=/…/ says where they are"
                );
                sink.skip(&reason, || slug.clone());
                continue;
            };
            let path = pattern
                .replace("{path}", &self.path(taxonomy, slug))
                .replace("{slug}", slug);
            let record = json!({
                "type": taxonomy,
                "url": format!("{base}{path}"),
                "archive_of": {"taxonomy": taxonomy, "term": slug},
            });
            if let Value::Object(fields) = record {
                sink.record(fields, Id::OnSite(&format!("{taxonomy}/{slug}")))?;
            }
        }
        Ok(())
    }

    /// A term's slug behind those of the terms that it is under.
    fn path(&self, taxonomy: &str, slug: &str) -> String {
        let mut path = vec![slug.to_owned()];
        let mut at = slug.to_owned();
        while path.len() < MAX_PARENTS
            && let Some(Some(parent)) = self.terms.get(&(taxonomy.to_owned(), at))
        {
            path.insert(0, parent.clone());
            at = parent.clone();
        }
        path.join("/")
    }
}

fn item(item: &Element, channel: &mut Channel, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let text = |name: &str| item.get(name);
    let type_name = text("wp:post_type").unwrap_or("post");
    let url = text("link").unwrap_or_default().to_owned();
    if NO_PAGES.contains(&type_name) {
        sink.skip(&format!("{type_name} is not a page"), || url);
        return Ok(());
    }
    let Some(id) = text("wp:post_id") else {
        sink.skip("it has no wp:post_id", || url);
        return Ok(());
    };
    let wordpress_status = text("wp:status").unwrap_or("publish");
    let (status, is_known) = status_of(wordpress_status);
    if !is_known {
        sink.note("an unknown status, taken for a draft", || {
            format!("{url}: {wordpress_status:?}")
        });
    }
    let published = text("wp:post_date_gmt").and_then(gmt);
    let published = published.or_else(|| rfc2822(text("pubDate")?));
    let published = published.filter(|at| !at.starts_with("0000") && !at.starts_with("-"));
    if published.is_none() && status == "published" {
        sink.note("a date in GMT", || url.clone());
    }
    let terms = terms(item);
    for (taxonomy, slugs) in &terms {
        for slug in slugs {
            let term = (taxonomy.clone(), slug.clone());
            channel.terms.entry(term).or_default();
        }
    }
    let meta = |key: &str| {
        let mut all = item.all("wp:postmeta");
        let own = all.find(|meta| meta.get("wp:meta_key") == Some(key))?;
        own.get("wp:meta_value")
    };
    let rank_math = meta("rank_math_robots").is_some_and(|robots| robots.contains("\"noindex\""));
    let yoast = meta("_yoast_wpseo_meta-robots-noindex") == Some("1");
    let canonical = meta("_yoast_wpseo_canonical").or(meta("rank_math_canonical_url"));
    let record = fields([
        ("type", Some(type_name.into())),
        ("url", text("link").map(Value::from)),
        ("title", text("title").map(Value::from)),
        ("status", Some(status.into())),
        (
            "visibility",
            text("wp:post_password").map(|_| "password".into()),
        ),
        ("published_at", published.map(Value::from)),
        (
            "modified_at",
            text("wp:post_modified_gmt").and_then(gmt).map(Value::from),
        ),
        ("noindex", (yoast || rank_math).then_some(true.into())),
        ("canonical_url", canonical.map(Value::from)),
        ("terms", (!terms.is_empty()).then(|| json!(terms))),
    ]);
    sink.record(record, Id::OnSite(&format!("{type_name}/{id}")))
}

/// The slugs of an item's terms, by taxonomy; its author is one.
fn terms(item: &Element) -> BTreeMap<String, BTreeSet<String>> {
    let mut terms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let author = item.get("dc:creator").map(|login| ("author", login));
    let named = item.all("category").filter_map(|term| {
        let slug = term.attribute("nicename")?;
        Some((term.attribute("domain")?, slug))
    });
    for (taxonomy, slug) in named.chain(author) {
        if !NO_ARCHIVES.contains(&taxonomy) && !slug.is_empty() {
            let slugs = terms.entry(taxonomy.to_owned()).or_default();
            slugs.insert(slug.to_owned());
        }
    }
    terms
}
