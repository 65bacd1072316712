//! Reads the links of a page's head and of its header.

use url::Url;

/// A link of a page to another one, or to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) rel: String,
    pub(super) href: String,
    pub(super) language: Option<String>,
    /// Whether it is only for a language, a medium or a type.
    pub(super) is_variant: bool,
}

impl Link {
    pub(super) fn is(&self, rel: &str) -> bool {
        let mut rels = self.rel.split_ascii_whitespace();
        rels.any(|one| one.eq_ignore_ascii_case(rel))
    }

    /// Returns whether it names the canonical page. Google ignores such a link if it is only for a language, medium or type
    /// (<https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls>).
    pub(super) fn is_canonical(&self) -> bool {
        self.is("canonical") && self.language.is_none() && !self.is_variant
    }

    /// Returns the address without a fragment. Returns `None` if it is invalid.
    pub(super) fn address(&self, base: &Url) -> Option<Url> {
        let mut url = base.join(self.href.trim()).ok()?;
        url.set_fragment(None);
        Some(url)
    }
}

/// Parses the links of a header: `<https://…>; rel="canonical", …` (RFC 8288). Other forms are skipped.
pub(super) fn of_header(header: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for piece in header.split('<').skip(1) {
        let Some((href, rest)) = piece.split_once('>') else {
            continue;
        };
        let mut link = Link {
            href: href.to_owned(),
            ..Link::default()
        };
        for parameter in rest.split([';', ',']) {
            let Some((name, value)) = parameter.split_once('=') else {
                continue;
            };
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                // The first one counts (RFC 8288, 3.3).
                "rel" if link.rel.is_empty() => link.rel = value.to_owned(),
                "hreflang" => link.language = Some(value.to_owned()),
                "media" | "type" => link.is_variant = true,
                _ => {}
            }
        }
        links.push(link);
    }
    links
}
