//! What stands around the segments of a document.

use crate::format::xml;

/// What stands around the segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Up to and with the start tag.
    pub prolog: Vec<u8>,
    /// From the end tag on.
    pub epilogue: &'static [u8],
}

impl Frame {
    /// Returns a urlset's, with the URL of a style sheet.
    #[must_use]
    pub fn urlset(stylesheet: Option<&str>) -> Self {
        Self {
            prolog: xml::urlset_prolog(stylesheet),
            epilogue: xml::URLSET_EPILOGUE,
        }
    }

    /// Returns a sitemap index's, with the URL of a style sheet.
    #[must_use]
    pub fn index(stylesheet: Option<&str>) -> Self {
        Self {
            prolog: xml::index_prolog(stylesheet),
            epilogue: xml::INDEX_EPILOGUE,
        }
    }
}
