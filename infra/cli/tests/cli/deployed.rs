//! `--stack` and `--config-env`: every way in which a deployment cannot be looked at is one clear line and status 2.
//!
//! CloudFormation, DynamoDB and S3 are a double on loopback. No process here has another endpoint, or a profile of the developer's.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cli::purge::CloudFront;

use crate::limited::Limited as _;

use crate::double::{Double, REGION, Stacks, members};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn whole(version: &str) -> String {
    let outputs = [
        ("ContentTableName", "c"),
        ("SitemapTableName", "s"),
        ("SitemapBucketName", "b"),
        ("FailureBucketName", "f"),
        ("Version", version),
    ];
    let parameters = [
        ("Sites", "www.example.com"),
        ("SourceTable", ""),
        ("SourceMapping", ""),
    ];
    members("Output", &outputs[..if version.is_empty() { 4 } else { 5 }])
        + &members("Parameter", &parameters)
}

fn stacks() -> Stacks {
    let half = members(
        "Parameter",
        &[("SourceTable", "t"), ("SourceMapping", "{\"a\": 1}")],
    );
    vec![
        ("prod", "UPDATE_COMPLETE", whole(VERSION)),
        ("throttled", "UPDATE_COMPLETE", whole(VERSION)),
        ("older", "UPDATE_COMPLETE", whole("0.0.1")),
        ("silent", "UPDATE_COMPLETE", whole("")),
        ("failed", "ROLLBACK_COMPLETE", String::new()),
        (
            "other",
            "CREATE_COMPLETE",
            members("Output", &[("BucketName", "b")]),
        ),
        ("mapped", "UPDATE_COMPLETE", whole(VERSION) + &half),
        (
            "cdn",
            "UPDATE_COMPLETE",
            whole(VERSION) + &members("Output", &[("DistributionId", "E1")]),
        ),
    ]
}

/// Returns the command, where everything of AWS is the double.
fn waymark(double: &Double, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
    command.args(arguments).stdin(Stdio::null()).env_clear();
    command.envs([
        ("AWS_ENDPOINT_URL", double.url.as_str()),
        ("AWS_ACCESS_KEY_ID", "from-the-environment"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("AWS_REGION", REGION),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_CONFIG_FILE", "/dev/null"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"),
    ]);
    command
}

/// Runs the command. Returns its status, and what it wrote to stdout and to stderr.
fn ended(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output_in_time();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Checks that the command writes one line alone to stderr, which begins with `waymark: ` and `expected`, and that its status is 2.
#[track_caller]
fn one_line(command: Command, expected: &str) {
    let asked = format!("{command:?}");
    let (status, out, err) = ended(command);
    assert_eq!((status, out.as_str()), (Some(2), ""), "{asked}: {err}");
    assert_eq!(err.lines().count(), 1, "{asked}: {err}");
    assert!(
        err.starts_with(&format!("waymark: {expected}")),
        "{asked}: {err}"
    );
}

const VERBS: [&[&str]; 6] = [
    &["status"],
    &["status", "--json"],
    &["explain", "post/a"],
    &["audit"],
    &["audit", "--repair"],
    &["redrive"],
];

#[test]
fn every_verb_says_in_a_line_why_a_stack_cannot_be_looked_at() {
    let double = Double::start(stacks());
    for (options, expected) in [
        (
            &["--stack", "nope"][..],
            "no stack nope in eu-central-1: check the name, the account and --region\n",
        ),
        (
            &["--stack", "prod", "--region", "eu-west-1"],
            "no stack prod in eu-west-1: ",
        ),
        (
            &["--stack", "failed"],
            "stack failed in eu-central-1 is in ROLLBACK_COMPLETE: its first deployment failed: ",
        ),
        (
            &["--stack", "other"],
            "stack other in eu-central-1 is not a Waymark stack: it has no output ContentTableName: ",
        ),
        (
            &["--stack", "denied"],
            "no permission for cloudformation:DescribeStacks on stack denied in eu-central-1: User: arn:aws:iam::1:user/u is not authorized",
        ),
        (
            &["--stack", "expired"],
            "cannot look for stack expired in eu-central-1: AWS does not accept the credentials: ExpiredToken: ",
        ),
        (
            &["--stack", "gone"],
            "cannot look for stack gone in eu-central-1: http://127.0.0.1:",
        ),
        (
            &["--stack", "mapped"],
            "stack mapped in eu-central-1 has invalid parameters: SOURCE_MAPPING: ",
        ),
        (
            &["--stack", "prod", "--profile", "nobody"],
            "cannot look for stack prod in eu-central-1: no AWS credentials: ",
        ),
    ] {
        for verb in VERBS {
            one_line(waymark(&double, &[verb, options].concat()), expected);
        }
        one_line(waymark(&double, &[&["check"], options].concat()), expected);
    }
}

#[test]
fn a_permission_that_is_missing_is_named() {
    let double = Double::start(stacks());
    for (verb, expected) in [
        (&["status"][..], "no permission for dynamodb:GetItem: "),
        (&["audit"], "no permission for dynamodb:GetItem: "),
        (&["explain", "post/a"], "no permission for s3:ListBucket: "),
        (&["redrive"], "no permission for s3:ListBucket: "),
        (&["check"], "no permission for s3:ListBucket: "),
    ] {
        let arguments = [verb, &["--stack", "prod"]].concat();
        one_line(waymark(&double, &arguments), expected);
    }
}

#[test]
fn another_version_is_noted_by_what_reads_and_refused_by_what_changes() {
    let double = Double::start(stacks());
    for (stack, version) in [("older", "0.0.1"), ("silent", "an unknown version")] {
        let told = format!(
            "this command has version {VERSION}, and stack {stack} has {version}: build the command from"
        );
        for change in [&["audit", "--repair"][..], &["redrive"]] {
            let arguments = [change, &["--stack", stack]].concat();
            one_line(waymark(&double, &arguments), &told);
            let (status, _, err) = ended(waymark(
                &double,
                &[&arguments[..], &["--ignore-version"]].concat(),
            ));
            // It went on: it is the double that permits nothing else.
            assert_eq!(status, Some(2));
            assert!(
                err.contains(&told) && err.contains("waymark: no permission for "),
                "{err}"
            );
        }
        for read in [&["status"][..], &["audit"], &["explain", "post/a"]] {
            let (status, _, err) = ended(waymark(&double, &[read, &["--stack", stack]].concat()));
            assert_eq!(status, Some(2));
            assert!(
                err.contains(&told) && err.contains("waymark: no permission for "),
                "{err}"
            );
        }
    }
}

#[test]
fn what_passes_is_tried_again() {
    let double = Double::start(stacks());
    one_line(
        waymark(&double, &["status", "--stack", "throttled"]),
        "no permission for dynamodb:",
    );
    assert_eq!(double.asked().len(), 3);
    // Nothing listens there: 9 is "discard".
    let mut command = waymark(&double, &["status", "--stack", "prod"]);
    command.env("AWS_ENDPOINT_URL_CLOUDFORMATION", "http://127.0.0.1:9");
    one_line(
        command,
        "cannot look for stack prod in eu-central-1: http://127.0.0.1:9: the endpoint cannot be reached: ",
    );
}

#[test]
fn region_and_credentials_come_from_the_options_then_the_environment_then_the_profile() {
    let double = Double::start(stacks());
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config");
    let text = "[profile theirs]\nregion = eu-central-1\naws_access_key_id = of-the-profile\naws_secret_access_key = s\n\
        [profile program]\nregion = eu-central-1\ncredential_process = echo \
        '{\"Version\": 1, \"AccessKeyId\": \"of-the-program\", \"SecretAccessKey\": \"s\"}'\n";
    std::fs::write(&config, text).expect("written");
    let signed = |key: &str, region: &str| {
        let asked = double.asked();
        let scope = [
            format!("Credential={key}/"),
            format!("/{region}/cloudformation/"),
        ];
        assert!(
            asked.len() == 1 && scope.iter().all(|part| asked[0].contains(part)),
            "{scope:?} in {asked:?}"
        );
    };
    let status = |options: &[&str]| {
        let mut command = waymark(&double, &[&["status", "--stack", "prod"], options].concat());
        command.env("AWS_CONFIG_FILE", &config);
        command
    };
    ended(status(&[]));
    signed("from-the-environment", REGION);
    ended(status(&["--region", "eu-west-3"]));
    signed("from-the-environment", "eu-west-3");
    // The environment's region stands; its credentials do not.
    ended(status(&["--profile", "theirs"]));
    signed("of-the-profile", REGION);
    ended(status(&["--profile", "program"]));
    signed("of-the-program", REGION);
    let mut command = status(&["--profile", "theirs"]);
    command.env_remove("AWS_REGION");
    ended(command);
    signed("of-the-profile", REGION);
    let mut command = status(&[]);
    command.env_remove("AWS_REGION");
    one_line(
        command,
        "cannot look for stack prod: no region is set: give --region, ",
    );
    let mut command = status(&[]);
    command.env_remove("AWS_ACCESS_KEY_ID");
    one_line(
        command,
        "cannot look for stack prod in eu-central-1: no AWS credentials: ",
    );
}

#[test]
fn an_environment_of_samconfig_names_the_stack_and_its_region() {
    let double = Double::start(stacks());
    let folder = tempfile::tempdir().expect("a folder");
    let status = |folder: &Path, environment: &str| {
        let mut command = waymark(&double, &["status", "--config-env", environment]);
        command.current_dir(folder);
        command
    };
    one_line(
        status(folder.path(), "production"),
        "failed to read samconfig.toml: No such file",
    );
    let text = "version = 0.1\n[production.global.parameters]\nstack_name = \"failed\"\n[elsewhere.deploy.parameters]\n\
        stack_name = \"prod\"\nregion = \"eu-west-2\"\n";
    std::fs::write(folder.path().join("samconfig.toml"), text).expect("written");
    one_line(
        status(folder.path(), "production"),
        "stack failed in eu-central-1 is in ROLLBACK_COMPLETE: ",
    );
    one_line(
        status(folder.path(), "elsewhere"),
        "no stack prod in eu-west-2: ",
    );
    one_line(
        status(folder.path(), "staging"),
        "samconfig.toml has no environment staging: it has elsewhere, production",
    );
}

#[test]
fn two_places_at_once_are_an_error() {
    let double = Double::start(stacks());
    let places = [
        &["--stack", "prod"][..],
        &["--config-env", "production"],
        &["--deployment"],
        &["--dynamodb-port", "8000"],
    ];
    for (n, one) in places.iter().enumerate() {
        for other in &places[n + 1..] {
            let (status, out, err) = ended(waymark(&double, &[&["status"], *one, other].concat()));
            assert_eq!((status, out.as_str()), (Some(2), ""), "{one:?} {other:?}");
            assert!(err.contains("cannot be used with"), "{err}");
        }
    }
    one_line(
        waymark(&double, &["status", "--region", "eu-west-1"]),
        "--region and --profile are for a deployment: ",
    );
    one_line(
        waymark(&double, &["redrive"]),
        "redrive needs a deployment: give --stack NAME, ",
    );
    assert_eq!(double.asked(), [""; 0]);
}

#[test]
fn what_is_no_distribution_cannot_be_purged() {
    let double = Double::start(stacks());
    let purge = |options: &[&str]| {
        let arguments = [&["purge", "--site", "www.example.com"], options].concat();
        waymark(&double, &arguments)
    };
    for options in [&[][..], &["--deployment"]] {
        let mut command = purge(options);
        for name in ["CONTENT_TABLE", "SITEMAP_TABLE", "BUCKET_NAME", "SITES"] {
            command.env(name, "x");
        }
        command.env("SOURCE_TABLE", "").env("SOURCE_MAPPING", "");
        one_line(command, "purge needs a deployment's CDN: ");
    }
    one_line(
        purge(&["--stack", "prod"]),
        "stack prod in eu-central-1 has no distribution of its own ",
    );
    one_line(
        purge(&["--stack", "cdn"]),
        "no permission for s3:ListBucket: ",
    );
    assert_eq!(double.purged(), []);
}

#[tokio::test]
async fn every_answer_of_cloudfront_is_told() {
    let double = Double::start(stacks());
    // The process's own environment is not changed: the SDK's configuration is.
    let asked = async |distribution: &str| {
        let cdn = CloudFront::at(&double.url, distribution);
        let invalidation = cdn.invalidate("www.example.com", "r").await?;
        cdn.wait(invalidation, Duration::from_secs(4)).await
    };
    assert!(asked("E1").await.is_ok_and(|found| found.is_done()));
    assert!(asked("ESLOW").await.is_ok_and(|found| !found.is_done()));
    for (distribution, expected) in [
        (
            "EDENIED",
            "no permission for cloudfront:CreateInvalidation on distribution EDENIED: User: u is not authorized: \
             grant it",
        ),
        (
            "EFULL",
            "distribution EFULL has too many invalidations under way: ",
        ),
    ] {
        let told = asked(distribution).await.map_err(|error| error.to_string());
        assert!(
            told.as_ref().is_err_and(|told| told.starts_with(expected)),
            "{told:?}"
        );
    }
}

#[test]
fn the_guide_for_operators_needs_no_shell_variable() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/OPERATIONS.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    for (n, line) in guide.lines().enumerate() {
        let variable = line.match_indices('$').find(|(at, _)| {
            let rest = line[at + 1..].trim_start_matches(['{', '(']);
            rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        });
        assert_eq!(variable, None, "docs/OPERATIONS.md:{}: {line}", n + 1);
    }
}
