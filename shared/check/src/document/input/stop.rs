//! The reasons for which reading ends early.

/// What ended a document early.
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
    /// It is not in the encoding that it says it is in, whose name this is.
    BadText(&'static str),
    /// The body itself could not be read to its end. Whoever reads it says why.
    Body,
}
