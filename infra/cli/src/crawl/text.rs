//! The report for people, in a terminal.

use crawl::report::{BotRow, FEW, Lag, Report, Row, WINDOW_DAYS};
use indicatif::HumanCount;
use sitemap::time::When;

use crate::terminal::text::{Text, Tone, counted};

/// Rows that a table shows.
const MAX_ROWS: usize = 20;
/// Letters of a name; of a longer one the end is shown, which is what differs.
const MAX_NAME: usize = 40;
/// Cells of a bar.
const CELLS: u64 = 10;
/// A cell that is filled by so many eighths.
const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Formats the report.
pub(super) fn report(report: &Report) -> Text {
    let mut text = Text::default();
    let all = &report.total;
    let tone = match all.never {
        0 => Tone::Good,
        _ => Tone::Notable,
    };
    text.toned(tone, headline(all));
    read(report, &mut text);
    rows("by sitemap", &report.by_sitemap, &mut text);
    if report.by_type.len() > 1 && report.by_type.len() < report.by_sitemap.len() {
        rows("by type", &report.by_type, &mut text);
    }
    if report.by_directory.len() > 1 {
        rows("by directory", &report.by_directory, &mut text);
    }
    bots(&report.by_bot, &mut text);
    lags(report, &mut text);
    weeks(report, &mut text);
    documents(report, &mut text);
    failures(report, &mut text);
    unlisted(report, &mut text);
    notes(report, &mut text);
    text
}

/// Says how many pages were fetched, in the longest window that the log has up to a week.
fn headline(all: &Row) -> String {
    let windows = WINDOW_DAYS.iter().zip(&all.fetched);
    let known = windows.filter_map(|(days, count)| Some((*days, (*count)?)));
    let recent = known.take_while(|(days, _)| *days <= 7).last();
    let (count, when) = match recent {
        Some((1, count)) => (count, "in the last day of these logs".to_owned()),
        Some((days, count)) => (count, format!("in the last {days} days of these logs")),
        None => (all.ever, "in these logs".to_owned()),
    };
    let share = percent(count, all.listed);
    format!(
        "{} of {} listed pages were fetched {when} ({share}); {} never",
        HumanCount(count),
        HumanCount(all.listed),
        HumanCount(all.never)
    )
}

fn read(report: &Report, text: &mut Text) {
    let logs = &report.logs;
    let forms: Vec<&str> = logs.forms.iter().map(|form| form.form.as_str()).collect();
    let times = match (logs.first, logs.last) {
        (Some(first), Some(last)) => format!("{} to {}, ", When::at(first), When::at(last)),
        _ => String::new(),
    };
    text.line(format!(
        "logs: {times}{} ({}), {}, {} by bots",
        counted(logs.files, "file"),
        forms.join(", "),
        counted(logs.lines, "line"),
        counted(logs.requests, "request")
    ));
    text.line(format!(
        "listed: {}, {}, {}",
        report.listing.name,
        counted(report.listing.sitemaps, "sitemap"),
        counted(report.listing.pages, "page")
    ));
    text.line(format!("bots: {}, {}", report.bots.name, report.bots.date));
}

fn rows(name: &str, rows: &[Row], text: &mut Text) {
    if rows.is_empty() {
        return;
    }
    text.line("");
    text.line(head(name));
    for row in rows.iter().take(MAX_ROWS) {
        text.line(line(row));
    }
    more(rows.len(), text);
}

fn head(name: &str) -> String {
    let windows = WINDOW_DAYS.map(|days| format!("{:>9}", format!("{days} d")));
    format!(
        "{name:<MAX_NAME$}  {:>10}{}{:>10}{:>10}",
        "listed",
        windows.concat(),
        "ever",
        "never"
    )
}

fn line(row: &Row) -> String {
    let windows = row.fetched.map(|count| match count {
        Some(count) => format!("{:>9}", HumanCount(count).to_string()),
        None => format!("{:>9}", "-"),
    });
    let few = if row.listed < FEW {
        "  (few pages)"
    } else {
        ""
    };
    format!(
        "{:<MAX_NAME$}  {:>10}{}{:>10}{:>10}  {}{few}",
        short(&row.name),
        HumanCount(row.listed).to_string(),
        windows.concat(),
        HumanCount(row.ever).to_string(),
        HumanCount(row.never).to_string(),
        bar(row.ever, row.listed)
    )
}

fn bots(rows: &[BotRow], text: &mut Text) {
    if rows.is_empty() {
        return;
    }
    text.line("");
    text.line(format!(
        "{:<MAX_NAME$}  {:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "by bot", "requests", "verified", "unknown", "impostor", "pages", "304"
    ));
    for bot in rows.iter().take(MAX_ROWS) {
        let name = match bot.purpose.as_str() {
            "" => bot.row.name.clone(),
            purpose => format!("{} ({purpose})", bot.row.name),
        };
        text.line(format!(
            "{:<MAX_NAME$}  {:>10}{:>10}{:>10}{:>10}{:>10}{:>10}  {}",
            short(&name),
            HumanCount(bot.all_requests).to_string(),
            HumanCount(bot.verified).to_string(),
            HumanCount(bot.unverifiable).to_string(),
            HumanCount(bot.impostors).to_string(),
            HumanCount(bot.row.ever).to_string(),
            percent(bot.row.not_modified, bot.row.requests),
            bar(bot.row.ever, bot.row.listed)
        ));
    }
    more(rows.len(), text);
}

fn lags(report: &Report, text: &mut Text) {
    let rows = [
        (
            "from the last change to the next fetch",
            &report.total.from_change,
        ),
        (
            "from the sitemap's fetch after it to the page's",
            &report.total.from_sitemap,
        ),
    ];
    if rows.iter().all(|(_, lag)| lag.pages == 0) {
        return;
    }
    text.line("");
    for (name, lag) in rows {
        text.line(format!("{name}: {}", said(lag)));
    }
}

/// Says how long something took.
fn said(lag: &Lag) -> String {
    if lag.pages == 0 {
        return "unknown: these logs show it of no page".to_owned();
    }
    let few = if lag.pages < FEW { " (few pages)" } else { "" };
    let pages = counted(lag.pages, "page");
    let since = format!("{} of {pages} so far", HumanCount(lag.fetched));
    let within = match (lag.median, lag.p90) {
        (None, _) => "not yet half".to_owned(),
        (Some(median), None) => format!("half within {}", span(median)),
        (Some(median), Some(p90)) => {
            format!(
                "half within {}, nine of ten within {}",
                span(median),
                span(p90)
            )
        }
    };
    format!("{since}: {within}{few}")
}

/// Formats a length of time in its largest unit, or the two largest.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn weeks(report: &Report, text: &mut Text) {
    if report.weeks.len() < 2 {
        return;
    }
    text.line("");
    text.line(format!(
        "{:<MAX_NAME$}  {:>10}{:>10}",
        "by week", "requests", "pages"
    ));
    for week in &report.weeks {
        let part = if week.is_whole { "" } else { "  (not whole)" };
        text.line(format!(
            "{:<MAX_NAME$}  {:>10}{:>10}  {}{part}",
            &When::at(week.week).to_string()[..10],
            HumanCount(week.requests).to_string(),
            HumanCount(week.pages).to_string(),
            bar(week.pages, report.total.listed)
        ));
    }
}

fn documents(report: &Report, text: &mut Text) {
    if report.documents.is_empty() {
        return;
    }
    text.line("");
    text.line("sitemaps and robots.txt");
    for document in report.documents.iter().take(MAX_ROWS) {
        let asked = document.bots.iter().take(3).map(|asked| {
            let statuses: Vec<String> = asked
                .statuses
                .iter()
                .map(|(status, count)| format!("{status}: {}", HumanCount(*count)))
                .collect();
            format!("{} ({})", asked.bot, statuses.join(", "))
        });
        let asked: Vec<String> = asked.collect();
        let asked = match &asked[..] {
            [] => "no bot asked for it".to_owned(),
            asked => asked.join("; "),
        };
        text.line(format!("  {}: {asked}", document.address));
    }
    more(report.documents.len(), text);
}

fn failures(report: &Report, text: &mut Text) {
    if report.failures.is_empty() {
        return;
    }
    text.line("");
    text.toned(
        Tone::Notable,
        "listed pages that were answered with neither 200 nor 304",
    );
    for failure in &report.failures {
        let status = match failure.status {
            0 => "no answer".to_owned(),
            status => status.to_string(),
        };
        text.line(format!(
            "  {status}: {}, {}, such as {}",
            counted(failure.pages, "page"),
            counted(failure.requests, "request"),
            failure.examples.first().map_or("", String::as_str)
        ));
    }
}

fn unlisted(report: &Report, text: &mut Text) {
    if report.unlisted.is_empty() {
        return;
    }
    text.line("");
    text.line("fetched, and not listed");
    for unlisted in &report.unlisted {
        text.line(format!(
            "  {}: {}, {}, such as {}",
            unlisted.reason,
            counted(unlisted.addresses, "address"),
            counted(unlisted.requests, "request"),
            unlisted.examples.first().map_or("", String::as_str)
        ));
    }
}

fn notes(report: &Report, text: &mut Text) {
    if report.notes.is_empty() && report.logs.unread.is_empty() {
        return;
    }
    text.line("");
    for note in &report.notes {
        text.line(format!("note: {note}"));
    }
    for unread in &report.logs.unread {
        let lines = counted(unread.lines, "line");
        text.toned(
            Tone::Notable,
            format!(
                "not understood: {lines}: {} ({}): {}",
                unread.reason, unread.first, unread.example
            ),
        );
    }
}

fn more(rows: usize, text: &mut Text) {
    if rows > MAX_ROWS {
        text.line(format!(
            "… and {} more: --csv and --json have all",
            rows - MAX_ROWS
        ));
    }
}

fn percent(part: u64, all: u64) -> String {
    match all {
        0 => "-".to_owned(),
        _ => format!("{} %", part * 100 / all),
    }
}

/// Draws a share as a bar.
fn bar(part: u64, all: u64) -> String {
    let eighths = (part * CELLS * 8).checked_div(all).unwrap_or_default();
    let cell = |at: u64| EIGHTHS[eighths.saturating_sub(at * 8).min(8) as usize];
    let bar: String = (0..CELLS).map(cell).collect();
    format!("▕{bar}▏")
}

/// Returns a name without its scheme, and only the end of a long one.
fn short(name: &str) -> String {
    let name = name.strip_prefix("https://").unwrap_or(name);
    let count = name.chars().count();
    match count > MAX_NAME {
        false => name.to_owned(),
        true => format!(
            "…{}",
            name.chars().skip(count - MAX_NAME + 1).collect::<String>()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_the_share() {
        assert_eq!(bar(0, 10), "▕          ▏");
        assert_eq!(bar(10, 10), "▕██████████▏");
        assert_eq!(bar(1, 3), "▕███▎      ▏");
        assert_eq!(bar(0, 0), "▕          ▏");
        assert_eq!(short(&"x".repeat(41)), format!("…{}", "x".repeat(39)));
        assert_eq!(
            [90, 7_199, 7_200, 172_800].map(span),
            ["90 s", "119 min", "2 h", "2 d"]
        );
    }

    #[test]
    fn the_headline_speaks_of_the_week_if_the_log_has_one() {
        let row = |fetched| Row {
            listed: 1_000,
            fetched,
            ever: 530,
            never: 470,
            ..Row::default()
        };
        let week = headline(&row([Some(10), Some(412), Some(500), None]));
        assert_eq!(
            week,
            "412 of 1,000 listed pages were fetched in the last 7 days of these logs (41 %); 470 never"
        );
        assert!(
            headline(&row([None; 4]))
                .starts_with("530 of 1,000 listed pages were fetched in these logs")
        );
    }
}
