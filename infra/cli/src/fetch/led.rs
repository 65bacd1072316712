//! The other hosts to which servers redirected.

use std::sync::Mutex;

use check::url::origin_of;
use url::Url;

/// Origins whose first redirect to another is kept. Those of the targets come first.
const MAX_LED: usize = 64;

/// Pairs of origins, of which the first redirected to the second.
#[derive(Debug, Default)]
pub(super) struct Led(Mutex<Vec<(String, String)>>);

impl Led {
    /// Returns the first other origin to which an origin redirected, if it did.
    pub(super) fn to(&self, origin: &str) -> Option<String> {
        let led = self.0.lock().ok()?;
        let pair = led.iter().find(|(from, _)| from == origin)?;
        Some(pair.1.clone())
    }

    /// Notes that an address redirected to another.
    pub(super) fn add(&self, from: &Url, to: &Url) {
        let origins = (origin_of(from.as_str()), origin_of(to.as_str()));
        if let (Some(from), Some(to)) = origins
            && from != to
            && let Ok(mut led) = self.0.lock()
            && led.len() < MAX_LED
            && !led.iter().any(|(known, _)| known == from)
        {
            led.push((from.to_owned(), to.to_owned()));
        }
    }
}
