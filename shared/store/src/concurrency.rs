//! Requests under way at the same time, and the pause before one is made again.

use std::time::Duration;

use futures::stream::{self, StreamExt};

/// Awaits futures, at most `limit` at the same time: their outputs in the order of the futures.
pub async fn concurrently<F: Future>(
    limit: usize,
    futures: impl IntoIterator<Item = F>,
) -> Vec<F::Output> {
    // Collected first: a stream that makes them lazily from borrowed items is not `Send` to today's compiler.
    let futures: Vec<F> = futures.into_iter().collect();
    stream::iter(futures).buffered(limit).collect().await
}

/// Waits a random time of up to 20 ms, doubled with each round but the first, which does not wait.
pub(crate) async fn backoff(round: u32) {
    if round > 0 {
        let most = 20 << round.min(8);
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..most))).await;
    }
}
