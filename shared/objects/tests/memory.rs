//! The bucket in memory does what every bucket does.

use objects::{MemoryObjects, conformance};

#[tokio::test]
async fn the_bucket_in_memory_conforms() {
    conformance::run(async || MemoryObjects::default()).await;
}
