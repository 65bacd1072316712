//! What must hold for any input whatever: the bodies of the fuzz targets, and of the test that replays their corpus.
//!
//! A check takes bytes, makes of them what it is about, and panics if something does not hold that must hold for every
//! input. That nothing panics is only the least of it: each check compares with something else, be it another decoder, the
//! same input cut differently, or what was just written read again.
//!
//! `fuzz/run.sh` looks for inputs that break one; `fuzz/corpus` holds inputs that lead far into the code.

mod body;
mod draw;
mod listing;
mod loc;
mod member;
mod record;
mod request;
mod settings;
mod sitemap;
mod time;

/// Panics if what must hold for any input does not hold for this one.
pub type Check = fn(&[u8]);

/// Every check by its name, which is also its fuzz target's and its corpus'.
pub const CHECKS: [(&str, Check); 9] = [
    ("body", body::check),
    ("listing", listing::check),
    ("loc", loc::check),
    ("member", member::check),
    ("record", record::check),
    ("request", request::check),
    ("settings", settings::check),
    ("sitemap", sitemap::check),
    ("time", time::check),
];

/// Runs the check of this name.
///
/// # Panics
///
/// If what it says does not hold, or there is none of this name.
pub fn check(name: &str, data: &[u8]) {
    let check = CHECKS.iter().find(|(known, _)| *known == name);
    let (_, check) = check.expect("a check of this name");
    check(data);
}
