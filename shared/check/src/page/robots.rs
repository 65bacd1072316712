//! Reads whether X-Robots-Tag and `<meta name="robots">` forbid indexing a page. The most restrictive rule counts.
//!
//! Google's description: <https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag>.

use super::date;
use crate::findings::Policy;
use crate::rules::Profile;

/// A crawler with directives of its own, and its profile.
const CRAWLERS: [(&str, Profile); 2] = [("googlebot", Profile::Google), ("bingbot", Profile::Bing)];
/// The names for all crawlers: in a header, and in a page.
const ALL: [&str; 2] = ["*", "robots"];

/// Returns whether a `<meta>` with this name (in lower case) is for crawlers that may matter.
pub(super) fn is_for_crawlers(name: &str) -> bool {
    ALL.contains(&name) || CRAWLERS.iter().any(|(crawler, _)| *crawler == name)
}

/// The crawlers whose directives count, and the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    pub(super) policy: &'a Policy,
    pub(super) now: i64,
}

/// A rule that excludes a page from an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ban {
    /// The crawler to which it applies. `None` for all.
    pub(super) agent: Option<String>,
    /// The date from which it applies. `None` if it applies already.
    pub(super) after: Option<String>,
}

impl Reading<'_> {
    /// Returns the ban in one X-Robots-Tag: `noindex, nofollow`, `otherbot: noindex`. A crawler's name applies to the following
    /// directives in the same header, up to the next name.
    pub(super) fn header(&self, header: &str) -> Option<Ban> {
        self.read(header, true)
    }

    /// Returns the ban in a `<meta>` with this name.
    pub(super) fn meta(&self, name: &str, content: &str) -> Option<Ban> {
        let ban = self.counts(name).then(|| self.read(content, false))??;
        let agent = Some(name.trim().to_ascii_lowercase());
        Some(Ban { agent, ..ban })
    }

    /// Returns whether a crawler's directives count: those for all crawlers, and those for the requested engines.
    fn counts(&self, agent: &str) -> bool {
        let agent = agent.trim().to_ascii_lowercase();
        let asked = |profile| self.policy.asks(profile);
        let none_asked = !CRAWLERS.iter().any(|(_, profile)| asked(*profile));
        let is_it =
            |(name, profile): &(&str, Profile)| agent == *name && (asked(*profile) || none_asked);
        ALL.contains(&&*agent) || CRAWLERS.iter().any(is_it)
    }

    fn read(&self, directives: &str, has_agents: bool) -> Option<Ban> {
        let is_gap = |c: char| c == ',' || c.is_whitespace();
        let (mut agent, mut counts) = (None, true);
        let mut rest = directives;
        loop {
            rest = rest.trim_start_matches(is_gap);
            if rest.is_empty() {
                return None;
            }
            let end = rest.find(|c: char| c == ':' || is_gap(c));
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            let is = |name: &str| word.eq_ignore_ascii_case(name);
            let Some(value) = after.trim_start().strip_prefix(':') else {
                if counts && (is("noindex") || is("none")) {
                    return Some(Ban { agent, after: None });
                }
                rest = after;
                continue;
            };
            let is_agent =
                has_agents && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '*');
            if is("unavailable_after") {
                // A date contains commas and colons.
                let Some((over, date, behind)) = date::leading(value) else {
                    rest = value;
                    continue;
                };
                if counts && over < self.now {
                    let after = Some(date.to_owned());
                    return Some(Ban { agent, after });
                }
                rest = behind;
            } else if is_agent && !word.to_ascii_lowercase().starts_with("max-") {
                counts = self.counts(word);
                agent = (!ALL.contains(&word)).then(|| word.to_ascii_lowercase());
                rest = value;
            } else {
                // A value is not a directive, as in `max-image-preview: none`.
                let value = value.trim_start();
                rest = value.trim_start_matches(|c| !is_gap(c));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_550_400; // 2026-11-24T20:00:00Z

    fn ban(header: &str, profiles: &[Profile]) -> Option<Ban> {
        let policy = &Policy::of(profiles);
        Reading { policy, now: NOW }.header(header)
    }

    #[test]
    fn a_header_forbids_indexing_or_not() {
        for header in [
            "noindex",
            "NOINDEX",
            "nofollow, None",
            "nofollow,noindex",
            "noindex nofollow",
            "*: noindex",
            "index, noindex",
            "googlebot: noindex",
            "GoogleBot : nofollow, noindex",
            "googlebot:noindex",
            "googlebot: nofollow, bingbot: noindex",
            "otherbot: nofollow, bingbot: noindex",
            "otherbot: noindex, googlebot: unavailable_after: 2026-01-01",
            "max-image-preview: none, noindex",
            "max-image-preview:none noindex",
            "max-snippet: 20, max-video-preview: -1, noindex",
            "unavailable_after: 25 Jun 2010 15:00:00 PST",
            "unavailable_after: Friday, 25-Jun-10 15:00:00 UTC",
            "Unavailable_After: Fri, 25 Jun 2010 15:00:00 GMT, nofollow",
            "nofollow, unavailable_after: 2026-11-24T19:59:59Z",
            "unavailable_after: 2026-11-23",
            "unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT, noindex",
            "unavailable_after: never, noindex",
            "unavailable_after: Friday, 25-Foo-27 15:00:00 UTC, noindex",
            "unavailable_after:, noindex",
        ] {
            assert!(ban(header, &Profile::DEFAULT).is_some(), "{header}");
        }
        for header in [
            "",
            ",",
            ":",
            "all",
            "nofollow",
            "noindexed",
            "noimageindex, notranslate, nosnippet, noarchive, indexifembedded",
            "otherbot: noindex, nofollow",
            "otherbot:noindex",
            "otherbot: nofollow, noindex",
            "googlebot: nofollow, otherbot: noindex",
            "googlebot-news: noindex",
            "max-image-preview: none",
            "max-image-preview:none",
            "max-image-preview : none, max-snippet: -1",
            "Max-Snippet: noindex",
            "max-video-preview: none, follow",
            "unavailable_after: 25 Jun 2027 15:00:00 PST",
            "unavailable_after: Friday, 25-Jun-27 15:00:00 UTC",
            "unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT, nofollow",
            "unavailable_after: 2026-11-24T20:00:00Z",
            "unavailable_after: 2026-11-24",
            "unavailable_after: never",
            "otherbot: unavailable_after: 2010-06-25",
            "otherbot: unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT, noindex",
        ] {
            assert_eq!(ban(header, &Profile::DEFAULT), None, "{header}");
        }
    }

    #[test]
    fn a_ban_says_for_whom_and_from_when_on() {
        let for_google = ban("otherbot: none, Googlebot: none", &Profile::DEFAULT);
        assert_eq!(for_google.unwrap().agent.as_deref(), Some("googlebot"));
        assert_eq!(ban("*: none", &Profile::DEFAULT), Some(Ban::default()));
        let date = "Fri, 25 Jun 2010 15:00:00 GMT";
        let after = ban(
            &format!("unavailable_after: {date}, all"),
            &Profile::DEFAULT,
        );
        assert_eq!(after.unwrap().after.as_deref(), Some(date));
    }

    #[test]
    fn the_profiles_say_whose_directives_count() {
        let [google, bing] = ["googlebot: noindex", "bingbot: noindex"];
        for (profiles, [by_google, by_bing]) in [
            (&Profile::DEFAULT[..], [true, true]),
            (&[Profile::Google], [true, false]),
            (&[Profile::Bing], [false, true]),
            (&[Profile::Waymark], [true, true]),
        ] {
            assert_eq!(ban(google, profiles).is_some(), by_google, "{profiles:?}");
            assert_eq!(ban(bing, profiles).is_some(), by_bing, "{profiles:?}");
            assert!(ban("noindex", profiles).is_some());
        }
    }

    #[test]
    fn a_tag_of_a_page_forbids_indexing_or_not() {
        let policy = &Policy::default();
        let meta = |name, content| Reading { policy, now: NOW }.meta(name, content).is_some();
        for (name, content, expected) in [
            ("robots", "noindex", true),
            ("Robots ", "index,NONE", true),
            ("googlebot", "noindex, follow", true),
            ("bingbot", "noindex", true),
            (
                "robots",
                "unavailable_after: 23-Jul-2007 18:00:00 EST",
                true,
            ),
            (
                "robots",
                "unavailable_after: 23-Jul-2037 18:00:00 EST",
                false,
            ),
            (
                "robots",
                "index, follow, max-image-preview:large, max-snippet:-1",
                false,
            ),
            ("robots", "max-image-preview: none", false),
            ("robots", "max-image-preview: none, none", true),
            // The content of a page's tag has no names of crawlers.
            ("robots", "otherbot: nofollow, noindex", true),
            ("otherbot", "noindex", false),
            ("googlebot-news", "noindex", false),
            ("", "noindex", false),
        ] {
            assert_eq!(meta(name, content), expected, "{name}: {content}");
        }
    }
}
