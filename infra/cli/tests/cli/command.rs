//! The real binary: what it prints, how it ends, and what it leaves behind.

#![cfg(feature = "serve")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::documented::Running as Owned;
use crate::limited::Limited as _;
use tokio::net::TcpSocket;

/// Far longer than anything here takes, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(240);
/// The options of a stack beside others.
pub(crate) const ANY_PORTS: [&str; 6] = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"];

pub(crate) fn waymark(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
    command
        .args(arguments)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A process that does not outlive its test.
pub(crate) struct Running {
    pub(crate) child: Owned,
    lines: mpsc::Receiver<String>,
    errors: thread::JoinHandle<String>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (send, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let mut stderr = child.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).unwrap();
            String::from_utf8(text).unwrap()
        });
        Self {
            child: Owned(child),
            lines,
            errors,
        }
    }

    /// Returns the lines of the command's output up to the one that begins with `beginning`.
    pub(crate) fn lines_to(&self, beginning: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while !lines
            .last()
            .is_some_and(|line: &String| line.starts_with(beginning))
        {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => lines.push(line),
                Err(error) => panic!("waiting for {beginning:?}: {error}: {lines:#?}"),
            }
        }
        lines
    }

    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.0.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Waits for the command to end. Returns its status, the rest of its output, and its messages.
    pub(crate) fn end(mut self) -> (ExitStatus, String, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > LIMIT {
                self.child.0.kill().unwrap();
                panic!("it did not end within {LIMIT:?}");
            }
            thread::sleep(Duration::from_millis(20));
        };
        let mut out = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(LIMIT) {
            out.push(line);
        }
        (status, out.join("\n"), self.errors.join().unwrap())
    }
}

/// Runs a command to its end.
pub(crate) fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let (status, out, errors) = Running::start(&mut waymark(arguments)).end();
    (status.code(), out, errors)
}

pub(crate) fn port_of(line: &str) -> String {
    line.trim_end_matches('/')
        .rsplit(':')
        .next()
        .unwrap()
        .to_owned()
}

/// Returns the status line and the body of the answer to a GET.
pub(crate) fn get(port: &str, host: &str, path: &str) -> (String, String) {
    answer("GET", port, host, path)
}

/// Returns the status line and the body of a request's answer.
fn answer(method: &str, port: &str, host: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.lines().next().unwrap().to_owned();
    (status, body.to_owned())
}

#[test]
fn without_a_stack_the_port_and_the_remedy_are_named_at_once() {
    // Bound and not listening: it refuses, and no other test is given the port.
    let held = TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = held.local_addr().unwrap().port().to_string();
    for arguments in [
        &["status"][..],
        &["status", "--left-out"],
        &["audit"],
        &["explain", "a"],
    ] {
        let began = Instant::now();
        let arguments = [arguments, &["--dynamodb-port", &port]].concat();
        let (status, out, errors) = run(&arguments);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{arguments:?}");
        let expected = format!(
            "waymark: no local stack on 127.0.0.1:{port}: start one with `waymark serve`, give --dynamodb-port, or name a \
             deployment with --stack\n"
        );
        assert_eq!(errors, expected);
        // The SDK's own retries took 7 seconds and more.
        assert!(began.elapsed() < Duration::from_secs(5), "{arguments:?}");
    }
}

/// Checks the version's commit and template: `tests/whole/template` holds the template's version to the crates'.
#[test]
fn the_version_names_the_commit_of_a_release_and_the_template() {
    let built = match option_env!("WAYMARK_COMMIT") {
        Some(commit) if !commit.is_empty() => {
            let changed = &commit[commit.find("-dirty").unwrap_or(commit.len())..];
            format!("commit {}{changed}", &commit[..12])
        }
        _ => "built from source".to_owned(),
    };
    let version = env!("CARGO_PKG_VERSION");
    let (status, out, _) = run(&["--version"]);
    assert_eq!(status, Some(0));
    assert_eq!(
        out,
        format!("waymark {version} ({built}, template {version})")
    );
}

#[test]
fn usage_and_version() {
    let (status, out, _) = run(&["-V"]);
    assert_eq!(
        (status, out),
        (Some(0), format!("waymark {}", env!("CARGO_PKG_VERSION")))
    );
    let (status, _, errors) = run(&["explain", ""]);
    assert_eq!(status, Some(2));
    assert!(errors.contains("URL|ID"), "{errors}");
    for of_the_local_stack in [
        &["--dynamodb-port", "8000"][..],
        &["--source-table", "t", "--source-mapping", "m"],
    ] {
        let arguments = [&["status", "--deployment"], of_the_local_stack].concat();
        let (status, _, errors) = run(&arguments);
        assert_eq!(status, Some(2));
        assert!(errors.contains("cannot be used with"), "{errors}");
    }
    // Options that had another name before.
    let origins = "https://a.example=https://b.example";
    for (old, new) in [
        (
            &["check", "--profile", "protocol,google", "."][..],
            "--rules",
        ),
        (&["diff", "--map", origins, ".", "."], "--map-url"),
    ] {
        let (status, _, errors) = run(old);
        assert!(status == Some(2) && errors.contains(new), "{errors}");
    }
    let (status, _, errors) = run(&["serve", "--data", env!("CARGO_BIN_EXE_waymark")]);
    assert_eq!(status, Some(2));
    assert!(
        errors.ends_with("/waymark: is a file, not a folder\n"),
        "{errors}"
    );
}

#[test]
fn a_reader_that_goes_is_no_error_and_a_full_device_is() {
    let mut command = waymark(&["--once"]);
    let mut child = command.args(ANY_PORTS).spawn().unwrap();
    let mut line = String::new();
    // The reader is dropped with the pipe's end.
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("dynamodb "), "{line}");
    let errors = child.stderr.take().unwrap();
    let (_, lines) = mpsc::channel();
    let (status, _, errors) = Running {
        child: Owned(child),
        lines,
        errors: thread::spawn(move || std::io::read_to_string(errors).unwrap()),
    }
    .end();
    assert_eq!(status.code(), Some(0), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");

    if let Ok(full) = File::options().write(true).open("/dev/full") {
        let mut command = waymark(&["sample"]);
        let (status, _, errors) = Running::start(command.stdout(full)).end();
        assert_eq!(status.code(), Some(2));
        assert!(
            errors.starts_with("waymark: cannot write the output: No space left"),
            "{errors}"
        );
    }
}

/// Returns whether this test, and so every process that it starts, runs under `nohup`. Only Linux says so.
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1)
}

#[test]
fn every_signal_that_ends_it_leaves_no_folder() {
    for (signal, once, expected) in [("TERM", false, 0), ("HUP", false, 0), ("INT", true, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        // It waits for content that never comes.
        let mut command = waymark(&["--content", "-"]);
        command.args(ANY_PORTS).args(once.then_some("--once"));
        command.env("TMPDIR", folder.path()).stdin(Stdio::piped());
        let mut running = Running::start(&mut command);
        let stdin = running.child.0.stdin.take();
        running.lines_to("site ");
        assert_eq!(files(), 1, "{signal}");
        running.signal(signal);
        if signal == "HUP" && hangups_are_ignored() {
            // Under `nohup` the stack outlives its terminal.
            running.signal("TERM");
        }
        let (status, _, errors) = running.end();
        assert_eq!(status.code(), Some(expected), "{signal}: {errors}");
        assert_eq!(files(), 0, "{signal}");
        drop(stdin);
    }
}

#[test]
fn a_folder_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let mut command = waymark(&["--data", data, "--content", "-"]);
    let mut running = Running::start(command.args(ANY_PORTS).stdin(Stdio::piped()));
    let stdin = running.child.0.stdin.take();
    running.lines_to("site ");
    let second = [&["--once", "--data", data], &ANY_PORTS[..]].concat();
    let (status, _, errors) = run(&second);
    assert_eq!(status, Some(2));
    assert_eq!(
        errors,
        format!("waymark: {data}: another `waymark` uses it\n")
    );
    running.signal("TERM");
    let (status, _, errors) = running.end();
    assert_eq!(status.code(), Some(0), "{errors}");
    drop(stdin);
    let (status, _, errors) = run(&second);
    assert_eq!(status, Some(0), "{errors}");
}

#[test]
fn the_first_run_says_that_the_samples_mistakes_are_meant() {
    let mut command = waymark(&["--once"]);
    let (status, out, errors) =
        Running::start(command.args(ANY_PORTS).env("RUST_LOG", "info")).end();
    assert_eq!(status.code(), Some(0), "{errors}");
    let meant = errors
        .find("the sample site has mistakes on purpose")
        .unwrap();
    assert!(meant < errors.find("the sample site:").unwrap(), "{errors}");
    assert!(!errors.contains('\u{1b}'), "ANSI codes in a pipe: {errors}");
    let count = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert!(
        out.contains(&format!("loaded {} records\n", count("records"))),
        "{out}"
    );
    assert_eq!(count("malformed lines"), "0");
}

/// Returns content of two sites with all that can be wrong with a line.
fn content() -> String {
    let page = |id: &str, url: &str, more: &str| {
        format!(r#"{{"id": "{id}", "type": "post", "url": "{url}"{more}}}"#)
    };
    [
        page("a", "https://www.a.example/a", ""),
        page("b", "https://www.b.example:8443/b", ""),
        page(
            r"\u001b[2Jx\nfake: listed",
            "https://www.a.example/draft",
            r#", "status": "draft""#,
        ),
        page("relative", "/rel", ""),
        page("a", "https://www.a.example/again", ""),
        r#"{"id": "c", oops}"#.to_owned(),
        format!(
            r#"{{"id": "long", "title": "{}"}}"#,
            "x".repeat(4 * 1024 * 1024)
        ),
        page(
            "big",
            "https://www.a.example/big",
            &format!(r#", "x": "{}""#, "x".repeat(410_000)),
        ),
    ]
    .join("\n")
}

#[test]
fn content_that_is_not_json_lines_is_told_how_to_become_records() {
    let mut command = waymark(&["--content", "-", "--once"]);
    command.args(ANY_PORTS).stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"url\nhttps://www.example.com/\n").unwrap();
    drop(stdin);
    let output = child.output_in_time();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("nothing was loaded: -: not JSON Lines")
            && errors.contains("waymark serve --content -`"),
        "{errors}"
    );
    assert_eq!(output.status.code(), Some(1), "{errors}");
}

#[test]
fn what_is_wrong_with_content_is_said_and_the_sites_are_reached_by_name() {
    let mut command = waymark(&["--content", "-"]);
    command
        .args(ANY_PORTS)
        .env("RUST_LOG", "warn,ingest=debug,regenerate=debug,store=debug");
    let mut running = Running::start(command.stdin(Stdio::piped()));
    let mut stdin = running.child.0.stdin.take().unwrap();
    stdin.write_all(content().as_bytes()).unwrap();
    drop(stdin);
    let lines = running.lines_to("change a record");
    let [dynamodb, s3, site] = [0, 1, 2].map(|n| port_of(&lines[n]));
    let printed = lines.join("\n");
    assert_eq!(
        lines[3],
        "loaded 4 records; 1 line was replaced by a later one with the same id; 3 malformed lines were not loaded"
    );
    let expected = [
        format!("ready http://127.0.0.1:{site}/"),
        format!("  www.a.example http://www.a.example.localhost:{site}/sitemap_index.xml"),
        format!(
            "  www.b.example:8443 http://www.b.example.8443.localhost:{site}/sitemap_index.xml"
        ),
        "left out 2:".to_owned(),
    ];
    assert_eq!(lines[4..8], expected, "{printed}");
    assert!(
        printed.contains("\n  \\u{1b}[2Jx\\nfake: listed: not_published: "),
        "{printed}"
    );
    assert!(!printed.contains('\u{1b}'), "{printed}");

    // The sites: by their names, and as a page.
    let local = format!("127.0.0.1:{site}");
    let (status, page) = get(&site, &local, "/");
    assert!(status.contains("200"), "{status}");
    for link in ["www.a.example.localhost", "www.b.example.8443.localhost"] {
        assert!(
            page.contains(&format!(
                "<a href=\"http://{link}:{site}/sitemap_index.xml\">"
            )),
            "{page}"
        );
        let (status, index) = get(&site, &format!("{link}:{site}"), "/sitemap_index.xml");
        assert!(status.contains("200"), "{status}");
        assert!(index.contains("/post-sitemap.xml"), "{index}");
    }
    // What is the function's stays the function's.
    for (host, path) in [
        ("www.a.example", "/"),
        (local.as_str(), "/sitemap_index.xml"),
    ] {
        assert!(get(&site, host, path).0.contains("404"), "{host}{path}");
    }

    let ports = ["--dynamodb-port", &dynamodb, "--s3-port", &s3];
    let asked = |arguments: &[&str]| run(&[arguments, &ports].concat());
    let (status, out, _) = asked(&["explain", "https://www.a.example/nowhere"]);
    assert_eq!(
        (status, out.as_str()),
        (Some(1), "no record has this address or this id")
    );
    let (status, out, _) = asked(&["explain", "\u{1b}[2Jx\nfake: listed"]);
    assert_eq!(status, Some(0));
    assert!(
        out.starts_with("\\u{1b}[2Jx\\nfake: listed: left out, not_published: "),
        "{out}"
    );
    let (status, out, _) = asked(&["explain", &"x".repeat(3_000)]);
    assert_eq!(status, Some(1), "{out}");
    let (status, out, _) = asked(&["status", "--left-out"]);
    assert_eq!(status, Some(0));
    for line in [
        "www.a.example: live\n",
        "left out: 2\n",
        "  not_published: 1\n    \\u{1b}[2Jx\\nfake: listed: ",
    ] {
        assert!(out.contains(line), "{line:?} in {out}");
    }
    let (status, out, errors) = asked(&["audit"]);
    assert_eq!(
        (status, out.as_str()),
        (Some(0), "everything is as it should be"),
        "{errors}"
    );
    // A sitemap that is lost is found, and repaired.
    let lost = "published/www.a.example/post-sitemap.xml";
    let path = format!("/waymark-sitemaps/{lost}");
    let (status, _) = answer("DELETE", &s3, &format!("127.0.0.1:{s3}"), &path);
    assert!(status.contains("204"), "{status}");
    let found = format!("object_lost {lost}: it is missing");
    let expected = [
        (&["audit"][..], Some(1), [&found, "wrong: object_lost 1"]),
        (
            &["audit", "--repair"],
            Some(0),
            [
                &found,
                "repaired: object_lost 1\neverything is as it should be",
            ],
        ),
        (&["audit"], Some(0), ["everything is as it should be", ""]),
    ];
    for (command, status, said) in expected {
        let (ended, out, errors) = asked(command);
        let said = said.join("\n");
        assert_eq!(
            (ended, out.as_str()),
            (status, said.trim_end()),
            "{command:?}: {errors}"
        );
    }
    // Something else where S3 should be.
    let (status, _, errors) = run(&[
        "status",
        "--dynamodb-port",
        &dynamodb,
        "--s3-port",
        &dynamodb,
    ]);
    assert_eq!(status, Some(2));
    assert!(
        errors.contains("it is not the S3 of a local stack"),
        "{errors}"
    );

    running.signal("TERM");
    let (status, _, errors) = running.end();
    assert_eq!(status.code(), Some(0), "{errors}");
    assert!(!errors.contains('\u{1b}'), "{errors}");
    for problem in [
        "-:4: url: \"/rel\": not an absolute URL\n",
        "-:6: not JSON, at column 13: key must be a string\n",
        "-:7: the line is longer than 4 MiB; DynamoDB takes records of at most 400 KB\n",
        "-:8: record \"big\" is larger than DynamoDB's 400 KB\n",
    ] {
        assert!(errors.contains(problem), "{problem:?} in {errors}");
    }
}
