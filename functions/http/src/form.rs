//! The forms in which a document is sent.

/// The form that a path's extension asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The document.
    Xml,
    /// The document as a gzip file.
    Gz,
    /// One URL a line.
    Text,
}

impl Form {
    /// How its paths end.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Xml => ".xml",
            Self::Gz => ".xml.gz",
            Self::Text => ".txt",
        }
    }

    /// What is sent of the form to one who reads gzip, or does not.
    pub(crate) fn variant(self, accepts_gzip: bool) -> Variant {
        match self {
            Self::Xml if accepts_gzip => Variant::Gzip,
            Self::Xml => Variant::Identity,
            Self::Gz => Variant::GzipFile,
            Self::Text => Variant::Text,
        }
    }
}

/// The bytes that are sent: each has an ETag of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The object as it is stored, for one that is not stored compressed.
    Stored,
    /// The document, inflated.
    Identity,
    /// The gzip member, as an encoding of the document.
    Gzip,
    /// The gzip member, as a file.
    GzipFile,
    /// The locs of the document.
    Text,
}

impl Variant {
    /// What tells its ETag from the document's.
    pub(crate) fn tag_suffix(self) -> &'static str {
        match self {
            Self::Stored | Self::Identity => "",
            Self::Gzip => "-gzip",
            Self::GzipFile => "-gz",
            Self::Text => "-txt",
        }
    }

    /// Whether it is the document under its own path, which a navigation sees as a page.
    pub(crate) fn is_document(self) -> bool {
        matches!(self, Self::Identity | Self::Gzip)
    }

    /// Whether its length follows from the stored member's header alone.
    pub(crate) fn is_member(self) -> bool {
        matches!(self, Self::Gzip | Self::GzipFile)
    }
}
