//! The one publishing loop: read the stored object, build from rows that are read after it, put under its ETag.
//!
//! - The stored object is read first. So a build step never reads rows that are older than the object that it replaces.
//! - If another publisher was faster, the put is lost. The next try reuses nothing. It first waits for a random time, so that the
//!   same publishers do not collide again.

use bytes::Bytes;
use objects::{Document, ObjectKey, ObjectMeta, Precondition, Put};
use tracing::info;

use super::regenerator::Regenerator;
use crate::error::EngineError;
use crate::metrics;

/// Tries for one object.
const TRIES: u32 = 10;

/// A stored object. The body is empty unless it is a shard or an index, because only these are spliced.
pub(super) type Stored = (ObjectMeta, Bytes);

/// The outcome of a try.
pub(super) enum Try<S, T> {
    /// The object is up to date.
    Done(T),
    /// Another try with this scope is needed. The try was not lost, so there is no pause.
    Again(S),
    /// Another publisher was faster. The next try has this scope.
    Lost(S),
}

/// The decision of a build step.
pub(super) enum Build<S, T> {
    /// Put this document.
    Put(Bytes, Document, T),
    /// Leave the object as it is.
    Keep(T),
    /// See [`Try::Again`].
    Again(S),
}

impl Regenerator {
    /// Reads the stored object, calls `build` with it, and puts what `build` returns. If the object has changed meanwhile, it
    /// starts again. `scope` says what `build` has to read.
    ///
    /// # Errors
    ///
    /// If `build` or the bucket fails, or if every try was lost.
    pub(super) async fn compare_and_put<S: Copy, T, F>(
        &self,
        key: &ObjectKey,
        scope: S,
        build: impl Fn(S, Option<Stored>) -> F,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = Result<Build<S, T>, EngineError>>,
    {
        let build = &build;
        let attempt = |scope| async move {
            let stored = match key {
                ObjectKey::Shard { .. } | ObjectKey::Index { .. } => self.objects.get(key).await?,
                _ => {
                    let meta = self.objects.head(key).await?;
                    meta.map(|meta| (meta, Bytes::new()))
                }
            };
            let current = stored.as_ref().map(|(meta, _)| meta.clone());
            let (body, document, done) = match build(scope, stored).await? {
                Build::Put(body, document, done) => (body, document, done),
                Build::Keep(done) => return Ok(Try::Done(done)),
                Build::Again(scope) => return Ok(Try::Again(scope)),
            };
            let put = self.put(key, body, &document, current.as_ref()).await?;
            Ok(match put {
                Put::Done => Try::Done(done),
                Put::Lost => Try::Lost(scope),
            })
        };
        self.until_done(key, scope, attempt).await
    }

    /// Calls `attempt` until it is done, with a pause after each try that was lost. The indexes of a site call this
    /// directly, since one try puts several objects.
    ///
    /// # Errors
    ///
    /// If a try fails, or if all [`TRIES`] were lost.
    pub(super) async fn until_done<S, T, F>(
        &self,
        key: &ObjectKey,
        mut scope: S,
        attempt: impl Fn(S) -> F,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = Result<Try<S, T>, EngineError>>,
    {
        let mut lost = 0;
        for _ in 0..TRIES {
            self.reconciler.env.backoff(lost).await;
            (scope, lost) = match attempt(scope).await? {
                Try::Done(done) => return Ok(done),
                Try::Again(scope) => (scope, 0),
                Try::Lost(scope) => (scope, lost + 1),
            };
        }
        Err(EngineError::Contended {
            what: key.to_string(),
            tries: TRIES,
        })
    }

    /// Puts an object if it has not changed since it was read, and counts the put.
    pub(super) async fn put(
        &self,
        key: &ObjectKey,
        body: Bytes,
        document: &Document,
        current: Option<&ObjectMeta>,
    ) -> Result<Put, EngineError> {
        let stored_bytes = body.len() as u64;
        let precondition = current.map_or(Precondition::Absent, |meta| {
            Precondition::Unchanged(meta.etag.clone())
        });
        let put = self.objects.put(key, body, document, &precondition).await?;
        if put == Put::Done {
            let Document { entries, bytes, .. } = document;
            info!(object = %key, site = key.site(), entries, bytes, "published {key}");
            self.note(&metrics::BYTES_PUBLISHED, stored_bytes);
            match key {
                ObjectKey::Shard { .. } => self.note(&metrics::SHARDS_PUBLISHED, 1),
                ObjectKey::Index { .. } => self.note(&metrics::INDEXES_PUBLISHED, 1),
                _ => {}
            }
        }
        Ok(put)
    }

    /// Returns when the document with this digest last changed: now, unless the stored document is the same.
    pub(super) fn changed(&self, digest: &str, stored: Option<&Document>) -> i64 {
        match stored {
            Some(stored) if stored.digest == digest => stored.changed,
            _ => self.reconciler.env.now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use futures::future::BoxFuture;
    use table::{MemoryTable, Schema};

    use super::*;
    use crate::env::{Env, Environment};
    use crate::rows::table::SitemapTable;

    /// An environment whose pauses take no time and are recorded. Its random numbers are the highest possible.
    #[derive(Clone, Debug, Default)]
    struct Pauses(Arc<Mutex<Vec<Duration>>>);

    impl Environment for Pauses {
        fn now(&self) -> i64 {
            1_800_000_000
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()> {
            self.0.lock().expect("no panic").push(pause);
            Box::pin(async {})
        }

        fn random(&self) -> u64 {
            u64::MAX
        }
    }

    fn regenerator(pauses: &Pauses) -> Regenerator {
        let env = Env::new(pauses.clone());
        let rows = MemoryTable::new(Schema::of_texts(&["pk", "sk"]));
        let table = SitemapTable::new(Arc::new(rows), env.clone());
        crate::testing::regenerator(table, env)
    }

    fn robots() -> ObjectKey {
        let site = "www.example.com".to_owned();
        ObjectKey::Robots { site }
    }

    fn document(stamp: &str) -> Document {
        Document {
            digest: "0".to_owned(),
            changed: 0,
            bytes: 1,
            entries: 0,
            stamp: stamp.to_owned(),
        }
    }

    #[tokio::test]
    async fn a_lost_put_is_built_again_from_what_is_stored_by_then() {
        let pauses = Pauses::default();
        let (regenerator, key) = (regenerator(&pauses), robots());
        let others = document("another's");
        let (objects, read) = (&regenerator.objects, AtomicU64::new(0));
        let (key, others, read) = (&key, &others, &read);
        let build = |(), stored: Option<Stored>| async move {
            if read.fetch_add(1, Ordering::Relaxed) == 0 {
                assert_eq!(stored, None);
                let absent = Precondition::Absent;
                let put = objects.put(key, "b".into(), others, &absent).await?;
                assert_eq!(put, Put::Done);
            } else {
                let stored = stored.and_then(|(meta, _)| meta.document);
                assert_eq!(stored.as_ref(), Some(others));
            }
            Ok(Build::Put("a".into(), document("ours"), ()))
        };
        let put = regenerator.compare_and_put(key, (), build).await;
        assert_eq!(put.ok(), Some(()));
        assert_eq!(read.load(Ordering::Relaxed), 2);
        let stored = regenerator.objects.head(key).await.expect("memory");
        let stored = stored.and_then(|meta| meta.document);
        assert_eq!(stored, Some(document("ours")));
        assert_eq!(pauses.0.lock().expect("no panic").len(), 1);
    }

    #[tokio::test]
    async fn who_loses_again_and_again_waits_longer_each_time_and_gives_up() {
        let pauses = Pauses::default();
        // The third try asks for another scope and is not lost.
        let lose = |tries: u32| async move {
            Ok(match tries {
                2 => Try::<_, ()>::Again(tries + 1),
                _ => Try::Lost(tries + 1),
            })
        };
        let regenerator = regenerator(&pauses);
        let error = regenerator
            .until_done(&robots(), 0, lose)
            .await
            .expect_err("lost");
        assert!(
            matches!(error, EngineError::Contended { what, tries: TRIES }
            if what == "published/www.example.com/robots.txt")
        );
        let milliseconds: Vec<u128> = pauses
            .0
            .lock()
            .expect("no panic")
            .iter()
            .map(Duration::as_millis)
            .collect();
        assert_eq!(milliseconds, [39, 79, 39, 79, 159, 319, 639, 1_279]);
    }
}
