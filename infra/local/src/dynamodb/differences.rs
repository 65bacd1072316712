//! Tests of what dynoxide does otherwise than DynamoDB, and the local stack mends.

use std::time::Duration;

use aws::Clock;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeValue, Put, TimeToLiveSpecification, TransactWriteItem, Update,
};
use bytes::Bytes;
use dynoxide::Database;
use dynoxide::actions::get_records::{GetRecordsRequest, Record};
use dynoxide::actions::get_shard_iterator::GetShardIteratorRequest;
use dynoxide::actions::list_streams::ListStreamsRequest;
use dynoxide::streams::shard_id;
use http::StatusCode;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use super::DynamoDb;
use super::expiry::expire;
use super::tests::{client, create_table};

/// The time of expired items, in Unix seconds.
const EXPIRED: i64 = 1_800_000_000;

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

async fn records(dynamodb: &DynamoDb) -> Vec<Record> {
    let read = |database: &Database| {
        let streams = database.list_streams(ListStreamsRequest::default());
        let request = GetShardIteratorRequest {
            stream_arn: streams.expect("listed").streams[0].stream_arn.clone(),
            shard_id: shard_id("table"),
            shard_iterator_type: "TRIM_HORIZON".to_owned(),
            sequence_number: None,
        };
        let iterator = database.get_shard_iterator(request).expect("an iterator");
        let request = GetRecordsRequest {
            shard_iterator: iterator.shard_iterator.expect("an iterator"),
            limit: None,
        };
        database.get_records(request).expect("read").records
    };
    dynamodb.calls.run(read).await.expect("it runs")
}

/// Returns the names of all events so far.
async fn events(dynamodb: &DynamoDb) -> Vec<String> {
    let records = records(dynamodb).await.into_iter();
    records.map(|record| record.event_name).collect()
}

async fn put(client: &Client, tags: &[&str], words: &[&str]) {
    let tags = tags.iter().map(|&tag| tag.to_owned()).collect();
    let words = words.iter().map(|&word| {
        let fields = [("word", word), ("a", "1"), ("b", "2"), ("c", "3")];
        let fields = fields.map(|(name, value)| (name.to_owned(), text(value)));
        AttributeValue::M(fields.into())
    });
    let put = client.put_item().table_name("table").item("id", text("1"));
    let put = put.item("tags", AttributeValue::Ss(tags));
    let put = put.item("words", AttributeValue::L(words.collect()));
    put.item("n", AttributeValue::N("1.0".to_owned()))
        .send()
        .await
        .expect("put");
}

#[tokio::test]
async fn a_write_that_changes_nothing_is_in_no_stream() {
    let data = tempfile::tempdir().expect("a folder");
    let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
    let client = client(&dynamodb.endpoint);
    create_table(&client).await;
    put(&client, &["x", "y"], &["one", "two"]).await;
    // Fields in any order, since a map has none; and the sets' elements in another one.
    for _ in 0..8 {
        put(&client, &["y", "x"], &["one", "two"]).await;
    }
    assert_eq!(events(&dynamodb).await, ["INSERT"]);
    // The same length.
    put(&client, &["x", "y"], &["two", "one"]).await;
    put(&client, &["x", "z"], &["two", "one"]).await;
    assert_eq!(events(&dynamodb).await, ["INSERT", "MODIFY", "MODIFY"]);

    let set = |n: &str| {
        let update = Update::builder().table_name("table").key("id", text("1"));
        let update = update.update_expression("SET n = :n");
        let update = update.expression_attribute_values(":n", AttributeValue::N(n.to_owned()));
        TransactWriteItem::builder().update(update.build().expect("an update"))
    };
    let other = |name: &str| {
        let put = Put::builder().table_name("table").item("id", text("2"));
        let put = put.item("name", text(name)).build().expect("a put");
        TransactWriteItem::builder().put(put)
    };
    for (n, name) in [("1", "new"), ("1", "new"), ("2", "new"), ("2", "old")] {
        let transaction = client.transact_write_items();
        let transaction = transaction.transact_items(set(n).build());
        let transaction = transaction.transact_items(other(name).build());
        transaction.send().await.expect("written");
    }
    let statement = client.execute_statement();
    let statement = statement.statement("UPDATE \"table\" SET n = 2 WHERE id = '1'");
    statement.send().await.expect("updated");
    let found = records(&dynamodb).await;
    let found = found[3..].iter().map(|record| {
        let id = &record.dynamodb.keys["id"];
        (
            record.event_name.as_str(),
            id.to_key_string().expect("a key"),
        )
    });
    let expected = [("INSERT", "S:2"), ("MODIFY", "S:1"), ("MODIFY", "S:2")];
    assert_eq!(
        found.collect::<Vec<_>>(),
        expected.map(|(event, id)| (event, id.to_owned()))
    );
    dynamodb.stop().await.expect("it stops");
}

#[tokio::test]
async fn calls_without_http_put_no_such_record_either() {
    let data = tempfile::tempdir().expect("a folder");
    let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
    create_table(&client(&dynamodb.endpoint)).await;
    let call = async |operation, body: Value| {
        let body = body.to_string().into_bytes();
        dynamodb.calls.call(operation, body).await.expect("done")
    };
    let item = json!({"id": {"S": "1"}, "a": {"M": {"b": {"S": "c"}, "d": {"N": "5"}}}});
    for _ in 0..3 {
        call("PutItem", json!({"TableName": "table", "Item": item})).await;
        let put = json!({"PutRequest": {"Item": item}});
        call("BatchWriteItem", json!({"RequestItems": {"table": [put]}})).await;
    }
    assert_eq!(events(&dynamodb).await, ["INSERT"]);
    dynamodb.stop().await.expect("it stops");
}

#[tokio::test]
async fn expired_items_go_in_their_own_time_by_the_service() {
    const LATEST: Duration = Duration::from_secs(1_000);
    let data = tempfile::tempdir().expect("a folder");
    let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
    let client = client(&dynamodb.endpoint);
    create_table(&client).await;
    let number = |number: i64| AttributeValue::N(number.to_string());
    let put = async |id: String, at: AttributeValue| {
        let put = client.put_item().table_name("table").item("id", text(&id));
        put.item("gone \"after\"", at).send().await.expect("put");
    };
    for n in 0..300 {
        put(format!("expired {n}"), number(EXPIRED)).await;
    }
    put("later".to_owned(), number(EXPIRED + 100_000)).await;
    put("text".to_owned(), text("1")).await;
    put("long ago".to_owned(), number(EXPIRED - 6 * 365 * 86_400)).await;
    let clock = Clock::stopped(EXPIRED);
    let left = async || {
        expire(&dynamodb.calls, &clock, LATEST).await.expect("done");
        let scan = client.scan().table_name("table").send().await;
        scan.expect("scanned").count
    };
    clock.advance(1_001);
    assert_eq!(left().await, 303, "time to live is off");
    let attribute = TimeToLiveSpecification::builder().attribute_name("gone \"after\"");
    let turned = client.update_time_to_live().table_name("table");
    let turned = turned.time_to_live_specification(attribute.enabled(true).build().expect("one"));
    turned.send().await.expect("on");

    let clock = Clock::stopped(EXPIRED);
    let left = async || {
        expire(&dynamodb.calls, &clock, LATEST).await.expect("done");
        let scan = client.scan().table_name("table").send().await;
        scan.expect("scanned").count
    };
    assert_eq!(left().await, 303);
    clock.advance(500);
    let half = left().await;
    assert!((103..203).contains(&half), "{half}");
    assert_eq!(left().await, half, "drawn anew");
    clock.advance(501);
    assert_eq!(left().await, 3);

    let records = records(&dynamodb).await;
    let (put, removed) = records.split_at(303);
    assert!(put.iter().all(|record| record.user_identity.is_none()));
    assert_eq!(removed.len(), 300);
    for record in removed {
        assert_eq!(record.event_name, "REMOVE");
        let who = record.user_identity.as_ref().expect("who did it");
        let who = (who.identity_type.as_str(), who.principal_id.as_str());
        assert_eq!(who, ("Service", "dynamodb.amazonaws.com"));
    }
    let (status, told) = read_all(&dynamodb).await;
    assert_eq!(status, StatusCode::OK);
    let who = json!({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"});
    assert_eq!(told["Records"][303]["userIdentity"], who);
    dynamodb.stop().await.expect("it stops");
}

/// Asks as other programs do, and returns status and answer.
async fn ask(dynamodb: &DynamoDb, operation: &str, body: Value) -> (StatusCode, Value) {
    let address = dynamodb.endpoint.trim_start_matches("http://");
    let stream = tokio::net::TcpStream::connect(address).await;
    let stream = TokioIo::new(stream.expect("connected"));
    let (mut sender, driver) = hyper::client::conn::http1::handshake::<_, Full<Bytes>>(stream)
        .await
        .expect("met");
    tokio::spawn(driver);
    let request = http::Request::post("/")
        .header("host", address)
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", format!("DynamoDBStreams_20120810.{operation}"))
        .header("x-amz-date", "20000101T000000Z")
        .header("authorization", "AWS4-HMAC-SHA256 Credential=local/20000101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
        .body(Full::from(Bytes::from(body.to_string())))
        .expect("a request");
    let answer = sender.send_request(request).await.expect("an answer");
    let status = answer.status();
    let body = answer
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    (status, serde_json::from_slice(&body).expect("JSON"))
}

#[tokio::test]
async fn shards_have_names_that_clients_accept() {
    let data = tempfile::tempdir().expect("a folder");
    let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
    let client = client(&dynamodb.endpoint);
    create_table(&client).await;
    put(&client, &["x"], &["one"]).await;
    let (_, streams) = ask(&dynamodb, "ListStreams", json!({})).await;
    let stream = &streams["Streams"][0]["StreamArn"];
    let (_, described) = ask(&dynamodb, "DescribeStream", json!({"StreamArn": stream})).await;
    let shard = &described["StreamDescription"]["Shards"][0];
    let name = shard["ShardId"].as_str().expect("a name");
    assert!((28..=65).contains(&name.len()), "{name}");
    let range = shard["SequenceNumberRange"].as_object().expect("a range");
    assert_eq!(range.keys().collect::<Vec<_>>(), ["StartingSequenceNumber"]);
    let (status, read) = read_all(&dynamodb).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(read["Records"][0]["eventName"], "INSERT");
    dynamodb.stop().await.expect("it stops");
}

/// Reads a stream from its beginning, as other programs do.
async fn read_all(dynamodb: &DynamoDb) -> (StatusCode, Value) {
    let (_, streams) = ask(dynamodb, "ListStreams", json!({})).await;
    let stream = &streams["Streams"][0]["StreamArn"];
    let (_, described) = ask(dynamodb, "DescribeStream", json!({"StreamArn": stream})).await;
    let name = &described["StreamDescription"]["Shards"][0]["ShardId"];
    let request =
        json!({"StreamArn": stream, "ShardId": name, "ShardIteratorType": "TRIM_HORIZON"});
    let (_, iterator) = ask(dynamodb, "GetShardIterator", request).await;
    let request = json!({"ShardIterator": iterator["ShardIterator"]});
    ask(dynamodb, "GetRecords", request).await
}

#[tokio::test]
async fn a_query_for_an_empty_key_is_refused_and_the_key_is_named() {
    let data = tempfile::tempdir().expect("a folder");
    let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
    let client = client(&dynamodb.endpoint);
    create_table(&client).await;
    put(&client, &["x"], &["one"]).await;
    let query = |condition: &str, value: &str| {
        let query = client.query().table_name("table");
        let query = query.key_condition_expression(condition);
        query.expression_attribute_values(":v", text(value))
    };
    let refused = [
        query("id = :v", ""),
        query("#id=:v", "").expression_attribute_names("#id", "id"),
    ];
    for query in refused {
        let error = query
            .send()
            .await
            .expect_err("refused")
            .into_service_error();
        let message = error.meta().message().expect("a message").to_owned();
        assert_eq!(error.meta().code(), Some("ValidationException"));
        assert!(
            message.ends_with("an empty string value. Key: id"),
            "{message}"
        );
    }
    // A filter may compare with nothing.
    let query = query("id = :v", "1").filter_expression("tags <> :e");
    let query = query.expression_attribute_values(":e", text(""));
    assert_eq!(query.send().await.expect("found").count, 1);
    dynamodb.stop().await.expect("it stops");
}
