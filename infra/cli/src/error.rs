//! The messages and the exit statuses of a command that failed.
//!
//! Exit status: 0 if the answer is yes, 1 if it is no, 2 if the command failed.

use std::io;

use engine::error::EngineError;
use tokio::task::JoinError;

pub(crate) mod permission;

/// The endpoint of `.cargo/config.toml`: 9 is "discard".
const NOWHERE: &str = "http://127.0.0.1:9";
/// What errors of the SDK say then.
const UNREACHED: &str = "the endpoint cannot be reached";

/// Status of a command that failed: usage, network, permissions, a scan under way.
pub const COMMAND_FAILED: u8 = 2;

/// Returns the message of a failure: what failed, on what, why, and what to do.
#[must_use]
pub fn message(failure: &anyhow::Error) -> String {
    if let Some(error) = failure.downcast_ref::<EngineError>() {
        return permission::engine(error);
    }
    if let Some(error) = failure.downcast_ref::<JoinError>() {
        return format!("the command failed: {error}");
    }
    // Errors of files say which file.
    if let Some(error) = failure.downcast_ref::<io::Error>() {
        return format!("cannot write the output: {error}");
    }
    failure.to_string()
}

/// Returns what explains a failure to reach AWS if the endpoint of the environment is the one that `.cargo/config.toml` sets, where
/// nothing listens.
#[must_use]
pub fn nowhere(text: &str, endpoint: Option<&str>) -> Option<&'static str> {
    let is_unreached = text.contains(UNREACHED) || text.contains("dispatch failure");
    (is_unreached && endpoint == Some(NOWHERE)).then_some(
        ". AWS_ENDPOINT_URL is http://127.0.0.1:9: in this checkout cargo sets it, so that nothing that it starts reaches AWS. \
         Run target/debug/waymark instead of `cargo run`",
    )
}

/// Returns the error for signals that cannot be waited for.
pub(crate) fn no_signals(error: io::Error) -> anyhow::Error {
    anyhow::anyhow!("cannot wait for signals: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_endpoint_of_cargo_s_that_is_not_reached_is_explained() {
        let unreached = "cannot look for stack prod: the endpoint cannot be reached: refused";
        let hint = nowhere(unreached, Some(NOWHERE)).unwrap_or_default();
        assert!(hint.contains("target/debug/waymark"), "{hint}");
        for (text, endpoint) in [
            (unreached, None),
            (unreached, Some("http://127.0.0.1:4566")),
            ("no permission for s3:GetObject", Some(NOWHERE)),
        ] {
            assert_eq!(nowhere(text, endpoint), None, "{text} {endpoint:?}");
        }
    }

    #[test]
    fn cargo_sets_this_endpoint() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let config = std::fs::read_to_string(root.join(".cargo/config.toml")).unwrap_or_default();
        let line = format!("AWS_ENDPOINT_URL = {{ value = {NOWHERE:?}");
        assert!(config.contains(&line), "{line}");
    }
}
