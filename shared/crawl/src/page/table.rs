//! Tables. On a narrow screen a row is a few lines, in which each number has its label.

use std::fmt::Display;

use super::figures::number;

/// Rows that are shown at once. The others are in an element that opens.
const SHOWN: usize = 25;

/// The name of a column of plots, which needs none.
pub(super) const PLOT: &str = "";

/// Returns a table with columns of these names.
pub(super) fn table(class: &str, label: &str, columns: &[&str], rows: &[String]) -> String {
    let head: String = columns
        .iter()
        .map(|name| match *name {
            PLOT => "<td class=\"plot\"></td>".to_owned(),
            name => format!("<th scope=\"col\">{name}</th>"),
        })
        .collect();
    format!(
        "<table class=\"{class}\" aria-label=\"{label}\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n",
        rows.concat()
    )
}

/// Returns a table whose later rows are in a second one, which opens.
pub(super) fn folded(class: &str, label: &str, columns: &[&str], rows: &[String]) -> String {
    let (shown, rest) = rows.split_at(rows.len().min(SHOWN));
    let mut html = table(class, label, columns, shown);
    if !rest.is_empty() {
        let more = format!("{} more", number(rest.len() as u64));
        html += &opening(
            &more,
            &table(class, &format!("{label}: the others"), columns, rest),
        );
    }
    html
}

/// Returns an element that opens.
pub(super) fn opening(summary: &str, html: &str) -> String {
    format!("<details><summary>{summary}</summary>\n{html}</details>\n")
}

/// Returns a row of cells.
pub(super) fn row(cells: &[String]) -> String {
    format!("<tr>{}</tr>\n", cells.concat())
}

/// Returns the cell with what a row is of.
pub(super) fn name(name: impl Display) -> String {
    format!("<th scope=\"row\" class=\"address\">{name}</th>")
}

/// Returns a cell with a number.
pub(super) fn figure(label: &str, figure: impl Display) -> String {
    format!("<td class=\"n\" data-label=\"{label}\">{figure}</td>")
}

/// Returns a cell with a plot.
pub(super) fn plot(svg: &str) -> String {
    format!("<td class=\"plot\">{svg}</td>")
}

/// Returns a cell with texts.
pub(super) fn texts(html: &str) -> String {
    format!("<td>{html}</td>")
}
