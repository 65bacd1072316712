//! Prints a comparison as it proceeds: lines for people, JSON, CSV or Markdown.

use std::fmt::Write as _;
use std::io;

use check::listing::Part;
use check::listing::comparison::{Change, Counts};
use serde::Serialize;

use super::pages::Files;
use crate::check::report::markdown::markdown;
use crate::terminal::output::Output;
use crate::terminal::text::{Text, Tone, csv_cell, json_escaped};

/// Bytes that are gathered before they are printed.
const GATHERED: usize = 64 * 1024;
/// The column at which sitemaps are, if the address leaves room.
const COLUMN: usize = 52;
/// The names of the parts, one and several.
const NAMES: [(Part, &str, &str); Part::ALL.len()] = [
    (Part::Images, "image", "images"),
    (Part::Alternates, "alternate", "alternates"),
    (Part::Videos, "video", "videos"),
    (Part::News, "news", "news"),
];

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line a page.
    Text,
    /// One document.
    Json,
    /// A row a page.
    Csv,
    /// A list, for a comment or a summary.
    Markdown,
}

/// Prints a comparison.
#[derive(Debug)]
pub struct Report<'o> {
    output: &'o mut Output,
    format: Format,
    /// What both sides are called.
    sides: [String; 2],
    text: Text,
    document: String,
    has_begun: bool,
    only_summary: bool,
}

/// A page that differs, in the command's JSON.
#[derive(Serialize)]
struct Entry<'a> {
    /// `gone`, `new` or `changed`.
    change: &'static str,
    loc: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sitemap_a: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sitemap_b: Option<&'a str>,
    /// A's and B's, if they differ; `null` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    lastmod: Option<[Option<&'a str>; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alternates: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    videos: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    news: Option<Amount>,
}

/// How many only B has, and only A.
#[derive(Clone, Copy, Serialize)]
struct Amount {
    added: u64,
    removed: u64,
}

/// The counts, in the command's JSON.
#[derive(Serialize)]
struct Summary {
    same: u64,
    gone: u64,
    new: u64,
    changed: u64,
    moved: u64,
    listed_again_a: u64,
    listed_again_b: u64,
    /// In both, and written differently: no difference.
    spelled_differently: u64,
}

/// Formats the details of a change in one line.
fn details(change: &Change) -> String {
    let Change::Changed { lastmod, parts, .. } = change else {
        return String::new();
    };
    let mut details = Vec::new();
    if let Some([a, b]) = lastmod {
        let shown = |text: &str| match text {
            "" => "none".to_owned(),
            text => text.to_owned(),
        };
        details.push(format!("lastmod {} → {}", shown(a), shown(b)));
    }
    for (part, one, several) in NAMES {
        let (added, removed) = parts[part as usize];
        let name = |count| if count == 1 { one } else { several };
        match (added, removed) {
            (0, 0) => {}
            (added, 0) => details.push(format!("+{added} {}", name(added))),
            (0, removed) => details.push(format!("-{removed} {}", name(removed))),
            (added, removed) => {
                details.push(format!("+{added} -{removed} {}", name(added.max(removed))))
            }
        }
    }
    details.join("; ")
}

/// Formats a number with separators between its thousands.
fn number(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// Formats the counts in one line.
#[must_use]
pub fn summary(counts: &Counts) -> String {
    let mut text = format!(
        "{} the same, {} gone, {} new, {} changed",
        number(counts.same),
        number(counts.gone),
        number(counts.new),
        number(counts.changed)
    );
    if counts.moved > 0 {
        let _ = write!(
            text,
            "; {} moved to another sitemap (no difference)",
            number(counts.moved)
        );
    }
    if counts.respelled > 0 {
        let _ = write!(
            text,
            "; {} written differently (no difference)",
            number(counts.respelled)
        );
    }
    for (side, again) in ["A", "B"].iter().zip(counts.again) {
        if again > 0 {
            let _ = write!(text, "; listed again in {side}: {}", number(again));
        }
    }
    text
}

/// Returns the message for sides that write addresses differently. Returns `None` if they do not.
#[must_use]
pub fn respelled(counts: &Counts) -> Option<String> {
    let [a, b] = counts.spellings.first()?;
    let mut text = match counts.respelled {
        1 => "waymark: one address is written differently in A and in B, which does not count as a difference"
            .to_owned(),
        count => format!(
            "waymark: {} addresses are written differently in A and in B, which does not count as a difference",
            number(count)
        ),
    };
    let _ = write!(text, ": {a} is {b}");
    for [a, b] in &counts.spellings[1..] {
        let _ = write!(text, ", {a} is {b}");
    }
    let more = counts.respelled - counts.spellings.len() as u64;
    if more > 0 {
        let _ = write!(text, ", and {} more", number(more));
    }
    text.push_str(". --exact compares them as they are written");
    Some(text)
}

impl<'o> Report<'o> {
    /// Begins a report. If `only_summary`, it prints no page.
    #[must_use]
    pub fn new(
        output: &'o mut Output,
        format: Format,
        sides: [String; 2],
        only_summary: bool,
    ) -> Self {
        Self {
            output,
            format,
            sides,
            text: Text::default(),
            document: String::new(),
            has_begun: false,
            only_summary,
        }
    }

    /// Prints a page that differs.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn change(&mut self, files: &Files, loc: &str, change: &Change) -> io::Result<()> {
        if self.only_summary {
            return Ok(());
        }
        let is_first = !self.has_begun;
        if is_first {
            self.begin();
        }
        match self.format {
            Format::Text => self.line(files, loc, change),
            Format::Json => {
                let json = serde_json::to_string(&entry(files, loc, change))?;
                let comma = if is_first { "" } else { "," };
                let _ = write!(self.document, "{comma}\n    {}", json_escaped(&json));
            }
            Format::Csv => self.row(files, loc, change),
            Format::Markdown => {
                let (sign, file, details) = parts(files, change);
                let details = if details.is_empty() {
                    file.to_owned()
                } else {
                    details
                };
                let _ = writeln!(
                    self.document,
                    "- {sign} {} {}",
                    markdown(loc),
                    markdown(&details)
                );
            }
        }
        if self.text.len() + self.document.len() > GATHERED {
            self.flush()?;
        }
        Ok(())
    }

    /// Prints the counts, and ends.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn end(mut self, counts: &Counts) -> io::Result<()> {
        let is_empty = !self.has_begun;
        if is_empty && !(self.only_summary && self.format == Format::Csv) {
            self.begin();
        }
        match self.format {
            Format::Text => {
                let differs = counts.gone + counts.new + counts.changed > 0;
                let tone = if differs { Tone::Notable } else { Tone::Good };
                self.text.toned(tone, summary(counts));
            }
            Format::Json => {
                let summary = serde_json::to_string(&Summary {
                    same: counts.same,
                    gone: counts.gone,
                    new: counts.new,
                    changed: counts.changed,
                    moved: counts.moved,
                    listed_again_a: counts.again[0],
                    listed_again_b: counts.again[1],
                    spelled_differently: counts.respelled,
                })?;
                let spellings = match counts.spellings.as_slice() {
                    [] => String::new(),
                    examples => {
                        let json = serde_json::to_string(examples)?;
                        format!("  \"spellings\": {},\n", json_escaped(&json))
                    }
                };
                let end = match (self.only_summary, is_empty) {
                    (true, _) => "",
                    (false, true) => "],\n",
                    (false, false) => "\n  ],\n",
                };
                let _ = writeln!(
                    self.document,
                    "{end}{spellings}  \"summary\": {summary}\n}}"
                );
            }
            Format::Csv if self.only_summary => {
                let Counts {
                    same,
                    gone,
                    new,
                    changed,
                    moved,
                    ..
                } = counts;
                let _ = write!(
                    self.document,
                    "same,gone,new,changed,moved\r\n{same},{gone},{new},{changed},{moved}\r\n"
                );
            }
            Format::Csv => {}
            Format::Markdown => {
                let blank = if is_empty { "" } else { "\n" };
                let _ = writeln!(self.document, "{blank}{}", markdown(&summary(counts)));
            }
        }
        self.flush()
    }

    fn begin(&mut self) {
        self.has_begun = true;
        match self.format {
            Format::Text => {}
            Format::Json => {
                let [a, b] = [0, 1].map(|side| {
                    let name: &str = &self.sides[side];
                    json_escaped(&serde_json::Value::from(name).to_string()).into_owned()
                });
                let _ = write!(self.document, "{{\n  \"a\": {a},\n  \"b\": {b},\n");
                if !self.only_summary {
                    self.document.push_str("  \"changes\": [");
                }
            }
            Format::Csv => {
                self.document
                    .push_str("change,loc,sitemap_a,sitemap_b,lastmod_a,lastmod_b");
                for (_, _, several) in NAMES {
                    let _ = write!(self.document, ",{several}_added,{several}_removed");
                }
                self.document.push_str("\r\n");
            }
            Format::Markdown => {
                let [a, b] = [0, 1].map(|side| markdown(&self.sides[side]));
                let _ = writeln!(self.document, "### {a} → {b}\n");
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.text(&std::mem::take(&mut self.text))?;
        self.output.document(&std::mem::take(&mut self.document))
    }

    fn line(&mut self, files: &Files, loc: &str, change: &Change) {
        let (sign, file, details) = parts(files, change);
        let tone = match change {
            Change::Gone(_) => Tone::Bad,
            Change::New(_) => Tone::Good,
            Change::Changed { .. } => Tone::Notable,
        };
        let line = match details.as_str() {
            "" => format!("{sign} {loc:<COLUMN$}  {file}"),
            details => format!("{sign} {loc}  {details}"),
        };
        self.text.toned(tone, line.trim_end());
    }

    fn row(&mut self, files: &Files, loc: &str, change: &Change) {
        let entry = entry(files, loc, change);
        let [a, b] = entry.lastmod.unwrap_or_default();
        let texts = [
            Some(entry.change),
            Some(loc),
            entry.sitemap_a,
            entry.sitemap_b,
            a,
            b,
        ];
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                self.document.push(',');
            }
            self.document.push_str(&csv_cell(text.unwrap_or_default()));
        }
        for amount in [entry.images, entry.alternates, entry.videos, entry.news] {
            let Amount { added, removed } = amount.unwrap_or(Amount {
                added: 0,
                removed: 0,
            });
            let _ = write!(self.document, ",{added},{removed}");
        }
        self.document.push_str("\r\n");
    }
}

/// Returns the sign of a change, the name of its sitemap, and its details.
fn parts<'f>(files: &'f Files, change: &Change) -> (char, &'f str, String) {
    match change {
        Change::Gone(file) => ('-', files.short(*file), String::new()),
        Change::New(file) => ('+', files.short(*file), String::new()),
        Change::Changed {
            files: [_, file], ..
        } => ('~', files.short(*file), details(change)),
    }
}

fn entry<'a>(files: &'a Files, loc: &'a str, change: &'a Change) -> Entry<'a> {
    let mut entry = Entry {
        change: "changed",
        loc,
        sitemap_a: None,
        sitemap_b: None,
        lastmod: None,
        images: None,
        alternates: None,
        videos: None,
        news: None,
    };
    match change {
        Change::Gone(file) => {
            entry.change = "gone";
            entry.sitemap_a = Some(files.name(*file));
        }
        Change::New(file) => {
            entry.change = "new";
            entry.sitemap_b = Some(files.name(*file));
        }
        Change::Changed {
            files: [a, b],
            lastmod,
            parts,
        } => {
            entry.sitemap_a = Some(files.name(*a));
            entry.sitemap_b = Some(files.name(*b));
            let some = |text: &'a String| (!text.is_empty()).then_some(text.as_str());
            entry.lastmod = lastmod.as_ref().map(|[a, b]| [some(a), some(b)]);
            let amount = |part: Part| match parts[part as usize] {
                (0, 0) => None,
                (added, removed) => Some(Amount { added, removed }),
            };
            entry.images = amount(Part::Images);
            entry.alternates = amount(Part::Alternates);
            entry.videos = amount(Part::Videos);
            entry.news = amount(Part::News);
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_said_in_one_line() {
        let change = |lastmod: Option<[&str; 2]>, parts| Change::Changed {
            files: [0, 0],
            lastmod: lastmod.map(|pair| pair.map(str::to_owned)),
            parts,
        };
        for (change, expected) in [
            (
                change(
                    Some(["2026-11-01", "2026-11-15"]),
                    [(1, 0), (0, 0), (0, 0), (0, 0)],
                ),
                "lastmod 2026-11-01 → 2026-11-15; +1 image",
            ),
            (change(Some(["", "x"]), [(0, 0); 4]), "lastmod none → x"),
            (
                change(None, [(2, 1), (0, 3), (0, 1), (1, 0)]),
                "+2 -1 images; -3 alternates; -1 video; +1 news",
            ),
        ] {
            assert_eq!(details(&change), expected);
        }
    }

    #[test]
    fn the_counts_are_said_as_far_as_there_are_any() {
        let counts = Counts {
            same: 28_113,
            gone: 1,
            new: 1,
            changed: 1,
            moved: 3,
            again: [0, 2],
            respelled: 4,
            spellings: [["%c3", "%C3"], ["~", "%7E"]]
                .map(|pair| pair.map(str::to_owned))
                .to_vec(),
        };
        assert_eq!(
            summary(&counts),
            "28,113 the same, 1 gone, 1 new, 1 changed; 3 moved to another sitemap (no difference); \
             4 written differently (no difference); listed again in B: 2"
        );
        assert_eq!(
            respelled(&counts).unwrap(),
            "waymark: 4 addresses are written differently in A and in B, which does not count as a difference: %c3 \
             is %C3, ~ is %7E, and 2 more. \
             --exact compares them as they are written"
        );
        assert_eq!(respelled(&Counts::default()), None);
        assert_eq!(
            summary(&Counts::default()),
            "0 the same, 0 gone, 0 new, 0 changed"
        );
    }
}
