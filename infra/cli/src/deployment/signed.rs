//! Requests to AWS that the command signs itself, where a whole SDK would be built for one call. A request is retried after an error that
//! may pass.

use std::error::Error;
use std::time::{Duration, UNIX_EPOCH};

use aws::{Clock, chain};
use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::{Credentials, ProvideCredentials};
use aws_sdk_s3::primitives::{ByteStream, SdkBody};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::HttpError;
use aws_types::service_config::ServiceConfigKey;

/// Tries of a call: an answer may be lost, or a service throttle.
const MAX_TRIES: u32 = 4;
/// The pause before the second try. Each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Limit of one try: the operator waits.
const TRY_LIMIT: Duration = Duration::from_secs(20);

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The service's name in a signature's scope.
    pub(crate) service: &'static str,
    /// The region in a signature's scope.
    pub(crate) region: String,
    pub(crate) method: &'static str,
    pub(crate) url: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    /// Bytes of an answer, at most.
    pub(crate) max_bytes: usize,
}

/// Returns the endpoint of a service that the environment or the profile sets, as the SDK's clients do. Returns `None` if neither does.
pub(crate) fn configured(config: &SdkConfig, service_id: &'static str) -> Option<String> {
    let key = ServiceConfigKey::builder()
        .service_id(service_id)
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build();
    let of_service = key
        .ok()
        .zip(config.service_config())
        .and_then(|(key, services)| services.load_config(key));
    of_service.or_else(|| config.endpoint_url().map(str::to_owned))
}

/// Loads the operator's credentials.
pub(crate) async fn credentials(
    config: &SdkConfig,
) -> Result<Credentials, Box<dyn Error + Send + Sync>> {
    let provider = config.credentials_provider();
    let provider = provider.ok_or("no credentials are configured")?;
    Ok(provider.provide_credentials().await?)
}

/// Why a try came to nothing.
pub(crate) enum Failed {
    Passing(String),
    ForGood(String),
}

/// Sends a request, and has `read` parse the status and the answer. Retries after errors that may pass.
///
/// # Errors
///
/// In words, if there is no answer that can be read.
pub(crate) async fn send<T>(
    call: &Call,
    credentials: Credentials,
    read: impl Fn(u16, &str) -> Result<T, Failed>,
) -> Result<T, String> {
    let connector = aws::connector(&call.url);
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        let at = Clock::system().now();
        let request = signed(call, credentials.clone(), at)?;
        let sent = tokio::time::timeout(TRY_LIMIT, ask(&connector, request, call.max_bytes)).await;
        let answer = sent.unwrap_or_else(|_| {
            Err(Failed::Passing(format!(
                "no answer within {} s",
                TRY_LIMIT.as_secs()
            )))
        });
        match answer.and_then(|(status, text)| read(status, &text)) {
            Ok(answer) => return Ok(answer),
            Err(Failed::Passing(_)) if attempt < MAX_TRIES => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            Err(Failed::Passing(reason) | Failed::ForGood(reason)) => return Err(reason),
        }
    }
    unreachable!("the last try returns")
}

async fn ask(
    connector: &impl HttpConnector,
    request: HttpRequest,
    max_bytes: usize,
) -> Result<(u16, String), Failed> {
    let response = connector.call(request).await.map_err(|error| {
        let cause = chain(&*error.into_source());
        Failed::Passing(format!("the endpoint cannot be reached: {cause}"))
    })?;
    let status = response.status().as_u16();
    let mut body = ByteStream::new(response.into_body());
    let mut bytes = Vec::new();
    while let Some(part) = body.next().await {
        let part =
            part.map_err(|error| Failed::Passing(format!("the answer ended early: {error}")))?;
        if bytes.len() + part.len() > max_bytes {
            return Err(Failed::ForGood(format!(
                "the answer is longer than {max_bytes} bytes"
            )));
        }
        bytes.extend_from_slice(&part);
    }
    Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
}

/// Signs a request as of a time in Unix seconds.
pub(crate) fn signed(
    call: &Call,
    credentials: Credentials,
    at: i64,
) -> Result<HttpRequest, String> {
    let bad = |reason: String| format!("not a valid endpoint: {reason}");
    let host = ["http://", "https://"]
        .iter()
        .find_map(|scheme| call.url.strip_prefix(scheme));
    // The signer panics at a URL without a host.
    if host.is_none_or(|host| host.starts_with(['/', '?', '#'])) {
        return Err(bad("it is not http:// or https:// with a host".to_owned()));
    }
    let headers = [
        ("content-type", call.content_type),
        ("user-agent", concat!("waymark/", env!("CARGO_PKG_VERSION"))),
    ];
    let signature = signature(call, credentials, &headers[..1], at);
    let signature = signature.map_err(|error| bad(chain(&*error)))?;
    let mut request = HttpRequest::new(SdkBody::from(call.body.clone()));
    let built = (|| {
        request.set_method(call.method)?;
        request.set_uri(call.url.clone())?;
        for (name, value) in headers {
            request.headers_mut().try_insert(name, value)?;
        }
        for (name, value) in signature {
            request.headers_mut().try_insert(name, value)?;
        }
        Ok::<_, HttpError>(())
    })();
    built.map_err(|error| bad(chain(&error)))?;
    Ok(request)
}

/// Computes the headers that sign a request.
fn signature(
    call: &Call,
    credentials: Credentials,
    headers: &[(&str, &str)],
    at: i64,
) -> Result<Vec<(&'static str, String)>, Box<dyn Error + Send + Sync>> {
    let identity = credentials.into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(&call.region)
        .name(call.service)
        .time(UNIX_EPOCH + Duration::from_secs(at.unsigned_abs()))
        .settings(SigningSettings::default())
        .build()?
        .into();
    let body = SignableBody::Bytes(call.body.as_bytes());
    let request = SignableRequest::new(call.method, &call.url, headers.iter().copied(), body)?;
    let (instructions, _) = sign(request, &params)?.into_parts();
    let (headers, _) = instructions.into_parts();
    Ok(headers
        .iter()
        .map(|header| (header.name(), header.value().to_owned()))
        .collect())
}

/// Returns whether an error may be gone at the next try.
pub(crate) fn is_passing(status: u16, code: &str) -> bool {
    status >= 500
        || matches!(
            code,
            "Throttling" | "ThrottlingException" | "RequestLimitExceeded"
        )
}

/// Returns whether AWS rejects the credentials by this code.
pub(crate) fn is_rejected(code: &str) -> bool {
    matches!(
        code,
        "ExpiredToken"
            | "ExpiredTokenException"
            | "RequestExpired"
            | "InvalidClientTokenId"
            | "UnrecognizedClientException"
            | "SignatureDoesNotMatch"
            | "IncompleteSignature"
            | "MissingAuthenticationToken"
            | "OptInRequired"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again() {
        for (status, code, expected) in [
            (500, "InternalFailure", true),
            (503, "ServiceUnavailable", true),
            (400, "Throttling", true),
            (400, "ValidationError", false),
            (403, "AccessDenied", false),
        ] {
            assert_eq!(is_passing(status, code), expected, "{code}");
        }
    }
}
