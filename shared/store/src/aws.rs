//! The AWS clients, built when the first request needs one: building them is most of a cold start, and a redirect needs
//! none.

use std::sync::Arc;

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, Region, SharedInterceptor};
use tokio::sync::OnceCell;

use crate::https;

/// Tries of one API call, with exponential backoff and jitter between them (throttling, 5xx, broken connections).
const MAX_TRIES: u32 = 6;

/// Where the clients' requests go.
#[derive(Debug)]
enum Source {
    /// Wherever the environment says: in Lambda, AWS.
    Environment,
    /// Two servers on this machine. The interceptors see every request: tests inject faults with them.
    Loopback {
        dynamodb: String,
        s3: String,
        interceptors: Vec<SharedInterceptor>,
    },
}

/// The clients of one process. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Aws(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Source,
    config: OnceCell<SdkConfig>,
    dynamodb: OnceCell<aws_sdk_dynamodb::Client>,
    s3: OnceCell<aws_sdk_s3::Client>,
}

impl Aws {
    fn new(source: Source) -> Self {
        let (config, dynamodb, s3) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self(Arc::new(Inner {
            source,
            config,
            dynamodb,
            s3,
        }))
    }

    /// Clients for wherever the environment says. For the functions' `main` alone.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::new(Source::Environment)
    }

    /// Clients for servers on this machine, with credentials that are good for nothing else.
    ///
    /// # Panics
    ///
    /// If an endpoint is not on the loopback interface: nothing that runs here may reach beyond this machine.
    #[must_use]
    pub fn on_loopback(dynamodb: &str, s3: &str, interceptors: Vec<SharedInterceptor>) -> Self {
        for endpoint in [dynamodb, s3] {
            assert!(
                endpoint.starts_with("http://127.0.0.1:"),
                "{endpoint} is not on the loopback interface"
            );
        }
        Self::new(Source::Loopback {
            dynamodb: dynamodb.to_owned(),
            s3: s3.to_owned(),
            interceptors,
        })
    }

    async fn config(&self) -> &SdkConfig {
        let load = async || {
            let retries = RetryConfig::standard().with_max_attempts(MAX_TRIES);
            let config = aws_config::defaults(BehaviorVersion::latest())
                .http_client(https::client())
                .retry_config(retries);
            match self.0.source {
                Source::Environment => config.load().await,
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

    /// The DynamoDB client.
    pub async fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        let build = async || {
            let mut config = aws_sdk_dynamodb::config::Builder::from(self.config().await);
            if let Source::Loopback {
                dynamodb,
                interceptors,
                ..
            } = &self.0.source
            {
                config = config.endpoint_url(dynamodb);
                config.set_interceptors(interceptors.iter().cloned());
            }
            aws_sdk_dynamodb::Client::from_conf(config.build())
        };
        self.0.dynamodb.get_or_init(build).await
    }

    /// The S3 client.
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
