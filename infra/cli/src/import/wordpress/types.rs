//! Types of posts, and whether they have pages. An export has all of them, and does not say which are public.

use std::collections::{BTreeMap, BTreeSet};

/// Types of WordPress itself that are no pages. The addresses of most look like those of posts, and answer 404. Attachments lead to
/// their files since WordPress 6.4.
const NO_PAGES: [&str; 16] = [
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
    // Of WooCommerce. A variation's address is its product's.
    "product_variation",
    "patterns_ai_data",
];
/// Types of WordPress itself that are pages.
const PAGES: [&str; 2] = ["post", "page"];

/// What is known of a type without its posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) enum Kind {
    /// It has pages.
    Pages,
    /// It has none.
    NoPages,
    /// The user does not want it.
    Unwanted,
    /// It is a plugin's or a theme's, and may have pages.
    Unknown,
}

/// Returns what is known of a type. `wanted` are the types that the user names, if any.
pub(in crate::import) fn kind_of(type_name: &str, wanted: &BTreeSet<String>) -> Kind {
    if !wanted.is_empty() {
        let is_wanted = wanted.contains(type_name);
        return if is_wanted {
            Kind::Pages
        } else {
            Kind::Unwanted
        };
    }
    match type_name {
        name if PAGES.contains(&name) => Kind::Pages,
        name if NO_PAGES.contains(&name) => Kind::NoPages,
        _ => Kind::Unknown,
    }
}

/// Returns the reason for which a post of such a type is not imported.
pub(in crate::import) fn refusal(kind: Kind, type_name: &str) -> Option<String> {
    match kind {
        Kind::Pages | Kind::Unknown => None,
        Kind::NoPages => Some(format!("{type_name} is not a page")),
        Kind::Unwanted => Some(format!("{type_name} is not among --types")),
    }
}

/// Returns the reason for which posts are not imported whose addresses show that their type has no pages.
pub(in crate::import) fn no_pages(type_name: &str) -> String {
    format!("{type_name} is not public, by its addresses")
}

/// Returns the message for a post of a type that may have pages.
pub(in crate::import) fn doubt(type_name: &str) -> String {
    format!("a sign that {type_name} is public (--types)")
}

/// Returns whether an address names only the type and the number of a post that is not a draft. WordPress writes that for a type that has
/// neither permalinks nor a query of its own, so that no visitor sees its posts.
pub(in crate::import) fn is_bare(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|part| part.starts_with("post_type="))
}

/// What the addresses of posts show of their types.
#[derive(Debug, Default)]
pub(super) struct Seen(BTreeMap<String, Shown>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    Query,
    Bare,
}

impl Seen {
    /// Notes the address of a post that is not a draft: the part after the address of the site.
    pub(super) fn add(&mut self, type_name: &str, path: &str) {
        let shown = if is_bare(path) {
            Shown::Bare
        } else if path.trim_start_matches('/').starts_with('?') {
            Shown::Query
        } else {
            return;
        };
        let known = self.0.entry(type_name.to_owned()).or_insert(shown);
        *known = shown.max(*known);
    }

    /// Returns the reason for which posts of a type that may have pages are not imported. `is_pretty`: other addresses of the site are
    /// paths.
    pub(super) fn refusal(&self, type_name: &str, is_pretty: bool) -> Option<String> {
        match self.0.get(type_name)? {
            Shown::Query if !is_pretty => None,
            Shown::Query | Shown::Bare => Some(no_pages(type_name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_show_that_a_type_is_not_public() {
        let mut seen = Seen::default();
        for (type_name, path) in [
            ("book", "/?book=soup"),
            ("form", "/?form=a"),
            ("form", "/?post_type=form&p=2"),
            ("form", "/?form=b"),
            ("field", "?p=2&post_type=field"),
            ("recipe", "/recipe/bread/"),
            ("course", "/course/bread/?lang=de"),
        ] {
            seen.add(type_name, path);
        }
        for (type_name, pretty, plain) in [
            ("book", true, false),
            ("form", true, true),
            ("field", true, true),
            ("recipe", false, false),
            ("course", false, false),
        ] {
            let is_refused = |is_pretty| seen.refusal(type_name, is_pretty).is_some();
            assert_eq!(
                (is_refused(true), is_refused(false)),
                (pretty, plain),
                "{type_name}"
            );
        }
    }

    #[test]
    fn the_user_may_name_the_types() {
        let wanted: BTreeSet<String> = ["page", "attachment"].map(str::to_owned).into();
        for (type_name, usual, named) in [
            ("post", Kind::Pages, Kind::Unwanted),
            ("page", Kind::Pages, Kind::Pages),
            ("attachment", Kind::NoPages, Kind::Pages),
            ("wp_navigation", Kind::NoPages, Kind::Unwanted),
            ("recipe", Kind::Unknown, Kind::Unwanted),
        ] {
            assert_eq!(kind_of(type_name, &BTreeSet::new()), usual, "{type_name}");
            assert_eq!(kind_of(type_name, &wanted), named, "{type_name}");
        }
    }
}
