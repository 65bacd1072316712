//! Simulates a crash: seen from outside, the functions' process dies before its n-th write.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;

/// Lets a number of writes pass, and fails every later one before it is sent.
#[derive(Clone, Debug)]
pub struct Fuse {
    left: Arc<AtomicI64>,
}

impl Default for Fuse {
    /// Returns a fuse that never blows.
    fn default() -> Self {
        Self {
            left: Arc::new(AtomicI64::new(i64::MAX)),
        }
    }
}

impl Fuse {
    /// Returns an interceptor for the functions' clients.
    #[must_use]
    pub fn interceptor(&self) -> SharedInterceptor {
        SharedInterceptor::new(self.clone())
    }

    /// Lets `writes` more writes pass.
    pub fn set(&self, writes: i64) {
        self.left.store(writes, Ordering::SeqCst);
    }

    /// Lets everything pass. Returns whether it had blown.
    #[must_use]
    pub fn lift(&self) -> bool {
        self.left.swap(i64::MAX, Ordering::SeqCst) < 0
    }

    /// Returns whether the fuse has blown.
    #[must_use]
    pub fn blown(&self) -> bool {
        self.left.load(Ordering::SeqCst) < 0
    }
}

impl Intercept for Fuse {
    fn name(&self) -> &'static str {
        "Fuse"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        let write = match request.headers().get("x-amz-target") {
            Some(target) => ["Put", "Update", "Delete", "TransactWrite", "BatchWrite"]
                .iter()
                .any(|name| target.contains(name)),
            None => request.method() == "PUT",
        };
        if write && self.left.fetch_sub(1, Ordering::SeqCst) <= 0 {
            return Err("the process has died".into());
        }
        Ok(())
    }
}
