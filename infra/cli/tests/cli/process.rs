//! The command as a process: what its environment may name, and with which status it ends.
//!
//! Every process here runs with each variable that may name a proxy, and no proxy is there.

#![cfg(feature = "serve")]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longer than any of these processes takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// Nothing listens there: 9 is "discard".
const NO_PROXY_THERE: &str = "http://127.0.0.1:9";
const PROXIES: [&str; 6] = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

use crate::double::{Double, REGION, members};

const MAPPING: &str = r#"{"key": [{"pk": "S"}], "fields": {"type": "type", "url": "url"}}"#;
const RECORD: &str =
    r#"{"id": "a", "type": "post", "url": "https://www.example.com/a", "status": "published"}"#;

/// A process that is ended with its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn waymark(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
    command.args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("NO_PROXY").env_remove("no_proxy");
    command.envs(PROXIES.map(|name| (name, NO_PROXY_THERE)));
    command
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(from).lines().map_while(Result::ok);
        for line in lines {
            // Read to the end even if nobody listens any more: the process would end with its pipe.
            drop(sender.send(line));
        }
    });
    receiver
}

/// Waits for the end of a process: its status, and what it wrote.
fn ended(mut command: Command) -> (ExitStatus, String, String) {
    let mut process = Process(command.spawn().expect("it starts"));
    let out = lines(process.0.stdout.take().expect("piped"));
    let err = lines(process.0.stderr.take().expect("piped"));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = process.0.try_wait().expect("a process of ours") {
            break status;
        }
        assert!(Instant::now() < deadline, "{command:?} does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    let all = |lines: Receiver<String>| lines.iter().collect::<Vec<_>>().join("\n");
    (status, all(out), all(err))
}

/// Starts a stack, and returns it with its ports: DynamoDB's and S3's.
fn serve(arguments: &[&str]) -> (Process, [String; 2]) {
    let mut command = waymark(&["serve"]);
    command.args(["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"]);
    command.args(arguments);
    let (process, ports, _) = serving(command);
    (process, ports)
}

/// Starts a stack, and returns it with its ports and what it writes to stderr.
fn serving(mut command: Command) -> (Process, [String; 2], Receiver<String>) {
    let mut process = Process(command.spawn().expect("it starts"));
    let out = lines(process.0.stdout.take().expect("piped"));
    let err = lines(process.0.stderr.take().expect("piped"));
    let deadline = Instant::now() + PATIENCE;
    let mut ports = ["dynamodb", "s3"].map(|name| (name, String::new()));
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(line) = out.recv_timeout(left) else {
            panic!("it is not ready: {:?}", err.try_iter().collect::<Vec<_>>());
        };
        for (name, port) in &mut ports {
            if let Some((first, number)) = line.rsplit_once(':')
                && first.starts_with(&format!("{name} http"))
            {
                *port = number.to_owned();
            }
        }
        if line.starts_with("ready ") {
            return (process, ports.map(|(_, port)| port), err);
        }
    }
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path.to_str().expect("text").to_owned()
}

#[test]
fn a_first_run_uses_no_proxy() {
    let ports = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"];
    let (status, out, err) = ended(waymark(&[&["--once"], ports.as_slice()].concat()));
    assert!(status.success() && out.contains("ready "), "{out}\n{err}");
}

#[test]
fn a_command_that_does_not_read_what_the_stack_reads_ends_with_2_and_says_what_to_give_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name, text| file(folder.path(), name, text);
    let content = file("content.jsonl", RECORD);
    let mapping = file("mapping.json", MAPPING);
    let changed = MAPPING.replace(r#""type": "type""#, r#""type": {"constant": "post"}"#);
    let changed = file("changed.json", &changed);
    let table = |mapping| ["--source-table", "magazine", "--source-mapping", mapping];
    let (_stack, [dynamodb, s3]) =
        serve(&[["--content", &content].as_slice(), &table(&mapping)].concat());
    let ports = ["--dynamodb-port", &dynamodb, "--s3-port", &s3];
    let run = |command: &[&str], source: &[&str]| {
        let arguments = [command, ports.as_slice(), source].concat();
        ended(waymark(&arguments))
    };
    for command in [&["audit"][..], &["audit", "--repair"], &["explain", "a"]] {
        let (status, out, err) = run(command, &table(&mapping));
        assert_eq!(status.code(), Some(0), "{command:?}: {out}\n{err}");
        for (source, said) in [
            (&[][..], "which this command was not given"),
            (&table(&changed)[..], "by a different mapping"),
        ] {
            let (status, out, err) = run(command, source);
            assert_eq!(
                status.code(),
                Some(2),
                "{command:?} {source:?}: {out}\n{err}"
            );
            assert_eq!(out, "");
            for said in ["www.example.com: ", said, "--source-mapping"] {
                assert!(err.contains(said), "{said:?} in {err:?}");
            }
        }
    }
    // As a deployment, whose environment says where everything is.
    for (table, mapping, expected) in [("magazine", MAPPING, 0), ("", "", 2)] {
        let mut command = waymark(&["audit", "--deployment"]);
        command.envs([
            ("CONTENT_TABLE", aws::local_stack::CONTENT_TABLE),
            ("SITEMAP_TABLE", aws::local_stack::SITEMAP_TABLE),
            ("BUCKET_NAME", aws::local_stack::BUCKET),
            ("SITES", "*"),
            ("SOURCE_TABLE", table),
            ("SOURCE_MAPPING", mapping),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_REGION", "us-east-1"),
        ]);
        for (service, port) in [("DYNAMODB", &dynamodb), ("S3", &s3)] {
            let name = format!("AWS_ENDPOINT_URL_{service}");
            command.env(name, format!("http://127.0.0.1:{port}"));
        }
        let (status, out, err) = ended(command);
        assert_eq!(status.code(), Some(expected), "{table:?}: {out}\n{err}");
    }
}

#[test]
fn a_folder_for_state_may_have_a_file_called_lock_and_an_empty_object() {
    let folder = tempfile::tempdir().expect("a folder");
    let content = file(folder.path(), "content.jsonl", RECORD);
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("made");
    std::fs::write(data.join("lock"), "mine").expect("written");
    let data_option = ["--data", data.to_str().expect("text")];
    let ports = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"];
    let once = [&["--once", "--content", &content], &data_option[..], &ports].concat();
    let (status, out, err) = ended(waymark(&once));
    assert!(status.success(), "{out}\n{err}");
    assert_eq!(std::fs::read(data.join("lock")).expect("read"), b"mine");

    let bucket = data.join("s3").join(aws::local_stack::BUCKET);
    let objects = std::fs::read_dir(&bucket).expect("a bucket");
    let objects = objects.map(|entry| entry.expect("an entry").path());
    let objects: Vec<PathBuf> = objects.collect();
    let object = |name: &str| {
        let found = objects.iter().find(|path| {
            let bytes = std::fs::read(path).expect("read");
            String::from_utf8_lossy(&bytes).contains(name)
        });
        found.expect("an object").clone()
    };
    let (lost, folder) = (object("post-sitemap.xml"), object("/robots.txt\""));
    std::fs::write(&lost, "").expect("emptied");
    std::fs::remove_file(&folder).expect("removed");
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("notes.txt"), "mine\n").expect("written");
    let link = bucket.join("link");
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", &link).expect("linked");
    let large = bucket.join("large");
    std::fs::File::create(&large)
        .and_then(|file| file.set_len(1 << 34))
        .expect("a sparse file");
    std::fs::write(bucket.join("notes.txt"), "mine\n").expect("written");
    std::fs::write(bucket.with_file_name("notes.txt"), "mine\n").expect("written");
    let mut command = waymark(&["serve"]);
    command.args(ports).args(data_option);
    let (stack, [dynamodb, s3], err) = serving(command);
    let repair = [
        "audit",
        "--repair",
        "--dynamodb-port",
        &dynamodb,
        "--s3-port",
        &s3,
    ];
    let line = |file: &Path, why: &str| {
        let file = file.display();
        let repair = repair.join(" ");
        format!(
            "waymark: {file}: not an object of S3, so it is skipped: {why}. If an object is missing, `waymark \
             {repair}` publishes it again"
        )
    };
    let mut expected = [
        line(&lost, "it is empty"),
        line(&folder, "it is no file"),
        line(&link, "it is no file"),
        line(&large, "it is larger than 512 MiB"),
        line(
            &bucket.with_file_name("notes.txt"),
            "it is no bucket's folder",
        ),
        line(
            &bucket.join("notes.txt"),
            "its first line describes no object",
        ),
    ];
    let told = (0..expected.len()).map(|_| err.recv_timeout(PATIENCE));
    let mut told: Vec<String> = told.map(|line| line.expect("a line")).collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
    // The stream's oldest records, which the new process reads again, may have repaired it already.
    let (status, out, err) = ended(waymark(&repair));
    assert!([Some(0), Some(1)].contains(&status.code()), "{out}\n{err}");
    let (status, out, err) = ended(waymark(&repair));
    assert_eq!(status.code(), Some(0), "{out}\n{err}");
    // What was in an object's place is beside it now.
    let aside = folder.with_extension("aside-1").join("notes.txt");
    assert_eq!(std::fs::read(aside).expect("read"), b"mine\n");
    assert!(folder.is_file());
    drop(stack);
    assert_ne!(std::fs::read(&lost).expect("read"), b"");
    let (status, out, err) = ended(waymark(&once));
    assert!(status.success(), "{out}\n{err}");
    assert!(!err.contains("it is empty"), "{err}");
}

/// Parses the command's JSON.
fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn every_verb_has_json_and_a_stack_is_looked_at_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let content = file(folder.path(), "content.jsonl", RECORD);
    let (_stack, [dynamodb, s3]) = serve(&["--content", &content]);
    let outputs = [
        ("ContentTableName", aws::local_stack::CONTENT_TABLE),
        ("SitemapTableName", aws::local_stack::SITEMAP_TABLE),
        ("SitemapBucketName", aws::local_stack::BUCKET),
        ("FailureBucketName", aws::local_stack::BUCKET),
        ("Version", env!("CARGO_PKG_VERSION")),
        ("DistributionId", "E1EXAMPLE"),
    ];
    let parameters = [
        ("Sites", "www.example.com"),
        ("SourceTable", ""),
        ("SourceMapping", ""),
    ];
    let pairs = members("Output", &outputs) + &members("Parameter", &parameters);
    let double = Double::start(vec![("prod", "UPDATE_COMPLETE", pairs)]);
    let run = |arguments: &[&str]| {
        let mut command = waymark(&[arguments, &["--stack", "prod", "--region", REGION]].concat());
        command.envs([
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_ENDPOINT_URL_CLOUDFORMATION", double.url.as_str()),
            ("AWS_ENDPOINT_URL_CLOUDFRONT", double.url.as_str()),
        ]);
        for (service, port) in [("DYNAMODB", &dynamodb), ("S3", &s3)] {
            let name = format!("AWS_ENDPOINT_URL_{service}");
            command.env(name, format!("http://127.0.0.1:{port}"));
        }
        let (status, out, err) = ended(command);
        assert_eq!(
            (status.code(), err.as_str()),
            (Some(0), ""),
            "{arguments:?}: {out}"
        );
        assert_eq!(double.asked().len(), 1, "one call finds a stack");
        out
    };
    let version = env!("CARGO_PKG_VERSION");
    let told = run(&[
        "status",
        "--site",
        "WWW.example.com",
        "--fail-on",
        "problems",
    ]);
    assert!(
        told.starts_with("www.example.com: live\n  1 sitemap with 1 URL, last published at "),
        "{told}"
    );
    let rest = format!(
        "\nbackground: idle\nfailures waiting: 0\nstack prod in {REGION}: {version}; this command: {version}"
    );
    assert!(told.ends_with(&rest), "{told}");
    let coloured = run(&["status", "--color", "always"]);
    assert!(
        coloured.starts_with("\u{1b}[32mwww.example.com: live\u{1b}[0m\n"),
        "{coloured:?}"
    );
    let mut status = json(&run(&[
        "status",
        "--left-out",
        "--json",
        "--color",
        "always",
    ]));
    for (place, name) in [("", "at"), ("/sites/0", "last_published")] {
        let at = status.pointer_mut(place).map(|object| object[name].take());
        assert!(at.is_some_and(|at| at.is_string()), "{name}: {status}");
    }
    let version = env!("CARGO_PKG_VERSION");
    let expected = serde_json::json!({
        "version": version,
        "stack": {"name": "prod", "region": REGION, "status": "UPDATE_COMPLETE", "version": version},
        "at": null,
        "sites": [{
            "host": "www.example.com",
            "state": "live",
            "sitemaps": 1,
            "others": 0,
            "urls": 1,
            "last_published": null,
            "next_by_clock": null,
            "publication": null,
            "problems": [],
            "indexnow": null,
        }],
        "idle": true,
        "content_scan": null,
        "site_scans": [],
        "more_site_scans": false,
        "more_are_due": false,
        "failures_waiting": 0,
        "until": null,
        "left_out": {"listed": 1, "parts": 0, "reasons": {}, "incomplete": {"count": 0, "examples": {}}},
    });
    assert_eq!(status, expected);
    // What the tables list, and what is served: here a file, once as it should be and once with another page.
    let served = |path: &str| {
        let text = format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>https://www.example.com/{path}</loc></url></urlset>"
        );
        file(folder.path(), "served.xml", &text)
    };
    let same = served("a");
    assert_eq!(
        run(&["diff", &same]),
        "1 the same, 0 gone, 0 new, 0 changed"
    );
    let other = ["diff", &served("b"), "--max-removed", "1", "--json"];
    let compared = json(&run(&other));
    assert_eq!(compared["a"], "the tables of www.example.com");
    let changes = serde_json::json!([
        {"change": "gone", "loc": "https://www.example.com/a", "sitemap_a": "published/www.example.com/post-sitemap.xml"},
        {"change": "new", "loc": "https://www.example.com/b", "sitemap_b": same},
    ]);
    assert_eq!(compared["changes"], changes);
    let explained = json(&run(&["explain", "a", "--json"]));
    assert_eq!(explained["known"], true);
    assert_eq!(explained["pages"][0]["state"], "listed");
    let entry = serde_json::json!({"sitemap": "post-sitemap.xml", "position": 0});
    assert_eq!(explained["pages"][0]["entries"], serde_json::json!([entry]));
    let summary = serde_json::json!({"ok": true, "wrong": {}, "repaired": {}, "findings": []});
    assert_eq!(json(&run(&["audit", "--json"])), summary);
    let line = "{\"ok\":true,\"wrong\":{},\"repaired\":{}}";
    assert_eq!(run(&["audit", "--jsonl"]), line);
    assert_eq!(run(&["audit", "--repair", "--jsonl"]), line);
    let redriven = serde_json::json!({"left": 0, "objects": []});
    assert_eq!(json(&run(&["redrive", "--json"])), redriven);
    assert_eq!(run(&["redrive", "--jsonl"]), "{\"left\":0}");
    let only = ["audit", "--only", "object_lost", "--only", "row_lost"];
    assert_eq!(run(&only), "found no object_lost, row_lost");

    let purge = ["purge", "--site", "www.example.com"];
    let mut purged = serde_json::json!({
        "site": "www.example.com",
        "distribution": "E1EXAMPLE",
        "paths": ["#site:www.example.com"],
        "counted_paths": 1,
        "invalidation": null,
        "status": null,
        "waited_seconds": null,
    });
    assert_eq!(
        json(&run(&[&purge[..], &["--dry-run", "--json"]].concat())),
        purged
    );
    assert_eq!(double.purged(), []);
    let yours = [&purge[..], &["--json", "--distribution", "E2YOURS"]].concat();
    assert_eq!(json(&run(&yours))["distribution"], "E2YOURS");
    let (request, _) = &double.purged()[0];
    assert_eq!(
        request,
        "POST /2020-05-31/distribution/E2YOURS/invalidation"
    );
    purged["invalidation"] = "I1EXAMPLE".into();
    purged["status"] = "InProgress".into();
    assert_eq!(json(&run(&[&purge[..], &["--json"]].concat())), purged);
    let asked = double.purged();
    let (request, body) = &asked[0];
    assert_eq!(
        request,
        "POST /2020-05-31/distribution/E1EXAMPLE/invalidation"
    );
    assert!(
        body.contains("<Quantity>1</Quantity><Items><Path>#site:www.example.com</Path></Items>"),
        "{body}"
    );
    let printed = run(&[&purge[..], &["--wait"]].concat());
    assert_eq!(double.purged().len(), 2, "asked for, and looked at once");
    let lines: Vec<&str> = printed.lines().collect();
    let page = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli/purge.md"),
    );
    let page = page.expect("its page");
    for line in &lines[..3] {
        assert!(page.contains(&format!("    {line}\n")), "{line} in {page}");
    }
    assert!(lines[3].starts_with("done after "), "{printed}");
}

#[test]
fn a_script_waits_for_what_it_has_written_and_a_list_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let content = file(folder.path(), "content.jsonl", RECORD);
    let (_stack, [dynamodb, s3]) = serve(&["--content", &content]);
    let ports = ["--dynamodb-port", &dynamodb, "--s3-port", &s3];
    // A slow machine is told meanwhile what is waited for.
    let run = |arguments: &[&str]| {
        let (status, out, err) = ended(waymark(&[arguments, &ports].concat()));
        (status.code(), out, err)
    };
    let more = RECORD.replace("\"a\"", "\"b\"").replace(".com/a", ".com/b");
    let more = file(folder.path(), "more.jsonl", &more);
    assert_eq!(run(&["load", &more]).0, Some(0));
    let (status, out, err) = run(&[
        "status",
        "--until",
        "published",
        "--json",
        "--site",
        "www.example.com",
    ]);
    assert_eq!(status, Some(0), "{err}");
    let found = json(&out);
    assert_eq!(
        (
            &found["sites"][0]["urls"],
            &found["until"]["goal"],
            &found["until"]["reached"]
        ),
        (&2.into(), &"published".into(), &true.into())
    );
    assert_eq!(
        (&found["until"]["left"], &found["until"]["left_count"]),
        (&serde_json::json!([]), &0.into())
    );
    let (status, out, err) = run(&["status", "--until", "idle"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("\nidle after "), "{out}");
    let (status, out, err) = run(&[
        "status",
        "--until",
        "published",
        "--site",
        "www.other.example",
        "--timeout",
        "1s",
    ]);
    assert_eq!(status, Some(1), "{err}");
    assert!(
        out.contains("not published after ")
            && out.ends_with("Left:\n  www.other.example: it is not known as a site"),
        "{out}"
    );
    let (status, out, err) = run(&["status", "--site", "www.other.example"]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    assert!(
        err.starts_with("waymark: there is no site www.other.example here: "),
        "{err}"
    );
    let (status, out, _) = run(&["status", "--count"]);
    assert_eq!(status, Some(0));
    assert!(
        out.ends_with("\nlisted: 2 pages, 0 further parts\nleft out: 0"),
        "{out}"
    );

    let list = "Url,Last crawled\nhttps://www.example.com/b,2026-11-01\nhttps://,2026\nhttps://www.example.com/no,\n";
    let list = file(folder.path(), "Table.csv", list);
    let (status, out, err) = run(&["explain", "--from", &list]);
    let lines = [
        "listed         https://www.example.com/b  post-sitemap.xml",
        "unknown        https://www.example.com/no  no record has this address or this id",
    ];
    assert_eq!((status, out.as_str()), (Some(1), &*lines.join("\n")));
    let counts = "1 listed, 0 left out, 0 not looked at, 1 unknown, 1 malformed";
    assert!(
        err.contains("Table.csv:3: ") && err.ends_with(counts),
        "{err}"
    );
    let (_, out, _) = run(&["explain", "--from", &list, "--format", "csv"]);
    let lines = [
        "asked,state,reason,detail,id,sitemap",
        "https://www.example.com/b,listed,,,b,post-sitemap.xml",
        "https://www.example.com/no,unknown,,no record has this address or this id,,",
    ];
    assert_eq!(out, lines.join("\n"));
    for form in [&["--format", "json"][..], &["--json"]] {
        let (status, out, _) = run(&[&["explain", "--from", &list], form].concat());
        assert_eq!(status, Some(1));
        let found = json(&out);
        assert_eq!(found["known"], false);
        assert_eq!(
            found["counts"],
            serde_json::json!({"listed": 1, "left_out": 0, "not_looked_at": 0, "unknown": 1, "malformed": 1})
        );
        assert_eq!(
            (
                &found["malformed"][0]["line"],
                &found["explained"][0]["pages"][0]["id"]
            ),
            (&3.into(), &"b".into())
        );
    }
    let (status, _, err) = run(&["audit", "--only", "nothing"]);
    assert_eq!(status, Some(2));
    assert!(
        err.contains("object_lost") && err.contains("row_stray"),
        "{err}"
    );
}

#[cfg(unix)]
#[test]
fn a_watch_prints_a_line_a_look_until_it_is_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let content = file(folder.path(), "content.jsonl", RECORD);
    let (_stack, [dynamodb, s3]) = serve(&["--content", &content]);
    let ports = ["--dynamodb-port", &dynamodb, "--s3-port", &s3];
    for form in [&[][..], &["--jsonl"]] {
        let mut command = waymark(&[&["status", "--watch=1s"], form, &ports].concat());
        let mut process = Process(command.spawn().expect("it starts"));
        let out = lines(process.0.stdout.take().expect("piped"));
        for _ in 0..2 {
            let line = out.recv_timeout(PATIENCE).expect("a look");
            match form {
                [] => assert!(
                    line.contains(" sites: 1 live; 1 sitemap, 1 URL; background: idle"),
                    "{line}"
                ),
                _ => assert_eq!(json(&line)["sites"][0]["urls"], 1),
            }
        }
        let kill = format!("kill -INT {}", process.0.id());
        let killed = Command::new("sh").args(["-c", &kill]).status();
        assert!(killed.expect("sh").success());
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = process.0.try_wait().expect("a process of ours") {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(status.code(), Some(0));
    }
    // One JSON document has no end here.
    let (status, _, err) = ended(waymark(
        &[&["status", "--watch", "--json"], &ports[..]].concat(),
    ));
    assert_eq!(status.code(), Some(2));
    assert!(err.contains("--jsonl"), "{err}");
}

#[test]
fn what_needs_no_stack_has_json_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, out, _) = ended(waymark(&["sample", "--json"]));
    assert!(
        status.success()
            && json(&out)
                .as_array()
                .is_some_and(|records| records.len() > 10)
    );
    let (status, out, _) = ended(waymark(&["completions", "bash", "--json"]));
    let completions = json(&out);
    assert!(status.success());
    assert_eq!(completions["shell"], "bash");
    assert!(
        completions["script"]
            .as_str()
            .is_some_and(|script| script.contains("complete "))
    );
    let (status, out, _) = ended(waymark(&["man", "--json"]));
    assert!(status.success());
    assert!(
        json(&out)["page"]
            .as_str()
            .is_some_and(|page| page.contains(".TH waymark 1")),
        "{out}"
    );
    let good = file(folder.path(), "good.json", MAPPING);
    let (status, out, _) = ended(waymark(&["mapping", &good, "--json"]));
    assert!(status.success());
    let checked = json(&out);
    assert_eq!(
        (&checked["valid"], &checked["problems"]),
        (&true.into(), &serde_json::json!([]))
    );
    let parameter = checked["parameter"].as_str().expect("a text");
    assert!(
        !parameter.contains(' ') && json(parameter) == json(MAPPING),
        "{parameter}"
    );
    let bad = file(folder.path(), "bad.json", "{}");
    let (status, out, err) = ended(waymark(&["mapping", &bad, "--json"]));
    assert_eq!((status.code(), err.as_str()), (Some(1), ""));
    let checked = json(&out);
    assert_eq!(
        (&checked["valid"], &checked["parameter"]),
        (&false.into(), &().into())
    );
    assert!(
        checked["problems"]
            .as_array()
            .is_some_and(|problems| !problems.is_empty())
    );
    let content = file(folder.path(), "content.jsonl", RECORD);
    let ports = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"];
    let (status, out, err) = ended(waymark(
        &[
            &["serve", "--once", "--json", "--content", &content],
            &ports[..],
        ]
        .concat(),
    ));
    assert!(status.success(), "{err}");
    let served = json(&out);
    assert_eq!(
        (&served["loaded"], &served["malformed"]),
        (&1.into(), &0.into())
    );
    assert_eq!(served["sites"][0]["host"], "www.example.com");
    let series = &served["report"]["series"][0];
    assert_eq!(
        (&series["series"], &series["entries"], &series["sitemaps"]),
        (&"post".into(), &1.into(), &1.into())
    );
}
