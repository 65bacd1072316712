//! The one request to CloudFormation: a signed form
//! (<https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/CommonParameters.html>).

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::Credentials;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::answer::{self, Answer};
use crate::deployment::signed::{Call, Failed, configured, is_passing, send};

/// CloudFormation's API as of this day: the only one that there is.
const API_VERSION: &str = "2010-05-15";
/// The service's name in a signature's scope.
const SIGNING_NAME: &str = "cloudformation";
/// The service's name in variables (`AWS_ENDPOINT_URL_CLOUDFORMATION`) and in profiles.
const SERVICE_ID: &str = "CloudFormation";
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

/// Returns the endpoint of CloudFormation. The environment or the profile may set it, as for the SDK's clients. Otherwise it is that of
/// AWS.
pub(super) fn endpoint(config: &SdkConfig, region: &str) -> String {
    let is_fips = config.use_fips() == Some(true);
    configured(config, SERVICE_ID).unwrap_or_else(|| in_aws(region, is_fips))
}

fn in_aws(region: &str, fips: bool) -> String {
    let other = OTHER_DOMAINS
        .iter()
        .find(|(begin, _)| region.starts_with(begin));
    let domain = other.map_or("amazonaws.com", |(_, domain)| domain);
    let fips = if fips { "-fips" } else { "" };
    format!("https://cloudformation{fips}.{region}.{domain}")
}

/// Describes a stack. Retries after errors that may pass.
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
    send(&call(endpoint, region, stack), credentials, read).await
}

fn read(status: u16, text: &str) -> Result<Answer, Failed> {
    match answer::read(text) {
        Ok(Answer::Refused { code, message }) if is_passing(status, &code) => {
            Err(Failed::Passing(format!("{code}: {message}")))
        }
        Ok(answer) => Ok(answer),
        Err(error) if status >= 500 => Err(Failed::Passing(format!("status {status}: {error}"))),
        Err(error) => Err(Failed::ForGood(format!("status {status}: {error}"))),
    }
}

fn call(endpoint: &str, region: &str, stack: &str) -> Call {
    let name = utf8_percent_encode(stack, NON_ALPHANUMERIC);
    Call {
        service: SIGNING_NAME,
        region: region.to_owned(),
        method: "POST",
        url: format!("{}/", endpoint.trim_end_matches('/')),
        content_type: "application/x-www-form-urlencoded; charset=utf-8",
        body: format!("Action=DescribeStacks&Version={API_VERSION}&StackName={name}"),
        max_bytes: MAX_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::signed::signed;

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
        let call = call("http://127.0.0.1:9", "eu-central-1", arn);
        let request = signed(&call, credentials, 1_800_000_000).unwrap();
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
            let call = call(endpoint, "eu-central-1", "prod");
            assert!(signed(&call, credentials(), 0).is_err(), "{endpoint}");
        }
    }
}
