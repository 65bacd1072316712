//! What a reader sees first: a sentence, four numbers, and what to do.

use super::answers::status;
use super::bars;
use super::figures::{DAY, count, date, few, length, number, share};
use super::text::Text;
use crate::report::{FEW, Report, WINDOW_DAYS};

/// The position of seven days in [`WINDOW_DAYS`].
const WEEK: usize = 1;
/// Half of the changed pages may wait so long.
const LATE: u64 = 14 * DAY;
/// Statuses that a sentence names.
const NAMED: usize = 3;

pub(super) fn header(report: &Report) -> String {
    let tiles: String = WINDOW_DAYS
        .iter()
        .enumerate()
        .map(|(at, days)| tile(report, *days, report.total.fetched[at]))
        .collect();
    format!(
        "<header>
<div id=\"place\"><p>Crawlers at <span class=\"address\">{name}</span></p><button id=\"theme\" type=\"button\" hidden>Dark</button></div>
<h1>{headline}</h1>
<p id=\"log\">{log}</p>
<dl id=\"windows\">
{tiles}</dl>
</header>",
        name = Text(&report.listing.name),
        headline = headline(report),
        log = log(report),
    )
}

fn headline(report: &Report) -> String {
    let total = &report.total;
    if total.listed == 0 {
        return "No page is listed".to_owned();
    }
    let (fetched, when) = match (total.fetched[WEEK], total.fetched[0]) {
        (Some(fetched), _) => (fetched, "the last 7 days"),
        (None, Some(fetched)) => (fetched, "the last day"),
        (None, None) => (total.ever, "this log"),
    };
    let are = if fetched == 1 { "was" } else { "were" };
    format!(
        "{} of {} {are} fetched in {when}",
        number(fetched),
        count(total.listed, "listed page", "listed pages")
    )
}

fn log(report: &Report) -> String {
    let logs = &report.logs;
    let span = match (logs.first, logs.last) {
        (Some(first), Some(last)) if last > first => format!(
            "{} to {}, {}",
            date(first),
            date(last),
            length((last - first) as u64)
        ),
        (Some(first), _) => date(first),
        _ => "no time in the log".to_owned(),
    };
    format!(
        "{span} · {} · {} · {}",
        count(logs.lines, "line", "lines"),
        count(logs.requests, "request of bots", "requests of bots"),
        count(report.listing.sitemaps, "sitemap", "sitemaps"),
    )
}

fn tile(report: &Report, days: u32, fetched: Option<u64>) -> String {
    let window = if days == 1 {
        "Last day".to_owned()
    } else {
        format!("Last {days} days")
    };
    let listed = report.total.listed;
    let Some(fetched) = fetched else {
        return format!(
            "<div><dt>{window}</dt><dd class=\"none\">the log is too short</dd></div>\n"
        );
    };
    format!(
        "<div><dt>{window}</dt><dd><b>{}</b>{} <span>{} of {}</span>{}</dd></div>\n",
        share(fetched, listed),
        few(listed),
        number(fetched),
        number(listed),
        bars::bar("w1", fetched, listed),
    )
}

/// Returns what the numbers ask a reader to do, the most important first.
pub(super) fn advice(report: &Report) -> String {
    let all = [
        nothing(report),
        failures(report),
        never(report),
        unasked(report),
        late(report),
        unlisted(report),
        impostors(report),
        unread(report),
    ];
    let items: String = all
        .iter()
        .flatten()
        .map(|(what, how)| format!("<li><strong>{what}</strong> {how}</li>\n"))
        .collect();
    let body = match items.is_empty() {
        true => "<p>Nothing. All listed pages were fetched and answered.</p>\n".to_owned(),
        false => format!("<ol>\n{items}</ol>\n"),
    };
    format!(
        "<section id=\"advice\" aria-labelledby=\"do\">\n<h2 id=\"do\">What to do</h2>\n{body}</section>"
    )
}

/// What was seen, and what to do about it.
type Advice = Option<(String, String)>;

fn nothing(report: &Report) -> Advice {
    if report.total.listed == 0 {
        Some((
            "Nothing is listed.".to_owned(),
            "Look whether the sitemaps that were named are the right ones.".to_owned(),
        ))
    } else if report.logs.requests == 0 {
        Some((
            "No bot came.".to_owned(),
            "Look whether the log is of this site, and whether it has the agents of who asked."
                .to_owned(),
        ))
    } else {
        None
    }
}

fn failures(report: &Report) -> Advice {
    let named: Vec<String> = report
        .failures
        .iter()
        .take(NAMED)
        .map(|failure| {
            format!(
                "{} for {}",
                status(failure.status),
                count(failure.pages, "page", "pages")
            )
        })
        .collect();
    (!named.is_empty()).then(|| {
        let more = if report.failures.len() > NAMED {
            ", and others"
        } else {
            ""
        };
        (
            format!(
                "Listed pages were not answered with 200: {}{more}.",
                named.join(", ")
            ),
            "Repair them, or take them out of the sitemaps. <a href=\"#failures\">Examples</a>"
                .to_owned(),
        )
    })
}

fn never(report: &Report) -> Advice {
    let total = &report.total;
    (total.never > 0).then(|| {
        let most = report
            .by_sitemap
            .iter()
            .max_by_key(|row| row.never)
            .filter(|row| row.never > 0 && report.by_sitemap.len() > 1);
        let most = most.map(|row| {
            format!(
                " The most are in <span class=\"address\">{}</span>: {} of {}.",
                Text(&row.name),
                number(row.never),
                number(row.listed)
            )
        });
        (
            format!(
                "{} never fetched in this log, {} of all.",
                count(total.never, "listed page was", "listed pages were"),
                share(total.never, total.listed)
            ),
            format!(
                "Look whether other pages link to them. <code>--urls never</code> prints them.{}",
                most.unwrap_or_default()
            ),
        )
    })
}

fn unasked(report: &Report) -> Advice {
    let unasked = report
        .documents
        .iter()
        .filter(|document| document.bots.is_empty())
        .count() as u64;
    (unasked > 0).then(|| {
        (
            format!("No bot asked for {}.", count(unasked, "document", "documents")),
            "Name the index in robots.txt, and submit it to the engines. <a href=\"#documents\">Documents</a>".to_owned(),
        )
    })
}

fn late(report: &Report) -> Advice {
    let lag = &report.total.from_change;
    let is_late = lag.pages >= FEW && lag.median.is_none_or(|median| median > LATE);
    is_late.then(|| {
        let what = match lag.median {
            Some(median) => format!(
                "Half of the changed pages waited longer than {} for a bot.",
                length(median)
            ),
            None => {
                "Fewer than half of the changed pages were fetched since their change.".to_owned()
            }
        };
        (
            what,
            "Tell engines of changes with IndexNow. <code>--urls stale</code> prints the pages."
                .to_owned(),
        )
    })
}

fn unlisted(report: &Report) -> Advice {
    let unlisted: u64 = report
        .unlisted
        .iter()
        .map(|unlisted| unlisted.addresses)
        .sum();
    (unlisted > 0).then(|| {
        (
            format!("Bots fetched {} that no sitemap lists.", count(unlisted, "address", "addresses")),
            "List those that matter, and redirect or close the others. <a href=\"#unlisted\">Examples</a>".to_owned(),
        )
    })
}

fn impostors(report: &Report) -> Advice {
    let impostors: u64 = report.by_bot.iter().map(|bot| bot.impostors).sum();
    (impostors > 0).then(|| {
        (
            format!("{} the name of a bot and came from another address.", count(impostors, "request had", "requests had")),
            "They are counted nowhere else. If they are all of a bot's, the log may have the address of a proxy.".to_owned(),
        )
    })
}

fn unread(report: &Report) -> Advice {
    let lines: u64 = report.logs.unread.iter().map(|unread| unread.lines).sum();
    (lines > 0).then(|| {
        (
            format!(
                "{} not understood.",
                count(lines, "line of the log was", "lines of the log were")
            ),
            "The numbers are without them. <a href=\"#unread\">Reasons</a>".to_owned(),
        )
    })
}
