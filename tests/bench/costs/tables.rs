//! The printed tables, and the values derived from the counts.

use engine::metrics::Monitoring;
use engine::regenerate::index::IndexLimits;
use local::invocation::{HTTP, REGENERATE};

use crate::count::Tallies;
use crate::price::{self, Price};
use crate::{A_DAY, BATCH, CHANGES, REQUESTS, Site};
use harness::watching::{self, Watching};

/// The number of pages of the site whose monthly costs are computed.
const PAGES: f64 = 1e6;
/// The number of entries of its sitemaps.
const ENTRIES: f64 = 1_000.0;
/// The number of its changes a day: one page in a hundred.
const CHANGES_A_DAY: f64 = PAGES / 100.0;
/// The number of crawlers' requests a month: each sitemap four times a day by ten crawlers, and the same number for everything
/// else.
const CRAWLS: f64 = PAGES / ENTRIES * 4.0 * 10.0 * DAYS * 2.0;
const DAYS: f64 = 30.0;
const MINUTES: f64 = DAYS * A_DAY as f64 / 60.0;
/// The share of requests that the CDN answers from its cache.
const HIT_RATES: [f64; 3] = [0.0, 0.5, 0.9];
/// The kinds of crawlers' requests, in hundredths.
const MIX: [(&str, f64); 6] = [
    ("index", 0.10),
    ("sitemap, gzip", 0.50),
    ("sitemap, 304", 0.30),
    ("redirect", 0.04),
    ("unknown sitemap", 0.02),
    ("unknown path", 0.04),
];
/// Bytes of a read unit.
const READ_UNIT_BYTES: f64 = 4_096.0;
const GB: f64 = 1e9;
/// The bytes in the log for a change: a line of each function and batch.
const LOG_BYTES: f64 = 1_000.0;

const HEAD: &str = "| | invocations | processor, ms | waiting, ms | DynamoDB calls | write units | read units | S3 GET | S3 PUT, LIST | KB put |\n|---|---|---|---|---|---|---|---|---|---|";

/// Formats a number with its significant digits.
fn short(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        number if number < 0.1 => format!("{number:.3}"),
        number if number < 10.0 => format!("{number:.2}"),
        number if number < 1_000.0 => format!("{number:.1}"),
        number => format!("{number:.0}"),
    }
}

fn dollars(price: f64) -> String {
    match price {
        price if price < 0.01 => format!("{price:.4}"),
        price if price < 100.0 => format!("{price:.2}"),
        price => format!("{price:.0}"),
    }
}

fn rows(what: &str, tallies: &Tallies) {
    for (function, tally) in tallies {
        let numbers = [
            tally.invocations,
            tally.cpu_ms,
            tally.wait_ms,
            tally.dynamodb,
            tally.write_units,
            tally.read_units,
            tally.gets,
            tally.puts,
            tally.put_bytes / 1_000.0,
        ];
        let numbers: Vec<String> = numbers.into_iter().map(short).collect();
        let failed = match tally.failed {
            failed if failed > 0.0 => format!(" ({} failed calls)", short(failed)),
            _ => String::new(),
        };
        println!("| {what}: `{function}`{failed} | {} |", numbers.join(" | "));
    }
}

fn per(tallies: &Tallies, count: f64) -> Tallies {
    let tallies = tallies.iter();
    tallies
        .map(|(name, tally)| (*name, tally.per(count)))
        .collect()
}

/// Returns the tally of a change on a site of [`PAGES`]. For the index, a block of rows is read, and the row after it.
fn change_of_the_large(large: &Site) -> Tallies {
    let mut change = large.change.clone();
    let (count, bytes) = large.summaries;
    let more = f64::from(IndexLimits::BLOCK + 1) - count;
    let units = more * bytes / count / READ_UNIT_BYTES;
    if let Some(tally) = change.get_mut(REGENERATE) {
        tally.read_units += units;
    }
    change
}

/// Returns the tally of one request of the mix that reaches the function, and the bytes of any request.
fn request(site: &Site) -> (Tallies, f64) {
    let mut request = Tallies::new();
    let mut bytes = 0.0;
    for (kind, share) in MIX {
        let (_, tallies, length) = site
            .requests
            .iter()
            .find(|(name, ..)| *name == kind)
            .expect("a kind of request");
        let tally = tallies[HTTP].times(share);
        *request.entry(HTTP).or_default() += tally;
        bytes += length * share;
    }
    (request, bytes)
}

fn priced(what: &str, price: &Price, cdn: f64) {
    let Price {
        writes,
        reads,
        s3,
        lambda,
    } = price;
    let parts = [*writes, *reads, *s3, *lambda, cdn, price.total() + cdn];
    let parts: Vec<String> = parts.into_iter().map(dollars).collect();
    println!("| {what} | {} |", parts.join(" | "));
}

/// Prints all tables.
pub(crate) fn print(small: &Site, large: &Site) {
    let profile = if cfg!(debug_assertions) {
        "a build for tests: the processor's milliseconds are too many"
    } else {
        "release"
    };
    println!("## Counted ({profile})\n");
    println!(
        "A change, the mean of {CHANGES} that were made one after the other, and of {BATCH} at once; an audit of 1,000 pages; a sweep that finds nothing to do; a first load of 1,000 pages.\n\n{HEAD}"
    );
    for site in [small, large] {
        let pages = site.pages;
        rows(&format!("a change, {pages} pages"), &site.change);
        rows(&format!("one of a batch, {pages} pages"), &site.batch);
        rows(
            &format!("audit, {pages} pages"),
            &per(&site.audit, pages / 1_000.0),
        );
        rows(&format!("a page departs, {pages} pages"), &site.departure);
        rows(&format!("it moves on, {pages} pages"), &site.move_on);
        rows(&format!("idle sweep, {pages} pages"), &site.sweep);
        rows(
            &format!("first load, {pages} pages"),
            &per(&site.first_load, pages / 1_000.0),
        );
    }
    println!(
        "\nA request, the mean of {REQUESTS} of each kind, on the site of {} pages.\n",
        large.pages
    );
    println!("| | processor, ms | waiting, ms | S3 GET | bytes |\n|---|---|---|---|---|");
    for (kind, tallies, bytes) in &large.requests {
        let tally = tallies[HTTP];
        let numbers = [tally.cpu_ms, tally.wait_ms, tally.gets, *bytes];
        let numbers: Vec<String> = numbers.into_iter().map(short).collect();
        println!("| {kind} | {} |", numbers.join(" | "));
    }

    let of = |name: &str| {
        let mut kinds = large.requests.iter();
        let (_, tallies, _) = kinds.find(|(kind, ..)| *kind == name).expect("a kind");
        tallies[HTTP].cpu_ms + tallies[HTTP].wait_ms
    };
    let [moved, sitemap] = ["page that moved elsewhere", "sitemap, gzip"]
        .map(|kind| of(&format!("first answer: {kind}")));
    let (row, entry) = large.departed_row;
    println!(
        "\nThe first answer for a page that moved takes {:.2} of that of a sitemap; its row has {row:.0} bytes, and an entry's {entry:.0}.",
        moved / sitemap
    );
    println!("\n## Computed (US dollars)\n");
    println!(
        "| | DynamoDB writes | reads | S3 | Lambda | CDN | all |\n|---|---|---|---|---|---|---|"
    );
    let million = |tallies: &Tallies| price::of(&per(tallies, 1e-6));
    priced(
        "a million changes, one at a time, 1,000 pages",
        &million(&small.change),
        0.0,
    );
    priced("the same, 20,000 pages", &million(&large.change), 0.0);
    let change = change_of_the_large(large);
    priced("the same, a million pages", &million(&change), 0.0);
    priced("a million changes at once", &million(&large.batch), 0.0);
    let load = per(&large.first_load, large.pages);
    priced(
        "a million pages that depart, one at a time",
        &million(&large.departure),
        0.0,
    );
    priced("first load of a million pages", &million(&load), 0.0);
    let (request, bytes) = request(large);
    let cdn = price::of_cdn(1e6, 1e6 * bytes / GB);
    for rate in HIT_RATES {
        let missed = price::of(&per(&request, 1.0 / (1e6 * (1.0 - rate))));
        let what = format!(
            "a million requests, {:.0} % answered by the CDN",
            rate * 100.0
        );
        priced(&what, &missed, cdn);
    }

    println!("\nA month of a site of a million pages.\n");
    println!(
        "| | DynamoDB writes | reads | S3 | Lambda | CDN and others | all |\n|---|---|---|---|---|---|---|"
    );
    let mut sum = (Price::default(), 0.0);
    let mut line = |what: &str, price: Price, others: f64| {
        priced(what, &price, others);
        sum.0.writes += price.writes;
        sum.0.reads += price.reads;
        sum.0.s3 += price.s3;
        sum.0.lambda += price.lambda;
        sum.1 += others;
    };
    let changes = CHANGES_A_DAY * DAYS;
    line(
        &format!("{changes:.0} changes, one at a time"),
        price::of(&per(&change, 1.0 / changes)),
        0.0,
    );
    let audits = per(&large.audit, large.pages / PAGES / DAYS);
    line("an audit a day", price::of(&audits), 0.0);
    let mut sweeps = price::of(&per(&large.sweep, 1.0 / MINUTES));
    // The listing of the failure bucket, which the local stack does not have.
    sweeps.s3 += MINUTES * sim::price::PUT;
    line("a sweep a minute", sweeps, 0.0);
    let cdn = price::of_cdn_in_a_month(CRAWLS, CRAWLS * bytes / GB);
    let missed = price::of(&per(&request, 1.0 / (CRAWLS * (1.0 - HIT_RATES[1]))));
    line(
        &format!(
            "{CRAWLS:.0} requests, {:.0} % answered by the CDN",
            HIT_RATES[1] * 100.0
        ),
        missed,
        cdn,
    );
    let rows = large.rows + large.items * price::BYTES_OF_AN_ITEM;
    let stored = rows / large.pages * PAGES / GB * price::DYNAMODB_GB_MONTH
        + large.objects / large.pages * PAGES / GB * price::S3_GB_MONTH;
    line("storage of rows and objects", Price::default(), stored);
    let watching = Watching::at(Monitoring::Full);
    line(
        "metrics, alarms, a dashboard (`Monitoring=full`)",
        Price::default(),
        watching.dollars(),
    );
    let logs = changes * LOG_BYTES / GB * price::LOG_GB;
    line("logs", Price::default(), logs);
    priced("all", &sum.0, sum.1);
    println!("\nThe same month's metrics, alarms and dashboard at each level of `Monitoring`.\n");
    print!("{}", watching::table());
    println!("\nPrices: us-east-1, {}.", sim::price::AS_OF);
    println!(
        "Rows: {:.0} bytes a page; objects: {:.0}; a sitemap's row in the index: {:.0}.",
        large.rows / large.pages,
        large.objects / large.pages,
        large.summaries.1 / large.summaries.0
    );
}
