//! Poison: calls fail whenever they contain a text, until the poison is lifted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeSerializationInterceptorContextRef,
    BeforeTransmitInterceptorContextMut,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;

use crate::answers::{self, Answer};

/// The answer of a permanent error.
const FOR_GOOD: (u16, &str) = (400, "ValidationException");
/// The answer of a temporary error.
const PASSING: (u16, &str) = (500, "InternalServerError");
/// The answer to a client without permission.
const DENIED: (u16, &str) = (400, "AccessDeniedException");

/// Fails the calls that contain a text, before they take effect.
#[derive(Clone, Debug)]
pub struct Poison {
    answer: (u16, &'static str),
    /// An operation of DynamoDB (`Query`) or a method of S3 (`PUT`). `None` for any.
    operation: Option<&'static str>,
    names: String,
    lifted: Arc<AtomicBool>,
    failed: Arc<AtomicU64>,
}

impl Poison {
    /// Returns a poison that permanently refuses requests with this text.
    #[must_use]
    pub fn for_good(names: &str) -> Self {
        Self::new(FOR_GOOD, None, names)
    }

    /// Returns a poison that permanently refuses requests of this operation of DynamoDB with this text.
    #[must_use]
    pub fn for_good_in(operation: &'static str, names: &str) -> Self {
        Self::new(FOR_GOOD, Some(operation), names)
    }

    /// Returns a poison that fails requests with this text temporarily.
    #[must_use]
    pub fn passing(names: &str) -> Self {
        Self::new(PASSING, None, names)
    }

    /// Returns a poison that temporarily fails requests of this operation of DynamoDB or method of S3 with this text.
    #[must_use]
    pub fn passing_in(operation: &'static str, names: &str) -> Self {
        Self::new(PASSING, Some(operation), names)
    }

    /// Returns a poison that denies permission for requests of this operation of DynamoDB with this text.
    #[must_use]
    pub fn denied_in(operation: &'static str, names: &str) -> Self {
        Self::new(DENIED, Some(operation), names)
    }

    fn new(answer: (u16, &'static str), operation: Option<&'static str>, names: &str) -> Self {
        Self {
            answer,
            operation,
            names: names.to_owned(),
            lifted: Arc::default(),
            failed: Arc::default(),
        }
    }

    /// Returns an interceptor for the functions' clients.
    #[must_use]
    pub fn interceptor(&self) -> SharedInterceptor {
        SharedInterceptor::new(self.clone())
    }

    /// Returns the number of calls that failed so far.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::SeqCst)
    }

    /// Lets every call pass from now on.
    pub fn lift(&self) {
        self.lifted.store(true, Ordering::SeqCst);
    }
}

impl Intercept for Poison {
    fn name(&self) -> &'static str {
        "Poison"
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        answers::retry_soon(config);
        Ok(())
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        config.interceptor_state().unset::<Answer>();
        let asks = self
            .operation
            .is_none_or(|operation| answers::operation(request) == operation);
        if asks && !self.lifted.load(Ordering::SeqCst) && answers::mentions(request, &self.names) {
            self.failed.fetch_add(1, Ordering::SeqCst);
            let (status, code) = self.answer;
            let answer = Answer::error(request, status, code);
            config.interceptor_state().store_put(answer);
            answers::divert(request)?;
        }
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(answer) = config.load::<Answer>() {
            *context.response_mut() = answer.response()?;
        }
        Ok(())
    }
}
