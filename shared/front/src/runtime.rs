//! The front's inputs from its process.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use objects::{ObjectError, ObjectKey};

/// The time, pauses, and the counter of failed bodies.
pub trait Runtime: fmt::Debug + Send + Sync {
    /// Returns the time in Unix seconds.
    fn now(&self) -> i64;

    /// Completes after this time.
    fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()>;

    /// Counts a body that failed after its status was sent, at that moment. The front has logged it, and the client only sees the
    /// early end.
    fn body_broke(&self, key: &ObjectKey, error: &ObjectError);
}
