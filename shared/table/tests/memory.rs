//! The table in memory passes the conformance suite.

use std::sync::{Arc, Mutex};

use table::{Action, Condition, Item, MemoryTable, Query, Table, TableError, Update, conformance};

#[tokio::test]
async fn the_table_in_memory_conforms() {
    conformance::run(async || MemoryTable::new(conformance::schema())).await;
}

#[tokio::test]
async fn each_change_is_told_once_and_a_write_without_one_is_not() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let table = MemoryTable::watched(conformance::schema(), move |change| {
        let seen = (
            change.key.clone(),
            change.old.is_some(),
            change.new.is_some(),
        );
        heard.lock().unwrap().push(seen);
    });
    let key = |sk: &str| Item::new().with("pk", "p").with("sk", sk);
    let item = || key("a").with("n", 1);
    table.put(item(), None).await.unwrap();
    table.put(item(), None).await.unwrap();
    table
        .update(key("a"), Update::new().add("n", 1), None)
        .await
        .unwrap();
    let lost = table.put(item(), Some(Condition::lacks("pk"))).await;
    assert!(lost.unwrap_err().is_condition_failed());
    table.delete(key("b"), None).await.unwrap();
    let both = vec![Action::delete(key("a")), Action::put(key("b"))];
    table.transact(both).await.unwrap();
    let told = told.lock().unwrap();
    let expected = [
        (key("a"), false, true),
        (key("a"), true, true),
        (key("a"), true, false),
        (key("b"), false, true),
    ];
    assert_eq!(*told, expected);
}

#[tokio::test]
async fn a_table_begins_with_the_items_of_another() {
    let key = |sk: &str| Item::new().with("pk", "p").with("sk", sk);
    let one = MemoryTable::new(conformance::schema());
    one.put(key("a"), None).await.unwrap();
    let shared = one.share();
    let other = MemoryTable::new(conformance::schema());
    other.put(key("of another"), None).await.unwrap();
    other.begin_with(&shared);
    other.put(key("b"), None).await.unwrap();
    one.delete(key("a"), None).await.unwrap();
    let all = async |table: &MemoryTable| {
        let page = table.query(Query::of("p")).await.unwrap();
        page.items
    };
    assert_eq!(all(&one).await, []);
    assert_eq!(all(&other).await, [key("a"), key("b")]);
}

/// Tests behaviour of DynamoDB that not all of its emulators have.
#[tokio::test]
async fn a_query_begins_in_its_own_partition() {
    let table = MemoryTable::new(conformance::schema());
    let key = |pk: &str| Item::new().with("pk", pk).with("sk", "a");
    for pk in ["p", "q"] {
        table.put(key(pk), None).await.unwrap();
    }
    for (after, is_taken) in [("p", true), ("q", false)] {
        for reverse in [false, true] {
            let after = Some(key(after));
            let query = Query {
                after,
                reverse,
                ..Query::of("p")
            };
            match table.query(query).await {
                Ok(page) => assert!(is_taken && page.items.is_empty()),
                Err(error) => assert!(!is_taken && matches!(error, TableError::Refused { .. })),
            }
        }
    }
}
