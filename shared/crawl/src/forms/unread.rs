//! Why a line is not read.

/// The reason why a line is not read as a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Unread {
    /// It has not the parts of a line of its form.
    #[error("it does not have the parts of a line of this form")]
    Shape,
    /// It ends inside of a text in quotes.
    #[error("it ends within a text in quotes")]
    Cut,
    /// It is longer than [`crate::input::MAX_LINE_BYTES`].
    #[error("it is longer than 65,536 bytes")]
    TooLong,
    /// Its time is none.
    #[error("its time cannot be read")]
    Time,
    /// Its status is none: it has no number, as for a method that Varnish does not know.
    #[error("it has no status")]
    Status,
    /// A client connected and asked for nothing, or a task of S3's own has no request.
    #[error("it is of no request: the client sent none, or it is a task of the server's own")]
    NoRequest,
    /// What was sent is not HTTP, such as the begin of TLS on a port without.
    #[error("what the client sent is not HTTP")]
    NotHttp,
    /// It is not JSON.
    #[error("it is not JSON")]
    Json,
    /// It has no address.
    #[error("it does not say what was asked for")]
    NoTarget,
    /// CloudFront asked the server whose log it is, so neither agent nor client are those of who asked CloudFront.
    #[error(
        "CloudFront asked: the log does not say who asked CloudFront. Read CloudFront's log instead"
    )]
    BehindCloudFront,
}
