//! Who came, how often, and what they were answered.

use super::bars::{self, Column};
use super::figures::{DAY, TOO_SHORT, day, few, number, share};
use super::table::{self, PLOT};
use super::text::Text;
use crate::report::{BotRow, Report, WINDOW_DAYS};

/// Bots that have a plot of their own. The others are one plot together.
const PLOTS: usize = 6;
/// Days that a plot shows: the last of them.
const DAYS: usize = 120;
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
    let name_of = |at: usize| match report.by_bot.get(at) {
        Some(bot) if at < plots => Text(&bot.row.name).to_string(),
        _ => format!("{} others", report.by_bot.len() - plots),
    };
    let mut rows: Vec<String> = series
        .iter()
        .enumerate()
        .map(|(at, requests)| day_row(&name_of(at), requests, first))
        .collect();
    rows.push(format!(
        "<tr class=\"axis\"><td></td><td class=\"plot\"><span>{}</span><span>{}</span></td><td></td><td></td></tr>\n",
        day(first),
        day(last.day)
    ));
    let cut = if report.days[0].day < first {
        format!(" The last {DAYS} days.")
    } else {
        String::new()
    };
    format!(
        "<h3>Requests a day</h3>\n<p>Each row has a scale of its own, from none to the most in a day.{cut}</p>\n{}{}",
        table::table(
            "days",
            "Requests a day",
            &["Bot", PLOT, "Most in a day", "In all"],
            &rows
        ),
        day_table(
            &(0..series.len()).map(name_of).collect::<Vec<_>>(),
            &series,
            first
        ),
    )
}

fn day_row(name: &str, requests: &[u64], first: i64) -> String {
    let column = |(at, requests): (usize, &u64)| Column {
        class: "w2",
        title: format!(
            "{}: {}",
            day(first + at as i64 * DAY as i64),
            number(*requests)
        ),
        value: *requests,
    };
    let columns: Vec<Column> = requests.iter().enumerate().map(column).collect();
    table::row(&[
        table::name(name),
        table::plot(&bars::columns(&columns)),
        table::figure(
            "most in a day",
            number(requests.iter().copied().max().unwrap_or(0)),
        ),
        table::figure("in all", number(requests.iter().sum())),
    ])
}

fn day_table(names: &[String], series: &[Vec<u64>], first: i64) -> String {
    let mut columns = vec!["Day"];
    columns.extend(names.iter().map(String::as_str));
    let length = series.first().map_or(0, Vec::len);
    let rows: Vec<String> = (0..length)
        .map(|at| {
            let mut cells = vec![table::name(day(first + at as i64 * DAY as i64))];
            cells.extend(
                series
                    .iter()
                    .zip(names)
                    .map(|(requests, name)| table::figure(name, number(requests[at]))),
            );
            table::row(&cells)
        })
        .collect();
    let label = "The numbers of each day";
    let scrolled = format!(
        "<div class=\"wide\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">{}</div>\n",
        table::table("plain", "Requests of each day", &columns, &rows)
    );
    table::opening(label, &scrolled)
}

fn who(report: &Report) -> String {
    let rows: Vec<String> = report.by_bot.iter().map(who_row).collect();
    let week = format!("Pages in {} days", WINDOW_DAYS[WEEK]);
    let columns = [
        "Bot",
        "For",
        "Requests",
        PLOT,
        "Verified",
        "Impostors",
        &week,
        "Pages ever",
    ];
    format!(
        "<h3>Who came</h3>\n<p>A request is verified if its address is one that the bot's operator publishes. Impostors have the name and \
         another address, and are counted nowhere else.</p>\n{}{}",
        bars::legend(&[
            ("s200", "verified"),
            ("idle", "cannot be verified"),
            ("s5", "impostor")
        ]),
        table::folded("who", "Who came", &columns, &rows),
    )
}

fn who_row(bot: &BotRow) -> String {
    let claimed = bot.verified + bot.unverifiable + bot.impostors;
    let parts = [
        ("s200", bot.verified),
        ("idle", bot.unverifiable),
        ("s5", bot.impostors),
    ];
    let verified = match bot.verified + bot.impostors {
        0 => "<span class=\"none\">cannot be</span>".to_owned(),
        _ => share(bot.verified, claimed),
    };
    let week = match bot.row.fetched[WEEK] {
        Some(fetched) => format!("{}{}", number(fetched), few(bot.row.listed)),
        None => TOO_SHORT.to_owned(),
    };
    table::row(&[
        table::name(format!(
            "{}<small>{}</small>",
            Text(&bot.row.name),
            Text(&bot.operator)
        )),
        format!("<td data-label=\"for\">{}</td>", Text(&bot.purpose)),
        table::figure("requests", number(bot.all_requests)),
        table::plot(&bars::stacked(&parts, claimed)),
        table::figure("verified", verified),
        table::figure("impostors", number(bot.impostors)),
        table::figure(&format!("pages in {} days", WINDOW_DAYS[WEEK]), week),
        table::figure("pages ever", number(bot.row.ever)),
    ])
}

fn statuses(report: &Report) -> String {
    let answered = report.by_bot.iter().filter(|bot| !bot.statuses.is_empty());
    let rows: Vec<String> = answered.map(status_row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns = ["Bot", PLOT, "200", "304", "Redirect", "4xx", "5xx", "Other"];
    format!(
        "<h3 id=\"statuses\">What they were answered</h3>\n{}{}",
        bars::legend(&ANSWERS),
        table::folded("cover", "What they were answered", &columns, &rows),
    )
}

fn status_row(bot: &BotRow) -> String {
    let answers = answers(bot);
    let parts: Vec<(&str, u64)> = ANSWERS
        .iter()
        .zip(answers)
        .map(|((class, _), requests)| (*class, requests))
        .collect();
    let bar = bars::stacked(&parts, answers.iter().sum());
    let mut cells = vec![table::name(Text(&bot.row.name)), table::plot(&bar)];
    cells.extend(
        ANSWERS
            .iter()
            .zip(answers)
            .map(|((_, name), requests)| table::figure(name, number(requests))),
    );
    table::row(&cells)
}
