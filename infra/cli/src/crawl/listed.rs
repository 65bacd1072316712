//! Gives listed pages to the join.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use check::listing::Page;
use check::listing::sort::SortError;
use crawl::join::Join;

use crate::listing::pages::Pages;

/// A join that takes pages from several threads.
#[derive(Debug)]
pub(super) struct Listed {
    inside: Mutex<(Join, u64)>,
    folder: PathBuf,
    /// The site whose tables are read. Then the name of a sitemap is an object's, and its address is known.
    site: Option<String>,
}

impl Listed {
    pub(super) fn new(join: Join, folder: PathBuf, site: Option<String>) -> Self {
        Self {
            inside: Mutex::new((join, 0)),
            folder,
            site,
        }
    }

    pub(super) fn into_join(self) -> Join {
        let inside = self.inside.into_inner();
        inside.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, (Join, u64)> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages for Listed {
    fn file(&self, name: &str, _: bool) -> u32 {
        let of_site = self.site.as_ref().and_then(|site| {
            let file = name.strip_prefix(&format!("published/{site}/"))?;
            Some(format!("https://{site}/{file}"))
        });
        self.lock().0.sitemap(of_site.as_deref().unwrap_or(name))
    }

    fn add(&self, file: u32, page: &Page) -> io::Result<()> {
        let (join, pages) = &mut *self.lock();
        *pages += 1;
        join.list(file, &page.loc, &page.lastmod)
    }

    fn count(&self) -> u64 {
        self.lock().1
    }

    fn sort_error(&self, error: io::Error) -> SortError {
        SortError::new(&self.folder, error)
    }
}
