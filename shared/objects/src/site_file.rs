//! The site file: the data of a site that `http` needs, published together with its sitemaps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sitemap::site::SiteSettings;

/// The most series for which [`Closings`] keeps a time.
///
/// They are in the site's row together with its settings, which leave little of an item's 400 KB (DynamoDB). 64 names of at most
/// 70 bytes, each with its time, are less than 7 KB.
pub const MAX_CLOSINGS: usize = 64;

/// The JSON of [`ObjectKey::SiteFile`](crate::ObjectKey::SiteFile).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteFile {
    /// The site's host, as in the object keys.
    pub site: String,
    /// Scheme and host of its public address, without a trailing slash: `https://www.example.com`.
    pub origin: String,
    /// The epoch and the version of the settings from which it was made. It is part of the bytes, so that two versions never have
    /// the same S3 ETag.
    pub stamp: String,
    /// Whether the site is public. If not, no shard of it is served.
    pub public: bool,
    /// The series of types that are not public. None of their shards is served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// The times at which settings closed or reopened the site and its series.
    #[serde(default)]
    pub closings: Closings,
    /// The IndexNow key, whose file is served. `None` if the site has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexnow_key: Option<String>,
    /// Whether the site has an llms.txt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub llms: bool,
    /// Seconds for which caches may keep the answers for pages that departed from their addresses. `None` if no page did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departures: Option<u32>,
    /// The HTML page for the 404 of a path that is no published file. `None` if the site has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_found_page: Option<String>,
    /// Seconds for which an emptied or closed shard is still served as an empty document: longer than any cached index lives.
    pub emptied_grace_seconds: i64,
}

/// The times at which settings last closed or reopened a site and its series, in Unix seconds. Only the settings say whether they
/// are closed.
///
/// - Times only rise. Of two changes in one second, the later one gets the next second. So they can be used for Last-Modified,
///   which has no fractions of a second.
/// - The number of times is limited: the oldest are merged into one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closings {
    /// The time of the whole site. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<i64>,
    /// The latest time that may apply to series without a time of their own. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    others: Option<i64>,
    /// The times of series, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    series: BTreeMap<String, i64>,
}

/// Whether settings close a site or a series, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closure {
    /// Open since this time. `None` if it was never closed.
    Open(Option<i64>),
    /// Closed since this time. `None` if it was closed before times were kept.
    Closed(Option<i64>),
}

impl SiteFile {
    /// Returns whether a series is closed. Without a series, it returns whether the site is closed.
    #[must_use]
    pub fn closure(&self, series: Option<&str>) -> Closure {
        let Closings { site, .. } = self.closings;
        let its = series.and_then(|name| self.closings.of(name));
        let is_hidden = series.is_some_and(|name| self.hidden.iter().any(|hidden| hidden == name));
        match (self.public, is_hidden) {
            (true, false) => Closure::Open(site.max(its)),
            (true, true) => Closure::Closed(its),
            (false, false) => Closure::Closed(site),
            // Since the earlier of the two. An unknown time counts as earlier than any known one.
            (false, true) => Closure::Closed(site.min(its)),
        }
    }
}

impl Closings {
    /// Returns the times of a new row. If the row replaces a lost one, everything that it closes may have been open until now,
    /// and the reverse.
    #[must_use]
    pub fn made(now: i64) -> Self {
        Self {
            site: Some(now),
            others: Some(now),
            series: BTreeMap::new(),
        }
    }

    /// Returns the times after a change of the settings.
    #[must_use]
    pub fn changed(&self, before: &SiteSettings, after: &SiteSettings, now: i64) -> Self {
        let at = self.latest().map_or(now, |latest| now.max(latest + 1));
        let mut closings = self.clone();
        if before.public != after.public {
            closings.site = Some(at);
        }
        let (was_hidden, is_hidden) = (before.hidden_series(), after.hidden_series());
        for name in was_hidden.iter().filter(|name| !is_hidden.contains(name)) {
            closings.series.insert(name.clone(), at);
        }
        // A series of a private site is closed already, since the site is.
        let closed_at = if before.public { Some(at) } else { self.site };
        for name in is_hidden.iter().filter(|name| !was_hidden.contains(name)) {
            match closed_at {
                Some(closed_at) => closings.series.insert(name.clone(), closed_at),
                None => closings.series.remove(name),
            };
        }
        while closings.series.len() > MAX_CLOSINGS {
            closings.merge_oldest();
        }
        closings
    }

    fn of(&self, series: &str) -> Option<i64> {
        self.series.get(series).copied().or(self.others)
    }

    fn latest(&self) -> Option<i64> {
        let series = self.series.values().max().copied();
        self.site.max(self.others).max(series)
    }

    fn merge_oldest(&mut self) {
        let oldest = self.series.iter().min_by_key(|(_, at)| **at);
        if let Some((name, at)) = oldest.map(|(name, at)| (name.clone(), *at)) {
            self.series.remove(&name);
            self.others = self.others.max(Some(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    const HOST: &str = "www.example.com";

    fn settings(item: &Value) -> SiteSettings {
        SiteSettings::parse(HOST, item).expect("a host")
    }

    fn hides(names: &[&str]) -> Value {
        let types = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"public": false})));
        json!({"types": types.collect::<Map<_, _>>()})
    }

    /// Checks the closures of a series and of the site after these settings, each with its time. The settings are applied to a
    /// row that was made at 100.
    #[track_caller]
    fn check(changes: &[(i64, Value)], series: Closure, site: Closure) {
        let (mut before, mut closings) = (settings(&json!({})), Closings::made(100));
        for (now, item) in changes {
            let after = settings(item);
            closings = closings.changed(&before, &after, *now);
            before = after;
        }
        let file = file(&before, closings);
        assert_eq!(file.closure(Some("post")), series, "{changes:?}");
        assert_eq!(file.closure(None), site, "{changes:?}");
    }

    fn file(settings: &SiteSettings, closings: Closings) -> SiteFile {
        SiteFile {
            site: HOST.to_owned(),
            origin: format!("https://{HOST}"),
            stamp: "0-1".to_owned(),
            public: settings.public,
            hidden: settings.hidden_series(),
            closings,
            indexnow_key: None,
            llms: false,
            departures: None,
            not_found_page: None,
            emptied_grace_seconds: 1,
        }
    }

    fn open(at: i64) -> Closure {
        Closure::Open(Some(at))
    }

    fn closed(at: i64) -> Closure {
        Closure::Closed(Some(at))
    }

    #[test]
    fn what_settings_close_and_reopen_they_do_at_a_time() {
        let (shown, hidden, private) = (json!({}), hides(&["post"]), json!({"public": false}));
        let mut both = hidden.clone();
        both["public"] = json!(false);
        check(&[], open(100), open(100));
        check(&[(200, hidden.clone())], closed(200), open(100));
        check(&[(200, hides(&["page"]))], open(100), open(100));
        check(&[(200, private.clone())], closed(200), closed(200));
        check(
            &[(200, hidden.clone()), (300, shown.clone())],
            open(300),
            open(100),
        );
        check(
            &[(200, hidden.clone()), (300, hidden.clone())],
            closed(200),
            open(100),
        );
        check(
            &[(200, private.clone()), (300, shown.clone())],
            open(300),
            open(300),
        );
        // Something that is closed for two reasons is closed since the first one.
        check(
            &[(200, hidden.clone()), (300, both.clone())],
            closed(200),
            closed(300),
        );
        check(
            &[(200, private.clone()), (300, both.clone())],
            closed(200),
            closed(200),
        );
        check(
            &[(200, private), (300, both), (400, hidden)],
            closed(200),
            open(400),
        );
    }

    #[test]
    fn two_changes_never_have_one_time() {
        let (shown, hidden) = (json!({}), hides(&["post"]));
        let private = json!({"public": false});
        check(
            &[
                (200, hidden.clone()),
                (200, shown.clone()),
                (200, hidden.clone()),
            ],
            closed(202),
            open(100),
        );
        check(
            &[(200, private), (150, shown), (150, hidden)],
            closed(202),
            open(201),
        );
    }

    #[test]
    fn a_row_of_an_earlier_version_knows_no_times() {
        let (shown, hidden) = (settings(&json!({})), settings(&hides(&["post"])));
        let none: Closings = serde_json::from_str("{}").expect("no times");
        let of = |settings, closings| file(settings, closings).closure(Some("post"));
        assert_eq!(of(&shown, none.clone()), Closure::Open(None));
        assert_eq!(of(&hidden, none.clone()), Closure::Closed(None));
        let opened = none.changed(&hidden, &shown, 300);
        assert_eq!(of(&shown, opened), open(300));
        // Two reasons, one of them of unknown age.
        let private = settings(&json!({"public": false}));
        let (known, both) = (none.changed(&shown, &private, 300), {
            let mut item = hides(&["post"]);
            item["public"] = json!(false);
            settings(&item)
        });
        assert_eq!(of(&both, known), Closure::Closed(None));
    }

    #[test]
    fn the_number_of_times_is_bounded_and_those_merged_are_later_than_they_were() {
        let names: Vec<String> = (0..MAX_CLOSINGS + 10).map(|n| format!("t{n:03}")).collect();
        let (mut before, mut closings) = (settings(&json!({})), Closings::made(100));
        for (at, n) in (200..).zip(0..names.len()) {
            let hidden: Vec<&str> = names[..=n].iter().map(String::as_str).collect();
            let after = settings(&hides(&hidden));
            closings = closings.changed(&before, &after, at);
            before = after;
        }
        assert_eq!(closings.series.len(), MAX_CLOSINGS);
        let file = file(&before, closings);
        for (at, (n, name)) in (200..).zip(names.iter().enumerate()) {
            let expected = if n < 10 { 209 } else { at };
            assert_eq!(file.closure(Some(name)), closed(expected), "{name}");
        }
        assert_eq!(file.closure(Some("other")), open(209));
    }

    #[test]
    fn the_longest_times_fit_beside_the_settings() {
        let name = |n| format!("{n:0>70}");
        let closings = Closings {
            site: Some(i64::MAX),
            others: Some(i64::MAX),
            series: (0..MAX_CLOSINGS).map(|n| (name(n), i64::MAX)).collect(),
        };
        let json = serde_json::to_string(&closings).expect("text keys");
        assert!(json.len() < 7_000, "{} bytes", json.len());
    }
}
