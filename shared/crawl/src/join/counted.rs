//! Counts of requests that need no listing: by bot, status and day.

use std::collections::BTreeMap;

use crate::bots::{BotId, Verdict};

/// Seconds of a day.
pub(super) const DAY: i64 = 86_400;

/// Counts of one bot.
#[derive(Clone, Debug, Default)]
pub(super) struct OfBot {
    pub(super) requests: u64,
    pub(super) verified: u64,
    pub(super) impostors: u64,
    pub(super) unverifiable: u64,
    pub(super) statuses: BTreeMap<u16, u64>,
}

/// Counts of one day.
#[derive(Clone, Debug, Default)]
pub(super) struct OfDay {
    /// Lines of any request.
    pub(super) lines: u64,
    /// By bot.
    pub(super) requests: BTreeMap<BotId, u64>,
}

/// Counts of all requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
    pub(super) bots: BTreeMap<BotId, OfBot>,
    days: BTreeMap<i64, OfDay>,
    /// The day of the last line. Most lines are of the same day as the line before.
    today: (i64, OfDay),
}

impl Counted {
    /// Counts a line of this time.
    pub(super) fn line(&mut self, time: i64) {
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        let day = time.div_euclid(DAY);
        if day != self.today.0 {
            self.put_today();
            self.today = (day, self.days.remove(&day).unwrap_or_default());
        }
        self.today.1.lines += 1;
    }

    /// Counts a bot's request. Its line was the last that was counted.
    pub(super) fn request(&mut self, bot: BotId, status: u16) {
        *self.today.1.requests.entry(bot).or_default() += 1;
        let of_bot = self.bots.entry(bot).or_default();
        of_bot.requests += 1;
        *of_bot.statuses.entry(status).or_default() += 1;
    }

    /// Counts whether a request is the bot's own.
    pub(super) fn verdict(&mut self, bot: BotId, verdict: Verdict) {
        let of_bot = self.bots.entry(bot).or_default();
        match verdict {
            Verdict::Verified => of_bot.verified += 1,
            Verdict::Impostor => of_bot.impostors += 1,
            Verdict::Unverifiable => of_bot.unverifiable += 1,
        }
    }

    /// Returns the counts by day, as days since 1970.
    pub(super) fn days(&mut self) -> &BTreeMap<i64, OfDay> {
        self.put_today();
        &self.days
    }

    fn put_today(&mut self) {
        let (day, counts) = std::mem::take(&mut self.today);
        if counts.lines > 0 {
            self.days.insert(day, counts);
        }
    }
}
