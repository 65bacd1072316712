use proptest::prelude::*;

use super::*;

fn site() -> Origin {
    Origin::parse("https://www.example.com").unwrap()
}

#[track_caller]
fn check(raw: &str, expected: &str) {
    let loc = Loc::parse(raw, &site()).unwrap();
    assert_eq!(loc.as_str(), expected, "{raw}");
    assert_eq!(Loc::parse(loc.as_str(), &site()), Ok(loc));
}

#[track_caller]
fn refused(raw: &str, expected: LocError) {
    assert_eq!(Loc::parse(raw, &site()), Err(expected), "{raw:?}");
}

fn foreign(origin: &str) -> LocError {
    LocError::ForeignOrigin {
        origin: origin.to_owned(),
        expected: "https://www.example.com".to_owned(),
    }
}

#[test]
fn host_and_path_are_written_in_one_way() {
    check("https://www.example.com", "https://www.example.com/");
    check("HTTPS://WWW.Example.COM:443/A", "https://www.example.com/A");
    check(
        "https://www.example.com/a/../b/./c",
        "https://www.example.com/b/c",
    );
    check(
        "https://www.example.com?a=b",
        "https://www.example.com/?a=b",
    );
    check(
        "https://www.example.com//a//",
        "https://www.example.com//a//",
    );
}

#[test]
fn everything_is_encoded_exactly_once() {
    check(
        "https://www.example.com/ü",
        "https://www.example.com/%C3%BC",
    );
    check(
        "https://www.example.com/%C3%BC",
        "https://www.example.com/%C3%BC",
    );
    check(
        "https://www.example.com/%c3%bc",
        "https://www.example.com/%c3%bc",
    );
    check(
        "https://www.example.com/🦀?q=🦀",
        "https://www.example.com/%F0%9F%A6%80?q=%F0%9F%A6%80",
    );
    check(
        "https://www.example.com/a b?c d",
        "https://www.example.com/a%20b?c%20d",
    );
    check(
        "https://www.example.com/100%",
        "https://www.example.com/100%25",
    );
    check(
        "https://www.example.com/%zz%2",
        "https://www.example.com/%25zz%252",
    );
    check(
        "https://www.example.com/%%41",
        "https://www.example.com/%25%41",
    );
    check(
        "https://www.example.com/a%20b%25",
        "https://www.example.com/a%20b%25",
    );
    check(
        "https://www.example.com/|\"<>\\^`{}?|\"<>\\^`{}",
        "https://www.example.com/%7C%22%3C%3E%5C%5E%60%7B%7D?%7C%22%3C%3E%5C%5E%60%7B%7D",
    );
    check(
        "https://www.example.com/a[1]?b[]=c",
        "https://www.example.com/a%5B1%5D?b%5B%5D=c",
    );
    check(
        "https://www.example.com/a%5b1%5D",
        "https://www.example.com/a%5b1%5D",
    );
    check(
        "https://www.example.com/?a=1&b=2;c",
        "https://www.example.com/?a=1&b=2;c",
    );
    check(
        "https://www.example.com/@me:80/",
        "https://www.example.com/@me:80/",
    );
    check(
        "https://www.example.com/?u=https://x@y/",
        "https://www.example.com/?u=https://x@y/",
    );
}

#[test]
fn another_origin_is_refused() {
    refused(
        "https://www.example.com.evil/",
        foreign("https://www.example.com.evil"),
    );
    refused("https://example.com/", foreign("https://example.com"));
    refused("http://www.example.com/", foreign("http://www.example.com"));
    refused(
        "https://www.example.com:8443/",
        foreign("https://www.example.com:8443"),
    );
    refused(
        "https://www.example.com./",
        foreign("https://www.example.com."),
    );
}

#[test]
fn what_is_no_page_is_refused() {
    refused("", LocError::NotAbsolute);
    refused("/blog/", LocError::NotAbsolute);
    refused("//www.example.com/", LocError::NotAbsolute);
    refused("www.example.com/a:b", LocError::NotAbsolute);
    refused("https:www.example.com", LocError::NotAbsolute);
    refused("https:///www.example.com/", LocError::NotAbsolute);
    refused("https:\\\\www.example.com/", LocError::NotAbsolute);
    refused(
        "javascript:alert(1)",
        LocError::Scheme {
            scheme: "javascript".to_owned(),
        },
    );
    refused(
        "FTP://www.example.com/",
        LocError::Scheme {
            scheme: "ftp".to_owned(),
        },
    );
    refused("https://www.example.com/#a", LocError::Fragment);
    refused("https://www.example.com/#", LocError::Fragment);
    refused("https://me@www.example.com/", LocError::UserInfo);
    refused("https://@www.example.com/", LocError::UserInfo);
    refused(" https://www.example.com/", LocError::Whitespace);
    refused("https://www.example.com/\n", LocError::Whitespace);
    refused("https://www.example.com/\u{a0}", LocError::Whitespace);
    refused("https://www.exa\tmple.com/", LocError::Control { code: 9 });
    refused(
        "https://www.example.com/a\nb",
        LocError::Control { code: 10 },
    );
    refused(
        "https://www.example.com/a\0b",
        LocError::Control { code: 0 },
    );
    refused(
        "https://www.example.com/a\u{85}b",
        LocError::Control { code: 0x85 },
    );
    for raw in [
        "https://www.example.com\\.evil.example/",
        "https://www.exa mple.com/",
        "https://www.example.com:99999/",
        "https://exa%2fmple.com/",
        "https://exa\"mple.com/",
        "https://exa%22mple.com/",
        "https://exa{mple'&.com/",
        "https://[::1/",
    ] {
        assert!(
            matches!(Loc::parse(raw, &site()), Err(LocError::Invalid { .. })),
            "{raw}"
        );
    }
}

#[test]
fn the_longest_url_has_2047_bytes() {
    let base = "https://www.example.com/";
    let url = |bytes: usize| format!("{base}{}", "a".repeat(bytes - base.len()));
    check(&url(2_047), &url(2_047));
    refused(
        &url(2_048),
        LocError::TooLong {
            bytes: 2_048,
            limit: 2_047,
        },
    );
    let umlauts = format!("{base}{}", "ü".repeat(400));
    refused(
        &umlauts,
        LocError::TooLong {
            bytes: 2_424,
            limit: 2_047,
        },
    );
}

#[test]
fn hosts_are_punycode() {
    let loc = Loc::parse_any("http://Bücher.example:8080/ü").unwrap();
    assert_eq!(loc.as_str(), "http://xn--bcher-kva.example:8080/%C3%BC");
}

#[test]
fn an_origin_is_scheme_host_and_port() {
    for (text, written, host) in [
        (
            "https://www.example.com",
            "https://www.example.com",
            "www.example.com",
        ),
        (
            "HTTPS://WWW.Example.com:443/",
            "https://www.example.com",
            "www.example.com",
        ),
        (
            "http://localhost:8080",
            "http://localhost:8080",
            "localhost:8080",
        ),
        (
            "https://bücher.example/",
            "https://xn--bcher-kva.example",
            "xn--bcher-kva.example",
        ),
        ("http://[::1]:81/", "http://[::1]:81", "[::1]:81"),
    ] {
        let origin = Origin::parse(text).unwrap();
        assert_eq!((origin.as_str(), origin.host()), (written, host));
        let json = serde_json::to_string(&origin).unwrap();
        assert_eq!(serde_json::from_str::<Origin>(&json).unwrap(), origin);
    }
    assert_eq!(
        Origin::parse("https://www.example.com/a"),
        Err(LocError::NotAnOrigin)
    );
    assert_eq!(
        Origin::parse("https://www.example.com/?"),
        Err(LocError::NotAnOrigin)
    );
    assert_eq!(
        Origin::parse("https://me@www.example.com"),
        Err(LocError::UserInfo)
    );
    assert_eq!(Origin::parse("www.example.com"), Err(LocError::NotAbsolute));
}

#[test]
fn serde_checks_what_it_reads() {
    let loc = Loc::parse_any("https://a.example/b").unwrap();
    assert_eq!(
        serde_json::to_string(&loc).unwrap(),
        "\"https://a.example/b\""
    );
    assert_eq!(
        serde_json::from_str::<Loc>("\"https://a.example/b\"").unwrap(),
        loc
    );
    assert!(serde_json::from_str::<Loc>("\"a.example\"").is_err());
}

/// Returns whether RFC 3986, appendix A, allows a text in a path and a query: `pchar`, `/` and `?`.
fn is_rfc_3986(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    let is_escape = |at: usize| {
        bytes
            .get(at + 1..at + 3)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    bytes.iter().enumerate().all(|(at, &byte)| {
        byte.is_ascii_alphanumeric()
            || b"-._~!$&'()*+,;=:@/?".contains(&byte)
            || (byte == b'%' && is_escape(at))
    })
}

#[test]
fn every_ascii_character_of_a_path_and_a_query_is_written_as_rfc_3986_allows() {
    for c in (' '..='~').filter(|c| *c != '#') {
        let raw = format!("https://www.example.com/a{c}b?a{c}b");
        let loc = Loc::parse(&raw, &site()).unwrap();
        let rest = &loc.as_str()["https://www.example.com".len()..];
        assert!(is_rfc_3986(rest), "{rest}");
    }
}

#[test]
fn a_relative_address_is_resolved_as_a_browser_does() {
    let page = Loc::parse("https://www.example.com/a/b?c", &site()).unwrap();
    let resolved = |raw: &str| Loc::resolve(raw, &page).map(|loc| loc.as_str().to_owned());
    for (raw, expected) in [
        ("/other/", "https://www.example.com/other/"),
        ("other", "https://www.example.com/a/other"),
        ("../ü[1]", "https://www.example.com/%C3%BC%5B1%5D"),
        ("?d", "https://www.example.com/a/b?d"),
        ("//other.example/x", "https://other.example/x"),
        ("https://other.example", "https://other.example/"),
        ("100%", "https://www.example.com/a/100%25"),
        ("\\x", "https://www.example.com/a/%5Cx"),
    ] {
        assert_eq!(resolved(raw).as_deref(), Ok(expected), "{raw}");
    }
    assert_eq!(resolved(""), Err(LocError::NotAbsolute));
    assert_eq!(resolved("/a#b"), Err(LocError::Fragment));
    assert_eq!(resolved("//me@other.example/"), Err(LocError::UserInfo));
    assert_eq!(resolved(" /a"), Err(LocError::Whitespace));
    assert!(matches!(
        resolved("javascript:void(0)"),
        Err(LocError::Scheme { .. })
    ));
}

#[test]
fn a_stored_url_is_safe_in_a_document() {
    let damaged: Loc = serde_json::from_str("\"https://a.example/<b>\"").unwrap();
    assert_eq!(damaged.as_str(), "https://a.example/%3Cb%3E");
}

#[test]
fn most_urls_are_taken_as_they_are() {
    for plain in [
        "https://www.example.com/",
        "https://a.example/b-c/?page=2",
        "http://a/b:c@d",
    ] {
        assert_eq!(Loc::plain(plain).unwrap().as_str(), plain);
    }
    for other in [
        "https://a.example",
        "https://a.example:80/",
        "https://A.example/",
        "https://a.1/",
        "https://xn--a.example/",
        "https://a.example/./b",
        "https://a.example/%62",
        "https://a.example/ü",
        "https://a.example/?it's",
        "ftp://a.example/",
    ] {
        assert_eq!(Loc::plain(other), None, "{other}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_itself(
        scheme in "https?",
        host in "(www\\.)?[a-zäß0-9\"&'{}`%-]{1,8}\\.(example|com\\.?|[0-9.]{1,6})|[0-9a-fx.]{1,9}",
        rest in "([/?.%\\\\|^`{}\"<>' a-fA-F0-9]|%2[eE]|[^#\\p{Cc}]){0,40}",
    ) {
        if let Ok(loc) = Loc::parse_any(&format!("{scheme}://{host}/{rest}")) {
            let (_, after_scheme) = loc.as_str().split_once("://").unwrap_or_default();
            prop_assert!(is_rfc_3986(after_scheme.split_once('/').unwrap_or_default().1));
            let (mut as_loc, mut as_text) = (Vec::new(), Vec::new());
            crate::format::xml::escape_loc(&loc, &mut as_loc);
            crate::format::xml::escape(loc.as_str(), &mut as_text);
            prop_assert_eq!(as_loc, as_text);
            prop_assert_eq!(Loc::parse_any(loc.as_str()), Ok(loc));
        }
    }

    #[test]
    fn what_is_taken_as_it_is_would_be_parsed_to_itself(
        scheme in "https?",
        host in "([a-z0-9-]{1,4}|xn--[a-z]{1,2}|0x[0-9a-f])(\\.([a-z0-9-]{0,3}|com)){0,3}",
        rest in "([a-z0-9._~/!$&()*+,;=:@?'%#-]|/\\.\\.?/?){0,12}",
    ) {
        let raw = format!("{scheme}://{host}/{rest}");
        if let Some(plain) = Loc::plain(&raw) {
            prop_assert_eq!(plain.as_str(), &raw);
            let parsed = parse(&raw).and_then(Loc::within_limit);
            prop_assert_eq!(parsed.as_ref(), Ok(&plain));
            let origin = Origin::parse(&format!("{scheme}://{host}"))?;
            prop_assert_eq!(Loc::parse(&raw, &origin), Ok(plain));
        }
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = (Loc::parse_any(&text), Loc::parse_any(&format!("https://{text}")));
    }
}

/// Spellings of the same address, each set with its normal form.
const SAME: [(&str, &[&str]); 14] = [
    (
        "https://www.example.com/",
        &[
            "https://www.example.com",
            "HTTPS://WWW.EXAMPLE.COM:443/",
            "https://www.example.com/.",
        ],
    ),
    (
        "http://www.example.com/?a",
        &["http://www.example.com?a", "http://www.example.com:80/?a"],
    ),
    (
        "https://www.example.com:8443/",
        &["https://www.example.com:8443"],
    ),
    (
        "https://www.example.com/%E6%97%A5/",
        &[
            "https://www.example.com/%e6%97%a5/",
            "https://www.example.com/%E6%97%a5/",
            "https://www.example.com/日/",
        ],
    ),
    (
        "https://www.example.com/~joe/",
        &[
            "https://www.example.com/%7Ejoe/",
            "https://www.example.com/%7ejoe/",
        ],
    ),
    (
        "https://www.example.com/a-b_c.d",
        &["https://www.example.com/%61%2Db%5Fc%2ed"],
    ),
    (
        "https://www.example.com/b/",
        &[
            "https://www.example.com/a/../b/",
            "https://www.example.com/a/%2E%2e/b/",
            "https://www.example.com/./b/",
        ],
    ),
    (
        "https://www.example.com/a%20b",
        &["https://www.example.com/a b"],
    ),
    (
        "https://www.example.com/a%2Fb",
        &["https://www.example.com/a%2fb"],
    ),
    (
        "https://www.example.com/?a%5B%5D=%C3%A9",
        &[
            "https://www.example.com/?a[]=é",
            "https://www.example.com/?a%5b%5d=%c3%a9",
        ],
    ),
    (
        "https://www.example.com/100%25",
        &["https://www.example.com/100%"],
    ),
    (
        "https://xn--exmple-cua.com/a",
        &[
            "https://exämple.com/a",
            "https://EXÄMPLE.com/a",
            "https://XN--EXMPLE-CUA.com/%61",
        ],
    ),
    (
        "https://www.example.com/a#%7E",
        &["https://www.example.com/%61#%7E"],
    ),
    (
        "https://www.example.com/%25A",
        &["https://www.example.com/%%41"],
    ),
];

#[test]
fn spellings_of_one_address_have_one_normal_form() {
    for (normal, spellings) in SAME {
        assert_eq!(normalized(normal), normal);
        for spelling in spellings {
            assert_eq!(normalized(spelling), normal, "{spelling}");
        }
    }
}

#[test]
fn addresses_that_differ_have_normal_forms_that_differ() {
    let different = [
        "https://www.example.com/a/b",
        "https://www.example.com/a%2Fb",
        "https://www.example.com/A/b",
        "https://www.example.com/a//b",
        "https://www.example.com/a/b/",
        "https://www.example.com/a/b?",
        "https://www.example.com/a/b?x=1&y=2",
        "https://www.example.com/a/b?y=2&x=1",
        "https://www.example.com/a+b",
        "https://www.example.com/a%2Bb",
        "https://www.example.com/a%20b",
        "https://www.example.com/a%2520b",
        "https://www.example.com/a;b",
        "https://www.example.com/a%3Bb",
        "https://www.example.com:8443/a/b",
        "https://www.example.com./a/b",
        "https://example.com/a/b",
        "http://www.example.com/a/b",
        "https://www.example.com/a/b#c",
        "/a/b",
        "mailto:a@example.com",
        "",
    ];
    let forms: std::collections::BTreeSet<_> =
        different.iter().map(|url| normalized(url)).collect();
    assert_eq!(forms.len(), different.len(), "{forms:?}");
}

proptest! {
    #[test]
    fn a_normal_form_is_normal_and_no_spelling_has_another(
        path in "(/|\\.|%2[eE]|%2[fF]|%7[eE]|%[cC]3%[aA]9|é|[a-c~?&=+'\\[ ]){0,12}",
        host in "(www\\.example\\.com|EXÄMPLE\\.com|a\\.example:8080)",
    ) {
        let url = format!("https://{host}/{path}");
        let normal = normalized(&url);
        prop_assert_eq!(&normalized(&normal), &normal);
        // The published text of a URL is the same address as the URL.
        if let Ok(loc) = Loc::parse_any(&url) {
            prop_assert_eq!(loc.normalized(), normal);
        }
    }
}
