use std::sync::Arc;

use super::*;
use crate::findings::Policy;

/// 2026-11-24T20:00:00Z
const NOW: i64 = 1_795_550_400;
const ORIGIN: &str = "https://www.example.com";

fn page() -> Page {
    let digest = |path: &str| digest_of(&format!("{ORIGIN}{path}"));
    Page {
        loc: format!("{ORIGIN}/a/%c3%A4?b=1"),
        file: "a.xml".into(),
        at: None,
        lastmod: When::parse("2026-11-20T10:00:00Z").ok(),
        alternates: vec![
            ("de".to_owned(), digest("/de/%c3%a4/")),
            ("en-gb".to_owned(), digest("/en/~a/")),
        ],
    }
}

fn html() -> Response {
    Response {
        content_type: Some("text/html; charset=UTF-8".to_owned()),
        ..Response::new(200)
    }
}

/// Returns the findings for an answer. If another page is canonical, only its address is known.
fn findings(response: &Response, body: &str, nonsense: Option<&Nonsense>) -> Findings {
    let mut findings = Findings::new(Arc::new(Policy::default()));
    let page = page();
    let canonical = judge(
        &page,
        response,
        body.as_bytes(),
        nonsense,
        NOW,
        &mut findings,
    );
    if let Some(url) = canonical {
        elsewhere(&page, &url, &Canonical::Unasked, &mut findings);
    }
    findings
}

#[track_caller]
fn check(response: &Response, body: &str, expected: &[Rule]) {
    let findings = findings(response, body, None);
    let rules: Vec<_> = findings.kept().iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, expected, "{body}: {:?}", findings.kept());
}

/// Returns the only finding for an answer.
#[track_caller]
fn message(response: &Response, body: &str, nonsense: Option<&Nonsense>) -> (Rule, String) {
    let findings = findings(response, body, nonsense);
    let [finding] = findings.kept() else {
        panic!("{:?}", findings.kept());
    };
    let loc = quoted(&page().loc);
    let message = finding
        .message
        .strip_prefix(&loc)
        .expect("it begins with the page");
    (finding.rule, message.trim().to_owned())
}

#[test]
fn a_page_breaks_one_rule() {
    for (head, expected) in [
        ("<link rel=canonical href=/b/>", &[Rule::PageCanonical][..]),
        ("<meta name=robots content='index, follow'>", &[]),
        (
            "<meta name=robots content='NoIndex,follow'>",
            &[Rule::PageNoindex],
        ),
        ("<META content=none name=GoogleBot>", &[Rule::PageNoindex]),
        ("<meta name=otherbot content=noindex>", &[]),
        (
            "<meta name=robots content=index><meta name=bingbot content=noindex>",
            &[Rule::PageNoindex],
        ),
        (
            "<meta name=robots content='index,follow,max-image-preview:none,max-snippet:-1'>",
            &[],
        ),
        (
            "<meta name=googlebot content='unavailable_after: 25-Jun-2010 15:00:00 EST'>",
            &[Rule::PageNoindex],
        ),
        (
            "<meta name=googlebot content='unavailable_after: Friday, 25-Jun-27 15:00:00 EST'>",
            &[],
        ),
        ("<!-- <meta name=robots content=noindex> -->", &[]),
        ("<script>'<meta name=robots content=noindex>'</script>", &[]),
        ("<title><meta name=robots content=noindex></title>", &[]),
        (
            "<link rel=alternate hreflang=de href=/de/ä/><link rel=alternate hreflang=en-GB href=/en/%7Ea/>",
            &[],
        ),
        (
            "<link rel=alternate hreflang=de href=/de/%C3%A4/#top><link rel=alternate hreflang=en-GB href=/x/../en/~a/>",
            &[],
        ),
        (
            "<link rel=alternate hreflang=de href=/de/>",
            &[Rule::PageAlternates],
        ),
        (
            "<link rel=alternate type=application/rss+xml href=/feed/>",
            &[],
        ),
        (
            "<script type='application/ld+json'>{\"dateModified\": \"2026-11-21T10:00:00Z\"}</script>",
            &[Rule::PageOlder],
        ),
        (
            "<script type='application/ld+json'>{\"dateModified\" : \"2026-11-20T11:00:00+01:00\"}</script>",
            &[],
        ),
        (
            "<meta property='article:modified_time' content='2026-11-20'>",
            &[],
        ),
        (
            "<meta property='article:modified_time' content='2026-11-21'>",
            &[Rule::PageOlder],
        ),
    ] {
        let body = format!("<!doctype html><html><head>{head}</head><body>x</body></html>");
        check(&html(), &body, expected);
    }
    // Only HTML is parsed as HTML.
    check(
        &Response::new(200),
        "<meta name=robots content=noindex>",
        &[],
    );
    check(&html(), "<body><link rel=canonical href=/b/>", &[]);
}

#[test]
fn a_page_is_its_own_canonical_page_in_any_spelling() {
    for href in [
        "/a/%C3%a4?b=1",
        " /a/%C3%A4?b=1 ",
        "/a/ä?b=1",
        "/a/ä?%62=1",
        "/%61/ä?b=1",
        "/x/../a/./%c3%a4?b=1",
        "https://www.example.com/a/ä?b=1#top",
        "HTTPS://WWW.EXAMPLE.COM:443/a/ä?b=1",
        "//www.example.com/a/ä?b=1",
        "ä?b=1",
        "?b=1",
        "",
    ] {
        let head = format!("<head><link rel=canonical href='{href}'>");
        check(&html(), &head, &[]);
        let linked = Response {
            link: Some(format!(
                "</style.css>; rel=preload, <{href}>; rel=\"canonical\""
            )),
            ..html()
        };
        check(&linked, "", &[]);
    }
    for href in [
        "/b/",
        "/a/ä",
        "/a/ä?b=1&c=2",
        "/a/ä/?b=1",
        "/A/ä?b=1",
        "/a%2Fä?b=1",
        "http://www.example.com/a/ä?b=1",
        "https://example.com/a/ä?b=1",
        "android-app://com.example/a",
        "https://",
    ] {
        let head = format!("<head><link rel=canonical href='{href}'>");
        check(&html(), &head, &[Rule::PageCanonical]);
    }
    check(
        &html(),
        "<head><base href=/x/><LINK REL=Canonical HREF='../a/ä?b=1'>",
        &[],
    );
    // A link only for a language, medium or type does not name the canonical page.
    for variant in [
        "hreflang=de",
        "lang=de",
        "media=handheld",
        "type=text/plain",
    ] {
        let head = format!("<head><link rel=canonical {variant} href=/b/>");
        check(&html(), &head, &[]);
    }
}

#[test]
fn a_canonical_page_elsewhere_is_told_with_what_it_is() {
    let check = |canonical: Canonical, expected: &str| {
        let mut findings = Findings::new(Arc::new(Policy::default()));
        elsewhere(
            &page(),
            "https://www.example.com/b/",
            &canonical,
            &mut findings,
        );
        let message = &findings.kept()[0].message;
        let begin = format!(
            "{} names another canonical page: \"https://www.example.com/b/\"",
            quoted(&page().loc)
        );
        assert_eq!(message.strip_prefix(&begin), Some(expected));
    };
    let led = |last: &str| {
        Canonical::Answered(Response {
            redirects: vec!["https://x.example/".to_owned(), last.to_owned()],
            ..Response::new(200)
        })
    };
    check(Canonical::Unasked, "");
    check(Canonical::Answered(Response::new(200)), "");
    check(
        Canonical::Unknown("status 503".to_owned()),
        ", which was not fetched, because its robots.txt cannot be read: status 503",
    );
    check(
        Canonical::Answered(Response::new(410)),
        ", which answers 410: it is gone",
    );
    check(
        Canonical::Answered(Response::new(503)),
        ", which answers 503: the server failed, perhaps temporarily",
    );
    check(
        led("https://www.example.com/c/"),
        ", which leads to \"https://www.example.com/c/\"",
    );
    check(
        led("https://www.example.com/a/ä?b=1"),
        ", which leads back to it",
    );
    check(
        Canonical::Silent("too slow".to_owned()),
        ", which has no answer: too slow",
    );
    check(
        Canonical::Blocked("*".to_owned(), "/b".to_owned()),
        ", which is disallowed for * by \"/b\"",
    );
}

#[test]
fn headers_speak_for_every_kind_of_page() {
    let tagged = |tags: &[&str]| Response {
        robots_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..Response::new(200)
    };
    let noindex = &[Rule::PageNoindex];
    check(&tagged(&["noindex"]), "", noindex);
    check(
        &tagged(&["nofollow", "max-snippet: 1", "none"]),
        "",
        noindex,
    );
    // A crawler's name applies only to its own header.
    check(&tagged(&["otherbot: nofollow", "noindex"]), "", noindex);
    check(&tagged(&["noindex", "otherbot: nofollow"]), "", noindex);
    check(&tagged(&["otherbot: nofollow, noindex"]), "", &[]);
    check(
        &tagged(&["googlebot: nofollow", "otherbot: noindex"]),
        "",
        &[],
    );
    check(
        &tagged(&["otherbot: noindex", "max-image-preview: none"]),
        "",
        &[],
    );
    let said = |tags: &[&str]| message(&tagged(tags), "", None).1;
    assert_eq!(said(&["none"]), "is not to be indexed, says X-Robots-Tag");
    assert_eq!(
        said(&["nofollow", "GoogleBot: noindex"]),
        "is not to be indexed, says X-Robots-Tag for googlebot"
    );
    assert_eq!(
        said(&["unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, nofollow"]),
        "is not to be indexed after \"Fri, 25 Jun 2010 15:00:00 GMT\", says X-Robots-Tag"
    );
    let meta = "<head><meta name=Bingbot content=noindex>";
    assert_eq!(
        message(&html(), meta, None).1,
        "is not to be indexed, says its <meta name=\"bingbot\">"
    );
    let linked = |link: &str| Response {
        link: Some(link.to_owned()),
        ..Response::new(200)
    };
    check(
        &linked("<https://www.example.com/b/>; rel=\"canonical\""),
        "",
        &[Rule::PageCanonical],
    );
    check(
        &linked("<https://www.example.com/b/>; rel=next; rel=canonical"),
        "",
        &[],
    );
}

#[test]
fn what_is_no_page_is_judged_no_further() {
    let gone = Response::new(404);
    check(
        &gone,
        "<meta name=robots content=noindex>",
        &[Rule::PageStatus],
    );
    let moved = Response {
        redirects: vec!["https://www.example.com/b/".to_owned()],
        ..html()
    };
    check(
        &moved,
        "<head><link rel=canonical href=/b/>",
        &[Rule::PageRedirect],
    );
    let moved = Response {
        status: 404,
        ..moved
    };
    check(&moved, "", &[Rule::PageRedirect, Rule::PageStatus]);
}

#[test]
fn a_status_says_whether_the_page_is_gone() {
    for (status, expected) in [
        (404, "answers 404: it is gone"),
        (410, "answers 410: it is gone"),
        (
            403,
            "answers 403: access is forbidden, or bot protection blocks this command",
        ),
        (429, "answers 429: too many requests, see --rate"),
        (408, "answers 408: the server failed, perhaps temporarily"),
        (500, "answers 500: the server failed, perhaps temporarily"),
        (503, "answers 503: the server failed, perhaps temporarily"),
        (204, "answers 204"),
        (418, "answers 418"),
    ] {
        let found = message(&Response::new(status), "", None);
        assert_eq!(found, (Rule::PageStatus, expected.to_owned()));
    }
    let mut findings = Findings::new(Arc::new(Policy::default()));
    silent(&page(), "no answer within 2s (--timeout)", &mut findings);
    let message = &findings.kept()[0].message;
    assert!(message.ends_with(" has no answer: no answer within 2s (--timeout)"));
}

#[test]
fn a_page_that_is_not_there_may_answer_200() {
    let url = nonsense(ORIGIN);
    let quoted = quoted(&url);
    let shell = "<html><head><title>Shop</title></head><body></body></html>";
    let at = |response: Response| Nonsense {
        url: url.clone(),
        response,
        body: shell.as_bytes().to_vec(),
    };
    let led = |last: &str| Response {
        redirects: vec![last.to_owned()],
        ..html()
    };
    let soft = |response: &Response, nonsense: &Nonsense, expected: &str| {
        let found = message(response, shell, Some(nonsense));
        assert_eq!(found, (Rule::PageSoft404, expected.to_owned()));
    };
    let says = format!("answers like {quoted}, an address without a page");
    soft(&html(), &at(html()), &says);
    let home = "leads to \"https://www.example.com/\", a home page, which search engines treat as a missing page";
    soft(
        &led("https://www.example.com/"),
        &at(Response::new(404)),
        home,
    );
    soft(
        &led("https://www.example.com/"),
        &at(led("https://www.example.com/")),
        home,
    );
    let error = led("https://www.example.com/error");
    let says = format!(
        "leads to \"https://www.example.com/error\", like {quoted}, an address without a page"
    );
    soft(&error, &at(error.clone()), &says);

    // A server that answers 404 is right, and so is one that redirects.
    for nonsense in [at(Response::new(404)), at(led("https://www.example.com/"))] {
        let found = findings(&html(), shell, Some(&nonsense));
        assert_eq!(found.kept(), []);
    }
    let moved = message(&led("https://www.example.com/b/"), shell, Some(&at(error)));
    assert_eq!(moved.0, Rule::PageRedirect);

    // If the rule is off, a redirect is reported as such.
    let mut policy = Policy::default();
    policy.set(Rule::PageSoft404, None);
    let mut found = Findings::new(Arc::new(policy));
    let home = led("https://www.example.com/");
    assert_eq!(judge(&page(), &home, b"", None, NOW, &mut found), None);
    assert_eq!(found.kept()[0].rule, Rule::PageRedirect);
}
