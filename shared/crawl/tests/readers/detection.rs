//! Forms by name, and by the first lines.

use crawl::forms::{Form, Undetected};

const COMBINED: &str =
    r#"192.0.2.1 - - [27/Nov/2026:23:42:03 +0000] "GET / HTTP/1.1" 200 5 "-" "a""#;
const GARBAGE: &str = r#"192.0.2.1 - - [27/Nov/2026:23:42:03 +0000] "\x16\x03" 400 5 "-" "-""#;

#[test]
fn a_form_has_a_name() {
    for form in Form::all() {
        assert_eq!(Form::parse(form.name()).as_ref(), Ok(&form));
    }
    let error = Form::parse("nginx").expect_err("no form").to_string();
    for form in Form::all() {
        assert!(error.contains(form.name()), "{error}");
    }
}

#[test]
fn a_list_of_fields_is_checked() {
    assert!(Form::parse("time=a,url=b.c,status=d").is_ok());
    for (list, part) in [
        ("time=a,url=b", "status"),
        ("time=a,status=b", "url"),
        ("time=a,url=b,status=", "status="),
        ("time=a,url=b,status=c,colour=d", "colour"),
        ("time=a,", "is not like"),
    ] {
        let error = Form::parse(list).expect_err(list).to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_rest_of_a_line_that_was_cut_does_no_harm() {
    let rotated = format!("ozilla/5.0\"\n{COMBINED}\n{COMBINED}\n192.0.2.1 - - [27/N");
    assert_eq!(Form::detect(rotated.as_bytes()), Ok(Form::Combined));
    let scanned = format!("{GARBAGE}\n{GARBAGE}\n");
    assert_eq!(Form::detect(scanned.as_bytes()), Ok(Form::Combined));
    assert_eq!(Form::detect(COMBINED.as_bytes()), Ok(Form::Combined));
}

#[test]
fn what_is_not_read_is_named() {
    for (head, looks) in [
        (&b""[..], Undetected::Empty),
        (b"\n \n", Undetected::Empty),
        (b"\xfd7zXZ\0\0", Undetected::Packed("xz")),
        (b"BZh91AY", Undetected::Packed("bzip2")),
        (b"PAR1\x15\x04", Undetected::Parquet),
        (b"[{\"a\":1}]", Undetected::JsonDocument),
        (b"{\n  \"a\": 1\n}\n", Undetected::JsonDocument),
        (b"{\"a\":1}\n{\"a\":2}\n", Undetected::Json),
        (b"lorem ipsum\ndolor\n", Undetected::Other),
        (
            b"#Software: Microsoft Internet Information Services 10.0\n#Fields: date time s-ip cs-method\n2026-11-27 00:00:00 ::1 GET\n",
            Undetected::Extended,
        ),
        (
            b"::1:42590 [27/Nov/2026:23:42:03.578] fe be/s1 0/0/0/3/3 200 203 - - ---- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\"\n",
            Undetected::HaProxy,
        ),
    ] {
        let text = String::from_utf8_lossy(head);
        assert_eq!(Form::detect(head), Err(looks), "{text}");
    }
}
