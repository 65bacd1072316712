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

/// A check, which panics if a property does not hold for this input.
pub type Check = fn(&[u8]);

/// All checks with their names, which are also the names of the fuzz targets and of their corpora.
pub const CHECKS: [(&str, Check); 10] = [
    ("body", body::check),
    ("listing", listing::check),
    ("loc", loc::check),
    ("log", log::check),
    ("member", member::check),
    ("record", record::check),
    ("request", request::check),
    ("settings", settings::check),
    ("sitemap", sitemap::check),
    ("time", time::check),
];

/// Runs the check with this name.
///
/// # Panics
///
/// If a property does not hold, or there is no check with this name.
pub fn check(name: &str, data: &[u8]) {
    let check = CHECKS.iter().find(|(known, _)| *known == name);
    let (_, check) = check.expect("a check of this name");
    check(data);
}
