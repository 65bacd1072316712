//! Checks the properties that are known only at the end of a document: its limits, counts and duplicates.

use sitemap::site::{MAX_BYTES, MAX_ENTRIES, MAX_NEWS_ENTRIES};
use sitemap::time::When;

use super::data::{Document, Kind, Subject};
use super::input::{Packing, Stop};
use super::reader::{Mark, Reader, Tally};
use crate::rules::Rule;
use crate::text::{quoted, shown};
use crate::url;

/// If at least this percentage of the lastmods are the same time, and at least `SAME_LEAST`, it counts as the time of a build.
const SAME_PERCENT: u64 = 90;
const SAME_LEAST: u64 = 50;
/// A document at this percentage of a limit is near it.
const NEAR_PERCENT: u64 = 95;

/// The readers that fail on a comment or a processing instruction in a loc.
const MARKUP: &str = "@crawlee/utils and trafilatura drop the URL, site-map-parser cuts it, sitemap-stream-parser makes two of it, \
    and get-sitemap-links keeps the markup";

impl Reader<'_> {
    pub(super) fn finish(mut self, stop: Option<Stop>, packing: Packing) -> Document {
        self.document.is_gzip = packing.is_file;
        for problem in packing.problems {
            self.found(Rule::FileGzip, None, false, || problem);
        }
        match stop {
            Some(Stop::CutGzip) => self.found(Rule::FileTruncated, None, true, || {
                "the gzip stream ends in its middle".to_owned()
            }),
            Some(Stop::BadGzip) => self.found(Rule::FileGzip, None, true, || {
                "the gzip stream is damaged".to_owned()
            }),
            Some(Stop::BadText(encoding)) => self.found(Rule::FileWellformed, None, true, || {
                format!("is not the {encoding} that it says it is; the rest was not read")
            }),
            Some(Stop::LongPiece) => self.found(Rule::FileLimits, None, false, || {
                "has a text or a tag of more than a MiB; the rest was not read".to_owned()
            }),
            Some(Stop::TooLarge) => {
                let limit = self.about.max_bytes;
                self.found(Rule::FileLimits, None, false, || {
                    format!("has more than {limit} bytes uncompressed; the rest was not read")
                });
            }
            Some(Stop::Body) | None => {}
        }
        self.document.subject = match self.document.entries {
            _ if matches!(self.document.kind, Kind::Rss | Kind::Atom) => Subject::Changes,
            0 => Subject::Pages,
            entries if entries == self.with_videos => Subject::Videos,
            entries if entries == self.with_news => Subject::News,
            _ => Subject::Pages,
        };
        self.limits();
        self.misread();
        self.times();
        self.extensions();
        self.duplicates();
        if let Some(expected) = &self.about.expected {
            for said in std::mem::take(&mut self.expected) {
                expected.meet(&said);
            }
        }
        if self.document.kind == Kind::Index && self.about.policy.level(Rule::IndexDup).is_some() {
            self.repeated_sitemaps();
        }
        self.document
    }

    fn limits(&mut self) {
        let (entries, bytes) = (self.document.entries, self.document.bytes);
        let (most_entries, most_bytes) = (u64::from(MAX_ENTRIES), MAX_BYTES);
        let near = |number: u64, most: u64| number <= most && number * 100 > most * NEAR_PERCENT;
        if entries > most_entries {
            self.found(Rule::FileLimits, None, false, || {
                format!("has {entries} entries, more than {most_entries}")
            });
        } else if near(entries, most_entries) {
            self.found(Rule::FileNear, None, false, || {
                format!("has {entries} entries of at most {most_entries}")
            });
        }
        if near(bytes, most_bytes) {
            self.found(Rule::FileNear, None, false, || {
                format!("has {bytes} bytes of at most {most_bytes}")
            });
        }
        // A feed of which nothing has changed lately is empty.
        let lists = matches!(self.document.kind, Kind::Sitemap | Kind::Index | Kind::Text);
        if lists && entries == 0 && self.document.is_whole {
            self.found(Rule::IndexEmpty, None, true, || "lists nothing".to_owned());
        }
        let news = self.news;
        if news > u64::from(MAX_NEWS_ENTRIES) {
            self.found(Rule::ExtNewsCount, None, false, || {
                format!("has {news} news, more than {MAX_NEWS_ENTRIES}")
            });
        }
    }

    /// Adds findings for valid forms that some readers misread. The readers and their versions are in docs/cli/check.md.
    fn misread(&mut self) {
        let Tally { count, first } = self.prefixed;
        if count > 0 {
            self.found(Rule::FilePrefix, first, false, || {
                format!(
                    "{count} elements of the sitemap have a prefix: crawlee, sitemap-xml-parser, get-sitemap-links, LinkChecker, \
                     sitemap-stream-parser and the crate sitemaps find no URL"
                )
            });
        }
        for mark in Mark::ALL {
            let (what, who) = match mark {
                Mark::Cdata => (
                    "is CDATA",
                    "sitemap-stream-parser and the crates sitemap and sitemaps lose the URL, and get-sitemap-links keeps the markup",
                ),
                Mark::Reference => (
                    "has a numeric reference",
                    "get-sitemap-links and sitemapper keep the reference as it is written",
                ),
                Mark::Comment => ("has a comment", MARKUP),
                Mark::Instruction => ("has a processing instruction", MARKUP),
                Mark::Space => (
                    "has white space around it",
                    "sitemap-xml-parser and llama-index keep it, and get-sitemap-links, site-map-parser and trafilatura lose URLs",
                ),
            };
            let Tally { count, first } = self.marks[mark as usize];
            if count > 0 {
                let entries = self.document.entries;
                self.found(Rule::LocEscape, first, false, || {
                    format!("the loc of {count} of {entries} entries {what}: {who}")
                });
            }
        }
        let Tally { count, first } = self.unaddressed;
        if count > 0 {
            let entries = self.document.entries;
            self.found(Rule::LocAbsent, first, false, || {
                format!("{count} of {entries} items of the feed have no link, and so list nothing")
            });
        }
    }

    fn times(&mut self) {
        let dated = self.document.dated;
        if let Some((stamp, count)) = self
            .stamps
            .iter()
            .max_by_key(|(stamp, count)| (**count, **stamp))
            && dated >= SAME_LEAST
            && count * 100 >= dated * SAME_PERCENT
        {
            let message = format!("{count} of {dated} lastmods are {}", When::at(*stamp));
            self.found(Rule::LastmodSame, None, false, || message);
        }
        let Tally { count, first } = self.now;
        if count >= 2 && count * 2 > dated {
            self.found(Rule::LastmodNow, first, false, || {
                format!("{count} of {dated} lastmods are the time of the fetch")
            });
        }
        let entries = self.document.entries;
        let Tally { count, first } = self.zone;
        if count > 0 {
            self.found(Rule::LastmodZone, first, false, || {
                format!("{count} of {entries} lastmods have a time and no zone")
            });
        }
        let Tally { count, first } = self.old_news;
        if let Some(newest) = self.newest_news
            && count > 0
        {
            let (news, hours) = (self.news, (self.about.now - newest).max(0) / 3_600);
            let age = if hours < 72 {
                format!("{hours} hours")
            } else {
                format!("{} days", hours / 24)
            };
            self.found(Rule::ExtNewsAge, first, false, || {
                format!("{count} of {news} are older than 48 h; the newest is {age} old")
            });
        }
    }

    fn extensions(&mut self) {
        let entries = self.document.entries;
        let Tally { count, first } = self.ignored;
        if count > 0 {
            self.found(Rule::ExtIgnored, first, false, || {
                format!("priority or changefreq {count} times, in {entries} entries")
            });
        }
        let Tally { count, first } = self.dead_images;
        if count > 0 {
            self.found(Rule::ExtImageDead, first, false, || {
                format!("{count} captions, places, titles or licenses of images")
            });
        }
        let Tally { count, first } = self.dead_videos;
        if count > 0 {
            self.found(Rule::ExtVideoDead, first, false, || {
                format!("{count} categories, galleries, prices or shows of videos")
            });
        }
    }

    /// Adds findings for addresses that are listed twice in this document. Only the first of each is compared with other
    /// documents.
    fn duplicates(&mut self) {
        let listed = self.document.listed.iter().zip(0_u32..);
        let mut sorted: Vec<_> = listed
            .map(|(one, place)| (one.digest.exact, place))
            .collect();
        sorted.sort_unstable();
        let mut twice: Vec<(u32, u32)> = sorted
            .chunk_by(|a, b| a.0 == b.0)
            .flat_map(|same| same[1..].iter().map(|(_, place)| (*place, same[0].1)))
            .collect();
        if twice.is_empty() {
            return;
        }
        twice.sort_unstable();
        for (place, first) in &twice {
            let listed = &self.document.listed;
            let (one, first) = (listed[*place as usize], listed[*first as usize]);
            let (text, known) = (self.document.text(&one), self.document.text(&first));
            // A text that was not kept is unknown.
            let other = match known != text && !known.is_empty() && !text.is_empty() {
                true => format!(", spelled differently: {}", quoted(known)),
                false => String::new(),
            };
            let text = shown(text);
            self.found(Rule::LocDup, one.at, false, || {
                format!("{text}is listed in line {} already{other}", first.at.line)
            });
        }
        let mut place = 0;
        self.document.listed.retain(|_| {
            place += 1;
            let is_again = twice.binary_search_by_key(&(place - 1), |(place, _)| *place);
            is_again.is_err()
        });
    }

    fn repeated_sitemaps(&mut self) {
        let children = std::mem::take(&mut self.document.children);
        let mut seen = std::collections::HashSet::new();
        let (first, again): (Vec<_>, Vec<_>) = children
            .into_iter()
            .partition(|child| seen.insert(url::digest_of(&child.loc)));
        for child in again {
            self.found(Rule::IndexDup, child.at, false, || {
                format!("{} is listed twice", quoted(&child.loc))
            });
        }
        self.document.children = first;
    }
}
