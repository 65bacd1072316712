//! Records every call of the functions, as IAM sees it: which function, which action, on which resource.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use local::invocation::{Observer, current};
use serde_json::Value;

use crate::answers;

/// A permission that IAM checks for a call. A transaction needs one for each of its actions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Action {
    /// IAM's name of the action.
    pub name: String,
    /// The name of the table or the bucket.
    pub on: String,
    /// The beginning of the leading key, up to its first `#`, or of the object's key, up to its first `/`. `None` if a policy
    /// cannot restrict it: a scan, a listing, a table whose leading keys are not Waymark's.
    pub key: Option<String>,
}

impl Action {
    fn new(name: &str, on: &str, key: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            on: on.to_owned(),
            key: key.map(str::to_owned),
        }
    }
}

/// An action of a function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The function.
    pub function: &'static str,
    /// The action.
    pub action: Action,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Action { name, on, key } = &self.action;
        let key = key.as_deref().unwrap_or("-");
        write!(f, "{}: {name} on {on} {key}", self.function)
    }
}

/// The leading keys of one action in one transaction of a function. AWS does not say whether IAM asks for each item by itself, or
/// gathers the keys of an action, so one statement has to hold all of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Together {
    /// The function.
    pub function: &'static str,
    /// IAM's name of the action.
    pub name: String,
    /// The name of the table.
    pub on: String,
    /// The beginnings of the leading keys, as in [`Action`].
    pub keys: BTreeSet<String>,
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            function,
            name,
            on,
            keys,
        } = self;
        write!(f, "{function}: {name} on {on} {keys:?} in one transaction")
    }
}

/// Groups the actions of one request by name and table.
fn together(function: &'static str, actions: &[Action]) -> BTreeSet<Together> {
    let groups: BTreeSet<_> = actions
        .iter()
        .map(|action| (&action.name, &action.on))
        .collect();
    let keys_of = |name: &String, on: &String| {
        let of_group = actions.iter();
        let of_group = of_group.filter(|action| (&action.name, &action.on) == (name, on));
        of_group.filter_map(|action| action.key.clone()).collect()
    };
    let groups = groups.into_iter().map(|(name, on)| Together {
        function,
        name: name.clone(),
        on: on.clone(),
        keys: keys_of(name, on),
    });
    groups.filter(|group| group.keys.len() > 1).collect()
}

/// Records the functions' calls.
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<Mutex<Recorded>>);

#[derive(Debug, Default)]
struct Recorded {
    uses: BTreeSet<Use>,
    together: BTreeSet<Together>,
    unexplained: BTreeSet<String>,
}

impl Calls {
    /// Returns the recorded uses.
    ///
    /// # Panics
    ///
    /// If a call belongs to no function, or is of an unknown kind, because it would be missing.
    #[must_use]
    pub fn uses(&self) -> BTreeSet<Use> {
        self.explained().uses.clone()
    }

    /// Returns what the transactions do to rows of several kinds at once.
    ///
    /// # Panics
    ///
    /// As [`Calls::uses`].
    #[must_use]
    pub fn together(&self) -> BTreeSet<Together> {
        self.explained().together.clone()
    }

    fn explained(&self) -> MutexGuard<'_, Recorded> {
        let recorded = self.0.lock().expect("not poisoned");
        let unexplained = &recorded.unexplained;
        assert!(unexplained.is_empty(), "{unexplained:#?}");
        recorded
    }

    fn record(&self, actions: Result<Vec<Action>, String>) {
        let mut recorded = self.0.lock().expect("not poisoned");
        match (current(), actions) {
            (Some(invocation), Ok(actions)) => {
                let function = invocation.function;
                // Only DynamoDB's restrictions name keys.
                if actions
                    .iter()
                    .all(|action| action.name.starts_with("dynamodb:"))
                {
                    recorded.together.extend(together(function, &actions));
                }
                let uses = actions.into_iter().map(|action| Use { function, action });
                recorded.uses.extend(uses);
            }
            (None, Ok(actions)) => {
                let of_nobody = format!("made for no function: {actions:?}");
                recorded.unexplained.insert(of_nobody);
            }
            (_, Err(unknown)) => drop(recorded.unexplained.insert(unknown)),
        }
    }
}

impl Observer for Calls {
    fn interceptor(&self) -> SharedInterceptor {
        SharedInterceptor::new(self.clone())
    }
}

/// The bucket of a sent request to S3.
#[derive(Debug)]
struct Bucket(String);

impl Storable for Bucket {
    type Storer = StoreReplace<Self>;
}

impl Intercept for Calls {
    fn name(&self) -> &'static str {
        "Calls"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        let actions = if answers::is_dynamodb(request) {
            dynamodb_actions(request)
        } else {
            let target = S3Target::of(request);
            let actions = s3_actions(request, &target);
            config.interceptor_state().store_put(Bucket(target.bucket));
            actions
        };
        self.record(actions);
        Ok(())
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // S3 answers 404 for a missing object only to those who may list the bucket, and 403 to others.
        if context.response().status().as_u16() == 404
            && let Some(bucket) = config.load::<Bucket>()
        {
            self.record(Ok(vec![Action::new("s3:ListBucket", &bucket.0, None)]));
        }
        Ok(())
    }
}

/// The target of a request to S3, addressed by path.
struct S3Target {
    bucket: String,
    key: String,
    query: String,
}

impl S3Target {
    fn of(request: &HttpRequest) -> Self {
        let uri = request.uri().splitn(4, '/').nth(3).unwrap_or_default();
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        let [bucket, key, query] = [bucket, key, query].map(str::to_owned);
        Self { bucket, key, query }
    }
}

fn s3_actions(request: &HttpRequest, target: &S3Target) -> Result<Vec<Action>, String> {
    let S3Target { bucket, key, query } = target;
    let first = key.find('/').map(|slash| &key[..=slash]);
    let on_object = |name: &str| Action::new(name, bucket, first);
    let is_listing = query.split('&').any(|part| part == "list-type=2");
    match (request.method(), key.as_str()) {
        ("GET", "") if is_listing => Ok(vec![Action::new("s3:ListBucket", bucket, None)]),
        ("GET" | "HEAD", key) if !key.is_empty() => Ok(vec![on_object("s3:GetObject")]),
        ("PUT", key) if !key.is_empty() => {
            let mut actions = vec![on_object("s3:PutObject")];
            // The comparison needs the object's ETag.
            if request.headers().contains_key("if-match") {
                actions.push(on_object("s3:GetObject"));
            }
            Ok(actions)
        }
        (method, _) => Err(format!("unknown: {method} {}", request.uri())),
    }
}

/// The actions on an item, by the name of their member in a transaction.
const OF_TRANSACTIONS: [(&str, &str); 4] = [
    ("ConditionCheck", "ConditionCheckItem"),
    ("Put", "PutItem"),
    ("Update", "UpdateItem"),
    ("Delete", "DeleteItem"),
];

fn dynamodb_actions(request: &HttpRequest) -> Result<Vec<Action>, String> {
    let operation = answers::operation(request);
    let body = request.body().bytes().unwrap_or_default();
    let unknown = || {
        let body = String::from_utf8_lossy(body);
        format!("unknown: {operation} {body}")
    };
    let input: Value = serde_json::from_slice(body).map_err(|_| unknown())?;
    let actions = match operation {
        "TransactWriteItems" => {
            let items = input["TransactItems"].as_array().ok_or_else(unknown)?;
            let action = |item: &Value| {
                let mut of_item = OF_TRANSACTIONS.iter();
                of_item.find_map(|(member, name)| item_action(name, item.get(member)?))
            };
            items.iter().map(action).collect()
        }
        "BatchGetItem" => {
            let tables = input["RequestItems"].as_object().ok_or_else(unknown)?;
            let mut actions = Some(Vec::new());
            for (table, wanted) in tables {
                let keys = wanted["Keys"].as_array().into_iter().flatten();
                let of_table = keys.map(|key| on_table(operation, table, key));
                actions = actions.zip(of_table.collect::<Option<Vec<_>>>()).map(
                    |(mut actions, of_table)| {
                        actions.extend(of_table);
                        actions
                    },
                );
            }
            actions
        }
        "DescribeTable" | "Scan" => {
            table_name(&input).map(|table| vec![dynamodb(operation, table, None)])
        }
        "Query" => queried(&input).map(|action| vec![action]),
        "GetItem" | "PutItem" | "UpdateItem" | "DeleteItem" => {
            item_action(operation, &input).map(|action| vec![action])
        }
        _ => None,
    };
    actions.ok_or_else(unknown)
}

fn dynamodb(name: &str, table: &str, key: Option<&str>) -> Action {
    Action::new(&format!("dynamodb:{name}"), table, key)
}

fn table_name(input: &Value) -> Option<&str> {
    input["TableName"].as_str()
}

/// Returns the action on the item whose key is in this member.
fn item_action(name: &str, input: &Value) -> Option<Action> {
    let key = input.get("Key").or_else(|| input.get("Item"))?;
    on_table(name, table_name(input)?, key)
}

fn on_table(name: &str, table: &str, key: &Value) -> Option<Action> {
    match (key.get("pk"), key.get("id")) {
        (Some(pk), _) => Some(dynamodb(name, table, Some(leading(pk["S"].as_str()?)?))),
        (None, Some(_)) => Some(dynamodb(name, table, None)),
        (None, None) => None,
    }
}

/// Returns the query of a partition.
fn queried(input: &Value) -> Option<Action> {
    let pk = queried_partition(input)?;
    Some(dynamodb("Query", table_name(input)?, Some(leading(pk)?)))
}

/// Returns the partition key that a query's input asks for.
fn queried_partition(input: &Value) -> Option<&str> {
    let condition = input["KeyConditionExpression"].as_str()?;
    let (name, rest) = condition.split_once(" = ")?;
    let is_partition_key = input["ExpressionAttributeNames"][name] == "pk";
    let value = rest.split(' ').next().filter(|_| is_partition_key)?;
    input["ExpressionAttributeValues"][value]["S"].as_str()
}

fn leading(pk: &str) -> Option<&str> {
    Some(&pk[..=pk.find('#')?])
}
