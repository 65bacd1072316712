//! Runs the ports' conformance suites through the real SDK against the embedded servers, over HTTP and for the clients that reach
//! DynamoDB without it. The suites also run against the emulator to which `tests/deploy` deploys, which is not part of this
//! project.

use std::sync::atomic::{AtomicU32, Ordering};

use aws::{Aws, DynamoDbTable, S3Objects};
use engine::content::SourceTable;
use local::stack::{Options, Stack};
use local::tables::create_source;
use table::conformance::schema;

/// A mapping for a table with the suite's key.
const MAPPING: &str = r#"{"key": [{"pk": "S"}, {"sk": "S"}], "fields": {"type": {"constant": "post"}, "url": "url"}}"#;

/// Creates separate tables and buckets for each case.
struct Maker {
    aws: Aws,
    made: AtomicU32,
}

impl Maker {
    fn new(aws: Aws) -> Self {
        let made = AtomicU32::new(0);
        Self { aws, made }
    }

    fn name(&self) -> String {
        format!("conformance-{}", self.made.fetch_add(1, Ordering::Relaxed))
    }

    async fn table(&self) -> DynamoDbTable {
        let name = self.name();
        let table = SourceTable::new(name.clone(), MAPPING).unwrap();
        create_source(&self.aws, &table).await.unwrap();
        DynamoDbTable::new(self.aws.clone(), name, schema())
    }

    async fn bucket(&self) -> S3Objects {
        let name = self.name();
        let request = self.aws.s3().await.create_bucket().bucket(&name);
        request.send().await.unwrap();
        S3Objects::new(self.aws.clone(), name)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_servers_conform() {
    let stack = Stack::start(Options::default()).await.unwrap();
    let over_http = Aws::on_loopback(&stack.dynamodb_endpoint, &stack.s3_endpoint, Vec::new());
    let maker = Maker::new(over_http);
    table::conformance::run(async || maker.table().await).await;
    objects::conformance::run(async || maker.bucket().await).await;
    let aws = stack.aws.clone();
    let maker = Maker { aws, ..maker };
    table::conformance::run(async || maker.table().await).await;
    stack.stop().await.unwrap();
}

/// The variable with the emulator's address, `http://127.0.0.1:PORT`.
const EMULATOR: &str = "WAYMARK_EMULATOR";
/// The cases in which it differs from DynamoDB's documentation: it accepts an update that names an attribute twice, and
/// attributes without a name in a map.
const OTHERWISE: [&str; 2] = [
    "an_update_names_each_attribute_once_and_no_key",
    "attributes_have_names_at_every_level",
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an emulator: tests/deploy/conformance.py starts one and runs this"]
async fn another_emulator_conforms() {
    let endpoint = std::env::var(EMULATOR).expect(EMULATOR);
    let maker = Maker::new(Aws::on_loopback(&endpoint, &endpoint, Vec::new()));
    table::conformance::run_but(&OTHERWISE, async || maker.table().await).await;
    objects::conformance::run(async || maker.bucket().await).await;
}
