//! The forms in which a document is sent.

/// The form that a path's extension asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The document.
    Xml,
    /// The document as a gzip file.
    Gz,
    /// One URL a line.
    Text,
    /// The same as a gzip file.
    TextGz,
}

impl Form {
    /// How its paths end.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Xml => ".xml",
            Self::Gz => ".xml.gz",
            Self::Text => ".txt",
            Self::TextGz => ".txt.gz",
        }
    }

    /// Whether it is a list of pages, which an index does not have.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::TextGz)
    }

    /// What is sent of the form to one who reads gzip, or does not.
    #[must_use]
    pub fn variant(self, accepts_gzip: bool) -> Variant {
        match self {
            Self::Xml if accepts_gzip => Variant::Gzip,
            Self::Xml => Variant::Identity,
            Self::Gz => Variant::GzipFile,
            Self::Text if accepts_gzip => Variant::TextGzip,
            Self::Text => Variant::Text,
            Self::TextGz => Variant::TextGzipFile,
        }
    }
}

/// The bytes that are sent: each has an ETag of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The object as it is stored, for one that is not stored compressed.
    Stored,
    /// The same, compressed on the way, as an encoding.
    StoredGzip,
    /// The document, inflated.
    Identity,
    /// The gzip member, as an encoding of the document.
    Gzip,
    /// The gzip member, as a file.
    GzipFile,
    /// The locs of the document.
    Text,
    /// The same, compressed on the way, as an encoding.
    TextGzip,
    /// The same, compressed on the way, as a file.
    TextGzipFile,
}

impl Variant {
    /// What tells its ETag from the document's.
    #[must_use]
    pub fn tag_suffix(self) -> &'static str {
        match self {
            Self::Stored | Self::Identity => "",
            Self::Gzip | Self::StoredGzip => "-gzip",
            Self::GzipFile => "-gz",
            Self::Text => "-txt",
            Self::TextGzip => "-txt-gzip",
            Self::TextGzipFile => "-txt-gz",
        }
    }

    /// Whether it is the document under its own path, which a navigation sees as a page.
    #[must_use]
    pub fn is_document(self) -> bool {
        matches!(self, Self::Identity | Self::Gzip)
    }

    /// Whether gzip is its encoding. A gzip file has none: it is the file that was asked for.
    #[must_use]
    pub fn is_encoded(self) -> bool {
        matches!(self, Self::Gzip | Self::StoredGzip | Self::TextGzip)
    }
}
