//! The variants in which a form of a document can be sent.

use objects::Form;

/// The bytes to send. Each variant has an ETag of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The object as stored, for objects that are not stored compressed.
    Stored,
    /// The object as stored, compressed on the way as an encoding.
    StoredGzip,
    /// The document, inflated.
    Identity,
    /// The gzip member as an encoding of the document.
    Gzip,
    /// The gzip member as a file.
    GzipFile,
    /// The locs of the document.
    Text,
    /// The locs, compressed on the way as an encoding.
    TextGzip,
    /// The locs, compressed on the way as a file.
    TextGzipFile,
}

impl Variant {
    /// Returns the variant of a form, with or without gzip as its encoding.
    #[must_use]
    pub fn of(form: Form, is_encoded: bool) -> Self {
        match form {
            Form::Compressed if is_encoded => Self::StoredGzip,
            Form::Stored | Form::Compressed => Self::Stored,
            Form::Xml if is_encoded => Self::Gzip,
            Form::Xml => Self::Identity,
            Form::Gz => Self::GzipFile,
            Form::Text if is_encoded => Self::TextGzip,
            Form::Text => Self::Text,
            Form::TextGz => Self::TextGzipFile,
        }
    }

    /// Returns the suffix of the document's ETag, so that each variant has an ETag of its own.
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

    /// Returns whether it is the document under its own path, which a navigation sees as a page.
    #[must_use]
    pub fn is_document(self) -> bool {
        matches!(self, Self::Identity | Self::Gzip)
    }

    /// Returns whether gzip is its encoding. A gzip file has no encoding: the client asked for that file.
    #[must_use]
    pub fn is_encoded(self) -> bool {
        matches!(self, Self::Gzip | Self::StoredGzip | Self::TextGzip)
    }
}
