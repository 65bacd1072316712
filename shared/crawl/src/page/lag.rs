//! How long it took until a page was fetched.

use super::bars;
use super::figures::{count, few, lag, length, number, share};
use super::text::Text;
use crate::report::{LAG_BOUNDS, Lag, Report, Row};

/// Bots whose lag is shown.
const BOTS: usize = 12;
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
    let mut rows = String::new();
    for (at, pages) in lag.distribution.iter().enumerate() {
        so_far += pages;
        let bound = BOUNDS
            .get(at)
            .map_or_else(|| "longer".to_owned(), |bound| format!("within {bound}"));
        rows.push_str(&row(&bound, "w2", *pages, most, &share(so_far, lag.pages)));
    }
    rows.push_str(&row("not yet", "idle", waiting, most, ""));
    format!(
        "{heading}<p class=\"lead\">{sentence}{}</p>\n<table class=\"lag\" aria-label=\"{title}\"><thead><tr><th scope=\"col\">Fetched</th><td class=\"plot\"></td><th scope=\"col\">Pages</th><th scope=\"col\">So far</th></tr></thead><tbody>\n{rows}</tbody></table>\n<p class=\"note\">{}</p>\n</div>\n",
        few(lag.pages),
        count(lag.pages, "page.", "pages."),
    )
}

fn row(bound: &str, class: &str, pages: u64, most: u64, so_far: &str) -> String {
    format!(
        "<tr><th scope=\"row\">{bound}</th><td class=\"plot\">{}</td><td class=\"n\">{}</td><td class=\"n\">{so_far}</td></tr>\n",
        bars::bar(class, pages, most),
        number(pages)
    )
}

fn by_bot(report: &Report) -> String {
    let rows: Vec<&Row> = report
        .by_bot
        .iter()
        .map(|bot| &bot.row)
        .filter(|row| row.from_change.pages > 0 || row.from_sitemap.pages > 0)
        .take(BOTS)
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("<h3>By bot</h3>\n{}", table("Speed by bot", "Bot", &rows))
}

/// Speed and answers of sitemaps, types and directories.
fn parts(report: &Report) -> String {
    let all = [
        ("sitemap", "Sitemap", &report.by_sitemap),
        ("type", "Type", &report.by_type),
        ("directory", "Directory", &report.by_directory),
    ];
    all.iter()
        .filter(|(_, _, rows)| !rows.is_empty())
        .map(|(name, first, rows)| {
            let rows: Vec<&Row> = rows.iter().collect();
            format!(
                "<details><summary>Speed and answers by {name}</summary>\n{}</details>\n",
                table(&format!("Speed and answers by {name}"), first, &rows)
            )
        })
        .collect()
}

fn table(label: &str, first: &str, rows: &[&Row]) -> String {
    let rows: String = rows
        .iter()
        .map(|row| {
            let (change, sitemap) = (&row.from_change, &row.from_sitemap);
            let cells = [
                ("half, from the change", lag(change, change.median)),
                ("nine of ten", lag(change, change.p90)),
                ("half, from the sitemap", lag(sitemap, sitemap.median)),
                ("nine of ten", lag(sitemap, sitemap.p90)),
                ("requests", number(row.requests)),
                ("304", share(row.not_modified, row.requests)),
                ("failed", share(row.failed, row.requests)),
            ];
            let cells: String = cells
                .iter()
                .map(|(name, value)| format!("<td class=\"n\" data-label=\"{name}\">{value}</td>"))
                .collect();
            format!(
                "<tr><th scope=\"row\" class=\"address\">{}</th>{cells}</tr>\n",
                Text(&row.name)
            )
        })
        .collect();
    let heads: String = [
        "Half, from the change",
        "Nine of ten",
        "Half, from the sitemap",
        "Nine of ten",
        "Requests for listed",
        "304",
        "Failed",
    ]
    .iter()
    .map(|name| format!("<th scope=\"col\">{name}</th>"))
    .collect();
    format!(
        "<table class=\"numbers\" aria-label=\"{label}\"><thead><tr><th scope=\"col\">{first}</th>{heads}</tr></thead><tbody>\n{rows}</tbody></table>\n"
    )
}
