//! Who came, how often, and what they were answered.

use super::bars::{self, Column};
use super::figures::{DAY, day, few, number, share};
use super::text::Text;
use crate::report::{BotRow, Report, WINDOW_DAYS};

/// Bots that have a plot of their own. The others are one plot together.
const PLOTS: usize = 6;
/// Days that a plot shows: the last of them.
const DAYS: usize = 120;
/// Bots in the tables at once. The others are in an element that opens.
const SHOWN: usize = 15;
/// The position of seven days in [`WINDOW_DAYS`].
const WEEK: usize = 1;

/// The kinds of answers, their colours and names.
const ANSWERS: [(&str, &str); 6] = [
    ("s200", "200"),
    ("s304", "304 not modified"),
    ("s3", "redirect"),
    ("s4", "4xx"),
    ("s5", "5xx"),
    ("s0", "not to the end, or other"),
];

pub(super) fn html(report: &Report) -> String {
    if report.by_bot.is_empty() {
        return "<p class=\"none\">No bot asked for anything.</p>\n".to_owned();
    }
    format!("{}{}{}", days(report), who(report), statuses(report))
}

/// Where a kind of answer is in [`ANSWERS`].
fn kind(status: u16) -> usize {
    match status {
        304 => 1,
        200..=299 => 0,
        300..=399 => 2,
        400..=498 => 3,
        500..=599 => 4,
        _ => 5, // 499 is nginx's for a client that had gone
    }
}

fn answers(bot: &BotRow) -> [u64; ANSWERS.len()] {
    let mut answers = [0; ANSWERS.len()];
    for (status, requests) in &bot.statuses {
        answers[kind(*status)] += requests;
    }
    answers
}

fn days(report: &Report) -> String {
    let Some(last) = report.days.last() else {
        return String::new();
    };
    let step = DAY as i64;
    let first = report.days[0].day.max(last.day - (DAYS as i64 - 1) * step);
    let length = ((last.day - first) / step + 1) as usize;
    let plots = report.by_bot.len().min(PLOTS);
    // One bot alone is no "others".
    let plots = if report.by_bot.len() == PLOTS + 1 {
        PLOTS + 1
    } else {
        plots
    };
    let mut series = vec![vec![0; length]; plots + usize::from(report.by_bot.len() > plots)];
    for day in report.days.iter().filter(|day| day.day >= first) {
        let at = ((day.day - first) / step) as usize;
        for (bot, requests) in day.requests.iter().enumerate() {
            if let Some(series) = series.get_mut(bot.min(plots)) {
                series[at] += requests;
            }
        }
    }
    let rows: String = series
        .iter()
        .enumerate()
        .map(|(bot, requests)| {
            let name = report.by_bot.get(bot).filter(|_| bot < plots).map_or_else(|| format!("{} others", report.by_bot.len() - plots), |bot| Text(&bot.row.name).to_string());
            let columns: Vec<Column> = requests
                .iter()
                .enumerate()
                .map(|(at, requests)| Column { class: "w2", title: format!("{}: {}", day(first + at as i64 * step), number(*requests)), value: *requests })
                .collect();
            let (sum, most) = (requests.iter().sum(), requests.iter().copied().max().unwrap_or(0));
            format!("<tr><th scope=\"row\">{name}</th><td class=\"plot\">{}</td><td class=\"n\" data-label=\"most in a day\">{}</td><td class=\"n\" data-label=\"in all\">{}</td></tr>\n", bars::columns(&columns), number(most), number(sum))
        })
        .collect();
    let axis = format!(
        "<tr class=\"axis\"><td></td><td class=\"plot\"><span>{}</span><span>{}</span></td><td></td><td></td></tr>\n",
        day(first),
        day(last.day)
    );
    format!(
        "<h3>Requests a day</h3>\n<p>Each row has a scale of its own, from none to the most in a day.{}</p>\n<table class=\"days\" aria-label=\"Requests a day\"><thead><tr><th scope=\"col\">Bot</th><td class=\"plot\"></td><th scope=\"col\">Most in a day</th><th scope=\"col\">In all</th></tr></thead><tbody>\n{rows}{axis}</tbody></table>\n{}",
        if report.days[0].day < first {
            format!(" The last {DAYS} days.")
        } else {
            String::new()
        },
        day_table(report, &series, plots, first),
    )
}

fn day_table(report: &Report, series: &[Vec<u64>], plots: usize, first: i64) -> String {
    let heads: String = report
        .by_bot
        .iter()
        .take(plots)
        .map(|bot| format!("<th scope=\"col\">{}</th>", Text(&bot.row.name)))
        .collect();
    let others = if series.len() > plots {
        "<th scope=\"col\">others</th>"
    } else {
        ""
    };
    let length = series.first().map_or(0, Vec::len);
    let rows: String = (0..length)
        .map(|at| {
            let cells: String = series
                .iter()
                .map(|requests| format!("<td class=\"n\">{}</td>", number(requests[at])))
                .collect();
            format!(
                "<tr><th scope=\"row\">{}</th>{cells}</tr>\n",
                day(first + (at as u64 * DAY) as i64)
            )
        })
        .collect();
    format!(
        "<details><summary>The numbers of each day</summary>\n<div class=\"wide\" role=\"region\" aria-label=\"The numbers of each day\" tabindex=\"0\"><table class=\"plain\"><thead><tr><th scope=\"col\">Day</th>{heads}{others}</tr></thead><tbody>\n{rows}</tbody></table></div></details>\n"
    )
}

/// Returns a table whose later rows are in an element that opens.
fn table(class: &str, label: &str, head: &str, rows: &[String]) -> String {
    let table = |label: &str, rows: &[String]| {
        format!(
            "<table class=\"{class}\" aria-label=\"{label}\"><thead><tr>{head}</tr></thead><tbody>\n{}</tbody></table>\n",
            rows.concat()
        )
    };
    let (shown, rest) = rows.split_at(rows.len().min(SHOWN));
    let mut html = table(label, shown);
    if !rest.is_empty() {
        html.push_str(&format!(
            "<details><summary>{} more</summary>\n{}</details>\n",
            number(rest.len() as u64),
            table(&format!("{label}: the others"), rest)
        ));
    }
    html
}

fn who(report: &Report) -> String {
    let rows: Vec<String> = report
        .by_bot
        .iter()
        .map(|bot| {
            let claimed = bot.verified + bot.unverifiable + bot.impostors;
            let parts = [("s200", bot.verified), ("idle", bot.unverifiable), ("s5", bot.impostors)];
            let week = match bot.row.fetched[WEEK] {
                Some(fetched) => format!("{}{}", number(fetched), few(bot.row.listed)),
                None => "<span class=\"none\">the log is too short</span>".to_owned(),
            };
            format!(
                "<tr><th scope=\"row\">{}<small>{}</small></th><td data-label=\"for\">{}</td><td class=\"n\" data-label=\"requests\">{}</td><td class=\"plot\">{}</td><td class=\"n\" data-label=\"verified\">{}</td><td class=\"n\" data-label=\"impostors\">{}</td><td class=\"n\" data-label=\"pages in {} days\">{week}</td><td class=\"n\" data-label=\"pages ever\">{}</td></tr>\n",
                Text(&bot.row.name),
                Text(&bot.operator),
                Text(&bot.purpose),
                number(bot.all_requests),
                bars::stacked(&parts, claimed),
                if bot.verified == 0 && bot.impostors == 0 { "<span class=\"none\">cannot be</span>".to_owned() } else { share(bot.verified, claimed) },
                number(bot.impostors),
                WINDOW_DAYS[WEEK],
                number(bot.row.ever),
            )
        })
        .collect();
    let head = format!(
        "<th scope=\"col\">Bot</th><th scope=\"col\">For</th><th scope=\"col\">Requests</th><td class=\"plot\"></td><th scope=\"col\">Verified</th><th scope=\"col\">Impostors</th><th scope=\"col\">Pages in {} days</th><th scope=\"col\">Pages ever</th>",
        WINDOW_DAYS[WEEK]
    );
    format!(
        "<h3>Who came</h3>\n<p>A request is verified if its address is one that the bot's operator publishes. Impostors have the name and another address, and are counted nowhere else.</p>\n{}{}",
        bars::legend(&[
            ("s200", "verified"),
            ("idle", "cannot be verified"),
            ("s5", "impostor")
        ]),
        table("who", "Who came", &head, &rows),
    )
}

fn statuses(report: &Report) -> String {
    let rows: Vec<String> = report
        .by_bot
        .iter()
        .filter(|bot| !bot.statuses.is_empty())
        .map(|bot| {
            let answers = answers(bot);
            let all = answers.iter().sum();
            let parts: Vec<(&str, u64)> = ANSWERS
                .iter()
                .zip(answers)
                .map(|((class, _), requests)| (*class, requests))
                .collect();
            let cells: String = ANSWERS
                .iter()
                .zip(answers)
                .map(|((_, name), requests)| {
                    format!(
                        "<td class=\"n\" data-label=\"{name}\">{}</td>",
                        number(requests)
                    )
                })
                .collect();
            format!(
                "<tr><th scope=\"row\">{}</th><td class=\"plot\">{}</td>{cells}</tr>\n",
                Text(&bot.row.name),
                bars::stacked(&parts, all)
            )
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let heads: String = ["200", "304", "Redirect", "4xx", "5xx", "Other"]
        .iter()
        .map(|name| format!("<th scope=\"col\">{name}</th>"))
        .collect();
    format!(
        "<h3 id=\"statuses\">What they were answered</h3>\n{}{}",
        bars::legend(&ANSWERS),
        table(
            "cover",
            "What they were answered",
            &format!("<th scope=\"col\">Bot</th><td class=\"plot\"></td>{heads}"),
            &rows
        ),
    )
}
