//! The one request to CloudFormation: a signed form
//! (<https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/CommonParameters.html>).

use std::time::{Duration, UNIX_EPOCH};

use aws::Clock;
use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::{Credentials, ProvideCredentials};
use aws_sdk_s3::primitives::{ByteStream, SdkBody};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::HttpError;
use aws_types::service_config::ServiceConfigKey;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::answer::{self, Answer};

/// CloudFormation's API as of this day: the only one that there is.
const API_VERSION: &str = "2010-05-15";
/// The service's name in a signature's scope.
const SIGNING_NAME: &str = "cloudformation";
/// The service's name in variables (`AWS_ENDPOINT_URL_CLOUDFORMATION`) and in profiles.
const SERVICE_ID: &str = "CloudFormation";
/// Tries of the call: an answer may be lost, or CloudFormation throttle.
const MAX_TRIES: u32 = 4;
/// The pause before the second try. Each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Limit of one try: the operator waits.
const TRY_LIMIT: Duration = Duration::from_secs(20);
/// Bytes of an answer: more than a stack's 200 parameters of 4 KB and 200 outputs of 1 KB in XML
/// (<https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>).
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Hosts end in `amazonaws.com`, but for those of regions that begin so.
const OTHER_DOMAINS: [(&str, &str); 6] = [
    ("cn-", "amazonaws.com.cn"),
    ("eusc-", "amazonaws.eu"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("us-isof-", "csp.hci.ic.gov"),
];

/// Where CloudFormation is asked: where the environment or the profile says, as the SDK's clients do; or else in AWS.
pub(super) fn endpoint(config: &SdkConfig, region: &str) -> String {
    let key = ServiceConfigKey::builder()
        .service_id(SERVICE_ID)
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build();
    let of_service = key
        .ok()
        .zip(config.service_config())
        .and_then(|(key, services)| services.load_config(key));
    let configured = of_service.or_else(|| config.endpoint_url().map(str::to_owned));
    configured.unwrap_or_else(|| in_aws(region, config.use_fips() == Some(true)))
}

fn in_aws(region: &str, fips: bool) -> String {
    let other = OTHER_DOMAINS
        .iter()
        .find(|(begin, _)| region.starts_with(begin));
    let domain = other.map_or("amazonaws.com", |(_, domain)| domain);
    let fips = if fips { "-fips" } else { "" };
    format!("https://cloudformation{fips}.{region}.{domain}")
}

/// The operator's credentials.
pub(super) async fn credentials(
    config: &SdkConfig,
) -> Result<Credentials, Box<dyn std::error::Error + Send + Sync>> {
    let provider = config.credentials_provider();
    let provider = provider.ok_or("there is no provider of credentials")?;
    Ok(provider.provide_credentials().await?)
}

/// Describes a stack. Tries again what may pass.
///
/// # Errors
///
/// In words, if there is no answer that can be read.
pub(super) async fn describe(
    endpoint: &str,
    region: &str,
    credentials: Credentials,
    stack: &str,
) -> Result<Answer, String> {
    let connector = aws::connector(endpoint);
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        let at = Clock::system().now();
        let request = signed(endpoint, region, credentials.clone(), stack, at)?;
        let sent = tokio::time::timeout(TRY_LIMIT, send(&connector, request)).await;
        let answer = sent.unwrap_or_else(|_| {
            Err(Failed::Passing(format!(
                "there was no answer within {} s",
                TRY_LIMIT.as_secs()
            )))
        });
        match answer {
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

/// Why a try came to nothing.
enum Failed {
    Passing(String),
    ForGood(String),
}

async fn send(connector: &impl HttpConnector, request: HttpRequest) -> Result<Answer, Failed> {
    let response = connector.call(request).await.map_err(|error| {
        let cause = super::chain(&*error.into_source());
        Failed::Passing(format!("the endpoint cannot be reached: {cause}"))
    })?;
    let status = response.status().as_u16();
    let mut body = ByteStream::new(response.into_body());
    let mut bytes = Vec::new();
    while let Some(part) = body.next().await {
        let part =
            part.map_err(|error| Failed::Passing(format!("the answer broke off: {error}")))?;
        if bytes.len() + part.len() > MAX_BYTES {
            return Err(Failed::ForGood(format!(
                "the answer is longer than {MAX_BYTES} bytes"
            )));
        }
        bytes.extend_from_slice(&part);
    }
    match answer::read(&String::from_utf8_lossy(&bytes)) {
        Ok(Answer::Refused { code, message }) if is_passing(status, &code) => {
            Err(Failed::Passing(format!("{code}: {message}")))
        }
        Ok(answer) => Ok(answer),
        Err(error) if status >= 500 => Err(Failed::Passing(format!("status {status}: {error}"))),
        Err(error) => Err(Failed::ForGood(format!("status {status}: {error}"))),
    }
}

/// Whether an error may be gone at the next try.
fn is_passing(status: u16, code: &str) -> bool {
    status >= 500
        || matches!(
            code,
            "Throttling" | "ThrottlingException" | "RequestLimitExceeded"
        )
}

/// The request, signed as of a time in Unix seconds.
fn signed(
    endpoint: &str,
    region: &str,
    credentials: Credentials,
    stack: &str,
    at: i64,
) -> Result<HttpRequest, String> {
    let name = utf8_percent_encode(stack, NON_ALPHANUMERIC);
    let form = format!("Action=DescribeStacks&Version={API_VERSION}&StackName={name}");
    let url = format!("{}/", endpoint.trim_end_matches('/'));
    let bad = |reason: String| format!("not a valid endpoint: {reason}");
    let host = ["http://", "https://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    // The signer panics at a URL without a host.
    if host.is_none_or(|host| host.starts_with(['/', '?', '#'])) {
        return Err(bad("it is not http:// or https:// with a host".to_owned()));
    }
    let headers = [
        (
            "content-type",
            "application/x-www-form-urlencoded; charset=utf-8",
        ),
        ("user-agent", concat!("waymark/", env!("CARGO_PKG_VERSION"))),
    ];
    let signature = signature(&url, region, credentials, &headers[..1], &form, at);
    let signature = signature.map_err(|error| bad(super::chain(&*error)))?;
    let mut request = HttpRequest::new(SdkBody::from(form));
    let built = (|| {
        request.set_method("POST")?;
        request.set_uri(url)?;
        for (name, value) in headers {
            request.headers_mut().try_insert(name, value)?;
        }
        for (name, value) in signature {
            request.headers_mut().try_insert(name, value)?;
        }
        Ok::<_, HttpError>(())
    })();
    built.map_err(|error| bad(super::chain(&error)))?;
    Ok(request)
}

/// The headers that sign a request.
fn signature(
    url: &str,
    region: &str,
    credentials: Credentials,
    headers: &[(&str, &str)],
    form: &str,
    at: i64,
) -> Result<Vec<(&'static str, String)>, Box<dyn std::error::Error + Send + Sync>> {
    let identity = credentials.into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SIGNING_NAME)
        .time(UNIX_EPOCH + Duration::from_secs(at.unsigned_abs()))
        .settings(SigningSettings::default())
        .build()?
        .into();
    let body = SignableBody::Bytes(form.as_bytes());
    let request = SignableRequest::new("POST", url, headers.iter().copied(), body)?;
    let (instructions, _) = sign(request, &params)?.into_parts();
    let (headers, _) = instructions.into_parts();
    Ok(headers
        .iter()
        .map(|header| (header.name(), header.value().to_owned()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_has_its_domain() {
        for (region, fips, expected) in [
            (
                "eu-central-1",
                false,
                "https://cloudformation.eu-central-1.amazonaws.com",
            ),
            (
                "us-east-1",
                true,
                "https://cloudformation-fips.us-east-1.amazonaws.com",
            ),
            (
                "us-gov-west-1",
                false,
                "https://cloudformation.us-gov-west-1.amazonaws.com",
            ),
            (
                "cn-north-1",
                false,
                "https://cloudformation.cn-north-1.amazonaws.com.cn",
            ),
            (
                "eusc-de-east-1",
                false,
                "https://cloudformation.eusc-de-east-1.amazonaws.eu",
            ),
            (
                "us-isob-east-1",
                false,
                "https://cloudformation.us-isob-east-1.sc2s.sgov.gov",
            ),
        ] {
            assert_eq!(in_aws(region, fips), expected);
        }
    }

    #[test]
    fn the_request_is_a_signed_form() {
        let credentials =
            Credentials::new("AKID", "secret", Some("token".to_owned()), None, "test");
        let arn = "arn:aws:cloudformation:eu-central-1:123456789012:stack/prod/1";
        let request = signed(
            "http://127.0.0.1:9",
            "eu-central-1",
            credentials,
            arn,
            1_800_000_000,
        );
        let request = request.unwrap();
        assert_eq!(
            (request.method(), request.uri()),
            ("POST", "http://127.0.0.1:9/")
        );
        let form = "Action=DescribeStacks&Version=2010-05-15&StackName=arn%3Aaws%3Acloudformation%3Aeu%2Dcentral%2D1%3A\
            123456789012%3Astack%2Fprod%2F1";
        assert_eq!(request.body().bytes(), Some(form.as_bytes()));
        let header = |name| request.headers().get(name).unwrap_or_default();
        assert_eq!(header("x-amz-date"), "20270115T080000Z");
        assert_eq!(header("x-amz-security-token"), "token");
        let scope = "AWS4-HMAC-SHA256 Credential=AKID/20270115/eu-central-1/cloudformation/aws4_request, \
            SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
        assert!(
            header("authorization").starts_with(scope),
            "{}",
            header("authorization")
        );
    }

    #[test]
    fn an_endpoint_that_is_none_is_an_error() {
        let credentials = || Credentials::new("AKID", "secret", None, None, "test");
        for endpoint in ["", "no host", "127.0.0.1:9", "http://", "http://[::1"] {
            assert!(
                signed(endpoint, "eu-central-1", credentials(), "prod", 0).is_err(),
                "{endpoint}"
            );
        }
    }

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
