//! The stack of an environment of `samconfig.toml`.
//!
//! `sam deploy --config-env` reads the same file
//! (<https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/serverless-sam-cli-config.html>).

use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::files;

/// The file, looked for where the command runs.
pub const FILE: &str = "samconfig.toml";

/// What an environment of the file says about its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The stack's name.
    pub stack_name: String,
    /// Its region, if the file says so.
    pub region: Option<String>,
    /// The AWS profile that it is deployed with, if the file says so.
    pub profile: Option<String>,
}

/// Why an environment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SamconfigError {
    /// The file cannot be read.
    #[error("failed to read {FILE}: {0}: run the command where the file is, or give --stack")]
    File(#[from] io::Error),
    /// The file is malformed.
    #[error("{FILE} is malformed: {0}")]
    Toml(#[from] basic_toml::Error),
    /// It does not have the environment.
    #[error("{FILE} has no environment {name}: it has {}", .known.join(", "))]
    Unknown {
        /// The environment.
        name: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// It says something else than `sam` would read.
    #[error("{FILE}: environment {name}: {error}")]
    Form {
        /// The environment.
        name: String,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// It does not say which stack.
    #[error(
        "{FILE} names no stack for the environment {0}: set stack_name in [{0}.global.parameters] or \
         [{0}.deploy.parameters], or give --stack"
    )]
    NoStack(String),
}

/// What the file has of one command of `sam`'s.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Command {
    parameters: Parameters,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Parameters {
    stack_name: Option<String>,
    region: Option<String>,
    profile: Option<String>,
}

/// What the file has of an environment. Other commands' sections are not looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Section {
    global: Command,
    deploy: Command,
}

/// Reads the environment of this name in the file of the current folder.
///
/// # Errors
///
/// [`SamconfigError`].
pub fn read(name: &str) -> Result<Environment, SamconfigError> {
    parse(&files::found_text(Path::new(FILE))?, name)
}

fn parse(text: &str, name: &str) -> Result<Environment, SamconfigError> {
    let file: Map<String, Value> = basic_toml::from_str(text)?;
    let Some(section) = file.get(name).filter(|section| section.is_object()) else {
        // The version of the file's form is no environment.
        let known = file.iter().filter(|(_, value)| value.is_object());
        return Err(SamconfigError::Unknown {
            name: name.to_owned(),
            known: known.map(|(name, _)| name.clone()).collect(),
        });
    };
    let Section { global, deploy } =
        Section::deserialize(section).map_err(|error| SamconfigError::Form {
            name: name.to_owned(),
            error,
        })?;
    // As for `sam`: what is said of a command comes before what is said of all.
    let (global, deploy) = (global.parameters, deploy.parameters);
    let stack_name = deploy.stack_name.or(global.stack_name);
    Ok(Environment {
        stack_name: stack_name.ok_or_else(|| SamconfigError::NoStack(name.to_owned()))?,
        region: deploy.region.or(global.region),
        profile: deploy.profile.or(global.profile),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        version = 0.1

        [default.global.parameters]
        stack_name = "waymark"
        parameter_overrides = ["LogRetentionDays=7", "Sites=a.example"]

        [default.build.parameters]
        cached = false # a comment

        [production.global.parameters]
        stack_name = "of-all"
        region = "eu-west-1"

        [production.deploy.parameters]
        stack_name = 'waymark-production'
        profile = "prod"
        region = "eu-central-1"
        parameter_overrides = """
          Sites=a.example
        """

        [empty]
        [other.deploy.parameters]
        region = "eu-central-1"
        [wrong.deploy.parameters]
        stack_name = 7
    "#;

    fn error_of(text: &str, name: &str) -> String {
        parse(text, name).unwrap_err().to_string()
    }

    #[test]
    fn a_commands_parameters_come_before_those_of_all() {
        let waymark = Environment {
            stack_name: "waymark".to_owned(),
            region: None,
            profile: None,
        };
        assert_eq!(parse(TEXT, "default").unwrap(), waymark);
        let production = Environment {
            stack_name: "waymark-production".to_owned(),
            region: Some("eu-central-1".to_owned()),
            profile: Some("prod".to_owned()),
        };
        assert_eq!(parse(TEXT, "production").unwrap(), production);
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            error_of(TEXT, "staging"),
            "samconfig.toml has no environment staging: it has default, empty, other, production, wrong"
        );
        for name in ["other", "empty"] {
            let begin = format!("samconfig.toml names no stack for the environment {name}: ");
            assert!(error_of(TEXT, name).starts_with(&begin));
        }
        assert!(error_of(TEXT, "wrong").starts_with("samconfig.toml: environment wrong: "));
        assert!(error_of("version = ", "default").starts_with("samconfig.toml is malformed: "));
    }

    #[test]
    fn the_repositorys_own_file_is_read() {
        let text = include_str!("../../../../samconfig.toml");
        for (name, stack) in [
            ("default", "waymark"),
            ("staging", "waymark-staging"),
            ("production", "waymark-production"),
        ] {
            assert_eq!(parse(text, name).unwrap().stack_name, stack);
        }
    }
}
