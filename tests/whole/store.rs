//! Tests the bucket's port and the clients over HTTP, against the embedded servers. The tables' rows are tested in
//! `sim::scenarios::store`.

use aws::{Aws, Timeouts};
use bytes::Bytes;
use futures::StreamExt;
use harness::{PATIENCE, SITE};
use local::stack::{Options, Stack};
use local::tables::BUCKET;
use objects::{Document, ObjectKey, Precondition, Put, all_sites};

async fn stack() -> Stack {
    Stack::start(Options::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_texts_of_two_stamps_are_two_objects_and_one_document() {
    let stack = stack().await;
    let objects = &stack.objects;
    let site = || SITE.to_owned();
    for key in [
        ObjectKey::Robots { site: site() },
        ObjectKey::Feed { site: site() },
        ObjectKey::Llms { site: site() },
    ] {
        let (mut precondition, mut etags) = (Precondition::Absent, Vec::new());
        for stamp in ["e-1", "e-2", "e-1"] {
            let document = Document {
                digest: "ab".to_owned(),
                changed: 7,
                bytes: 4,
                entries: 0,
                stamp: stamp.to_owned(),
            };
            let put = objects.put(&key, Bytes::from("text"), &document, &precondition);
            assert_eq!(put.await.unwrap(), Put::Done);
            let (meta, body) = objects.get(&key).await.unwrap().unwrap();
            assert_eq!((body.as_ref(), meta.length), (b"text".as_slice(), 4));
            assert_eq!(meta.document, Some(document));
            assert_eq!(objects.head(&key).await.unwrap(), Some(meta.clone()));
            let (opened, stream) = objects.open(&key).await.unwrap().unwrap();
            let chunks: Vec<Bytes> = stream.map(Result::unwrap).collect().await;
            assert_eq!((opened, chunks.concat()), (meta.clone(), b"text".to_vec()));
            precondition = Precondition::Unchanged(meta.etag.clone());
            etags.push(meta.etag);
        }
        assert_ne!(etags[0], etags[1], "{key}");
        assert_eq!(etags[0], etags[2], "{key}");
        // A text that was written without a seal, or is incomplete, is read as it is.
        let s3 = stack.aws.s3().await;
        let stored = s3.get_object().bucket(BUCKET).key(key.path());
        let metadata = stored.send().await.unwrap().metadata().cloned();
        for text in ["text", "te"] {
            let put = s3.put_object().bucket(BUCKET).key(key.path());
            let put = put.set_metadata(metadata.clone());
            put.body(Bytes::from(text).into()).send().await.unwrap();
            let (meta, body) = objects.get(&key).await.unwrap().unwrap();
            assert_eq!(
                (body.as_ref(), meta.length),
                (text.as_bytes(), text.len() as u64)
            );
        }
    }
    stack.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_put_under_its_precondition_and_read_with_its_documents_facts() {
    let stack = stack().await;
    let objects = &stack.objects;
    let key = ObjectKey::Shard {
        site: SITE.to_owned(),
        series: "post".to_owned(),
        n: 2,
    };
    let document = Document {
        digest: "ab".to_owned(),
        changed: 7,
        bytes: 100,
        entries: 3,
        stamp: "e-1".to_owned(),
    };
    let absent = Precondition::Absent;
    assert_eq!(objects.get(&key).await.unwrap(), None);
    assert_eq!(objects.head(&key).await.unwrap(), None);
    let unchanged = Precondition::Unchanged("\"0\"".to_owned());
    assert_eq!(
        objects
            .put(&key, Bytes::from("x"), &document, &unchanged)
            .await
            .unwrap(),
        Put::Lost,
        "there is none"
    );
    assert_eq!(
        objects
            .put(&key, Bytes::from("one"), &document, &absent)
            .await
            .unwrap(),
        Put::Done
    );
    assert_eq!(
        objects
            .put(&key, Bytes::from("two"), &document, &absent)
            .await
            .unwrap(),
        Put::Lost
    );
    let (meta, body) = objects.get(&key).await.unwrap().unwrap();
    assert_eq!(
        (body.as_ref(), meta.length, meta.document.as_ref()),
        (b"one".as_slice(), 3, Some(&document))
    );
    assert_eq!(objects.head(&key).await.unwrap(), Some(meta.clone()));
    let unchanged = Precondition::Unchanged(meta.etag);
    let puts =
        (0..10).map(|n| objects.put(&key, Bytes::from(format!("new {n}")), &document, &unchanged));
    let done = futures::future::join_all(puts)
        .await
        .into_iter()
        .filter(|put| matches!(put, Ok(Put::Done)))
        .count();
    assert_eq!(done, 1, "one of ten wins");
    let (_, stream) = objects.open(&key).await.unwrap().unwrap();
    let chunks: Vec<Bytes> = stream.map(Result::unwrap).collect().await;
    assert!(chunks.concat().starts_with(b"new "));
    for site in ["a.example", "b.example"] {
        let robots = ObjectKey::Robots {
            site: site.to_owned(),
        };
        assert_eq!(
            objects
                .put(&robots, Bytes::new(), &document, &absent)
                .await
                .unwrap(),
            Put::Done
        );
    }
    assert_eq!(objects.list(SITE).await.unwrap(), [key]);
    assert_eq!(
        all_sites(&**objects).await.unwrap(),
        ["a.example", "b.example", SITE]
    );
    stack.stop().await.unwrap();
}

#[tokio::test]
#[should_panic(expected = "not on the loopback interface")]
async fn no_client_of_the_local_stack_reaches_beyond_this_machine() {
    let _ = Aws::on_loopback(
        "http://dynamodb.us-east-1.amazonaws.com",
        "http://127.0.0.1:9000",
        Vec::new(),
    );
}

#[tokio::test]
async fn a_client_without_an_endpoint_reaches_nothing_from_here() {
    // Only a refused connection names the address, so there must be enough time for one, even on a slow machine.
    let patient = Timeouts {
        attempt: PATIENCE,
        operation: PATIENCE,
    };
    let aws = Aws::from_environment(patient);
    let error = aws.dynamodb().await.list_tables().send().await.unwrap_err();
    assert!(format!("{error:?}").contains("127.0.0.1:9"), "{error:?}");
}
