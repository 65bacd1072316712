//! Tests changes without an event: a table that existed before, another mapping, a table that is removed.

use std::path::Path;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    StreamSpecification, StreamViewType,
};
use local::stack::StackError;
use local::tables::CreateError;

use super::*;

/// Creates a table as an operator has it: it existed before, and its stream is turned on last.
async fn old_table(stack: &Stack, items: &[Value]) {
    let client = stack.aws.dynamodb().await.clone();
    let attribute = |name: &str, of: ScalarAttributeType| {
        let attribute = AttributeDefinition::builder().attribute_name(name);
        attribute.attribute_type(of).build().unwrap()
    };
    let key = |name: &str, role: KeyType| {
        let key = KeySchemaElement::builder().attribute_name(name);
        key.key_type(role).build().unwrap()
    };
    let create = client
        .create_table()
        .table_name(TABLE)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S))
        .attribute_definitions(attribute("sk", ScalarAttributeType::N))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .billing_mode(BillingMode::PayPerRequest);
    create.send().await.unwrap();
    for item in items {
        put(stack, item).await;
    }
}

async fn turn_stream_on(stack: &Stack) {
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages);
    let client = stack.aws.dynamodb().await.clone();
    let update = client.update_table().table_name(TABLE);
    let update = update.stream_specification(stream.build().unwrap());
    update.send().await.unwrap();
}

fn kept(data: &Path, mapping: Option<Value>) -> Options {
    let source = |mapping: Value| SourceTable::new(TABLE.to_owned(), &mapping.to_string()).unwrap();
    Options {
        data: Some(data.to_owned()),
        source: mapping.map(source),
        ..Options::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_was_there_before_is_loaded_and_another_mapping_is_followed_without_an_event()
{
    let data = tempfile::tempdir().unwrap();
    let world = World::with(kept(data.path(), None), &[post("/own/", 1)]).await;
    assert_eq!(world.paths().await, ["/own/"]);
    let items: Vec<Value> = (0..3).map(|n| item(&format!("old{n}"), n, 1)).collect();
    old_table(&world.stack, &items).await;
    world.stop().await;

    // Its stream is still off.
    let refused = Stack::start(kept(data.path(), Some(mapping()))).await;
    let Err(StackError::Create(CreateError::Misfit { misfits, .. })) = refused else {
        panic!("a table without a stream")
    };
    assert_eq!(misfits.len(), 1, "{misfits:?}");

    let world = World::idle(kept(data.path(), None)).await;
    turn_stream_on(&world.stack).await;
    world.stop().await;
    let mut world = World::idle(kept(data.path(), Some(mapping()))).await;
    world.begin().await;
    becomes(&world, &["/old0/", "/old1/", "/old2/", "/own/"]).await;
    is_sound(&world).await;
    world.stop().await;

    let mut other = mapping();
    other["fields"]["url"] = json!({"template": format!("https://{SITE}/blog/{{slug}}/")});
    let mut world = World::idle(kept(data.path(), Some(other))).await;
    world.begin().await;
    becomes(
        &world,
        &["/blog/old0/", "/blog/old1/", "/blog/old2/", "/own/"],
    )
    .await;
    is_sound(&world).await;
    world.stop().await;

    // Without the table, the audit removes its pages.
    let mut world = World::idle(kept(data.path(), None)).await;
    world.begin().await;
    world.settle().await;
    let ended = audit(&world.target(), true, PAUSE, |_| ()).await;
    assert_eq!(ended.unwrap(), Ended::Whole(Vec::new()));
    becomes(&world, &["/own/"]).await;
    world.stop().await;
}
