//! What gzip itself asks for ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)): the header and the trailer.

/// A gzip header that says nothing but "deflate", with the same time, level and system as a stored member's. With it in
/// place of header and directory, equal documents are equal bytes.
pub const PLAIN_HEADER: [u8; 10] = header(0);

/// The flag that says that an extra field follows.
pub(super) const FEXTRA: u8 = 4;

/// CRC-32 and size.
pub(super) const TRAILER_BYTES: usize = 8;

pub(super) const fn header(flags: u8) -> [u8; 10] {
    // Magic, method, flags, no time, neither the fastest nor the best level, unknown system.
    [0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255]
}
