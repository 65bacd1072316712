//! Tests that each role allows exactly what its function does, by comparing recorded calls with `template.yaml`.

mod by_hand;
mod deployment;
mod grants;

use std::collections::BTreeSet;

use grants::{Asked, Grant, granted, is_in_one_statement, missing, statements, superfluous};
use harness::calls::Calls;
use local::invocation::{HTTP, INGEST, REGENERATE, SWEEP};
use local::tables::{BUCKET, CONTENT_TABLE, SITEMAP_TABLE};
use serde_norway::Value;

/// The user's table.
const SOURCE: &str = "magazine";
/// The failure bucket.
const FAILURES_BUCKET: &str = "waymark-failures";

/// A function's role, and the actions that Lambda itself takes with it.
struct Role {
    name: &'static str,
    function: &'static str,
    /// Lambda's actions, each with its resource. They are never recorded, because no call of Waymark's is one of them.
    lambdas: &'static [(&'static [&'static str], &'static str)],
}

/// The actions with which Lambda writes a function's log.
const LOG: &[&str] = &["logs:CreateLogStream", "logs:PutLogEvents"];
/// The actions with which Lambda reads a function's stream (AWS's managed policy `AWSLambdaDynamoDBExecutionRole`).
const STREAM: &[&str] = &[
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
];
/// The action with which Lambda puts failed batches into a bucket. It also checks the permission for the whole bucket (SAM's own
/// policy `s3_send_event_payload_role_policy`).
const FAILURE: &[&str] = &["s3:PutObject"];
const FAILURES: &[&str] = &["s3:ListBucket"];
/// The actions with which tables and buckets use the stack's key, if there is one, in the name of the reader or writer:
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html>,
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html>.
const READ_WITH_KEY: &[&str] = &["kms:Decrypt"];
const PUT_WITH_KEY: &[&str] = &["kms:GenerateDataKey"];
/// The actions with which Lambda sends traces, if they are enabled. X-Ray has no resources.
const TRACE: &[&str] = &["xray:PutTelemetryRecords", "xray:PutTraceSegments"];

const ROLES: [Role; 4] = [
    Role {
        name: "IngestRole",
        function: INGEST,
        lambdas: &[
            (LOG, "IngestLogGroup"),
            (STREAM, "ContentTable/stream/*"),
            (STREAM, "SourceStreamArn"),
            (FAILURE, "FailureBucket/*"),
            (FAILURES, "FailureBucket"),
            (READ_WITH_KEY, "KmsKeyArn"),
            (PUT_WITH_KEY, "KmsKeyArn"),
            (TRACE, "*"),
        ],
    },
    Role {
        name: "RegenerateRole",
        function: REGENERATE,
        lambdas: &[
            (LOG, "RegenerateLogGroup"),
            (STREAM, "SitemapTable/stream/*"),
            (FAILURE, "FailureBucket/*"),
            (FAILURES, "FailureBucket"),
            (READ_WITH_KEY, "KmsKeyArn"),
            (PUT_WITH_KEY, "KmsKeyArn"),
            (TRACE, "*"),
        ],
    },
    Role {
        name: "HttpRole",
        function: HTTP,
        lambdas: &[
            (LOG, "HttpLogGroup"),
            (READ_WITH_KEY, "KmsKeyArn"),
            (TRACE, "*"),
        ],
    },
    Role {
        name: "SweepRole",
        function: SWEEP,
        lambdas: &[
            (LOG, "SweepLogGroup"),
            (READ_WITH_KEY, "KmsKeyArn"),
            (TRACE, "*"),
        ],
    },
];

impl Role {
    /// Returns the actions that IAM has to allow for this role.
    fn asked(&self, calls: &Calls) -> BTreeSet<Asked> {
        let own = self.lambdas.iter().flat_map(|(actions, on)| {
            let asked = |action: &&str| Asked::new(action, on, None);
            actions.iter().map(asked)
        });
        let uses = calls.uses().into_iter();
        let uses = uses.filter(|used| used.function == self.function);
        let uses = uses.map(|used| {
            let action = used.action;
            let on = resource(&action.on);
            match action.key {
                // An object is a resource of its own, but an item is not.
                Some(key) if action.name.starts_with("s3:") => {
                    Asked::new(&action.name, &format!("{on}/{key}"), None)
                }
                key => Asked::new(&action.name, on, key.as_deref()),
            }
        });
        own.chain(uses).collect()
    }
}

/// Returns the template's name for a resource of the local stack.
fn resource(name: &str) -> &'static str {
    match name {
        CONTENT_TABLE => "ContentTable",
        SITEMAP_TABLE => "SitemapTable",
        BUCKET => "SitemapBucket",
        SOURCE => "SourceTable",
        FAILURES_BUCKET => "FailureBucket",
        other => panic!("{other} is no resource of the template"),
    }
}

/// AWS does not say whether the keys of an action in a transaction are asked for one by one or all together.
fn every_transaction_is_allowed_by_one_statement_an_action(template: &Value, calls: &Calls) {
    let together = calls.together();
    let mut apart = Vec::new();
    for group in &together {
        let role = ROLES.iter().find(|role| role.function == group.function);
        let statements = statements(template, role.unwrap().name);
        let on = resource(&group.on);
        if !is_in_one_statement(&statements, &group.name, on, &group.keys) {
            apart.push(group.to_string());
        }
        // It is one statement that holds them, and not all of them one by one.
        let mut split = Vec::new();
        for grant in statements.concat() {
            split.push(vec![grant]);
        }
        let is_restricted = ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"]
            .iter()
            .any(|name| group.name.ends_with(name));
        assert!(
            !is_restricted || !is_in_one_statement(&split, &group.name, on, &group.keys),
            "{group}"
        );
    }
    assert!(apart.is_empty(), "{apart:#?}");
    let puts = together
        .iter()
        .any(|group| group.name == "dynamodb:PutItem" && group.keys.len() > 3);
    assert!(puts, "transactions of many kinds were made");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_may_do_what_its_function_does_and_nothing_else() {
    let calls = Calls::default();
    by_hand::does_everything(&calls).await;
    deployment::does_everything(&calls).await;
    let template = crate::template::tagged();
    let mut wrong = Vec::new();
    for role in &ROLES {
        let (grants, asked) = (granted(&template, role.name), role.asked(&calls));
        for asked in missing(&grants, &asked) {
            wrong.push(format!("{} lacks {asked}", role.name));
        }
        for grant in superfluous(&grants, &asked) {
            wrong.push(format!("{} does not need {grant}", role.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    every_transaction_is_allowed_by_one_statement_an_action(&template, &calls);
    for role in &ROLES {
        let (grants, asked) = (granted(&template, role.name), role.asked(&calls));
        // Without any one of the grants an action is missing, and any additional grant is reported.
        for at in 0..grants.len() {
            let mut fewer = grants.clone();
            let taken = fewer.remove(at);
            assert!(!missing(&fewer, &asked).is_empty(), "{taken}");
        }
        for planted in [
            Grant::new("dynamodb:PutItem", "ContentTable", None),
            Grant::new("dynamodb:DeleteItem", "SitemapTable", Some("SEGMENT#*")),
            Grant::new("s3:DeleteObject", "SitemapBucket/published/*", None),
            Grant::new("s3:GetObject", "FailureBucket/*", None),
        ] {
            let more = [grants.clone(), vec![planted.clone()]].concat();
            assert_eq!(superfluous(&more, &asked), [&planted], "{}", role.name);
        }
    }
}
