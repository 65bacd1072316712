use sitemap::departures::file_of;
use sitemap::plan::{Series, Slot, Term};
use sitemap::time::When;

use super::keys::{self, *};

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
        Some(shard.clone())
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
        Subject::of(&index_partition(&shard.series.site), "my_type#0000000012"),
        Some(Subject::Summary(shard))
    );
    assert_eq!(
        Subject::of(&content_scan().pk, ALONE),
        Some(Subject::ContentScan)
    );
    let claim = claim("a.example", "https://a.example/");
    assert_eq!(
        Subject::of(&claim.pk, ALONE),
        Some(Subject::Claim(claim.pk.clone(), None))
    );
    assert_eq!(
        Subject::of(&claim.pk, "w#post/1"),
        Some(Subject::Claim(claim.pk.clone(), Some("post/1".into())))
    );
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
        (keys::series(&series), RowKey::Series(series.clone())),
        (free(&series, slot), RowKey::Free(series.clone(), slot)),
        (entry(&series, slot), RowKey::Entry(series.clone(), slot)),
        (
            waiter("a.example", "https://a.example/", "x"),
            RowKey::Waiter("x".to_owned()),
        ),
        (
            keys::ousted("a.example", "https://a.example/", "x"),
            RowKey::Ousted("x".to_owned()),
        ),
        (
            keys::departed("a.example", "https://a.example/"),
            RowKey::Departed("a.example".to_owned(), file_of("https://a.example/")),
        ),
        (
            keys::departure_call("a.example", 0xabc),
            RowKey::DepartureCall("a.example".to_owned(), 0xabc),
        ),
        (ringing('0'), RowKey::Ringing('0')),
        (ringing('f'), RowKey::Ringing('f')),
        (keys::sweep(), RowKey::Sweep),
        (
            mark(Mark::Feed, "a.example:1"),
            RowKey::Mark(Mark::Feed, "a.example:1".to_owned()),
        ),
        (
            mark(Mark::Llms, "a.example:1"),
            RowKey::Mark(Mark::Llms, "a.example:1".to_owned()),
        ),
        (
            llms("a.example:1", When::parse("2026-01-02").ok(), "a#b"),
            RowKey::Llms("a.example:1".to_owned(), "a#b".to_owned()),
        ),
        (
            feed("a.example:1", 1_800_000_000, "a#b"),
            RowKey::Feed("a.example:1".to_owned(), 1_800_000_000, "a#b".to_owned()),
        ),
        (
            mark(Mark::Notices, "b.example"),
            RowKey::Mark(Mark::Notices, "b.example".to_owned()),
        ),
        (content_scan(), RowKey::ContentScan),
        (
            site_scan("a.example:1"),
            RowKey::SiteScan("a.example:1".to_owned()),
        ),
        (
            left_out("a.example", "a#b"),
            RowKey::LeftOut("a#b".to_owned()),
        ),
        (audit(), RowKey::Audit),
        (
            notice("a.example:1", "https://a.example:1/"),
            RowKey::Notice("a.example:1".to_owned()),
        ),
        (notice_pause("a.example"), RowKey::NoticePause),
        (group_calls(&group_partition("a#b")), RowKey::GroupCalls),
    ] {
        assert_eq!(read(&key), Some(row), "{key:?}");
    }
}

#[test]
fn a_ledger_key_is_bounded_whatever_the_id() {
    assert!(ledger(&"x".repeat(2_000)).pk.len() < 1_000);
    assert_ne!(ledger(&"x".repeat(2_000)), ledger(&"x".repeat(2_001)));
}

#[test]
fn a_page_is_named_by_its_record_and_part_whatever_the_id() {
    for id in ["post/1", "", "~", "~2~post/1", "~x~y", "a~2~b", "~2~"] {
        for part in [1, 2, 1_000] {
            let name = page(id, part);
            assert_eq!(page_parts(&name), (id, part), "{name}");
            let Key { pk, sk } = ledger(&name);
            assert_eq!(RowKey::parse(&pk, &sk), Some(RowKey::Ledger(name)));
        }
    }
    assert_eq!(page("post/1", 1), "post/1");
}

#[test]
fn pages_of_a_term_sort_by_their_lastmod_and_archives_stand_before_them() {
    let term = Term {
        site: "a.example".to_owned(),
        taxonomy: "my taxonomy".to_owned(),
        term: "a#b/ü".to_owned(),
    };
    let when = |text: &str| Some(When::parse(text).unwrap());
    let lastmods = [
        None,
        when("0001-01-01"),
        when("1969-12-31T23:59:59Z"),
        when("2026-01-01"),
        when("2026-01-01T00:00:00Z"),
        when("9999-12-31T23:59:59Z"),
    ];
    let mut before = archive(&term, "zzz");
    assert_eq!(
        RowKey::parse(&before.pk, &before.sk),
        Some(RowKey::Archive("zzz".to_owned()))
    );
    for lastmod in lastmods {
        let key = term_member(&term, lastmod, "a#1");
        assert!(key > before, "{key:?} behind {before:?}");
        let row = RowKey::TermMember(lastmod, "a#1".to_owned());
        assert_eq!(RowKey::parse(&key.pk, &key.sk), Some(row));
        before = key;
    }
}

#[test]
fn what_pages_are_to_each_other_is_read_as_it_was_written() {
    let read = |key: Key| RowKey::parse(&key.pk, &key.sk);
    let (group, id) = ("g#1 ü", "~2~post/1#x".to_owned());
    assert_eq!(
        read(group_member(group, &id)),
        Some(RowKey::GroupMember(id.clone()))
    );
    assert_eq!(
        read(group_waiter(group, &id)),
        Some(RowKey::GroupWaiter(id.clone()))
    );
    let site = "www.example.com:8080";
    let row = RowKey::Feed(site.to_owned(), 1_800_000_000, id.clone());
    assert_eq!(read(feed(site, 1_800_000_000, &id)), Some(row));
    assert_eq!(
        read(notice(site, "https://a.example/")),
        Some(RowKey::Notice(site.to_owned()))
    );
    assert_eq!(read(notice_pause(site)), Some(RowKey::NoticePause));
}
