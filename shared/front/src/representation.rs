//! A published object in the variant in which it is sent, and its headers.

use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LAST_MODIFIED, VARY,
};
use http::{HeaderMap, HeaderValue};
use objects::{Document, ObjectError, ObjectKey, ObjectMeta};
use sitemap::site::MAX_BYTES;

use crate::validators::Validators;
use crate::variant::Variant;

/// The headers on which the answers under one path depend. Navigations of browsers are recognized by Sec-Fetch-Dest, so a cache
/// must not give the answer for a navigation to a crawler.
pub(crate) const VARY_VALUE: HeaderValue =
    HeaderValue::from_static("Accept-Encoding, Sec-Fetch-Dest");

/// An object in the variant in which it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Representation {
    key: ObjectKey,
    variant: Variant,
    document: Document,
    stored_bytes: u64,
    validators: Validators,
}

impl Representation {
    /// Returns the representation of an object in a variant.
    ///
    /// # Errors
    ///
    /// [`ObjectError::Damaged`] if the object's metadata does not describe a document, because no correct header can be made of
    /// it.
    pub(crate) fn new(
        key: &ObjectKey,
        variant: Variant,
        meta: ObjectMeta,
    ) -> Result<Self, ObjectError> {
        let damaged = |message: &str| ObjectError::Damaged {
            what: key.path(),
            message: message.to_owned(),
        };
        let document = meta
            .document
            .ok_or_else(|| damaged("no document in its metadata"))?;
        // No published object is empty. Besides, a 200 without a body may hang on a streamed function URL.
        if document.bytes == 0 || meta.length == 0 {
            return Err(damaged("it is empty"));
        }
        if document.bytes > MAX_BYTES {
            return Err(damaged("larger than any document of ours"));
        }
        if !document.digest.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(damaged("its digest is not hexadecimal"));
        }
        let tag = match document.digest.as_str() {
            "" => return Err(damaged("its digest is empty")),
            digest => format!("{digest}{}", variant.tag_suffix()),
        };
        let validators = Validators::new(&tag, Some(document.changed))
            .ok_or_else(|| damaged("its digest cannot stand in an ETag"))?;
        // A streamed function URL is said to undo the encoding and to leave the ETag as it is. A strong ETag would then belong to
        // two different byte sequences.
        let validators = if variant.is_encoded() {
            validators.weak()
        } else {
            validators
        };
        Ok(Self {
            key: key.clone(),
            variant,
            document,
            stored_bytes: meta.length,
            validators,
        })
    }

    pub(crate) fn key(&self) -> &ObjectKey {
        &self.key
    }

    pub(crate) fn variant(&self) -> Variant {
        self.variant
    }

    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the stored length in bytes.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    pub(crate) fn validators(&self) -> &Validators {
        &self.validators
    }

    /// Returns the headers that a 304 shares with its 200. Content-Type is one of them: Lambda's runtime gives
    /// `application/octet-stream` to an answer that has none.
    pub(crate) fn cache_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(
            CACHE_CONTROL,
            HeaderValue::from_static(self.key.cache_control()),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type()));
        headers.insert(VARY, VARY_VALUE);
        headers.insert(ETAG, self.validators.etag().clone());
        if let Some(date) = self.validators.last_modified() {
            headers.insert(LAST_MODIFIED, date);
        }
        headers
    }

    /// Returns the headers of a 200 whose body has this length, if it is known beforehand.
    pub(crate) fn headers(&self, length: Option<u64>) -> HeaderMap {
        let mut headers = self.cache_headers();
        if self.variant.is_encoded() {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Some(length) = length {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        headers
    }

    fn content_type(&self) -> &'static str {
        match self.variant {
            Variant::Stored | Variant::StoredGzip | Variant::Identity | Variant::Gzip => {
                self.key.content_type()
            }
            Variant::GzipFile | Variant::TextGzipFile => "application/gzip",
            Variant::Text | Variant::TextGzip => "text/plain; charset=utf-8",
        }
    }
}
