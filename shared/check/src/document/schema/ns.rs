//! The namespaces of sitemaps and of their extensions.

/// A known namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ns {
    Sitemap,
    Image,
    Video,
    News,
    Xhtml,
    /// One of [`UNREAD`].
    Unread,
}

/// Documented extensions of search engines without anything to check: Google's `PageMap`, its obsolete ones for phones, places
/// and code, and Baidu's for phones. Their elements may be in an entry.
const UNREAD: [&str; 5] = [
    "http://www.google.com/schemas/sitemap-pagemap/1.0",
    "http://www.google.com/schemas/sitemap-mobile/1.0",
    "http://www.google.com/geo/schemas/sitemap/1.0",
    "http://www.google.com/codesearch/schemas/sitemap/1.0",
    "http://www.baidu.com/schemas/sitemap-mobile/1/",
];

impl Ns {
    pub(crate) const ALL: [(Self, &'static str, &'static str); 5] = [
        (
            Self::Sitemap,
            "",
            "http://www.sitemaps.org/schemas/sitemap/0.9",
        ),
        (
            Self::Image,
            "image:",
            "http://www.google.com/schemas/sitemap-image/1.1",
        ),
        (
            Self::Video,
            "video:",
            "http://www.google.com/schemas/sitemap-video/1.1",
        ),
        (
            Self::News,
            "news:",
            "http://www.google.com/schemas/sitemap-news/0.9",
        ),
        (Self::Xhtml, "xhtml:", "http://www.w3.org/1999/xhtml"),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, _, uri)| *uri == name)
            .map(|(ns, ..)| *ns)
            .or_else(|| UNREAD.contains(&name).then_some(Self::Unread))
    }

    /// Returns the namespace that is meant by a similar name, which differs in scheme, case, version or a slash at its end.
    pub(crate) fn nearly_named(name: &str) -> Option<Self> {
        fn stem(name: &str) -> &str {
            let rest = name.split_once("://").map_or(name, |(_, rest)| rest);
            let rest = rest
                .strip_prefix("www.")
                .unwrap_or(rest)
                .trim_end_matches('/');
            let (start, end) = rest.rsplit_once('/').unwrap_or((rest, ""));
            match end.bytes().all(|b| b.is_ascii_digit() || b == b'.') && start.contains('/') {
                true => start,
                false => rest,
            }
        }
        let is_meant = |known: &str| stem(known).eq_ignore_ascii_case(stem(name));
        let known = Self::ALL.iter().find(|(_, _, uri)| is_meant(uri));
        known.map(|(ns, ..)| *ns)
    }

    /// Returns the namespace that usually has this prefix.
    pub(crate) fn with_prefix(prefix: &str) -> Option<Self> {
        let has = |known: &str| known.strip_suffix(':') == Some(prefix);
        let known = Self::ALL.iter().find(|(_, known, _)| has(known));
        known.map(|(ns, ..)| *ns)
    }

    /// Returns its usual prefix, with the colon.
    pub(crate) fn prefix(self) -> &'static str {
        Self::ALL
            .get(self as usize)
            .map_or("", |(_, prefix, _)| prefix)
    }

    /// Returns its name.
    pub(crate) fn uri(self) -> &'static str {
        Self::ALL.get(self as usize).map_or("", |(.., uri)| uri)
    }
}

/// The namespace of attributes with the location of a schema.
pub(crate) const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_meant_by_what_differs_in_scheme_case_version_or_a_slash() {
        for (name, meant) in [
            (
                "https://www.sitemaps.org/schemas/sitemap/0.9",
                Some(Ns::Sitemap),
            ),
            (
                "http://www.sitemaps.org/schemas/sitemap/0.9/",
                Some(Ns::Sitemap),
            ),
            (
                "http://sitemaps.org/schemas/sitemap/0.84",
                Some(Ns::Sitemap),
            ),
            ("http://www.sitemaps.org/schemas/sitemap", Some(Ns::Sitemap)),
            (
                "http://www.google.com/schemas/sitemap-image/1.0",
                Some(Ns::Image),
            ),
            (
                "http://www.google.com/schemas/Sitemap-Video/1.1",
                Some(Ns::Video),
            ),
            (
                "http://www.google.com/schemas/sitemap-news/1.0",
                Some(Ns::News),
            ),
            ("https://www.w3.org/1999/xhtml/", Some(Ns::Xhtml)),
            ("http://www.w3.org/1999/xlink", None),
            ("http://www.google.com/schemas/sitemap-shop/1.1", None),
            ("urn:x", None),
            ("0.9", None),
            ("", None),
        ] {
            assert_eq!(Ns::nearly_named(name), meant, "{name}");
        }
    }

    #[test]
    fn each_namespace_has_its_own_place() {
        for (ns, prefix, uri) in Ns::ALL {
            assert_eq!(Ns::named(uri), Some(ns));
            assert_eq!((ns.prefix(), ns.uri()), (prefix, uri));
        }
        assert_eq!(Ns::named(UNREAD[0]), Some(Ns::Unread));
    }
}
