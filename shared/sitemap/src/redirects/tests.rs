use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::loc::{Loc, normalized};
use crate::record::Departure;

const SITE: &str = "https://a.example";

fn redirects(moves: &[(&str, &str)]) -> Vec<Redirect> {
    let url = |path: &str| {
        Loc::parse_any(&format!("{SITE}{path}"))
            .unwrap()
            .to_string()
    };
    let departures: Vec<Departed> = moves
        .iter()
        .map(|(from, to)| Departed {
            loc: url(from),
            departure: match *to {
                "gone" => Departure::Gone,
                to if to.starts_with('/') => Departure::MovedTo(format!("{SITE}{to}")),
                to => Departure::MovedTo(to.to_owned()),
            },
            record: format!("post{from}"),
        })
        .collect();
    join(&departures).redirects
}

fn lines(target: Target, moves: &[(&str, &str)]) -> Vec<String> {
    let rendered = render(target, &redirects(moves)).unwrap();
    assert!(rendered.left_out.is_empty(), "{:?}", rendered.left_out);
    assert_eq!(rendered.written, moves.len());
    let lines = rendered.text.lines().map(str::to_owned);
    lines.filter(|line| !line.starts_with('#')).collect()
}

fn reasons(target: Target, moves: &[(&str, &str)]) -> Vec<(Reason, String)> {
    let rendered = render(target, &redirects(moves)).unwrap();
    let all = rendered.left_out.into_iter();
    all.flat_map(|(reason, which)| which.into_iter().map(move |(record, _)| (reason, record)))
        .collect()
}

/// What any syntax may trip over.
const NASTY: &[(&str, &str)] = &[
    ("/!$&'()+,;=@", "/n!$&'()*+,;=:@?q=$1&b#f$\"{x}\\`|"),
    ("/\" \\{x}`<>|^%23", "/b%23c"),
    ("/50%25", "/%20"),
    ("/caf%C3%A9/日", "https://other.example:8080/?a=b"),
    ("/line%0Abreak%09", "/x"),
    ("/q?a=$1;b&c=\"d\"", "/y"),
    ("/~joe", "gone"),
];

#[test]
fn each_target_has_a_name_and_a_file_of_its_own_where_the_server_names_none() {
    let names: BTreeSet<_> = Target::ALL.map(Target::name).into();
    let files: BTreeSet<_> = Target::ALL.map(Target::file_name).into();
    assert_eq!((names.len(), files.len()), (8, 7));
    assert_eq!(Target::Netlify.file_name(), Target::Cloudflare.file_name());
}

#[test]
fn nginx_gets_decoded_keys_and_values_without_a_dollar() {
    let expected = [
        r#""/!$&'()+,;=@" "https://a.example/n!${waymark_dollar}&'()*+,;=:@?q=${waymark_dollar}1&b#f${waymark_dollar}%22%7Bx%7D%5C%60%7C";"#,
        r#""/\" \\{x}`<>|^#" "https://a.example/b%23c";"#,
        r#""/50%" "https://a.example/%20";"#,
        r#""/café/日" "https://other.example:8080/?a=b";"#,
        r#""~^/line\x0Abreak\x09$" "https://a.example/x";"#,
        r#""/q?a=$1;b&c=%22d%22" "https://a.example/y";"#,
        r#""/~joe" "gone";"#,
    ];
    assert_eq!(lines(Target::Nginx, NASTY), expected);
}

#[test]
fn nginx_compares_with_case_where_that_matters() {
    let moves = [
        ("/About", "/about"),
        ("/B", "/x"),
        ("/b", "/y"),
        ("/c", "https://other.example/C"),
        ("/d", "/D?e"),
        ("/e?F", "/g"),
        ("/e?f", "/h"),
        ("/caf%E9", "/z"),
    ];
    let expected = [
        r#""~^/About$" "https://a.example/about";"#,
        r#""~^/B$" "https://a.example/x";"#,
        r#""~^/b$" "https://a.example/y";"#,
        r#""/c" "https://other.example/C";"#,
        r#""~^/caf\xE9$" "https://a.example/z";"#,
        r#""~^/d$" "https://a.example/D?e";"#,
        r#""~^/e\x3FF$" "https://a.example/g";"#,
        r#""~^/e\x3Ff$" "https://a.example/h";"#,
    ];
    assert_eq!(lines(Target::Nginx, &moves), expected);
}

#[test]
fn nginx_is_told_how_large_its_hash_is() {
    let head = |moves: &[(&str, &str)]| {
        let text = render(Target::Nginx, &redirects(moves)).unwrap().text;
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        head(&[]),
        "# map_hash_bucket_size 64; map_hash_max_size 2048;"
    );
    let long = format!("/{}", "a".repeat(200));
    let many: Vec<String> = (0..2_000).map(|n| format!("/{n}")).collect();
    let mut moves: Vec<(&str, &str)> = many.iter().map(|path| (path.as_str(), "/")).collect();
    moves.push((&long, "/"));
    assert_eq!(
        head(&moves),
        "# map_hash_bucket_size 256; map_hash_max_size 4096;"
    );
}

#[test]
fn apache_gets_keys_as_it_escapes_them() {
    let expected = [
        "/!$&'()+,;=@ https://a.example/n!$&'()*+,;=:@?q=$1&b#f$%22%7Bx%7D%5C%60%7C",
        "/%22%20%5c%7bx%7d%60%3c%3e%7c%5e%23 https://a.example/b%23c",
        "/50%25 https://a.example/%20",
        "/caf%c3%a9/%e6%97%a5 https://other.example:8080/?a=b",
        "/line%0abreak%09 https://a.example/x",
        "/q?a=$1;b&c=%22d%22 https://a.example/y",
        "/~joe gone",
    ];
    assert_eq!(lines(Target::Apache, NASTY), expected);
    assert_eq!(
        lines(Target::Apache, &[("/caf%E9", "/z")]),
        ["/caf%e9 https://a.example/z"]
    );
}

#[test]
fn caddy_gets_decoded_keys_in_quotation_marks_or_as_expressions() {
    let mut nasty = NASTY.to_vec();
    nasty[1].1 = "/$";
    let expected = [
        r#""/!$&'()+,;=@" "https://a.example/n!$&'()*+,;=:@?q=$1&b#f$%22%7Bx%7D%5C%60%7C""#,
        r#""~^/\x22\x20\x5C\x7Bx\x7D\x60\x3C\x3E\x7C\x5E\x23$" "https://a.example/$$""#,
        r#""/50%" "https://a.example/%20""#,
        r#""/café/日" "https://other.example:8080/?a=b""#,
        r#""~^/line\x0Abreak\x09$" "https://a.example/x""#,
        r#""/q?a=$1;b&c=%22d%22" "https://a.example/y""#,
        r#""/~joe" "gone""#,
    ];
    assert_eq!(lines(Target::Caddy, &nasty), expected);
    assert_eq!(
        lines(Target::Caddy, &[("/日%0A", "/z")]),
        [r#""~^/日\x0A$" "https://a.example/z""#]
    );
    assert_eq!(
        reasons(Target::Caddy, &[("/caf%E9", "/z")]),
        [(Reason::NotUtf8, "post/caf%E9".to_owned())]
    );
}

#[test]
fn servers_that_decode_do_not_get_what_they_cannot_tell_apart() {
    let moves = [
        ("/a%2Fb", "/1"),
        ("/a%3Fb", "/2"),
        ("/a//b", "/3"),
        ("/a%00b", "/4"),
        ("/a?", "/5"),
    ];
    for target in [Target::Nginx, Target::Apache, Target::Caddy] {
        let expected = [
            (Reason::EncodedSlash, "post/a%2Fb".to_owned()),
            (Reason::EncodedQuestionMark, "post/a%3Fb".to_owned()),
            (Reason::EmptyQuery, "post/a?".to_owned()),
            (Reason::DoubleSlash, "post/a//b".to_owned()),
            (Reason::Null, "post/a%00b".to_owned()),
        ];
        assert_eq!(reasons(target, &moves), expected, "{target}");
    }
    assert_eq!(lines(Target::CloudfrontKvs, &moves).len(), 7);
}

#[test]
fn apache_and_nginx_take_lines_and_parameters_of_such_a_length() {
    let rest = " https://a.example/".len();
    let (fits, long) = (
        format!("/{}", "a".repeat(APACHE_LINE - rest - 1)),
        format!("/{}", "b".repeat(APACHE_LINE - rest)),
    );
    let left = reasons(Target::Apache, &[(&fits, "/"), (&long, "/")]);
    assert_eq!(left, [(Reason::LongLine, format!("post{long}"))]);

    // A slash, four bytes for each of these, two marks before and one behind.
    let marks = (NGINX_PARAMETER - 5) / 4;
    let (fits, long) = (
        format!("/{}%09", "!".repeat(marks - 1)),
        format!("/{}%0A", "!".repeat(marks)),
    );
    let left = reasons(Target::Nginx, &[(&fits, "/"), (&long, "/")]);
    assert_eq!(left, [(Reason::LongLine, format!("post{long}"))]);
}

#[test]
fn rules_have_neither_410_nor_queries_nor_patterns() {
    let moves = [
        ("/a$b(c)", "/n#part"),
        ("/caf%C3%A9;x", "https://other.example/a:b*"),
        ("/at/12:30", "/x"),
    ];
    let expected = [
        "/a$b(c) https://a.example/n#part 301!",
        "/at/12:30 https://a.example/x 301!",
        "/caf%C3%A9;x https://other.example/a:b* 301!",
    ];
    assert_eq!(lines(Target::Netlify, &moves), expected);
    let plain = expected.map(|line| line.trim_end_matches('!').to_owned());
    assert_eq!(lines(Target::Cloudflare, &moves), plain);
    let others = [
        ("/gone", "gone"),
        ("/q?a", "/x"),
        ("/a*b", "/x"),
        ("/a:b", "/x"),
    ];
    let expected = [
        (Reason::Gone, "post/gone".to_owned()),
        (Reason::Query, "post/q?a".to_owned()),
        (Reason::Pattern, "post/a*b".to_owned()),
        (Reason::Pattern, "post/a:b".to_owned()),
    ];
    assert_eq!(reasons(Target::Netlify, &others), expected);
    assert_eq!(reasons(Target::Cloudflare, &others), expected);
    assert_eq!(reasons(Target::Vercel, &others), expected[..2]);
}

fn many(count: usize) -> Vec<Redirect> {
    let paths: Vec<String> = (0..count).map(|n| format!("/{n}")).collect();
    redirects(
        &paths
            .iter()
            .map(|path| (path.as_str(), "/new"))
            .collect::<Vec<_>>(),
    )
}

#[test]
fn cloudflare_takes_so_many_lines_of_such_a_length() {
    let whole = render(Target::Cloudflare, &many(CLOUDFLARE_RULES)).unwrap();
    assert_eq!(whole.written, CLOUDFLARE_RULES);
    assert_eq!(
        render(Target::Cloudflare, &many(CLOUDFLARE_RULES + 1))
            .unwrap_err()
            .to_string(),
        "cloudflare takes at most 2000 redirects, and there are 2001"
    );
    let rest = " https://a.example/ 301".len();
    let (fits, long) = (
        format!("/{}", "a".repeat(CLOUDFLARE_LINE - rest - 1)),
        format!("/{}", "b".repeat(CLOUDFLARE_LINE - rest)),
    );
    let left = reasons(Target::Cloudflare, &[(&fits, "/"), (&long, "/")]);
    assert_eq!(left, [(Reason::LongLine, format!("post{long}"))]);
}

#[test]
fn netlify_gets_any_number_with_advice() {
    assert_eq!(
        render(Target::Netlify, &many(NETLIFY_ADVISED - 1))
            .unwrap()
            .advice,
        None
    );
    let advised = render(Target::Netlify, &many(NETLIFY_ADVISED)).unwrap();
    assert_eq!(advised.written, NETLIFY_ADVISED);
    let advice = "Netlify advises against 10000 redirects and more in a file, and there are 10000";
    assert_eq!(advised.advice.as_deref(), Some(advice));
}

#[test]
fn vercel_gets_patterns_that_are_texts() {
    let moves = [
        ("/a(b)*c+:d.e%7Bf", "/n:x"),
        ("/b", "https://other.example/"),
    ];
    let text = render(Target::Vercel, &redirects(&moves)).unwrap().text;
    let expected = json!({"redirects": [
        {"source": "/a\\(b\\)\\*c\\+\\:d.e%7Bf", "destination": "https://a.example/n:x", "statusCode": 301},
        {"source": "/b", "destination": "https://other.example/", "statusCode": 301},
    ]});
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    let empty = render(Target::Vercel, &[]).unwrap().text;
    assert_eq!(
        serde_json::from_str::<Value>(&empty).unwrap(),
        json!({"redirects": []})
    );
    assert!(render(Target::Vercel, &many(VERCEL_RULES)).is_ok());
    let refused = render(Target::Vercel, &many(VERCEL_RULES + 1));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "vercel takes at most 2048 redirects, and there are 2049"
    );
}

#[test]
fn a_store_takes_keys_values_and_files_of_such_a_size() {
    let moves = [("/a?b=\"c\"", "/n#\"x\""), ("/g", "gone")];
    let text = render(Target::CloudfrontKvs, &redirects(&moves))
        .unwrap()
        .text;
    let expected = json!({"data": [
        {"key": "/a?b=%22c%22", "value": "https://a.example/n#%22x%22"},
        {"key": "/g", "value": "gone"},
    ]});
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);

    let path = |bytes: usize| format!("/{}", "a".repeat(bytes - 1));
    let (key, long_key) = (path(MAX_KEY_BYTES), path(MAX_KEY_BYTES + 1));
    let value = path(MAX_VALUE_BYTES - SITE.len());
    let long_value = path(MAX_VALUE_BYTES - SITE.len() + 1);
    let moves: [(&str, &str); 3] = [(&key, &value), (&long_key, "/"), ("/b", &long_value)];
    let expected = [
        (Reason::LongKey, format!("post{long_key}")),
        (Reason::LongValue, "post/b".to_owned()),
    ];
    assert_eq!(reasons(Target::CloudfrontKvs, &moves), expected);

    let paths: Vec<String> = (0..MAX_STORE_BYTES / 1_000)
        .map(|n| format!("/{n}"))
        .collect();
    let moves: Vec<(&str, &str)> = paths
        .iter()
        .map(|path| (path.as_str(), value.as_str()))
        .collect();
    let refused = render(Target::CloudfrontKvs, &redirects(&moves)).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.starts_with(
            "cloudfront-kvs takes at most 5242880 bytes, and the 5242 redirects have "
        ),
        "{text}"
    );
}

#[test]
fn a_table_loses_nothing() {
    let moves = [
        ("/%7ea,\"b\"", "/b#\"x\",{y}"),
        ("/b", "/c"),
        ("/g", "gone"),
    ];
    let expected = [
        "from,to,status,moved_to,hops,record",
        "https://a.example/b,https://a.example/c,301,https://a.example/c,1,post/b",
        "https://a.example/g,,410,,0,post/g",
        "\"https://a.example/%7ea,%22b%22\",https://a.example/c,301,\"https://a.example/b#\"\"x\"\",{y}\",2,\"post/%7ea,\"\"b\"\"\"",
    ];
    let text = render(Target::Csv, &redirects(&moves)).unwrap().text;
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_same_departures_in_another_order_give_the_same_bytes() {
    let there = redirects(NASTY);
    let mut back = NASTY.to_vec();
    back.reverse();
    for target in Target::ALL {
        assert_eq!(render(target, &there), render(target, &redirects(&back)));
    }
    assert!(there.iter().all(|one| one.normal == normalized(&one.from)));
}
