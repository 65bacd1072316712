//! The names of elements, with the usual prefix of their namespace, whatever prefix the document has.

use quick_xml::name::ResolveResult;

use crate::document::schema::Ns;

/// Namespaces by a part of their name, each with its usual prefix. The first match counts. Those without a prefix have long
/// texts, which are not needed.
const PREFIXES: [(&str, Option<&str>); 18] = [
    ("sitemaps.org/schemas/sitemap", Some("")),
    ("google.com/schemas/sitemap-image", Some("image:")),
    ("google.com/schemas/sitemap-video", Some("video:")),
    ("google.com/schemas/sitemap-news", Some("news:")),
    (OLD_SITEMAP, Some("")),
    ("www.w3.org/1999/xhtml", Some("xhtml:")),
    ("www.w3.org/2005/Atom", Some("atom:")),
    // Atom 0.3.
    ("purl.org/atom/ns#", Some("atom:")),
    ("purl.org/rss/1.0/modules/", None),
    ("/excerpt/", None),
    ("wordpress.org/export/", Some("wp:")),
    ("purl.org/dc/elements", Some("dc:")),
    ("www.w3.org/1999/02/22-rdf-syntax-ns", Some("rdf:")),
    ("purl.org/rss/1.0/", Some("")),
    // RSS 0.9, 1.1 and 2.0. The last one should have no namespace.
    ("my.netscape.com/rdf/simple/0.9/", Some("")),
    ("purl.org/net/rss1.1#", Some("")),
    ("backend.userland.com/rss", Some("")),
    ("blogs.law.harvard.edu/tech/rss", Some("")),
];
/// The namespace of sitemaps before the protocol was a common one.
const OLD_SITEMAP: &str = "google.com/schemas/sitemap/0.84";

/// The meaning of names in a document.
pub(super) struct Names {
    /// The root's name.
    pub(super) root: String,
    /// Whether the root's namespace is not that of sitemaps, or is missing.
    pub(super) is_foreign: bool,
    /// The root's namespace, if it is not the usual one of such a root, and the prefix of the usual one.
    own: Option<(Namespace, &'static str)>,
}

impl Names {
    /// Reads the namespace of a root.
    pub(super) fn of_root(resolved: &ResolveResult<'_>, local: &str) -> Self {
        // The namespaces of the root, and of its contents.
        let (usual, inside) = match local {
            "feed" => ("atom:", "atom:"),
            "RDF" => ("rdf:", ""),
            _ => ("", ""),
        };
        let own = match resolved {
            _ if prefix(resolved).flatten() == Some(usual) => None,
            ResolveResult::Bound(namespace) => Some(Namespace::Named(namespace.0.to_owned())),
            ResolveResult::Unbound => Some(Namespace::None),
            ResolveResult::Unknown(prefix) => Some(Namespace::Undeclared(prefix.clone())),
        };
        let is_foreign = match resolved {
            ResolveResult::Bound(namespace) => {
                namespace.0 != Ns::ALL[0].2 && !namespace.0.contains(OLD_SITEMAP)
            }
            ResolveResult::Unbound | ResolveResult::Unknown(_) => true,
        };
        Self {
            root: [usual, local].concat(),
            is_foreign,
            own: own.map(|own| (own, inside)),
        }
    }

    /// Returns the name of an element. Returns `None` if its contents are not needed.
    pub(super) fn name(&self, resolved: &ResolveResult<'_>, local: &str) -> Option<String> {
        let own = self.own.as_ref().filter(|(own, _)| own.is(resolved));
        let known = match own {
            Some((_, usual)) => Some(Some(*usual)),
            None => prefix(resolved),
        };
        let name = match (known, resolved) {
            (Some(known), _) => [known?, local].concat(),
            (None, ResolveResult::Bound(_)) => ["other:", local].concat(),
            (None, ResolveResult::Unbound) => local.to_owned(),
            (None, ResolveResult::Unknown(prefix)) => format!("{prefix}:{local}"),
        };
        // A post may have many comments, with links and dates of their own.
        (name != "wp:comment").then_some(name)
    }
}

/// The namespace of a root.
#[derive(Debug, PartialEq, Eq)]
enum Namespace {
    Named(String),
    None,
    /// No namespace is declared for this prefix.
    Undeclared(String),
}

impl Namespace {
    fn is(&self, resolved: &ResolveResult<'_>) -> bool {
        match (self, resolved) {
            (Self::Named(own), ResolveResult::Bound(namespace)) => own == namespace.0,
            (Self::None, ResolveResult::Unbound) => true,
            (Self::Undeclared(own), ResolveResult::Unknown(prefix)) => own == &**prefix,
            _ => false,
        }
    }
}

/// Returns the usual prefix of a namespace. Returns `None` if it is unknown, and `Some(None)` if its elements are not needed.
fn prefix(resolved: &ResolveResult<'_>) -> Option<Option<&'static str>> {
    let ResolveResult::Bound(namespace) = resolved else {
        return None;
    };
    let known = PREFIXES.iter().find(|(part, _)| namespace.0.contains(part));
    known.map(|(_, prefix)| *prefix)
}
