//! How many of the listed pages were fetched: by sitemap, type and directory, and by week.

use super::bars::{self, Column};
use super::figures::{count, day, few, number, share};
use super::text::Text;
use crate::report::{Report, Row, WINDOW_DAYS};

/// Rows that are shown at once. The others are in an element that opens.
const SHOWN: usize = 25;

/// The colours of what was fetched in each window, and of what was fetched before the longest.
const CLASSES: [&str; WINDOW_DAYS.len() + 1] = ["w1", "w2", "w3", "w4", "w5"];

pub(super) fn html(report: &Report) -> String {
    let windows = Windows::of(&report.total);
    let mut html = format!(
        "<p>Each bar is all pages of its row. The darkest part was fetched most recently, the empty part never in this log.{}</p>\n",
        windows.note()
    );
    html.push_str(&windows.legend());
    html.push_str(&windows.table("By sitemap", "Sitemap", &report.by_sitemap));
    // With one sitemap of each type these are the same rows.
    if report.by_type.len() < report.by_sitemap.len() {
        html.push_str(&windows.table("By type", "Type", &report.by_type));
    }
    html.push_str(&windows.table("By directory", "Directory", &report.by_directory));
    html + &weeks(report)
}

/// The windows that the log is long enough for.
struct Windows(Vec<usize>);

impl Windows {
    fn of(total: &Row) -> Self {
        Self(
            (0..WINDOW_DAYS.len())
                .filter(|at| total.fetched[*at].is_some())
                .collect(),
        )
    }

    fn note(&self) -> String {
        let missing: Vec<String> = (0..WINDOW_DAYS.len())
            .filter(|at| !self.0.contains(at))
            .map(name)
            .collect();
        if missing.is_empty() {
            String::new()
        } else {
            format!(" For {} the log is too short.", missing.join(", "))
        }
    }

    fn legend(&self) -> String {
        let names: Vec<String> = self
            .0
            .iter()
            .map(|at| format!("in {}", name(*at)))
            .collect();
        let mut entries: Vec<(&str, &str)> = self
            .0
            .iter()
            .zip(&names)
            .map(|(at, name)| (CLASSES[*at], name.as_str()))
            .collect();
        entries.push((
            CLASSES[WINDOW_DAYS.len()],
            if names.is_empty() {
                "in this log"
            } else {
                "before"
            },
        ));
        entries.push(("w0", "never"));
        bars::legend(&entries)
    }

    fn table(&self, title: &str, first: &str, rows: &[Row]) -> String {
        if rows.is_empty() {
            return String::new();
        }
        let heads: String = self
            .0
            .iter()
            .map(|at| format!("<th scope=\"col\">{}</th>", name(*at)))
            .collect();
        let head = format!(
            "<thead><tr><th scope=\"col\">{first}</th><td class=\"plot\"></td>{heads}<th scope=\"col\">Ever</th><th scope=\"col\">Never</th><th scope=\"col\">Listed</th></tr></thead>"
        );
        let table = |label: &str, rows: &[Row]| {
            let rows: String = rows.iter().map(|row| self.row(row)).collect();
            format!(
                "<table class=\"cover\" aria-label=\"{label}\">{head}<tbody>\n{rows}</tbody></table>\n"
            )
        };
        let (shown, rest) = rows.split_at(rows.len().min(SHOWN));
        let mut html = format!("<h3>{title}</h3>\n{}", table(title, shown));
        if !rest.is_empty() {
            let label = format!("{title}: the others");
            html.push_str(&format!(
                "<details><summary>{} more</summary>\n{}</details>\n",
                number(rest.len() as u64),
                table(&label, rest)
            ));
        }
        html
    }

    fn row(&self, row: &Row) -> String {
        let mut before = 0;
        let mut parts: Vec<(&str, u64)> = Vec::with_capacity(CLASSES.len());
        let mut cells = String::new();
        for at in &self.0 {
            let label = name(*at);
            match row.fetched[*at] {
                Some(fetched) => {
                    parts.push((CLASSES[*at], fetched.saturating_sub(before)));
                    before = before.max(fetched);
                    cells.push_str(&format!(
                        "<td class=\"n\" data-label=\"{label}\" title=\"{} pages\">{}</td>",
                        number(fetched),
                        share(fetched, row.listed)
                    ));
                }
                None => cells.push_str(&format!(
                    "<td class=\"n none\" data-label=\"{label}\">the log is too short</td>"
                )),
            }
        }
        parts.push((CLASSES[WINDOW_DAYS.len()], row.ever.saturating_sub(before)));
        format!(
            "<tr><th scope=\"row\" class=\"address\">{}{}</th><td class=\"plot\">{}</td>{cells}<td class=\"n\" data-label=\"ever\">{}</td><td class=\"n\" data-label=\"never\">{}</td><td class=\"n\" data-label=\"listed\">{}</td></tr>\n",
            Text(&row.name),
            few(row.listed),
            bars::stacked(&parts, row.listed),
            share(row.ever, row.listed),
            number(row.never),
            number(row.listed),
        )
    }
}

fn name(at: usize) -> String {
    if WINDOW_DAYS[at] == 1 {
        "1 day".to_owned()
    } else {
        format!("{} days", WINDOW_DAYS[at])
    }
}

fn weeks(report: &Report) -> String {
    let (Some(first), Some(last)) = (report.weeks.first(), report.weeks.last()) else {
        return String::new();
    };
    if first == last {
        return String::new();
    }
    let columns: Vec<Column> = report
        .weeks
        .iter()
        .map(|week| {
            let (class, part) = if week.is_whole {
                ("w2", "")
            } else {
                ("w4", ", in part")
            };
            Column {
                class,
                title: format!(
                    "week of {}{part}: {}",
                    day(week.week),
                    count(week.pages, "page", "pages")
                ),
                value: week.pages,
            }
        })
        .collect();
    let rows: String = report
        .weeks
        .iter()
        .map(|week| {
            let part = if week.is_whole { "" } else { " <small>in part</small>" };
            format!("<tr><th scope=\"row\">{}{part}</th><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n", day(week.week), number(week.pages), number(week.requests))
        })
        .collect();
    format!(
        "<h3>By week</h3>\n<p>Different listed pages that were fetched in each week: {} at most. A week that the log has only a part of is paler.</p>\n\
         <div class=\"weeks\">{}<p class=\"axis\"><span>week of {}</span><span>week of {}</span></p></div>\n\
         <details><summary>The numbers of each week</summary>\n<table class=\"plain\" aria-label=\"By week\"><thead><tr><th scope=\"col\">From Monday</th><th scope=\"col\">Pages</th><th scope=\"col\">Requests of bots</th></tr></thead><tbody>\n{rows}</tbody></table></details>\n",
        number(
            report
                .weeks
                .iter()
                .map(|week| week.pages)
                .max()
                .unwrap_or(0)
        ),
        bars::columns(&columns),
        day(first.week),
        day(last.week),
    )
}
