//! A gate that holds up one call, so that a test decides what happens meanwhile.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;

/// Longer than anything takes that may happen at a gate.
const PATIENCE: Duration = Duration::from_secs(20);

/// Holds up the first call of an operation that names something, once it was answered: what the caller goes on with is
/// as old as the gate was closed. Wants a runtime with several threads.
#[derive(Clone, Debug)]
pub struct Gate {
    operation: &'static str,
    names: String,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// The call was sent. Its client makes one at a time.
    Asked,
    Reached,
    Open,
}

impl Gate {
    /// Behind an operation of DynamoDB (`Query`) or a method of S3 (`PUT`), if its request contains `names`.
    #[must_use]
    pub fn behind(operation: &'static str, names: impl Into<String>) -> Self {
        Self {
            operation,
            names: names.into(),
            state: Arc::new((Mutex::new(State::Closed), Condvar::new())),
        }
    }

    /// As an interceptor of a client.
    #[must_use]
    pub fn interceptor(&self) -> SharedInterceptor {
        SharedInterceptor::new(self.clone())
    }

    /// Waits until a call stands at the gate.
    ///
    /// # Panics
    ///
    /// If none comes.
    pub async fn reached(&self) {
        let until = Instant::now() + PATIENCE;
        while *self.state.0.lock().expect("not poisoned") != State::Reached {
            assert!(Instant::now() < until, "nobody came to the gate");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Lets the call go on, and every later one pass.
    pub fn open(&self) {
        *self.state.0.lock().expect("not poisoned") = State::Open;
        self.state.1.notify_all();
    }
}

impl Intercept for Gate {
    fn name(&self) -> &'static str {
        "Gate"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        let matches = match request.headers().get("x-amz-target") {
            Some(target) => {
                target.ends_with(&format!(".{}", self.operation))
                    && String::from_utf8_lossy(request.body().bytes().unwrap_or_default())
                        .contains(&self.names)
            }
            None => request.method() == self.operation && request.uri().contains(&self.names),
        };
        let mut state = self.state.0.lock().expect("not poisoned");
        if matches && *state == State::Closed {
            *state = State::Asked;
        }
        Ok(())
    }

    fn read_before_deserialization(
        &self,
        _: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (state, changed) = &*self.state;
        let mut state = state.lock().expect("not poisoned");
        if *state == State::Asked {
            *state = State::Reached;
            // An interceptor cannot await.
            drop(tokio::task::block_in_place(|| {
                changed.wait_timeout_while(state, PATIENCE, |state| *state != State::Open)
            }));
        }
        Ok(())
    }
}
