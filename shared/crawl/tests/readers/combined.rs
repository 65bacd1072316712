//! Combined logs.

use std::net::IpAddr;

use crawl::forms::{Form, Unread};
use crawl::request::Request;

/// The time of the lines, [27/Nov/2026:23:42:03 +0000].
const TIME: i64 = 1_795_822_923;

fn read(line: &[u8]) -> Result<Option<Request<'static>>, Unread> {
    let mut reader = Form::Combined.reader();
    let request = reader.read(line)?;
    Ok(request.map(owned))
}

/// Copies a request, so that it outlives its reader.
pub(crate) fn owned(request: Request<'_>) -> Request<'static> {
    Request {
        method: request.method.into_owned().into(),
        host: request.host.map(|host| host.into_owned().into()),
        target: request.target.into_owned().into(),
        agent: request.agent.map(|agent| agent.into_owned().into()),
        ..request_of(request.time, request.client, request.is_cut, request.status)
    }
}

fn request_of(time: i64, client: Option<IpAddr>, is_cut: bool, status: u16) -> Request<'static> {
    Request {
        time,
        client,
        is_cut,
        status,
        ..Request::default()
    }
}

fn request(line: &str) -> Request<'static> {
    read(line.as_bytes()).expect(line).expect("a request")
}

fn loopback() -> Option<IpAddr> {
    Some("::1".parse().expect("an address"))
}

fn agent(request: &Request<'_>) -> String {
    String::from_utf8_lossy(request.agent.as_deref().expect("an agent")).into_owned()
}

#[test]
fn each_server_escapes_in_its_way() {
    for line in [
        // nginx, Apache, Varnish, lighttpd: the same request.
        r#"::1 - - [27/Nov/2026:23:42:03 +0000] "GET /caf%C3%A9?q=a%20b&x=%22y%22 HTTP/1.1" 200 5 "http://r/\x09x" "My\x22Bot\x5C1.0 \xC3\xA9""#,
        r#"::1 - - [27/Nov/2026:23:42:03 +0000] "GET /caf%C3%A9?q=a%20b&x=%22y%22 HTTP/1.1" 200 250 "http://r/\tx" "My\"Bot\\1.0 \xc3\xa9""#,
        r#"::1 localhost:1 - [27/Nov/2026:23:42:03 +0000] "GET /caf%C3%A9?q=a%20b&x=%22y%22 HTTP/1.1" 200 5 "http://r/\tx" "My\"Bot\\1.0 \xC3\xA9""#,
    ] {
        let request = request(line);
        assert_eq!(request.time, TIME);
        assert_eq!(request.client, loopback());
        assert_eq!(*request.method, *b"GET");
        assert_eq!(*request.target, *b"/caf%C3%A9?q=a%20b&x=%22y%22");
        assert_eq!(request.status, 200);
        assert_eq!(agent(&request), "My\"Bot\\1.0 \u{e9}");
        let host = request.host.as_deref();
        assert_eq!(
            host,
            line.contains(" localhost:1 ")
                .then_some(&b"localhost:1"[..])
        );
    }
}

#[test]
fn what_is_raw_in_a_target_stays() {
    for (asked, target) in [
        (r"/\xC3\xA9", "/\u{e9}"),
        ("/a b", "/a b"),
        ("//index.html#frag", "//index.html#frag"),
        ("http://other.example/x?y", "http://other.example/x?y"),
        (r"/tail\\", r"/tail\"),
        (r"/un\known\xZZ\x4", r"/un\known\xZZ\x4"),
    ] {
        for protocol in [" HTTP/1.1", " HTTP/2.0", ""] {
            let line = format!(
                r#"192.0.2.1 - - [27/Nov/2026:23:42:03 +0000] "GET {asked}{protocol}" 200 5 "-" "a""#
            );
            assert_eq!(*request(&line).target, *target.as_bytes(), "{line}");
        }
    }
}

#[test]
fn a_missing_agent_is_none_and_an_empty_one_is_empty() {
    let with = |rest: &str| {
        let line =
            format!(r#"192.0.2.1 - - [27/Nov/2026:23:42:03 +0000] "GET / HTTP/1.1" 304{rest}"#);
        request(&line).agent.map(|agent| agent.into_owned())
    };
    assert_eq!(with(r#" 0 "-" "-""#), None);
    assert_eq!(with(r#" 0 "-" """#), Some(Vec::new()));
    assert_eq!(with(" 0"), None, "a common log");
    assert_eq!(with(""), None);
    let more = r#" - "-" "a" 12 "router@docker" "http://10.0.0.1:80" 3ms"#;
    assert_eq!(with(more), Some(b"a".to_vec()), "Traefik's");
}

#[test]
fn a_user_may_have_blanks_and_brackets() {
    for user in ["a b", "a [b", "[27/Nov/2026] x", "é"] {
        let line = format!(
            r#"192.0.2.1 - {user} [27/Nov/2026:23:42:03 +0000] "GET / HTTP/1.1" 200 5 "-" "a""#
        );
        let request = request(&line);
        assert_eq!((request.time, request.status), (TIME, 200), "{line}");
    }
}

#[test]
fn a_host_in_front_is_one() {
    let tail = r#" - - [27/Nov/2026:23:42:03 +0000] "GET / HTTP/1.1" 200 5 "-" "a""#;
    for (front, host, client) in [
        (
            "www.example.com:443 ::1",
            Some("www.example.com:443"),
            Some("::1"),
        ),
        (
            "example.com 192.0.2.7",
            Some("example.com"),
            Some("192.0.2.7"),
        ),
        ("192.0.2.7", None, Some("192.0.2.7")),
        ("[2001:db8::1]", None, Some("2001:db8::1")),
        ("::ffff:192.0.2.7", None, Some("192.0.2.7")),
        ("fe80::1%eth0", None, Some("fe80::1")),
        ("crawl-1.bot.example", None, None),
        ("unix:", None, None),
        ("-", None, None),
        ("1.2.3.400", None, None),
        ("1.2.3", None, None),
    ] {
        let line = format!("{front}{tail}");
        let request = request(&line);
        assert_eq!(request.host.as_deref(), host.map(str::as_bytes), "{line}");
        let client = client.map(|client| client.parse().expect("an address"));
        assert_eq!(request.client, client, "{line}");
    }
}

#[test]
fn varnish_cuts_a_long_target() {
    for (bytes, is_cut) in [(253, false), (254, true), (255, false)] {
        let path = format!("/{}", "a".repeat(bytes - 1));
        let line = format!(
            r#"::1 - - [27/Nov/2026:23:42:03 +0000] "GET http://localhost:1{path} HTTP/1.1" 200 5 "-" "a""#
        );
        assert_eq!(request(&line).is_cut, is_cut, "{bytes}");
        let line = line.replace("http://localhost:1", "");
        assert!(!request(&line).is_cut, "another server's");
    }
}

#[test]
fn offsets_and_calendars_are_counted() {
    for (time, seconds) in [
        ("27/Nov/2026:23:42:03 +0000", Some(TIME)),
        ("28/Nov/2026:01:42:03 +0200", Some(TIME)),
        ("27/Nov/2026:20:12:03 -0330", Some(TIME)),
        ("27/Nov/2026:23:42:03.578 +0000", Some(TIME)),
        ("29/Feb/2028:00:00:00 +0000", Some(1_835_395_200)),
        ("01/Jan/1970:00:00:00 +0000", Some(0)),
        ("31/Dec/2016:23:59:60 +0000", Some(1_483_228_800)),
        ("29/Feb/2027:00:00:00 +0000", None),
        ("31/Apr/2026:00:00:00 +0000", None),
        ("00/Nov/2026:23:42:03 +0000", None),
        ("27/nov/2026:23:42:03 +0000", None),
        ("27/Nov/2026:24:42:03 +0000", None),
        ("27/Nov/2026:23:42:03", None),
        ("27/Nov/2026:23:42:03 UTC", None),
        ("27/Nov/2026:23:42:03 +9900", None),
        ("27/Nov/1926:23:42:03 +0000", None),
        ("", None),
    ] {
        let line = format!(r#"192.0.2.1 - - [{time}] "GET / HTTP/1.1" 200 5 "-" "a""#);
        let read = read(line.as_bytes()).map(|request| request.expect("a request").time);
        assert_eq!(read, seconds.ok_or(Unread::Time), "{time}");
    }
}

#[test]
fn what_is_no_request_says_why() {
    let line = |rest: &str| format!("192.0.2.1 - - [27/Nov/2026:23:42:03 +0000] {rest}");
    for (rest, why) in [
        (r#""-" 408 0 "-" "-""#, Unread::NoRequest),
        (r#""" 400 0 "-" "-""#, Unread::NoRequest),
        (
            r#""- http://localhost HTTP/1.0" 400 0 "-" "-""#,
            Unread::NoRequest,
        ),
        (
            r#""\x16\x03\x01\x00\x05hello" 400 150 "-" "-""#,
            Unread::NotHttp,
        ),
        (r#""  " 400 150 "-" "-""#, Unread::NotHttp),
        (r#""GET  HTTP/1.1" 400 150 "-" "-""#, Unread::NotHttp),
        (r#""FOO / HTTP/1.1" - - "-" "-""#, Unread::Status),
        (r#""GET / HTTP/1.1" 20 5 "-" "-""#, Unread::Status),
        (r#""GET / HTTP/1.1" 2000 5 "-" "-""#, Unread::Status),
        (r#""GET / HTTP/1.1" "#, Unread::Status),
        (r#""GET / HTTP/1.1""#, Unread::Shape),
        (r#""GET / HT"#, Unread::Cut),
        (r#""GET /\"#, Unread::Cut),
        (r#""GET / HTTP/1.1" 200 5 "-"#, Unread::Cut),
        (r#""GET / HTTP/1.1" 200 5 "-" "Mozi"#, Unread::Cut),
        ("GET / HTTP/1.1 200", Unread::Shape),
        ("", Unread::Shape),
    ] {
        assert_eq!(read(line(rest).as_bytes()), Err(why), "{rest}");
    }
    assert_eq!(read(b"nothing of the kind"), Err(Unread::Shape));
    assert_eq!(read(b"# a comment"), Ok(None));
    assert_eq!(read(b""), Ok(None));
}
