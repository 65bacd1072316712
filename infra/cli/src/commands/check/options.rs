//! What the options of `waymark check` mean.

use std::path::PathBuf;
use std::time::Duration;

use check::draw::MAX_DRAWN;
use check::rules::{Profile, Rule, Severity};
use cli::check::config;
use cli::check::report::Format;

/// Requests a second; nothing for as many as there can be.
pub(in crate::commands) type Rate = Option<f64>;

pub(in crate::commands) fn profile(text: &str) -> Result<Profile, String> {
    let known = Profile::ALL.iter().find(|profile| profile.name() == text);
    known.copied().ok_or_else(|| {
        format!(
            "is not one of {}",
            Profile::ALL.map(Profile::name).join(", ")
        )
    })
}

pub(in crate::commands) fn format(text: &str) -> Result<(Format, Option<PathBuf>), String> {
    let (name, file) = match text.split_once('=') {
        Some((name, file)) => (name, Some(PathBuf::from(file))),
        None => (text, None),
    };
    let format = Format::ALL.iter().find(|format| format.name() == name);
    match format {
        Some(format)
            if file
                .as_ref()
                .is_none_or(|file| !file.as_os_str().is_empty()) =>
        {
            Ok((*format, file))
        }
        _ => Err(format!(
            "is not FORMAT or FORMAT=FILE, with one of {}",
            Format::ALL.map(Format::name).join(", ")
        )),
    }
}

pub(in crate::commands) fn level(text: &str) -> Result<(Vec<Rule>, Option<Severity>), String> {
    let (name, level) = text.split_once('=').ok_or("is not RULE=SEVERITY")?;
    Ok((config::rules(name)?, config::severity(level)?))
}

pub(in crate::commands) fn rate(text: &str) -> Result<Rate, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.parse::<f64>() {
        Ok(0.0) => Ok(None),
        Ok(rate) if rate.is_finite() && rate >= 0.001 => Ok(Some(rate)),
        _ => Err("is not a number of requests a second, such as 10/s".to_owned()),
    }
}

pub(in crate::commands) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.strip_suffix('s').unwrap_or(text), 1),
    };
    match number.parse::<u64>() {
        Ok(number) if number > 0 && number < 1_000_000 => Ok(Duration::from_secs(number * unit)),
        _ => Err("is not a time, such as 30s or 2m".to_owned()),
    }
}

pub(in crate::commands) fn header(text: &str) -> Result<(String, String), String> {
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

pub(in crate::commands) fn map(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("is not A=B")?;
    Ok((origin(from)?, origin(to)?))
}

pub(in crate::commands) fn origin(text: &str) -> Result<String, String> {
    let origin = sitemap::loc::Origin::parse(text).map_err(|error| format!("{text}: {error}"))?;
    Ok(origin.as_str().to_owned())
}

/// The least severity that makes the status 1; nothing for `never`.
pub(in crate::commands) fn fail_on(text: &str) -> Result<Option<Severity>, String> {
    match config::severity(text) {
        Ok(Some(severity)) => Ok(Some(severity)),
        _ if text == "never" => Ok(None),
        _ => Err("is not error, warning, note or never".to_owned()),
    }
}

/// Pages that are asked for.
pub(in crate::commands) fn pages(text: &str) -> Result<usize, String> {
    if text == "all" {
        return Ok(MAX_DRAWN);
    }
    match text.parse() {
        Ok(pages) if pages <= MAX_DRAWN => Ok(pages),
        _ => Err(format!("is not all, or a number up to {MAX_DRAWN}")),
    }
}
