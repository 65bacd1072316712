//! Documents, pages that were not answered, and addresses that no sitemap lists.

use super::figures::{number, time};
use super::table;
use super::text::Text;
use crate::report::{Asked, Document, Failure, Report, Unlisted};

/// Bots that a document shows: those that asked most often.
const ASKED: usize = 8;

pub(super) fn html(report: &Report) -> String {
    let failures: Vec<String> = report.failures.iter().map(failure).collect();
    let unlisted: Vec<String> = report.unlisted.iter().map(unlisted).collect();
    let documents: Vec<String> = report.documents.iter().map(document).collect();
    [
        part(
            "failures",
            "Listed pages that were not answered with 200 or 304",
            &["Status", "Pages", "Requests", "Examples"],
            &failures,
        ),
        part(
            "unlisted",
            "Fetched and not listed",
            &["Reason", "Addresses", "Requests", "Examples"],
            &unlisted,
        ),
        part(
            "documents",
            "robots.txt and sitemaps",
            &[
                "Document",
                "Requests",
                "Who asked, how often, the answers, and when last",
            ],
            &documents,
        ),
    ]
    .concat()
}

fn part(id: &str, title: &str, columns: &[&str], rows: &[String]) -> String {
    let body = match rows.is_empty() {
        true => "<p class=\"none\">None.</p>\n".to_owned(),
        false => table::folded(id, title, columns, rows),
    };
    format!("<h3 id=\"{id}\">{title}</h3>\n{body}")
}

fn failure(failure: &Failure) -> String {
    table::row(&[
        table::name(status(failure.status)),
        table::figure("pages", number(failure.pages)),
        table::figure("requests", number(failure.requests)),
        examples(&failure.examples),
    ])
}

fn unlisted(unlisted: &Unlisted) -> String {
    table::row(&[
        table::name(Text(&unlisted.reason)),
        table::figure("addresses", number(unlisted.addresses)),
        table::figure("requests", number(unlisted.requests)),
        examples(&unlisted.examples),
    ])
}

fn examples(examples: &[String]) -> String {
    list(
        examples
            .iter()
            .map(|address| format!("<li class=\"address\">{}</li>", Text(address))),
    )
}

fn list(items: impl Iterator<Item = String>) -> String {
    table::texts(&format!(
        "<ul class=\"examples\">{}</ul>",
        items.collect::<String>()
    ))
}

fn document(document: &Document) -> String {
    let mut bots: Vec<&Asked> = document.bots.iter().collect();
    bots.sort_by_key(|bot| std::cmp::Reverse(bot.requests));
    let rest = match bots.len().saturating_sub(ASKED) {
        _ if bots.is_empty() => Some("<li class=\"none\">no bot</li>".to_owned()),
        0 => None,
        rest => Some(format!("<li class=\"none\">and {rest} others</li>")),
    };
    table::row(&[
        table::name(Text(&document.address)),
        table::figure(
            "requests",
            number(bots.iter().map(|bot| bot.requests).sum()),
        ),
        list(bots.iter().take(ASKED).map(|bot| asked(bot)).chain(rest)),
    ])
}

fn asked(bot: &Asked) -> String {
    let answers = bot
        .statuses
        .iter()
        .map(|(code, requests)| format!("{} × {}", number(*requests), status(*code)));
    format!(
        "<li><b>{}</b> {} <span>{} · {}</span></li>",
        Text(&bot.bot),
        number(bot.requests),
        answers.collect::<Vec<_>>().join(", "),
        time(bot.last)
    )
}

/// Returns a status. 0 is the client that had gone.
pub(super) fn status(status: u16) -> String {
    if status == 0 {
        "no answer".to_owned()
    } else {
        status.to_string()
    }
}
