//! The header and the trailer of gzip ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)).

/// A gzip header without any fields, but with the same time, level and system as a stored member's. If it replaces header and
/// directory, equal documents are equal bytes.
pub const PLAIN_HEADER: [u8; 10] = header(0);

/// The flag for an extra field.
pub(super) const FEXTRA: u8 = 4;

/// Bytes of the CRC-32 and the size.
pub(super) const TRAILER_BYTES: usize = 8;

pub(super) const fn header(flags: u8) -> [u8; 10] {
    // Magic, method, flags, no time, neither the fastest nor the best level, unknown system.
    [0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255]
}
