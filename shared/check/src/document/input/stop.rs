//! The reasons for which reading ends early.

/// Why a document ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has more bytes than [`Limits::bytes`](super::Limits::bytes).
    TooLarge,
    /// One piece of it is longer than [`Limits::piece`](super::Limits::piece).
    LongPiece,
    /// The gzip stream ends in its middle.
    CutGzip,
    /// The gzip stream is damaged.
    BadGzip,
    /// It is invalid in its declared encoding, which has this name.
    BadText(&'static str),
    /// The body itself could not be read to its end. The reader of the body knows why.
    Body,
}
