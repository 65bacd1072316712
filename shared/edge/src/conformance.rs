//! What every [`Store`] must do. Each implementation's tests call [`check`] with an empty store.

use crate::port::{Changes, MAX_LISTED_KEYS, Pairs, Store, StoreError};

/// Returns changes of these keys.
fn changes(of: &[(&str, Option<&str>)]) -> Changes {
    let owned = |(key, value): &(&str, Option<&str>)| ((*key).to_owned(), value.map(str::to_owned));
    of.iter().map(owned).collect()
}

/// Returns all pairs, page by page.
///
/// # Errors
///
/// If the store fails.
pub async fn pairs(store: &dyn Store) -> Result<Pairs, StoreError> {
    let (mut pairs, mut after) = (Pairs::new(), None);
    loop {
        let (page, next) = store.list(after).await?;
        assert!(page.len() <= MAX_LISTED_KEYS, "a page of {}", page.len());
        pairs.extend(page);
        after = next;
        if after.is_none() {
            pairs.sort();
            return Ok(pairs);
        }
    }
}

/// Checks an empty store.
///
/// # Errors
///
/// If the store fails where it must not.
///
/// # Panics
///
/// If the store does something else.
pub async fn check(store: &dyn Store) -> Result<(), StoreError> {
    let empty = store.describe().await?;
    assert_eq!((empty.items, pairs(store).await?), (0, Pairs::new()));

    // Keys with the characters that entries have.
    let first = changes(&[
        ("a.example/0f", Some("https://a.example/?q=ü&x#y")),
        ("b", Some("gone")),
    ]);
    let one = store.update(&empty.etag, &first).await?;
    assert_eq!((one.items, one.etag == empty.etag), (2, false));
    assert_eq!(store.describe().await?, one);

    // An update under an old ETag changes nothing.
    let late = store
        .update(&empty.etag, &changes(&[("c", Some("1"))]))
        .await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    assert_eq!(store.describe().await?, one);

    // All changes happen together.
    let both = changes(&[("a.example/0f", None), ("b", Some("2")), ("c", Some("3"))]);
    let two = store.update(&one.etag, &both).await?;
    let expected = [("b", "2"), ("c", "3")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!((two.items, pairs(store).await?), (2, expected.to_vec()));
    assert_eq!(two.bytes, 4);

    // A value that is too long is refused, with all of the update.
    let long = "x".repeat(sitemap::redirects::MAX_VALUE_BYTES + 1);
    let long = changes(&[("b", None), ("d", Some(&long))]);
    let refused = store.update(&two.etag, &long).await;
    assert!(
        matches!(refused, Err(StoreError::Refused { .. })),
        "{refused:?}"
    );

    // A key that is not there can be deleted, or is named as missing. Nothing else becomes of it.
    match store
        .update(&two.etag, &changes(&[("b", None), ("e", None)]))
        .await
    {
        Ok(three) => assert_eq!(three.items, 1),
        Err(error) => {
            assert!(matches!(error, StoreError::Missing { .. }), "{error}");
            assert_eq!(store.describe().await?, two);
        }
    }

    // More than a page.
    let etag = store.describe().await?.etag;
    let keys: Vec<String> = (0..MAX_LISTED_KEYS).map(|n| format!("k{n:02}")).collect();
    let many = keys.iter().map(|key| (key.clone(), Some("v".to_owned())));
    let many = store.update(&etag, &many.collect()).await?;
    assert_eq!(pairs(store).await?.len() as u64, many.items);
    Ok(())
}
