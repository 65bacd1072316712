//! What the numbers are made of.

use super::figures::{count, number, share};
use super::table;
use super::text::Text;
use crate::report::{FEW, Report};

pub(super) fn html(report: &Report) -> String {
    let total = &report.total;
    let notes: String = report
        .notes
        .iter()
        .map(|note| format!("<li>{}</li>\n", Text(note)))
        .collect();
    let forms: String = report
        .logs
        .forms
        .iter()
        .map(|form| {
            format!(
                "<li>{}: {}, {}</li>\n",
                Text(&form.form),
                count(form.files, "file", "files"),
                count(form.lines, "line", "lines")
            )
        })
        .collect();
    format!(
        "<ul class=\"notes\">\n{notes}<li>Bots are from {} (of {}). Addresses of clients are compared with it and are not in this page.</li>\n\
         <li>Requests for listed pages: {}; {} were answered with 304, and {} with neither 200 nor 304, or not to the end.</li>\n\
         {forms}<li>Numbers with fewer than {FEW} pages behind them are marked <small class=\"few\">few</small>: chance may have made them. Times are UTC.</li>\n</ul>\n\
         {}<p id=\"copying\"><button id=\"copy\" type=\"button\" hidden>Copy the data as JSON</button> <span id=\"said\" role=\"status\"></span></p>\n",
        Text(&report.bots.name),
        Text(&report.bots.date),
        number(total.requests),
        share(total.not_modified, total.requests),
        share(total.failed, total.requests),
        unread(report),
    )
}

fn unread(report: &Report) -> String {
    let rows: Vec<String> = report
        .logs
        .unread
        .iter()
        .map(|unread| {
            let first = format!(
                "<span class=\"address\">{}</span><small class=\"address\">{}</small>",
                Text(&unread.first),
                Text(&unread.example)
            );
            table::row(&[
                table::name(Text(&unread.reason)),
                table::figure("lines", number(unread.lines)),
                table::texts(&first),
            ])
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let title = "Lines that were not understood";
    format!(
        "<h3 id=\"unread\">{title}</h3>\n{}",
        table::folded("unread", title, &["Reason", "Lines", "The first"], &rows)
    )
}
