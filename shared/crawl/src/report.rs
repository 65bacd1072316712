//! The answers, as data. The command shows them as a table, JSON, CSV and a page.
//!
//! Times are seconds since 1970, lengths of time are seconds. Something that the logs cannot say is `null`.

use serde::Serialize;

/// The windows of [`Row::fetched`], in days before the log's end.
pub const WINDOW_DAYS: [u32; 4] = [1, 7, 30, 90];

/// Pages behind a number below which the report says that they are few.
pub const FEW: u64 = 30;

/// All answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// What was read of the logs.
    pub logs: Logs,
    /// What was listed.
    pub listing: Listing,
    /// The table of bots.
    pub bots: Source,
    /// What a reader has to know to read the numbers right, as sentences.
    pub notes: Vec<String>,
    /// All pages, fetched by any bot.
    pub total: Row,
    /// For each bot that asked for anything, all pages. The most requests first.
    pub by_bot: Vec<BotRow>,
    /// By sitemap, in the order of their names.
    pub by_sitemap: Vec<Row>,
    /// By type of page: sitemaps whose names differ in their number only. The most pages first.
    pub by_type: Vec<Row>,
    /// By the first part of the path. The most pages first, and the rest together.
    pub by_directory: Vec<Row>,
    /// Days of the log with requests of bots, in order.
    pub days: Vec<Day>,
    /// Weeks of the log, in order.
    pub weeks: Vec<Week>,
    /// Who asked for robots.txt and the sitemaps. In the order of their addresses.
    pub documents: Vec<Document>,
    /// Listed pages that were not answered with 200 or 304. The most requests first.
    pub failures: Vec<Failure>,
    /// Addresses that bots fetched, and that no sitemap lists, by reason.
    pub unlisted: Vec<Unlisted>,
}

/// What was read of the logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Logs {
    /// Files that were read.
    pub files: u64,
    /// Lines with content.
    pub lines: u64,
    /// Requests of bots.
    pub requests: u64,
    /// The earliest and the latest time of a line.
    pub first: Option<i64>,
    /// The latest time of a line.
    pub last: Option<i64>,
    /// The forms of the files, by name.
    pub forms: Vec<FormUse>,
    /// Lines that were not understood, by kind.
    pub unread: Vec<Unread>,
}

/// Files of one form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FormUse {
    /// The form's name.
    pub form: String,
    /// Files.
    pub files: u64,
    /// Lines.
    pub lines: u64,
}

/// Lines that were not understood for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// The reason.
    pub reason: String,
    /// Lines.
    pub lines: u64,
    /// The file and the line of the first.
    pub first: String,
    /// The first one, without the addresses of clients and without queries.
    pub example: String,
}

/// What was listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// What the user named.
    pub name: String,
    /// Sitemaps.
    pub sitemaps: u64,
    /// Pages, each address once.
    pub pages: u64,
}

/// Where the table of bots is from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// Its date, as `2026-09-02`.
    pub date: String,
}

/// What was fetched of some listed pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// A sitemap, a type, a directory or a bot.
    pub name: String,
    /// Pages that are listed.
    pub listed: u64,
    /// Pages of these that were fetched in the last 1, 7, 30 and 90 days of the log. `None` where the log is shorter.
    pub fetched: [Option<u64>; WINDOW_DAYS.len()],
    /// Pages of these that were fetched at any time of the log.
    pub ever: u64,
    /// Pages of these that were not.
    pub never: u64,
    /// Requests for these pages.
    pub requests: u64,
    /// Requests of these that were answered with 304.
    pub not_modified: u64,
    /// Requests of these that were answered with neither 200 nor 304, or not to the end.
    pub failed: u64,
    /// From a page's last change to its next fetch.
    pub from_change: Lag,
    /// From the sitemap's first fetch after the last change to the page's next fetch by the same bot.
    pub from_sitemap: Lag,
}

/// How long it took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lag {
    /// Pages for which the log can tell: what it is counted from is in the log.
    pub pages: u64,
    /// Pages of these that were fetched since.
    pub fetched: u64,
    /// Within this time half of `pages` were fetched. `None` if fewer were, so far.
    pub median: Option<u64>,
    /// Within this time nine of ten were.
    pub p90: Option<u64>,
    /// How many were fetched within each of [`LAG_BOUNDS`] and not within the one before; the last is all that took longer.
    pub distribution: [u64; LAG_BOUNDS.len() + 1],
}

/// The bounds of [`Lag::distribution`]: an hour, six, a day, three, a week, two, thirty days, ninety.
pub const LAG_BOUNDS: [u64; 8] = [
    3_600, 21_600, 86_400, 259_200, 604_800, 1_209_600, 2_592_000, 7_776_000,
];

/// What one bot fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BotRow {
    /// Of all listed pages. `name` is the bot's.
    #[serde(flatten)]
    pub row: Row,
    /// Who runs it.
    pub operator: String,
    /// What it fetches pages for.
    pub purpose: String,
    /// All its requests, listed or not.
    pub all_requests: u64,
    /// Requests of these from an address that its operator publishes.
    pub verified: u64,
    /// Requests from another address: somebody else who uses its name. They are counted nowhere else.
    pub impostors: u64,
    /// Requests that cannot be verified: its operator publishes no addresses, or the log has none.
    pub unverifiable: u64,
    /// All its requests by status.
    pub statuses: Vec<(u16, u64)>,
}

/// Requests of a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Day {
    /// Its begin, UTC.
    pub day: i64,
    /// Requests of the bots of [`Report::by_bot`], in that order.
    pub requests: Vec<u64>,
}

/// What happened in a week.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Week {
    /// Its Monday, UTC.
    pub week: i64,
    /// Whether the log has all of it.
    pub is_whole: bool,
    /// Listed pages that were fetched.
    pub pages: u64,
    /// Requests of bots.
    pub requests: u64,
}

/// Requests for robots.txt or a sitemap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Document {
    /// Its address.
    pub address: String,
    /// Who asked.
    pub bots: Vec<Asked>,
}

/// Requests of one bot for one document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The bot.
    pub bot: String,
    /// Its requests.
    pub requests: u64,
    /// The time of the last.
    pub last: i64,
    /// Its requests by status.
    pub statuses: Vec<(u16, u64)>,
}

/// A listed page that was not answered with 200 or 304.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The status.
    pub status: u16,
    /// Requests.
    pub requests: u64,
    /// Pages.
    pub pages: u64,
    /// Some of them.
    pub examples: Vec<String>,
}

/// Addresses that bots fetched and no sitemap lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unlisted {
    /// Why they are not listed, as `explain` says it; `unknown` without a record.
    pub reason: String,
    /// Addresses.
    pub addresses: u64,
    /// Requests.
    pub requests: u64,
    /// Some of them, the most requests first.
    pub examples: Vec<String>,
}
