//! Checks whether a local stack runs on these ports. This comes first, since the SDK's own retries take half a minute.

use std::net::Ipv4Addr;
use std::time::Duration;

use aws::Aws;
use aws::local_stack::{BUCKET, SITEMAP_TABLE};
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a server on this machine may take to answer.
const LIMIT: Duration = Duration::from_secs(3);

/// Why no local stack was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStack {
    /// Nothing listens there.
    #[error(
        "no local stack on 127.0.0.1:{port}: start one with `waymark serve`, give {option}, or name a deployment with \
         --stack"
    )]
    Silent {
        /// The port.
        port: u16,
        /// The option that names it.
        option: &'static str,
    },
    /// Something else does.
    #[error(
        "127.0.0.1:{port} answers, but it is not the {service} of a local stack: start one with `waymark serve`, give \
         {option}, or name a deployment with --stack"
    )]
    Other {
        /// The port.
        port: u16,
        /// What was expected there.
        service: &'static str,
        /// The option that names it.
        option: &'static str,
    },
}

/// Asks both servers of a local stack for what it has.
///
/// # Errors
///
/// [`NoStack`].
pub async fn probe(dynamodb_port: u16, s3_port: u16) -> Result<(), NoStack> {
    const DYNAMODB: &str = "--dynamodb-port";
    const S3: &str = "--s3-port";
    listens(dynamodb_port, DYNAMODB).await?;
    listens(s3_port, S3).await?;
    let endpoint = |port| format!("http://127.0.0.1:{port}");
    let aws = Aws::on_loopback(&endpoint(dynamodb_port), &endpoint(s3_port), Vec::new());
    let once = RetryConfig::disabled();
    let limit = TimeoutConfig::builder().operation_timeout(LIMIT).build();

    let config = aws_sdk_dynamodb::Config::builder()
        .retry_config(once.clone())
        .timeout_config(limit.clone());
    let table = aws.dynamodb().await.describe_table();
    let table = table.table_name(SITEMAP_TABLE).customize();
    if table.config_override(config).send().await.is_err() {
        return Err(NoStack::Other {
            port: dynamodb_port,
            service: "DynamoDB",
            option: DYNAMODB,
        });
    }
    let config = aws_sdk_s3::Config::builder()
        .retry_config(once)
        .timeout_config(limit);
    let bucket = aws.s3().await.head_bucket().bucket(BUCKET).customize();
    if bucket.config_override(config).send().await.is_err() {
        return Err(NoStack::Other {
            port: s3_port,
            service: "S3",
            option: S3,
        });
    }
    Ok(())
}

async fn listens(port: u16, option: &'static str) -> Result<(), NoStack> {
    match timeout(LIMIT, TcpStream::connect((Ipv4Addr::LOCALHOST, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(NoStack::Silent { port, option }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_where_something_else_listens_is_named() {
        let other = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap();
        let port = other.local_addr().unwrap().port();
        // It closes every connection without a word.
        let task = tokio::spawn(async move { while other.accept().await.is_ok() {} });
        let error = probe(port, port).await.unwrap_err().to_string();
        task.abort();
        assert!(
            error.starts_with(&format!("127.0.0.1:{port} answers")),
            "{error}"
        );
    }
}
