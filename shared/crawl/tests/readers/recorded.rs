//! Lines that servers wrote when `tests/outside/logs_test.py` asked them, with what they were asked and what they answered.

use std::net::IpAddr;

use crawl::forms::Form;
use serde_json::Value;

const SERVERS: [(&str, &str, &str); 6] = [
    ("nginx", "combined", include_str!("../lines/nginx.jsonl")),
    ("apache", "combined", include_str!("../lines/apache.jsonl")),
    (
        "varnish",
        "combined",
        include_str!("../lines/varnish.jsonl"),
    ),
    (
        "lighttpd",
        "combined",
        include_str!("../lines/lighttpd.jsonl"),
    ),
    (
        "haproxy-combined",
        "combined",
        include_str!("../lines/haproxy-combined.jsonl"),
    ),
    ("caddy", "caddy", include_str!("../lines/caddy.jsonl")),
];

/// Returns a text's bytes: each character is one.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    let text = value.as_str()?;
    Some(
        text.chars()
            .map(|c| u8::try_from(c).expect("a byte"))
            .collect(),
    )
}

#[test]
fn lines_of_servers_say_what_was_asked() {
    for (server, form, recorded) in SERVERS {
        let form = Form::parse(form).expect("a form");
        let mut reader = form.reader();
        let mut log = Vec::new();
        assert!(recorded.lines().count() > 20, "{server}");
        for recorded in recorded.lines() {
            let asked: Value = serde_json::from_str(recorded).expect("JSON");
            let line = bytes(&asked["line"]).expect("a line");
            log.extend(&line);
            log.push(b'\n');
            let read = reader.read(&line);
            if let Some(reason) = asked["unread"].as_str() {
                assert_eq!(format!("{read:?}"), format!("Err({reason})"), "{recorded}");
                continue;
            }
            let request = read.expect(recorded).expect("a request");
            let time = asked["time"].as_array().expect("from and to");
            let time = time.iter().map(|time| time.as_i64().expect("a time"));
            let time: Vec<i64> = time.collect();
            assert!(
                (time[0] - 1..=time[1] + 1).contains(&request.time),
                "{recorded}"
            );
            let client = asked["client"]
                .as_str()
                .map(|client| client.parse::<IpAddr>());
            assert_eq!(
                request.client,
                client.map(|client| client.expect("an address"))
            );
            assert_eq!(
                Some(request.method.to_vec()),
                bytes(&asked["method"]),
                "{recorded}"
            );
            assert_eq!(
                Some(request.target.to_vec()),
                bytes(&asked["target"]),
                "{recorded}"
            );
            assert_eq!(
                request.host.map(|host| host.to_vec()),
                bytes(&asked["host"]),
                "{recorded}"
            );
            assert_eq!(
                Some(u64::from(request.status)),
                asked["status"].as_u64(),
                "{recorded}"
            );
            assert_eq!(
                request.agent.map(|agent| agent.to_vec()),
                bytes(&asked["agent"]),
                "{recorded}"
            );
            assert_eq!(
                Some(request.is_cut),
                asked["is_cut"].as_bool(),
                "{recorded}"
            );
        }
        assert_eq!(Form::detect(&log), Ok(form), "{server}");
    }
}
