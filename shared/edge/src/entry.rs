//! The entries of a store: one for each departure, and one for each site whose departures may be answered.
//!
//! | key | value |
//! |---|---|
//! | `<site>/<32 hex digits of the SHA-256 of the address's normal form>` | the target of a move, or `gone` |
//! | `<site>` | seconds for which caches may keep the answers |
//!
//! The digits are 128 bits, so two addresses never share a key. A key names its row, so what a deleted row said need not be known.

use engine::keys::{departed_address, sha256_hex};
use engine::rows::site::{Hold, SiteRow};
use engine::stream::StreamRecord;
use sitemap::loc::normalized;
use sitemap::record::Departure;
use sitemap::redirects::{Departed, GONE, MAX_VALUE_BYTES};

/// The digits of a hash that a key has.
const DIGITS: usize = 32;
/// The only scheme of addresses that a CDN's function can know: it redirects the other one to it.
const SCHEME: &str = "https://";

/// An entry by its key, which names the row that decides about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Of a site.
    Site(String),
    /// Of an address: the site, and the digits of the hash.
    Address(String, String),
}

impl Place {
    /// Returns the entry that a changed row decides about, or `None` if there is none.
    #[must_use]
    pub fn of(record: &StreamRecord) -> Option<Self> {
        let (pk, sk) = (record.key.text("pk")?, record.key.text("sk")?);
        if let Some((site, hash)) = departed_address(pk, sk) {
            return Some(Self::Address(site, hash.get(..DIGITS)?.to_owned()));
        }
        match engine::keys::Subject::of(pk, sk)? {
            engine::keys::Subject::Site(site) => Some(Self::Site(site)),
            _ => None,
        }
    }

    /// Returns the entry of an address of a site.
    #[must_use]
    pub fn of_address(site: &str, loc: &str) -> Self {
        let mut hash = sha256_hex(&normalized(loc));
        hash.truncate(DIGITS);
        Self::Address(site.to_owned(), hash)
    }

    /// Returns the entry with this key.
    #[must_use]
    pub fn at(key: &str) -> Self {
        match key.split_once('/') {
            Some((site, hash)) => Self::Address(site.to_owned(), hash.to_owned()),
            None => Self::Site(key.to_owned()),
        }
    }

    /// Returns its key.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Site(site) => site.clone(),
            Self::Address(site, hash) => format!("{site}/{hash}"),
        }
    }
}

/// Why there is no entry for a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The address is not `https`.
    Scheme,
    /// The target has more bytes than a value may have.
    Long,
}

/// Returns the value of a departure's entry.
///
/// # Errors
///
/// If there can be no such entry.
pub fn value_of(departed: &Departed) -> Result<String, Unfit> {
    if !normalized(&departed.loc).starts_with(SCHEME) {
        return Err(Unfit::Scheme);
    }
    match &departed.departure {
        Departure::Gone => Ok(GONE.to_owned()),
        Departure::MovedTo(target) if target.len() > MAX_VALUE_BYTES => Err(Unfit::Long),
        Departure::MovedTo(target) => Ok(target.clone()),
    }
}

/// Returns the value of a site's entry, or `None` if nobody may be told of its departures. `http` decides in the same way, by the site
/// file.
#[must_use]
pub fn value_of_site(host: &str, row: &SiteRow) -> Option<String> {
    let is_answered = row.hold == Hold::Released
        && row.settings.public
        && row.departures
        && row.settings.origin.as_str().strip_prefix(SCHEME) == Some(host);
    is_answered.then(|| row.settings.moved_max_age.to_string())
}
