//! JSON logs.

use crawl::forms::{Form, Unread};
use crawl::request::Request;

use crate::combined::owned;

const CADDY: &str = r#"{"level":"info","ts":1795822917.3597422,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"::1","remote_port":"50712","proto":"HTTP/1.1","method":"GET","host":"localhost:1","uri":"/caf%C3%A9?q=a%20b","headers":{"User-Agent":["My\"Bot\\1.0 é"],"Referer":["http://r/\tx"]}},"user_id":"","duration":0.0046,"size":5,"status":200,"resp_headers":{"Server":["Caddy"]}}"#;

fn read(form: &Form, line: &str) -> Result<Request<'static>, Unread> {
    let mut reader = form.reader();
    let request = reader.read(line.as_bytes())?;
    Ok(owned(request.expect("a request")))
}

fn json(fields: &str, line: &str) -> Result<Request<'static>, Unread> {
    let form = if fields.is_empty() { "json" } else { fields };
    read(&Form::parse(form).expect(fields), line)
}

#[test]
fn caddy() {
    let request = read(&Form::Caddy, CADDY).expect("a request");
    assert_eq!(request.time, 1_795_822_917);
    assert_eq!(request.client, Some("::1".parse().expect("an address")));
    assert_eq!(*request.target, *b"/caf%C3%A9?q=a%20b");
    assert_eq!(request.host.as_deref(), Some(&b"localhost:1"[..]));
    assert_eq!((&*request.method, request.status), (&b"GET"[..], 200));
    assert_eq!(request.agent.as_deref(), Some("My\"Bot\\1.0 é".as_bytes()));
    assert_eq!(Form::detect(CADDY.as_bytes()), Ok(Form::Caddy));
}

#[test]
fn caddy_writes_errors_and_aborts() {
    let gone = CADDY.replace("\"status\":200", "\"status\":0");
    assert_eq!(
        read(&Form::Caddy, &gone).map(|request| request.status),
        Ok(0)
    );
    let error = CADDY
        .replace("\"info\"", "\"error\"")
        .replace("\"status\":200", "\"status\":404");
    assert_eq!(
        read(&Form::Caddy, &error).map(|request| request.status),
        Ok(404)
    );
    let bare = CADDY.replace(r#""User-Agent":["My\"Bot\\1.0 é"],"#, "");
    assert_eq!(
        read(&Form::Caddy, &bare).map(|request| request.agent),
        Ok(None)
    );
    let behind = CADDY.replace(
        "\"remote_port\"",
        "\"client_ip\":\"192.0.2.9\",\"remote_port\"",
    );
    let client = read(&Form::Caddy, &behind).expect("a request").client;
    assert_eq!(client, Some("192.0.2.9".parse().expect("an address")));
    let tail = CADDY.replace("q=a%20b", r"q=\\");
    assert_eq!(
        *read(&Form::Caddy, &tail).expect("a request").target,
        *br"/caf%C3%A9?q=\"
    );
    let other = r#"{"level":"info","ts":1795822917.3,"msg":"serving initial configuration"}"#;
    assert_eq!(read(&Form::Caddy, other), Err(Unread::NoTarget));
    for broken in [
        "{",
        "{}x",
        "[1]",
        "null",
        &CADDY[..100],
        &format!("{}{}", "{\"a\":".repeat(300), "1"),
    ] {
        assert_eq!(read(&Form::Caddy, broken), Err(Unread::Json), "{broken}");
    }
}

#[test]
fn times_of_json_are_of_many_kinds() {
    for (time, seconds) in [
        ("1795822923", Some(1_795_822_923)),
        ("1795822923.999", Some(1_795_822_923)),
        ("1795822923999", Some(1_795_822_923)),
        ("1795822923999999", Some(1_795_822_923)),
        ("1795822923999999999", Some(1_795_822_923)),
        ("\"1795822923.5\"", Some(1_795_822_923)),
        ("\"2026-11-27T23:42:03Z\"", Some(1_795_822_923)),
        ("\"2026-11-28T01:42:03.123456+02:00\"", Some(1_795_822_923)),
        ("\"2026-11-27 23:42:03\"", Some(1_795_822_923)),
        ("\"2026-11-27 23:42:03.5 UTC\"", Some(1_795_822_923)),
        ("\"27/Nov/2026:23:42:03 +0000\"", Some(1_795_822_923)),
        ("\"[27/Nov/2026:23:42:03 +0000]\"", Some(1_795_822_923)),
        ("\"yesterday\"", None),
        ("\"\"", None),
        ("\".\"", None),
        ("-5", None),
        ("1e300", None),
        ("null", None),
        ("{}", None),
    ] {
        let line = format!(r#"{{"ts":{time},"url":"/","status":200}}"#);
        let read = json("", &line).map(|request| request.time);
        assert_eq!(read, seconds.ok_or(Unread::Time), "{line}");
    }
}

#[test]
fn names_of_fields_are_given_or_known() {
    let logpush = r#"{"ClientIP":"192.0.2.1","ClientRequestHost":"www.example.com","ClientRequestMethod":"GET","ClientRequestURI":"/a?b","ClientRequestUserAgent":"GPTBot/1.0","EdgeEndTimestamp":1795822924000000000,"EdgeResponseStatus":200,"EdgeStartTimestamp":1795822923000000000,"RayID":"1"}"#;
    let ecs = r#"{"@timestamp":"2026-11-27T23:42:03.000Z","client":{"ip":"192.0.2.1"},"url":{"domain":"www.example.com","path":"/a","query":"b"},"http":{"request":{"method":"GET"},"response":{"status_code":200}},"user_agent":{"original":"GPTBot/1.0"},"host":{"name":"server-1"}}"#;
    let nginx = r#"{"time":"2026-11-27T23:42:03+00:00","remote_addr":"192.0.2.1","host":"www.example.com","request":"GET /a?b HTTP/1.1","status":"200","http_user_agent":"GPTBot/1.0"}"#;
    let own = r#"{"t":1795822923,"who":["192.0.2.1"],"h":"www.example.com","req":{"u":"/a","q":"?b","m":"GET"},"s":200,"a.b":"GPTBot/1.0"}"#;
    let list = "time=t,client=who,host=h,url=req.u,query=req.q,method=req.m,status=s,agent=a.b";
    for (fields, line) in [("", logpush), ("", ecs), ("", nginx), (list, own)] {
        let request = json(fields, line).expect(line);
        assert_eq!(request.time, 1_795_822_923, "{line}");
        assert_eq!(
            request.client,
            Some("192.0.2.1".parse().expect("an address"))
        );
        assert_eq!(
            request.host.as_deref(),
            Some(&b"www.example.com"[..]),
            "{line}"
        );
        assert_eq!(
            (&*request.method, &*request.target),
            (&b"GET"[..], &b"/a?b"[..]),
            "{line}"
        );
        assert_eq!(request.status, 200);
        assert_eq!(request.agent.as_deref(), Some(&b"GPTBot/1.0"[..]), "{line}");
        if fields.is_empty() {
            assert_eq!(
                Form::detect(line.as_bytes()).map(|form| form.name()),
                Ok("json")
            );
        }
    }
    assert_eq!(
        json("", r#"{"time":1,"status":200}"#),
        Err(Unread::NoTarget)
    );
    assert_eq!(json("", r#"{"time":1,"url":"/"}"#), Err(Unread::Status));
    assert_eq!(
        json("", r#"{"time":1,"url":"/","status":-1}"#),
        Err(Unread::Status)
    );
    let meaning = Form::parse("time=t,url=u,status=s")
        .expect("a form")
        .meaning();
    assert!(!meaning.has_host && !meaning.has_agent && !meaning.has_client);
}
