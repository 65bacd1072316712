//! Parsers for the values of options that more than one verb uses.

use std::time::Duration;

use anyhow::{Result, anyhow};
use sitemap::loc::Loc;
use sitemap::site::is_site_host;
use sitemap::time::When;

/// Requests a second; nothing for as many as there can be.
pub(crate) type Rate = Option<f64>;

pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.parse::<f64>() {
        Ok(0.0) => Ok(None),
        Ok(rate) if rate.is_finite() && rate >= 0.001 => Ok(Some(rate)),
        _ => Err("is not a number of requests a second, such as 10/s".to_owned()),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let units = [('h', 3600), ('m', 60), ('s', 1)];
    let unit = units
        .iter()
        .find_map(|(end, unit)| Some((text.strip_suffix(*end)?, *unit)));
    let (number, unit) = unit.unwrap_or((text, 1));
    match number.parse::<u64>() {
        Ok(number) if number > 0 && number < 1_000_000 => Ok(Duration::from_secs(number * unit)),
        _ => Err("is not a time, such as 30s, 2m or 1h".to_owned()),
    }
}

pub(crate) fn host(text: &str) -> Result<String, &'static str> {
    let host = text.to_ascii_lowercase();
    match is_site_host(&host) {
        true => Ok(host),
        false => Err("is not a host such as www.example.com"),
    }
}

pub(crate) fn since(text: &str) -> Result<i64, String> {
    let when = When::parse(text).map_err(|error| error.to_string())?;
    Ok(when.seconds())
}

/// Reads a target that is a URL. Returns `None` if it is a path.
///
/// # Errors
///
/// If it is no URL that can be asked. What may be a password in it is not shown.
pub(crate) fn url(text: &str) -> Option<Result<Loc>> {
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphabetic());
    let url = is_scheme.then(|| Loc::parse_any(text))?;
    Some(url.map_err(|error| anyhow!("{}: {error}", without_passwords(text))))
}

/// Removes the user information of URLs from a text that quotes arguments.
#[must_use]
pub fn without_passwords(text: &str) -> String {
    let mut parts = text.split_inclusive("://");
    let mut safe = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // A host begins behind the last @ that is before the path, and an unencoded slash may be in a password.
        let end = part
            .find([' ', '\'', '"', '\n', '<', '>'])
            .unwrap_or(part.len());
        let slash = part[..end].find(['/', '?', '#']).unwrap_or(end);
        let is_host = part[..slash]
            .rsplit_once(':')
            .is_none_or(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let end = if is_host { slash } else { end };
        match part[..end].rfind('@') {
            None => safe.push_str(part),
            Some(at) => safe.extend(["…", &part[at..]]),
        }
    }
    safe
}

pub(crate) fn map(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("is not A=B")?;
    Ok((origin(from)?, origin(to)?))
}

pub(crate) fn origin(text: &str) -> Result<String, String> {
    let origin = sitemap::loc::Origin::parse(text);
    let origin = origin.map_err(|error| format!("{}: {error}", without_passwords(text)))?;
    Ok(origin.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        for (text, expected) in [
            (
                "https://jane:s3cret@www.example.com/a",
                "https://…@www.example.com/a",
            ),
            (
                "HTTPS://jane:s3/cret@www.example.com/a",
                "HTTPS://…@www.example.com/a",
            ),
            (
                "https://jane:s@ret@www.example.com:8080",
                "https://…@www.example.com:8080",
            ),
            (
                "https://www.example.com:80/@jane",
                "https://www.example.com:80/@jane",
            ),
            (
                "https://www.example.com/@jane",
                "https://www.example.com/@jane",
            ),
            ("folder", "folder"),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
        let message = "'https://jane:s3cret@a.example=http://b:s3/cret@b.example' for '--map'";
        let safe = "'https://…@a.example=http://…@b.example' for '--map'";
        assert_eq!(without_passwords(message), safe);
        for text in [
            "a@b",
            "http://a.example/@jane and b@c",
            "http://a.example:80/@jane",
        ] {
            assert_eq!(without_passwords(text), text);
        }
        for text in [
            "https://jane:s3cret@www.example.com/",
            "HTTP://jane:s3cret@a.example",
            "ftp://jane:s3cret@a.example",
        ] {
            let failure = url(text).expect("it is a URL").unwrap_err().to_string();
            assert!(!failure.contains("s3cret"), "{failure}");
        }
        assert!(url("public/http://").is_none());
    }
}
