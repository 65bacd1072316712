//! What the front takes from the process that it runs in.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use objects::{ObjectError, ObjectKey};

/// The time, pauses, and where broken bodies are counted.
pub trait Runtime: fmt::Debug + Send + Sync {
    /// Returns the time in Unix seconds.
    fn now(&self) -> i64;

    /// Completes after this time.
    fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()>;

    /// Counts a body that broke off after its status was sent, at the moment when it does. The front has logged it, and
    /// the client sees no more than the early end.
    fn body_broke(&self, key: &ObjectKey, error: &ObjectError);
}
