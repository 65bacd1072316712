//! `waymark purge`: has CloudFront forget what it keeps of one site.
//!
//! Each answer of the distribution has the tag `site:<host>`, so one item of an invalidation covers all of a site, whatever its
//! paths (<https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/invalidation-by-tags.html>). As for
//! CloudFormation, there is no SDK for these two requests.

use std::time::Duration;

use aws::{Aws, chain};
use aws_sdk_dynamodb::config::Credentials;
use quick_xml::escape::escape;
use tokio::time::{Instant, sleep};

use crate::deployment::signed::{
    Call, Failed, configured, credentials, is_passing, is_rejected, send,
};
use crate::deployment::stack::elements;
use crate::terminal::progress::{Progress, Unit};

pub(crate) mod command;

/// CloudFront's API as of this day.
const API: &str = "2020-05-31";
/// The service's name in a signature's scope.
const SIGNING_NAME: &str = "cloudfront";
/// The service's name in variables (`AWS_ENDPOINT_URL_CLOUDFRONT`) and in profiles.
const SERVICE_ID: &str = "CloudFront";
/// CloudFront is one for a partition: its host and the region that signs for it, of regions that begin so
/// (<https://docs.aws.amazon.com/general/latest/gr/cf_region.html>).
const CHINA: (&str, &str, &str) = (
    "cn-",
    "https://cloudfront.cn-northwest-1.amazonaws.com.cn",
    "cn-northwest-1",
);
const ELSEWHERE: (&str, &str) = ("https://cloudfront.amazonaws.com", "us-east-1");
/// Bytes of an answer: it repeats what was asked for.
const MAX_BYTES: usize = 64 * 1024;
/// The time between two looks whether an invalidation is done.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// Items of invalidations that an account does not pay for in a month. A tag counts as one, whatever it covers.
///
/// Source: <https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/PayingForInvalidation.html>.
pub const FREE_ITEMS: u32 = 1_000;
/// What each further one costs (<https://aws.amazon.com/cloudfront/pricing/>).
pub const DOLLARS_AN_ITEM: f64 = 0.005;

/// The state of an invalidation that is done.
const COMPLETED: &str = "Completed";

/// Returns the item of an invalidation that covers all that CloudFront keeps of a site.
#[must_use]
pub fn item_of(host: &str) -> String {
    format!("#site:{host}")
}

/// An invalidation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invalidation {
    /// Its id.
    pub id: String,
    /// Its state: `InProgress` or `Completed`.
    pub status: String,
}

impl Invalidation {
    /// Returns whether every edge has dropped what it kept.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.status == COMPLETED
    }
}

/// Why nothing was invalidated, or it is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PurgeError {
    /// Nothing says who asks.
    #[error(
        "cannot ask CloudFront: no AWS credentials: {0}: give --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )]
    Credentials(String),
    /// The credentials do not allow it.
    #[error(
        "no permission for {action} on distribution {distribution}: {message}: grant it to these credentials, or \
         give others with --profile"
    )]
    Denied {
        /// The action, by its name in a policy.
        action: &'static str,
        /// The distribution.
        distribution: String,
        /// What CloudFront says.
        message: String,
    },
    /// AWS does not take the credentials.
    #[error(
        "CloudFront does not accept the credentials: {code}: {message}: renew them, or give others with --profile"
    )]
    Rejected {
        /// CloudFront's code: `ExpiredToken`.
        code: String,
        /// What it says.
        message: String,
    },
    /// There is no such distribution.
    #[error(
        "there is no distribution {0}: it was deleted, or is in another account: check --profile"
    )]
    Missing(String),
    /// Others are under way.
    #[error(
        "distribution {distribution} has too many invalidations under way: {message}: try again in some minutes"
    )]
    TooMany {
        /// The distribution.
        distribution: String,
        /// What CloudFront says.
        message: String,
    },
    /// There was no answer, or another than these.
    #[error(
        "{action} on distribution {distribution} failed: {endpoint}: {reason}: check the network, and try again"
    )]
    Failed {
        /// The action.
        action: &'static str,
        /// The distribution.
        distribution: String,
        /// Where it was asked for.
        endpoint: String,
        /// What happened.
        reason: String,
    },
}

/// CloudFront, and a distribution.
#[derive(Debug)]
pub struct CloudFront {
    distribution: String,
    endpoint: String,
    region: String,
    credentials: Credentials,
}

impl CloudFront {
    /// Asks as this operator does, in the partition of this region.
    ///
    /// # Errors
    ///
    /// If there are no credentials.
    pub async fn new(aws: &Aws, distribution: &str, region: &str) -> Result<Self, PurgeError> {
        let config = aws.config().await;
        let found = credentials(config).await;
        let credentials = found.map_err(|error| PurgeError::Credentials(chain(&*error)))?;
        let (endpoint, signing) = in_aws(region);
        Ok(Self {
            distribution: distribution.to_owned(),
            endpoint: configured(config, SERVICE_ID).unwrap_or_else(|| endpoint.to_owned()),
            region: signing.to_owned(),
            credentials,
        })
    }

    /// Creates the client of a double that listens at this URL, and takes any credentials.
    #[must_use]
    pub fn at(endpoint: &str, distribution: &str) -> Self {
        Self {
            distribution: distribution.to_owned(),
            endpoint: endpoint.to_owned(),
            region: ELSEWHERE.1.to_owned(),
            credentials: Credentials::new("local", "local", None, None, "double"),
        }
    }

    /// Invalidates all that is kept of a site. The same reference again is the same invalidation, so a try may be repeated.
    ///
    /// # Errors
    ///
    /// [`PurgeError`].
    pub async fn invalidate(
        &self,
        host: &str,
        reference: &str,
    ) -> Result<Invalidation, PurgeError> {
        let (item, reference) = (item_of(host), escape(reference));
        let body = format!(
            "<InvalidationBatch xmlns=\"http://cloudfront.amazonaws.com/doc/{API}/\"><Paths><Quantity>1</Quantity><Items><Path>\
             {}</Path></Items></Paths><CallerReference>{reference}</CallerReference></InvalidationBatch>",
            escape(&item)
        );
        self.ask("cloudfront:CreateInvalidation", "POST", "", body)
            .await
    }

    /// Reads the progress of an invalidation.
    ///
    /// # Errors
    ///
    /// [`PurgeError`].
    pub async fn look(&self, id: &str) -> Result<Invalidation, PurgeError> {
        let path = format!("/{id}");
        self.ask("cloudfront:GetInvalidation", "GET", &path, String::new())
            .await
    }

    /// Waits until an invalidation is done, and returns how far it is by then.
    ///
    /// # Errors
    ///
    /// [`PurgeError`].
    pub async fn wait(
        &self,
        mut invalidation: Invalidation,
        limit: Duration,
    ) -> Result<Invalidation, PurgeError> {
        let begun = Instant::now();
        let mut progress = Progress::begin(
            &format!("waiting for invalidation {}", invalidation.id),
            Unit::Things("seconds"),
            None,
        );
        while !invalidation.is_done() && begun.elapsed() + LOOK_EVERY <= limit {
            progress.reach(begun.elapsed().as_secs());
            sleep(LOOK_EVERY).await;
            invalidation = self.look(&invalidation.id).await?;
        }
        Ok(invalidation)
    }

    async fn ask(
        &self,
        action: &'static str,
        method: &'static str,
        path: &str,
        body: String,
    ) -> Result<Invalidation, PurgeError> {
        let (endpoint, distribution) = (self.endpoint.trim_end_matches('/'), &self.distribution);
        let call = Call {
            service: SIGNING_NAME,
            region: self.region.clone(),
            method,
            url: format!("{endpoint}/{API}/distribution/{distribution}/invalidation{path}"),
            content_type: "text/xml",
            body,
            max_bytes: MAX_BYTES,
        };
        let failed = |reason| PurgeError::Failed {
            action,
            distribution: distribution.clone(),
            endpoint: endpoint.to_owned(),
            reason,
        };
        match send(&call, self.credentials.clone(), read).await {
            Ok(Ok(invalidation)) => Ok(invalidation),
            Ok(Err((code, message))) => Err(self.refused(action, code, message)),
            Err(reason) => Err(failed(reason)),
        }
    }

    /// Converts an error of CloudFront to what it means.
    fn refused(&self, action: &'static str, code: String, message: String) -> PurgeError {
        let distribution = self.distribution.clone();
        match code.as_str() {
            "AccessDenied" | "AccessDeniedException" => PurgeError::Denied {
                action,
                distribution,
                message,
            },
            "NoSuchDistribution" => PurgeError::Missing(distribution),
            "TooManyInvalidationsInProgress" => PurgeError::TooMany {
                distribution,
                message,
            },
            code_here if is_rejected(code_here) => PurgeError::Rejected { code, message },
            _ => PurgeError::Failed {
                action,
                distribution,
                endpoint: self.endpoint.clone(),
                reason: format!("{code}: {message}"),
            },
        }
    }
}

/// Returns CloudFront's endpoint in the partition of a region, and the region that signs.
fn in_aws(region: &str) -> (&'static str, &'static str) {
    let (begin, endpoint, signing) = CHINA;
    match region.starts_with(begin) {
        true => (endpoint, signing),
        false => ELSEWHERE,
    }
}

/// An invalidation, or CloudFront's code and message.
type Answer = Result<Invalidation, (String, String)>;

fn read(status: u16, text: &str) -> Result<Answer, Failed> {
    let mut found = Invalidation::default();
    let (mut code, mut message) = (None, String::new());
    let parsed = elements(text, |path, text| match path {
        ["Invalidation", "Id"] => found.id = text,
        ["Invalidation", "Status"] => found.status = text,
        ["ErrorResponse", "Error", "Code"] => code = Some(text),
        ["ErrorResponse", "Error", "Message"] => message = text,
        _ => {}
    });
    let unreadable = |reason: String| {
        let reason = format!("status {status}: {reason}");
        match status >= 500 {
            true => Failed::Passing(reason),
            false => Failed::ForGood(reason),
        }
    };
    if let Err(error) = parsed {
        return Err(unreadable(error.to_string()));
    }
    match code {
        Some(code) if is_passing(status, &code) => {
            Err(Failed::Passing(format!("{code}: {message}")))
        }
        Some(code) => Ok(Err((code, message))),
        None if found.id.is_empty() || found.status.is_empty() => Err(unreadable(
            "neither an invalidation nor an error is in the answer".to_owned(),
        )),
        None => Ok(Ok(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_has_its_endpoint() {
        assert_eq!(in_aws("eu-central-1"), ELSEWHERE);
        assert_eq!(in_aws("cn-north-1"), (CHINA.1, CHINA.2));
    }

    #[test]
    fn an_answer_is_an_invalidation_or_an_error() {
        let whole = "<?xml version=\"1.0\"?>\n<Invalidation xmlns=\"http://cloudfront.amazonaws.com/doc/2020-05-31/\"><Id>I1</Id>\
            <Status>InProgress</Status><CreateTime>2026-11-25T04:00:00Z</CreateTime><InvalidationBatch><Paths><Quantity>1\
            </Quantity><Items><Path>#site:a</Path></Items></Paths><CallerReference>r</CallerReference></InvalidationBatch>\
            </Invalidation>";
        let found = read(201, whole).ok().and_then(Result::ok);
        let expected = Invalidation {
            id: "I1".to_owned(),
            status: "InProgress".to_owned(),
        };
        assert_eq!(found, Some(expected));
        let error = |code: &str| {
            format!(
                "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>m</Message></Error></ErrorResponse>"
            )
        };
        let refused = read(404, &error("NoSuchDistribution")).ok();
        let expected = ("NoSuchDistribution".to_owned(), "m".to_owned());
        assert_eq!(refused, Some(Err(expected)));
        for (status, text) in [
            (400, error("Throttling")),
            (503, error("ServiceUnavailable")),
            (502, "Bad gateway".to_owned()),
        ] {
            assert!(
                matches!(read(status, &text), Err(Failed::Passing(_))),
                "{text}"
            );
        }
        for text in [
            "",
            "<html>Sign in</html>",
            &whole.replace("Status>", "Other>"),
        ] {
            assert!(matches!(read(200, text), Err(Failed::ForGood(_))), "{text}");
        }
    }
}
