//! What is known of the page that the merge is at. Its requests come in the order of their times.

use crate::bots::BotId;
use crate::join::calendar::week_of;
use crate::join::counted::DAY;
use crate::join::documents::{Asked, Documents};
use crate::join::record::{Change, Hit};
use crate::tally::Seen;

/// A listed page.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The sitemaps that list it.
    pub(super) sitemaps: Vec<u32>,
    /// Its last change: the latest of what its sitemaps say.
    pub(super) changed: Option<i64>,
    /// Whether its last change is in the log.
    is_in_log: bool,
    any: Seen,
    bots: Vec<OfBot>,
    /// The status of its last `GET`.
    pub(super) last_status: Option<u16>,
    /// Requests by status, of those that did not fetch it.
    pub(super) failures: Vec<(u16, u64)>,
    /// The weeks since 1970 in which it was fetched, in order.
    pub(super) weeks: Vec<i64>,
}

#[derive(Debug)]
struct OfBot {
    bot: BotId,
    seen: Seen,
    /// When the bot first fetched one of the page's sitemaps after the change.
    listed: Option<i64>,
}

impl Page {
    /// Begins the next page.
    pub(super) fn clear(&mut self) {
        self.sitemaps.clear();
        self.changed = None;
        self.is_in_log = false;
        self.any = Seen::default();
        self.bots.clear();
        self.last_status = None;
        self.failures.clear();
        self.weeks.clear();
    }

    /// Takes what a sitemap says of it.
    pub(super) fn listed(&mut self, sitemap: u32, change: Change) {
        if self.sitemaps.last() != Some(&sitemap) {
            self.sitemaps.push(sitemap);
        }
        self.changed = self.changed.max(change.since());
    }

    /// Ends the listing. `log`: the log's first and last time.
    pub(super) fn begin(&mut self, log: (i64, i64), documents: &Documents) {
        let inside = |time: &i64| (log.0..=log.1).contains(time);
        let Some(changed) = self.changed.filter(inside) else {
            return;
        };
        self.is_in_log = true;
        self.any.from_change = Some(None);
        let sitemaps = std::mem::take(&mut self.sitemaps);
        let lists = sitemaps
            .iter()
            .filter_map(|at| documents.all().get(*at as usize));
        for (bot, asked) in lists.flat_map(|document| &document.bots) {
            self.listed_to(*bot, asked, changed);
        }
        self.sitemaps = sitemaps;
    }

    /// Notes when a bot could know the change.
    fn listed_to(&mut self, bot: BotId, asked: &Asked, changed: i64) {
        let Some(time) = asked.first_since(changed) else {
            return;
        };
        self.any.from_sitemap = Some(None);
        let of_bot = self.of_bot(bot);
        of_bot.seen.from_sitemap = Some(None);
        of_bot.listed = Some(of_bot.listed.map_or(time, |before| before.min(time)));
    }

    fn of_bot(&mut self, bot: BotId) -> &mut OfBot {
        let known = self.bots.iter().position(|known| known.bot == bot);
        let at = known.unwrap_or_else(|| {
            let seen = Seen {
                from_change: self.is_in_log.then_some(None),
                ..Seen::default()
            };
            self.bots.push(OfBot {
                bot,
                seen,
                listed: None,
            });
            self.bots.len() - 1
        });
        &mut self.bots[at]
    }

    /// Takes the next request.
    pub(super) fn hit(&mut self, hit: &Hit) {
        let changed = self.changed.filter(|_| self.is_in_log);
        let of_bot = self.of_bot(hit.bot);
        let listed = of_bot.listed;
        let lag = add(&mut of_bot.seen, hit, changed, listed);
        add(&mut self.any, hit, changed, None);
        if let (Some(Some(_)), Some(None)) = (lag, self.any.from_sitemap) {
            self.any.from_sitemap = lag;
        }
        if hit.is_get {
            self.last_status = Some(hit.status);
        }
        if hit.is_fetch() {
            let week = week_of(hit.time.div_euclid(DAY));
            if self.weeks.last() != Some(&week) {
                self.weeks.push(week);
            }
        } else if !matches!(hit.status, 200 | 304) {
            match self
                .failures
                .iter_mut()
                .find(|(status, _)| *status == hit.status)
            {
                Some((_, requests)) => *requests += 1,
                None => self.failures.push((hit.status, 1)),
            }
        }
    }

    /// Returns what any bot did.
    pub(super) fn any(&self) -> &Seen {
        &self.any
    }

    /// Returns what each bot did that asked for it, or that could have known its change.
    pub(super) fn bots(&self) -> impl Iterator<Item = (BotId, &Seen)> {
        self.bots.iter().map(|of_bot| (of_bot.bot, &of_bot.seen))
    }
}

/// Adds a request. `listed`: when the bot could know the change. Returns how long it took since then, if this is the first fetch.
fn add(
    seen: &mut Seen,
    hit: &Hit,
    changed: Option<i64>,
    listed: Option<i64>,
) -> Option<Option<u64>> {
    seen.requests += 1;
    match hit.status {
        200 => {}
        304 => seen.not_modified += 1,
        _ => seen.failed += 1,
    }
    if !hit.is_fetch() {
        return None;
    }
    seen.last = Some(hit.time);
    let since = |from: Option<i64>| u64::try_from(hit.time - from?).ok();
    if seen.from_change == Some(None) {
        seen.from_change = Some(since(changed));
    }
    if seen.from_sitemap == Some(None) {
        let lag = since(listed);
        if lag.is_some() {
            seen.from_sitemap = Some(lag);
            return Some(lag);
        }
    }
    None
}
