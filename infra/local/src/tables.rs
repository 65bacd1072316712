//! The tables and the bucket, as `template.yaml` declares them.

use aws::Aws;
use aws::describe;
pub use aws::local_stack::{BUCKET, CONTENT_TABLE, SITEMAP_TABLE};
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    StreamSpecification, StreamViewType, TimeToLiveSpecification,
};
use aws_sdk_s3::operation::create_bucket::CreateBucketError;
use engine::content::SourceTable;
use engine::error::EngineError;
use engine::rows::feed::EXPIRES;
use sitemap::mapping::{KeyAttribute, KeyType as AttributeType};

/// Why the tables or the bucket could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// DynamoDB refused a table.
    #[error("failed to create table {table}: {message}")]
    Table {
        /// The table.
        table: String,
        /// DynamoDB's reason.
        message: String,
    },
    /// A user's table does not match its mapping.
    #[error("table {table}: {}", misfits.join("; "))]
    Misfit {
        /// The table.
        table: String,
        /// The differences.
        misfits: Vec<String>,
    },
    /// A user's table cannot be described.
    #[error(transparent)]
    Store(#[from] EngineError),
    /// S3 refused the bucket, or to empty it.
    #[error("failed to create bucket {BUCKET}: {0}")]
    Bucket(String),
}

/// Creates the tables and the bucket that do not exist yet.
///
/// # Errors
///
/// [`CreateError`] if a service refuses.
pub async fn create(aws: &Aws) -> Result<(), CreateError> {
    let text = |name: &str| KeyAttribute {
        name: name.to_owned(),
        key_type: AttributeType::Text,
    };
    create_table(aws, CONTENT_TABLE, &[text("id")]).await?;
    create_table(aws, SITEMAP_TABLE, &[text("pk"), text("sk")]).await?;
    expire_items(aws, SITEMAP_TABLE, EXPIRES).await?;
    match aws.s3().await.create_bucket().bucket(BUCKET).send().await {
        Ok(_) => Ok(()),
        Err(error)
            if matches!(
                error.as_service_error(),
                Some(CreateBucketError::BucketAlreadyOwnedByYou(_))
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(CreateError::Bucket(error.into_service_error().to_string())),
    }
}

/// Drops all rows of the sitemap table and all objects. The records stay.
///
/// # Errors
///
/// [`CreateError`] if a service refuses.
pub(crate) async fn begin_anew(aws: &Aws) -> Result<(), CreateError> {
    let dropped = aws.dynamodb().await.delete_table();
    let dropped = dropped.table_name(SITEMAP_TABLE).send().await;
    dropped.map_err(|error| CreateError::Table {
        table: SITEMAP_TABLE.to_owned(),
        message: error.into_service_error().to_string(),
    })?;
    let refused = |message: String| CreateError::Bucket(message);
    let s3 = aws.s3().await;
    let mut pages = s3.list_objects_v2().bucket(BUCKET).into_paginator().send();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| refused(error.into_service_error().to_string()))?;
        for object in page.contents() {
            let key = object.key().unwrap_or_default();
            let deleted = s3.delete_object().bucket(BUCKET).key(key).send().await;
            deleted.map_err(|error| refused(error.into_service_error().to_string()))?;
        }
    }
    create(aws).await
}

/// Creates a user's table if it does not exist yet, and checks that it matches its mapping.
///
/// # Errors
///
/// [`CreateError`] if DynamoDB refuses, or the table does not match.
pub async fn create_source(aws: &Aws, source: &SourceTable) -> Result<(), CreateError> {
    let (table, mapping) = (source.name(), source.mapping());
    create_table(aws, table, mapping.key()).await?;
    let misfits = describe(aws, table).await?.misfits(mapping, None);
    if misfits.is_empty() {
        return Ok(());
    }
    Err(CreateError::Misfit {
        table: table.to_owned(),
        misfits,
    })
}

/// Returns the number of items in a table of the local stack's DynamoDB, which counts them for each request.
///
/// # Errors
///
/// If the table cannot be described.
pub(crate) async fn count(aws: &Aws, table: &str) -> Result<u64, EngineError> {
    let request = aws.dynamodb().await.describe_table().table_name(table);
    let output = request.send().await.map_err(|error| EngineError::Service {
        operation: "DescribeTable",
        message: error.into_service_error().to_string(),
    })?;
    let items = output.table().and_then(|table| table.item_count());
    Ok(items
        .and_then(|items| items.try_into().ok())
        .unwrap_or_default())
}

async fn create_table(aws: &Aws, table: &str, keys: &[KeyAttribute]) -> Result<(), CreateError> {
    let failed = |message: String| CreateError::Table {
        table: table.to_owned(),
        message,
    };
    let (attributes, schema) = key_schema(keys).map_err(|error| failed(error.to_string()))?;
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::KeysOnly)
        .build();
    let request = aws
        .dynamodb()
        .await
        .create_table()
        .table_name(table)
        .set_attribute_definitions(Some(attributes))
        .set_key_schema(Some(schema))
        .billing_mode(BillingMode::PayPerRequest)
        .stream_specification(stream.map_err(|error| failed(error.to_string()))?);
    match request.send().await {
        Ok(_) => Ok(()),
        Err(error)
            if matches!(
                error.as_service_error(),
                Some(CreateTableError::ResourceInUseException(_))
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(failed(error.into_service_error().to_string())),
    }
}

/// Turns time to live on, which a table of an earlier version may not have.
async fn expire_items(aws: &Aws, table: &str, attribute: &str) -> Result<(), CreateError> {
    let failed = |message: String| CreateError::Table {
        table: table.to_owned(),
        message,
    };
    let specification = TimeToLiveSpecification::builder()
        .attribute_name(attribute)
        .enabled(true)
        .build();
    let request = aws.dynamodb().await.update_time_to_live();
    let request = request
        .table_name(table)
        .time_to_live_specification(specification.map_err(|error| failed(error.to_string()))?);
    let turned = request.send().await;
    turned.map_err(|error| failed(error.into_service_error().to_string()))?;
    Ok(())
}

fn key_schema(
    keys: &[KeyAttribute],
) -> Result<(Vec<AttributeDefinition>, Vec<KeySchemaElement>), BuildError> {
    let mut attributes = Vec::new();
    let mut schema = Vec::new();
    for (key, role) in keys.iter().zip([KeyType::Hash, KeyType::Range]) {
        let definition = AttributeDefinition::builder()
            .attribute_name(&key.name)
            .attribute_type(ScalarAttributeType::from(key.key_type.name()));
        attributes.push(definition.build()?);
        schema.push(
            KeySchemaElement::builder()
                .attribute_name(&key.name)
                .key_type(role)
                .build()?,
        );
    }
    Ok((attributes, schema))
}
