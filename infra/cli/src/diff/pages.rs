//! The pages of both sides, and which of them are compared.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use check::listing::Page;
use check::listing::comparison::{Change, Comparison, Counts, Fields, Side};
use check::listing::sort::SortError;
use sitemap::loc::normalized;

use super::error::DiffError;
use crate::listing;

/// Which pages are compared.
#[derive(Clone, Debug, Default)]
pub struct Ignored(Vec<String>);

impl Ignored {
    /// Ignores pages whose address matches one of these patterns, however either is spelled. `*` is any text. A pattern that begins with
    /// `/` matches what follows the host.
    #[must_use]
    pub fn new(patterns: Vec<String>) -> Self {
        let mut all = Vec::new();
        for pattern in patterns {
            all.extend(normal_pattern(&pattern).filter(|normal| *normal != pattern));
            all.push(pattern);
        }
        Self(all)
    }

    fn has(&self, loc: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let normal = normalized(loc);
        let is_other = normal != loc;
        self.0
            .iter()
            .any(|pattern| is_of(pattern, loc) || (is_other && is_of(pattern, &normal)))
    }
}

/// Returns whether a pattern matches an address in this spelling.
fn is_of(pattern: &str, loc: &str) -> bool {
    let text = match pattern.starts_with('/') {
        true => check::url::path_of(loc).unwrap_or(loc),
        false => loc,
    };
    matches(pattern, text)
}

/// Returns a pattern as it matches addresses in their normal form. Returns `None` if it does not begin with a whole host.
fn normal_pattern(pattern: &str) -> Option<String> {
    const HOST: &str = "https://host.example";
    if pattern.starts_with('/') {
        let normal = normalized(&format!("{HOST}{pattern}")).into_owned();
        return normal.strip_prefix(HOST).map(str::to_owned);
    }
    let (_, rest) = pattern.split_once("://")?;
    let (host, _) = rest.split_once('/')?;
    (!host.contains('*')).then(|| normalized(pattern).into_owned())
}

/// Returns whether a pattern matches a whole text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

/// The sitemaps of both sides, by the numbers that pages name them by.
#[derive(Clone, Debug, Default)]
pub struct Files {
    names: Vec<Arc<str>>,
    /// Those whose names say nothing: they are what was asked for.
    is_none: Vec<bool>,
}

impl Files {
    /// Returns the address or the path of a sitemap.
    #[must_use]
    pub fn name(&self, file: u32) -> &str {
        self.names.get(file as usize).map_or("", |name| name)
    }

    /// Returns the last part of a sitemap's name.
    #[must_use]
    pub fn short(&self, file: u32) -> &str {
        let name = self.name(file);
        let name = name.split(['?', '#']).next().unwrap_or(name);
        name.rsplit(['/', '\\']).next().unwrap_or(name)
    }

    /// Returns whether no sitemap of one list has the name of one of the other, compressed or not. Returns `false` if a name says
    /// nothing.
    #[must_use]
    pub fn differ(&self, these: &[u32], those: &[u32]) -> bool {
        let is_none = |file: &u32| self.is_none.get(*file as usize).copied().unwrap_or(true);
        let plain = |file: &u32| {
            let name = self.short(*file);
            name.strip_suffix(".gz").unwrap_or(name)
        };
        let is_same = |a: &u32| those.iter().any(|b| plain(a) == plain(b));
        !these.iter().chain(those).any(is_none) && !these.iter().any(is_same)
    }
}

/// Where both sides' pages go.
#[derive(Debug)]
pub struct Pages {
    inside: Mutex<Inside>,
    ignored: Ignored,
    folder: PathBuf,
}

#[derive(Debug)]
struct Inside {
    comparison: Comparison,
    files: Files,
    pages: u64,
}

impl Pages {
    /// Creates an empty comparison. If `is_exact`, two spellings of an address are two addresses.
    #[must_use]
    pub fn new(ignored: Ignored, is_exact: bool) -> Self {
        let folder = std::env::temp_dir();
        Self {
            inside: Mutex::new(Inside {
                comparison: Comparison::new(&folder, is_exact),
                files: Files::default(),
                pages: 0,
            }),
            ignored,
            folder,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the sides, and gives `take` what differs.
    ///
    /// # Errors
    ///
    /// If they cannot be sorted, or `take` fails.
    pub fn compare(
        self,
        fields: &Fields,
        mut take: impl FnMut(&Files, &str, &Change) -> io::Result<()>,
    ) -> Result<(Counts, Files), DiffError> {
        let inside = self
            .inside
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let (comparison, files) = (inside.comparison, inside.files);
        let mut output = Ok(());
        let compared = comparison.finish(
            fields,
            |a, b| files.differ(a, b),
            |loc, change| {
                if let Err(error) = take(&files, loc, change) {
                    output = Err(error);
                    return Err(io::ErrorKind::Interrupted.into());
                }
                Ok(())
            },
        );
        output.map_err(DiffError::Output)?;
        let counts = compared.map_err(|error| SortError::new(&self.folder, error))?;
        Ok((counts, files))
    }
}

/// Takes the pages of one side.
#[derive(Debug)]
pub(super) struct Sided(pub Arc<Pages>, pub Side);

impl listing::pages::Pages for Sided {
    fn file(&self, name: &str, is_none: bool) -> u32 {
        let mut inside = self.0.lock();
        inside.files.names.push(name.into());
        inside.files.is_none.push(is_none);
        inside.files.names.len() as u32 - 1
    }

    fn add(&self, file: u32, page: &Page) -> io::Result<()> {
        if self.0.ignored.has(&page.loc) {
            return Ok(());
        }
        let mut inside = self.0.lock();
        inside.pages += 1;
        inside.comparison.add(self.1, file, page)
    }

    fn count(&self) -> u64 {
        self.0.lock().pages
    }

    fn sort_error(&self, error: io::Error) -> SortError {
        SortError::new(&self.0.folder, error)
    }
}

#[cfg(test)]
mod tests {
    use crate::listing::pages::Pages as _;

    use super::*;

    #[test]
    fn a_pattern_is_of_a_whole_address_or_of_what_follows_the_host() {
        for (pattern, loc, expected) in [
            ("/tag/*", "https://a.example/tag/x", true),
            ("/tag/*", "https://a.example/a/tag/x", false),
            ("/tag/", "https://a.example/tag/x", false),
            ("*/tag/*", "https://a.example/a/tag/x", true),
            ("*?page=*", "https://a.example/?page=2", true),
            ("https://a.example/*.html", "https://a.example/x.html", true),
            (
                "https://a.example/*.html",
                "https://a.example/x.html?a",
                false,
            ),
            ("a*a", "a", false),
            ("/caf%c3%a9/*", "https://a.example/caf%C3%A9/x", true),
            ("/caf\u{e9}/*", "https://a.example/caf%c3%a9/x", true),
            ("/~*", "https://a.example/%7Ejoe", true),
            ("https://A.example/%7E*", "https://a.example:443/~joe", true),
            ("/a%2Fb", "https://a.example/a/b", false),
        ] {
            let ignored = Ignored::new(vec![pattern.to_owned()]);
            assert_eq!(ignored.has(loc), expected, "{pattern} {loc}");
        }
    }

    #[test]
    fn a_sitemap_has_another_name_whatever_its_folder_or_packing_is() {
        let pages = Arc::new(Pages::new(Ignored::default(), false));
        let sided = Sided(pages.clone(), Side::A);
        let [a, b, c, d] = [
            ("https://a.example/post-sitemap.xml?v=1/2", false),
            ("public/post-sitemap.xml.gz", false),
            ("https://a.example/page-sitemap.xml", false),
            ("content.jsonl", true),
        ]
        .map(|(name, is_none)| sided.file(name, is_none));
        let files = pages.lock().files.clone();
        assert_eq!(files.short(a), "post-sitemap.xml");
        assert!(!files.differ(&[a], &[b]));
        assert!(files.differ(&[b], &[c]));
        assert!(!files.differ(&[b, c], &[c]));
        assert!(!files.differ(&[c], &[d]));
    }
}
