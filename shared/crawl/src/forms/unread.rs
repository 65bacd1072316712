//! Why a line is not read.

use crate::input::MAX_LINE_BYTES;

/// The reason why a line is not read as a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Unread {
    /// It lacks the parts of a line of its form.
    #[error("it does not have the parts of a line of this form")]
    Shape,
    /// It ends inside of a text in quotes.
    #[error("it ends within a text in quotes")]
    Cut,
    /// It is longer than [`MAX_LINE_BYTES`].
    #[error("it is longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// Its time cannot be read.
    #[error("its time cannot be read")]
    Time,
    /// Its status is not a number. Varnish writes `-` for a method that it does not know.
    #[error("it has no status")]
    Status,
    /// A client connected and asked for nothing, or a task of S3's own has no request.
    #[error("it has no request: the client sent none, or the server did a task of its own")]
    NoRequest,
    /// What was sent is not HTTP, such as the start of TLS on a port without it.
    #[error("what the client sent is not HTTP")]
    NotHttp,
    /// It is not JSON.
    #[error("it is not JSON")]
    Json,
    /// It does not have the address that was asked for.
    #[error("it does not say what was asked for")]
    NoTarget,
    /// CloudFront asked the server whose log it is, so neither agent nor client are those of who asked CloudFront.
    #[error(
        "CloudFront asked: the log does not say who asked CloudFront. Read CloudFront's log instead"
    )]
    BehindCloudFront,
}
