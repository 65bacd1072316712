//! Concurrent requests.

use futures::stream::{self, StreamExt};

/// Awaits futures, at most `limit` at the same time. Returns their outputs in the order of the futures.
pub async fn concurrently<F: Future>(
    limit: usize,
    futures: impl IntoIterator<Item = F>,
) -> Vec<F::Output> {
    // Collected first: a stream that makes them lazily from borrowed items is not `Send` to today's compiler.
    let futures: Vec<F> = futures.into_iter().collect();
    stream::iter(futures).buffered(limit).collect().await
}
