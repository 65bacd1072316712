//! Listings and their pages.

use aws_sdk_s3::Client;

use super::*;

/// Returns every page of a listing: keys, then common prefixes, in order.
pub(super) async fn pages(
    client: &Client,
    prefix: &str,
    delimiter: &str,
    max_keys: i32,
    start_after: &str,
) -> Vec<Vec<String>> {
    let (mut pages, mut token) = (Vec::new(), None);
    loop {
        let request = client
            .list_objects_v2()
            .bucket(BUCKET)
            .prefix(prefix)
            .max_keys(max_keys);
        let request = if delimiter.is_empty() {
            request
        } else {
            request.delimiter(delimiter)
        };
        let request = if start_after.is_empty() {
            request
        } else {
            request.start_after(start_after)
        };
        let page = request
            .set_continuation_token(token)
            .send()
            .await
            .expect("listed");
        let keys = page.contents().iter().filter_map(|object| object.key());
        let prefixes = page
            .common_prefixes()
            .iter()
            .filter_map(|common| common.prefix());
        let mut names: Vec<String> = keys.chain(prefixes).map(str::to_owned).collect();
        assert_eq!(page.key_count, Some(names.len() as i32));
        names.sort();
        pages.push(names);
        token = page.next_continuation_token;
        assert_eq!(page.is_truncated, Some(token.is_some()));
        if token.is_none() {
            return pages;
        }
    }
}

#[tokio::test]
async fn a_listing_has_every_key_once_in_order_whatever_its_pages() {
    let (s3, client) = start().await;
    let keys = ["a", "a/1", "a/2", "a/b/3", "b/4", "b/5", "c", "é&+ /x", "z"];
    for key in keys.iter().rev() {
        put(&client, key, key).await;
    }
    for max_keys in [1, 2, 3, 1000] {
        let listed: Vec<String> = pages(&client, "", "", max_keys, "").await.concat();
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        assert_eq!(listed, sorted, "{max_keys} a page");

        let listed: Vec<String> = pages(&client, "", "/", max_keys, "").await.concat();
        let rolled_up = ["a", "a/", "b/", "c", "z", "é&+ /"];
        assert_eq!(listed, rolled_up, "{max_keys} a page");
        let listed = pages(&client, "a/", "/", max_keys, "").await.concat();
        assert_eq!(listed, ["a/1", "a/2", "a/b/"], "{max_keys} a page");
        let listed = pages(&client, "", "", max_keys, "a/2").await.concat();
        assert_eq!(listed, &sorted[3..], "{max_keys} a page");
        let listed = pages(&client, "b/", "", max_keys, "a").await.concat();
        assert_eq!(listed, ["b/4", "b/5"], "{max_keys} a page");
    }
    assert_eq!(
        pages(&client, "none", "", 1000, "").await,
        [Vec::<String>::new()]
    );
    let token = client
        .list_objects_v2()
        .bucket(BUCKET)
        .continuation_token("x")
        .send()
        .await;
    assert_eq!(refusal(token), (400, "InvalidArgument".to_owned()));
    s3.stop().await;
}
