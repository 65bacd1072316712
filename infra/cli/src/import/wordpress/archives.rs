//! The archives of terms and authors, whose addresses are not in an export.
//!
//! - They are made as WordPress makes them, from what the addresses of posts show of the site's permalinks, or by a pattern of the
//!   user's. If they are not known, there is no record.
//! - An author's archive has a slug that an export lacks. WordPress makes it from the login when it creates the user. Logins, which
//!   are often e-mail addresses, are never written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::permalinks::{Permalinks, Seen};
use crate::import::options::{ImportError, Options};
use crate::import::writer::{Id, Sink};

/// Taxonomies whose terms have no archives.
const NO_ARCHIVES: [&str; 3] = ["post_format", "nav_menu", "wp_theme"];
/// Where archives are, behind the front of the permalinks and before the last slash; and without permalinks. `{path}`: the term's slug
/// behind those it is under.
const USUAL: [(&str, &str, &str); 3] = [
    ("category", "category/{path}", "/?cat={id}"),
    ("post_tag", "tag/{slug}", "/?tag={slug}"),
    (AUTHOR, "author/{slug}", "/?author={id}"),
];
/// The taxonomy of authors, which WordPress does not call one.
pub(super) const AUTHOR: &str = "author";
/// Terms under each other: a loop has an end.
const MAX_PARENTS: usize = 20;
/// Of a login so many characters are in the slug.
const MAX_LOGIN: usize = 50;

/// What an export says of a term.
#[derive(Debug, Default)]
struct Term {
    id: Option<String>,
    parent: Option<String>,
    /// An export of some posts alone has the slugs of their terms, but not the terms these are under.
    is_declared: bool,
}

/// Whose slug it is.
#[derive(Debug, Default)]
struct Author {
    id: Option<String>,
    /// One, unless several logins make the same slug.
    logins: BTreeSet<String>,
}

/// The terms of a site, and its authors.
#[derive(Debug, Default)]
pub(super) struct Terms {
    known: BTreeMap<(String, String), Term>,
    authors: BTreeMap<String, Author>,
}

/// Returns whether a taxonomy's terms have archives.
pub(super) fn has_archives(taxonomy: &str) -> bool {
    !NO_ARCHIVES.contains(&taxonomy)
}

impl Terms {
    /// Takes a term that the export declares.
    pub(super) fn declare(
        &mut self,
        taxonomy: &str,
        slug: &str,
        id: Option<&str>,
        parent: Option<&str>,
    ) {
        // A plugin for several authors of a post declares them as terms of its own.
        if !has_archives(taxonomy) || taxonomy == AUTHOR {
            return;
        }
        let term = Term {
            id: id.map(str::to_owned),
            parent: parent.map(str::to_owned),
            is_declared: true,
        };
        let name = (taxonomy.to_owned(), slug.to_owned());
        self.known.insert(name, term);
    }

    /// Returns the slug of an author, if it can be derived from the login.
    pub(super) fn author(&mut self, login: &str, id: Option<&str>) -> Option<String> {
        let slug = nicename(login)?;
        let author = self.authors.entry(slug.clone()).or_default();
        author.logins.insert(login.to_owned());
        author.id = id.map(str::to_owned).or(author.id.take());
        Some(slug)
    }

    /// Takes a term that a post has.
    pub(super) fn meet(&mut self, taxonomy: &str, slug: &str) {
        let name = (taxonomy.to_owned(), slug.to_owned());
        self.known.entry(name).or_default();
    }

    /// Returns a term's slug behind those of the terms that it is under.
    pub(super) fn path(&self, taxonomy: &str, slug: &str) -> String {
        let mut path = vec![slug];
        while path.len() < MAX_PARENTS
            && let Some(first) = path.first()
            && let Some(term) = self.known.get(&(taxonomy.to_owned(), (*first).to_owned()))
            && let Some(parent) = &term.parent
        {
            path.insert(0, parent);
        }
        path.join("/")
    }

    /// Writes the records of the archives. `base`: the address of the site, without its last slash.
    pub(super) fn write(
        &self,
        base: &str,
        seen: &Seen,
        sink: &mut Sink<'_>,
    ) -> Result<(), ImportError> {
        let permalinks = seen.permalinks();
        for ((taxonomy, slug), term) in &self.known {
            let place = self.place(taxonomy, slug, term, &permalinks, sink.options);
            let place = match place {
                Ok(place) => place,
                Err(why) => {
                    sink.skip(&format!("archives of {taxonomy}: {why}"), || slug.clone());
                    continue;
                }
            };
            let url = format!("{base}{place}");
            if !sink.options.archive_urls.contains_key(taxonomy) {
                let what = format!("address of {taxonomy} archives, as WordPress makes it");
                sink.note(&what, || url.clone());
            }
            let record = json!({
                "type": taxonomy,
                "url": url,
                "archive_of": {"taxonomy": taxonomy, "term": slug},
            });
            if let Value::Object(fields) = record {
                sink.record(fields, Id::OnSite(&format!("{taxonomy}/{slug}")))?;
            }
        }
        Ok(())
    }

    /// Returns the path of an archive.
    ///
    /// # Errors
    ///
    /// Why the path is not known.
    fn place(
        &self,
        taxonomy: &str,
        slug: &str,
        term: &Term,
        permalinks: &Result<Permalinks, &'static str>,
        options: &Options,
    ) -> Result<String, String> {
        let asks = format!("--archive-url {taxonomy}=/…/ says it");
        let author = self.authors.get(slug).filter(|_| taxonomy == AUTHOR);
        if author.is_some_and(|author| author.logins.len() > 1) {
            return Err("the logins of several authors make this slug".to_owned());
        }
        let usual = USUAL.iter().find(|(name, ..)| *name == taxonomy);
        let pattern = match (options.archive_urls.get(taxonomy), usual, permalinks) {
            (Some(own), ..) => own.clone(),
            (None, None, _) => {
                return Err(format!("an export does not say where they are: {asks}"));
            }
            (None, _, Err(why)) => return Err(format!("{why}: {asks}")),
            (None, Some((_, path, _)), Ok(Permalinks::Pretty { front, slash })) => {
                format!("{front}{path}{slash}")
            }
            (None, Some((.., query)), Ok(Permalinks::Plain)) => (*query).to_owned(),
        };
        if pattern.contains("{path}") && !term.is_declared {
            return Err(format!(
                "the terms above it are not in the export; if there are none, --archive-url {taxonomy}=/…/ with {{slug}} says so"
            ));
        }
        let id = term
            .id
            .as_deref()
            .or(author.and_then(|author| author.id.as_deref()));
        let pattern = match id {
            Some(id) => pattern.replace("{id}", id),
            None if pattern.contains("{id}") => {
                return Err("its number is not in the export".to_owned());
            }
            None => pattern,
        };
        let place = pattern.replace("{path}", &self.path(taxonomy, slug));
        Ok(place.replace("{slug}", slug))
    }
}

/// Returns the slug that WordPress makes of a login, if it is one that WordPress would create today: in ASCII. A plugin or another
/// user with nearly the same login may have led to another slug.
fn nicename(login: &str) -> Option<String> {
    // What WordPress takes for references, octets or tags it does not allow in a login.
    if !login.is_ascii() || login.contains(['%', '&', '<', '/']) {
        return None;
    }
    let login = login.get(..MAX_LOGIN).unwrap_or(login).to_ascii_lowercase();
    let words = login.split(|c: char| c == '.' || c == '-' || c.is_ascii_whitespace());
    let words = words.map(|word| {
        let kept = word
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_');
        kept.collect::<String>()
    });
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    Some(words.join("-")).filter(|slug| !slug.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_made_of_a_login() {
        for (login, expected) in [
            ("mia", Some("mia")),
            ("Jonas Berg", Some("jonas-berg")),
            ("Pages.Only", Some("pages-only")),
            ("ana@lantern.example", Some("analantern-example")),
            ("a_b--c . d", Some("a_b-c-d")),
            ("-x-", Some("x")),
            ("o'neil+news", Some("oneilnews")),
            ("@", None),
            ("Jürgen", None),
            ("%e6", None),
            (
                "a-login-of-more-than-fifty-characters.is-cut@there.example",
                Some("a-login-of-more-than-fifty-characters-is-cutthere"),
            ),
        ] {
            assert_eq!(nicename(login).as_deref(), expected, "{login}");
        }
    }
}
