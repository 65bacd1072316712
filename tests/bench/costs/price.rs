//! List prices of AWS for us-east-1 in US dollars, without discounts. Free tiers are included only for the CDN. The prices of
//! tables and bucket are those of the simulated world.

use std::sync::LazyLock;
use std::time::Duration;

use serde_norway::Value;
use sim::price::{GET, PUT, READ_UNIT, WRITE_UNIT};
use sim::template::by_default;

use crate::count::{Tallies, Tally};

/// <https://aws.amazon.com/dynamodb/pricing/on-demand/>: a gigabyte of items for a month.
pub(crate) const DYNAMODB_GB_MONTH: f64 = 0.25;
/// The bytes that DynamoDB adds to each stored item.
pub(crate) const BYTES_OF_AN_ITEM: f64 = 100.0;
/// <https://aws.amazon.com/s3/pricing/>: a gigabyte of objects for a month.
pub(crate) const S3_GB_MONTH: f64 = 0.023;
/// <https://aws.amazon.com/lambda/pricing/>: a gigabyte-second on arm64.
const GB_SECOND: f64 = 0.000_013_333_4;
/// The price of an invocation.
const INVOCATION: f64 = 0.2e-6;
/// <https://aws.amazon.com/cloudfront/pricing/>: an HTTPS request from North America or Europe.
const CDN_REQUEST: f64 = 0.01e-4;
/// The price of a run of the viewer-request function.
const VIEWER_FUNCTION: f64 = 0.10e-6;
/// The price of a gigabyte to viewers there.
const CDN_GB: f64 = 0.085;
/// The part of these that is permanently free each month for each account (the same page): requests, runs, gigabytes.
const FREE: [f64; 3] = [10e6, 2e6, 1e3];
/// <https://aws.amazon.com/cloudwatch/pricing/>: a gigabyte of ingested logs. The rest of CloudWatch is in `watching`.
pub(crate) const LOG_GB: f64 = 0.50;

/// Returns the CDN's price of requests and of their answers' gigabytes.
pub(crate) fn of_cdn(requests: f64, gigabytes: f64) -> f64 {
    requests * (CDN_REQUEST + VIEWER_FUNCTION) + gigabytes * CDN_GB
}

/// Returns the CDN's price of all requests of a month, less the free tier.
pub(crate) fn of_cdn_in_a_month(requests: f64, gigabytes: f64) -> f64 {
    let [free_requests, free_runs, free_gigabytes] = FREE;
    (requests - free_requests).max(0.0) * CDN_REQUEST
        + (requests - free_runs).max(0.0) * VIEWER_FUNCTION
        + (gigabytes - free_gigabytes).max(0.0) * CDN_GB
}

/// The latencies of calls in a region's own network. They are assumptions, because no call here went to AWS. DynamoDB promises
/// "single-digit milliseconds", and a transaction takes two rounds.
pub(crate) const DYNAMODB_READ: Duration = Duration::from_millis(4);
pub(crate) const DYNAMODB_WRITE: Duration = Duration::from_millis(8);
pub(crate) const S3_GET: Duration = Duration::from_millis(25);
pub(crate) const S3_PUT: Duration = Duration::from_millis(45);

/// The megabytes of memory that include one vCPU (<https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>).
const VCPU_MB: f64 = 1_769.0;

/// The template, which has the memory of each function.
static TEMPLATE: LazyLock<Value> = LazyLock::new(|| {
    serde_norway::from_str(include_str!("../../../template.yaml")).expect("template.yaml")
});

/// Returns a function's memory in megabytes.
fn memory(function: &str) -> f64 {
    let (first, rest) = function.split_at(1);
    let resource = format!("{}{rest}Function", first.to_uppercase());
    let size = &TEMPLATE["Resources"][resource.as_str()]["Properties"]["MemorySize"];
    by_default(&TEMPLATE, size)
        .as_f64()
        .expect("a function's memory")
}

/// The parts of a price, in dollars.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Price {
    pub(crate) writes: f64,
    pub(crate) reads: f64,
    pub(crate) s3: f64,
    pub(crate) lambda: f64,
}

impl Price {
    pub(crate) fn total(&self) -> f64 {
        self.writes + self.reads + self.s3 + self.lambda
    }
}

/// Returns the price of a function's work.
fn of_function(function: &str, tally: &Tally) -> Price {
    let memory = memory(function);
    // A function's share of a vCPU depends on its memory.
    let computing = tally.cpu_ms * (VCPU_MB / memory).max(1.0);
    let gb_seconds = (computing + tally.wait_ms) / 1_000.0 * memory / 1_024.0;
    Price {
        writes: tally.write_units * WRITE_UNIT,
        reads: tally.read_units * READ_UNIT,
        s3: tally.gets * GET + tally.puts * PUT,
        lambda: gb_seconds * GB_SECOND + tally.invocations * INVOCATION,
    }
}

/// Returns the price of the work of all functions.
pub(crate) fn of(tallies: &Tallies) -> Price {
    let mut price = Price::default();
    for (function, tally) in tallies {
        let part = of_function(function, tally);
        price.writes += part.writes;
        price.reads += part.reads;
        price.s3 += part.s3;
        price.lambda += part.lambda;
    }
    price
}
