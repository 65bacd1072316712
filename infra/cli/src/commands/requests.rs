//! How a verb asks the servers of others, and what those options mean.

use std::time::Duration;

use clap::Args;
use cli::check::fetch::Asking;

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
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
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
    ) -> Asking {
        Asking {
            rate: self.rate,
            timeout: self.timeout,
            retries: self.retries,
            headers: self.header.clone(),
            user_agent: self.user_agent.clone(),
            maps: maps.to_vec(),
            origins: origins.collect(),
        }
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
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.strip_suffix('s').unwrap_or(text), 1),
    };
    match number.parse::<u64>() {
        Ok(number) if number > 0 && number < 1_000_000 => Ok(Duration::from_secs(number * unit)),
        _ => Err("is not a time, such as 30s or 2m".to_owned()),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("is not NAME: VALUE")?;
    let value = value.trim();
    let value = match value.strip_prefix('$') {
        Some(variable) => {
            std::env::var(variable).map_err(|_| format!("the environment has no {variable}"))?
        }
        None => value.to_owned(),
    };
    Ok((name.trim().to_owned(), value))
}

pub(super) fn map(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("is not A=B")?;
    Ok((origin(from)?, origin(to)?))
}

pub(super) fn origin(text: &str) -> Result<String, String> {
    let origin = sitemap::loc::Origin::parse(text).map_err(|error| format!("{text}: {error}"))?;
    Ok(origin.as_str().to_owned())
}
