//! Tests what the report says of small logs.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::sync::Arc;

use crawl::bots::Bots;
use crawl::join::{Join, State, Wanted};
use crawl::log::{LogError, Reading};
use crawl::report::{Report, Row};

/// 2026-11-29T00:00:00Z, after all lines.
const NOW: i64 = 1_795_910_400;
const GOOGLEBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const GPTBOT: &str = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
/// An address of Googlebot's.
const GOOGLE: &str = "66.249.66.1";

/// What is listed and logged.
#[derive(Default)]
struct Case {
    /// Sitemap, address, lastmod.
    listed: Vec<(&'static str, &'static str, &'static str)>,
    excluded: Vec<(&'static str, &'static str)>,
    files: Vec<(String, String)>,
    wanted: Wanted,
    host: Option<&'static str>,
}

impl Case {
    fn run(&self) -> (Report, Vec<(String, State)>) {
        let bots = Arc::new(Bots::built_in());
        let mut join = Join::new(bots, self.wanted.clone(), &std::env::temp_dir(), NOW);
        let mut sitemaps: Vec<(&str, u32)> = Vec::new();
        for (sitemap, loc, lastmod) in &self.listed {
            let known = sitemaps.iter().find(|(name, _)| name == sitemap);
            let number = known.map(|(_, number)| *number).unwrap_or_else(|| {
                let number = join.sitemap(sitemap);
                sitemaps.push((sitemap, number));
                number
            });
            join.list(number, loc, lastmod).unwrap();
        }
        for (loc, reason) in &self.excluded {
            join.exclude(loc, reason).unwrap();
        }
        if let Some(host) = self.host {
            join.set_host(host);
        }
        let mut reading = Reading::default();
        for (name, text) in &self.files {
            let open = || Ok(text.as_bytes());
            reading.read(name, None, &mut join, open).unwrap();
        }
        let mut states = Vec::new();
        let take = |address: &str, state, _| {
            states.push((address.to_owned(), state));
            Ok(())
        };
        let mut report = join.finish("sitemaps".to_owned(), take).unwrap();
        reading.report(&mut report);
        (report, states)
    }

    fn log(&mut self, name: &str, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.files.push((name.to_owned(), text));
    }
}

/// Returns a line of November 2026.
fn line(day: u32, time: &str, client: &str, request: &str, status: u16, agent: &str) -> String {
    format!(
        "{client} - - [{day:02}/Nov/2026:{time} +0000] \"{request} HTTP/1.1\" {status} 5 \"-\" \"{agent}\""
    )
}

fn get(day: u32, time: &str, path: &str, status: u16) -> String {
    line(day, time, GOOGLE, &format!("GET {path}"), status, GOOGLEBOT)
}

fn site(listed: &[(&'static str, &'static str, &'static str)]) -> Case {
    Case {
        listed: listed.to_vec(),
        ..Case::default()
    }
}

const A: &str = "https://www.example.com/blog/a";
const B: &str = "https://www.example.com/blog/b";
const C: &str = "https://www.example.com/c";
const POSTS: &str = "https://www.example.com/post-sitemap.xml";
const PAGES: &str = "https://www.example.com/page-sitemap2.xml.gz";

fn named<'r>(rows: &'r [Row], name: &str) -> &'r Row {
    rows.iter()
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn pages_are_counted_by_sitemap_type_directory_and_bot() {
    let mut case = site(&[
        (POSTS, A, ""),
        (POSTS, B, ""),
        (PAGES, C, ""),
        (PAGES, A, ""),
    ]);
    case.log(
        "access.log",
        &[
            get(1, "00:00:00", "/robots.txt", 200),
            get(1, "00:00:01", "/blog/a", 200),
            get(9, "00:00:00", "/blog/%61?", 304),
            line(9, "00:00:01", "198.51.100.7", "GET /c", 200, GPTBOT),
            line(9, "00:00:02", GOOGLE, "GET /blog/b", 200, FIREFOX),
            line(9, "00:00:03", GOOGLE, "HEAD /blog/b", 200, GOOGLEBOT),
            get(9, "12:00:00", "/blog/b", 500),
        ],
    );
    let (report, states) = case.run();
    let total = &report.total;
    assert_eq!((total.listed, total.ever, total.never), (3, 1, 2));
    assert_eq!(total.fetched, [Some(1), Some(1), None, None]);
    assert_eq!(
        (total.requests, total.not_modified, total.failed),
        (4, 1, 1)
    );
    let posts = named(&report.by_sitemap, POSTS);
    assert_eq!((posts.listed, posts.ever), (2, 1));
    assert_eq!(named(&report.by_sitemap, PAGES).listed, 2);
    assert_eq!(named(&report.by_type, "page-sitemap").listed, 2);
    assert_eq!(named(&report.by_directory, "/blog/").ever, 1);
    assert_eq!(named(&report.by_directory, "/").ever, 0);
    let google = &report.by_bot[0];
    assert_eq!(
        (google.row.name.as_str(), google.row.listed, google.row.ever),
        ("Googlebot", 3, 1)
    );
    assert_eq!(
        (google.verified, google.impostors, google.all_requests),
        (5, 0, 5)
    );
    assert_eq!(google.statuses, [(200, 3), (304, 1), (500, 1)]);
    // GPTBot's operator publishes addresses, and this is none of them.
    let gpt = report
        .by_bot
        .iter()
        .find(|bot| bot.row.name == "GPTBot")
        .unwrap();
    assert_eq!(
        (gpt.impostors, gpt.all_requests, gpt.row.requests),
        (1, 0, 0)
    );
    let documents = report.documents.iter();
    let documents: Vec<_> = documents
        .map(|document| (document.address.as_str(), document.bots.len()))
        .collect();
    let robots = "https://www.example.com/robots.txt";
    assert_eq!(documents, [(PAGES, 0), (POSTS, 0), (robots, 1)]);
    assert_eq!(report.failures.len(), 1);
    assert_eq!(
        (
            report.failures[0].status,
            report.failures[0].examples[0].as_str()
        ),
        (500, B)
    );
    assert_eq!(
        states,
        [
            (A.to_owned(), State::Fresh),
            (B.to_owned(), State::Never),
            (C.to_owned(), State::Never)
        ]
    );
    assert_eq!(report.logs.requests, 5);
    assert_eq!(report.days.len(), 2);
    assert_eq!(
        report
            .weeks
            .iter()
            .map(|week| week.pages)
            .collect::<Vec<_>>(),
        [1, 1]
    );
}

#[test]
fn the_time_to_the_next_fetch_is_counted_only_where_the_log_can_tell() {
    let mut case = site(&[
        (POSTS, A, "2026-11-02T00:00:00Z"), // fetched an hour later
        (POSTS, B, "2026-11-02"),           // a day: counts from its end
        (POSTS, C, "2026-10-01"),           // before the log
        (POSTS, "https://www.example.com/d", "2026-11-03T00:00:00Z"), // never since
        (POSTS, "https://www.example.com/e", "2026-11-20"), // after the log
    ]);
    case.log(
        "access.log",
        &[
            get(1, "00:00:00", "/blog/a", 200),
            get(1, "00:00:00", "/d", 200),
            get(2, "01:00:00", "/blog/a", 200),
            get(2, "09:00:00", "/blog/b", 200),
            get(3, "00:10:00", "/post-sitemap.xml", 200),
            get(3, "02:00:00", "/blog/b", 304),
            get(4, "00:10:00", "/c", 200),
        ],
    );
    let (report, states) = case.run();
    let lag = &report.total.from_change;
    assert_eq!((lag.pages, lag.fetched), (3, 2));
    // Half of three are two: within two hours, within 3 %.
    let median = lag.median.unwrap();
    assert!(median.abs_diff(7_200) * 32 <= 7_200, "{median}");
    assert_eq!(lag.p90, None);
    assert_eq!(lag.distribution[..2], [1, 1]);
    // The sitemap was fetched once, after the changes of a, b and d. Of a nothing was fetched after that.
    let since = &report.total.from_sitemap;
    assert_eq!((since.pages, since.fetched), (3, 1));
    let google = &report.by_bot[0].row;
    assert_eq!(
        (google.from_change.pages, google.from_sitemap.fetched),
        (3, 1)
    );
    assert!(states.contains(&("https://www.example.com/d".to_owned(), State::Stale)));
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("1 pages changed after")),
        "{:?}",
        report.notes
    );
}

#[test]
fn fetched_addresses_that_are_not_listed_have_reasons() {
    let mut case = site(&[(POSTS, A, "")]);
    case.excluded = vec![(C, "noindex")];
    case.log(
        "access.log",
        &[
            get(1, "00:00:00", "/blog/a?utm_source=x", 200),
            get(1, "00:00:01", "/blog/a?utm_source=y&secret=1", 200),
            get(1, "00:00:02", "/c", 200),
            get(1, "00:00:03", "/style.css?v=3", 200),
            get(1, "00:00:04", "/old", 200),
            get(1, "00:00:05", "/old", 200),
            get(1, "00:00:06", "/gone", 410),
            get(1, "00:00:07", "/missing", 404),
        ],
    );
    let (report, states) = case.run();
    let said: Vec<_> = report
        .unlisted
        .iter()
        .map(|unlisted| {
            (
                unlisted.reason.as_str(),
                unlisted.addresses,
                unlisted.requests,
                &unlisted.examples[..],
            )
        })
        .collect();
    let [old, a, c, style] = [
        "https://www.example.com/old",
        A,
        C,
        "https://www.example.com/style.css",
    ]
    .map(|text| [text.to_owned()]);
    assert_eq!(
        said,
        [
            ("a listed page with a query", 2, 2, &a[..]),
            ("unknown", 1, 2, &old[..]),
            ("a style, script, picture or font", 1, 1, &style[..]),
            ("noindex", 1, 1, &c[..]),
        ]
    );
    let text = format!("{report:?}");
    assert!(
        !text.contains("secret") && !text.contains("utm") && !text.contains(GOOGLE),
        "{text}"
    );
    let gone: Vec<_> = states
        .iter()
        .filter(|(_, state)| *state == State::Gone)
        .collect();
    assert_eq!(gone.len(), 2);
    assert_eq!(report.total.never, 1);
}

#[test]
fn a_file_that_is_read_twice_counts_once_and_what_it_grew_by_counts() {
    let lines: Vec<String> = (0..60)
        .map(|at| get(1, &format!("00:00:{at:02}"), "/blog/a", 200))
        .collect();
    let mut other = lines.clone();
    other[59] = get(1, "00:00:59", "/blog/b", 200);
    let mut case = site(&[(POSTS, A, ""), (POSTS, B, "")]);
    case.log("access.log.1", &lines[..50]);
    case.log("access.log", &lines);
    case.log("copy.log", &lines);
    case.log("older copy.log", &lines[..30]);
    let (report, _) = case.run();
    assert_eq!(
        (report.logs.files, report.logs.lines, report.total.requests),
        (4, 60, 60)
    );
    assert_eq!(
        report
            .notes
            .iter()
            .filter(|note| note.contains("counted once"))
            .count(),
        3
    );
    // A file that goes on differently is another, behind what both have.
    case.files.truncate(2);
    case.log("other.log", &other);
    let (report, _) = case.run();
    assert_eq!(report.total.requests, 60 + 10);
}

#[test]
fn what_a_log_cuts_is_not_called_never_fetched() {
    let long: &'static str =
        Box::leak(format!("https://www.example.com/{}", "x".repeat(300)).into_boxed_str());
    let mut case = site(&[(POSTS, A, ""), (POSTS, long, "")]);
    // Varnish writes 254 bytes of a path, behind the host.
    let cut = &long.replace("https", "http")["http://www.example.com".len()..][..254];
    let cut = &format!("http://www.example.com{cut}");
    let line = |target: &str| {
        format!(
            "{GOOGLE} - - [01/Nov/2026:00:00:00 +0000] \"GET {target} HTTP/1.1\" 200 5 \"-\" \"{GOOGLEBOT}\""
        )
    };
    case.files.push((
        "varnish.log".to_owned(),
        format!("{}\n{}\n", line("http://www.example.com/blog/a"), line(cut)),
    ));
    let (report, states) = case.run();
    assert_eq!(report.total.never, 0, "{:?}", report.notes);
    assert_eq!((report.listing.pages, report.total.listed), (2, 1));
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("the log cuts"))
    );
    assert_eq!(states.len(), 1);
}

#[test]
fn lines_that_are_not_understood_are_counted_by_kind_and_shown_once() {
    let mut case = site(&[(POSTS, A, "")]);
    let good = get(1, "00:00:00", "/blog/a", 200);
    let future = good.replace("Nov/2026", "Dec/2039");
    case.files.push((
        "access.log".to_owned(),
        format!(
            "{good}\nnonsense 203.0.113.7\nnonsense\n{future}\n{}\n\n{good}",
            good.replace("/blog/a", &"/a".repeat(40_000))
        ),
    ));
    let (report, _) = case.run();
    assert_eq!((report.logs.lines, report.total.requests), (6, 2));
    assert_eq!(report.logs.unread.len(), 3);
    let [shape, clock, long] = &report.logs.unread[..] else {
        unreachable!()
    };
    assert_eq!(
        (shape.lines, shape.first.as_str(), shape.example.as_str()),
        (2, "access.log, line 2", "nonsense …")
    );
    let others = [&clock.reason, &long.reason];
    for reason in ["later than now", "longer than 65536 bytes"] {
        assert!(
            others.iter().any(|other| other.contains(reason)),
            "{others:?}"
        );
    }
}

#[test]
fn a_log_with_the_address_of_a_proxy_says_so() {
    let mut case = site(&[(POSTS, A, "")]);
    let from = |client: &str| line(1, "00:00:00", client, "GET /blog/a", 200, GOOGLEBOT);
    case.log("access.log", &[from("203.0.113.5"), from("203.0.113.6")]);
    let has_note = |case: &Case| {
        let (report, _) = case.run();
        let mut notes = report.notes.iter();
        notes.any(|note| note.starts_with("All 2 requests that could be verified"))
    };
    assert!(has_note(&case));
    case.log("other.log", &[from(GOOGLE)]);
    assert!(!has_note(&case));
}

#[test]
fn hosts_are_those_of_the_listing() {
    let mut case = site(&[(POSTS, A, ""), (POSTS, "https://shop.example.com/", "")]);
    case.log("access.log", &[get(1, "00:00:00", "/blog/a", 200)]);
    let (report, _) = case.run();
    assert_eq!(report.total.requests, 0, "which host it is is not known");
    case.host = Some("WWW.example.com");
    let (report, _) = case.run();
    assert_eq!(report.total.requests, 1);
    assert!(
        report
            .by_directory
            .iter()
            .any(|row| row.name == "www.example.com/blog/")
    );
    case.files.clear();
    case.log(
        "vhosts.log",
        &[format!(
            "other.example:443 {}",
            get(1, "00:00:00", "/blog/a", 200)
        )],
    );
    let (report, _) = case.run();
    assert_eq!(report.total.requests, 0);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("of which nothing is listed"))
    );
}

#[test]
fn a_form_that_is_not_known_is_an_error_that_says_what_it_looks_like() {
    let bots = Arc::new(Bots::built_in());
    let mut join = Join::new(bots, Wanted::default(), &std::env::temp_dir(), NOW);
    let mut reading = Reading::default();
    let read = reading.read("photo.jpg", None, &mut join, || {
        Ok(&b"\xff\xd8\xff\n\n"[..])
    });
    assert!(matches!(read, Err(LogError::Form(_))));
    reading
        .read("empty.log", None, &mut join, || Ok(&b""[..]))
        .unwrap();
}
