//! The options that say how a verb makes requests to the servers of others.

use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;
use http::{HeaderName, HeaderValue};

use super::client::Asking;
use crate::values::{Rate, duration, rate};

/// The options of every verb that asks the servers of others.
#[derive(Args)]
pub(crate) struct Requests {
    /// Maximum requests per second, such as 10/s; 0 for no limit
    #[arg(long, value_name = "N/s", default_value = "10/s", value_parser = rate)]
    rate: Rate,
    /// Maximum time for one complete response, such as 30s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Retries after a failure that may be temporary
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// Send this header to the hosts named on the command line (repeatable); read secrets from a variable:
    /// 'Authorization: $TOKEN'
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// Also fetch from private, loopback and link-local addresses that a site refers to
    #[arg(long)]
    allow_private: bool,
    /// User-Agent header to send
    #[arg(long, value_name = "TEXT", default_value = concat!("waymark/", env!("CARGO_PKG_VERSION")))]
    user_agent: String,
}

impl Requests {
    /// Returns how requests are made. The user's headers go to `origins` alone. Requests for the origins of `maps` go to others instead.
    pub(crate) fn asking(
        &self,
        origins: impl Iterator<Item = String>,
        maps: &[(String, String)],
    ) -> Result<Asking> {
        // Not by the parser of options, which would show a bad one.
        let headers = self.header.iter().map(|text| header(text));
        let headers: Result<Vec<_>, String> = headers.collect();
        let headers = headers.map_err(|error| anyhow!("a value of --header {error}"))?;
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

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("is not NAME: VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = |name: &&str| {
        let mut characters = name.bytes();
        !name.is_empty() && characters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let value = match value.strip_prefix('$').filter(is_name) {
        Some(variable) => std::env::var(variable)
            .map_err(|_| format!("names {variable}, which is not set in the environment"))?,
        None => value.to_owned(),
    };
    // What was meant as a value may be a secret, and is not shown.
    HeaderName::try_from(name).map_err(|_| "has no header name before its colon")?;
    HeaderValue::try_from(&value)
        .map_err(|_| format!("has a character in the value of {name} that headers cannot have"))?;
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

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
