//! A site's state and its problems.

use engine::error::EngineError;
use engine::rows::notice::{PAGE, Pause};
use engine::rows::site::{Hold, SiteRow};
use engine::sweep::notices::refusal_reason;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use sitemap::site::{SeriesKind, SiteSettings};
use sitemap::time::When;

use super::clock::Due;
use super::clock::{READS, ago};
use crate::deployment::target::Target;
use crate::terminal::text::{Text, Tone, counted};

/// A site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Site {
    /// Its host.
    pub host: String,
    /// What is published of it.
    pub state: State,
    /// Its sitemaps that list anything.
    pub sitemaps: u64,
    /// The sitemaps of others that its indexes list, too.
    pub others: u64,
    /// The URLs that the site's own sitemaps list. One that is among the videos or the news, too, counts once.
    pub urls: u64,
    /// When the newest of its files was written.
    pub last_published: Option<When>,
    /// The next change that comes by the clock; `null` if there is none in the hours that are looked at.
    pub next_by_clock: Option<Due>,
    /// The publication of its news, if that has the site's name because the settings have no `news_name`.
    pub publication: Option<String>,
    /// What is wrong with its settings.
    pub problems: Vec<SettingProblem>,
    /// How telling search engines goes; `null` if the site has no key for it.
    pub indexnow: Option<IndexNow>,
}

/// What is published of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is no longer known. What was published is still served.
    Unknown,
    /// Its first load has begun, and nothing is published yet.
    Loading,
    /// Its first load is being published.
    Publishing,
    /// It is published as it changes.
    Live,
    /// Its settings say that it is not public.
    Private,
}

impl State {
    /// Returns the state in words, and how good it is.
    fn text(self) -> (Tone, &'static str) {
        match self {
            Self::Unknown => (
                Tone::Notable,
                "no longer known; what was published is still served",
            ),
            Self::Loading => (Tone::Notable, "first load: nothing is published yet"),
            Self::Publishing => (
                Tone::Notable,
                "first load: its sitemaps are being published",
            ),
            Self::Live => (Tone::Good, "live"),
            Self::Private => (Tone::Notable, "private"),
        }
    }
}

/// Something that is wrong with a site's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingProblem {
    /// The setting.
    pub field: String,
    /// The reason, for people.
    pub reason: String,
}

/// How telling search engines goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IndexNow {
    /// URLs that wait to be told.
    pub waiting: u64,
    /// Whether there are more of them than were counted.
    pub more_waiting: bool,
    /// The last URLs that were taken.
    pub sent: Option<Sent>,
    /// The last URLs, if they were refused.
    pub refused: Option<Refusal>,
    /// A pause after failed tries.
    pub paused: Option<Paused>,
}

/// URLs that were taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// How many.
    pub urls: u64,
    /// When.
    pub at: When,
}

/// URLs that were refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// How many.
    pub urls: u64,
    /// When.
    pub at: When,
    /// The HTTP status.
    pub status: u16,
    /// What the status means.
    pub reason: String,
}

/// A pause after failed tries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Paused {
    /// How many failed in a row.
    pub tries: u32,
    /// When the next is made.
    pub until: When,
}

impl Site {
    /// Looks at a site. `is_marked` says whether it may have URLs that search engines do not know of yet.
    pub(super) async fn of(
        target: &Target,
        host: String,
        is_marked: bool,
        next_by_clock: Option<Due>,
    ) -> Result<Self, EngineError> {
        let table = &target.reconciler.table;
        let host = &host;
        let mut site = Self {
            host: host.clone(),
            state: State::Unknown,
            sitemaps: 0,
            others: 0,
            urls: 0,
            last_published: target.objects.last_put(host).await?.map(When::at),
            next_by_clock,
            publication: None,
            problems: Vec::new(),
            indexnow: None,
        };
        let Some(row) = table.site(host).await? else {
            return Ok(site);
        };
        site.state = match row.hold {
            Hold::Loading => State::Loading,
            Hold::Publishing => State::Publishing,
            Hold::Released if row.settings.public => State::Live,
            Hold::Released => State::Private,
        };
        let listed = listed(target, &row).await?;
        (site.sitemaps, site.urls) = (listed.sitemaps, listed.urls);
        site.others = row.settings.listed_also().len() as u64;
        site.publication = publication(&row.settings, listed.has_news);
        let robots = row.settings.robots_problems();
        let problems = row.settings.problems.iter().chain(&robots);
        let problems = problems.map(|problem| SettingProblem {
            field: problem.field.clone(),
            reason: problem.reason.clone(),
        });
        site.problems = problems.chain(without_news_name(&row.settings)).collect();
        if row.settings.indexnow_key.is_some() {
            let waiting = if is_marked {
                waiting(target, host).await?
            } else {
                (0, false)
            };
            let now = target.reconciler.env.now();
            site.indexnow = Some(indexnow(waiting, table.pause(host).await?, now));
        }
        Ok(site)
    }

    /// Returns whether the site has something that a person must handle.
    pub(super) fn is_bad(&self) -> bool {
        let refused = self
            .indexnow
            .as_ref()
            .and_then(|indexnow| indexnow.refused.as_ref());
        !self.problems.is_empty() || refused.is_some()
    }

    /// Writes the site as lines for people, as of a time in Unix seconds.
    pub(super) fn write(&self, text: &mut Text, now: i64) {
        let (tone, state) = self.state.text();
        text.toned(tone, format!("{}: {state}", self.host));
        for SettingProblem { field, reason } in &self.problems {
            text.toned(Tone::Bad, format!("  {field}: {reason}"));
        }
        let published = self.last_published.map(|at| {
            let ago = ago(now, at);
            format!(", last published at {at} ({ago})")
        });
        let others = match self.others {
            0 => String::new(),
            others => format!(", and {} of others", counted(others, "sitemap")),
        };
        text.line(format!(
            "  {} with {}{others}{}",
            counted(self.sitemaps, "sitemap"),
            counted(self.urls, "URL"),
            published.unwrap_or_default()
        ));
        if let Some(name) = &self.publication {
            text.line(format!(
                "  news: the publication is {name}, the site's name, since the settings have no news_name"
            ));
        }
        if let Some(due) = &self.next_by_clock {
            text.line(format!("  next change by the clock: {due}"));
        }
        if let Some(indexnow) = &self.indexnow {
            indexnow.write(text, now);
        }
    }
}

/// What a site's sitemaps list.
#[derive(Default)]
struct Listed {
    sitemaps: u64,
    urls: u64,
    /// Whether there are news among them.
    has_news: bool,
}

/// Counts the sitemaps and the URLs that they list, by the row of each sitemap.
async fn listed(target: &Target, row: &SiteRow) -> Result<Listed, EngineError> {
    let summaries = target
        .reconciler
        .table
        .summaries(&row.settings.host)
        .await?;
    let mut listed = Listed::default();
    for (shard, summary) in summaries.iter().filter(|(_, summary)| summary.entries > 0) {
        listed.sitemaps += 1;
        match row.settings.kind_of(&shard.series.name) {
            SeriesKind::Pages => listed.urls += summary.entries,
            // What is among the videos or the news is listed by its type, too.
            SeriesKind::Video => {}
            SeriesKind::News => listed.has_news = true,
        }
    }
    Ok(listed)
}

/// Counts the URLs that IndexNow has not sent to search engines yet, up to what one request has. Also returns whether there may be more.
async fn waiting(target: &Target, host: &str) -> Result<(u64, bool), EngineError> {
    let digits = stream::iter(engine::keys::HASH_DIGITS);
    let table = &target.reconciler.table;
    let counts =
        digits.map(async |digit| table.notices(host, digit).await.map(|found| found.len()));
    let counts: Vec<usize> = counts.buffer_unordered(READS).try_collect().await?;
    let is_full = counts.iter().any(|count| *count >= PAGE);
    Ok((counts.iter().sum::<usize>() as u64, is_full))
}

impl IndexNow {
    /// Writes the state of IndexNow as lines for people, as of a time in Unix seconds.
    fn write(&self, text: &mut Text, now: i64) {
        if let Some(Sent { urls, at }) = &self.sent {
            let (urls, ago) = (counted(*urls, "URL"), ago(now, *at));
            text.line(format!("  IndexNow: last accepted {urls} at {at} ({ago})"));
        }
        if self.waiting > 0 {
            let more = if self.more_waiting { "or more " } else { "" };
            let waiting = counted(self.waiting, &format!("{more}URL"));
            text.line(format!("  IndexNow: {waiting} waiting"));
        }
        if let Some(Refusal {
            urls,
            at,
            status,
            reason,
        }) = &self.refused
        {
            let line =
                format!("  IndexNow: refused {urls} URLs at {at} with status {status}: {reason}");
            text.toned(Tone::Bad, line);
        }
        if let Some(Paused { tries, until }) = &self.paused {
            let line =
                format!("  IndexNow: failed {tries} times in a row; next attempt at {until}");
            text.toned(Tone::Notable, line);
        }
    }
}

/// Says that types are news and the publication has no name.
fn without_news_name(settings: &SiteSettings) -> Option<SettingProblem> {
    let types = types_of_news(settings);
    (settings.news_name.is_none() && !types.is_empty()).then(|| SettingProblem {
        field: "news_name".to_owned(),
        reason: format!(
            "missing, and so is name, so no page of type {} is listed as news",
            types.join(", ")
        ),
    })
}

fn types_of_news(settings: &SiteSettings) -> Vec<&str> {
    let types = settings.types.iter().filter(|(_, settings)| settings.news);
    types.map(|(name, _)| name.as_str()).collect()
}

/// Returns the publication of a site's news if the site has any and the settings do not name the publication itself.
fn publication(settings: &SiteSettings, lists_news: bool) -> Option<String> {
    let has_news = lists_news || !types_of_news(settings).is_empty();
    let name = settings.news_name.clone();
    name.filter(|_| settings.news_name_is_sites && has_news)
}

/// Summarizes how notifying search engines goes.
fn indexnow((waiting, more_waiting): (u64, bool), pause: Option<Pause>, now: i64) -> IndexNow {
    let sent = pause.and_then(|pause| pause.sent).map(|sent| Sent {
        urls: sent.urls,
        at: When::at(sent.at),
    });
    let refused = pause.and_then(|pause| pause.refused);
    let refused = refused.map(|refused| Refusal {
        urls: refused.urls,
        at: When::at(refused.at),
        status: refused.status,
        reason: refusal_reason(refused.status).to_owned(),
    });
    let paused = pause.filter(|pause| pause.until > now);
    let paused = paused.map(|pause| Paused {
        tries: pause.tries,
        until: When::at(pause.until),
    });
    IndexNow {
        waiting,
        more_waiting,
        sent,
        refused,
        paused,
    }
}

#[cfg(test)]
mod tests {
    use engine::rows::notice::Refused;
    use serde_json::json;

    use super::*;

    #[test]
    fn types_of_news_without_the_publications_name_are_told() {
        for (settings, expected) in [
            (json!({"types": {"notice": {"news": true}}}), Some("notice")),
            (
                json!({"types": {"notice": {"news": true}}, "news_name": "N"}),
                None,
            ),
            (
                json!({"types": {"notice": {"news": true}}, "name": "S"}),
                None,
            ),
            (json!({"types": {"notice": {"news": false}}}), None),
        ] {
            let settings = SiteSettings::parse("www.example.com", &settings).unwrap();
            let problem = without_news_name(&settings);
            assert_eq!(problem.is_some(), expected.is_some(), "{problem:?}");
            assert!(problem.is_none_or(|problem| problem.reason.contains("of type notice is")));
        }
    }

    #[test]
    fn a_publication_that_has_the_sites_name_is_told_where_there_are_news() {
        let types = json!({"notice": {"news": true}});
        for (settings, lists_news, expected) in [
            (json!({"types": types, "name": "S"}), false, Some("S")),
            (json!({"name": "S"}), true, Some("S")),
            (json!({"name": "S"}), false, None),
            (json!({"name": "S", "news_name": "N"}), true, None),
            (json!({"types": types}), true, None),
        ] {
            let parsed = SiteSettings::parse("www.example.com", &settings).unwrap();
            let told = publication(&parsed, lists_news);
            assert_eq!(told.as_deref(), expected, "{settings}");
        }
    }

    #[test]
    fn what_indexnow_refuses_is_told_and_a_pause_while_it_lasts() {
        let refused = Some(Refused {
            status: 403,
            urls: 3,
            at: 0,
        });
        for (pause, expected) in [
            (None, ""),
            (
                Some(Pause {
                    tries: 2,
                    until: 50,
                    refused: None,
                    sent: None,
                }),
                "",
            ),
            (
                Some(Pause {
                    tries: 2,
                    until: 51,
                    refused: None,
                    sent: None,
                }),
                "  IndexNow: failed 2 times in a row; next attempt at 1970-01-01T00:00:51+00:00\n",
            ),
            (
                Some(Pause {
                    tries: 0,
                    until: 0,
                    refused,
                    sent: None,
                }),
                "  IndexNow: refused 3 URLs at 1970-01-01T00:00:00+00:00 with status 403: the key is not valid: its file is not found, or does not hold it\n",
            ),
            (
                Some(Pause {
                    tries: 0,
                    until: 8,
                    refused: None,
                    sent: Some(engine::rows::notice::Sent { urls: 3, at: 8 }),
                }),
                "  IndexNow: last accepted 3 URLs at 1970-01-01T00:00:08+00:00 (42 s ago)\n",
            ),
        ] {
            let mut text = Text::default();
            indexnow((0, false), pause, 50).write(&mut text, 50);
            assert_eq!(&*text, expected);
        }
    }

    #[test]
    fn urls_that_wait_are_counted_up_to_a_limit() {
        for (waiting, expected) in [
            ((0, false), ""),
            ((14, false), "  IndexNow: 14 URLs waiting\n"),
            ((10_000, true), "  IndexNow: 10,000 or more URLs waiting\n"),
        ] {
            let mut text = Text::default();
            indexnow(waiting, None, 0).write(&mut text, 0);
            assert_eq!(&*text, expected);
        }
    }

    #[test]
    fn a_site_is_told_in_lines() {
        let site = Site {
            host: "www.example.com".to_owned(),
            state: State::Live,
            sitemaps: 31,
            others: 2,
            urls: 28_114,
            last_published: Some(When::at(100)),
            next_by_clock: Some(Due {
                at: When::at(3_600),
                pages: 2,
                more: false,
            }),
            publication: Some("The Lantern".to_owned()),
            problems: vec![SettingProblem {
                field: "public".to_owned(),
                reason: "not a boolean".to_owned(),
            }],
            indexnow: None,
        };
        let mut text = Text::default();
        site.write(&mut text, 112);
        let expected = "www.example.com: live\n  public: not a boolean\n  31 sitemaps with 28,114 URLs, and 2 sitemaps of others, last published at \
            1970-01-01T00:01:40+00:00 (12 s ago)\n  news: the publication is The Lantern, the site's name, since the settings have no news_name\n  \
            next change by the clock: 1970-01-01T01:00:00+00:00 (2 pages)\n";
        assert_eq!(&*text, expected);
        assert!(site.is_bad());
    }
}
