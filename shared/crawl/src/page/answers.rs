//! Documents, pages that were not answered, and addresses that no sitemap lists.

use super::figures::{number, time};
use super::text::Text;
use crate::report::{Asked, Report};

pub(super) fn html(report: &Report) -> String {
    format!(
        "{}{}{}",
        failures(report),
        unlisted(report),
        documents(report)
    )
}

fn examples(examples: &[String]) -> String {
    let lines: String = examples
        .iter()
        .map(|address| format!("<li class=\"address\">{}</li>", Text(address)))
        .collect();
    format!("<ul class=\"examples\">{lines}</ul>")
}

fn failures(report: &Report) -> String {
    let heading = "<h3 id=\"failures\">Listed pages that were not answered with 200 or 304</h3>\n";
    if report.failures.is_empty() {
        return format!("{heading}<p class=\"none\">None.</p>\n");
    }
    let rows: String = report
        .failures
        .iter()
        .map(|failure| {
            let status = if failure.status == 0 { "no answer".to_owned() } else { failure.status.to_string() };
            format!(
                "<tr><th scope=\"row\">{status}</th><td class=\"n\" data-label=\"pages\">{}</td><td class=\"n\" data-label=\"requests\">{}</td><td>{}</td></tr>\n",
                number(failure.pages),
                number(failure.requests),
                examples(&failure.examples),
            )
        })
        .collect();
    format!(
        "{heading}<table aria-label=\"Listed pages that were not answered\"><thead><tr><th scope=\"col\">Status</th><th scope=\"col\">Pages</th><th scope=\"col\">Requests</th><th scope=\"col\">Examples</th></tr></thead><tbody>\n{rows}</tbody></table>\n"
    )
}

fn unlisted(report: &Report) -> String {
    let heading = "<h3 id=\"unlisted\">Fetched and not listed</h3>\n";
    if report.unlisted.is_empty() {
        return format!("{heading}<p class=\"none\">Nothing.</p>\n");
    }
    let rows: String = report
        .unlisted
        .iter()
        .map(|unlisted| {
            format!(
                "<tr><th scope=\"row\">{}</th><td class=\"n\" data-label=\"addresses\">{}</td><td class=\"n\" data-label=\"requests\">{}</td><td>{}</td></tr>\n",
                Text(&unlisted.reason),
                number(unlisted.addresses),
                number(unlisted.requests),
                examples(&unlisted.examples),
            )
        })
        .collect();
    format!(
        "{heading}<table aria-label=\"Fetched and not listed\"><thead><tr><th scope=\"col\">Reason</th><th scope=\"col\">Addresses</th><th scope=\"col\">Requests</th><th scope=\"col\">Examples</th></tr></thead><tbody>\n{rows}</tbody></table>\n"
    )
}

fn documents(report: &Report) -> String {
    if report.documents.is_empty() {
        return String::new();
    }
    let rows: String = report
        .documents
        .iter()
        .map(|document| {
            let asked: String = match document.bots.is_empty() {
                true => "<li class=\"none\">no bot</li>".to_owned(),
                false => document.bots.iter().map(asked).collect(),
            };
            let requests = document.bots.iter().map(|asked| asked.requests).sum();
            format!("<tr><th scope=\"row\" class=\"address\">{}</th><td class=\"n\" data-label=\"requests\">{}</td><td><ul class=\"examples\">{asked}</ul></td></tr>\n", Text(&document.address), number(requests))
        })
        .collect();
    format!(
        "<h3 id=\"documents\">robots.txt and sitemaps</h3>\n<table class=\"documents\" aria-label=\"robots.txt and sitemaps\"><thead><tr><th scope=\"col\">Document</th><th scope=\"col\">Requests</th><th scope=\"col\">Who asked, how often, the answers, and when last</th></tr></thead><tbody>\n{rows}</tbody></table>\n"
    )
}

fn asked(asked: &Asked) -> String {
    let statuses: Vec<String> = asked
        .statuses
        .iter()
        .map(|(status, requests)| {
            format!(
                "{} {}",
                number(*requests),
                if *status == 0 {
                    "no answer".to_owned()
                } else {
                    format!("× {status}")
                }
            )
        })
        .collect();
    format!(
        "<li><b>{}</b> {} <span>{} · {}</span></li>",
        Text(&asked.bot),
        number(asked.requests),
        statuses.join(", "),
        time(asked.last)
    )
}
