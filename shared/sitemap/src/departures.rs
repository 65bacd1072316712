//! The published form of departures: from which addresses pages departed, and where they went.
//!
//! A site's departures are spread over [`FILES`] files by the hash of the address, so that a change touches one small file and a
//! request reads one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::loc::normalized;
use crate::record::Departure;

/// The number of files over which a site's departures are spread.
pub const FILES: u32 = 4_096;
/// The most departures of one file, which bounds what one request reads: some 300 KB with addresses of usual length.
pub const MAX_IN_A_FILE: usize = 2_000;
/// The most moves that are followed for one answer. After so many the reader is sent on, and asks again.
pub const MAX_HOPS: usize = 5;
/// The most departures of a site: as many as all files have room for, if the addresses were spread evenly.
pub const MAX_OF_A_SITE: usize = FILES as usize * MAX_IN_A_FILE;

/// Returns the number of the file to which an address belongs, below [`FILES`]. All spellings of it have the same.
#[must_use]
pub fn file_of(loc: &str) -> u32 {
    let hash: [u8; 32] = Sha256::digest(normalized(loc).as_bytes()).into();
    let [first, second, ..] = hash;
    (u32::from(first) << 4) | (u32::from(second) >> 4)
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departures {
    /// A random token, so that no two versions of a file are equal.
    pub stamp: String,
    /// What became of the page at each address, in its normal form.
    pub departures: BTreeMap<String, Departure>,
}

impl Departures {
    /// Returns the file's text, in JSON.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a file. Returns `None` if the text is not one.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Returns what became of the page at an address, in any spelling.
    #[must_use]
    pub fn get(&self, loc: &str) -> Option<&Departure> {
        self.departures.get(&*normalized(loc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_share_a_file_and_the_first_digits_of_the_hash_number_it() {
        let spellings = [
            "https://www.example.com/%7Ea",
            "https://WWW.example.com:443/~a",
        ];
        let [one, other] = spellings.map(file_of);
        assert_eq!(one, other);
        let hash: [u8; 32] = Sha256::digest(normalized(spellings[0]).as_bytes()).into();
        let hex = format!("{:02x}{:02x}", hash[0], hash[1]);
        assert_eq!(format!("{one:03x}"), hex[..3]);
        assert!(one < FILES);
    }

    #[test]
    fn what_is_written_is_read() {
        let moved = Departure::MovedTo("https://www.example.com/b#part".to_owned());
        let departures = [
            ("https://www.example.com/a".to_owned(), moved.clone()),
            ("https://www.example.com/c".to_owned(), Departure::Gone),
        ];
        let file = Departures {
            stamp: "t".to_owned(),
            departures: departures.into(),
        };
        assert_eq!(
            file.to_text(),
            r#"{"stamp":"t","departures":{"https://www.example.com/a":{"moved_to":"https://www.example.com/b#part"},"https://www.example.com/c":"gone"}}"#
        );
        assert_eq!(
            Departures::parse(file.to_text().as_bytes()),
            Some(file.clone())
        );
        assert_eq!(file.get("https://www.example.com:443/a"), Some(&moved));
        assert_eq!(file.get("https://www.example.com/b"), None);
        assert_eq!(Departures::parse(b"{}"), None);
    }
}
