//! Reports of made-up sites, that have the shape of real ones.

use crawl::report::{
    Asked, BotRow, Day, Document, Failure, FormUse, LAG_BOUNDS, Lag, Listing, Logs, Report, Row,
    Source, Unlisted, Unread, WINDOW_DAYS, Week,
};

/// The names of [`named`].
pub(crate) const NAMES: [&str; 4] = ["site", "short", "hostile", "empty"];

/// What the hostile report has in each of its texts.
pub(crate) const HOSTILE: &str = "</script><!--<script>taken()</script>\"'><img src=x onerror=taken()>&amp;\u{202e}\u{7}\u{2028}";

const DAY: i64 = 86_400;
/// 29 November 2026, midnight.
const END: i64 = 1_795_910_400;
const DAYS: usize = 94;

/// Returns a report by its name.
pub(crate) fn named(name: &str) -> Option<Report> {
    match name {
        "site" => Some(site()),
        "short" => Some(short()),
        "hostile" => Some(hostile()),
        "empty" => Some(Report::default()),
        _ => None,
    }
}

/// A page's share of something, of a thousand.
fn part(of: u64, thousandth: u64) -> u64 {
    of * thousandth / 1000
}

/// `fetched` is thousandths in each window, and ever.
fn row(name: &str, listed: u64, fetched: [u64; WINDOW_DAYS.len() + 1]) -> Row {
    let windows = [fetched[0], fetched[1], fetched[2], fetched[3]];
    let ever = part(listed, fetched[4]);
    let requests = ever * 7;
    Row {
        name: name.to_owned(),
        listed,
        fetched: windows.map(|thousandth| Some(part(listed, thousandth))),
        ever,
        never: listed - ever,
        requests,
        not_modified: part(requests, 312),
        failed: part(requests, 9),
        from_change: lag(part(listed, 213), [31, 88, 214, 240, 176, 92, 61, 22, 4]),
        from_sitemap: lag(part(listed, 178), [92, 176, 262, 208, 121, 58, 30, 9, 0]),
    }
}

/// `within` is thousandths of the pages within each bound.
fn lag(pages: u64, within: [u64; LAG_BOUNDS.len() + 1]) -> Lag {
    let distribution = within.map(|thousandth| part(pages, thousandth));
    let fetched = distribution.iter().sum();
    // In the bucket that the count falls into, as evenly as the sample needs it.
    let at = |needed: u64| {
        let (mut sum, mut from) = (0, 0);
        for (bucket, count) in distribution.iter().enumerate() {
            let to = LAG_BOUNDS
                .get(bucket)
                .copied()
                .unwrap_or(LAG_BOUNDS[LAG_BOUNDS.len() - 1] * 2);
            if *count > 0 && sum + count >= needed {
                return Some(from + (to - from) * (needed - sum) / count);
            }
            (sum, from) = (sum + count, to);
        }
        None
    };
    Lag {
        pages,
        fetched,
        median: if pages > 0 {
            at(pages.div_ceil(2))
        } else {
            None
        },
        p90: if pages > 0 {
            at((pages * 9).div_ceil(10))
        } else {
            None
        },
        distribution,
    }
}

struct Sample {
    name: &'static str,
    operator: &'static str,
    purpose: &'static str,
    /// Requests on an ordinary day.
    daily: u64,
    /// Thousandths of the listed pages.
    fetched: [u64; WINDOW_DAYS.len() + 1],
    /// Of a hundred claims: verified, impostors, unverifiable.
    claims: [u64; 3],
    /// Of a thousand answers.
    statuses: &'static [(u16, u64)],
}

const BOTS: [Sample; 11] = [
    Sample {
        name: "Googlebot",
        operator: "Google",
        purpose: "search",
        daily: 3_120,
        fetched: [41, 198, 492, 671, 674],
        claims: [96, 4, 0],
        statuses: &[(200, 641), (301, 22), (304, 301), (404, 29), (503, 7)],
    },
    Sample {
        name: "bingbot",
        operator: "Microsoft",
        purpose: "search",
        daily: 1_480,
        fetched: [22, 121, 310, 455, 458],
        claims: [99, 1, 0],
        statuses: &[(200, 702), (301, 31), (304, 214), (404, 49), (499, 4)],
    },
    Sample {
        name: "GPTBot",
        operator: "OpenAI",
        purpose: "training",
        daily: 940,
        fetched: [9, 71, 166, 301, 303],
        claims: [98, 2, 0],
        statuses: &[(200, 931), (301, 18), (404, 48), (503, 3)],
    },
    Sample {
        name: "ClaudeBot",
        operator: "Anthropic",
        purpose: "training",
        daily: 610,
        fetched: [6, 44, 139, 260, 262],
        claims: [0, 0, 100],
        statuses: &[(200, 948), (301, 12), (404, 40)],
    },
    Sample {
        name: "Applebot",
        operator: "Apple",
        purpose: "search",
        daily: 350,
        fetched: [4, 27, 88, 190, 191],
        claims: [100, 0, 0],
        statuses: &[(200, 811), (304, 150), (404, 39)],
    },
    Sample {
        name: "OAI-SearchBot",
        operator: "OpenAI",
        purpose: "answer",
        daily: 240,
        fetched: [4, 22, 71, 121, 122],
        claims: [97, 3, 0],
        statuses: &[(200, 960), (404, 40)],
    },
    Sample {
        name: "AhrefsBot",
        operator: "Ahrefs",
        purpose: "other",
        daily: 210,
        fetched: [3, 19, 60, 133, 134],
        claims: [100, 0, 0],
        statuses: &[(200, 890), (301, 61), (404, 49)],
    },
    Sample {
        name: "YandexBot",
        operator: "Yandex",
        purpose: "search",
        daily: 92,
        fetched: [1, 9, 30, 66, 66],
        claims: [0, 0, 100],
        statuses: &[(200, 900), (304, 71), (404, 29)],
    },
    Sample {
        name: "facebookexternalhit",
        operator: "Meta",
        purpose: "preview",
        daily: 51,
        fetched: [1, 4, 11, 20, 20],
        claims: [0, 0, 100],
        statuses: &[(200, 951), (206, 30), (404, 19)],
    },
    Sample {
        name: "PerplexityBot",
        operator: "Perplexity",
        purpose: "answer",
        daily: 34,
        fetched: [0, 3, 8, 17, 17],
        claims: [71, 29, 0],
        statuses: &[(200, 970), (404, 30)],
    },
    Sample {
        name: "other bots",
        operator: "",
        purpose: "other",
        daily: 130,
        fetched: [1, 7, 19, 41, 41],
        claims: [0, 0, 100],
        statuses: &[(0, 11), (200, 802), (301, 40), (404, 141), (500, 6)],
    },
];

/// Requests of a bot on a day: fewer at weekends, some noise, and now and then a day with many more.
fn requests(bot: usize, at: usize) -> u64 {
    let mut noise = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (bot as u64 + 11).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    noise = (noise ^ noise >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
    noise ^= noise >> 32;
    let weekly = if matches!((at + 3) % 7, 5 | 6) {
        720
    } else {
        1000
    };
    let grown = 700 + at as u64 * (if matches!(bot, 2 | 5) { 9 } else { 4 });
    let burst = if noise % 37 == 3 || (bot == 2 && (50..57).contains(&at)) {
        1_900
    } else {
        1000
    };
    BOTS[bot].daily * weekly / 1000 * grown / 1000 * burst / 1000 * (750 + noise / 64 % 500) / 1000
}

const LISTED: u64 = 48_210;

fn site() -> Report {
    let days: Vec<Day> = (0..DAYS)
        .map(|at| Day {
            day: END - (DAYS - 1 - at) as i64 * DAY,
            requests: (0..BOTS.len()).map(|bot| requests(bot, at)).collect(),
        })
        .collect();
    let by_bot: Vec<BotRow> = BOTS
        .iter()
        .enumerate()
        .map(|(bot, sample)| bot_row(sample, days.iter().map(|day| day.requests[bot]).sum()))
        .collect();
    let of_bots = by_bot.iter().map(|bot| bot.all_requests).sum();
    Report {
        logs: Logs {
            files: 94,
            lines: 5_214_806,
            requests: of_bots,
            first: Some(END - (DAYS as i64 - 1) * DAY + 17),
            last: Some(END + 85_921),
            forms: vec![FormUse { form: "combined".to_owned(), files: 94, lines: 5_214_806 }],
            unread: vec![
                Unread { reason: "the request line has no method".to_owned(), lines: 214, first: "access.log.12.gz:88210".to_owned(), example: r#"- - [17/Nov/2026:04:11:52 +0000] "\x16\x03\x01" 400 157"#.to_owned() },
                Unread { reason: "the line was cut at 64 KiB".to_owned(), lines: 1, first: "access.log.3.gz:1203341".to_owned(), example: r#"- - [26/Nov/2026:13:02:09 +0000] "GET /search/"#.to_owned() },
            ],
        },
        listing: Listing { name: "https://www.example.com/sitemap_index.xml".to_owned(), sitemaps: 12, pages: LISTED },
        bots: Source { name: "Waymark's table of bots, with addresses of 2026-09-02".to_owned(), date: "2026-11-29".to_owned() },
        notes: vec![
            "In combined logs of Apache an answer that the client did not wait for looks like a 200.".to_owned(),
            "Times are when a request came, or when it was answered: the form does not say which.".to_owned(),
        ],
        total: row("all", LISTED, [73, 247, 581, 788, 791]),
        by_bot,
        by_sitemap: vec![
            row("brand-sitemap.xml", 312, [391, 880, 997, 1000, 1000]),
            row("category-sitemap.xml", 1_140, [212, 690, 951, 998, 1000]),
            row("news-sitemap.xml", 22, [864, 1000, 1000, 1000, 1000]),
            row("page-sitemap.xml", 187, [160, 561, 802, 941, 941]),
            row("post-sitemap.xml", 5_000, [81, 312, 744, 931, 933]),
            row("post-sitemap2.xml", 3_412, [67, 260, 690, 902, 905]),
            row("product-sitemap.xml", 10_000, [96, 331, 721, 921, 924]),
            row("product-sitemap2.xml", 10_000, [71, 244, 602, 850, 853]),
            row("product-sitemap3.xml", 10_000, [34, 140, 433, 700, 703]),
            row("product-sitemap4.xml", 7_310, [12, 61, 241, 402, 404]),
            row("review-sitemap.xml", 811, [22, 101, 390, 641, 641]),
            row("video-sitemap.xml", 16, [62, 250, 625, 875, 875]),
        ],
        by_type: vec![
            row("product", 37_310, [59, 210, 522, 741, 744]),
            row("post", 8_412, [75, 291, 722, 919, 922]),
            row("category", 1_140, [212, 690, 951, 998, 1000]),
            row("review", 811, [22, 101, 390, 641, 641]),
            row("brand", 312, [391, 880, 997, 1000, 1000]),
            row("page", 187, [160, 561, 802, 941, 941]),
            row("news", 22, [864, 1000, 1000, 1000, 1000]),
            row("video", 16, [62, 250, 625, 875, 875]),
        ],
        by_directory: vec![
            row("/p/", 37_310, [59, 210, 522, 741, 744]),
            row("/blog/", 8_412, [75, 291, 722, 919, 922]),
            row("/c/", 1_140, [212, 690, 951, 998, 1000]),
            row("/reviews/", 811, [22, 101, 390, 641, 641]),
            row("/", 187, [160, 561, 802, 941, 941]),
            row("the rest", 350, [371, 831, 960, 990, 990]),
        ],
        weeks: weeks(&days),
        days,
        documents: documents(),
        failures: vec![
            Failure { status: 404, requests: 3_210, pages: 214, examples: ["/p/heron-lamp-brass", "/p/oak-stool-2", "/blog/2019/how-we-glaze"].map(address).to_vec() },
            Failure { status: 503, requests: 391, pages: 307, examples: ["/p/linen-throw-sand", "/c/lighting?page=4"].map(address).to_vec() },
            Failure { status: 0, requests: 62, pages: 59, examples: vec![address("/p/ash-table-180")] },
        ],
        unlisted: vec![
            Unlisted { reason: "noindex".to_owned(), addresses: 1_208, requests: 9_220, examples: ["/search", "/account/sign-in"].map(address).to_vec() },
            Unlisted { reason: "moved".to_owned(), addresses: 640, requests: 2_904, examples: vec![address("/products/heron-lamp")] },
            Unlisted { reason: "unknown".to_owned(), addresses: 331, requests: 804, examples: ["/wp-login.php", "/p/heron-lamp-brass%20"].map(address).to_vec() },
        ],
    }
}

fn address(path: &str) -> String {
    format!("https://www.example.com{path}")
}

fn bot_row(sample: &Sample, claimed: u64) -> BotRow {
    let [verified, impostors, unverifiable] =
        sample.claims.map(|of_hundred| claimed * of_hundred / 100);
    let all_requests = claimed - impostors;
    let mut row = row(sample.name, LISTED, sample.fetched);
    let answered = |statuses: std::ops::Range<u16>| -> u64 {
        sample
            .statuses
            .iter()
            .filter(|(status, _)| statuses.contains(status))
            .map(|(_, thousandth)| thousandth)
            .sum()
    };
    row.requests = all_requests * 9 / 10;
    row.not_modified = part(row.requests, answered(304..305));
    row.failed = part(row.requests, answered(400..600) / 3 + answered(0..1));
    // The more a bot fetches, the sooner: each bound holds a part of what is left.
    let pace = |slow: u64| {
        let mut left = 1000;
        [9, 24, 71, 130, 180, 210, 260, 290, 0].map(|hold: u64| {
            let within = left * (hold * sample.fetched[2] / slow).min(900) / 1000;
            left -= within;
            within
        })
    };
    row.from_change = lag(part(LISTED, 213), pace(300));
    row.from_sitemap = lag(part(LISTED, sample.fetched[3] / 5), pace(130));
    BotRow {
        row,
        operator: sample.operator.to_owned(),
        purpose: sample.purpose.to_owned(),
        all_requests,
        verified,
        impostors,
        unverifiable,
        statuses: sample
            .statuses
            .iter()
            .map(|(status, thousandth)| (*status, part(all_requests, *thousandth)))
            .collect(),
    }
}

fn weeks(days: &[Day]) -> Vec<Week> {
    // 30 November 2026 is a Monday.
    let first = END + DAY - 14 * 7 * DAY;
    (0..14)
        .map(|at| {
            let week = first + at * 7 * DAY;
            let of: Vec<&Day> = days
                .iter()
                .filter(|day| (week..week + 7 * DAY).contains(&day.day))
                .collect();
            let requests = of.iter().flat_map(|day| &day.requests).sum();
            Week {
                week,
                is_whole: of.len() == 7,
                pages: 4_000 + requests / 6,
                requests,
            }
        })
        .filter(|week| week.requests > 0)
        .collect()
}

fn documents() -> Vec<Document> {
    let asked = |bot: &str, requests: u64, hours: i64, statuses: &[(u16, u64)]| Asked {
        bot: bot.to_owned(),
        requests,
        last: END + 85_000 - hours * 3_600,
        statuses: statuses.to_vec(),
    };
    vec![
        Document {
            address: address("/robots.txt"),
            bots: vec![
                asked("Googlebot", 1_210, 1, &[(200, 1_210)]),
                asked("bingbot", 871, 2, &[(200, 871)]),
                asked("GPTBot", 402, 7, &[(200, 402)]),
            ],
        },
        Document {
            address: address("/sitemap_index.xml"),
            bots: vec![
                asked("Googlebot", 188, 5, &[(200, 61), (304, 127)]),
                asked("bingbot", 94, 11, &[(200, 94)]),
            ],
        },
        Document {
            address: address("/product-sitemap.xml"),
            bots: vec![
                asked("Googlebot", 92, 9, &[(200, 88), (503, 4)]),
                asked("bingbot", 41, 30, &[(200, 41)]),
            ],
        },
        Document {
            address: address("/product-sitemap4.xml"),
            bots: vec![asked("Googlebot", 3, 900, &[(200, 3)])],
        },
        Document {
            address: address("/video-sitemap.xml"),
            bots: Vec::new(),
        },
    ]
}

/// A log of three days, of a small site.
fn short() -> Report {
    let mut report = site();
    report.logs.first = Some(END - 3 * DAY);
    report.logs.last = Some(END);
    report.days.drain(..DAYS - 3);
    report.weeks.clear();
    let shorten = |row: &mut Row| {
        row.listed = row.listed.min(25);
        row.fetched = [Some(row.listed / 5), None, None, None];
        row.ever = row.listed / 2;
        row.never = row.listed - row.ever;
        row.from_change = Lag::default();
        row.from_sitemap = lag(9, [400, 300, 0, 0, 0, 0, 0, 0, 0]);
    };
    shorten(&mut report.total);
    for row in report
        .by_sitemap
        .iter_mut()
        .chain(&mut report.by_type)
        .chain(&mut report.by_directory)
    {
        shorten(row);
    }
    for bot in &mut report.by_bot {
        shorten(&mut bot.row);
    }
    report
}

/// Markup in each text.
fn hostile() -> Report {
    let mut report = site();
    let text = || HOSTILE.to_owned();
    report.listing.name = text();
    report.bots = Source {
        name: text(),
        date: text(),
    };
    report.notes = vec![text()];
    for row in report
        .by_sitemap
        .iter_mut()
        .chain(&mut report.by_type)
        .chain(&mut report.by_directory)
    {
        row.name = text();
    }
    for bot in &mut report.by_bot {
        (bot.row.name, bot.operator, bot.purpose) = (text(), text(), text());
    }
    for document in &mut report.documents {
        document.address = text();
        document
            .bots
            .iter_mut()
            .for_each(|asked| asked.bot = text());
    }
    for failure in &mut report.failures {
        failure.examples = vec![text()];
    }
    for unlisted in &mut report.unlisted {
        (unlisted.reason, unlisted.examples) = (text(), vec![text()]);
    }
    for unread in &mut report.logs.unread {
        (unread.reason, unread.first, unread.example) = (text(), text(), text());
    }
    report
        .logs
        .forms
        .iter_mut()
        .for_each(|form| form.form = text());
    report
}
