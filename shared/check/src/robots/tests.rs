use super::*;
use crate::findings::Policy;

const ORIGIN: &str = "https://www.example.com";

fn read(text: &str) -> (Robots, Vec<Rule>) {
    let mut findings = Findings::new(Arc::new(Policy::default()));
    let file = format!("{ORIGIN}/robots.txt");
    let robots = Robots::read(text.as_bytes(), &file.into(), &mut findings);
    let rules = findings.kept().iter().map(|finding| finding.rule).collect();
    (robots, rules)
}

/// Checks which of the two engines is shut out of a path, and by which rule.
#[track_caller]
fn check(text: &str, cases: &[(&str, Option<(&str, &str)>)]) {
    let (robots, _) = read(text);
    for (path, expected) in cases {
        let url = format!("{ORIGIN}{path}");
        let found = robots.shuts_out(&url, &Crawler::ENGINES);
        assert_eq!(found, *expected, "{path}\n{text}");
    }
}

#[test]
fn each_fault_breaks_one_rule() {
    const SITEMAP: &str = "Sitemap: https://www.example.com/sitemap.xml\n";
    for (text, expected) in [
        ("User-agent: *\nDisallow: /a\n", &[][..]),
        (
            "User-agent: *\r\nDisallow:\r\nContent-Signal: ai-train=no\r\n",
            &[],
        ),
        (
            "# hello\n\nUser-agent: a\nUser-agent: b # both\nCrawl-delay: 1\n",
            &[],
        ),
        ("\u{feff}User-agent: *\nDisallow:\n", &[Rule::RobotsForm]),
        ("User-agent: *\nDisalow: /a\n", &[Rule::RobotsUnknown]),
        ("User-agent: *\nschemamap: /a\n", &[Rule::RobotsProposal]),
        (
            "License: https://a.example/l.xml\n",
            &[Rule::RobotsProposal],
        ),
        (
            "User-agent: *\nContent-Signal: ai-use=no\n",
            &[Rule::RobotsProposal],
        ),
        (
            "User-agent: *\nContent-Signal: search=maybe\n",
            &[Rule::RobotsSignal],
        ),
        (
            "User-agent: *\nContent-Signal: search=yes, search=no\n",
            &[Rule::RobotsSignal],
        ),
        (
            "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /\n",
            &[Rule::RobotsSplit],
        ),
        ("nonsense\n", &[Rule::RobotsUnknown]),
        ("Disallow: /a\n", &[Rule::RobotsGroup]),
        ("Content-Signal: ai-train=no\n", &[Rule::RobotsGroup]),
        ("User-agent: *\nDisallow: /käse\n", &[Rule::RobotsEncoding]),
        ("Sitemap: /sitemap.xml\n", &[Rule::RobotsSitemap]),
        (
            "Sitemap: https://www.example.com/a.xml # all\n",
            &[Rule::RobotsForm],
        ),
    ] {
        let (robots, rules) = read(&format!("{text}{SITEMAP}"));
        assert_eq!(rules, expected, "{text}");
        assert!(!robots.sitemaps.is_empty());
    }
    assert_eq!(read("User-agent: *\n").1, [Rule::RobotsSitemap]);
    let long = format!("{SITEMAP}{}", "#\n".repeat(MAX_ROBOTS_BYTES / 2));
    assert_eq!(read(&long).1, [Rule::RobotsForm]);
}

#[test]
fn the_longest_rule_decides_and_of_equals_the_one_that_allows() {
    check(
        "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.php$\nDisallow: /same\nAllow: /same\n\
         Disallow: /k%C3%A4\nAllow: /kä\n",
        &[
            ("/", None),
            ("", None),
            ("/a", Some(("*", "/a"))),
            ("/a/c", Some(("*", "/a"))),
            ("/a/b/c", None),
            ("/q.php", Some(("*", "/*.php$"))),
            ("/q.php?a", None),
            ("/same", None),
            // Two spellings of one rule are equal.
            ("/k%c3%a4se", None),
        ],
    );
    check("User-agent: *\nDisallow:\n", &[("/a", None)]);
    check(
        "User-agent: *\nDisallow: /\n",
        &[
            ("/", Some(("*", "/"))),
            ("", Some(("*", "/"))),
            ("?q", Some(("*", "/"))),
            ("/robots.txt", None),
        ],
    );
    check(
        "User-agent: *\nDisallow: /?q\nDisallow: /x/\n",
        &[
            ("?q", Some(("*", "/?q"))),
            ("/?q=1", Some(("*", "/?q"))),
            ("/a?q", None),
            ("/a/../x/", Some(("*", "/x/"))),
        ],
    );
}

#[test]
fn each_crawler_has_its_own_group_or_that_for_all() {
    let blocked = Some(("*", "/"));
    for (text, expected) in [
        // Only other crawlers are shut out.
        ("User-agent: GPTBot\nDisallow: /\n", None),
        ("User-agent: Googlebot-News\nDisallow: /\n", None),
        (
            "User-agent: *\nDisallow: /\nUser-agent: googlebot\nUser-agent: bingbot\nAllow: /\n",
            None,
        ),
        // An empty group of its own allows everything.
        (
            "User-agent: *\nDisallow: /\nUser-agent: Googlebot\nDisallow:\nUser-agent: BINGBOT\nDisallow:\n",
            None,
        ),
        // Bing has no group of its own.
        (
            "User-agent: *\nDisallow: /\nUser-agent: Googlebot\nDisallow:\n",
            blocked,
        ),
        (
            "User-agent: Googlebot\nDisallow: /\n",
            Some(("googlebot", "/")),
        ),
        (
            "User-agent: Googlebot/2.1\nDisallow: /\n",
            Some(("googlebot", "/")),
        ),
        (
            "User-agent: BingBot 2.0 (+http)\nDisallow: /\n",
            Some(("bingbot", "/")),
        ),
        ("User-agent: * # all\nDisallow: /\n", blocked),
        ("User-agent: *\tof them\nDisallow: /\n", blocked),
        ("User-agent: *bot\nDisallow: /\n", None),
        ("User-agent: Mozilla/5.0 Googlebot\nDisallow: /\n", None),
        // Several groups of one crawler are one (2.2.1).
        (
            "User-agent: *\nDisallow: /b\nUser-agent: x\nAllow: /\nUser-agent: *\nDisallow: /\n",
            blocked,
        ),
        // Only a rule ends the list of agents (2.2.4).
        (
            "User-agent: *\nCrawl-delay: 10\n\nUser-agent: BadBot\nDisallow: /\n",
            blocked,
        ),
        (
            "User-agent: *\nContent-Signal: search=yes\nUser-agent: b\nDisallow: /\n",
            blocked,
        ),
        (
            "User-agent: *\nHost: a.example\nUser-agent: b\nDisallow: /\n",
            blocked,
        ),
        (
            "User-agent: *\nNoindex: /\nUser-agent: b\nDisallow: /\n",
            blocked,
        ),
        (
            "User-agent: *\nRequest-rate: 1/5\nUser-agent: b\nDisallow: /\n",
            blocked,
        ),
        (
            "User-agent: *\nClean-param: a\nUser-agent: b\nDisallow: /\n",
            blocked,
        ),
        (
            "User-agent: *\nX-Unknown: a\nUser-agent: b\nDisallow: /\n",
            blocked,
        ),
        (
            "User-agent: *\nnonsense\n\nUser-agent: b\nDisallow: /\n",
            blocked,
        ),
        (
            "User-agent: *\nSitemap: https://www.example.com/a.xml\nUser-agent: b\nDisallow: /\n",
            blocked,
        ),
        (
            "User-agent: *\nDisallow:\nUser-agent: b\nDisallow: /\n",
            None,
        ),
        // A rule before any agent applies to none.
        ("Disallow: /\nUser-agent: *\nDisallow: /b\n", None),
    ] {
        check(text, &[("/a", expected)]);
    }
}

#[test]
fn a_profile_decides_whose_group_counts() {
    use crate::rules::Profile;

    let (robots, _) = read("User-agent: Bingbot\nDisallow: /\nUser-agent: waymark\nDisallow: /w\n");
    for (profiles, expected) in [
        (&Profile::DEFAULT[..], Some(("bingbot", "/"))),
        (&[Profile::Protocol], Some(("bingbot", "/"))),
        (&[Profile::Waymark], Some(("bingbot", "/"))),
        (&[Profile::Google], None),
        (&[Profile::Google, Profile::Protocol], None),
        (&[Profile::Bing], Some(("bingbot", "/"))),
    ] {
        let policy = Policy::of(profiles);
        assert!(policy.level(Rule::RobotsBlocks).is_some());
        let found = robots.shuts_out("https://www.example.com/a", policy.crawlers());
        assert_eq!(found, expected, "{profiles:?}");
    }
    let found = |path: &str| robots.shuts_out(&format!("{ORIGIN}{path}"), &[Crawler::Waymark]);
    assert_eq!((found("/w"), found("/a")), (Some(("waymark", "/w")), None));
}

#[test]
fn it_speaks_for_its_own_host_alone() {
    let (robots, _) =
        read("User-agent: *\nDisallow: /\nSitemap: https://www.example.com/a%7e.xml\n");
    for (url, is_shut_out) in [
        ("https://www.example.com/", true),
        ("https://WWW.example.com:443", true),
        ("http://www.example.com/", false),
        ("https://example.com/", false),
        ("https://www.example.com:8443/", false),
        ("nonsense", false),
    ] {
        let found = robots.shuts_out(url, &Crawler::ENGINES);
        assert_eq!(found.is_some(), is_shut_out, "{url}");
    }
    assert!(robots.names("https://www.example.com:443/a~.xml"));
    assert!(!robots.names("https://www.example.com/a.xml"));
}

#[test]
fn a_line_that_the_limit_cuts_says_nothing() {
    let begin = "User-agent: *\n";
    let padding = "#".repeat(MAX_ROBOTS_BYTES - begin.len() - "\nDisallow: /".len());
    let cut = |rule: &str| read(&format!("{begin}{padding}\n{rule}\nAllow: /x\n")).0;
    let shut_out = |robots: &Robots| robots.shuts_out(ORIGIN, &Crawler::ENGINES).is_some();
    assert!(shut_out(&cut("Disallow: /")));
    assert!(!shut_out(&cut("Disallow: /private")));
}
