//! The lines of a `map` of nginx: <https://nginx.org/en/docs/http/ngx_http_map_module.html>.
//!
//! - The key is `$uri`, which is decoded, or `$uri$is_args$args`.
//! - A map compares strings without case. Where that matters here, the key is a regular expression, which is compared with it. Those
//!   are tried one after the other, so they are for few.
//! - A value may contain variables, and a dollar cannot be escaped: it is the variable `$waymark_dollar`.

use std::collections::BTreeMap;

use super::address::{Address, literal, location, on_site};
use super::chain::Redirect;
use super::reason::{Lines, Reason};
use super::{GONE, Rendered};
use crate::loc::normalized;
use crate::record::Departure;

/// The default of `map_hash_bucket_size` on processors with cache lines of 64 bytes.
const BUCKET_BYTES: usize = 64;
/// What an element of a bucket has besides its key: a pointer, two bytes and the padding, and the bucket's end.
const ELEMENT_BYTES: usize = 8 + 2 + 7 + 8;
/// The most bytes of a parameter with its quotation mark: nginx reads a configuration in pieces of 4,096 (`NGX_CONF_BUFFER`), and
/// one must fit into a piece with its end.
pub const MAX_PARAMETER: usize = 4_094;
/// The default of `map_hash_max_size`.
const HASH_ENTRIES: usize = 2_048;

/// Returns the file.
pub(super) fn render(redirects: &[Redirect]) -> Rendered {
    let shared = shared_keys(redirects);
    let mut longest = 0;
    let lines = Lines::of(redirects, |redirect| {
        let address = Address::of(&redirect.normal);
        let key = key(address)?;
        let value = match &redirect.answer {
            Departure::Gone => GONE.to_owned(),
            Departure::MovedTo(target) => value(&location(target)),
        };
        let is_exact = shared.get(&key.to_ascii_lowercase()).copied() == Some(true);
        let text = std::str::from_utf8(&key)
            .ok()
            .filter(|text| !is_exact && !text.contains(char::is_control));
        let quoted = match text {
            Some(text) => text.replace('\\', "\\\\").replace('"', "\\\""),
            None => {
                let pattern = literal(&key, |byte| format!("\\x{byte:02X}"));
                format!("~^{pattern}$")
            }
        };
        if quoted.len().max(value.len()) >= MAX_PARAMETER {
            return Err(Reason::LongLine);
        }
        longest = longest.max(text.map_or(0, str::len));
        Ok(format!("\"{quoted}\" \"{value}\";"))
    });
    let bucket = (longest + ELEMENT_BYTES)
        .next_power_of_two()
        .max(BUCKET_BYTES);
    let entries = (2 * lines.lines.len()).next_power_of_two();
    let head = format!(
        "# map_hash_bucket_size {bucket}; map_hash_max_size {};\n",
        entries.max(HASH_ENTRIES)
    );
    Rendered {
        text: head + &lines.text(),
        written: lines.lines.len(),
        left_out: lines.left_out,
        advice: None,
    }
}

fn key(address: Address<'_>) -> Result<Vec<u8>, Reason> {
    let mut key = address.decoded()?.into_owned();
    if let Some(query) = address.query {
        key.push(b'?');
        key.extend(query.as_bytes());
    }
    Ok(key)
}

/// Returns the keys in lower case, and of each whether several addresses have it: those that depart, and those they lead to.
fn shared_keys(redirects: &[Redirect]) -> BTreeMap<Vec<u8>, bool> {
    let mut keys: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut shared = BTreeMap::new();
    let mut add = |key: Vec<u8>| {
        let lower = key.to_ascii_lowercase();
        let is_other = *keys.entry(lower.clone()).or_insert_with(|| key.clone()) != key;
        *shared.entry(lower).or_insert(false) |= is_other;
    };
    for redirect in redirects {
        if let Ok(key) = key(Address::of(&redirect.normal)) {
            add(key);
        }
        if let Departure::MovedTo(target) = &redirect.answer {
            let target = normalized(target.split('#').next().unwrap_or_default());
            // A target with a query is asked for by its path as well.
            if on_site(redirect, &target).is_some() {
                let address = Address::of(&target);
                let path = Address {
                    query: None,
                    ..address
                };
                for address in [address, path] {
                    if let Ok(key) = key(address) {
                        add(key);
                    }
                }
            }
        }
    }
    shared
}

/// Escapes a target for a value in quotation marks. It has no quotation mark and no backslash.
fn value(target: &str) -> String {
    target.replace('$', "${waymark_dollar}")
}
