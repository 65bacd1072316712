//! The pages of an archive, and the archive itself. `TERM#<site>#<taxonomy>#<term>`, lastmod and page.

use sitemap::eligibility::Newest;
use sitemap::plan::Term;
use sitemap::time::When;
use table::{Item, Query};

use super::key::{Key, RowKey, escape, id_part, key};
use super::table::SitemapTable;
use crate::error::EngineError;

/// Prefix of the partitions of terms.
pub const PREFIX: &str = "TERM#";

/// Sort key prefix of an archive's own records. It sorts before every page.
pub const ARCHIVE: &str = "!";

/// Added to Unix seconds in sort keys, so that they are positive from the year 1 on. 0 means "no lastmod".
const SECONDS_OFFSET: i64 = 62_135_596_801;

/// Marks the time of a sort key as a date.
const DATE: &str = "d";

/// Marks the time of a sort key as precise to the second.
const SECOND: &str = "s";

/// Returns the partition of a term: `TERM#<site>#<taxonomy>#<term>`.
#[must_use]
pub fn term_partition(term: &Term) -> String {
    format!(
        "{}{}#{}#{}",
        PREFIX,
        escape(&term.site),
        escape(&term.taxonomy),
        escape(&term.term)
    )
}

/// Returns a lastmod as the beginning of a sort key. Such keys are in the order of time. A missing lastmod sorts first.
pub(super) fn time(lastmod: Option<When>) -> String {
    // A date sorts before the first second of its day.
    let (seconds, precision) = match lastmod {
        None => (0, DATE),
        Some(at) if at.is_date() => (at.seconds() + SECONDS_OFFSET, DATE),
        Some(at) => (at.seconds() + SECONDS_OFFSET, SECOND),
    };
    format!("{seconds:012}{precision}")
}

/// Returns the key of a page of an archive. It begins with the lastmod, so that the last row of the partition is the newest page.
#[must_use]
pub fn term_member(term: &Term, lastmod: Option<When>, id: &str) -> Key {
    let sk = format!("{}#{}", time(lastmod), id_part(id));
    key(term_partition(term), sk)
}

/// Returns the lastmod of a sort key that begins with [`time`], and the rest of the key.
pub(super) fn time_parts(sk: &str) -> Option<(Option<When>, &str)> {
    let (at, id) = sk.split_once('#')?;
    let (seconds, precision) = at.split_at_checked(at.len().checked_sub(1)?)?;
    let seconds = seconds.parse::<i64>().ok()?;
    let lastmod = match (seconds, precision) {
        (0, DATE) => None,
        (seconds, DATE) => Some(When::midnight(seconds - SECONDS_OFFSET)?),
        (seconds, SECOND) => Some(When::at(seconds - SECONDS_OFFSET)),
        _ => return None,
    };
    Some((lastmod, id))
}

/// Returns the key of the record that is an archive's page.
#[must_use]
pub fn archive(term: &Term, id: &str) -> Key {
    key(term_partition(term), format!("{ARCHIVE}{}", id_part(id)))
}

pub(super) fn parse(sk: &str) -> Option<RowKey> {
    if let Some(id) = sk.strip_prefix(ARCHIVE) {
        return Some(RowKey::Archive(id.to_owned()));
    }
    let (lastmod, id) = time_parts(sk)?;
    Some(RowKey::TermMember(lastmod, id.to_owned()))
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns the newest page of an archive.
    pub async fn newest(&self, term: &Term) -> Result<Newest, EngineError> {
        let query = Query::of(term_partition(term)).reversed().limited(1);
        let items = self.first(query).await?;
        let sk = items.first().and_then(|item| item.text("sk"));
        // The rows of archives sort before those of pages.
        Ok(match sk.and_then(parse) {
            Some(RowKey::TermMember(lastmod, _)) => Newest::Page(lastmod),
            _ => Newest::Nobody,
        })
    }

    /// Returns the records that are the archive's page of a term's partition.
    pub async fn archives(&self, term_pk: &str) -> Result<Vec<String>, EngineError> {
        let items = self.beginning_with(term_pk, ARCHIVE, None).await?;
        Ok(without_prefix(&items, ARCHIVE).collect())
    }
}

fn without_prefix(items: &[Item], prefix: &str) -> impl Iterator<Item = String> {
    let keys = items.iter().filter_map(|item| item.text("sk"));
    let ids = keys.filter_map(move |sk| sk.strip_prefix(prefix));
    ids.map(str::to_owned)
}
