//! Derives the form of a site's permalinks from the addresses of its posts. An export does not have the setting.
//!
//! WordPress puts what is before the first part that changes, its "front", before the archives, too: under `/blog/%postname%/` a
//! category is `/blog/category/soups/`. The setting's last slash is theirs, too. Without a setting archives are queries.

use std::collections::BTreeSet;

/// What a post's address may be made of.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub(super) id: &'a str,
    pub(super) slug: &'a str,
    /// In the zone of the site: `2026-01-02 03:04:05`.
    pub(super) date: &'a str,
    /// The paths of its categories.
    pub(super) categories: Vec<String>,
    pub(super) author: Option<String>,
}

/// What the permalinks of a site look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Permalinks {
    /// Queries: `/?p=7`.
    Plain,
    /// Paths. `front` begins and mostly ends with a slash; `slash` is the last one, or nothing.
    Pretty { front: String, slash: &'static str },
}

/// What the addresses of posts have shown.
#[derive(Debug, Default)]
pub(super) struct Seen {
    is_plain: bool,
    /// Of the posts' addresses, and of the pages'.
    last: BTreeSet<&'static str>,
    /// The fronts that all posts may have, and those of them that need no category or author to explain them.
    fronts: Option<(BTreeSet<String>, BTreeSet<String>)>,
}

impl Seen {
    /// Notes the address of a published post: the part after the address of the site.
    pub(super) fn post(&mut self, path: &str, parts: &Parts<'_>) {
        if path.contains('?') {
            self.is_plain = true;
            return;
        }
        self.page(path);
        let (mut any, mut sure) = (BTreeSet::new(), BTreeSet::new());
        for (at, _) in path.match_indices(|c: char| !c.is_alphanumeric()) {
            let (front, rest) = path.split_at(at + 1);
            let is_sure = parts.begin(rest);
            if is_sure {
                sure.insert(front.to_owned());
            }
            if is_sure || parts.may_begin(rest) {
                any.insert(front.to_owned());
            }
        }
        self.fronts = Some(match self.fronts.take() {
            None => (any, sure),
            Some((all, certain)) => (&all & &any, &certain & &sure),
        });
    }

    /// Notes the address of a published page, which ends as those of posts do.
    pub(super) fn page(&mut self, path: &str) {
        let is_front_page = path.trim_matches('/').is_empty();
        if !path.contains('?') && !is_front_page {
            self.last.insert(if path.ends_with('/') { "/" } else { "" });
        }
    }

    /// Returns whether any address is a path.
    pub(super) fn is_pretty(&self) -> bool {
        !self.last.is_empty()
    }

    /// Returns what the permalinks look like.
    ///
    /// # Errors
    ///
    /// Why the form is not known.
    pub(super) fn permalinks(&self) -> Result<Permalinks, &'static str> {
        let Some((any, sure)) = &self.fronts else {
            return match self.is_plain && !self.is_pretty() {
                true => Ok(Permalinks::Plain),
                false => Err("no published post shows where they are"),
            };
        };
        let shortest =
            |fronts: &BTreeSet<String>| fronts.iter().min_by_key(|front| front.len()).cloned();
        let front = match (shortest(any), shortest(sure)) {
            (Some(front), Some(sure)) if front == sure => front,
            (Some(front), None) => front,
            // Such as /soups/bread/ for a post in the category soups: is that the category, or the same for all posts?
            (Some(_), Some(_)) => return Err("the addresses of posts can be read in two ways"),
            (None, _) => return Err("the addresses of posts do not show where they are"),
        };
        let mut last = self.last.iter();
        match (last.next(), last.next()) {
            (Some(slash), None) => Ok(Permalinks::Pretty { front, slash }),
            _ => Err("some addresses end with / and some do not"),
        }
    }
}

impl Parts<'_> {
    /// Returns whether the part after a front begins with something that distinguishes posts.
    fn begin(&self, rest: &str) -> bool {
        let date = |from: usize, to: usize| self.date.get(from..to).unwrap_or_default();
        let year = date(0, 4);
        // Other parts of the date may follow it at once.
        let is_year = !year.is_empty() && rest.starts_with(year);
        let rest_of_date =
            [(5, 7), (8, 10), (11, 13), (14, 16), (17, 19)].map(|(from, to)| date(from, to));
        is_year
            || [self.id, self.slug]
                .iter()
                .chain(&rest_of_date)
                .any(|part| begins(rest, part))
    }

    /// Returns whether it begins with a part that several posts may have.
    fn may_begin(&self, rest: &str) -> bool {
        self.categories
            .iter()
            .chain(&self.author)
            .any(|part| begins(rest, part))
    }
}

/// Returns whether a path begins with a part, and not with a longer one.
fn begins(path: &str, part: &str) -> bool {
    let head = path.get(..part.len());
    let behind = path.get(part.len()..).unwrap_or_default();
    !part.is_empty()
        && head.is_some_and(|head| head.eq_ignore_ascii_case(part))
        && !behind.starts_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the permalinks that posts show. Each post is number, slug, category's path, address.
    #[track_caller]
    fn check(posts: &[(&str, &str, &str, &str)], expected: Result<(&str, &'static str), &str>) {
        let mut seen = Seen::default();
        for (at, (id, slug, category, path)) in posts.iter().enumerate() {
            let date = format!("2026-{:02}-11 08:09:13", at + 3);
            let parts = Parts {
                id,
                slug,
                date: &date,
                categories: vec![(*category).to_owned()],
                author: Some("ada".to_owned()),
            };
            seen.post(path, &parts);
        }
        let expected = expected.map(|(front, slash)| match front {
            "?" => Permalinks::Plain,
            front => Permalinks::Pretty {
                front: front.to_owned(),
                slash,
            },
        });
        assert_eq!(seen.permalinks(), expected, "{posts:?}");
    }

    #[test]
    fn the_addresses_of_posts_show_the_front_and_the_slash() {
        for (front, slash, paths) in [
            ("/", "/", ["/bread/", "/old-soup/"]),
            ("/", "", ["/bread", "/old-soup"]),
            ("/", "", ["/bread.html", "/old-soup.html"]),
            ("/", "/", ["/2026/03/bread/", "/2026/04/old-soup/"]),
            ("/", "/", ["/2026/03/11/bread/", "/2026/04/11/old-soup/"]),
            ("/", "/", ["/20260311/bread/", "/20260411/old-soup/"]),
            ("/", "/", ["/03/bread/", "/04/old-soup/"]),
            ("/blog/", "/", ["/blog/bread/", "/blog/old-soup/"]),
            ("/archives/", "", ["/archives/7", "/archives/12"]),
            (
                "/index.php/",
                "/",
                ["/index.php/2026/03/bread/", "/index.php/2026/04/old-soup/"],
            ),
            (
                "/index.php/archives/",
                "",
                ["/index.php/archives/7", "/index.php/archives/12"],
            ),
            ("/a/b-", "/", ["/a/b-7/", "/a/b-12/"]),
            ("/", "/", ["/food/bread/", "/soups/cold/old-soup/"]),
            ("/", "/", ["/7-bread/", "/12-old-soup/"]),
        ] {
            let posts = [
                ("7", "bread", "food", paths[0]),
                ("12", "old-soup", "soups/cold", paths[1]),
            ];
            check(&posts, Ok((front, slash)));
        }
        check(&[("7", "bread", "food", "/?p=7")], Ok(("?", "")));
        check(
            &[("7", "%e6%97%a5", "food", "/blog/%E6%97%A5/")],
            Ok(("/blog/", "/")),
        );
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not_guessed() {
        let two_ways = Err("the addresses of posts can be read in two ways");
        check(&[("7", "bread", "food", "/food/bread/")], two_ways);
        check(
            &[
                ("7", "bread", "food", "/food/bread/"),
                ("8", "rye", "food", "/food/rye/"),
            ],
            two_ways,
        );
        // All posts are hers.
        check(
            &[
                ("7", "bread", "x", "/ada/bread/"),
                ("8", "rye", "y", "/ada/rye/"),
            ],
            two_ways,
        );
        check(
            &[
                ("7", "bread", "x", "/a/bread/"),
                ("8", "rye", "x", "/b/rye/"),
            ],
            Err("the addresses of posts do not show where they are"),
        );
        check(
            &[("7", "bread", "x", "/bread/"), ("8", "rye", "x", "/rye")],
            Err("some addresses end with / and some do not"),
        );
        check(&[], Err("no published post shows where they are"));
    }

    #[test]
    fn pages_show_the_slash_alone() {
        let mut seen = Seen::default();
        seen.page("/");
        assert!(!seen.is_pretty());
        seen.page("/about");
        assert!(seen.is_pretty());
        assert_eq!(
            seen.permalinks(),
            Err("no published post shows where they are")
        );
        seen.post(
            "/bread",
            &Parts {
                slug: "bread",
                ..Parts::default()
            },
        );
        let expected = Permalinks::Pretty {
            front: "/".to_owned(),
            slash: "",
        };
        assert_eq!(seen.permalinks(), Ok(expected));
    }
}
