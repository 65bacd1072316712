//! Checks of properties that hold for every input: the bodies of the fuzz targets, and of the test that replays their corpus.
//!
//! A check takes bytes, converts them to its subject, and panics if a property does not hold. The absence of panics is only the
//! minimum. Each check also compares the result with another one: of another decoder, of the same input cut differently, or of
//! its own output read again.
//!
//! `fuzz/run.sh` searches for inputs that break a check. `fuzz/corpus` has inputs that reach deep into the code.

mod body;
mod draw;
mod listing;
mod loc;
mod log;
mod member;
mod record;
mod request;
mod settings;
mod sitemap;
mod time;

// A fuzz target names its own check alone, so that the others are no part of its program: the fuzzer looks at all counters of a
// program after each input.
pub use body::check as body;
pub use listing::check as listing;
pub use loc::check as loc;
pub use log::check as log;
pub use member::check as member;
pub use record::check as record;
pub use request::check as request;
pub use settings::check as settings;
pub use sitemap::check as sitemap;
pub use time::check as time;

/// A check, which panics if a property does not hold for this input.
pub type Check = fn(&[u8]);

/// All checks with their names, which are also the names of the fuzz targets and of their corpora.
pub const CHECKS: [(&str, Check); 10] = [
    ("body", body),
    ("listing", listing),
    ("loc", loc),
    ("log", log),
    ("member", member),
    ("record", record),
    ("request", request),
    ("settings", settings),
    ("sitemap", sitemap),
    ("time", time),
];
