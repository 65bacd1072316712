//! Parses the names that Yoast gives to sitemaps: `post-sitemap.xml`, `post-sitemap2.xml`, …

use std::collections::BTreeMap;

/// A sitemap's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The part before `-sitemap`, with the scheme, host and folder.
    pub series: String,
    /// The number, as it is written. Empty for the first.
    pub number: String,
    /// Whether it ends in .gz.
    pub is_gz: bool,
}

impl Name {
    /// Returns the name in a URL. Returns `None` if it does not have this form.
    #[must_use]
    pub fn of(url: &str) -> Option<Self> {
        let (stem, is_gz) = match url.strip_suffix(".gz") {
            Some(stem) => (stem, true),
            None => (url, false),
        };
        let stem = stem.strip_suffix(".xml")?;
        let end = stem.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let series = stem[..end].strip_suffix("-sitemap")?;
        let kind = series.rsplit('/').next().unwrap_or_default();
        let is_kind = !kind.is_empty()
            && kind
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_%.-".contains(&byte));
        is_kind.then(|| Self {
            series: series.to_owned(),
            number: stem[end..].to_owned(),
            is_gz,
        })
    }

    /// Returns a URL of the same series with this number.
    #[must_use]
    pub fn numbered(&self, number: &str) -> String {
        let gz = if self.is_gz { ".gz" } else { "" };
        format!("{}-sitemap{number}.xml{gz}", self.series)
    }

    /// Returns whether the number is missing, or at least 2 and without leading zeros.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.number.is_empty() || (!self.number.starts_with('0') && self.number != "1")
    }
}

/// The series of a site, each with its first name and its highest number.
#[derive(Clone, Debug, Default)]
pub struct Series(BTreeMap<(String, bool), (Name, u64)>);

impl Series {
    /// Adds a name.
    pub fn add(&mut self, name: Name) {
        let number = name.number.parse().unwrap_or(1);
        let key = (name.series.clone(), name.is_gz);
        let (_, highest) = self.0.entry(key).or_insert((name, number));
        *highest = number.max(*highest);
    }

    /// Returns each series with its highest number.
    pub fn each(&self) -> impl Iterator<Item = &(Name, u64)> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_yoasts() {
        let name = Name::of("https://a.example/b/post-sitemap2.xml.gz").unwrap();
        assert_eq!(name.series, "https://a.example/b/post");
        assert_eq!((name.number.as_str(), name.is_gz), ("2", true));
        assert_eq!(name.numbered(""), "https://a.example/b/post-sitemap.xml.gz");
        for (url, right) in [
            ("/post-sitemap.xml", Some(true)),
            ("/post-sitemap1.xml", Some(false)),
            ("/post-sitemap02.xml", Some(false)),
            ("/post-sitemap10.xml", Some(true)),
            ("/my_type.a-sitemap.xml", Some(true)),
            ("/-sitemap.xml", None),
            ("/sitemap.xml", None),
            ("/sitemap-post.xml", None),
            ("/post-sitemap.txt", None),
        ] {
            let name = Name::of(&format!("https://a.example{url}"));
            assert_eq!(name.map(|name| name.is_right()), right, "{url}");
        }
    }

    #[test]
    fn a_series_ends_with_its_highest_number() {
        let mut series = Series::default();
        for url in [
            "/a-sitemap.xml",
            "/a-sitemap3.xml",
            "/a-sitemap2.xml",
            "/b-sitemap.xml",
        ] {
            series.add(Name::of(&format!("https://a.example{url}")).unwrap());
        }
        let highest: Vec<_> = series.each().map(|(_, highest)| *highest).collect();
        assert_eq!(highest, [3, 1]);
    }
}
