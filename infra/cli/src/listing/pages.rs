//! Where pages go that are read.

use std::io;

use check::listing::Page;
use check::listing::sort::SortError;

/// Takes pages, from several threads.
pub trait Pages: Send + Sync + 'static {
    /// Returns a number for a sitemap. `is_none` is set if its name says nothing.
    fn file(&self, name: &str, is_none: bool) -> u32;

    /// Takes a page.
    ///
    /// # Errors
    ///
    /// If it cannot be sorted.
    fn add(&self, file: u32, page: &Page) -> io::Result<()>;

    /// Counts the pages.
    fn count(&self) -> u64;

    /// Returns the error of [`Pages::add`] with the folder in which it sorts.
    fn sort_error(&self, error: io::Error) -> SortError;
}
