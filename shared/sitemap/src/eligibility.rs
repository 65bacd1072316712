//! Whether a page is listed, and if not, why.

use crate::loc::{Loc, LocError};
use crate::record::{ContentRecord, Departure, Kind, Problem, Status, Visibility};
use crate::site::{PART_PLACE, SiteSettings, URL_PLACE};
use crate::time::When;

/// Seconds for which a page is news (Google's news sitemap guide: two days).
pub const NEWS_SECONDS: i64 = 48 * 3_600;

/// The newest page of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newest {
    /// The record is not an archive, or its pages were not read.
    Unread,
    /// The archive has no page.
    Nobody,
    /// The lastmod of the newest page. `None` if no page has one.
    Page(Option<When>),
}

/// Why a page is excluded. The first reason that applies, in this order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A field that decides about listing is invalid.
    #[error("{0}")]
    BadField(Problem),
    /// Its url is not a valid address of a page, or is on another site.
    #[error("url: {0}")]
    BadUrl(LocError),
    /// Its site has no record and is not among the deployment's sites.
    #[error(
        "site {0:?} is unknown: it has no settings record and is not among the deployment's sites"
    )]
    UnknownSite(String),
    /// The site is private.
    #[error("the site is private")]
    SitePrivate,
    /// The page has moved to this address.
    #[error("it has moved to {0}")]
    Moved(String),
    /// The page is gone for good.
    #[error("gone is set")]
    Gone,
    /// The site does not list this type.
    #[error("the type {0} is not public on this site")]
    TypeNotPublic(String),
    /// Its status is not `published`.
    #[error("status is {0}")]
    NotPublished(Status),
    /// Its visibility is not `public`.
    #[error("visibility is {0}")]
    NotVisible(Visibility),
    /// Search engines are asked not to index it.
    #[error("noindex is set")]
    Noindex,
    /// Its kind is not content.
    #[error("kind is {0}")]
    NotContent(Kind),
    /// No page of the archive is listed.
    #[error("no page of this archive is listed")]
    EmptyArchive,
    /// The address of a part cannot be made.
    #[error("its url has a query: set types.{0}.part_url in the site's settings")]
    NoPartUrl(String),
    /// Its canonical address is a different one.
    #[error("its canonical address is {0}")]
    CanonicalElsewhere(Loc),
    /// It will be published later.
    #[error("published_at is {0}, in the future")]
    NotYet(When),
    /// It has expired.
    #[error("expired at {0}")]
    Expired(When),
    /// Another record has the same address.
    #[error("another record has the same address")]
    Duplicate,
}

impl Newest {
    /// Returns whether the record is an archive without pages.
    #[must_use]
    pub fn empties(self, record: &ContentRecord) -> bool {
        record.archive_of.is_some() && self == Self::Nobody
    }
}

impl Refusal {
    /// Returns whether the passing of time alone may end it. All other reasons come before any that depend on the time.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::EmptyArchive | Self::NotYet(_) | Self::Expired(_)
        )
    }

    /// Returns the refusal's stable name, for counts and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::BadField(_) => "bad_field",
            Self::UnknownSite(_) => "unknown_site",
            Self::SitePrivate => "site_private",
            Self::Moved(_) => "moved",
            Self::Gone => "gone",
            Self::TypeNotPublic(_) => "type_not_public",
            Self::NotPublished(_) => "not_published",
            Self::NotVisible(_) => "not_visible",
            Self::Noindex => "noindex",
            Self::NotContent(_) => "not_content",
            Self::EmptyArchive => "empty_archive",
            Self::NoPartUrl(_) => "no_part_url",
            Self::BadUrl(LocError::ForeignOrigin { .. }) => "foreign_url",
            Self::BadUrl(_) => "bad_url",
            Self::CanonicalElsewhere(_) => "canonical_elsewhere",
            Self::NotYet(_) => "not_yet",
            Self::Expired(_) => "expired",
            Self::Duplicate => "duplicate",
        }
    }
}

/// Returns the site and the address under which a part of a page is listed at `now` (Unix seconds). Part 1 is the page itself.
///
/// Two reasons cannot be known here: another record has the same address, or an archive has no page.
///
/// # Errors
///
/// The first reason to exclude it.
pub fn eligible<'s>(
    record: &ContentRecord,
    part: u32,
    site: Option<&'s SiteSettings>,
    now: i64,
) -> Result<(&'s SiteSettings, Loc), Refusal> {
    if let Some(problem) = record.closing_problem() {
        return Err(Refusal::BadField(problem.clone()));
    }
    // An invalid url names no site.
    Loc::parse_any(&record.url).map_err(Refusal::BadUrl)?;
    let site = site.ok_or_else(|| Refusal::UnknownSite(record.site.clone()))?;
    let refuse_if = |applies: bool, refusal: Refusal| if applies { Err(refusal) } else { Ok(()) };
    refuse_if(!site.public, Refusal::SitePrivate)?;
    if let Some(departure) = &record.departure {
        // The redirect is answered under the page's own address, whatever its type, status or dates.
        Loc::parse(&record.url, &site.origin).map_err(Refusal::BadUrl)?;
        return Err(match departure {
            Departure::MovedTo(target) => Refusal::Moved(target.clone()),
            Departure::Gone => Refusal::Gone,
        });
    }
    let public = site.type_settings(&record.type_name).public;
    refuse_if(!public, Refusal::TypeNotPublic(record.type_name.clone()))?;
    refuse_if(
        record.status != Status::Published,
        Refusal::NotPublished(record.status),
    )?;
    refuse_if(
        record.visibility != Visibility::Public,
        Refusal::NotVisible(record.visibility),
    )?;
    refuse_if(record.noindex, Refusal::Noindex)?;
    refuse_if(
        record.kind != Kind::Content,
        Refusal::NotContent(record.kind),
    )?;
    let loc = Loc::parse(&record.url, &site.origin).map_err(Refusal::BadUrl)?;
    if let Some(canonical) = record
        .canonical_url
        .as_ref()
        .filter(|canonical| !canonical.is_equivalent(&loc))
    {
        return Err(Refusal::CanonicalElsewhere(canonical.clone()));
    }
    if let Some(at) = record.published_at.filter(|at| at.seconds() > now) {
        return Err(Refusal::NotYet(at));
    }
    if let Some(at) = record.expires_at.filter(|at| at.seconds() <= now) {
        return Err(Refusal::Expired(at));
    }
    let loc = match part {
        1 => loc,
        _ => part_loc(record, part, site, &loc)?,
    };
    Ok((site, loc))
}

/// Returns the address of a part, by its type's pattern. By default the number is a further segment of the path.
fn part_loc(
    record: &ContentRecord,
    part: u32,
    site: &SiteSettings,
    page: &Loc,
) -> Result<Loc, Refusal> {
    let page = page.as_str();
    let url = match site.type_settings(&record.type_name).part_url {
        Some(pattern) => pattern
            .replace(PART_PLACE, &part.to_string())
            .replace(URL_PLACE, page),
        None if page.contains('?') => return Err(Refusal::NoPartUrl(record.type_name.clone())),
        None if page.ends_with('/') => format!("{page}{part}/"),
        None => format!("{page}/{part}"),
    };
    Loc::parse(&url, &site.origin).map_err(Refusal::BadUrl)
}

/// Returns the lastmod to write. That of an archive is its newest page's. A lastmod is never in the future.
#[must_use]
pub fn lastmod(record: &ContentRecord, newest: Newest, now: i64) -> Option<When> {
    match newest {
        Newest::Page(lastmod) if record.archive_of.is_some() => lastmod,
        _ => record.last_change().filter(|at| at.seconds() <= now),
    }
}

/// Whether a page is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewsState {
    /// Neither the record nor its type says that it is news.
    Never,
    /// It is excluded from the news for this reason.
    Not(&'static str),
    /// It is news until this time (Unix seconds, exclusive).
    Until(i64),
}

/// Returns whether the page is news at `now`.
#[must_use]
pub fn news(record: &ContentRecord, site: &SiteSettings, now: i64) -> NewsState {
    let is_meant = record.news.is_some() || site.type_settings(&record.type_name).news;
    if record.no_news || !is_meant {
        return NewsState::Never;
    }
    let is_recent = |at: &When| at.seconds() <= now && now < at.seconds() + NEWS_SECONDS;
    let modified = record.modified_at.filter(|_| !site.news_published_only);
    let mut dates = [record.published_at, modified].into_iter().flatten();
    if let Some(newest) = dates.clone().filter(is_recent).max() {
        return NewsState::Until(newest.seconds() + NEWS_SECONDS);
    }
    NewsState::Not(match (record.published_at, record.modified_at) {
        (None, None) => "it has neither published_at nor modified_at",
        (None, Some(_)) if site.news_published_only => {
            "it has no published_at, and the site's news_published_only is set"
        }
        _ if dates.all(|at| at.seconds() > now) => "its date is in the future",
        // `modified_at` does not matter here. Otherwise the news could change with the page's age, and nothing would be due at
        // that time.
        _ if site.news_published_only => {
            "it was published more than 48 hours ago, and the site's news_published_only is set"
        }
        _ => "it was published or modified more than 48 hours ago",
    })
}

/// Returns the next moment (Unix seconds) at which time alone changes the listing of a record, or the reason to exclude it. This
/// applies only if the record has no refusal that is independent of time.
#[must_use]
pub fn next_due(record: &ContentRecord, now: i64) -> Option<i64> {
    [record.published_at, record.expires_at, record.last_change()]
        .into_iter()
        .flatten()
        .map(When::seconds)
        .filter(|at| *at > now)
        .min()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: i64 = 1_800_000_000; // 2027-01-15T08:00:00Z

    fn check(fields: Value, expected: &str) {
        let mut item = json!({"type": "post", "url": "https://www.example.com/a"});
        item.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let record = ContentRecord::parse("post/1", &item);
        let mut site = SiteSettings::default_for("www.example.com").unwrap();
        site.types = serde_json::from_value(json!({"hidden": {"public": false}})).unwrap();
        let name = eligible(&record, 1, Some(&site), NOW)
            .map_or_else(|refusal| refusal.name(), |_| "listed");
        assert_eq!(name, expected, "{fields}");
    }

    #[test]
    fn each_rule() {
        check(json!({}), "listed");
        for status in ["draft", "pending", "scheduled", "private", "trash", "error"] {
            check(json!({"status": status}), "not_published");
        }
        check(json!({"visibility": "password"}), "not_visible");
        check(json!({"visibility": "private"}), "not_visible");
        check(json!({"noindex": true}), "noindex");
        for kind in ["search_results", "error", "paginated_archive"] {
            check(json!({"kind": kind}), "not_content");
        }
        check(json!({"type": "hidden"}), "type_not_public");
        check(json!({"moved_to": "/b"}), "moved");
        check(json!({"moved_to": ""}), "listed");
        check(json!({"gone": true}), "gone");
        check(json!({"gone": false}), "listed");
        check(json!({"gone": true, "status": "trash"}), "gone");
        check(json!({"gone": true, "type": "hidden"}), "gone");
        check(
            json!({"gone": true, "url": "https://other.example/a"}),
            "foreign_url",
        );
        check(json!({"gone": "yes"}), "bad_field");
        check(json!({"gone": true, "moved_to": "/b"}), "bad_field");
        check(json!({"moved_to": "javascript:alert(1)"}), "bad_field");
        check(json!({"type": "site"}), "bad_field");
        check(
            json!({"url": "https://www.example.com.evil/"}),
            "foreign_url",
        );
        check(json!({"url": "http://www.example.com/a"}), "foreign_url");
        check(json!({"url": "/a"}), "bad_url");
        check(json!({"modified_at": "2020-02-30"}), "bad_field");
        check(
            json!({"canonical_url": "https://www.example.com/b"}),
            "canonical_elsewhere",
        );
        check(
            json!({"canonical_url": "https://WWW.example.com:443/a"}),
            "listed",
        );
        check(
            json!({"canonical_url": "https://other.example/a"}),
            "canonical_elsewhere",
        );
        check(json!({"published_at": "2027-01-15T08:00:00Z"}), "listed");
        check(json!({"published_at": "2027-01-15T08:00:01Z"}), "not_yet");
        check(json!({"expires_at": "2027-01-15T08:00:00Z"}), "expired");
        check(json!({"expires_at": "2027-01-15T08:00:01Z"}), "listed");
    }

    #[test]
    fn sites() {
        let record = ContentRecord::parse(
            "p",
            &json!({"type": "post", "url": "https://www.example.com/a"}),
        );
        assert_eq!(
            eligible(&record, 1, None, NOW).unwrap_err().name(),
            "unknown_site"
        );
        let private = SiteSettings {
            public: false,
            ..SiteSettings::default_for("www.example.com").unwrap()
        };
        assert_eq!(
            eligible(&record, 1, Some(&private), NOW),
            Err(Refusal::SitePrivate)
        );
    }

    #[test]
    fn an_archive_is_as_new_as_its_newest_page() {
        let item = json!({"type": "tag", "url": "https://www.example.com/tag/rust", "modified_at": "2026-01-01",
            "archive_of": {"taxonomy": "tag", "term": "rust"}});
        let record = ContentRecord::parse("p", &item);
        let site = SiteSettings::default_for("www.example.com").unwrap();
        for newest in [
            Newest::Unread,
            Newest::Page(None),
            Newest::Page(Some(When::at(NOW))),
        ] {
            assert!(!newest.empties(&record));
        }
        assert!(eligible(&record, 1, Some(&site), NOW).is_ok() && Newest::Nobody.empties(&record));
        assert_eq!(lastmod(&record, Newest::Page(None), NOW), None);
        assert_eq!(
            lastmod(&record, Newest::Page(Some(When::at(7))), NOW),
            Some(When::at(7))
        );
    }

    #[test]
    fn parts_have_addresses_of_their_own() {
        let part = |url: &str, site: &SiteSettings| {
            let record =
                ContentRecord::parse("p", &json!({"type": "post", "url": url, "pages": 3}));
            let listed = eligible(&record, 3, Some(site), NOW);
            listed
                .map(|(_, loc)| loc.as_str().to_owned())
                .map_err(|refusal| refusal.name())
        };
        let mut site = SiteSettings::default_for("www.example.com").unwrap();
        let ok = |url: &str| Ok(url.to_owned());
        assert_eq!(
            part("https://www.example.com/a/", &site),
            ok("https://www.example.com/a/3/")
        );
        assert_eq!(
            part("https://www.example.com/a", &site),
            ok("https://www.example.com/a/3")
        );
        assert_eq!(
            part("https://www.example.com/?p=1", &site),
            Err("no_part_url")
        );
        let patterns = json!({"types": {"post": {"part_url": "{url}&page={part}"}}});
        site = SiteSettings::parse("www.example.com", &patterns).unwrap();
        assert_eq!(
            part("https://www.example.com/?p=1", &site),
            ok("https://www.example.com/?p=1&page=3")
        );
        let patterns =
            json!({"types": {"post": {"part_url": "https://elsewhere.example/?{url}={part}"}}});
        site = SiteSettings::parse("www.example.com", &patterns).unwrap();
        assert_eq!(part("https://www.example.com/a", &site), Err("foreign_url"));
    }

    #[test]
    fn a_page_is_news_for_two_days() {
        let mut site = SiteSettings::default_for("www.example.com").unwrap();
        let until = |fields: Value, site: &SiteSettings, now| {
            let mut item = json!({"type": "post", "url": "https://www.example.com/a", "news": {}});
            item.as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            match news(&ContentRecord::parse("p", &item), site, now) {
                NewsState::Until(until) => Some(until),
                NewsState::Never | NewsState::Not(_) => None,
            }
        };
        let published = json!({"published_at": "2027-01-15T08:00:00Z"}); // NOW
        let end = NOW + NEWS_SECONDS;
        assert_eq!(until(published.clone(), &site, NOW - 1), None, "not yet");
        assert_eq!(until(published.clone(), &site, NOW), Some(end));
        assert_eq!(until(published.clone(), &site, end - 1), Some(end));
        assert_eq!(until(published, &site, end), None);
        let modified = json!({"published_at": "2020-01-01", "modified_at": "2027-01-15T08:00:00Z"});
        assert_eq!(until(modified.clone(), &site, NOW), Some(end));
        let by_type = json!({"news": null, "published_at": "2027-01-15T08:00:00Z"});
        assert_eq!(until(by_type.clone(), &site, NOW), None);
        site = SiteSettings::parse(
            "www.example.com",
            &json!({"news_published_only": true, "types": {"post": {"news": true}}}),
        )
        .unwrap();
        assert_eq!(until(modified, &site, NOW), None);
        assert_eq!(until(by_type, &site, NOW), Some(end));
    }

    #[test]
    fn a_page_that_is_meant_to_be_news_and_is_not_says_why() {
        let settings = |fields: Value| SiteSettings::parse("www.example.com", &fields).unwrap();
        let state = |fields: Value, site: &SiteSettings| {
            let mut item = json!({"type": "post", "url": "https://www.example.com/a"});
            item.as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            news(&ContentRecord::parse("p", &item), site, NOW)
        };
        let site = settings(json!({"types": {"post": {"news": true}}}));
        let strict =
            settings(json!({"types": {"post": {"news": true}}, "news_published_only": true}));
        let recent = "2027-01-15T07:00:00Z";
        for (fields, site, part) in [
            (json!({}), &site, "neither published_at nor modified_at"),
            (json!({"published_at": "2026-01-01"}), &site, "48 hours ago"),
            (json!({"modified_at": "2028-01-01"}), &site, "in the future"),
            (json!({"modified_at": recent}), &strict, "no published_at"),
            (
                json!({"published_at": "2026-01-01", "modified_at": recent}),
                &strict,
                "news_published_only",
            ),
        ] {
            let NewsState::Not(reason) = state(fields.clone(), site) else {
                panic!("{fields} is news, or not meant to be");
            };
            assert!(reason.contains(part), "{fields}: {reason}");
        }
        let fresh = json!({"published_at": recent});
        assert!(matches!(state(fresh, &site), NewsState::Until(_)));
        let out = json!({"published_at": recent, "news": false});
        assert_eq!(state(out, &site), NewsState::Never);
        let plain = SiteSettings::default_for("www.example.com").unwrap();
        let given = json!({"published_at": recent, "news": true});
        assert!(matches!(state(given, &plain), NewsState::Until(_)));
        assert_eq!(
            state(json!({"published_at": recent}), &plain),
            NewsState::Never
        );
    }

    #[test]
    fn a_bad_url_is_the_reason_before_the_site_that_it_does_not_name() {
        for url in ["nope", "/rel", "x#y", "javascript:alert(1)", ""] {
            let record = ContentRecord::parse("p", &json!({"type": "post", "url": url}));
            let refusal = eligible(&record, 1, None, NOW).unwrap_err();
            assert_eq!(refusal.name(), "bad_url", "{url}");
        }
    }

    #[test]
    fn a_canonical_address_that_cannot_be_read_leaves_the_page_out() {
        let with = |canonical: Value, expected: &str| {
            check(json!({"canonical_url": canonical}), expected);
        };
        for bad in [
            json!("https://www.example.com/a#top"),
            json!("javascript:void(0)"),
            json!(7),
            json!(false),
            json!(["https://www.example.com/a"]),
            json!({"href": "https://www.example.com/a"}),
            json!(" "),
        ] {
            with(bad, "bad_field");
        }
        // A relative canonical URL is resolved against the url.
        with(json!("/other/"), "canonical_elsewhere");
        with(json!("www.example.com/a"), "canonical_elsewhere");
        with(json!("/a"), "listed");
        with(json!("./a"), "listed");
        with(json!("//www.example.com/a"), "listed");
        with(json!(""), "listed");
        with(Value::Null, "listed");
    }

    #[test]
    fn time_decides_lastmod_and_what_is_due() {
        let item = json!({"type": "post", "url": "https://www.example.com/a", "published_at": "2027-01-15T08:00:10Z",
            "modified_at": "2027-01-15T08:00:20Z", "expires_at": "2027-01-15T08:00:30Z"});
        let record = ContentRecord::parse("p", &item);
        assert_eq!(next_due(&record, NOW), Some(NOW + 10));
        assert_eq!(next_due(&record, NOW + 10), Some(NOW + 20));
        assert_eq!(lastmod(&record, Newest::Unread, NOW + 19), None);
        assert_eq!(
            lastmod(&record, Newest::Unread, NOW + 20),
            record.modified_at
        );
        assert_eq!(next_due(&record, NOW + 30), None);
    }
}
