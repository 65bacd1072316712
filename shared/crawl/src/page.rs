//! The report as one HTML page.
//!
//! - It loads nothing. Its policy allows its own style and script by their digests, and nothing else.
//! - Without its script it lacks only the choice of colours and the button that copies the data.
//! - All texts are hostile: they are from logs and sitemaps of anybody. `text` escapes them, and no address is a link.
//! - It says nothing of what the logs cannot say, and marks numbers with few pages behind them.

mod about;
mod answers;
mod bars;
mod bots;
mod coverage;
mod digest;
mod figures;
mod lag;
mod summary;
mod table;
mod text;

use crate::report::Report;
use text::Text;

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='none' \
                    stroke='%232f7d6b' stroke-width='2' d='M8 2v4M3 14v-4h10v4M8 6v8'/%3E%3C/svg%3E";

/// Returns the page.
pub fn html(report: &Report) -> String {
    let sections = [
        Section::new("coverage", "Coverage", coverage::html(report)),
        Section::new("speed", "Speed", lag::html(report)),
        Section::new("bots", "Bots", bots::html(report)),
        Section::new("answers", "Answers", answers::html(report)),
        Section::new("about", "About these numbers", about::html(report)),
    ];
    let links: String = sections
        .iter()
        .map(|section| format!("<a href=\"#{}\">{}</a>\n", section.id, section.title))
        .collect();
    let bodies: String = sections.iter().map(Section::html).collect();
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        digest::source(SCRIPT),
        digest::source(STYLE),
    );
    format!(
        "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<meta name=\"robots\" content=\"noindex\">
<meta name=\"referrer\" content=\"no-referrer\">
<title>{title}</title>
<link rel=\"icon\" href=\"{ICON}\">
<style>{STYLE}</style>
</head>
<body>
{summary}
<nav aria-label=\"Sections\">
{links}</nav>
<main>
{advice}
{bodies}</main>
<script type=\"application/json\" id=\"data\">{data}</script>
<script>{SCRIPT}</script>
</body>
</html>
",
        title = Text(&format!("Crawlers at {}", report.listing.name)),
        summary = summary::header(report),
        advice = summary::advice(report),
        data = text::embedded(report),
    )
}

struct Section {
    id: &'static str,
    title: &'static str,
    body: String,
}

impl Section {
    fn new(id: &'static str, title: &'static str, body: String) -> Self {
        Self { id, title, body }
    }

    fn html(&self) -> String {
        let Self { id, title, body } = self;
        format!(
            "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n{body}</section>\n"
        )
    }
}
