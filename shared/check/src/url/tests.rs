//! Tests of single URLs, and of URLs of the same page.

use super::*;

#[track_caller]
fn check(loc: &str, expected: &[Rule]) {
    let scope = Scope {
        origins: vec!["https://www.example.com".to_owned()],
        folder: Some("/blog/".to_owned()),
    };
    let mut found = Vec::new();
    problems(loc, &scope, Rule::LocHost, &mut found);
    let rules: Vec<_> = found.iter().map(|(rule, ..)| *rule).collect();
    assert_eq!(rules, expected, "{loc}: {found:?}");
}

#[test]
fn a_loc_breaks_one_rule() {
    check("https://www.example.com/blog/", &[]);
    check("https://www.example.com/blog/a?b=c&d=%C3%A4", &[]);
    check("http://www.example.com/blog/", &[Rule::LocHost]);
    check("https://example.com/blog/", &[Rule::LocHost]);
    check("https://www.example.com.evil/blog/", &[Rule::LocHost]);
    check("https://www.example.com:443/blog/", &[]);
    check("https://www.example.com:80/blog/", &[Rule::LocHost]);
    check("https://www.example.com/%62log/", &[]);
    check("https://www.example.com/a/../blog/", &[]);
    check("https://www.example.com/blog/../a/", &[Rule::LocHost]);
    check("https://www.example.com/about/", &[Rule::LocHost]);
    check("/blog/", &[Rule::LocLength]);
    check("", &[Rule::LocLength]);
    check("/blog/2026/first-snow/", &[Rule::LocForm]);
    check("ftp://www.example.com/blog/", &[Rule::LocForm]);
    check("HTTPS://www.example.com/blog/", &[Rule::LocSpelling]);
    check("https://WWW.example.com/blog/", &[Rule::LocSpelling]);
    check(
        "https://WWW.example.org/blog/",
        &[Rule::LocSpelling, Rule::LocHost],
    );
    check("https://me@www.example.com/blog/", &[Rule::LocForm]);
    check("https://www.example.com/blog/ä", &[Rule::LocSpelling]);
    check("https://www.example.com/blog/ä b", &[Rule::LocForm]);
    check(
        "https://www.exämple.com/blog/",
        &[Rule::LocSpelling, Rule::LocHost],
    );
    check("https://www.ex ämple.com/blog/", &[Rule::LocForm]);
    check("https://www.example.com/blog/a b", &[Rule::LocForm]);
    check("https://www.example.com/blog/100%", &[Rule::LocForm]);
    check("https://www.example.com/blog/?a[]=1", &[Rule::LocForm]);
    check("https://www.example.com/blog/#top", &[Rule::LocSpelling]);
    check("https://www.example.com/blog/#top#a", &[Rule::LocForm]);
    check(
        "https://www.example.com/blog/a%2520b",
        &[Rule::LocDoubleEncoded],
    );
    check("https://www.example.com/blog/100%25", &[]);
    check(
        "https://www.example.com/blog/?a=1&utm_source=x",
        &[Rule::LocTracking],
    );
    check(
        "https://www.example.com/blog/a;jsessionid=7",
        &[Rule::LocTracking],
    );
    let long = |bytes| format!("https://www.example.com/blog/{}", "a".repeat(bytes - 29));
    check(&long(MAX_LOC_BYTES), &[]);
    check(&long(MAX_LOC_BYTES + 1), &[Rule::LocLength]);
}

#[test]
fn hosts_may_be_addresses_with_ports() {
    for good in [
        "a",
        "a.example:8080",
        "127.0.0.1:80",
        "[::1]:8080",
        "a_b.example",
    ] {
        assert!(is_host(good), "{good}");
    }
    for bad in [
        "",
        ":80",
        "a:",
        "a:b",
        "a b",
        "[::1",
        "[]",
        "[::1]x",
        "A.example",
    ] {
        assert!(!is_host(bad), "{bad}");
    }
}

#[test]
fn forms_of_a_page_share_a_digest() {
    let mut scratch = Vec::new();
    let mut of = |url: &str| Digest::of(url, &mut scratch);
    let page = of("https://www.example.com/About/");
    for form in [
        "http://www.example.com/About/",
        "https://example.com/About/",
        "https://www.example.com/about/",
        "https://www.example.com/About",
    ] {
        assert_eq!(of(form).page, page.page, "{form}");
        assert_ne!(of(form).exact, page.exact, "{form}");
    }
    for other in [
        "https://www.example.com/about/us/",
        "https://www.example.com/aBout/",
        "https://www.example.com/About1/",
    ] {
        assert_ne!(of(other).page, page.page, "{other}");
    }
    for (one, other, is_one) in [
        ("/about-us", "/About-Us/", true),
        ("/ABOUT/", "/about", true),
        ("/a/page-2/", "/A/Page-2", true),
        ("/p/aB3", "/p/Ab3", false),
        ("/p/dQw4w9", "/p/DqW4w9", false),
        ("/p/abCd", "/p/abcD", false),
        ("/watch?v=AbC", "/watch?v=abc", false),
        ("/Watch?v=AbC", "/watch?v=AbC", true),
    ] {
        let mut of = |path: &str| of(&format!("https://a.example{path}")).page;
        assert_eq!(of(one) == of(other), is_one, "{one} {other}");
    }
}

#[test]
fn spellings_of_an_address_share_both_digests() {
    let mut scratch = Vec::new();
    let mut of = |url| Digest::of(url, &mut scratch);
    for [one, other] in [
        [
            "https://www.example.com/日/",
            "https://www.example.com/%e6%97%a5/",
        ],
        [
            "https://www.example.com/%E6%97%A5/",
            "https://www.example.com/%e6%97%a5/",
        ],
        [
            "https://www.example.com/~joe",
            "https://www.example.com/%7Ejoe",
        ],
        ["https://www.example.com", "HTTPS://WWW.example.com:443/"],
        [
            "https://www.example.com?a=1",
            "https://www.example.com/?a=1",
        ],
        [
            "https://www.exämple.com/",
            "https://www.xn--exmple-cua.com/",
        ],
        [
            "https://www.example.com/a/../b",
            "https://www.example.com/b",
        ],
    ] {
        assert_eq!(of(one), of(other), "{one} {other}");
    }
    // The forms of a page, in any spelling.
    let [one, other] = [
        "https://www.example.com/Caf%c3%a9/",
        "http://example.com/café",
    ];
    assert_eq!(of(one).page, of(other).page);
    assert_ne!(of(one).exact, of(other).exact);
    for [one, other] in [
        [
            "https://www.example.com/a%2Fb",
            "https://www.example.com/a/b",
        ],
        [
            "https://www.example.com/?a+b",
            "https://www.example.com/?a%20b",
        ],
    ] {
        assert_ne!(of(one), of(other), "{one} {other}");
    }
}

#[test]
fn another_scheme_or_port_is_no_other_host() {
    let scope = Scope::of("https://www.example.com/sitemap.xml");
    for (url, expected) in [
        ("https://www.example.com/a", None),
        ("http://www.example.com/a", None),
        ("https://WWW.Example.com/a", None),
        ("https://www.example.com:8443/a", None),
        ("https://example.com/a", Some("https://example.com")),
        ("http://[::1]:80/a", Some("http://[::1]:80")),
        ("nonsense", None),
    ] {
        assert_eq!(scope.other_host(url), expected, "{url}");
    }
    assert_eq!(Scope::default().other_host("https://example.com/a"), None);
    assert_eq!(
        Scope::of("http://[::1]:80/a").other_host("http://[::1]/a"),
        None
    );
}

#[test]
fn a_sitemap_lists_what_is_below_its_folder() {
    let scope = Scope::of("https://www.example.com/blog/sitemap.xml?v=1/2");
    assert_eq!(scope.origins, ["https://www.example.com"]);
    assert_eq!(scope.folder.as_deref(), Some("/blog/"));
    assert_eq!(
        Scope::of("https://www.example.com/sitemap.xml").folder,
        None
    );
}
