//! Timers: records that time alone will change, in a partition an hour.

use table::{Condition, Item};

use crate::error::EngineError;
use crate::keys;
use crate::sitemap_table::SitemapTable;

/// A record to be reconciled at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Unix seconds.
    pub due: i64,
    /// The record.
    pub id: String,
}

impl SitemapTable {
    /// The hour (since 1970) from which timers may be left; nothing if no site was ever known.
    pub async fn cursor(&self) -> Result<Option<i64>, EngineError> {
        Ok(self
            .item(&keys::timer_cursor())
            .await?
            .and_then(|item| item.number("hour")))
    }

    /// Moves the cursor on.
    pub async fn set_cursor(&self, hour: i64) -> Result<(), EngineError> {
        self.put(cursor_at(hour)).await
    }

    /// The timers of an hour.
    pub async fn timers(&self, hour: i64) -> Result<Vec<Timer>, EngineError> {
        let items = self.partition(&keys::timer_partition(hour)).await?;
        let timer = |item: &Item| {
            let (due, id) = keys::timer_parts(item.text("sk")?)?;
            Some(Timer {
                due,
                id: id.to_owned(),
            })
        };
        Ok(items.iter().filter_map(timer).collect())
    }

    /// Deletes a timer that no ledger knows.
    pub async fn drop_timer(&self, timer: &Timer) -> Result<(), EngineError> {
        self.delete(&keys::timer(timer.due, &timer.id)).await
    }
}

impl SitemapTable {
    /// Puts the cursor an hour behind `now`, if there is none: no timer can be older than the first site's row.
    pub(crate) async fn begin_timers(&self, now: i64) -> Result<(), EngineError> {
        let cursor = cursor_at(now.div_euclid(3_600) - 1);
        self.put_if(cursor, Condition::lacks("pk")).await.map(drop)
    }
}

fn cursor_at(hour: i64) -> Item {
    Item::from(&keys::timer_cursor()).with("hour", hour)
}
