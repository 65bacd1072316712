use super::*;

#[test]
fn keys_are_read_as_they_were_written() {
    let series = Series {
        site: "www.example.com:8080".to_owned(),
        name: "my_type".to_owned(),
    };
    let shard = ShardId {
        series: series.clone(),
        n: 12,
    };
    let slot = Slot { n: 12, i: 501 };
    let Key { pk, sk } = entry(&series, slot);
    assert_eq!(
        (pk.as_str(), sk.as_str()),
        ("SEGMENT#www.example.com%3A8080#my_type#12#1", "00501")
    );
    assert_eq!(
        Subject::of(&pk, &sk),
        Some(Subject::Segment(shard.clone(), 1))
    );
    assert_eq!(free_slot(&free(&series, slot).sk), Some(slot));
    assert_eq!(
        summary_shard(&series.site, &summary(&shard).sk),
        Some(shard)
    );
    assert_eq!(
        timer_parts(&timer(1_800_000_000, "a#b").sk),
        Some((1_800_000_000, "a#b"))
    );
    assert_eq!(
        Subject::of(&site(&series.site).pk, ALONE),
        Some(Subject::Site(series.site.clone()))
    );
    assert_eq!(
        Subject::of(&index_partition("a.example"), "post#0000000001"),
        Some(Subject::Index("a.example".to_owned()))
    );
    assert_eq!(Subject::of(&job().pk, ALONE), Some(Subject::Job));
    let claim = claim("a.example", "https://a.example/");
    assert_eq!(
        Subject::of(&claim.pk, ALONE),
        Some(Subject::Claim(claim.pk.clone()))
    );
    assert_eq!(Subject::of(&claim.pk, "w#post/1"), None);
    assert_eq!(Subject::of("LEDGER#post/1", "1"), None);
    assert_eq!(
        Subject::of("SEGMENT#a.example#post#1#100", "50000"),
        None,
        "beyond any shard's segments"
    );
    let read = |key: &Key| RowKey::parse(&key.pk, &key.sk);
    for (key, row) in [
        (ledger("a#b"), RowKey::Ledger("a#b".to_owned())),
        (
            timer(1_800_000_000, "a"),
            RowKey::Timer(1_800_000_000, "a".to_owned()),
        ),
        (timer_cursor(), RowKey::Cursor),
        (super::series(&series), RowKey::Series(series.clone())),
        (free(&series, slot), RowKey::Free(series.clone(), slot)),
        (entry(&series, slot), RowKey::Entry(series.clone(), slot)),
        (
            waiter("a.example", "https://a.example/", "x"),
            RowKey::Waiter("x".to_owned()),
        ),
        (audit(), RowKey::Audit),
        (
            notice("a.example:1", "https://a.example:1/"),
            RowKey::Notice("a.example:1".to_owned()),
        ),
        (notice_pause("a.example"), RowKey::NoticePause),
    ] {
        assert_eq!(read(&key), Some(row), "{key:?}");
    }
}

#[test]
fn a_ledger_key_is_bounded_whatever_the_id() {
    assert!(ledger(&"x".repeat(2_000)).pk.len() < 1_000);
    assert_ne!(ledger(&"x".repeat(2_000)), ledger(&"x".repeat(2_001)));
}
