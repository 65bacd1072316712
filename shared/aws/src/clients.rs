//! The AWS clients. They are built when the first request needs one, because building them takes most of a cold start, and a
//! redirect needs none.

use std::sync::Arc;
use std::time::Duration;

use aws_config::default_provider::region;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, Region, SharedInterceptor};
use aws_smithy_runtime_api::client::auth::AuthSchemeId;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use tokio::sync::OnceCell;

use crate::https;

/// Tries of one API call, with exponential backoff and jitter between them (throttling, 5xx, broken connections).
const MAX_TRIES: u32 = 6;

/// The SDK's name for requests that are not signed.
const NO_AUTH: AuthSchemeId = AuthSchemeId::new("noAuth");

/// The limits on this machine, where waiting costs nothing. They only end calls that would otherwise never end.
const ON_LOOPBACK: Timeouts = Timeouts {
    attempt: Duration::from_secs(60),
    operation: Duration::from_secs(180),
};

/// The time limits of a call, so that a silent connection does not block its caller forever. Each function has its own limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The limit of one try, until its answer is complete. For an object that is read as a stream, it limits the time until the
    /// answer's head is complete. After that it limits each time without progress of the body. Time in which the reader asks for
    /// nothing is not counted.
    pub attempt: Duration,
    /// The limit of a call with all its tries and the pauses between them. Reading a whole object is one call.
    pub operation: Duration,
}

/// The account and the region of an operator's command, if its options name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The region. `None` means the environment's, or else the profile's.
    pub region: Option<String>,
    /// The profile of AWS's configuration files, whose credentials are used even if the environment has some. `None` means the
    /// environment's credentials, or else those of its profile.
    pub profile: Option<String>,
}

/// The destination of the clients' requests.
#[derive(Clone, Debug)]
enum Source {
    /// The endpoints that the environment names: in Lambda, AWS. Never through a proxy.
    Environment,
    /// The account that an operator names, or else the environment's, through the environment's proxy.
    Operator(Account),
    /// Two servers on this machine. The interceptors see every request: tests inject faults with them.
    Loopback {
        dynamodb: String,
        s3: String,
        interceptors: Vec<SharedInterceptor>,
        /// The HTTP client of DynamoDB. `None` for the same as S3's.
        dynamodb_http: Option<SharedHttpClient>,
    },
}

/// The clients of one process. Clones share them.
#[derive(Clone, Debug)]
pub struct Aws(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Source,
    timeouts: Timeouts,
    config: OnceCell<SdkConfig>,
    dynamodb: OnceCell<aws_sdk_dynamodb::Client>,
    s3: OnceCell<aws_sdk_s3::Client>,
}

impl Aws {
    fn new(source: Source, timeouts: Timeouts) -> Self {
        let (config, dynamodb, s3) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self(Arc::new(Inner {
            source,
            timeouts,
            config,
            dynamodb,
            s3,
        }))
    }

    /// Returns clients for the endpoints that the environment names, never through a proxy. Only the functions' `main` may use
    /// it.
    #[must_use]
    pub fn from_environment(timeouts: Timeouts) -> Self {
        Self::new(Source::Environment, timeouts)
    }

    /// Returns clients for an account, or for the endpoints that the environment names. They use the environment's proxy, if
    /// there is one. They are for a command on an operator's machine, whose network may have no other way out.
    #[must_use]
    pub fn of_operator(account: Account, timeouts: Timeouts) -> Self {
        Self::new(Source::Operator(account), timeouts)
    }

    /// Returns clients for servers on this machine, with credentials that are useless elsewhere.
    ///
    /// # Panics
    ///
    /// If an endpoint is not on the loopback interface, because no local process may reach beyond this machine.
    #[must_use]
    pub fn on_loopback(dynamodb: &str, s3: &str, interceptors: Vec<SharedInterceptor>) -> Self {
        for endpoint in [dynamodb, s3] {
            assert!(
                endpoint.starts_with("http://127.0.0.1:"),
                "{endpoint} is not on the loopback interface"
            );
        }
        let source = Source::Loopback {
            dynamodb: dynamodb.to_owned(),
            s3: s3.to_owned(),
            interceptors,
            dynamodb_http: None,
        };
        Self::new(source, ON_LOOPBACK)
    }

    /// Returns new clients for the same servers on this machine. Their DynamoDB client sends its requests through another HTTP client and
    /// does not sign them.
    #[must_use]
    pub fn with_dynamodb_http(&self, client: SharedHttpClient) -> Self {
        let mut source = self.0.source.clone();
        if let Source::Loopback { dynamodb_http, .. } = &mut source {
            *dynamodb_http = Some(client);
        }
        Self::new(source, self.0.timeouts)
    }

    /// Returns new clients for the same endpoints, with other time limits.
    #[must_use]
    pub fn with_timeouts(&self, timeouts: Timeouts) -> Self {
        Self::new(self.0.source.clone(), timeouts)
    }

    /// Returns the time limits of the clients' calls.
    #[must_use]
    pub fn timeouts(&self) -> Timeouts {
        self.0.timeouts
    }

    /// Returns the configuration that all clients share, for a client of another service.
    pub async fn config(&self) -> &SdkConfig {
        let load = async || {
            let retries = RetryConfig::standard().with_max_attempts(MAX_TRIES);
            let Timeouts { attempt, operation } = self.0.timeouts;
            let timeouts = TimeoutConfig::builder()
                .operation_attempt_timeout(attempt)
                .operation_timeout(operation);
            let stalls = StalledStreamProtectionConfig::enabled().grace_period(attempt);
            let proxies = matches!(self.0.source, Source::Operator(_));
            let http_client = https::client(proxies);
            let mut config = aws_config::defaults(BehaviorVersion::latest())
                .http_client(http_client.clone())
                .retry_config(retries)
                .timeout_config(timeouts.build())
                .stalled_stream_protection(stalls.build());
            match &self.0.source {
                Source::Environment => config.load().await,
                Source::Operator(Account { region, profile }) => {
                    let region = region.clone().map(Region::new);
                    if let Some(region) = region.clone() {
                        config = config.region(region);
                    }
                    if let Some(profile) = profile {
                        let region = match region {
                            None => {
                                region::Builder::default()
                                    .profile_name(profile)
                                    .build()
                                    .region()
                                    .await
                            }
                            region => region,
                        };
                        // The SDK's own chain would prefer the environment's credentials to those of a requested profile.
                        let provider = ProviderConfig::without_region()
                            .with_region(region)
                            .with_http_client(http_client);
                        let credentials = ProfileFileCredentialsProvider::builder()
                            .configure(&provider)
                            .profile_name(profile)
                            .build();
                        config = config
                            .profile_name(profile)
                            .credentials_provider(credentials);
                    }
                    config.load().await
                }
                Source::Loopback { .. } => {
                    let credentials = Credentials::new("local", "local", None, None, "local");
                    config
                        .region(Region::new("us-east-1"))
                        .credentials_provider(credentials)
                        .load()
                        .await
                }
            }
        };
        self.0.config.get_or_init(load).await
    }

    /// Returns the DynamoDB client.
    pub async fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        let build = async || {
            let mut config = aws_sdk_dynamodb::config::Builder::from(self.config().await);
            if let Source::Loopback {
                dynamodb,
                interceptors,
                dynamodb_http,
                ..
            } = &self.0.source
            {
                config = config.endpoint_url(dynamodb);
                config.set_interceptors(interceptors.iter().cloned());
                if let Some(client) = dynamodb_http {
                    // Signing takes a twentieth of a local load's CPU time.
                    config = config
                        .http_client(client.clone())
                        .allow_no_auth()
                        .auth_scheme_preference([NO_AUTH]);
                }
            }
            aws_sdk_dynamodb::Client::from_conf(config.build())
        };
        self.0.dynamodb.get_or_init(build).await
    }

    /// Returns the S3 client.
    pub async fn s3(&self) -> &aws_sdk_s3::Client {
        let build = async || {
            let mut config = aws_sdk_s3::config::Builder::from(self.config().await);
            if let Source::Loopback {
                s3, interceptors, ..
            } = &self.0.source
            {
                config = config.endpoint_url(s3).force_path_style(true);
                config.set_interceptors(interceptors.iter().cloned());
            }
            aws_sdk_s3::Client::from_conf(config.build())
        };
        self.0.s3.get_or_init(build).await
    }
}
