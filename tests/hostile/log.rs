//! Tests the readers of access logs: lines in any packing, and requests in any form.

use std::io::{Read, Write};

use crawl::forms::Form;
use crawl::input::{Lines, MAX_LINE_BYTES};
use crawl::request::Request;
use flate2::{Compression, write::GzEncoder};
use jiff::Timestamp;
use serde_json::json;

use crate::draw::Draw;
use crate::sitemap::Pieces;

/// The most bytes of lines that are kept, because a packed log may be arbitrarily long.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Checks an input. The first byte says where a packed copy is cut in two members, and the rest is a log.
pub fn check(data: &[u8]) {
    let mut draw = Draw(data);
    let cut = usize::from(draw.byte());
    let body = draw.0;
    let (lines, is_whole) = lines(body);
    let is_packed = body.starts_with(b"\x1f\x8b")
        || body.get(1..4) == Some(b"\xb5\x2f\xfd")
        || body.get(1..4) == Some(b"\x2a\x4d\x18");
    if is_whole || !is_packed {
        assert_eq!(
            (&lines, is_whole),
            (&self::lines(Pieces(body, 0)).0, true),
            "cut differently"
        );
    }
    if !is_packed {
        assert_eq!(lines, split(body), "not the lines of the text");
        let (first, second) = body.split_at(cut.min(body.len()));
        let packed: Vec<u8> = [first, second].into_iter().flat_map(gzip).collect();
        assert_eq!(
            (&lines, true),
            (&self::lines(&packed[..]).0, true),
            "as gzip"
        );
    }
    let _ = Form::detect(body);
    if let Ok(text) = std::str::from_utf8(&body[..body.len().min(200)]) {
        let _ = Form::parse(text);
    }
    let mut is_first = true;
    for form in Form::all() {
        let mut reader = form.reader();
        for line in &lines {
            if let Ok(Some(request)) = reader.read(line) {
                within(&request, line);
                written_again(&request, std::mem::take(&mut is_first));
            }
        }
    }
}

/// Returns the lines, and whether these are all.
fn lines(body: impl Read) -> (Vec<Vec<u8>>, bool) {
    let mut lines = Lines::open(body).expect("memory");
    let (mut all, mut bytes) = (Vec::new(), 0);
    while bytes < MAX_BYTES {
        let Some(line) = lines.next().expect("memory") else {
            break;
        };
        bytes += line.len() + 1;
        assert!(line.len() <= MAX_LINE_BYTES && !line.contains(&b'\n'));
        all.push(line.to_vec());
    }
    assert_eq!(all.len() as u64, lines.number());
    (all, lines.stop().is_none())
}

/// Splits a text into lines as simply as can be.
fn split(body: &[u8]) -> Vec<Vec<u8>> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut all: Vec<&[u8]> = body.split(|&byte| byte == b'\n').collect();
    if all.last().is_some_and(|last| last.is_empty()) {
        all.pop();
    }
    let plain = |line: &[u8]| match line {
        line if line.len() > MAX_LINE_BYTES => line[..MAX_LINE_BYTES].to_vec(),
        line => line.strip_suffix(b"\r").unwrap_or(line).to_vec(),
    };
    all.into_iter().map(plain).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text).expect("memory");
    packed.finish().expect("memory")
}

/// Checks that a request is made of its line.
fn within(request: &Request<'_>, line: &[u8]) {
    let agent = request.agent.as_ref().map_or(0, |agent| agent.len());
    let host = request.host.as_ref().map_or(0, |host| host.len());
    assert!(request.target.len() + agent + host + request.method.len() <= line.len());
    assert!(request.status < 1_000 && request.time > -86_400 && !request.target.is_empty());
}

/// Checks that a request, written in other forms, is read as the same, and whether the form of a line is found, which takes long.
fn written_again(request: &Request<'_>, is_detected: bool) {
    let Ok(time) = Timestamp::from_second(request.time) else {
        return;
    };
    let time = time.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
    let is_year = request.time >= 0 && time.len() == 26;
    let is_method = !request.method.is_empty()
        && request.method.len() < 20
        && request.method.iter().all(u8::is_ascii_alphabetic);
    if !is_year || !is_method {
        return;
    }
    let expected = Request {
        host: None,
        is_cut: false,
        ..request.clone()
    };
    for escape in [as_nginx as fn(u8) -> String, as_apache] {
        let text = |bytes: &[u8]| bytes.iter().map(|&byte| escape(byte)).collect::<String>();
        let client = request
            .client
            .map_or("-".to_owned(), |client| client.to_string());
        let agent = match request.agent.as_deref() {
            None => "-".to_owned(),
            Some(b"-") => r"\x2d".to_owned(),
            Some(agent) => text(agent),
        };
        let line = format!(
            r#"{client} - - [{time}] "{} {} HTTP/1.1" {:03} 5 "-" "{agent}" more"#,
            text(&request.method),
            text(&request.target),
            request.status,
        );
        let mut reader = Form::Combined.reader();
        let mut again = reader
            .read(line.as_bytes())
            .expect(&line)
            .expect("a request");
        again.is_cut = false;
        assert_eq!(again, expected, "{line}");
        if is_detected {
            assert_eq!(Form::detect(line.as_bytes()), Ok(Form::Combined), "{line}");
        }
    }
    let text = std::str::from_utf8;
    let (Ok(target), Ok(agent)) = (
        text(&request.target),
        text(request.agent.as_deref().unwrap_or_default()),
    ) else {
        return;
    };
    // A larger number is taken for one of milliseconds.
    if target == "-" || agent == "-" || request.time >= 100_000_000_000 {
        return;
    }
    let headers = match request.agent {
        Some(_) => json!({ "User-Agent": [agent, "another"] }),
        None => json!({}),
    };
    let line = json!({
        "request": {
            "method": text(&request.method).expect("letters"),
            "uri": target,
            "headers": headers,
            "remote_ip": request.client,
        },
        "status": request.status,
        "ts": request.time as f64 + 0.25,
    });
    let line = line.to_string();
    let mut reader = Form::Caddy.reader();
    let again = reader.read(line.as_bytes()).expect(&line);
    assert_eq!(again, Some(expected), "{line}");
}

fn as_nginx(byte: u8) -> String {
    match byte {
        b'"' | b'\\' | 0..32 | 127.. => format!("\\x{byte:02X}"),
        _ => char::from(byte).to_string(),
    }
}

fn as_apache(byte: u8) -> String {
    match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b'\n' => "\\n".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\r' => "\\r".to_owned(),
        0..32 | 127.. => format!("\\x{byte:02x}"),
        _ => char::from(byte).to_string(),
    }
}
