//! The behaviour that the engine requires of every implementation of [`Table`], case by case.
//!
//! Each case gets a new table, and panics if the implementation behaves differently. If implementations disagree, DynamoDB's
//! documentation decides.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;

use crate::{
    Action, Condition, Item, MAX_ACTIONS, MAX_BATCH_KEYS, MAX_ITEM_BYTES, MAX_NESTING,
    MAX_PAGE_BYTES, Page, Query, Reason, Scan, Schema, Table, TableError, Update, Value,
};

/// Returns the primary key of the cases' tables: two texts.
#[must_use]
pub fn schema() -> Schema {
    Schema::of_texts(&["pk", "sk"])
}

/// Runs every case on a new and empty table, one after the other, and prints its name.
///
/// # Panics
///
/// If the implementation behaves differently.
pub async fn run<T: Table>(new_table: impl AsyncFn() -> T) {
    run_but(&[], new_table).await;
}

/// Runs the cases as [`run`] does, for an implementation that is known to behave differently in the cases `otherwise`.
///
/// # Panics
///
/// If the implementation behaves differently in any other case, or no longer does so in one of these.
pub async fn run_but<T: Table>(otherwise: &[&str], new_table: impl AsyncFn() -> T) {
    macro_rules! cases {
        ($($case:ident),* $(,)?) => {
            $(
                let name = stringify!($case);
                eprintln!("table conformance: {name}");
                let implementation = new_table().await;
                let case = AssertUnwindSafe($case(&implementation)).catch_unwind().await;
                match (case, otherwise.contains(&name)) {
                    (Err(panic), false) => resume_unwind(panic),
                    (Ok(()), true) => panic!("{name}: the implementation does as it should"),
                    _ => {}
                }
            )*
        };
    }
    cases![
        an_item_is_what_was_put,
        numbers_have_one_text,
        a_put_replaces_the_whole_item,
        conditions_decide_on_the_item_before,
        an_item_that_does_not_exist_lacks_everything,
        an_update_names_each_attribute_once_and_no_key,
        an_update_makes_what_is_missing_and_returns_all,
        sets_are_equal_in_any_order_and_never_empty,
        attributes_have_names_at_every_level,
        lists_and_maps_are_nested_in_so_many_levels,
        a_delete_is_no_error_without_an_item,
        keys_are_whole_and_not_empty,
        a_query_names_keys_that_are_not_empty,
        an_item_has_a_largest_size,
        a_batch_has_each_key_once_and_a_largest_size,
        a_query_is_in_the_order_of_bytes,
        a_query_goes_on_behind_its_last_item,
        a_page_has_a_largest_size,
        a_scan_meets_each_item_once,
        a_transaction_is_done_as_a_whole_or_not_at_all,
        a_transaction_names_each_item_once_and_has_a_largest_size,
    ];
}

fn key(pk: &str, sk: &str) -> Item {
    Item::new().with("pk", pk).with("sk", sk)
}

async fn put(table: &dyn Table, item: Item) {
    table.put(item, None).await.expect("a put");
}

async fn get(table: &dyn Table, key: Item) -> Option<Item> {
    table.get(key).await.expect("a read")
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, TableError>) {
    let is_refused = matches!(result, Err(TableError::Refused { .. }));
    assert!(is_refused, "expected a refusal, found {result:?}");
}

#[track_caller]
fn assert_failed<T: std::fmt::Debug>(result: Result<T, TableError>) {
    let is_failed = matches!(result, Err(TableError::ConditionFailed { .. }));
    assert!(
        is_failed,
        "expected a condition that fails, found {result:?}"
    );
}

fn sort_keys(page: &Page) -> Vec<&str> {
    page.items
        .iter()
        .filter_map(|item| item.text("sk"))
        .collect()
}

async fn an_item_is_what_was_put(table: &dyn Table) {
    let map = [
        (
            "list".to_owned(),
            Value::List(vec!["a".into(), Value::Null]),
        ),
        ("yes".to_owned(), Value::Bool(true)),
    ];
    let item = key("p", "s")
        .with("text", "läßt")
        .with("empty", "")
        .with("number", 7)
        .with("bytes", Value::Bytes(vec![0, 255]))
        .with("map", Value::Map(map.into_iter().collect()))
        .with(
            "texts",
            Value::TextSet(BTreeSet::from(["a".to_owned(), "b".to_owned()])),
        )
        .with(
            "numbers",
            Value::NumberSet(BTreeSet::from(["1".to_owned(), "2".to_owned()])),
        )
        .with(
            "binaries",
            Value::BytesSet(BTreeSet::from([vec![1], vec![2]])),
        );
    put(table, item.clone()).await;
    assert_eq!(get(table, key("p", "s")).await, Some(item));
    assert_eq!(get(table, key("p", "t")).await, None);
    assert_eq!(get(table, key("q", "s")).await, None);
}

async fn numbers_have_one_text(table: &dyn Table) {
    put(table, key("p", "s").with("n", Value::number("01.50"))).await;
    let number = Value::number("1.5");
    assert_eq!(
        get(table, key("p", "s")).await.unwrap_or_default().get("n"),
        Some(&number)
    );
    let equal = Condition::equals("n", Value::number("1.500"));
    table
        .put(key("p", "s").with("n", u64::MAX), Some(equal))
        .await
        .expect("equal numbers");
    // By their value, not by their digits.
    let less = |number: &str| Some(Condition::less("n", Value::number(number)));
    assert_failed(table.put(key("p", "s"), less("9")).await);
    table
        .put(key("p", "s"), less("18446744073709551616"))
        .await
        .expect("a larger number");
    assert_refused(
        table
            .put(key("p", "s").with("n", Value::number("1".repeat(39))), None)
            .await,
    );
}

async fn a_put_replaces_the_whole_item(table: &dyn Table) {
    put(table, key("p", "s").with("a", 1)).await;
    put(table, key("p", "s").with("b", 2)).await;
    assert_eq!(
        get(table, key("p", "s")).await,
        Some(key("p", "s").with("b", 2))
    );
}

async fn conditions_decide_on_the_item_before(table: &dyn Table) {
    let item = key("p", "s").with("owner", "me").with("n", 5);
    put(table, item.clone()).await;
    let (has, lacks) = (Condition::has, Condition::lacks);
    let holding = [
        has("owner"),
        has("pk"),
        lacks("other"),
        Condition::equals("owner", "me"),
        Condition::less("n", 6),
        lacks("owner").or(Condition::equals("owner", "me")),
        has("owner").and(Condition::equals("n", 5)),
    ];
    let failing = [
        has("other"),
        lacks("pk"),
        Condition::equals("owner", "you"),
        Condition::equals("n", "5"),
        Condition::less("n", 5),
        Condition::less("other", 5),
        lacks("owner").or(Condition::equals("owner", "you")),
        has("owner").and(Condition::equals("n", 6)),
    ];
    for condition in holding {
        let shown = format!("{condition:?}");
        table
            .put(item.clone(), Some(condition))
            .await
            .expect(&shown);
    }
    for condition in failing {
        let key = || key("p", "s");
        assert_failed(table.put(key(), Some(condition.clone())).await);
        assert_failed(table.delete(key(), Some(condition.clone())).await);
        let update = Update::new().set("owner", "you");
        assert_failed(table.update(key(), update, Some(condition)).await);
    }
    assert_eq!(get(table, key("p", "s")).await, Some(item));
}

async fn an_item_that_does_not_exist_lacks_everything(table: &dyn Table) {
    let key = || key("p", "s");
    for condition in [
        Condition::has("pk"),
        Condition::equals("a", 1),
        Condition::less("a", 1),
    ] {
        assert_failed(table.put(key(), Some(condition.clone())).await);
        assert_failed(table.delete(key(), Some(condition.clone())).await);
        assert_failed(
            table
                .update(key(), Update::new().set("a", 1), Some(condition))
                .await,
        );
    }
    assert_eq!(get(table, key()).await, None);
    let absent = Some(Condition::lacks("pk"));
    table
        .put(key(), absent.clone())
        .await
        .expect("nothing is there");
    assert_failed(table.put(key(), absent).await);
}

async fn an_update_names_each_attribute_once_and_no_key(table: &dyn Table) {
    let key = || key("p", "s");
    assert_refused(
        table
            .update(key(), Update::new().set("a", 1).remove("a"), None)
            .await,
    );
    assert_refused(
        table
            .update(key(), Update::new().set("sk", "t"), None)
            .await,
    );
    assert_refused(table.update(key(), Update::new().add("pk", 1), None).await);
    assert_eq!(get(table, key()).await, None);
}

async fn an_update_makes_what_is_missing_and_returns_all(table: &dyn Table) {
    let update = Update::new()
        .set("a", "x")
        .set_missing("since", 1)
        .remove("gone")
        .add("version", 2);
    let made = table
        .update(key("p", "s"), update.clone(), None)
        .await
        .expect("an update");
    let expected = key("p", "s")
        .with("a", "x")
        .with("since", 1)
        .with("version", 2);
    assert_eq!(made, expected);
    let update = Update {
        set_missing: vec![("since".into(), 9.into())],
        ..update
    }
    .set("gone2", true);
    let expected = expected.with("version", 4).with("gone2", true);
    assert_eq!(
        table.update(key("p", "s"), update, None).await,
        Ok(expected.clone())
    );
    let added = table
        .update(key("p", "s"), Update::new().add("version", -9), None)
        .await;
    assert_eq!(added, Ok(expected.clone().with("version", -5)));
    assert_refused(
        table
            .update(key("p", "s"), Update::new().add("a", 1), None)
            .await,
    );
    // An update without actions still creates the item.
    let made = table
        .update(key("p", "t"), Update::new().remove("a"), None)
        .await;
    assert_eq!(made, Ok(key("p", "t")));
    assert_eq!(get(table, key("p", "t")).await, Some(key("p", "t")));
}

async fn sets_are_equal_in_any_order_and_never_empty(table: &dyn Table) {
    let sites = BTreeSet::from(["b".to_owned(), "a".to_owned()]);
    let sites = Value::TextSet(sites);
    let put = table.put(key("p", "s").with("sites", sites.clone()), None);
    put.await.expect("a put");
    let item = get(table, key("p", "s")).await.unwrap_or_default();
    assert_eq!(item.get("sites"), Some(&sites));
    let same = Some(Condition::equals("sites", sites));
    let put = table.put(key("p", "s"), same.clone());
    put.await.expect("equal sets");
    assert_failed(table.put(key("p", "s"), same).await);
    let empty = key("p", "t").with("sites", Value::TextSet(BTreeSet::new()));
    assert_refused(table.put(empty, None).await);
}

async fn attributes_have_names_at_every_level(table: &dyn Table) {
    let map = |name: &str| Value::Map(BTreeMap::from([(name.to_owned(), Value::Null)]));
    put(table, key("p", "s").with("map", map("x"))).await;
    assert_refused(table.put(key("p", "s").with("", "x"), None).await);
    for inner in [map(""), Value::List(vec![map("")])] {
        assert_refused(table.put(key("p", "s").with("map", inner), None).await);
    }
}

async fn lists_and_maps_are_nested_in_so_many_levels(table: &dyn Table) {
    let nested = |levels: usize| {
        let list = (1..levels).fold(Value::List(Vec::new()), |inner, _| Value::List(vec![inner]));
        key("p", "s").with("list", list)
    };
    put(table, nested(MAX_NESTING)).await;
    assert_refused(table.put(nested(MAX_NESTING + 1), None).await);
}

async fn a_delete_is_no_error_without_an_item(table: &dyn Table) {
    put(table, key("p", "s")).await;
    for _ in 0..2 {
        table.delete(key("p", "s"), None).await.expect("a delete");
        assert_eq!(get(table, key("p", "s")).await, None);
    }
}

async fn keys_are_whole_and_not_empty(table: &dyn Table) {
    for item in [
        Item::new().with("pk", "p"),
        key("p", ""),
        key("", "s"),
        key("p", "s").with("sk", 1),
        key(&"p".repeat(2_049), "s"),
        key("p", &"s".repeat(1_025)),
    ] {
        assert_refused(table.put(item.clone(), None).await);
        assert_refused(table.get(item).await);
    }
    assert_refused(table.get(key("p", "s").with("a", 1)).await);
}

async fn a_query_names_keys_that_are_not_empty(table: &dyn Table) {
    put(table, key("p", "s")).await;
    assert_refused(table.query(Query::of("")).await);
    assert_refused(table.query(Query::of("p").beginning_with("")).await);
    assert_refused(table.query(Query::of("").beginning_with("s")).await);
    let page = table.query(Query::of("p").beginning_with("s")).await;
    assert_eq!(sort_keys(&page.expect("a page")), ["s"]);
}

async fn an_item_has_a_largest_size(table: &dyn Table) {
    let empty = key("p", "s").with("text", "");
    let filled = |bytes: usize| empty.clone().with("text", "x".repeat(bytes));
    let room = MAX_ITEM_BYTES - empty.bytes();
    put(table, filled(room)).await;
    assert_refused(table.put(filled(room + 1), None).await);
    let more = Update::new().set("more", "x");
    let result = table.update(key("p", "s"), more, None).await;
    assert_refused(result);
}

async fn a_batch_has_each_key_once_and_a_largest_size(table: &dyn Table) {
    let keys = |count: usize| {
        (0..count)
            .map(|n| key("p", &format!("{n:03}")))
            .collect::<Vec<_>>()
    };
    for key in keys(MAX_BATCH_KEYS) {
        put(table, key.with("a", 1).with("b", 2)).await;
    }
    let (items, left) = table
        .batch_get(keys(MAX_BATCH_KEYS), None)
        .await
        .expect("a batch");
    assert_eq!((items.len(), left.len()), (MAX_BATCH_KEYS, 0));
    assert_refused(table.batch_get(keys(MAX_BATCH_KEYS + 1), None).await);
    assert_refused(table.batch_get(Vec::new(), None).await);
    assert_refused(
        table
            .batch_get(vec![key("p", "000"), key("p", "000")], None)
            .await,
    );
    let keys = vec![key("p", "000"), key("none", "000")];
    let wanted = Some(vec!["a".into(), "missing".into()]);
    let (items, _) = table.batch_get(keys, wanted).await.expect("a batch");
    assert_eq!(items, [Item::new().with("a", 1)]);
}

async fn a_query_is_in_the_order_of_bytes(table: &dyn Table) {
    let sorted = [
        "!a", "-", "Z", "a", "a#1", "a#2", "b", "ä", "\u{ffff}", "😀",
    ];
    for sk in sorted.iter().rev() {
        put(table, key("p", sk)).await;
        put(table, key("other", sk)).await;
    }
    let query = |query| async move { table.query(query).await.expect("a query") };
    let page = query(Query::of("p")).await;
    assert_eq!(sort_keys(&page), sorted);
    assert_eq!(page.next, None);
    let reversed: Vec<&str> = sorted.into_iter().rev().collect();
    assert_eq!(sort_keys(&query(Query::of("p").reversed()).await), reversed);
    assert_eq!(
        sort_keys(&query(Query::of("p").beginning_with("a#")).await),
        ["a#1", "a#2"]
    );
    assert_eq!(
        sort_keys(&query(Query::of("p").reversed().limited(1)).await),
        ["😀"]
    );
    assert_eq!(query(Query::of("none")).await, Page::default());
}

async fn a_query_goes_on_behind_its_last_item(table: &dyn Table) {
    for n in 0..7 {
        put(table, key("p", &n.to_string())).await;
    }
    for (reverse, expected) in [(false, "0123456"), (true, "6543210")] {
        let (mut found, mut after) = (String::new(), None);
        loop {
            let query = Query {
                reverse,
                after,
                ..Query::of("p").limited(3)
            };
            let page = table.query(query).await.expect("a query");
            assert!(page.items.len() <= 3);
            found.extend(sort_keys(&page));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, expected);
    }
    // After a deleted item, and with a prefix of the sort key.
    table.delete(key("p", "3"), None).await.expect("a delete");
    let after = Some(key("p", "3"));
    let page = table
        .query(Query {
            after,
            ..Query::of("p")
        })
        .await
        .expect("a query");
    assert_eq!(sort_keys(&page), ["4", "5", "6"]);
}

async fn a_page_has_a_largest_size(table: &dyn Table) {
    let size = MAX_PAGE_BYTES / 4;
    for n in 0..6 {
        put(
            table,
            key("p", &n.to_string()).with("text", "x".repeat(size)),
        )
        .await;
    }
    let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = table
            .query(Query {
                after,
                ..Query::of("p")
            })
            .await
            .expect("a query");
        // The page ends with the item that exceeds the limit, or before it.
        assert!(page.items.len() <= 5, "{} items", page.items.len());
        found.extend(sort_keys(&page).into_iter().map(str::to_owned));
        pages += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, ["0", "1", "2", "3", "4", "5"]);
    assert!(pages > 1);
}

async fn a_scan_meets_each_item_once(table: &dyn Table) {
    let mut expected = BTreeSet::new();
    for n in 0..20 {
        let item = key(&format!("p{}", n % 7), &n.to_string()).with("a", n);
        put(table, item.clone()).await;
        expected.insert(item);
    }
    let (mut found, mut after) = (BTreeSet::new(), None);
    loop {
        let scan = Scan {
            after,
            limit: Some(3),
            consistent: true,
            ..Scan::default()
        };
        let page = table.scan(scan).await.expect("a scan");
        assert!(page.items.len() <= 3);
        for item in page.items {
            assert!(found.insert(item.clone()), "{item:?} twice");
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, expected);
    let attributes = Some(vec!["a".into()]);
    let page = table
        .scan(Scan {
            attributes,
            ..Scan::default()
        })
        .await
        .expect("a scan");
    let wanted: BTreeSet<Item> = page.items.into_iter().collect();
    assert_eq!(wanted, (0..20).map(|n| Item::new().with("a", n)).collect());
}

async fn a_transaction_is_done_as_a_whole_or_not_at_all(table: &dyn Table) {
    put(table, key("p", "update").with("n", 1)).await;
    put(table, key("p", "delete")).await;
    put(table, key("p", "check").with("owner", "me")).await;
    let actions = |owner: &str, n: u32| {
        vec![
            Action::put(key("p", "put").with("a", 1)),
            Action::update(key("p", "update"), Update::new().add("n", 1))
                .when(Condition::equals("n", n)),
            Action::delete(key("p", "delete")),
            Action::check(key("p", "check"), Condition::equals("owner", owner)),
        ]
    };
    let before = all(table).await;
    for (owner, n, failed) in [
        ("you", 1, vec![3]),
        ("me", 7, vec![1]),
        ("you", 7, vec![1, 3]),
    ] {
        let reasons = (0..4).map(|at| match failed.contains(&at) {
            true => Reason::ConditionFailed,
            false => Reason::Innocent,
        });
        let reasons = reasons.collect();
        let result = table.transact(actions(owner, n)).await;
        assert_eq!(result, Err(TableError::Cancelled { reasons }));
        assert_eq!(all(table).await, before);
    }
    table
        .transact(actions("me", 1))
        .await
        .expect("a transaction");
    let after = [
        key("p", "check").with("owner", "me"),
        key("p", "put").with("a", 1),
        key("p", "update").with("n", 2),
    ];
    assert_eq!(all(table).await, after);
}

async fn all(table: &dyn Table) -> Vec<Item> {
    table.query(Query::of("p")).await.expect("a query").items
}

async fn a_transaction_names_each_item_once_and_has_a_largest_size(table: &dyn Table) {
    let puts = |count: usize| -> Vec<Action> {
        let put = |n: usize| Action::put(key("p", &n.to_string()));
        (0..count).map(put).collect()
    };
    assert_refused(table.transact(puts(MAX_ACTIONS + 1)).await);
    assert_refused(table.transact(Vec::new()).await);
    let twice = vec![Action::put(key("p", "s")), Action::delete(key("p", "s"))];
    assert_refused(table.transact(twice).await);
    assert!(all(table).await.is_empty());
    table
        .transact(puts(MAX_ACTIONS))
        .await
        .expect("a transaction");
    assert_eq!(all(table).await.len(), MAX_ACTIONS);
}
