//! A listed page in its compared form.

/// A listed page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its address.
    pub loc: String,
    /// Its lastmod, as it is written. Empty if there is none.
    pub lastmod: String,
    /// Digests of its images, alternates, videos and news. [`Part`] is the index.
    pub parts: [Vec<u64>; Part::ALL.len()],
}

/// A property of which a page may have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Images.
    Images,
    /// Links to the page in other languages.
    Alternates,
    /// Videos.
    Videos,
    /// News.
    News,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 4] = [Self::Images, Self::Alternates, Self::Videos, Self::News];

    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "image:image" => Some(Self::Images),
            "video:video" => Some(Self::Videos),
            "news:news" => Some(Self::News),
            "xhtml:link" => Some(Self::Alternates),
            _ => None,
        }
    }
}
