//! The entries of a page: in its type's series, among the videos, and among the news.

use super::change::Rendered;
use super::ledger::Ledger;
use super::listing::Listing;
use super::wanted::Wanted;
use crate::eligibility::{self, NewsState};
use crate::format::entry::{self, Alternate, Entry, News};
use crate::format::video::Video;
use crate::format::xml;
use crate::language::news_language;
use crate::loc::Loc;
use crate::time::When;

/// The most bytes of a rendered entry. So its row stays well below DynamoDB's 400 KB, and a reconcile below a transaction's 4 MB.
pub const MAX_ENTRY_BYTES: usize = 300 * 1024;

/// Bytes of most entries: a place for them is made once.
const USUAL_ENTRY_BYTES: usize = 384;

impl Listing<'_> {
    /// Renders the page's entries. Parts that do not fit or cannot be written are omitted and noted.
    pub(super) fn render(
        &self,
        lastmod: Option<When>,
        alternates: &[Alternate],
        after: &mut Ledger,
        wanted: &mut Wanted,
        due: &mut Vec<i64>,
    ) {
        let Self {
            record, site, loc, ..
        } = self;
        let notes = &mut after.notes;
        if lastmod.is_none()
            && let Some(at) = record.last_change().filter(|at| at.seconds() > self.now)
        {
            notes.push(format!("lastmod: {at} is in the future (future_lastmod)"));
        }
        let defaults = site.type_settings(&record.type_name);
        let bare = Entry {
            loc,
            lastmod,
            changefreq: None,
            priority: None,
            videos: &[],
            news: None,
            images: &[],
            alternates: &[],
        };
        let is_page = self.inputs.page.part == 1;
        let images: &[Loc] = if is_page { &record.images } else { &[] };
        let page = Entry {
            changefreq: record.changefreq.or(defaults.changefreq),
            priority: record.priority.or(defaults.priority),
            ..bare
        };
        let rendered = page_entry(page, images, alternates, notes);
        let series = site.series_of(&record.type_name);
        wanted.entries.push((series, rendered));
        if !is_page {
            return;
        }
        if let Some(rendered) = self.video_entry(bare, notes, due) {
            let series = site.series(site.video_series.clone());
            wanted.entries.push((series, rendered));
        }
        match eligibility::news(record, site, self.now) {
            NewsState::Never => {}
            NewsState::Not(reason) => notes.push(format!("news: left out, {reason}")),
            NewsState::Until(until) => {
                due.push(until);
                match self.news_entry(bare, images) {
                    Ok(rendered) => {
                        let series = site.series(site.news_series.clone());
                        wanted.entries.push((series, rendered));
                    }
                    Err(missing) => notes.push(format!("news: left out, there is no {missing}")),
                }
            }
        }
    }

    /// Returns the page's videos that have not expired.
    fn video_entry(
        &self,
        bare: Entry<'_>,
        notes: &mut Vec<String>,
        due: &mut Vec<i64>,
    ) -> Option<Rendered> {
        let is_over = |video: &Video| video.expires_at.is_some_and(|at| at.seconds() <= self.now);
        let (over, mut shown): (Vec<Video>, Vec<Video>) =
            self.record.videos.iter().cloned().partition(is_over);
        for video in over {
            notes.push(format!("videos: {:?} has expired", video.title));
        }
        let ends = shown.iter().filter_map(|video| video.expires_at);
        due.extend(ends.map(When::seconds));
        let given = shown.len();
        let mut room = MAX_ENTRY_BYTES - rendered(&bare).xml.len();
        shown.truncate(fitting(&shown, &mut room, |video| {
            let mut xml = Vec::new();
            video.render(&mut xml);
            xml.len()
        }));
        note_unfit("videos", given, shown.len(), notes);
        let entry = Entry {
            videos: &shown,
            ..bare
        };
        (!shown.is_empty()).then(|| rendered(&entry))
    }

    /// Returns the page as news, or which field is missing for that.
    fn news_entry(&self, bare: Entry<'_>, images: &[Loc]) -> Result<Rendered, &'static str> {
        let Self { record, site, .. } = self;
        let own = record.news.as_ref();
        let title = own
            .and_then(|news| news.title.as_ref())
            .or(record.title.as_ref());
        let title = title.filter(|title| !xml::is_blank(title));
        let languages = [
            own.and_then(|news| news.language.as_ref()),
            record.language.as_ref(),
            site.language.as_ref(),
        ];
        let language = languages
            .into_iter()
            .flatten()
            .find_map(|code| news_language(code));
        let published = record.published_at.or(record.modified_at);
        let news = News {
            publication: site
                .news_name
                .as_deref()
                .ok_or("news_name or name in the site's settings")?,
            language: &language.ok_or("language, neither its own nor the site's")?,
            published: published.ok_or("date")?,
            title: title.ok_or("title")?,
        };
        let mut entry = Entry {
            news: Some(&news),
            ..bare
        };
        // The page's own entry has as many images or fewer, and notes how many fit.
        let mut room = MAX_ENTRY_BYTES.saturating_sub(rendered(&entry).xml.len());
        entry.images = &images[..fitting(images, &mut room, entry::image_len)];
        Ok(rendered(&entry))
    }
}

/// Returns the page's entry, with its alternates if they fit, and with as many images as fit then.
fn page_entry<'a>(
    mut page: Entry<'a>,
    images: &'a [Loc],
    alternates: &'a [Alternate],
    notes: &mut Vec<String>,
) -> Rendered {
    let whole = rendered(&Entry {
        images,
        alternates,
        ..page
    });
    if whole.xml.len() <= MAX_ENTRY_BYTES {
        return whole;
    }
    let mut room = MAX_ENTRY_BYTES - rendered(&page).xml.len();
    let bytes = alternates.iter().map(entry::alternate_len).sum::<usize>();
    let alternates = if bytes <= room {
        room -= bytes;
        alternates
    } else {
        notes.push(format!(
            "alternates: left out, they have {bytes} bytes, the entry at most {MAX_ENTRY_BYTES}"
        ));
        &[]
    };
    page.alternates = alternates;
    page.images = &images[..fitting(images, &mut room, entry::image_len)];
    note_unfit("images", images.len(), page.images.len(), notes);
    rendered(&page)
}

/// Returns how many elements, from the first on, fit into the room.
fn fitting<T>(all: &[T], room: &mut usize, bytes: impl Fn(&T) -> usize) -> usize {
    let fits = |one: &&T| {
        let bytes = bytes(one);
        let fits = bytes <= *room;
        *room = room.saturating_sub(bytes);
        fits
    };
    all.iter().take_while(fits).count()
}

fn note_unfit(what: &str, given: usize, kept: usize, notes: &mut Vec<String>) {
    if kept < given {
        notes.push(format!(
            "{what}: {given} given, the first {kept} fit into {MAX_ENTRY_BYTES} bytes"
        ));
    }
}

fn rendered(entry: &Entry<'_>) -> Rendered {
    let mut xml = Vec::with_capacity(USUAL_ENTRY_BYTES);
    entry::render(entry, &mut xml);
    // The renderer writes ASCII locs and escaped text from strings, so this cannot fail. If it did, nothing would be lost.
    let xml = String::from_utf8(xml)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Rendered {
        xml,
        lastmod: entry.lastmod,
    }
}
