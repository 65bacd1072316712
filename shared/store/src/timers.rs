//! Timers: records that time alone will change, in a partition an hour.

use aws_sdk_dynamodb::operation::put_item::PutItemError;

use crate::error::{StoreError, service};
use crate::keys;
use crate::table::{SitemapTable, get_number, get_text, key_item, number};

/// A record to be reconciled at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Unix seconds.
    pub due: i64,
    /// The record.
    pub id: String,
}

/// Timers and the cursor of `sweep`.
pub trait Timers: Send + Sync {
    /// The hour (since 1970) from which timers may be left; nothing if no site was ever known.
    fn cursor(&self) -> impl Future<Output = Result<Option<i64>, StoreError>> + Send;

    /// Moves the cursor on.
    fn set_cursor(&self, hour: i64) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The timers of an hour.
    fn timers(&self, hour: i64) -> impl Future<Output = Result<Vec<Timer>, StoreError>> + Send;

    /// Deletes a timer that no ledger knows.
    fn drop_timer(&self, timer: &Timer) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl Timers for SitemapTable {
    async fn cursor(&self) -> Result<Option<i64>, StoreError> {
        Ok(self
            .item(&keys::timer_cursor())
            .await?
            .and_then(|item| get_number(&item, "hour")))
    }

    async fn set_cursor(&self, hour: i64) -> Result<(), StoreError> {
        let mut item = key_item(&keys::timer_cursor());
        item.insert("hour".to_owned(), number(hour));
        self.put(item).await
    }

    async fn timers(&self, hour: i64) -> Result<Vec<Timer>, StoreError> {
        let items = self.partition(&keys::timer_partition(hour), None).await?;
        let timer = |item| {
            let (due, id) = keys::timer_parts(get_text(item, "sk")?)?;
            Some(Timer {
                due,
                id: id.to_owned(),
            })
        };
        Ok(items.iter().filter_map(timer).collect())
    }

    async fn drop_timer(&self, timer: &Timer) -> Result<(), StoreError> {
        self.delete(&keys::timer(timer.due, &timer.id)).await
    }
}

impl SitemapTable {
    /// Puts the cursor an hour behind `now`, if there is none: no timer can be older than the first site's row.
    pub(crate) async fn begin_timers(&self, now: i64) -> Result<(), StoreError> {
        let mut item = key_item(&keys::timer_cursor());
        item.insert("hour".to_owned(), number(now.div_euclid(3_600) - 1));
        let request = self
            .aws
            .dynamodb()
            .await
            .put_item()
            .table_name(&self.name)
            .set_item(Some(item));
        match request
            .condition_expression("attribute_not_exists(pk)")
            .send()
            .await
        {
            Ok(_) => Ok(()),
            Err(error)
                if matches!(
                    error.as_service_error(),
                    Some(PutItemError::ConditionalCheckFailedException(_))
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(service("PutItem")(error)),
        }
    }
}
