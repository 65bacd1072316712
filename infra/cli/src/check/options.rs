//! What the options of `waymark check` mean.

use std::path::PathBuf;

use check::document::sample::MAX_DRAWN;
use check::rules::{Profile, Rule, Severity};

use crate::check::config;
use crate::check::report::Format;

pub(crate) fn rule_set(text: &str) -> Result<Profile, String> {
    known_set(text).ok_or_else(|| {
        format!(
            "is not one of {}",
            Profile::ALL.map(Profile::name).join(", ")
        )
    })
}

/// Reads the name of an AWS profile. Earlier builds had the rule sets there.
pub(crate) fn aws_profile(text: &str) -> Result<String, &'static str> {
    match text.split(',').any(|name| known_set(name).is_some()) {
        true => Err("names rule sets: give them with --rules. --profile names an AWS profile"),
        false if text.is_empty() => Err("is empty"),
        false => Ok(text.to_owned()),
    }
}

fn known_set(text: &str) -> Option<Profile> {
    let known = Profile::ALL.iter().find(|profile| profile.name() == text);
    known.copied()
}

pub(crate) fn format(text: &str) -> Result<(Format, Option<PathBuf>), String> {
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

pub(crate) fn level(text: &str) -> Result<(Vec<Rule>, Option<Severity>), String> {
    let (name, level) = text.split_once('=').ok_or("is not RULE=SEVERITY")?;
    Ok((config::rules(name)?, config::severity(level)?))
}

/// Parses the least severity that makes the status 1. Returns `None` for `never`.
pub(crate) fn fail_on(text: &str) -> Result<Option<Severity>, String> {
    match config::severity(text) {
        Ok(Some(severity)) => Ok(Some(severity)),
        _ if text == "never" => Ok(None),
        _ => Err("is not error, warning, note or never".to_owned()),
    }
}

/// Parses how many pages are requested.
pub(crate) fn pages(text: &str) -> Result<usize, String> {
    if text == "all" {
        return Ok(MAX_DRAWN);
    }
    match text.parse() {
        Ok(pages) if pages <= MAX_DRAWN => Ok(pages),
        _ => Err(format!("is not all, or a number up to {MAX_DRAWN}")),
    }
}
