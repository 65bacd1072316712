//! The store.

use edge::{Changes, Store, StoreError, conformance};

use crate::double::Double;

fn one(key: &str, value: Option<&str>) -> Changes {
    [(key.to_owned(), value.map(str::to_owned))].into()
}

#[tokio::test]
async fn the_store_conforms() {
    conformance::check(&Double::default().start().await)
        .await
        .unwrap();
}

#[tokio::test]
async fn requests_are_signed_for_all_regions() {
    let double = Double::default();
    double.start().await.describe().await.unwrap();
    let headers = double.last.lock().unwrap().clone();
    let authorization = headers["authorization"].to_str().unwrap();
    assert!(
        authorization.starts_with("AWS4-ECDSA-P256-SHA256 Credential=")
            && authorization.contains("/cloudfront-keyvaluestore/aws4_request"),
        "{authorization}"
    );
    assert_eq!(headers["x-amz-region-set"], "*");
}

#[tokio::test]
async fn each_error_is_what_a_caller_acts_on() {
    let double = Double::default();
    let store = double.start().await;
    let etag = store.describe().await.unwrap().etag;
    for (status, code, expected) in [
        (409, "ConflictException", "Conflict"),
        (404, "ResourceNotFoundException", "Missing"),
        (402, "ServiceQuotaExceededException", "Full"),
        (400, "ValidationException", "Refused"),
        (403, "AccessDeniedException", "Unavailable"),
    ] {
        double.errors.lock().unwrap().push((status, code));
        let error = store.update(&etag, &one("a", Some("b"))).await.unwrap_err();
        let said = format!("{error:?}");
        assert!(said.starts_with(&format!("{expected} ")), "{code}: {said}");
        let names = matches!(error, StoreError::Conflict { .. }) || said.contains(code);
        assert!(names, "{said}");
    }
    assert!(double.store.pairs().is_empty());
}

#[tokio::test]
async fn a_passing_error_is_tried_again() {
    let double = Double::default();
    let store = double.start().await;
    let etag = store.describe().await.unwrap().etag;
    double
        .errors
        .lock()
        .unwrap()
        .push((500, "InternalServerException"));
    store.update(&etag, &one("a", Some("b"))).await.unwrap();
    assert_eq!(double.store.pairs().len(), 1);
}
