//! Counts the calls of the functions to AWS, and their processor time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{AddAssign, Sub};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::config::interceptors::{
    BeforeTransmitInterceptorContextMut, BeforeTransmitInterceptorContextRef,
    FinalizerInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use local::invocation::{Invocation, Observer, current};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::price::{DYNAMODB_READ, DYNAMODB_WRITE, S3_GET, S3_PUT};

/// The counted calls and times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) invocations: f64,
    /// Milliseconds of processor time while the handler ran. Sockets and TLS are not included, because they are separate tasks of
    /// the runtime.
    pub(crate) cpu_ms: f64,
    /// Milliseconds of calls, in sequence if they wait for each other, at the latencies of [`crate::price`].
    pub(crate) wait_ms: f64,
    pub(crate) dynamodb: f64,
    pub(crate) write_units: f64,
    pub(crate) read_units: f64,
    pub(crate) gets: f64,
    /// PUT and LIST, which have the same price.
    pub(crate) puts: f64,
    pub(crate) put_bytes: f64,
    /// Calls that were answered with an error, such as a failed condition. DynamoDB does not report their consumption.
    pub(crate) failed: f64,
}

impl Tally {
    /// Returns the tally divided by `count`.
    pub(crate) fn per(self, count: f64) -> Self {
        self.times(1.0 / count)
    }

    /// Returns the tally multiplied by `count`.
    pub(crate) fn times(self, count: f64) -> Self {
        let mut all = self;
        for number in all.numbers() {
            *number *= count;
        }
        all
    }

    fn numbers(&mut self) -> [&mut f64; 10] {
        [
            &mut self.invocations,
            &mut self.cpu_ms,
            &mut self.wait_ms,
            &mut self.dynamodb,
            &mut self.write_units,
            &mut self.read_units,
            &mut self.gets,
            &mut self.puts,
            &mut self.put_bytes,
            &mut self.failed,
        ]
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, mut other: Self) {
        for (number, more) in self.numbers().into_iter().zip(other.numbers()) {
            *number += *more;
        }
    }
}

impl Sub for Tally {
    type Output = Self;

    fn sub(mut self, mut other: Self) -> Self {
        for (number, less) in self.numbers().into_iter().zip(other.numbers()) {
            *number = (*number - *less).max(0.0);
        }
        self
    }
}

/// The tallies of the functions.
pub(crate) type Tallies = BTreeMap<&'static str, Tally>;

/// A call of an invocation, with the time that it would take.
#[derive(Clone, Copy, Debug)]
struct Wait {
    began: Instant,
    ended: Instant,
    latency_ms: f64,
}

#[derive(Debug, Default)]
struct State {
    tallies: Tallies,
    running: BTreeMap<Invocation, Vec<Wait>>,
    seen: BTreeMap<&'static str, u64>,
}

/// Counts calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(Arc<Mutex<State>>);

impl Counter {
    /// Returns the counts since the last call.
    pub(crate) fn take(&self) -> Tallies {
        let mut state = self.0.lock().expect("not poisoned");
        let running = std::mem::take(&mut state.running);
        for (invocation, waits) in running {
            let tally = state.tallies.entry(invocation.function).or_default();
            tally.invocations += 1.0;
            tally.wait_ms += longest_chain(waits);
        }
        std::mem::take(&mut state.tallies)
    }

    /// Returns the number of all calls of a function.
    pub(crate) fn seen(&self, function: &str) -> u64 {
        let state = self.0.lock().expect("not poisoned");
        state.seen.get(function).copied().unwrap_or_default()
    }
}

/// Returns the longest total time of calls that wait for one another. Of overlapping calls only one counts.
fn longest_chain(mut waits: Vec<Wait>) -> f64 {
    waits.sort_by_key(|wait| wait.ended);
    // The longest chain that ends no later than each call, in the order of their ends.
    let mut longest: Vec<f64> = Vec::with_capacity(waits.len());
    for wait in &waits {
        let before = waits[..longest.len()].partition_point(|other| other.ended <= wait.began);
        let chain = before.checked_sub(1).map_or(0.0, |last| longest[last]) + wait.latency_ms;
        longest.push(longest.last().map_or(chain, |other| chain.max(*other)));
    }
    longest.last().copied().unwrap_or_default()
}

thread_local! {
    static RESUMED: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

impl Observer for Counter {
    fn interceptor(&self) -> SharedInterceptor {
        SharedInterceptor::new(self.clone())
    }

    fn resumed(&self, invocation: Invocation) {
        let mut state = self.0.lock().expect("not poisoned");
        if let Entry::Vacant(new) = state.running.entry(invocation) {
            new.insert(Vec::new());
            *state.seen.entry(invocation.function).or_default() += 1;
        }
        drop(state);
        RESUMED.set(thread_time());
    }

    fn paused(&self, invocation: Invocation) {
        let ran = thread_time() - RESUMED.get();
        let mut state = self.0.lock().expect("not poisoned");
        let tally = state.tallies.entry(invocation.function).or_default();
        tally.cpu_ms += ran.as_secs_f64() * 1_000.0;
    }
}

/// A try of a call, as it was sent.
#[derive(Debug)]
struct Sent {
    began: Instant,
    /// The operation of DynamoDB. `None` for other services.
    operation: Option<String>,
    is_put: bool,
    is_listing: bool,
    bytes: u64,
}

impl Storable for Sent {
    type Storer = StoreReplace<Self>;
}

impl Intercept for Counter {
    fn name(&self) -> &'static str {
        "Counter"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        if request.headers().contains_key("x-amz-target") {
            let body = request.body().bytes().unwrap_or_default();
            let mut input: Value = serde_json::from_slice(body)?;
            input["ReturnConsumedCapacity"] = json!("TOTAL");
            let body = serde_json::to_vec(&input)?;
            let length = body.len().to_string();
            request.headers_mut().insert("content-length", length);
            *request.body_mut() = SdkBody::from(body);
        }
        Ok(())
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        let target = request.headers().get("x-amz-target");
        let operation = target.and_then(|target| target.rsplit('.').next());
        config.interceptor_state().store_put(Sent {
            operation: operation.map(str::to_owned),
            is_put: request.method() == "PUT",
            is_listing: request.uri().contains("list-type=2"),
            bytes: request.body().content_length().unwrap_or_default(),
            began: Instant::now(),
        });
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let invocation = current().ok_or("a call for no function")?;
        let response = context.response().ok_or("a call without an answer")?;
        let sent = config.load::<Sent>().ok_or("a call that was not sent")?;
        let mut call = Tally::default();
        // A missing object is an answer like any other.
        let status = response.status().as_u16();
        call.failed = f64::from(u8::from(status >= 400 && status != 404));
        let latency = match &sent.operation {
            Some(operation) => {
                let answer: Value =
                    serde_json::from_slice(response.body().bytes().unwrap_or_default())?;
                let units = consumed(&answer["ConsumedCapacity"]);
                call.dynamodb = 1.0;
                match operation.as_str() {
                    "GetItem" | "BatchGetItem" | "Query" | "Scan" => {
                        call.read_units = units;
                        DYNAMODB_READ
                    }
                    _ => {
                        call.write_units = units;
                        DYNAMODB_WRITE
                    }
                }
            }
            None if sent.is_put => {
                call.puts = 1.0;
                call.put_bytes = sent.bytes as f64;
                S3_PUT
            }
            None if sent.is_listing => {
                call.puts = 1.0;
                S3_GET
            }
            None => {
                call.gets = 1.0;
                S3_GET
            }
        };
        let ended = Instant::now();
        let mut state = self.0.lock().expect("not poisoned");
        *state.tallies.entry(invocation.function).or_default() += call;
        state.running.entry(invocation).or_default().push(Wait {
            began: sent.began,
            ended,
            latency_ms: latency.as_secs_f64() * 1_000.0,
        });
        Ok(())
    }
}

/// Returns the units of an answer about one table or several.
fn consumed(capacity: &Value) -> f64 {
    let units = |capacity: &Value| capacity["CapacityUnits"].as_f64();
    match capacity {
        Value::Array(tables) => tables.iter().filter_map(units).sum(),
        table => units(table).unwrap_or_default(),
    }
}
