//! Calls that fail before or after they take effect, as calls of services do, and calls that are delayed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeSerializationInterceptorContextRef,
    BeforeTransmitInterceptorContextMut, FinalizerInterceptorContextMut,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::batch_get_item::{BatchGetItemInput, BatchGetItemOutput};
use aws_sdk_dynamodb::types::KeysAndAttributes;
use aws_smithy_types::config_bag::{Storable, StoreReplace};

use crate::answers::{self, Answer};

#[cfg(test)]
mod tests;

/// The longest delay of most calls.
const LONGEST: Duration = Duration::from_millis(4);
/// The longest delay of the others, during which other calls overtake them.
const VERY_LONG: Duration = Duration::from_millis(400);
const VERY_LONG_ONE_IN: f64 = 8.0;
/// The share of faults that last for all tries of a call. The SDK's own retries hide most of the others.
const LASTING: f64 = 0.5;

/// A way for a call to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    HeldUp,
    NotSent,
    AnswerLost,
    /// An error instead of the call.
    Refused(u16, &'static str),
    /// An error instead of its answer.
    Failed(u16, &'static str),
    /// A transaction that conflicts with another one.
    Cancelled,
    /// A batch of which a part is left.
    Partial,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::HeldUp => "held up",
            Self::NotSent => "not sent",
            Self::AnswerLost => "answer lost",
            Self::Cancelled => "transaction cancelled",
            Self::Partial => "partial batch",
            Self::Refused(_, "SlowDown" | "ThrottlingException") => "throttled",
            Self::Refused(_, "ProvisionedThroughputExceededException") => "over capacity",
            Self::Refused(_, "TransactionConflictException") => "transaction in the way",
            Self::Refused(409, _) => "409 before effect",
            Self::Refused(412, _) => "412 before effect",
            Self::Refused(..) => "5xx before effect",
            Self::Failed(412, _) => "412 after effect",
            Self::Failed(..) => "5xx after effect",
        }
    }
}

const OF_ANY_CALL: [Fault; 3] = [Fault::HeldUp, Fault::NotSent, Fault::AnswerLost];
const OF_DYNAMODB: [Fault; 5] = [
    Fault::Refused(500, "InternalServerError"),
    Fault::Failed(500, "InternalServerError"),
    Fault::Failed(503, "ServiceUnavailable"),
    Fault::Refused(400, "ThrottlingException"),
    Fault::Refused(400, "ProvisionedThroughputExceededException"),
];
const OF_S3: [Fault; 4] = [
    Fault::Refused(500, "InternalError"),
    Fault::Failed(500, "InternalError"),
    Fault::Failed(503, "ServiceUnavailable"),
    Fault::Refused(503, "SlowDown"),
];
const OF_A_PUT: [Fault; 3] = [
    Fault::Refused(409, "ConditionalRequestConflict"),
    Fault::Refused(412, "PreconditionFailed"),
    // The SDK's answer to a repeated put whose first answer was lost.
    Fault::Failed(412, "PreconditionFailed"),
];

/// Returns the faults that an operation of DynamoDB or a method of S3 may meet.
fn faults_of(operation: &str) -> Vec<Fault> {
    let (service, own): (&[Fault], &[Fault]) = match operation {
        "PUT" => (&OF_S3, &OF_A_PUT),
        "GET" | "HEAD" => (&OF_S3, &[]),
        "TransactWriteItems" => (&OF_DYNAMODB, &[Fault::Cancelled]),
        "BatchGetItem" => (&OF_DYNAMODB, &[Fault::Partial]),
        "PutItem" | "UpdateItem" | "DeleteItem" => (
            &OF_DYNAMODB,
            &[Fault::Refused(400, "TransactionConflictException")],
        ),
        _ => (&OF_DYNAMODB, &[]),
    };
    [&OF_ANY_CALL, service, own].concat()
}

/// The outcome of a try of a call.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    fault: Option<Fault>,
    lasting: bool,
}

impl Storable for Fate {
    type Storer = StoreReplace<Self>;
}

/// The keys of a `BatchGetItem`, by table.
#[derive(Clone, Debug)]
struct Asked(HashMap<String, KeysAndAttributes>);

impl Storable for Asked {
    type Storer = StoreReplace<Self>;
}

/// Faults of the functions' calls, from a seed.
#[derive(Clone, Debug)]
pub struct Chaos {
    /// The probability of each fault that a call may meet.
    probability: f64,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    random: u64,
    lifted: bool,
    injected: BTreeMap<&'static str, u64>,
}

impl Chaos {
    /// Returns chaos in which each fault has this probability, for each call that may meet it.
    #[must_use]
    pub fn seeded(seed: u64, probability: f64) -> Self {
        let state = State {
            random: seed | 1,
            lifted: false,
            injected: BTreeMap::new(),
        };
        Self {
            probability,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Returns an interceptor for the functions' clients.
    #[must_use]
    pub fn interceptor(&self) -> SharedInterceptor {
        SharedInterceptor::new(self.clone())
    }

    /// Lets every call pass from now on.
    pub fn lift(&self) {
        self.state.lock().expect("not poisoned").lifted = true;
    }

    /// Returns the number of faults so far.
    #[must_use]
    pub fn injected(&self) -> u64 {
        self.faults().values().sum()
    }

    /// Returns the number of faults so far, by name.
    #[must_use]
    pub fn faults(&self) -> BTreeMap<&'static str, u64> {
        self.state.lock().expect("not poisoned").injected.clone()
    }

    /// Returns a number from 0 to 1, by xorshift.
    fn draw(&self) -> f64 {
        let mut state = self.state.lock().expect("not poisoned");
        let mut x = state.random;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.random = x;
        (x >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn fate(&self, operation: &str, before: Option<Fate>) -> Fate {
        if self.state.lock().expect("not poisoned").lifted {
            return Fate::default();
        }
        if let Some(lasting) = before.filter(|fate| fate.lasting) {
            return lasting;
        }
        // One draw for all faults: the first share is the first fault's, and so on. Most of the range belongs to none.
        let share = (self.draw() / self.probability) as usize;
        let fault = faults_of(operation).get(share).copied();
        Fate {
            fault,
            lasting: fault.is_some() && self.draw() < LASTING,
        }
    }

    fn count(&self, fault: Fault) {
        let mut state = self.state.lock().expect("not poisoned");
        *state.injected.entry(fault.name()).or_default() += 1;
    }
}

impl Intercept for Chaos {
    fn name(&self) -> &'static str {
        "Chaos"
    }

    fn read_before_execution(
        &self,
        context: &BeforeSerializationInterceptorContextRef<'_>,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        answers::retry_soon(config);
        // The input is no longer available later.
        if let Some(input) = context.input().downcast_ref::<BatchGetItemInput>()
            && let Some(asked) = &input.request_items
        {
            config.interceptor_state().store_put(Asked(asked.clone()));
        }
        Ok(())
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        let before = config.load::<Fate>().copied();
        let fate = self.fate(answers::operation(request), before);
        let state = config.interceptor_state();
        state.store_put(fate);
        state.unset::<Answer>();
        match fate.fault {
            Some(fault) if fault != Fault::Partial => self.count(fault),
            _ => return Ok(()),
        }
        match fate.fault {
            // An interceptor cannot await, so a sleep blocks this worker.
            Some(Fault::HeldUp) => {
                let long = self.draw() < 1.0 / VERY_LONG_ONE_IN;
                let most = if long { VERY_LONG } else { LONGEST };
                std::thread::sleep(most.mul_f64(self.draw()));
            }
            Some(Fault::NotSent) => return Err("not sent".into()),
            Some(Fault::Refused(status, code)) => {
                state.store_put(Answer::error(request, status, code));
                answers::divert(request)?;
            }
            Some(Fault::Cancelled) => {
                state.store_put(Answer::cancelled(request)?);
                answers::divert(request)?;
            }
            Some(Fault::Failed(status, code)) => {
                state.store_put(Answer::error(request, status, code));
            }
            Some(Fault::AnswerLost | Fault::Partial) | None => {}
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
        match config.load::<Fate>() {
            Some(fate) if fate.fault == Some(Fault::AnswerLost) => {
                Err("the answer was lost".into())
            }
            _ => Ok(()),
        }
    }

    fn modify_before_attempt_completion(
        &self,
        context: &mut FinalizerInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let partial = config
            .load::<Fate>()
            .is_some_and(|fate| fate.fault == Some(Fault::Partial));
        if partial
            && let Some(Asked(asked)) = config.load::<Asked>()
            && let Some(Ok(output)) = context.output_or_error_mut()
            && let Some(output) = output.downcast_mut::<BatchGetItemOutput>()
            && leave_unprocessed(asked, output)?
        {
            self.count(Fault::Partial);
        }
        Ok(())
    }
}

/// Removes half of the items, at least one, from an answer, and returns their keys as unprocessed. Returns whether there were
/// any.
fn leave_unprocessed(
    asked: &HashMap<String, KeysAndAttributes>,
    output: &mut BatchGetItemOutput,
) -> Result<bool, BoxError> {
    let mut left = false;
    for (table, items) in output.responses.iter_mut().flatten() {
        let rest = items.split_off(items.len() / 2);
        if rest.is_empty() {
            continue;
        }
        let asked = asked
            .get(table)
            .ok_or("an answer of a table that was not asked for")?;
        let key = asked.keys().first().ok_or("a table was asked for no key")?;
        let keys = rest.into_iter().map(|mut item| {
            item.retain(|name, _| key.contains_key(name));
            item
        });
        let keys = KeysAndAttributes::builder()
            .set_keys(Some(keys.collect()))
            .set_consistent_read(asked.consistent_read)
            .set_projection_expression(asked.projection_expression.clone())
            .set_expression_attribute_names(asked.expression_attribute_names.clone())
            .build()?;
        let unprocessed = output.unprocessed_keys.get_or_insert_default();
        unprocessed.insert(table.clone(), keys);
        left = true;
    }
    Ok(left)
}
