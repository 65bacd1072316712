//! The turn of the sweep. `JOB#sweep`.
//!
//! A new AWS account cannot reserve concurrency for a function, so two calls may overlap. Then the second call does nothing.
//! Concurrent sweeps would be correct, but would do everything twice.

use table::{Condition, Item, Update};

use super::key::{ALONE, JOB, Key, RowKey, key};
use super::table::SitemapTable;
use crate::error::EngineError;

const SWEEP: &str = "sweep";

/// Returns the key of the row with the turn of the sweep, and with the last site that it looked at.
#[must_use]
pub fn sweep() -> Key {
    key(format!("{JOB}{SWEEP}"), ALONE)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    (rest == SWEEP && sk == ALONE).then_some(RowKey::Sweep)
}

/// Seconds after which another sweep may begin even if the last one has not ended: the function's time limit.
pub const TURN_SECONDS: i64 = 60;

/// The turn of one sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    token: String,
    /// The last site that was looked at. `None` if the next one is the first.
    pub looked_at: Option<String>,
    /// The site whose notices were sent first in the last sweep. `None` if none ever was.
    pub told_first: Option<String>,
    /// Whether there is any site.
    pub has_sites: bool,
    /// The day (since 1970) of the last round that published the feeds. `None` if the row is new or was lost.
    feeds_of: Option<i64>,
    /// Whether the current round publishes the feeds.
    pub publishes_feeds: bool,
}

impl Turn {
    /// Begins a round with the first site. Once a day, or if the last day is unknown, the round publishes every feed. Otherwise
    /// an idle site's feed would keep expired entries until DynamoDB deletes their rows, which may take days.
    pub(crate) fn begin_round(&mut self, now: i64) {
        let today = now.div_euclid(86_400);
        self.publishes_feeds = self.feeds_of.is_none_or(|day| day < today);
        self.feeds_of = Some(today);
    }
}

impl SitemapTable {
    /// Takes the turn. Returns `None` if another sweep has it. A damaged row blocks no sweep.
    pub(crate) async fn begin_turn(&self, now: i64) -> Result<Option<Turn>, EngineError> {
        let token = self.env.token();
        let take = Update::new()
            .set("token", token.as_str())
            .set("until", now + TURN_SECONDS);
        // The row has the own token if the request arrives twice.
        let is_free = Condition::lacks("until")
            .or(Condition::less("until", now + 1))
            .or(Condition::equals("token", token.as_str()));
        let key = sweep();
        let mut taken = self.update_if(&key, take.clone(), is_free).await?;
        if taken.is_none() {
            let row = self.item(&key).await?.unwrap_or_default();
            let until = row.number("until");
            if until.is_none_or(|until: i64| until > now + 2 * TURN_SECONDS) {
                // No sweep has written that time, even if its clock was fast. Without this, no sweep would ever have the turn
                // again.
                let unchanged = match row.get("token") {
                    Some(token) => Condition::equals("token", token.clone()),
                    None => Condition::lacks("token"),
                };
                taken = self.update_if(&key, take, unchanged).await?;
            }
        }
        Ok(taken.map(|row| {
            let looked_at = row.text("after").map(str::to_owned);
            Turn {
                token,
                told_first: row.text("told_first").map(str::to_owned),
                has_sites: looked_at.is_some(),
                looked_at,
                feeds_of: row.number("feeds_of"),
                publishes_feeds: row.get("publishes_feeds").is_some(),
            }
        }))
    }

    /// Gives the turn back, if no other sweep took it meanwhile.
    pub(crate) async fn end_turn(&self, turn: &Turn) -> Result<(), EngineError> {
        let mut row = Item::from(&sweep()).with("token", turn.token.as_str());
        if let Some(day) = turn.feeds_of {
            row.set("feeds_of", day);
        }
        if turn.publishes_feeds {
            row.set("publishes_feeds", true);
        }
        if let Some(after) = &turn.looked_at {
            row.set("after", after.as_str());
        }
        if let Some(site) = &turn.told_first {
            row.set("told_first", site.as_str());
        }
        let ours = Condition::equals("token", turn.token.as_str());
        self.put_if(row, ours).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use table::Value;

    use crate::testing::Repeating;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    #[tokio::test]
    async fn one_sweep_has_the_turn_until_it_ends_or_its_time_is_over() {
        let table = Repeating::default().engine();
        let mut first = table.begin_turn(NOW).await.unwrap().unwrap();
        let early = table.begin_turn(NOW + TURN_SECONDS - 1).await.unwrap();
        assert_eq!(early, None);
        first.looked_at = Some("a.example".to_owned());
        first.told_first = Some("b.example".to_owned());
        table.end_turn(&first).await.unwrap();
        let second = table.begin_turn(NOW + 1).await.unwrap().unwrap();
        assert_eq!(second.looked_at, first.looked_at);
        assert_eq!(second.told_first, first.told_first);
        assert!(second.has_sites);
        // The sweep has died.
        let third = table.begin_turn(NOW + 1 + TURN_SECONDS).await.unwrap();
        assert!(third.is_some());
        // The sweep was only slow: the turn that it gives back is no longer its own.
        table.end_turn(&second).await.unwrap();
        let early = table.begin_turn(NOW + 2 + TURN_SECONDS).await.unwrap();
        assert_eq!(early, None);
    }

    #[tokio::test]
    async fn a_damaged_row_does_not_stop_the_clock() {
        let table = Repeating::default().engine();
        for until in [Value::from("soon"), Value::from(NOW * 1_000)] {
            let row = Item::from(&sweep()).with("until", until.clone());
            table.put(row.clone()).await.unwrap();
            assert!(table.begin_turn(NOW).await.unwrap().is_some(), "{row:?}");
            let row = row.with("token", "of-another");
            table.put(row.clone()).await.unwrap();
            assert!(table.begin_turn(NOW).await.unwrap().is_some(), "{row:?}");
        }
    }

    #[tokio::test]
    async fn once_a_day_a_round_publishes_the_feeds_to_its_end() {
        let table = Repeating::default().engine();
        let mut published = Vec::new();
        // A round takes two minutes. The first one finds no row, as after a loss, and the last ones are on another day.
        for (minute, now) in [0, 60, 120, 180, 86_400, 86_460, 86_520]
            .into_iter()
            .enumerate()
        {
            let mut turn = table.begin_turn(NOW + now).await.unwrap().unwrap();
            if turn.looked_at.is_none() {
                turn.begin_round(NOW + now);
            }
            published.push(turn.publishes_feeds);
            turn.looked_at = (minute % 2 == 0).then(|| "a.example".to_owned());
            table.end_turn(&turn).await.unwrap();
        }
        assert_eq!(published, [true, true, false, false, true, true, false]);
    }
}
