//! Invocations: on whose behalf a call is made is known wherever the stack runs a function, and nowhere else.

use std::fmt::Debug;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::config::SharedInterceptor;

/// The function behind the content table's stream.
pub const INGEST: &str = "ingest";
/// The function behind the sitemap table's stream.
pub const REGENERATE: &str = "regenerate";
/// The function that answers crawlers.
pub const HTTP: &str = "http";
/// The function that the clock calls.
pub const SWEEP: &str = "sweep";

/// One run of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Invocation {
    /// The function's name.
    pub function: &'static str,
    /// No other invocation of this process has it.
    pub number: u64,
}

tokio::task_local! {
    static CURRENT: Invocation;
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// Returns the invocation that the current task is a part of.
#[must_use]
pub fn current() -> Option<Invocation> {
    CURRENT.try_with(|current| *current).ok()
}

/// Sees what the functions do, and changes nothing of it.
pub trait Observer: Debug + Send + Sync {
    /// Sees every request of every function, those of `http` too, after anything that changes it.
    fn interceptor(&self) -> SharedInterceptor;

    /// Notes that this thread goes on with an invocation.
    fn resumed(&self, _: Invocation) {}

    /// Notes that this thread leaves an invocation, which waits for something or has ended.
    fn paused(&self, _: Invocation) {}
}

/// Runs a function.
pub async fn invoke<T>(
    function: &'static str,
    observer: Option<Arc<dyn Observer>>,
    running: impl Future<Output = T> + Send,
) -> T {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let invocation = Invocation { function, number };
    let mut running = pin!(CURRENT.scope(invocation, running));
    poll_fn(|context| {
        if let Some(observer) = &observer {
            observer.resumed(invocation);
        }
        let polled = running.as_mut().poll(context);
        if let Some(observer) = &observer {
            observer.paused(invocation);
        }
        polled
    })
    .await
}
