//! The frame of a document: the parts before and after its segments.

use crate::format::xml;

/// The parts of a document before and after its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Everything up to the start tag, inclusive.
    pub prolog: Vec<u8>,
    /// Everything from the end tag on.
    pub epilogue: &'static [u8],
}

impl Frame {
    /// Returns the frame of a urlset, with the URL of a style sheet if there is one.
    #[must_use]
    pub fn urlset(stylesheet: Option<&str>) -> Self {
        Self {
            prolog: xml::urlset_prolog(stylesheet),
            epilogue: xml::URLSET_EPILOGUE,
        }
    }

    /// Returns the frame of a sitemap index, with the URL of a style sheet if there is one.
    #[must_use]
    pub fn index(stylesheet: Option<&str>) -> Self {
        Self {
            prolog: xml::index_prolog(stylesheet),
            epilogue: xml::INDEX_EPILOGUE,
        }
    }
}
