//! A key value store of CloudFront.

use std::error::Error;

use aws::{Aws, message};
use aws_sdk_cloudfrontkeyvaluestore::Client;
use aws_sdk_cloudfrontkeyvaluestore::config::Builder;
use aws_sdk_cloudfrontkeyvaluestore::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_cloudfrontkeyvaluestore::types::{DeleteKeyRequestListItem, PutKeyRequestListItem};
use edge::{Changes, Described, MAX_LISTED_KEYS, Pairs, Reply, Store, StoreError};
use tokio::sync::OnceCell;

/// [`Store`] in CloudFront.
#[derive(Clone, Debug)]
pub struct CloudFrontStore {
    aws: Aws,
    arn: String,
    client: OnceCell<Client>,
}

impl CloudFrontStore {
    /// Returns the store with this ARN. Its client is built when the first call needs one.
    #[must_use]
    pub fn new(aws: Aws, arn: String) -> Self {
        let client = OnceCell::new();
        Self { aws, arn, client }
    }

    /// Returns the store with this ARN, behind this client.
    #[must_use]
    pub fn with_client(aws: Aws, arn: String, client: Client) -> Self {
        let client = OnceCell::new_with(Some(client));
        Self { aws, arn, client }
    }

    async fn client(&self) -> &Client {
        let build = async || Client::from_conf(Builder::from(self.aws.config().await).build());
        self.client.get_or_init(build).await
    }
}

/// Returns a function that converts the error of an API call.
fn failed<E, R>(operation: &'static str) -> impl FnOnce(SdkError<E, R>) -> StoreError
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    move |error| {
        let code = error.as_service_error().and_then(|error| error.code());
        let message = message(&error);
        match code {
            Some("ConflictException") => StoreError::Conflict { operation },
            Some("ResourceNotFoundException") => StoreError::Missing { operation, message },
            Some("ServiceQuotaExceededException") => StoreError::Full { operation, message },
            Some("ValidationException") => StoreError::Refused { operation, message },
            _ => StoreError::Unavailable { operation, message },
        }
    }
}

/// Returns a number that the service counts, none of which is below zero.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

impl Store for CloudFrontStore {
    fn describe(&self) -> Reply<'_, Described> {
        Box::pin(async {
            let request = self.client().await.describe_key_value_store();
            let described = request.kvs_arn(&self.arn).send().await;
            let described = described.map_err(failed("DescribeKeyValueStore"))?;
            Ok(Described {
                etag: described.e_tag().to_owned(),
                items: count(described.item_count().into()),
                bytes: count(described.total_size_in_bytes()),
            })
        })
    }

    fn update<'a>(&'a self, etag: &'a str, changes: &'a Changes) -> Reply<'a, Described> {
        Box::pin(async move {
            const OPERATION: &str = "UpdateKeys";
            let request = self.client().await.update_keys();
            let mut request = request.kvs_arn(&self.arn).if_match(etag);
            for (key, value) in changes {
                let incomplete = |error: aws_sdk_cloudfrontkeyvaluestore::error::BuildError| {
                    let message = error.to_string();
                    StoreError::Refused {
                        operation: OPERATION,
                        message,
                    }
                };
                request = match value {
                    Some(value) => {
                        let put = PutKeyRequestListItem::builder().key(key).value(value);
                        request.puts(put.build().map_err(incomplete)?)
                    }
                    None => {
                        let delete = DeleteKeyRequestListItem::builder().key(key);
                        request.deletes(delete.build().map_err(incomplete)?)
                    }
                };
            }
            let updated = request.send().await.map_err(failed(OPERATION))?;
            Ok(Described {
                etag: updated.e_tag().to_owned(),
                items: count(updated.item_count().into()),
                bytes: count(updated.total_size_in_bytes()),
            })
        })
    }

    fn list(&self, after: Option<String>) -> Reply<'_, (Pairs, Option<String>)> {
        Box::pin(async {
            let request = self.client().await.list_keys().kvs_arn(&self.arn);
            let most = i32::try_from(MAX_LISTED_KEYS).unwrap_or(i32::MAX);
            let request = request.max_results(most).set_next_token(after);
            let listed = request.send().await.map_err(failed("ListKeys"))?;
            let pairs = listed.items().iter();
            let pairs = pairs.map(|one| (one.key().to_owned(), one.value().to_owned()));
            Ok((pairs.collect(), listed.next_token().map(str::to_owned)))
        })
    }
}
