//! How many of the listed pages were fetched: by sitemap, type and directory, and by week.

use super::bars::{self, Column};
use super::figures::{TOO_SHORT, count, day, few, number, share};
use super::table::{self, PLOT};
use super::text::Text;
use crate::report::{Report, Row, WINDOW_DAYS, Week};

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
        let names: Vec<String> = self.0.iter().map(|at| name(*at)).collect();
        let mut columns = vec![first, PLOT];
        columns.extend(names.iter().map(String::as_str));
        columns.extend(["Ever", "Never", "Listed"]);
        let rows: Vec<String> = rows.iter().map(|row| self.row(row)).collect();
        format!(
            "<h3>{title}</h3>\n{}",
            table::folded("cover", title, &columns, &rows)
        )
    }

    fn row(&self, row: &Row) -> String {
        let mut before = 0;
        let mut parts: Vec<(&str, u64)> = Vec::with_capacity(CLASSES.len());
        let mut shares = Vec::with_capacity(self.0.len());
        for at in &self.0 {
            let label = name(*at);
            let Some(fetched) = row.fetched[*at] else {
                shares.push(table::figure(&label, TOO_SHORT));
                continue;
            };
            parts.push((CLASSES[*at], fetched.saturating_sub(before)));
            before = before.max(fetched);
            shares.push(table::figure(&label, share(fetched, row.listed)));
        }
        parts.push((CLASSES[WINDOW_DAYS.len()], row.ever.saturating_sub(before)));
        let name = format!("{}{}", Text(&row.name), few(row.listed));
        let mut cells = vec![
            table::name(name),
            table::plot(&bars::stacked(&parts, row.listed)),
        ];
        cells.append(&mut shares);
        cells.push(table::figure("ever", share(row.ever, row.listed)));
        cells.push(table::figure("never", number(row.never)));
        cells.push(table::figure("listed", number(row.listed)));
        table::row(&cells)
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
    let rows: Vec<String> = report.weeks.iter().map(week_row).collect();
    let most = report.weeks.iter().map(|week| week.pages).max();
    format!(
        "<h3>By week</h3>\n<p>Different listed pages that were fetched in each week: {} at most. A week that the log has only a part of is \
         paler.</p>\n<div class=\"weeks\">{}<p class=\"axis\"><span>week of {}</span><span>week of {}</span></p></div>\n{}",
        number(most.unwrap_or(0)),
        bars::columns(&columns),
        day(first.week),
        day(last.week),
        table::opening(
            "The numbers of each week",
            &table::table(
                "plain",
                "By week",
                &["From Monday", "Pages", "Requests of bots"],
                &rows
            )
        ),
    )
}

fn week_row(week: &Week) -> String {
    let part = if week.is_whole {
        ""
    } else {
        " <small>in part</small>"
    };
    table::row(&[
        table::name(format!("{}{part}", day(week.week))),
        table::figure("pages", number(week.pages)),
        table::figure("requests", number(week.requests)),
    ])
}
