//! The rows of the report as CSV, for a spreadsheet.

use std::fmt::Write as _;

use crawl::report::{Report, Row, WINDOW_DAYS};

use crate::terminal::text::csv_cell;

/// Formats the rows. What the log cannot say is empty.
pub(super) fn rows(report: &Report) -> String {
    let windows = WINDOW_DAYS.map(|days| format!("fetched_{days}d"));
    let mut csv = format!(
        "by,name,listed,{},ever,never,requests,not_modified,failed,change_pages,change_median_s,change_p90_s,sitemap_pages,\
         sitemap_median_s,sitemap_p90_s\r\n",
        windows.join(",")
    );
    let mut add = |by: &str, row: &Row| {
        let number =
            |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let windows = row.fetched.map(number).join(",");
        let lags = [&row.from_change, &row.from_sitemap]
            .map(|lag| format!("{},{},{}", lag.pages, number(lag.median), number(lag.p90)));
        // A string takes whatever is written to it.
        let _ = write!(
            csv,
            "{by},{},{},{windows},{},{},{},{},{},{}\r\n",
            csv_cell(&row.name),
            row.listed,
            row.ever,
            row.never,
            row.requests,
            row.not_modified,
            row.failed,
            lags.join(",")
        );
    };
    add("all", &report.total);
    let groups = [
        ("sitemap", &report.by_sitemap),
        ("type", &report.by_type),
        ("directory", &report.by_directory),
    ];
    for (by, rows) in groups {
        rows.iter().for_each(|row| add(by, row));
    }
    report.by_bot.iter().for_each(|bot| add("bot", &bot.row));
    csv
}
