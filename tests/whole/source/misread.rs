//! Tests commands that do not read the same tables as the stack: they report no findings about pages.

use aws::environment::content;
use cli::deployment::target::Target;
use engine::reconcile::Reconciler;
use engine::sweep::audit::Finding;
use local::tables::create_source;

use super::*;

/// Returns the target of a command with this table.
fn target(world: &World, source: Option<SourceTable>) -> Target {
    let stack = world.target();
    let reconciler = stack.reconciler.clone();
    let (aws, env) = (&world.stack.aws, &reconciler.env);
    let content = content(aws, stack.content_table.clone(), source, env);
    Target {
        reconciler: Reconciler {
            content,
            ..reconciler
        },
        ..stack
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_audit_judges_what_it_cannot_read() {
    let mut changed = mapping();
    changed["only"] = json!({"entity": "USER"});
    let changed = SourceTable::new(TABLE.to_owned(), &changed.to_string()).unwrap();
    let (sources, without) = (
        [None, Some(source()), Some(changed)],
        "also come from a table",
    );
    // By the tables of the stack, and those of the command.
    let expected = [
        (
            0,
            [
                None,
                Some("do not come from the table"),
                Some("do not come from the table"),
            ],
        ),
        (1, [Some(without), None, Some("by a different mapping")]),
        (2, [Some(without), Some("by a different mapping"), None]),
    ];
    for (started, expected) in expected {
        let options = Options {
            source: sources[started].clone(),
            ..Options::default()
        };
        let mut world = World::idle(options).await;
        if started == 0 {
            // The table exists, but the stack does not know it.
            create_source(&world.stack.aws, &source()).await.unwrap();
        }
        put(&world.stack, &item("first", 1, 1)).await;
        let user =
            json!({"pk": "USER#jane", "sk": 1, "entity": "USER", "slug": "jane", "state": "live"});
        put(&world.stack, &user).await;
        world.put(&post("/own/", 1)).await;
        world.begin().await;
        let paths = world.paths().await;
        let mapped = ["", "/first/", "/jane/"][started];
        assert_eq!(
            paths.iter().any(|path| path == mapped),
            started > 0,
            "{paths:?}"
        );
        for (given, expected) in sources.iter().zip(expected) {
            let target = target(&world, given.clone());
            let mut findings = Vec::new();
            let report = |finding: &Finding| findings.push(finding.to_string());
            let ended = audit(&target, true, PAUSE, report).await.unwrap();
            assert_eq!(findings, [""; 0]);
            match expected {
                None => assert_eq!(ended, Ended::Whole(Vec::new())),
                Some(text) => {
                    let Ended::Misread(misread) = ended else {
                        panic!("{started}, {text}: {ended:?}");
                    };
                    let told = misread.to_string();
                    assert!(told.starts_with(SITE) && told.contains(text), "{told}");
                }
            }
        }
        assert_eq!(world.paths().await, paths);
        world.stop().await;
    }
}
