//! A listed page as it is compared.

/// A listed page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its address.
    pub loc: String,
    /// Its lastmod, as it is written; empty if there is none.
    pub lastmod: String,
    /// Digests of its images, alternates, videos and news: [`Part`] is the place.
    pub parts: [Vec<u64>; Part::ALL.len()],
}

/// What a page has several of.
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
    /// All of them.
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
