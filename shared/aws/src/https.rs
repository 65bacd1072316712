//! The HTTPS client that all AWS clients of a process share.
//!
//! AWS's endpoints need five root certificates, which are built in. Reading the system's 144 or so would take three quarters of
//! the instructions of a first call. The five may become outdated, and do not cover every partition. So once a connection has
//! failed for any reason, the system's certificates are read and trusted instead, and the SDK tries again.
//!
//! Only an operator's command uses a proxy, and only for HTTPS. Plain HTTP is only for servers on the same machine, which a proxy cannot
//! reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use tracing::info;

/// The roots that Amazon requires in a custom trust store (<https://www.amazontrust.com/repository/>).
const AMAZON_ROOTS: &[u8] = include_bytes!("amazon_roots.pem");

/// Returns the HTTP client, which reads no certificate before its first request. With `proxies`, HTTPS goes through the proxy that the
/// environment names (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, in capitals or not).
pub(crate) fn client(proxies: bool) -> SharedHttpClient {
    let direct = falling_back(&ProxyConfig::disabled());
    if !proxies {
        return direct;
    }
    let proxied = falling_back(&ProxyConfig::from_env());
    SharedHttpClient::new(ByScheme { direct, proxied })
}

/// Returns a connector for requests of an operator's command that no client of the SDK makes. It trusts Amazon's roots and the
/// system's, and uses a proxy as the client does.
#[must_use]
pub fn connector(url: &str) -> Connector {
    let roots = TrustStore::default().with_pem_certificate(AMAZON_ROOTS);
    let context = TlsContext::builder().with_trust_store(roots).build();
    let proxies = if url.starts_with("https:") {
        ProxyConfig::from_env()
    } else {
        ProxyConfig::disabled()
    };
    Connector::builder()
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .tls_context(context.unwrap_or_default()) // the system's
        .proxy_config(proxies)
        .build()
}

fn falling_back(proxies: &ProxyConfig) -> SharedHttpClient {
    let amazon = TrustStore::empty().with_pem_certificate(AMAZON_ROOTS);
    SharedHttpClient::new(Fallback {
        first: trusting(amazon, proxies.clone()),
        then: trusting(TrustStore::default(), proxies.clone()),
        has_failed: Arc::default(),
    })
}

/// Returns the SDK's default client with these roots and these proxies.
fn trusting(roots: TrustStore, proxies: ProxyConfig) -> SharedHttpClient {
    let context = TlsContext::builder().with_trust_store(roots).build();
    let context = context.unwrap_or_default(); // the system's
    Builder::new().build_with_connector_fn(move |settings, components| {
        let mut connector = Connector::builder()
            .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
            .tls_context(context.clone())
            .proxy_config(proxies.clone());
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.build()
    })
}

/// A client for plain HTTP, and one for HTTPS.
#[derive(Debug)]
struct ByScheme {
    direct: SharedHttpClient,
    proxied: SharedHttpClient,
}

impl HttpClient for ByScheme {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(ConnectorByScheme {
            direct: self.direct.http_connector(settings, components),
            proxied: self.proxied.http_connector(settings, components),
        })
    }
}

#[derive(Debug)]
struct ConnectorByScheme {
    direct: SharedHttpConnector,
    proxied: SharedHttpConnector,
}

impl HttpConnector for ConnectorByScheme {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if request.uri().starts_with("https:") {
            self.proxied.call(request)
        } else {
            self.direct.call(request)
        }
    }
}

/// A client that is used until it fails, and one that replaces it then.
#[derive(Debug)]
struct Fallback {
    first: SharedHttpClient,
    then: SharedHttpClient,
    has_failed: Arc<AtomicBool>,
}

impl HttpClient for Fallback {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        if self.has_failed.load(Ordering::Relaxed) {
            return self.then.http_connector(settings, components);
        }
        SharedHttpConnector::new(Watched {
            connector: self.first.http_connector(settings, components),
            has_failed: Arc::clone(&self.has_failed),
        })
    }
}

/// A connector that remembers whether it has failed.
#[derive(Debug)]
struct Watched {
    connector: SharedHttpConnector,
    has_failed: Arc<AtomicBool>,
}

impl HttpConnector for Watched {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (response, has_failed) = (self.connector.call(request), Arc::clone(&self.has_failed));
        HttpConnectorFuture::new(async move {
            response.await.inspect_err(|error| {
                if !has_failed.swap(true, Ordering::Relaxed) {
                    info!(
                        ?error,
                        "a call of AWS failed: the system's root certificates are tried from now on"
                    );
                }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use aws_config::BehaviorVersion;
    use aws_config::retry::RetryConfig;
    use aws_sdk_dynamodb::config::{Credentials, Region};
    use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
    use aws_smithy_runtime_api::client::result::ConnectorError;
    use aws_smithy_types::base64;
    use aws_smithy_types::body::SdkBody;
    use sha2::{Digest, Sha256};

    use super::*;

    /// A connector that counts its calls, and fails all or answers them with an empty object.
    #[derive(Clone, Debug, Default)]
    struct Stub {
        fails: bool,
        calls: Arc<AtomicUsize>,
    }

    impl HttpConnector for Stub {
        fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
            self.calls.fetch_add(1, Ordering::Relaxed);
            HttpConnectorFuture::ready(if self.fails {
                Err(ConnectorError::io("invalid peer certificate".into()))
            } else {
                let status = 200.try_into().expect("a status");
                Ok(HttpResponse::new(status, SdkBody::from("{}")))
            })
        }
    }

    impl HttpClient for Stub {
        fn http_connector(
            &self,
            _: &HttpConnectorSettings,
            _: &RuntimeComponents,
        ) -> SharedHttpConnector {
            SharedHttpConnector::new(self.clone())
        }
    }

    /// Returns the numbers of calls to the first and the second client, after each of two calls of the SDK.
    async fn calls(first_fails: bool) -> [(usize, usize); 2] {
        let (first, then) = (
            Stub {
                fails: first_fails,
                ..Stub::default()
            },
            Stub::default(),
        );
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "local"))
            .retry_config(RetryConfig::standard().with_initial_backoff(Duration::from_millis(1)))
            .http_client(Fallback {
                first: SharedHttpClient::new(first.clone()),
                then: SharedHttpClient::new(then.clone()),
                has_failed: Arc::default(),
            });
        let client = aws_sdk_dynamodb::Client::from_conf(config.build());
        let count = |stub: &Stub| stub.calls.load(Ordering::Relaxed);
        let mut counts = [(0, 0); 2];
        for counted in &mut counts {
            client.list_tables().send().await.expect("an answer");
            *counted = (count(&first), count(&then));
        }
        counts
    }

    #[tokio::test]
    async fn other_roots_are_tried_once_a_call_has_failed() {
        assert_eq!(calls(false).await, [(1, 0), (2, 0)]);
        assert_eq!(calls(true).await, [(1, 1), (1, 2)]);
    }

    #[test]
    fn the_roots_are_amazons() {
        let pem = std::str::from_utf8(AMAZON_ROOTS).expect("PEM is ASCII");
        let digests = pem
            .split("-----BEGIN CERTIFICATE-----")
            .skip(1)
            .map(|rest| rest.split("-----END").next().unwrap_or_default())
            .map(|text| text.split_whitespace().collect::<String>())
            .map(|text| Sha256::digest(base64::decode(text).expect("base64")))
            .map(|digest| digest.iter().map(|byte| format!("{byte:02x}")).collect())
            .collect::<Vec<String>>();
        // The digests of the certificates in Mozilla's list. Their keys are those on Amazon's page.
        let published = [
            "8ecde6884f3d87b1125ba31ac3fcb13d7016de7f57cc904fe1cb97c6ae98196e",
            "1ba5b2aa8c65401a82960118f80bec4f62304d83cec4713a19c39c011ea46db4",
            "18ce6cfe7bf14e60b2e347b8dfe868cb31d02ebb3ada271569f50343b46db3a4",
            "e35d28419ed02025cfa69038cd623962458da5c695fbdea3c22b0bfb25897092",
            "568d6905a2c88708a4b3025190edcfedb1974a606a13c6e5290fcb2ae63edab5",
        ];
        assert_eq!(digests, published);
    }
}
