//! The import of a key value store of CloudFront:
//! <https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/kvs-with-functions-create-s3-kvp.html>.
//!
//! A key is the normal form of path and query, encoded. A value is an address, or [`GONE`].

use serde::Serialize;

use super::address::{Address, location};
use super::chain::Redirect;
use super::reason::{Lines, Reason};
use super::{GONE, Refused, Rendered, Target};
use crate::record::Departure;

/// The most bytes of a key (CloudFront, quotas on key value stores).
pub const MAX_KEY_BYTES: usize = 512;
/// The most bytes of a value (the same page).
pub const MAX_VALUE_BYTES: usize = 1_024;
/// The most bytes of a store, and of a file that is imported (the same page).
pub const MAX_STORE_BYTES: usize = 5 * 1_024 * 1_024;

#[derive(Serialize)]
struct Pair<'a> {
    key: &'a str,
    value: &'a str,
}

/// Returns the file.
pub(super) fn render(redirects: &[Redirect]) -> Result<Rendered, Refused> {
    let lines = Lines::of(redirects, |redirect| {
        let key = Address::of(&redirect.normal).encoded();
        let value = match &redirect.answer {
            Departure::Gone => GONE.into(),
            Departure::MovedTo(target) => location(target),
        };
        if key.len() > MAX_KEY_BYTES {
            return Err(Reason::LongKey);
        }
        if value.len() > MAX_VALUE_BYTES {
            return Err(Reason::LongValue);
        }
        let pair = Pair {
            key: &key,
            value: &value,
        };
        Ok(serde_json::to_string(&pair).expect("texts alone"))
    });
    let text = format!("{{\"data\":[\n{}\n]}}\n", lines.lines.join(",\n"));
    let written = lines.lines.len();
    if text.len() > MAX_STORE_BYTES {
        return Err(Refused::TooLarge {
            target: Target::CloudfrontKvs,
            count: written,
            bytes: text.len(),
            limit: MAX_STORE_BYTES,
        });
    }
    Ok(Rendered {
        text,
        written,
        left_out: lines.left_out,
        advice: None,
    })
}
