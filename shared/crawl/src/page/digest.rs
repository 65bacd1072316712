//! Sources of a content security policy.

use sha2::{Digest, Sha256};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the source that allows a text inline.
pub(super) fn source(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let group = three.iter().enumerate().fold(0, |group, (at, byte)| {
            group | u32::from(*byte) << (16 - 8 * at)
        });
        for digit in 0..4 {
            let value = (group >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= three.len() {
                char::from(DIGITS[value])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_rfc_4648s() {
        for (bytes, text) in [
            ("", ""),
            ("a", "YQ=="),
            ("ab", "YWI="),
            ("abc", "YWJj"),
            ("\u{ff}\u{3ff}", "w7/Pvw=="),
        ] {
            assert_eq!(super::base64(bytes.as_bytes()), text);
        }
    }
}
