//! Invocations: where the stack runs a function, its calls can be attributed to the function. Elsewhere they cannot.

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
/// The function that the schedule calls.
pub const SWEEP: &str = "sweep";

/// One run of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Invocation {
    /// The function's name.
    pub function: &'static str,
    /// A number that no other invocation of this process has.
    pub number: u64,
}

tokio::task_local! {
    static CURRENT: Invocation;
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// Returns the invocation to which the current task belongs.
#[must_use]
pub fn current() -> Option<Invocation> {
    CURRENT.try_with(|current| *current).ok()
}

/// Observes the functions without changing anything.
pub trait Observer: Debug + Send + Sync {
    /// Returns an interceptor that sees every request of every function, including `http`, after all other interceptors.
    fn interceptor(&self) -> SharedInterceptor;

    /// Called when this thread continues an invocation.
    fn resumed(&self, _: Invocation) {}

    /// Called when this thread leaves an invocation, which is waiting or has ended.
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
