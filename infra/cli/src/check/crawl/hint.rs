//! The hint for a site that names another host than the one that is checked: a local server, a staging host or the website of a
//! bucket often names the public addresses.

use std::collections::BTreeMap;

use check::document::{Document, Kind};
use check::url::origin_of;
use sitemap::loc::normalized;
use url::Url;

use crate::check::target::Target;
use crate::fetch::client::Client;

/// Origins that are counted: a site has a few.
const MAX_ORIGINS: usize = 64;

/// The number of times that each origin is named.
type Counts = BTreeMap<String, u64>;

/// The origins that the documents of a target name.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By the `Sitemap` lines of robots.txt.
    robots: Counts,
    /// By the indexes.
    sitemaps: Counts,
    /// By the sitemaps.
    pages: Counts,
    /// Origins whose robots.txt lets the target list their pages. They need no hint.
    permitted: Vec<String>,
}

impl Names {
    pub(super) fn by_robots(&mut self, url: &str) {
        if let Some(origin) = origin_of(url) {
            add(&mut self.robots, origin, 1);
        }
    }

    pub(super) fn by_document(&mut self, document: &Document) {
        let counts = match document.kind {
            Kind::Index => &mut self.sitemaps,
            Kind::Sitemap | Kind::Text | Kind::Rss | Kind::Atom => &mut self.pages,
            Kind::Html | Kind::Other => return,
        };
        for (origin, count) in &document.origins {
            add(counts, origin, *count);
        }
    }

    pub(super) fn permit(&mut self, origins: &[String]) {
        for origin in origins {
            let origin = same(origin);
            if self.permitted.len() < MAX_ORIGINS && !self.permitted.contains(&origin) {
                self.permitted.push(origin);
            }
        }
    }

    /// Returns what to add to the command. Returns `None` if the documents name the target's own host.
    pub(super) fn hint(
        &self,
        target: &Target,
        client: &Client,
        is_index_alone: bool,
    ) -> Option<String> {
        if is_index_alone {
            return self.hint_of_index(target);
        }
        let (own, rest) = match target {
            Target::Site(own) => (own.as_str(), "/"),
            Target::Sitemap(url) => {
                let own = origin_of(url)?;
                (own, &url[own.len()..])
            }
            Target::Folder(_, own)
            | Target::Bucket { origin: own, .. }
            | Target::File(_, Some(own))
            | Target::Input(Some(own)) => {
                let other = self.other(own, None)?;
                return Some(format!(
                    "the documents of {} name {other}, not {own}. If they will be served there, give --origin {other}",
                    target.name()
                ));
            }
            Target::File(_, None) | Target::Input(None) => return None,
        };
        let led = client.led_to(own);
        let other = self.other(own, led.as_deref())?;
        if client.asked(&other) != other || self.permitted.contains(&other) {
            return None;
        }
        let says = format!("the documents of {own} name {other}, not {own}");
        if is_name_of_same_site(own, &other) {
            return Some(format!("{says}. Check {other}/ instead"));
        }
        Some(format!(
            "{says}. If {own} serves what is at {other}, check it with: waymark check {} --map {}",
            quoted(&format!("{other}{rest}")),
            quoted(&format!("{other}={own}"))
        ))
    }

    /// Returns the origin that is named most, if the target's own is not named.
    fn other(&self, own: &str, led: Option<&str>) -> Option<String> {
        let own = same(own);
        let named = [&self.pages, &self.sitemaps, &self.robots];
        let other = match named.into_iter().find(|counts| !counts.is_empty()) {
            Some(counts) if counts.contains_key(&own) => return None,
            Some(counts) => most(counts)?,
            None => same(led?),
        };
        // It may be pasted into a shell, and documents are the work of others.
        (other != own && is_plain(&other)).then_some(other)
    }

    /// Returns the hint for an index whose sitemaps are not read, because nobody said where they are.
    fn hint_of_index(&self, target: &Target) -> Option<String> {
        let name = target.name();
        match target {
            Target::File(..) => {
                let origin = most(&self.sitemaps).filter(|origin| is_plain(origin))?;
                Some(format!(
                    "the sitemaps that {name} lists were not read. To read them beside it, add --origin {origin}"
                ))
            }
            _ => Some(format!(
                "the sitemaps that {name} lists were not read. To read them, name the index by its address or its file"
            )),
        }
    }
}

fn add(counts: &mut Counts, origin: &str, count: u64) {
    let origin = same(origin);
    if counts.len() < MAX_ORIGINS || counts.contains_key(&origin) {
        *counts.entry(origin).or_default() += count;
    }
}

/// Returns the most frequent origin. Of equally frequent ones, the first in the alphabet.
fn most(counts: &Counts) -> Option<String> {
    let most = counts.iter().rev().max_by_key(|(_, count)| **count);
    most.map(|(origin, _)| origin.clone())
}

/// Returns an origin in the form in which origins are compared.
fn same(origin: &str) -> String {
    let normal = normalized(&format!("{origin}/")).into_owned();
    normal.strip_suffix('/').unwrap_or(&normal).to_owned()
}

/// Returns whether an origin has only characters that no shell acts on.
fn is_plain(origin: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b".:/-".contains(&byte);
    origin.bytes().all(is_safe)
}

/// Returns whether two origins are names of one site: they differ in the scheme or in `www.`. At another port is another server.
fn is_name_of_same_site(own: &str, other: &str) -> bool {
    let host = |origin: &str| {
        let url = Url::parse(origin).ok()?;
        let host = url.host_str().filter(|_| url.port().is_none())?.to_owned();
        Some(host.strip_prefix("www.").unwrap_or(&host).to_owned())
    };
    host(own).is_some_and(|own| Some(own) == host(other))
}

/// Quotes a word of a command for a shell, if need be.
fn quoted(word: &str) -> String {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b".:/-_~%=".contains(&byte);
    match word.bytes().all(is_safe) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fetch::client::Asking;

    const OWN: &str = "http://127.0.0.1:8080";
    const PUBLIC: &str = "https://www.example.com";

    fn client(maps: &[(&str, &str)]) -> Client {
        let owned = |(from, to): &(&str, &str)| ((*from).to_owned(), (*to).to_owned());
        Client::new(Asking {
            rate: None,
            timeout: Duration::from_secs(1),
            retries: 0,
            headers: Vec::new(),
            user_agent: String::new(),
            maps: maps.iter().map(owned).collect(),
            origins: Vec::new(),
            named: Vec::new(),
            allow_private: false,
            max_time: None,
        })
    }

    fn names(robots: &[&str], sitemaps: &[&str], pages: &[&str]) -> Names {
        let mut names = Names::default();
        for (counts, origins) in [
            (&mut names.robots, robots),
            (&mut names.sitemaps, sitemaps),
            (&mut names.pages, pages),
        ] {
            for origin in origins {
                add(counts, origin, 1);
            }
        }
        names
    }

    #[test]
    fn a_site_that_names_its_public_host_has_a_hint() {
        let site = Target::Site(OWN.to_owned());
        for names in [
            names(&[PUBLIC], &[], &[]),
            names(&[OWN], &[PUBLIC], &[]),
            names(&[OWN], &[OWN], &["https://WWW.example.com:443"]),
        ] {
            let hint = names.hint(&site, &client(&[]), false).unwrap();
            let end = "check it with: waymark check https://www.example.com/ --map https://www.example.com=http://127.0.0.1:8080";
            assert!(hint.ends_with(end), "{hint}");
            let mapped = client(&[(PUBLIC, OWN)]);
            assert_eq!(names.hint(&site, &mapped, false), None);
        }
        let sitemap = Target::Sitemap(format!("{OWN}/a.xml?x=1&y"));
        let hint = names(&[], &[], &[PUBLIC]).hint(&sitemap, &client(&[]), false);
        let end = "waymark check 'https://www.example.com/a.xml?x=1&y' --map https://www.example.com=http://127.0.0.1:8080";
        assert!(hint.is_some_and(|hint| hint.ends_with(end)));
        let local = Target::Site("http://[::1]:8080".to_owned());
        let hint = names(&[], &[], &["http://[::1]:3000"]).hint(&local, &client(&[]), false);
        assert_eq!(hint, None);
        let hint = names(&[], &[], &["http://localhost:3000"]).hint(&local, &client(&[]), false);
        let end =
            "waymark check http://localhost:3000/ --map 'http://localhost:3000=http://[::1]:8080'";
        assert!(hint.is_some_and(|hint| hint.ends_with(end)));
    }

    #[test]
    fn a_site_that_names_itself_has_no_hint() {
        let site = Target::Site(OWN.to_owned());
        for names in [
            names(&[OWN], &[OWN], &[OWN]),
            names(&[PUBLIC], &[PUBLIC], &[OWN, PUBLIC, PUBLIC]),
            names(&[], &[], &[]),
            names(&[], &[], &["https://$(id)"]),
        ] {
            assert_eq!(names.hint(&site, &client(&[]), false), None);
        }
        let mut permitted = names(&[], &[], &[PUBLIC]);
        permitted.permit(&[PUBLIC.to_owned()]);
        assert_eq!(permitted.hint(&site, &client(&[]), false), None);
    }

    #[test]
    fn files_are_given_an_origin_and_another_name_is_checked_itself() {
        let folder = Target::Folder("public".into(), "https://staging.example.com".to_owned());
        let named = names(&[], &[], &[PUBLIC]);
        let hint = named.hint(&folder, &client(&[]), false).unwrap();
        assert!(
            hint.ends_with("give --origin https://www.example.com"),
            "{hint}"
        );
        let apex = Target::Site("https://example.com".to_owned());
        let hint = named.hint(&apex, &client(&[]), false).unwrap();
        assert!(
            hint.ends_with("Check https://www.example.com/ instead"),
            "{hint}"
        );
        let file = Target::File("index.xml".into(), None);
        assert_eq!(named.hint(&file, &client(&[]), false), None);
        let index = names(&[], &[PUBLIC], &[]);
        let hint = index.hint(&file, &client(&[]), true).unwrap();
        assert!(
            hint.ends_with("add --origin https://www.example.com"),
            "{hint}"
        );
        let hint = index
            .hint(&Target::Input(None), &client(&[]), true)
            .unwrap();
        assert!(hint.ends_with("by its address or its file"), "{hint}");
    }
}
