//! Tests the messages of the function's binary about an invalid environment. It ends before it asks Lambda for anything.

use std::process::Command;

/// Starts the binary with only these variables, and returns its message at the end.
fn refusal(variables: &[(&str, &str)]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_waymark-http"))
        .env_clear()
        // No server answers there, so a binary that starts by mistake ends too.
        .env("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9")
        .envs(variables.iter().copied())
        .output()
        .expect("the binary runs");
    assert!(!output.status.success(), "{variables:?}");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn a_variable_that_names_nothing_is_named() {
    let bucket = ("BUCKET_NAME", "bucket");
    for (variables, message) in [
        (&[][..], "BUCKET_NAME"),
        (
            &[bucket, ("MONITORING", "some")],
            "UnknownMonitoring(\"some\")",
        ),
        (&[bucket, ("GZIP", "no")], "UnknownGzip(\"no\")"),
    ] {
        let refusal = refusal(variables);
        assert!(refusal.contains(message), "{message} in {refusal}");
    }
}
