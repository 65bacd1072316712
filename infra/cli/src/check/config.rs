//! `waymark-check.toml`: which rules apply in a repository, and which findings it allows for now.
//!
//! ```toml
//! [rules]
//! "loc.tracking" = "off"
//! "ext." = "note"
//!
//! [[allow]]
//! rule = "loc.variants"
//! match = "/old-shop/"
//! until = "2027-03-31"
//! why = "The old shop goes in March."
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use check::findings::suppressions::Allowance;
use check::findings::{Finding, Findings, Policy};
use check::rules::{Rule, Severity};
use serde::Deserialize;
use sitemap::time::When;

use crate::files;

/// The file's name.
pub const FILE: &str = "waymark-check.toml";
/// What the root of a repository has.
const ROOTS: [&str; 3] = [".git", ".hg", ".jj"];
/// Seconds of a day.
const DAY: i64 = 86_400;

/// Why a file cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{}: {error}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It is malformed.
    #[error("{}: {error}", file.display())]
    Toml {
        /// The file.
        file: PathBuf,
        /// What is wrong, and where.
        error: basic_toml::Error,
    },
    /// Something in it means nothing.
    #[error("{}: {place}: {problem}", file.display())]
    Value {
        /// The file.
        file: PathBuf,
        /// Where in it.
        place: String,
        /// What is wrong.
        problem: String,
    },
}

/// What a file says.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it is.
    pub file: PathBuf,
    rules: Vec<(Vec<Rule>, Option<Severity>)>,
    allow: Vec<Allowed>,
}

#[derive(Clone, Debug)]
struct Allowed {
    rule: String,
    until: String,
    why: String,
    allowance: Allowance,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(default)]
    rules: BTreeMap<String, String>,
    #[serde(default)]
    allow: Vec<Allow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    rule: String,
    #[serde(default, rename = "match")]
    pattern: String,
    until: Option<String>,
    why: String,
}

/// Returns the rules of this name, or of this group.
///
/// # Errors
///
/// If there are none.
pub fn rules(name: &str) -> Result<Vec<Rule>, String> {
    let rules = Rule::matching(name);
    if rules.is_empty() {
        return Err(format!(
            "{name:?} is not a rule or a group of rules: see --list-rules"
        ));
    }
    Ok(rules)
}

/// Parses a severity. Returns `None` for `off`.
///
/// # Errors
///
/// If it is neither.
pub fn severity(name: &str) -> Result<Option<Severity>, String> {
    Ok(match name {
        "off" => None,
        "note" => Some(Severity::Note),
        "warning" => Some(Severity::Warning),
        "error" => Some(Severity::Error),
        _ => return Err(format!("{name:?} is not off, note, warning or error")),
    })
}

/// Finds the file for this folder: its own, or the nearest one above it, up to the root of the repository. Outside a repository only the
/// folder's own file counts.
#[must_use]
pub fn find(folder: &Path) -> Option<PathBuf> {
    let is_root = |folder: &&Path| ROOTS.iter().any(|name| folder.join(name).exists());
    let in_repository = folder.ancestors().any(|folder| is_root(&folder));
    let mut folders = folder.ancestors();
    loop {
        let folder = folders.next()?;
        let file = folder.join(FILE);
        // Whatever it is: one that cannot be read is an error.
        if file.symlink_metadata().is_ok() {
            return Some(file);
        }
        if !in_repository || is_root(&folder) {
            return None;
        }
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`ConfigError`].
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        Self::of(file, files::text(file))
    }

    /// Reads a file that was found, which must be one.
    ///
    /// # Errors
    ///
    /// As [`Config::read`].
    pub fn read_found(file: &Path) -> Result<Self, ConfigError> {
        Self::of(file, files::found_text(file))
    }

    fn of(file: &Path, text: io::Result<String>) -> Result<Self, ConfigError> {
        let text = text.map_err(|error| ConfigError::File {
            file: file.to_owned(),
            error,
        })?;
        Self::parse(file, &text)
    }

    fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let form: Form = basic_toml::from_str(text).map_err(|error| ConfigError::Toml {
            file: file.to_owned(),
            error,
        })?;
        let wrong = |place: String| {
            move |problem| ConfigError::Value {
                file: file.to_owned(),
                place,
                problem,
            }
        };
        let mut levels = Vec::new();
        for (name, level) in form.rules {
            let place = || format!("[rules] {name}");
            let rules = rules(&name).map_err(wrong(place()))?;
            levels.push((rules, severity(&level).map_err(wrong(place()))?));
        }
        // What names fewer rules comes later, and so has the last word.
        levels.sort_by_key(|(rules, _)| std::cmp::Reverse(rules.len()));
        let mut allow = Vec::new();
        for (at, form) in form.allow.into_iter().enumerate() {
            let place = format!("[[allow]] {} ({})", at + 1, form.rule);
            allow.push(Allowed::of(form).map_err(wrong(place))?);
        }
        Ok(Self {
            file: file.to_owned(),
            rules: levels,
            allow,
        })
    }

    /// Sets the levels of rules.
    pub fn apply(&self, policy: &mut Policy) {
        for (rules, level) in &self.rules {
            for rule in rules {
                policy.set(*rule, *level);
            }
        }
    }

    /// Returns the findings that the file allows.
    pub fn allowances(&self) -> impl Iterator<Item = Allowance> {
        self.allow.iter().map(|allowed| allowed.allowance.clone())
    }

    /// Adds a finding for each allowance that is past its date.
    pub fn overdue(&self, now: i64, findings: &mut Findings) {
        for allowed in self.allow.iter().filter(|one| one.allowance.is_over(now)) {
            let rule = Rule::CheckAllowance;
            findings.add(rule, || Finding {
                rule,
                file: self.file.display().to_string().into(),
                at: None,
                message: format!(
                    "the allowance for {} ended on {}: {}",
                    allowed.rule, allowed.until, allowed.why
                ),
                invalid: false,
            });
        }
    }
}

impl Allowed {
    fn of(form: Allow) -> Result<Self, String> {
        let until = match form.until.as_deref().map(When::parse) {
            None => None,
            Some(Ok(when)) if when.is_date() => Some(when.seconds() + DAY - 1),
            Some(_) => return Err("until is not a date, such as \"2027-03-31\"".to_owned()),
        };
        if form.why.trim().is_empty() {
            return Err("why is empty".to_owned());
        }
        Ok(Self {
            allowance: Allowance {
                rules: rules(&form.rule)?,
                pattern: form.pattern,
                until,
            },
            rule: form.rule,
            until: form.until.unwrap_or_default(),
            why: form.why,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use std::fs;

    use super::*;

    /// 2026-11-24T20:00:00Z
    const NOW: i64 = 1_795_550_400;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("x.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_rule_has_the_last_word_over_its_group() {
        let config = parse("[rules]\n\"ext.\" = \"off\"\n\"ext.image\" = \"error\"\n").unwrap();
        let mut policy = Policy::default();
        config.apply(&mut policy);
        assert_eq!(policy.level(Rule::ExtImage), Some(Severity::Error));
        assert_eq!(policy.level(Rule::ExtOrder), None);
        assert_eq!(policy.level(Rule::LocHost), Some(Severity::Error));
    }

    #[test]
    fn an_allowance_past_its_date_is_a_finding() {
        let config = parse(
            "[[allow]]\nrule = \"loc.host\"\nuntil = \"2026-11-24\"\nwhy = \"The move.\"\n\
             [[allow]]\nrule = \"loc.\"\nuntil = \"2026-11-23\"\nwhy = \"It was to be mended.\"\n",
        )
        .unwrap();
        let mut findings = Findings::new(Arc::new(Policy::default()));
        config.overdue(NOW, &mut findings);
        let kept = findings.kept();
        assert_eq!(kept.len(), 1);
        assert_eq!(
            kept[0].to_string(),
            "x.toml: check.allowance the allowance for loc. ended on 2026-11-23: It was to be mended."
        );
    }

    #[test]
    fn what_means_nothing_is_refused_by_its_place() {
        for (text, expected) in [
            (
                "[rules]\nnothing = \"off\"",
                "x.toml: [rules] nothing: \"nothing\" is not a rule",
            ),
            (
                "[rules]\n\"loc.\" = \"on\"",
                "x.toml: [rules] loc.: \"on\" is not off",
            ),
            (
                "[[allow]]\nrule = \"loc.host\"\nuntil = \"soon\"\nwhy = \"x\"",
                "x.toml: [[allow]] 1 (loc.host): until is not a date",
            ),
            (
                "[[allow]]\nrule = \"loc.host\"\nwhy = \" \"",
                "x.toml: [[allow]] 1 (loc.host): why is empty",
            ),
            (
                "[[allow]]\nrule = \"loc.host\"",
                "x.toml: missing field `why`",
            ),
            ("[allowed]", "x.toml: unknown field `allowed`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_nearest_file_up_to_the_root_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("repo/a/b")).unwrap();
        fs::write(path(FILE), "").unwrap();
        fs::write(path("repo/a").join(FILE), "").unwrap();
        // No repository yet: only the folder's own.
        assert_eq!(find(&path("repo/a/b")), None);
        fs::create_dir(path("repo/.git")).unwrap();
        assert_eq!(find(&path("repo/a/b")), Some(path("repo/a").join(FILE)));
        fs::remove_file(path("repo/a").join(FILE)).unwrap();
        assert_eq!(find(&path("repo/a/b")), None);
        fs::write(path("repo").join(FILE), "").unwrap();
        assert_eq!(find(&path("repo/a/b")), Some(path("repo").join(FILE)));
    }
}
