//! Calls that fail, before or after they took effect, and calls that take their time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;

/// The longest time that a call is held up.
const LONGEST: Duration = Duration::from_millis(4);

/// What happens to the functions' calls, drawn from a seed.
#[derive(Clone, Debug)]
pub struct Chaos {
    /// How likely a call fails before it is sent, or its answer is lost, or it is held up.
    probability: f64,
    random: Arc<Mutex<(u64, u64)>>,
}

impl Chaos {
    /// Each fault with this probability.
    #[must_use]
    pub fn seeded(seed: u64, probability: f64) -> Self {
        Self {
            probability,
            random: Arc::new(Mutex::new((seed | 1, 0))),
        }
    }

    /// As an interceptor of the functions' clients.
    #[must_use]
    pub fn interceptor(&self) -> SharedInterceptor {
        SharedInterceptor::new(self.clone())
    }

    /// Faults so far.
    #[must_use]
    pub fn injected(&self) -> u64 {
        self.random.lock().expect("not poisoned").1
    }

    /// A number from 0 to 1, by xorshift.
    fn draw(&self) -> f64 {
        let mut random = self.random.lock().expect("not poisoned");
        let mut x = random.0;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        random.0 = x;
        (x >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn happens(&self) -> bool {
        let happens = self.draw() < self.probability;
        if happens {
            self.random.lock().expect("not poisoned").1 += 1;
        }
        happens
    }
}

impl Intercept for Chaos {
    fn name(&self) -> &'static str {
        "Chaos"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // An interceptor cannot await; so short a sleep only holds up this worker.
        if self.happens() {
            std::thread::sleep(LONGEST.mul_f64(self.draw()));
        }
        if self.happens() {
            Err("not sent".into())
        } else {
            Ok(())
        }
    }

    fn read_before_deserialization(
        &self,
        _: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if self.happens() {
            Err("the answer was lost".into())
        } else {
            Ok(())
        }
    }
}
