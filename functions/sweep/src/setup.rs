//! Answers CloudFormation whether the user's table can be read with the deployment's settings.
//!
//! `template.yaml` declares a custom resource with the table's name, its mapping and its stream as properties
//! (<https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-requesttypes.html>). A failure rolls back the
//! stack's creation or update, and the stack's events have the reason. Without an answer CloudFormation waits for an hour. So it
//! always gets an answer.

use std::time::Duration;

use aws::{Aws, describe, environment};
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::{error, info};

use crate::endpoint::connector;

/// The time limit for sending the answer, which has less than 4 KB.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// The most characters of a reason. CloudFormation takes an answer of at most 4,096 bytes, and a character has at most four, or
/// six in JSON if it is a control character.
const MAX_REASON_CHARS: usize = 500;

/// Tries for a table that may not be described, with pauses between them. A policy that was attached a moment ago may not be in
/// force everywhere. All pauses together are shorter than the function's time.
const ACCESS_TRIES: u32 = 6;
const ACCESS_PAUSE: Duration = Duration::from_secs(5);

/// A request of CloudFormation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request {
    request_type: RequestType,
    #[serde(rename = "ResponseURL")]
    response_url: String,
    stack_id: String,
    request_id: String,
    logical_resource_id: String,
    physical_resource_id: Option<String>,
    #[serde(default)]
    resource_properties: Properties,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum RequestType {
    Create,
    Update,
    Delete,
}

/// The resource's properties, which are parameters of the deployment. Any may be empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Properties {
    source_table: String,
    source_mapping: String,
    source_stream: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer<'a> {
    status: &'static str,
    reason: String,
    physical_resource_id: &'a str,
    stack_id: &'a str,
    request_id: &'a str,
    logical_resource_id: &'a str,
}

/// Why CloudFormation gets no answer. It then waits for the resource's time-out, which counts as a failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The event cannot be read.
    #[error("CloudFormation's request cannot be read: {0}")]
    Request(#[from] serde_json::Error),
    /// The address for the answer is not allowed.
    #[error("CloudFormation's request: ResponseURL is neither https nor on 127.0.0.1")]
    Url,
    /// The answer could not be sent.
    #[error("failed to answer CloudFormation: {0}")]
    Lost(String),
}

/// Answers a request of CloudFormation. Returns `false` if the event is not one.
///
/// # Errors
///
/// [`SetupError`] if the answer was not sent.
pub async fn answered(aws: &Aws, event: &Value) -> Result<bool, SetupError> {
    if event.get("ResponseURL").is_none() {
        return Ok(false);
    }
    let request = Request::deserialize(event)?;
    let problems = match request.request_type {
        // Nothing was created, so nothing is to be removed. It must always be possible to delete a stack.
        RequestType::Delete => Vec::new(),
        RequestType::Create | RequestType::Update => {
            problems(aws, &request.resource_properties).await
        }
    };
    for problem in &problems {
        error!("the user's table: {problem}");
    }
    send(&request, &problems.join("; ")).await?;
    info!(request = ?request.request_type, problems = problems.len(), "answered CloudFormation");
    Ok(true)
}

/// Returns all problems of a user's table and its mapping.
async fn problems(aws: &Aws, properties: &Properties) -> Vec<String> {
    let Properties {
        source_table,
        source_mapping,
        source_stream,
    } = properties;
    let own = [environment::CONTENT_TABLE, environment::SITEMAP_TABLE];
    let own: Vec<String> = own
        .into_iter()
        .filter_map(|own| environment::variable(own).ok())
        .collect();
    let source = match environment::source(source_table, source_mapping, &own) {
        Ok(Some(source)) => source,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![error.to_string()],
    };
    let stream = (!source_stream.is_empty()).then_some(source_stream.as_str());
    let mut tries = 0;
    let described = loop {
        match describe(aws, source.name()).await {
            Err(error) if tries < ACCESS_TRIES && error.to_string().contains("AccessDenied") => {
                tries += 1;
                tokio::time::sleep(ACCESS_PAUSE).await;
            }
            described => break described,
        }
    };
    match described {
        Ok(description) => description.misfits(source.mapping(), stream),
        Err(error) => vec![format!("table {}: {error}", source.name())],
    }
}

async fn send(request: &Request, problem: &str) -> Result<(), SetupError> {
    if !is_answerable(&request.response_url) {
        return Err(SetupError::Url);
    }
    let whole = problem.chars().count() <= MAX_REASON_CHARS;
    let mut reason: String = problem.chars().take(MAX_REASON_CHARS).collect();
    reason.push_str(if whole { "" } else { "…" });
    let answer = Answer {
        status: if problem.is_empty() {
            "SUCCESS"
        } else {
            "FAILED"
        },
        reason,
        // If the name changed, CloudFormation would delete the resource with the old name.
        physical_resource_id: request
            .physical_resource_id
            .as_deref()
            .unwrap_or(&request.logical_resource_id),
        stack_id: &request.stack_id,
        request_id: &request.request_id,
        logical_resource_id: &request.logical_resource_id,
    };
    let lost = |error: String| SetupError::Lost(error);
    // No content type, because the address is not signed for one.
    let mut put = HttpRequest::new(SdkBody::from(serde_json::to_string(&answer)?));
    let method = put.set_method("PUT");
    method
        .and_then(|()| put.set_uri(request.response_url.as_str()))
        .map_err(|error| lost(error.to_string()))?;
    match tokio::time::timeout(TIMEOUT, connector().call(put)).await {
        Ok(Ok(response)) if response.status().is_success() => Ok(()),
        Ok(Ok(response)) => Err(lost(format!("status {}", response.status().as_u16()))),
        Ok(Err(error)) => Err(lost(format!("{:?}", error.into_source()))),
        Err(_) => Err(lost(format!("nothing within {TIMEOUT:?}"))),
    }
}

/// Returns whether an answer may be sent to this address. The address is sent unchanged, because its signature covers every
/// character.
fn is_answerable(url: &str) -> bool {
    let local = url.strip_prefix("http://127.0.0.1:");
    let port = local.and_then(|rest| rest.split('/').next());
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    url.starts_with("https://") || port.is_some_and(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_over_https_or_to_this_machine() {
        for url in [
            "https://cloudformation-custom-resource-response-useast1.s3.amazonaws.com/a?Signature=b%2Bc",
            "http://127.0.0.1:4566/x",
            "http://127.0.0.1:4566",
        ] {
            assert!(is_answerable(url), "{url}");
        }
        for url in [
            "",
            "http://s3.amazonaws.com/",
            "http://127.0.0.1/",
            "http://127.0.0.1:80@evil.example/",
            "http://127.0.0.1:/",
            "file:///etc/passwd",
        ] {
            assert!(!is_answerable(url), "{url}");
        }
    }
}
