//! The bucket in memory passes the conformance suite.

use objects::{MemoryObjects, conformance};

#[tokio::test]
async fn the_bucket_in_memory_conforms() {
    conformance::run(async || MemoryObjects::default()).await;
}
