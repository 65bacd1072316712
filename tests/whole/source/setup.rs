//! Tests CloudFormation's question whether a table can be read with the deployment's settings. It always gets an answer.

use aws::Aws;
use aws_sdk_dynamodb::config::SharedInterceptor;
use harness::within;
use serde_json::{Value, json};
use sweep::setup::answered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

/// Starts CloudFormation's side: accepts one answer, replies with a status, and returns the answer's head and body.
async fn waiting(status: u16) -> (String, JoinHandle<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "http://{}/answer?Signature=a%2Bb%3D",
        listener.local_addr().unwrap()
    );
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        loop {
            assert!(
                stream.read_buf(&mut bytes).await.unwrap() > 0,
                "a whole request"
            );
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            if let Ok(body) = serde_json::from_slice(&bytes[end + 4..]) {
                let answer = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
                let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
                return (head.to_ascii_lowercase(), body);
            }
        }
    });
    (url, task)
}

fn request(kind: &str, url: &str, properties: Value) -> Value {
    json!({"RequestType": kind, "ResponseURL": url, "StackId": "arn:stack", "RequestId": "r-1", "ResourceType": "Custom::Source",
        "LogicalResourceId": "SourceCheck", "ServiceToken": "arn:sweep", "ResourceProperties": properties})
}

/// Returns the answer to CloudFormation. The function's calls use a client with these interceptors.
async fn asked(
    stack: &Stack,
    interceptors: Vec<SharedInterceptor>,
    kind: &str,
    properties: Value,
) -> (String, Value) {
    let (url, answer) = waiting(200).await;
    let aws = Aws::on_loopback(&stack.dynamodb_endpoint, &stack.s3_endpoint, interceptors);
    assert!(
        answered(&aws, &request(kind, &url, properties))
            .await
            .unwrap()
    );
    within("CloudFormation's answer", answer).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn cloudformation_is_told_whether_the_table_can_be_read() {
    let stack = Stack::start(options()).await.unwrap();
    let describe = stack
        .aws
        .dynamodb()
        .await
        .describe_table()
        .table_name(TABLE);
    let table = describe.send().await.unwrap().table.unwrap();
    let stream = table.latest_stream_arn().unwrap();
    let mapped = |mapping: &Value, stream: &str| {
        json!({"SourceTable": TABLE, "SourceMapping": mapping.to_string(),
        "SourceStream": stream, "ServiceToken": "arn:sweep"})
    };
    let mut other_key = mapping();
    other_key["key"] = json!([{"pk": "S"}]);
    let malformed = json!({"key": [], "fields": {"urls": "x"}});
    let long: serde_json::Map<String, Value> =
        (0..60).map(|n| (format!("unknown{n}"), json!(n))).collect();
    let missing = json!({"SourceTable": "nowhere", "SourceMapping": mapping().to_string()});
    for (kind, properties, reasons) in [
        ("Create", mapped(&mapping(), stream), vec![]),
        ("Update", mapped(&mapping(), ""), vec![]),
        ("Create", json!({}), vec![]),
        (
            "Create",
            json!({"SourceTable": "", "SourceMapping": ""}),
            vec![],
        ),
        ("Delete", mapped(&malformed, ""), vec![]),
        (
            "Create",
            mapped(&malformed, stream),
            vec![
                "SOURCE_MAPPING: key: ",
                "; fields.urls: unknown",
                "; fields.url: missing",
            ],
        ),
        (
            "Update",
            mapped(&other_key, stream),
            vec!["key: the mapping has pk (S), the table has pk (S), sk (N)"],
        ),
        (
            "Create",
            mapped(&mapping(), "arn:old"),
            vec!["the stream given is arn:old, the table's is arn:aws:dynamodb:"],
        ),
        (
            "Create",
            missing,
            vec!["table nowhere: DescribeTable failed: "],
        ),
        (
            "Create",
            json!({"SourceTable": TABLE}),
            vec!["give both or none"],
        ),
        (
            "Create",
            json!({"SourceMapping": "{}"}),
            vec!["give both or none"],
        ),
        (
            "Create",
            mapped(&Value::Object(long), ""),
            vec!["unknown0: unknown", "…"],
        ),
    ] {
        let (head, answer) = asked(&stack, Vec::new(), kind, properties).await;
        assert!(
            head.starts_with("put /answer?signature=a%2bb%3d http/1.1\r\n"),
            "{head}"
        );
        assert!(!head.contains("content-type"), "{head}");
        let status = if reasons.is_empty() {
            "SUCCESS"
        } else {
            "FAILED"
        };
        assert_eq!(answer["Status"], status, "{answer}");
        let reason = answer["Reason"].as_str().unwrap();
        assert!(reasons.iter().all(|part| reason.contains(part)), "{reason}");
        assert!(answer.to_string().len() < 4_096);
        for (name, value) in [
            ("StackId", "arn:stack"),
            ("RequestId", "r-1"),
            ("LogicalResourceId", "SourceCheck"),
            ("PhysicalResourceId", "SourceCheck"),
        ] {
            assert_eq!(answer[name], value);
        }
    }
    stack.stop().await.unwrap();
}

/// Tests a policy that is attached in the same update as the check runs, and takes effect later or never.
#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_comes_late_is_waited_for_and_one_that_never_comes_is_told() {
    let stack = Stack::start(options()).await.unwrap();
    let properties = json!({"SourceTable": TABLE, "SourceMapping": mapping().to_string()});
    let [late, never] = [(); 2].map(|()| Poison::denied_in("DescribeTable", TABLE));
    let ask = |denied: &Poison| {
        let interceptors = vec![denied.interceptor()];
        asked(&stack, interceptors, "Update", properties.clone())
    };
    let lift = async {
        until("a call is denied", async || late.failed() > 0).await;
        late.lift();
    };
    let ((_, granted), (_, refused), ()) = tokio::join!(ask(&late), ask(&never), lift);
    assert_eq!(granted["Status"], "SUCCESS", "{granted}");
    assert_eq!(late.failed(), 1);
    assert_eq!(refused["Status"], "FAILED");
    let reason = refused["Reason"].as_str().unwrap();
    assert!(reason.contains("AccessDenied"), "{reason}");
    assert!(reason.contains(TABLE), "{reason}");
    assert!(never.failed() > 1);
    stack.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_lost_is_an_error_and_any_other_event_is_none_of_it() {
    let stack = Stack::start(Options::default()).await.unwrap();
    let aws = &stack.aws;
    for event in [
        json!({}),
        json!({"detail-type": "Scheduled Event"}),
        Value::Null,
    ] {
        assert!(!answered(aws, &event).await.unwrap());
    }
    let (url, _answer) = waiting(403).await;
    let error = answered(aws, &request("Create", &url, json!({}))).await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "failed to answer CloudFormation: status 403"
    );
    let plain = request("Create", "http://s3.amazonaws.com/x", json!({}));
    assert!(answered(aws, &plain).await.is_err());
    assert!(answered(aws, &json!({"ResponseURL": url})).await.is_err());
    // The resource keeps its name.
    let (url, answer) = waiting(200).await;
    let mut update = request("Update", &url, json!({}));
    update["PhysicalResourceId"] = json!("before");
    assert!(answered(aws, &update).await.unwrap());
    let answer = within("CloudFormation's answer", answer).await;
    assert_eq!(answer.unwrap().1["PhysicalResourceId"], "before");
    stack.stop().await.unwrap();
}
