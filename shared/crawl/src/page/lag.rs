//! How long it took until a page was fetched.

use super::bars;
use super::figures::{count, few, lag, length, number, share};
use super::table::{self, PLOT};
use super::text::Text;
use crate::report::{LAG_BOUNDS, Lag, Report, Row};

const BOUNDS: [&str; LAG_BOUNDS.len()] = [
    "1 hour", "6 hours", "1 day", "3 days", "1 week", "2 weeks", "30 days", "90 days",
];

pub(super) fn html(report: &Report) -> String {
    let total = &report.total;
    format!(
        "<div class=\"two\">\n{}{}</div>\n{}{}",
        distribution(
            "From a change to the next fetch",
            "Counted from a page's last change, for changes within this log.",
            "No listed page changed within this log, so it is too short to tell.",
            &total.from_change,
        ),
        distribution(
            "From the sitemap to the page",
            "Counted from the sitemap's first fetch after the change to the page's next fetch by the same bot.",
            "The log is too short: it shows no fetch of a sitemap after a change in it.",
            &total.from_sitemap,
        ),
        by_bot(report),
        parts(report),
    )
}

fn distribution(title: &str, about: &str, empty: &str, lag: &Lag) -> String {
    let heading = format!("<div>\n<h3>{title}</h3>\n<p>{about}</p>\n");
    if lag.pages == 0 {
        return format!("{heading}<p class=\"none\">{empty}</p>\n</div>\n");
    }
    let sentence = match (lag.median, lag.p90) {
        (Some(median), Some(p90)) => format!(
            "Half within {}, nine of ten within {}",
            length(median),
            length(p90)
        ),
        (Some(median), None) => format!(
            "Half within {}; fewer than nine of ten so far",
            length(median)
        ),
        (None, _) => "Fewer than half so far".to_owned(),
    };
    let waiting = lag.pages.saturating_sub(lag.fetched);
    let most = lag
        .distribution
        .iter()
        .copied()
        .chain([waiting])
        .max()
        .unwrap_or(0);
    let mut so_far = 0;
    let mut rows = Vec::with_capacity(lag.distribution.len() + 1);
    for (at, pages) in lag.distribution.iter().enumerate() {
        so_far += pages;
        let bound = BOUNDS
            .get(at)
            .map_or_else(|| "longer".to_owned(), |bound| format!("within {bound}"));
        rows.push(row(
            &bound,
            &bars::bar("w2", *pages, most),
            *pages,
            &share(so_far, lag.pages),
        ));
    }
    rows.push(row(
        "not yet",
        &bars::bar("idle", waiting, most),
        waiting,
        "",
    ));
    format!(
        "{heading}<p class=\"lead\">{sentence}{}</p>\n{}<p class=\"note\">{}</p>\n</div>\n",
        few(lag.pages),
        table::table("lag", title, &["Fetched", PLOT, "Pages", "So far"], &rows),
        count(lag.pages, "page.", "pages."),
    )
}

fn row(bound: &str, bar: &str, pages: u64, so_far: &str) -> String {
    table::row(&[
        table::name(bound),
        table::plot(bar),
        table::figure("pages", number(pages)),
        table::figure("so far", so_far),
    ])
}

fn by_bot(report: &Report) -> String {
    let has_lag = |row: &&Row| row.from_change.pages > 0 || row.from_sitemap.pages > 0;
    let rows: Vec<&Row> = report
        .by_bot
        .iter()
        .map(|bot| &bot.row)
        .filter(has_lag)
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h3>By bot</h3>\n<p>Not yet: fewer than half, or than nine of ten, of the changed pages were fetched since.</p>\n{}",
        numbers("Speed by bot", "Bot", &rows)
    )
}

/// Returns the same numbers for sitemaps, types and directories.
fn parts(report: &Report) -> String {
    let all = [
        ("sitemap", "Sitemap", &report.by_sitemap),
        ("type", "Type", &report.by_type),
        ("directory", "Directory", &report.by_directory),
    ];
    let mut html = String::new();
    for (name, first, rows) in all.iter().filter(|(_, _, rows)| !rows.is_empty()) {
        let label = format!("Speed and answers by {name}");
        let rows: Vec<&Row> = rows.iter().collect();
        html += &table::opening(&label, &numbers(&label, first, &rows));
    }
    html
}

fn numbers(label: &str, first: &str, rows: &[&Row]) -> String {
    let rows: Vec<String> = rows.iter().map(|row| numbers_row(row)).collect();
    let columns = [
        first,
        "Half, from the change",
        "Nine of ten",
        "Half, from the sitemap",
        "Nine of ten",
        "Requests for listed",
        "304",
        "Failed",
    ];
    table::folded("numbers", label, &columns, &rows)
}

fn numbers_row(row: &Row) -> String {
    let (change, sitemap) = (&row.from_change, &row.from_sitemap);
    table::row(&[
        table::name(Text(&row.name)),
        table::figure("half, from the change", lag(change, change.median)),
        table::figure("nine of ten", lag(change, change.p90)),
        table::figure("half, from the sitemap", lag(sitemap, sitemap.median)),
        table::figure("nine of ten", lag(sitemap, sitemap.p90)),
        table::figure("requests", number(row.requests)),
        table::figure("304", share(row.not_modified, row.requests)),
        table::figure("failed", share(row.failed, row.requests)),
    ])
}
