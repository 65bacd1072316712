//! Names of stream shards as DynamoDB's: 28 to 65 characters, which clients check.
//! <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Shard.html>
//!
//! dynoxide appends the table's name to a text of 17 characters. So the names are replaced on their way to and from other
//! programs. A shard that still grows has no last number, or a client would take it as closed.

use dynoxide::streams::shard_id;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Returns the name that clients see.
fn public(table: &str) -> String {
    let hash = Sha256::digest(table);
    let hash = hash[..4].iter().map(|byte| format!("{byte:02x}"));
    format!("shardId-{:020}-{}", 1, hash.collect::<String>())
}

/// Returns the body of `GetShardIterator` as dynoxide wants it. Returns `None` if it stays as it is.
pub(super) fn request(body: &[u8]) -> Option<Vec<u8>> {
    let mut request: Value = serde_json::from_slice(body).ok()?;
    // arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/stream/LABEL
    let table = request["StreamArn"].as_str()?.split('/').nth(1)?.to_owned();
    if request["ShardId"] != public(&table) {
        return None;
    }
    request["ShardId"] = shard_id(&table).into();
    serde_json::to_vec(&request).ok()
}

/// Returns the answer to `DescribeStream` as DynamoDB gives it. Returns `None` if it stays as it is.
pub(super) fn answer(body: &[u8]) -> Option<Vec<u8>> {
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    let description = answer.get_mut("StreamDescription")?;
    let table = description["TableName"].as_str()?.to_owned();
    for shard in description["Shards"].as_array_mut()? {
        shard["ShardId"] = public(&table).into();
        if let Some(range) = shard["SequenceNumberRange"].as_object_mut() {
            range.remove("EndingSequenceNumber");
        }
    }
    serde_json::to_vec(&answer).ok()
}
