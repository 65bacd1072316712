//! How a verb asks the servers of others, and what those options mean.

use std::borrow::Cow;
use std::time::Duration;

use clap::Args;
use cli::check::fetch::Asking;
use http::{HeaderName, HeaderValue};
use sitemap::loc::Loc;

use super::Failure;

/// Requests a second; nothing for as many as there can be.
pub(super) type Rate = Option<f64>;

/// The options of every verb that asks the servers of others.
#[derive(Args)]
pub(super) struct Requests {
    /// Send at most so many requests a second, such as 10/s; 0 for no limit
    #[arg(long, value_name = "N/s", default_value = "10/s", value_parser = rate)]
    rate: Rate,
    /// Wait so long for a whole answer, such as 30s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(super) timeout: Duration,
    /// Try again so often what may pass
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// Send a header to the hosts that are named here. For a secret name a variable: "Authorization: $TOKEN"; repeatable
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// Also ask private, loopback and link-local addresses that a site names, besides those that are named here
    #[arg(long)]
    allow_private: bool,
    /// How to introduce itself
    #[arg(long, value_name = "TEXT", default_value = concat!("waymark/", env!("CARGO_PKG_VERSION")))]
    user_agent: String,
}

impl Requests {
    /// How to ask. The user's headers go to `origins` alone; those of `maps` are asked at others instead.
    pub(super) fn asking(
        &self,
        origins: impl Iterator<Item = String>,
        maps: &[(String, String)],
    ) -> Result<Asking, Failure> {
        // Not by the parser of options, which would show a bad one.
        let headers = self.header.iter().map(|text| header(text));
        let headers: Result<Vec<_>, String> = headers.collect();
        let headers =
            headers.map_err(|error| Failure::Usage(format!("a value of --header {error}")))?;
        Ok(Asking {
            rate: self.rate,
            timeout: self.timeout,
            retries: self.retries,
            headers,
            user_agent: self.user_agent.clone(),
            maps: maps.to_vec(),
            origins: origins.collect(),
            named: Vec::new(),
            allow_private: self.allow_private,
            max_time: None,
        })
    }
}

pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.parse::<f64>() {
        Ok(0.0) => Ok(None),
        Ok(rate) if rate.is_finite() && rate >= 0.001 => Ok(Some(rate)),
        _ => Err("is not a number of requests a second, such as 10/s".to_owned()),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
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

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("is not NAME: VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = |name: &&str| {
        let mut characters = name.bytes();
        !name.is_empty() && characters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let value = match value.strip_prefix('$').filter(is_name) {
        Some(variable) => std::env::var(variable)
            .map_err(|_| format!("names {variable}, which the environment does not have"))?,
        None => value.to_owned(),
    };
    // What was meant as a value may be a secret, and is not shown.
    HeaderName::try_from(name).map_err(|_| "has no name of a header before its colon")?;
    HeaderValue::try_from(&value)
        .map_err(|_| format!("has a character in the value of {name} that no header has"))?;
    Ok((name.to_owned(), value))
}

/// Reads a target that is a URL; nothing if it is a path.
///
/// # Errors
///
/// If it is no URL that can be asked. What may be a password in it is not shown.
pub(super) fn url(text: &str) -> Option<Result<Loc, Failure>> {
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphabetic());
    let url = is_scheme.then(|| Loc::parse_any(text))?;
    Some(url.map_err(|error| Failure::Usage(format!("{}: {error}", without_password(text)))))
}

/// Returns a text that quotes arguments without what may be user information of URLs in it.
pub(crate) fn without_passwords(text: &str) -> String {
    let mut parts = text.split("://");
    let mut safe = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        safe.push_str("://");
        match part.rfind('@') {
            None => safe.push_str(part),
            Some(at) => safe.extend(["…", &part[at..]]),
        }
    }
    safe
}

/// Returns a URL without its user information.
fn without_password(url: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Cow::Borrowed(url);
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let port = rest[..end].rsplit_once(':').map_or("", |(_, port)| port);
    // A password with a slash that is not encoded has no host before it.
    let end = match port.bytes().all(|byte| byte.is_ascii_digit()) {
        true => end,
        false => rest.len(),
    };
    match rest[..end].rfind('@') {
        None => Cow::Borrowed(url),
        Some(at) => Cow::Owned(format!("{scheme}://…{}", &rest[at..])),
    }
}

pub(super) fn map(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("is not A=B")?;
    Ok((origin(from)?, origin(to)?))
}

pub(super) fn origin(text: &str) -> Result<String, String> {
    let origin = sitemap::loc::Origin::parse(text);
    let origin = origin.map_err(|error| format!("{}: {error}", without_password(text)))?;
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
            assert_eq!(without_password(text), expected);
        }
        let told = "'https://jane:s3 cret@a.example=http://b:s3cret@b.example' for '--map'";
        let safe = "'https://…@a.example=http://…@b.example' for '--map'";
        assert_eq!(without_passwords(told), safe);
        assert_eq!(without_passwords("a@b"), "a@b");
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

    #[test]
    fn a_header_is_one_or_is_refused_without_its_value() {
        assert_eq!(
            header(" X-A :  b ").unwrap(),
            ("X-A".to_owned(), "b".to_owned())
        );
        for text in ["a", "a b: c", ": c", "a\nb: c", "\u{e9}: c"] {
            assert!(header(text).is_err(), "{text}");
        }
        let refused = header("Authorization: s3cret\r\nX: y").unwrap_err();
        assert!(!refused.contains("s3cret"), "{refused}");
    }
}
